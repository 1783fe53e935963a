// The walker's state: names, regions, conversions, budgets.
#include "elaborate/Elaborator.h"

#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"
#include "elaborate/shims/Shims.h"
#include "elaborate/tile/TParams.h"
#include "support/Names.h"

#include <algorithm>
#include <limits>

namespace tlc::elaborate {

Elaborator::Elaborator(SourceManager &sources, DiagnosticEngine &diagnostics, const Target &target,
                       ir::Context &context, const ElaborateOptions &options)
    : sources(sources), diagnostics(diagnostics), target(target), context(context),
      options(options), parts(std::make_unique<Parts>()) {
  parts->builtins = makeScope(nullptr);
  installBuiltins(*this, *parts->builtins);
}

Elaborator::~Elaborator() = default;

Scope *Elaborator::makeScope(Scope *parent) {
  parts->scopes.push_back(std::make_unique<Scope>());
  Scope *scope = parts->scopes.back().get();
  scope->parent = parent;
  scope->module = parent ? parent->module : nullptr;
  return scope;
}

void Elaborator::charge(std::uint64_t steps, SourceRange range) {
  parts->steps += steps;
  if (parts->steps <= stepLimit)
    return;
  report(diag::TooMuchWork, range.valid() ? range : currentRange, stepLimit);
  parts->steps = 0; // the next unit has a budget of its own
  throw AbortUnit();
}

// ---- Names

namespace {

void staleName(Elaborator &e, Slot &slot, const std::string &name, SourceRange range) {
  bool rebound = slot.staleness == Staleness::Rebound;
  e.report(rebound ? diag::ReboundInRuntimeRegion : diag::BoundInRuntimeRegion, range, name)
      .label(slot.range, "bound here")
      .help("declare `" + name +
            " = T.alloc_var(dtype)` before the loop or branch and assign to it");
  slot.value = Value::error(); // said once
  slot.staleness = Staleness::Fresh;
}

std::vector<std::string_view> visibleNames(Scope *scope) {
  std::vector<std::string_view> names;
  for (; scope; scope = scope->parent)
    for (auto &[name, slot] : scope->names)
      if (slot->bound)
        names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

Value Elaborator::lookup(const std::string &name, SourceRange range) {
  Scope *here = frame().scope;
  for (Scope *scope = here; scope; scope = scope->parent) {
    if (scope->isClass && scope != here)
      continue;
    Slot *slot = scope->find(name);
    if (slot && slot->bound) {
      if (slot->staleness != Staleness::Fresh)
        staleName(*this, *slot, name, range);
      for (std::size_t r = regions.size(); r > frame().firstRegion; --r) {
        Region &region = regions[r - 1];
        bool boundInside = false;
        for (const Region::Saved &saved : region.saved)
          boundInside = boundInside || saved.slot == slot;
        if (boundInside)
          break;
        if (region.isLoop && scope == here)
          region.reads.emplace(slot, range);
      }
      return slot->value;
    }
    if (scope->locals && scope->locals->contains(name)) {
      report(diag::UnboundLocal, range, name);
      Slot &unbound = scope->slot(name);
      unbound.value = Value::error();
      unbound.bound = true;
      return Value::error();
    }
  }
  auto undefined =
      report(diag::UndefinedName, range, name, didYouMeanText(name, visibleNames(here)));
  if (std::string import = customaryImport(name); !import.empty())
    undefined.help("write `" + import + "` above it");
  // Said once per scope.
  Slot &slot = here->slot(name);
  slot.value = Value::error();
  slot.bound = true;
  return Value::error();
}

void Elaborator::bindName(const std::string &name, const Value &value, SourceRange range) {
  Slot &slot = frame().scope->slot(name);
  bool usableBefore = slot.bound && slot.staleness == Staleness::Fresh;
  if (kernel && !(usableBefore && slot.value.identical(value)))
    for (std::size_t r = frame().firstRegion; r < regions.size(); ++r) {
      Region &region = regions[r];
      bool saved = false;
      for (Region::Saved &s : region.saved)
        if (s.slot == &slot) {
          s.rebound = range;
          saved = true;
        }
      if (saved)
        continue;
      if (auto read = region.reads.find(&slot); read != region.reads.end() && usableBefore) {
        if (!slot.value.isError() && !value.isError())
          report(diag::CarriedByLoop, range, name)
              .label(read->second, "read here")
              .help("declare `" + name +
                    " = T.alloc_var(dtype, init)` before the loop and assign to it");
      }
      region.saved.push_back({&slot, name, slot.value, usableBefore, range});
    }
  slot.value = value;
  slot.bound = true;
  slot.staleness = Staleness::Fresh;
  slot.range = range;
}

// ---- Regions

void Elaborator::enterRegion(bool isLoop) {
  regions.emplace_back();
  regions.back().isLoop = isLoop;
}

static void endNames(std::vector<Region::Saved> &saved) {
  for (Region::Saved &s : saved) {
    if (s.wasBound && s.slot->bound && s.slot->staleness == Staleness::Fresh &&
        s.slot->value.identical(s.value))
      continue;
    if (s.slot->value.isError() || (s.wasBound && s.value.isError())) {
      s.slot->value = Value::error();
      s.slot->staleness = Staleness::Fresh;
      continue;
    }
    s.slot->bound = true;
    s.slot->staleness = s.wasBound ? Staleness::Rebound : Staleness::BoundInside;
    s.slot->range = s.rebound;
  }
}

void Elaborator::leaveRegion() {
  std::vector<Region::Saved> saved = std::move(regions.back().saved);
  regions.pop_back();
  endNames(saved);
}

namespace {
struct RegionGuard {
  Elaborator &e;
  std::size_t depth = e.regions.size();
  std::size_t loops = e.frame().loops.size();
  ~RegionGuard() {
    // After an exception the regions opened since are dropped.
    if (e.regions.size() > depth)
      e.regions.resize(depth);
    if (!e.frames.empty() && e.frame().loops.size() > loops)
      e.frame().loops.resize(loops);
  }
};
} // namespace

void Elaborator::runtimeLoop(const std::function<void()> &body) {
  RegionGuard guard{*this};
  enterRegion(true);
  frame().loops.push_back({true, regions.size()});
  body();
  frame().loops.pop_back();
  leaveRegion();
}

void Elaborator::runtimeBranches(const std::vector<std::function<void()>> &arms) {
  RegionGuard guard{*this};
  std::vector<Region::Saved> pending;
  for (const auto &arm : arms) {
    enterRegion(false);
    arm();
    std::vector<Region::Saved> saved = std::move(regions.back().saved);
    regions.pop_back();
    for (Region::Saved &s : saved) {
      Region::Saved mark = s;
      std::swap(mark.value, s.slot->value); // mark: the value bound in the arm
      s.slot->staleness = s.wasBound ? Staleness::Fresh : Staleness::BoundInside;
      s.slot->bound = s.wasBound;
      pending.push_back(std::move(mark));
    }
  }
  for (Region::Saved &p : pending) {
    if (p.wasBound && p.value.identical(p.slot->value))
      continue;
    p.slot->bound = true;
    p.slot->range = p.rebound;
    if (p.value.isError()) {
      p.slot->value = Value::error();
      p.slot->staleness = Staleness::Fresh;
    } else if (!(p.wasBound && p.slot->value.isError()))
      p.slot->staleness = p.wasBound ? Staleness::Rebound : Staleness::BoundInside;
  }
}

void Elaborator::execLoopBody(const ast::For &loop, const Value &item) {
  runtimeLoop([&] {
    assign(*loop.target, item, loop.target->range);
    execBlock(loop.body);
  });
}

// ---- Poison

Value Elaborator::makePoison(std::string origin, SourceRange range, std::string reason) {
  auto *poison = heap.make<PoisonObject>();
  poison->origin = std::move(origin);
  poison->range = range;
  poison->reason = std::move(reason);
  return Value::object(poison);
}

Value Elaborator::poisonError(const Value &value, SourceRange range, std::string_view use) {
  const auto *poison = value.as<PoisonObject>();
  auto builder = report(diag::UnknownValueDecides, range, poison->origin, use);
  if (poison->range.valid() && !(poison->range == range))
    builder.label(poison->range, "it comes from here");
  if (!poison->reason.empty())
    builder.note(poison->reason);
  return Value::error();
}

bool Elaborator::usable(const Value &value, SourceRange range, std::string_view use) {
  if (value.isError())
    return false;
  if (!value.isPoison())
    return true;
  poisonError(value, range, use);
  return false;
}

// ---- Conversions

static void wrongType(Elaborator &e, const Value &value, SourceRange range, std::string_view what,
                      std::string_view wanted) {
  e.report(diag::WrongType, range, what, wanted, typeNameWithArticle(value));
}

std::optional<std::int64_t> Elaborator::toInt(const Value &given, SourceRange range,
                                              std::string_view what) {
  Value value = given;
  if (auto *member = value.as<EnumMemberObject>(); member && member->value.isInt())
    value = member->value;
  if (value.isExpr() && value.asExpr().isInt())
    value = Value::integer(value.asExpr()->integer);
  if (!usable(value, range, std::string(what) + " cannot be determined"))
    return std::nullopt;
  if (!value.isIntegral()) {
    if (value.isRuntime())
      report(diag::RuntimeConditionHere, range, what);
    else
      wrongType(*this, value, range, what, "an int");
    return std::nullopt;
  }
  auto result = value.asInt64();
  if (!result)
    report(diag::BadValue, range,
           std::string(what) + " does not fit 64 bits: " + decimal(value.asInt()));
  return result;
}

std::optional<bool> Elaborator::toBool(const Value &value, SourceRange range,
                                       std::string_view what) {
  if (!usable(value, range, std::string(what) + " cannot be determined"))
    return std::nullopt;
  if (value.isRuntime()) {
    if (value.isExpr() && value.asExpr().isInt())
      return value.asExpr()->integer != 0;
    report(diag::RuntimeConditionHere, range, what);
    return std::nullopt;
  }
  return truth(value, range);
}

std::optional<double> Elaborator::toDouble(const Value &value, SourceRange range,
                                           std::string_view what) {
  if (!usable(value, range, std::string(what) + " cannot be determined"))
    return std::nullopt;
  if (value.isNumber())
    return value.asDouble();
  wrongType(*this, value, range, what, "a number");
  return std::nullopt;
}

std::optional<std::string> Elaborator::toStr(const Value &value, SourceRange range,
                                             std::string_view what) {
  if (!usable(value, range, std::string(what) + " cannot be determined"))
    return std::nullopt;
  if (value.isText())
    return value.asText();
  wrongType(*this, value, range, what, "a str");
  return std::nullopt;
}

std::optional<DType> Elaborator::toDType(const Value &value, SourceRange range,
                                         std::string_view what) {
  if (!usable(value, range, std::string(what) + " cannot be determined"))
    return std::nullopt;
  if (value.isDType() && value.dtypeExtra() == DTypeExtra::None)
    return value.asDType();
  if (auto *builtin = value.as<BuiltinObject>(); builtin && builtin->isType) {
    if (builtin->name == "int")
      return DType(Scalar::Int32);
    if (builtin->name == "float")
      return DType(Scalar::Float32);
    if (builtin->name == "bool")
      return DType(Scalar::Bool);
  }
  if (value.isStr()) {
    std::string text = value.asText();
    if (text.starts_with("torch."))
      text = text.substr(6);
    if (auto type = DType::parse(text))
      return *type;
    std::vector<std::string_view> names;
    for (std::string_view name : {
#define TLC_SCALAR(NAME, TEXT, ...) std::string_view(TEXT),
#include "support/DType.def"
         })
      names.push_back(name);
    report(diag::NotADType, range, what, repr(value), didYouMeanText(text, names));
    return std::nullopt;
  }
  if (auto *type = value.native<TypeConstructor>();
      type && (type->info.id == sema::Builtin::Ptr || type->info.id == sema::Builtin::Handle)) {
    report(diag::UnsupportedBuiltin, range, type->info.name, "as a dtype is not supported yet",
           target.name)
        .help("pass each pointer as a parameter `p: T.ptr` of its own");
    return std::nullopt;
  }
  report(diag::NotADType, range, what, value.isDType() ? repr(value) : typeNameWithArticle(value),
         "");
  return std::nullopt;
}

std::vector<Value> Elaborator::toList(const Value &value) {
  if (auto *tuple = value.as<TupleObject>())
    return tuple->items;
  if (auto *list = value.as<ListObject>())
    return list->items;
  return {value};
}

// ---- Truth

std::optional<bool> Elaborator::truth(const Value &value, SourceRange range) {
  switch (value.kind()) {
  case ValueKind::Error:
    return std::nullopt;
  case ValueKind::None:
    return false;
  case ValueKind::Bool:
    return value.asBool();
  case ValueKind::Int:
    return value.asInt() != 0;
  case ValueKind::Float:
    return value.asDouble() != 0;
  case ValueKind::Str:
    return !value.as<StrObject>()->text.empty();
  case ValueKind::Bytes:
    return !value.as<BytesObject>()->bytes.empty();
  case ValueKind::Tuple:
    return !value.as<TupleObject>()->items.empty();
  case ValueKind::List:
    return !value.as<ListObject>()->items.empty();
  case ValueKind::Dict:
    return value.as<DictObject>()->table.size() != 0;
  case ValueKind::Set:
    return value.as<SetObject>()->table.size() != 0;
  case ValueKind::Range:
    return value.as<RangeObject>()->size() != 0;
  case ValueKind::Expr:
    if (value.asExpr().isInt())
      return value.asExpr()->integer != 0;
    if (value.asExpr().isFloat())
      return value.asExpr()->real != 0;
    return std::nullopt;
  case ValueKind::Cell:
    return std::nullopt;
  case ValueKind::EnumMember:
    return value.as<EnumMemberObject>()->value.isInt()
               ? value.as<EnumMemberObject>()->value.asInt() != 0
               : true;
  case ValueKind::Instance:
    if (auto result = callSpecial(*this, value, "__bool__", {}, range))
      return truth(*result, range);
    if (auto result = callSpecial(*this, value, "__len__", {}, range))
      return truth(*result, range);
    return true;
  case ValueKind::Poison:
    poisonError(value, range, "this condition cannot be decided");
    return std::nullopt;
  case ValueKind::Native:
    if (value.isRuntime())
      return std::nullopt;
    return true;
  default:
    return true;
  }
}

std::optional<bool> Elaborator::evalCondition(const ast::Expr &expr) {
  Value value = eval(expr);
  if (value.isError())
    return std::nullopt;
  auto result = truth(value, expr.range);
  if (!result && value.isRuntime()) {
    FunctionObject *function = frame().function;
    if (frame().inKernel || !function)
      report(diag::RuntimeConditionHere, expr.range, "this");
    else
      report(diag::RuntimeConditionInFunction, expr.range, function->name);
  }
  return result;
}

} // namespace tlc::elaborate
