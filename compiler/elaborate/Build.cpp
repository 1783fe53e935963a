// Building one kernel: binding its parameters level by level, then executing its body.
#include "elaborate/Units.h"
#include "elaborate/runtime/Runtime.h"
#include "elaborate/runtime/RuntimeState.h"
#include "elaborate/shims/Shims.h"
#include "ir/Walk.h"

#include <algorithm>

namespace tlc::elaborate {

using Arguments = std::vector<std::pair<std::string, Value>>;

struct Units::Bound {
  Arguments values;                 ///< by name
  std::vector<std::string> missing; ///< parameters without a value
};

namespace {

constexpr unsigned mostLevels = 16;   // of factories that return factories
constexpr std::size_t mostTries = 64; // configurations

const Value *findArgument(const Arguments &arguments, const std::string &name) {
  for (auto it = arguments.rbegin(); it != arguments.rend(); ++it)
    if (it->first == name)
      return &it->second;
  return nullptr;
}

// Names that statements of the body annotate without a value: the tensors of an eager kernel.
void annotatedNames(const ast::Block &block, std::unordered_set<std::string> &names) {
  for (const ast::Stmt *s : block) {
    if (auto *annotated = s->as<ast::AnnAssign>()) {
      if (auto *name = annotated->target->as<ast::Name>(); name && !annotated->value)
        names.insert(name->id);
    } else if (auto *x = s->as<ast::If>()) {
      annotatedNames(x->body, names);
      annotatedNames(x->orelse, names);
    } else if (auto *x = s->as<ast::With>())
      annotatedNames(x->body, names);
  }
}

// Names in `M, N = T.const("M, N")`.
void dimensionNames(const ast::Block &block, std::unordered_set<std::string> &names) {
  for (const ast::Stmt *s : block) {
    auto *assign = s->as<ast::Assign>();
    auto *call = assign ? assign->value->as<ast::Call>() : nullptr;
    auto *callee = call ? call->func->as<ast::Attribute>() : nullptr;
    if (!callee || (callee->attr.id != "const" && callee->attr.id != "dynamic") ||
        call->args.empty())
      continue;
    auto *text = call->args[0]->as<ast::Constant>();
    if (!text || text->type != ast::ConstantType::Str)
      continue;
    std::string word;
    for (char c : text->text + ",")
      if (c == ',' || c == ' ') {
        if (!word.empty())
          names.insert(word);
        word.clear();
      } else
        word += c;
  }
}

std::vector<const ast::Arg *> parametersOf(const FunctionObject &function) {
  std::vector<const ast::Arg *> out;
  const ast::Arguments &p = function.parameters();
  for (const auto *list : {&p.posOnly, &p.args, &p.kwOnly})
    for (const ast::Arg &arg : *list)
      out.push_back(&arg);
  return out;
}

// Evaluates in the function's own surroundings.
struct FrameScope {
  Elaborator &e;
  std::size_t depth;
  FrameScope(Elaborator &e, FunctionObject *function, Scope *scope) : e(e), depth(e.frames.size()) {
    auto frame = std::make_unique<Frame>();
    frame->function = function;
    frame->scope = scope;
    frame->firstRegion = e.regions.size();
    e.frames.push_back(std::move(frame));
  }
  ~FrameScope() { e.frames.resize(depth); }
};

Value defaultOf(Elaborator &e, FunctionObject &function, const ast::Arg &arg) {
  if (auto it = function.defaults.find(arg.name.id); it != function.defaults.end())
    return it->second;
  FrameScope frame(e, nullptr, function.closure);
  return e.eval(*arg.defaultValue); // reports why it could not be evaluated before
}

// A value of the command line for a parameter.
std::optional<Value> defineOf(Elaborator &e, const std::string &name) {
  const Define *define = e.findDefine(name);
  if (!define)
    return std::nullopt;
  return define->dynamic ? Value::expr(e.context.var(name, DType(Scalar::Int32))) : define->value;
}

// The type of an eager kernel's parameter as its `def` says it; an error value if it says nothing
// about run time.
Value runtimeAnnotation(Elaborator &e, FunctionObject &function, const ast::Arg &arg) {
  if (!arg.annotation)
    return Value::error();
  FrameScope frame(e, nullptr, function.closure);
  if (!annotationRootedInT(e, *arg.annotation))
    return Value::error();
  auto mark = e.diagnostics.mark();
  Value type = e.eval(*arg.annotation);
  if (e.diagnostics.errorCount() > mark.errors) {
    e.diagnostics.rollback(mark);
    return Value::error();
  }
  auto *tensor = type.native<TensorType>();
  return type.isDType() || tensor ? type : Value::error();
}

} // namespace

// ---- Arguments of one level

std::optional<Outcome> Units::bind(const Unit &unit, FunctionObject &function,
                                   const Arguments &given, const Value &config, Bound &bound) {
  std::unordered_set<std::string> tensors;
  if (function.eager)
    annotatedNames(function.def->body, tensors);
  auto *settings = config.as<DictObject>();
  for (const ast::Arg *arg : parametersOf(function)) {
    const std::string &name = arg->name.id;
    Value runtime = function.eager ? runtimeAnnotation(e, function, *arg) : Value::error();
    bool isTensor = tensors.contains(name) || runtime.native<TensorType>();
    if (isTensor && !arg->defaultValue)
      continue;
    if (auto define = isTensor ? std::nullopt : defineOf(e, name)) {
      bound.values.emplace_back(name, *define);
      givenSomething = true;
    } else if (const Value *value = findArgument(given, name)) {
      if (!(isTensor && value->isPoison()))
        bound.values.emplace_back(name, *value);
    } else if (const Value *value = settings ? settings->table.find(e.str(name)) : nullptr)
      bound.values.emplace_back(name, *value);
    else if (!runtime.isError())
      continue; // a run-time scalar
    else if (arg->defaultValue) {
      Value value = defaultOf(e, function, *arg);
      if (value.isError())
        return Outcome::Failed;
      bound.values.emplace_back(name, value);
    } else
      bound.missing.push_back(name);
  }
  // A -D of a dimension counts as something given, too.
  std::unordered_set<std::string> dims;
  if (function.eager)
    dimensionNames(function.def->body, dims);
  for (const std::string &name : dims)
    givenSomething = givenSomething || e.findDefine(name);
  // Names that T.const makes and an instantiation gives are bound like -D.
  for (auto &[name, value] : given) {
    bool parameter = false;
    for (const ast::Arg *arg : parametersOf(function))
      parameter = parameter || arg->name.id == name;
    if (!parameter && function.eager) {
      Define dim;
      dim.name = name;
      dim.value = value;
      e.parts->unitDefines.push_back(dim);
    } else if (!parameter && !function.parameters().kwarg) {
      e.report(diag::UnexpectedKeyword, unit.range, function.name, name, "");
      return Outcome::Failed;
    }
  }
  return std::nullopt;
}

std::vector<Value> Units::configurations(FunctionObject &function, const Arguments &given,
                                         const JitOptions &options) {
  Value configs = options.configs.isNone() ? function.jit.configs : options.configs;
  SourceRange range = options.configs.isNone() ? function.jit.configsRange : options.configsRange;
  if (configs.isNone() || configs.isError())
    return {};
  if (e.callable(configs) && !configs.isPoison()) {
    // Called with the factory's arguments; it takes those that it names.
    CallArgs args;
    args.range = args.calleeRange = range;
    args.callee = "configs";
    auto *callee = configs.as<FunctionObject>();
    for (const ast::Arg *arg : parametersOf(function)) {
      bool takes = !callee;
      if (callee)
        for (const ast::Arg *p : parametersOf(*callee))
          takes = takes || p->name.id == arg->name.id;
      if (!takes)
        continue;
      std::optional<Value> value = defineOf(e, arg->name.id);
      if (!value)
        if (const Value *g = findArgument(given, arg->name.id))
          value = *g;
      if (!value && arg->defaultValue)
        value = defaultOf(e, function, *arg);
      if (value)
        args.keywords.push_back({arg->name.id, range, *value, range, nullptr});
    }
    FrameScope frame(e, nullptr, function.closure);
    configs = e.call(configs, args);
  }
  if (configs.isError())
    return {};
  if (configs.isPoison()) {
    e.poisonError(configs, range, "no configuration can be chosen");
    return {};
  }
  auto items = e.items(configs, range);
  return items ? *items : std::vector<Value>();
}

// ---- One level: a factory, or the kernel

Outcome Units::level(const Unit &unit, FunctionObject &function, const Arguments &given,
                     const JitOptions &options) {
  bool hasConfigs = !options.configs.isNone() || !function.jit.configs.isNone();
  std::vector<Value> configs;
  if (hasConfigs) {
    // A function that makes the configurations needs some of the arguments itself.
    const Value &maker = options.configs.isNone() ? function.jit.configs : options.configs;
    if (auto *callee = maker.as<FunctionObject>()) {
      Bound bound;
      std::vector<std::string> missing;
      if (auto failed = bind(unit, function, given, Value::none(), bound))
        return *failed;
      for (const ast::Arg *arg : parametersOf(*callee))
        if (!arg->defaultValue && std::find(bound.missing.begin(), bound.missing.end(),
                                            arg->name.id) != bound.missing.end())
          missing.push_back(arg->name.id);
      if (!missing.empty())
        return reportMissing(unit, function, missing);
    }
    auto mark = e.diagnostics.mark();
    configs = configurations(function, given, options);
    if (e.diagnostics.errorCount() > mark.errors) {
      // Without configurations the parameters may still all be given.
      Bound bound;
      auto failed = bind(unit, function, given, Value::none(), bound);
      if (failed || !bound.missing.empty())
        return Outcome::Failed;
      e.diagnostics.rollback(mark);
      configs.clear();
    }
  }
  // Configurations are applied whole or not at all.
  auto explicitly = [&](const Value &config) {
    bool any = false;
    if (auto *dict = config.as<DictObject>())
      dict->table.forEach([&](const Value &key, const Value &) {
        std::string name = key.isText() ? key.asText() : std::string();
        any = any || findArgument(given, name) || e.findDefine(name);
      });
    return any;
  };
  auto incomplete = [&] { // whatever the configuration is
    Bound bound;
    return !bind(unit, function, given, configs[0], bound) && !bound.missing.empty();
  };
  if (configs.empty() || explicitly(configs[0]))
    return apply(unit, function, given, options, Value::none());
  if (incomplete())
    return apply(unit, function, given, options, configs[0]);
  for (std::size_t i = 0; i < std::min(configs.size(), mostTries); ++i) {
    auto mark = e.diagnostics.mark();
    std::size_t built = result.functions.size();
    Outcome outcome = Outcome::Failed;
    std::size_t frames = e.frames.size();
    try {
      outcome = apply(unit, function, given, options, configs[i]);
    } catch (const AbortUnit &) {
      e.frames.resize(frames);
    }
    if (outcome != Outcome::Failed)
      return outcome;
    result.functions.resize(built);
    e.diagnostics.rollback(mark);
  }
  e.report(diag::NoValidConfiguration, unit.range, unit.name, e.target.name);
  apply(unit, function, given, options, configs[0]); // shows the reasons
  return Outcome::Failed;
}

Outcome Units::reportMissing(const Unit &unit, const FunctionObject &function,
                             const std::vector<std::string> &missing) {
  if (!unit.wanted && !givenSomething)
    return Outcome::LeftOut;
  std::string list, example;
  for (const std::string &name : missing) {
    list += (list.empty() ? "`" : ", `") + name + "`";
    example += (example.empty() ? "-D " : " -D ") + name + "=...";
  }
  e.report(diag::MissingParameter, function.nameRange(), unit.name, list).help("add " + example);
  return Outcome::Failed;
}

Outcome Units::apply(const Unit &unit, FunctionObject &function, const Arguments &given,
                     const JitOptions &options, const Value &config) {
  Bound bound;
  if (auto failed = bind(unit, function, given, config, bound))
    return *failed;
  if (!bound.missing.empty())
    return reportMissing(unit, function, bound.missing);
  JitOptions merged = options;
  if (merged.outIdx.isNone()) {
    merged.outIdx = function.jit.outIdx;
    merged.outIdxRange = function.jit.outIdxRange;
  }
  if (merged.passConfigs.isNone()) {
    merged.passConfigs = function.jit.passConfigs;
    merged.passConfigsRange = function.jit.passConfigsRange;
  }
  merged.configs = Value::none();
  if (function.eager) {
    Scope *scope = e.makeScope(function.closure);
    for (auto &[name, value] : bound.values) {
      Slot &slot = scope->slot(name);
      slot.value = value;
      slot.bound = true;
      slot.range = function.nameRange();
    }
    return kernel(unit, function, scope, merged);
  }
  CallArgs args;
  args.range = args.calleeRange = function.nameRange();
  args.callee = function.name;
  for (auto &[name, value] : bound.values) {
    bool positionalOnly = false;
    for (const ast::Arg &arg : function.parameters().posOnly)
      positionalOnly = positionalOnly || arg.name.id == name;
    if (positionalOnly)
      args.positional.push_back({value, args.range, nullptr});
    else
      args.keywords.push_back({name, args.range, value, args.range, nullptr});
  }
  std::size_t errors = e.diagnostics.errorCount();
  Scope *scope = e.bindParameters(function, args);
  Value made = scope ? e.runBody(function, scope, false, false, {}) : Value::error();
  if (made.isError() || e.diagnostics.errorCount() > errors)
    return Outcome::Failed;
  return resolve(unit, made, merged);
}

Outcome Units::resolve(const Unit &unit, Value value, JitOptions options) {
  static thread_local unsigned depth = 0;
  struct Depth {
    Depth() { ++depth; }
    ~Depth() { --depth; }
  } deeper;
  Arguments given;
  FunctionObject *function = value.as<FunctionObject>();
  if (auto *kernelValue = value.native<KernelValue>()) {
    function = kernelValue->function;
    given = kernelValue->arguments;
    if (!kernelValue->options.outIdx.isNone()) {
      options.outIdx = kernelValue->options.outIdx;
      options.outIdxRange = kernelValue->options.outIdxRange;
    }
    if (!kernelValue->options.passConfigs.isNone()) {
      options.passConfigs = kernelValue->options.passConfigs;
      options.passConfigsRange = kernelValue->options.passConfigsRange;
    }
    options.configs = kernelValue->options.configs;
    options.configsRange = kernelValue->options.configsRange;
  }
  // A factory may give several kernels; the first is the one that it is named for.
  if (value.is(ValueKind::Tuple) || value.is(ValueKind::List)) {
    std::vector<Value> items = e.toList(value);
    if (!items.empty() && (items[0].is(ValueKind::Function) || items[0].native<KernelValue>()))
      return resolve(unit, items[0], options);
  }
  if (!function || function->role == FunctionRole::Macro || function->lambda ||
      depth > mostLevels) {
    if (!unit.wanted && !givenSomething)
      return Outcome::NoKernel;
    if (value.isPoison())
      e.poisonError(value, unit.range, "no kernel can be built from it");
    else
      e.report(diag::NotAKernel, unit.range, unit.name, typeNameWithArticle(value));
    return Outcome::Failed;
  }
  e.parts->unitNames.push_back(function->name);
  if (function->role == FunctionRole::PrimFunc) {
    Scope *scope = e.makeScope(function->closure);
    return kernel(unit, *function, scope, options);
  }
  return level(unit, *function, given, options);
}

Outcome Units::build(const Unit &unit) {
  e.parts->unitNames = {unit.name};
  e.parts->unitDefines.clear();
  e.parts->steps = 0;
  givenSomething = false;
  auto mark = e.diagnostics.mark();
  std::size_t built = result.functions.size();
  Outcome outcome = Outcome::Failed;
  try {
    outcome = resolve(unit, unit.value, JitOptions());
  } catch (const AbortUnit &) {
    outcome = Outcome::Failed;
  } catch (const RaisedException &) {
    outcome = Outcome::Failed;
  }
  e.frames.clear();
  e.regions.clear();
  e.kernel = nullptr;
  e.parts->tryDepth = 0;
  e.parts->callDepth = e.parts->exprDepth = 0;
  if (outcome == Outcome::Failed)
    result.functions.resize(built);
  // What was not asked for and got nothing may need something, or be host code through and through.
  if (outcome == Outcome::Failed && !unit.wanted && !givenSomething) {
    bool host = true, missing = true;
    const auto &records = e.diagnostics.diagnostics();
    for (std::size_t i = mark.records; i < records.size(); ++i) {
      if (records[i].severity != Severity::Error)
        continue;
      host = host && records[i].id == diag::UnknownValueDecides;
      missing = missing && (records[i].id == diag::ExtentNotConstant ||
                            records[i].id == diag::NoValidConfiguration);
    }
    auto *function = unit.value.as<FunctionObject>();
    host = host && function && function->role == FunctionRole::Plain;
    if (host || missing) {
      e.diagnostics.rollback(mark);
      return host ? Outcome::NoKernel : Outcome::LeftOut;
    }
  }
  return outcome;
}

// ---- The kernel itself

void Units::declareParameters(FunctionObject &function, Scope *scope) {
  for (const ast::Arg *arg : parametersOf(function)) {
    Slot &slot = scope->slot(arg->name.id);
    if (slot.bound)
      continue; // a compile-time argument of an eager kernel
    Value annotation;
    SourceRange where = arg->annotation ? arg->annotation->range : arg->name.range;
    if (function.eager) {
      annotation = runtimeAnnotation(e, function, *arg);
      if (annotation.isError())
        continue; // the body annotates it
    } else if (arg->annotation) {
      annotation = e.eval(*arg->annotation);
    } else
      annotation = Value::none();
    slot.value = annotation.isError()
                     ? annotation
                     : declareParameter(e, arg->name.id, annotation, arg->name.range, where);
    slot.bound = true;
    slot.range = arg->name.range;
  }
}

static bool usesVariable(ir::Function &function, ir::Expr variable) {
  bool found = false;
  auto look = [&](ir::Expr x) { found = found || (x && ir::uses(x, variable)); };
  for (const auto &buffer : function.buffers)
    for (ir::Expr x : buffer->shape)
      look(x);
  for (const ir::Constraint &c : function.constraints)
    look(c.condition);
  for (const auto &launch : function.launches) {
    for (ir::Expr x : launch->grid)
      look(x);
    ir::walk(launch->body, [&](ir::Stmt &s) {
      ir::forEachExpr(s, [&](ir::Expr &x) { look(x); });
      return !found;
    });
  }
  return found;
}

Outcome Units::kernel(const Unit &unit, FunctionObject &function, Scope *scope,
                      const JitOptions &options) {
  std::size_t errors = e.diagnostics.errorCount();
  auto made = std::make_unique<ir::Function>(e.context);
  made->name = unit.name;
  made->range = function.nameRange();
  made->options.fastMath = e.options.fastMath;
  made->options.hintsAreBinding = e.options.hintsAreBinding;
  ir::LaunchConstant processors;
  processors.var = multiprocessorCount(e);
  made->launchConstants.push_back(processors);
  auto &locals = e.parts->locals[function.def];
  if (locals.empty())
    locals = localNames(*function.def);
  scope->locals = &locals;

  ir::Block top; // nothing may stand outside of T.Kernel; see requireLaunch
  KernelState state(*made, top);
  state.unit = unit.name;
  state.kernel = &function;
  e.kernel = &state;
  struct Leave {
    Elaborator &e;
    std::size_t depth;
    ~Leave() {
      e.kernel = nullptr;
      e.frames.resize(depth);
      e.regions.clear();
    }
  } leave{e, e.frames.size()};
  auto frame = std::make_unique<Frame>();
  frame->function = &function;
  frame->scope = scope;
  frame->inKernel = true;
  frame->firstRegion = e.regions.size();
  e.frames.push_back(std::move(frame));
  beginKernel(e, function);
  declareParameters(function, scope);
  e.execBlock(function.def->body);
  if (e.diagnostics.errorCount() == errors)
    finishKernel(e, function, e.frame().returned, e.frame().returnRange, options);
  if (!usesVariable(*made, processors.var))
    std::erase_if(made->launchConstants,
                  [&](const ir::LaunchConstant &c) { return c.var == processors.var; });
  if (e.diagnostics.errorCount() == errors)
    assume(*made);
  if (e.diagnostics.errorCount() > errors)
    return Outcome::Failed;
  result.functions.push_back(std::move(made));
  return Outcome::Built;
}

// --assume: comparisons over the kernel's dimensions and scalars.
void Units::assume(ir::Function &function) {
  for (const std::string &text : e.options.assumptions) {
    std::uint32_t file = e.sources.addBuffer("--assume", text);
    auto tree = e.options.parseExpression ? e.options.parseExpression(file) : nullptr;
    if (!tree || tree->body.size() != 1)
      return;
    Scope *scope = e.makeScope(e.parts->builtins);
    auto define = [&](const std::string &name, ir::Expr var) {
      Slot &slot = scope->slot(name);
      slot.value = Value::expr(var);
      slot.bound = true;
    };
    for (const ir::Dim &dim : function.dims)
      define(dim.name, dim.var);
    for (const ir::Param &param : function.params)
      if (param.scalar)
        define(param.name, param.scalar);
    auto mark = e.diagnostics.mark();
    Value value;
    {
      FrameScope frame(e, nullptr, scope);
      value = e.eval(*tree->body[0]->as<ast::ExprStmt>()->value);
    }
    e.parts->trees.push_back(std::move(tree));
    if (e.diagnostics.errorCount() > mark.errors) {
      e.diagnostics.rollback(mark); // another kernel may have the names
      continue;
    }
    usedAssumptions.insert(text);
    if (value.isBool() && value.asBool())
      continue;
    if (!value.isExpr() || !value.asExpr().dtype().isBool()) {
      e.report(diag::BadAssumption, {}, text,
               value.isBool() ? "it does not hold" : "it is no comparison");
      continue;
    }
    function.constraints.push_back({value.asExpr(), text, {}});
  }
}

} // namespace tlc::elaborate
