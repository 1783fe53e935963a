// Finding the kernels of a file and choosing among them.
#include "elaborate/Units.h"

#include "elaborate/Defines.h"
#include "elaborate/runtime/Runtime.h"
#include "support/Names.h"

#include <algorithm>

namespace tlc::elaborate {

namespace {

// Whether a function of the file may be a kernel or a factory of one without being asked for.
bool isCandidate(const FunctionObject &function) {
  switch (function.role) {
  case FunctionRole::PrimFunc:
  case FunctionRole::Jit:
    return true;
  case FunctionRole::Macro:
    return false;
  case FunctionRole::Plain:
    return function.def && !function.def->isAsync && returnsKernel(*function.def);
  }
  return false;
}

const ast::FunctionDef *definitionOf(const Value &value) {
  if (auto *kernel = value.native<KernelValue>())
    return kernel->function->def;
  auto *function = value.as<FunctionObject>();
  return function ? function->def : nullptr;
}

// A name bound to a kernel by an assignment, not by its own `def`.
bool isInstantiation(const std::string &name, const Value &value) {
  if (value.native<KernelValue>())
    return true;
  auto *function = value.as<FunctionObject>();
  return function && function->role == FunctionRole::PrimFunc && function->name != name;
}

} // namespace

void Units::collect(ModuleObject &module) {
  for (const std::string &name : module.globals->order) {
    Slot *slot = module.globals->find(name);
    if (!slot || !slot->bound)
      continue;
    if (isInstantiation(name, slot->value)) {
      units.push_back({name, slot->value, true, slot->range});
      if (auto *def = definitionOf(slot->value))
        instantiated.insert(def);
      continue;
    }
    auto *function = slot->value.as<FunctionObject>();
    bool own = function && function->def && function->def->range.file == module.file &&
               function->name == name;
    if (own && isCandidate(*function))
      units.push_back({name, slot->value, false, function->def->name.range});
  }
}

void Units::addInstantiation(const std::string &line, ModuleObject &module) {
  auto mark = e.diagnostics.mark();
  std::uint32_t file = e.sources.addBuffer("--instantiate", line + "\n");
  auto tree = e.options.parseFile ? e.options.parseFile(file) : nullptr;
  auto bad = [&](std::string_view reason) { e.report(diag::BadInstantiation, {}, line, reason); };
  if (!tree)
    return;
  if (tree->body.empty()) {
    e.diagnostics.rollback(mark); // a blank line or a comment of a file of them
    return;
  }
  auto *assign = tree->body[0]->as<ast::Assign>();
  auto *target =
      assign && assign->targets.size() == 1 ? assign->targets[0]->as<ast::Name>() : nullptr;
  if (tree->body.size() != 1 || !target)
    return bad("it is not of the form `name = factory(...)`");
  if (Slot *taken = module.globals->find(target->id); taken && taken->bound) {
    e.report(diag::BadInstantiation, taken->range, line,
             "the source has a `" + target->id + "` already");
    return;
  }
  auto frame = std::make_unique<Frame>();
  frame->scope = e.makeScope(module.globals);
  for (const char *name : {"T", "tilelang"})
    if (Slot *known = module.globals->find(name); !known || !known->bound) {
      Slot &slot = frame->scope->slot(name);
      slot.value = Value::object(e.shimModule(name[0] == 'T' ? "tilelang.language" : name));
      slot.bound = true;
    }
  e.frames.push_back(std::move(frame));
  std::string name = target->id;
  SourceRange range = assign->range;
  const ast::Expr &expr = *assign->value;
  e.parts->trees.push_back(std::move(tree));
  Value value;
  try {
    value = e.eval(expr);
  } catch (const AbortUnit &) {
  }
  e.frames.clear();
  if (value.isError())
    return;
  auto *function = value.as<FunctionObject>();
  if (!value.native<KernelValue>() && !(function && function->role != FunctionRole::Macro))
    return bad("it gives " + typeNameWithArticle(value) + ", not a kernel");
  units.push_back({name, value, true, range});
  if (auto *def = definitionOf(value))
    instantiated.insert(def);
}

void Units::collectInstantiations(ModuleObject &module) {
  for (const std::string &line : e.options.instantiations)
    addInstantiation(line, module);
}

void Units::select(ModuleObject &module) {
  // A factory that is instantiated is not a kernel by itself, unless asked for.
  auto isUsedUp = [&](const Unit &unit) {
    return !unit.wanted && instantiated.contains(definitionOf(unit.value));
  };
  if (e.options.kernels.empty()) {
    std::erase_if(units, isUsedUp);
    if (units.size() == 1 && e.options.instantiations.empty())
      units[0].wanted = true; // there is no doubt which one is meant
    return;
  }
  std::vector<Unit> chosen;
  for (const std::string &name : e.options.kernels) {
    auto it = std::find_if(units.begin(), units.end(),
                           [&](const Unit &unit) { return unit.name == name; });
    if (it != units.end()) {
      chosen.push_back(*it);
      chosen.back().wanted = true;
      continue;
    }
    // Any function of the file may be asked for, imported ones too.
    Slot *slot = module.globals->find(name);
    auto *function = slot && slot->bound ? slot->value.as<FunctionObject>() : nullptr;
    if (function && function->role != FunctionRole::Macro) {
      chosen.push_back({name, slot->value, true, function->nameRange()});
      continue;
    }
    if (slot && slot->bound && slot->value.isError())
      continue; // its error was reported
    if (slot && slot->bound && slot->value.isPoison()) {
      e.poisonError(slot->value, slot->range, "it cannot be compiled");
      continue;
    }
    std::vector<std::string_view> names;
    for (const Unit &unit : units)
      names.push_back(unit.name);
    auto builder = e.report(diag::UnknownKernel, {}, name, didYouMeanText(name, names));
    std::string all;
    for (std::string_view n : names)
      all += (all.empty() ? "`" : ", `") + std::string(n) + "`";
    if (!all.empty())
      builder.note("the source has " + all);
  }
  units = std::move(chosen);
}

void Units::finishNames() {
  std::map<std::string, const ir::Function *> seen;
  for (const auto &function : result.functions)
    if (!seen.emplace(function->name, function.get()).second)
      e.report(diag::DuplicateKernel, function->range, function->name)
          .label(seen[function->name]->range, "the other one");
  if (e.options.name.empty() || result.functions.empty())
    return;
  if (result.functions.size() > 1)
    e.report(diag::NameNeedsOneKernel, {}, result.functions.size());
  else
    result.functions[0]->name = e.options.name;
}

void Units::run(ModuleObject &module) {
  collect(module);
  collectInstantiations(module);
  select(module);
  std::string leftOut;
  for (const Unit &unit : units) {
    if (build(unit) != Outcome::LeftOut)
      continue;
    leftOut += (leftOut.empty() ? "`" : ", `") + unit.name + "`";
  }
  finishNames();
  if (e.diagnostics.hasErrors())
    return;
  for (const std::string &text : e.options.assumptions)
    if (!usedAssumptions.contains(text))
      e.report(diag::BadAssumption, {}, text, "no kernel has all the dimensions that it names");
  if (!result.functions.empty())
    reportUnusedDefines(e);
  if (result.functions.empty()) {
    auto builder =
        e.report(diag::NoKernels, {},
                 leftOut.empty() ? std::string() : ": parameters are missing for " + leftOut);
    if (!leftOut.empty())
      builder.help("give them with -D NAME=VALUE, or choose one kernel with --kernel NAME to see "
                   "what it needs");
  } else if (!leftOut.empty())
    e.report(diag::KernelsLeftOut, {}, leftOut);
}

} // namespace tlc::elaborate

// ---- The door

namespace tlc {

ElaborateResult elaborateModule(const ast::Module &module, SourceManager &sources,
                                DiagnosticEngine &diagnostics, const Target &target,
                                ir::Context &context, const ElaborateOptions &options) {
  using namespace elaborate;
  ElaborateResult result;
  Elaborator e(sources, diagnostics, target, context, options);
  readDefines(e);
  auto *main = e.heap.make<ModuleObject>();
  main->name = "__tlc__";
  main->file = module.file;
  main->globals = e.makeScope(e.parts->builtins);
  main->globals->module = main;
  e.parts->mainModule = main;
  e.parts->files[sources.path(module.file)] = main;
  try {
    execModule(e, *main, module);
    Units(e, result).run(*main);
  } catch (const AbortUnit &) {
    // reported
  }
  result.imported = e.parts->imported;
  return result;
}

} // namespace tlc
