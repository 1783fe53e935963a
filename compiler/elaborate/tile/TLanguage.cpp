// The names of T as values.
#include "elaborate/tile/TParams.h"

namespace tlc::elaborate {

using sema::Builtin;
using sema::BuiltinInfo;

Language &language(Elaborator &e) {
  if (!e.language)
    e.language = std::make_shared<Language>();
  return *e.language;
}

namespace {

const Handlers &handlers() {
  static const Handlers table = [] {
    Handlers t(sema::allBuiltins().size(), nullptr);
    addLaunch(t);
    addParams(t);
    addAlloc(t);
    addCopies(t);
    addGemms(t);
    addLoops(t);
    addReductions(t);
    addMath(t);
    addVectors(t);
    addAtomics(t);
    addSync(t);
    addWarp(t);
    addAnnotations(t);
    addLayouts(t);
    addDebug(t);
    addExtern(t);
    addMemoryOps(t);
    addScheduler(t);
    return t;
  }();
  return table;
}

/// T.GemmWarpPolicy, an enum with three members.
Value warpPolicies(Elaborator &e) {
  Language &lang = language(e);
  if (!lang.warpPolicy) {
    auto *cls = e.heap.make<ClassObject>();
    cls->name = "GemmWarpPolicy";
    cls->isEnum = true;
    cls->evaluated = true;
    cls->scope = e.makeScope(nullptr);
    static constexpr const char *names[] = {"Square", "FullRow", "FullCol"};
    for (int i = 0; i < 3; ++i) {
      auto *member = e.heap.make<EnumMemberObject>();
      member->cls = cls;
      member->name = names[i];
      member->value = Value::integer(i);
      cls->members.push_back(Value::object(member));
      Slot &slot = cls->scope->slot(names[i]);
      slot.value = Value::object(member);
      slot.bound = true;
    }
    lang.warpPolicy = cls;
  }
  return Value::object(lang.warpPolicy);
}

std::optional<Value> dtypeByName(std::string_view name) {
  if (name == "void")
    return Value::dtype(DType(Scalar::UInt8), DTypeExtra::Void);
  if (name == "handle")
    return Value::dtype(DType(Scalar::UInt64), DTypeExtra::Handle);
  if (name == "float4_e2m1_unpacked")
    return Value::dtype(DType(Scalar::Float4E2M1FN), DTypeExtra::Float4Unpacked);
  if (std::optional<DType> type = DType::parse(name))
    return Value::dtype(*type);
  return std::nullopt;
}

/// `T.if_then_else(c, a, b)`: only the side that is taken is evaluated.
Value lazyIfThenElse(Elaborator &e, const ast::Call &call) {
  const BuiltinInfo &info = sema::info(Builtin::IfThenElse);
  const ast::Expr *parts[3] = {};
  static constexpr std::string_view names[] = {"cond", "a", "b"};
  bool plain = call.args.size() <= 3;
  for (std::size_t i = 0; i < call.args.size() && plain; ++i) {
    plain = !call.args[i]->is<ast::Starred>();
    parts[i] = call.args[i];
  }
  for (const ast::Keyword &k : call.keywords)
    for (std::size_t i = 0; i < 3; ++i)
      if (k.name.id == names[i])
        parts[i] = k.value;
  if (!plain || !parts[0] || !parts[1] || !parts[2] ||
      call.args.size() + call.keywords.size() != 3) {
    CallArgs args = e.evalArguments(call);
    TCall checked(e, info, args);
    checked.check(); // reports what is wrong
    return Value::error();
  }
  Value condition = e.eval(*parts[0]);
  if (condition.isError())
    return condition;
  auto eval = [&](int i) { return [&e, part = parts[i]] { return e.eval(*part); }; };
  if (!condition.isRuntime()) {
    std::optional<bool> truth = e.truth(condition, parts[0]->range);
    return !truth ? Value::error() : *truth ? eval(1)() : eval(2)();
  }
  return lazySelect(e, condition, parts[0]->range, eval(1), eval(2), parts[1]->range,
                    parts[2]->range, call.range, "T.if_then_else");
}

Value makeFunction(Elaborator &e, const BuiltinInfo &info) {
  auto *object = e.heap.make<BuiltinObject>();
  object->name = "T." + std::string(info.name);
  if (info.id == Builtin::IfThenElse)
    object->lazy = lazyIfThenElse;
  object->closure = [&info](Elaborator &el, CallArgs &args) { return callBuiltin(el, info, args); };
  return Value::object(object);
}

} // namespace

Value callBuiltin(Elaborator &e, const BuiltinInfo &info, CallArgs &args) {
  const Target &t = e.target;
  if (!sema::checkSupport(info, args.calleeRange, t.name, t.isGpu(), t.isCuda(), t.architecture,
                          e.diagnostics))
    return Value::error();
  TCall call(e, info, args);
  if (!call.check())
    return Value::error();
  Handler handler = handlers()[static_cast<std::size_t>(info.id)];
  TLC_CHECK(handler, "T." + std::string(info.name) + " has no handler");
  return handler(call);
}

std::optional<Value> languageAttribute(Elaborator &e, std::string_view name) {
  Language &lang = language(e);
  if (auto it = lang.names.find(std::string(name)); it != lang.names.end())
    return it->second;
  std::optional<Value> value;
  const BuiltinInfo *info = sema::findBuiltin(name);
  if (info && info->id == Builtin::GemmWarpPolicy)
    value = warpPolicies(e);
  else if (info && isTypeConstructor(info->id))
    value = Value::object(e.heap.make<TypeConstructor>(*info));
  else if (info && info->id != Builtin::Handle)
    value = makeFunction(e, *info);
  else
    value = dtypeByName(name);
  if (value)
    lang.names.emplace(std::string(name), *value);
  return value;
}

std::vector<std::string_view> languageNames() {
  std::vector<std::string_view> names = sema::builtinNames();
  names.insert(names.end(), {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32",
                             "int64", "uint8", "uint16", "uint32", "uint64", "bool"});
  return names;
}

/// tilelang.layout and the helper modules offer layouts under the same names as T.
std::optional<Value> tilelangAttribute(Elaborator &e, std::string_view module,
                                       std::string_view name) {
  if (!module.starts_with("tilelang.layout") && !name.starts_with("make_"))
    return std::nullopt;
  const BuiltinInfo *info = sema::findBuiltin(name);
  if (!info || info->category != sema::Category::Annotation)
    return std::nullopt;
  return languageAttribute(e, name);
}

} // namespace tlc::elaborate
