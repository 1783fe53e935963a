// What kernels ask of torch and TVM: dtypes, questions about the device, scalar helpers.
#include "elaborate/runtime/Runtime.h"
#include "elaborate/shims/Shims.h"

namespace tlc::elaborate {

namespace {

/// `with x as y`: y is x, and nothing else happens.
struct OwnContext : NativeObject {
  bool runWith(Elaborator &, const ast::WithItem &, const std::function<void(const Value &)> &bind,
               const std::function<void()> &body) override {
    bind(Value::object(this));
    body();
    return true;
  }
};

ModuleObject *submodule(Elaborator &e, ModuleObject &m, const std::string &name) {
  auto *sub = e.heap.make<ModuleObject>();
  sub->name = m.name + "." + name;
  sub->globals = e.makeScope(e.parts->builtins);
  defineIn(m, name, Value::object(sub));
  return sub;
}

Value deviceName(Elaborator &e, CallArgs &) {
  // Names of the boards that kernels choose tables by.
  static const std::map<std::string_view, const char *> names = {
      {"sm90", "NVIDIA H100"},           {"sm80", "NVIDIA A100"},
      {"sm100", "NVIDIA B200"},          {"gfx942", "AMD Instinct MI300X"},
      {"gfx950", "AMD Instinct MI350X"}, {"gfx90a", "AMD Instinct MI250X"}};
  auto it = names.find(e.target.name);
  return e.str(it != names.end() ? it->second : e.target.name);
}

Value isAvailable(Elaborator &e, CallArgs &) { return Value::boolean(e.target.isGpu()); }

} // namespace

void fillTorch(Elaborator &e, ModuleObject &m) {
  ModuleObject *cuda = submodule(e, m, "cuda");
  defineFunctionIn(e, *cuda, "get_device_capability", deviceCapability);
  defineFunctionIn(e, *cuda, "get_device_properties", deviceProperties);
  defineFunctionIn(e, *cuda, "get_device_name", deviceName);
  defineFunctionIn(e, *cuda, "is_available", isAvailable);
  ModuleObject *version = submodule(e, m, "version");
  bool hip = e.target.family == Family::Hip;
  defineIn(*version, "hip", hip ? e.str("6.2") : Value::none());
  defineIn(*version, "cuda", hip ? Value::none() : e.str("12.8"));
}

std::optional<Value> torchFallback(Elaborator &, ModuleObject &, std::string_view name) {
  // "Tensor", "nn", "randn" …: unknown.
  if (name == "uint1" || name == "dtype")
    return std::nullopt;
  if (auto type = DType::parse(name))
    return Value::dtype(*type);
  return std::nullopt;
}

// ---- TVM

namespace {

Value constValue(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "value, dtype=, span=");
  if (!b.ok)
    return Value::error();
  Value type = b.value("dtype");
  if (type.isNone() || !e.kernel)
    return b.at(0)->value;
  auto cast = languageAttribute(e, "cast");
  CallArgs inner = args;
  inner.keywords.clear();
  inner.positional = {*b.at(0), CallArg{type, b.range("dtype"), nullptr}};
  return cast ? e.call(*cast, inner) : Value::error();
}

// tirx.reinterpret(dtype, value) has its arguments the other way round.
Value reinterpret(Elaborator &e, CallArgs &args) {
  if (args.positional.size() == 2)
    std::swap(args.positional[0], args.positional[1]);
  auto f = languageAttribute(e, "reinterpret");
  return f ? e.call(*f, args) : Value::error();
}

template <ast::BinaryOperator Op> Value operatorOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "a, b, span=");
  if (!b.ok)
    return Value::error();
  return e.binary(Op, b.at(0)->value, b.at(1)->value, b.at(0)->range, b.at(1)->range, args.range);
}

template <ast::CompareOperator Op> Value comparisonOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "a, b, span=");
  return b.ok ? e.compare(Op, b.at(0)->value, b.at(1)->value, args.range) : Value::error();
}

Value anyOrAll(Elaborator &e, CallArgs &args, ast::BinaryOperator op) {
  Value result;
  for (const CallArg &arg : args.positional)
    result = &arg == &args.positional[0]
                 ? arg.value
                 : e.binary(op, result, arg.value, args.range, arg.range, args.range);
  return result;
}
Value allOf(Elaborator &e, CallArgs &args) {
  return anyOrAll(e, args, ast::BinaryOperator::BitAnd);
}
Value anyOf(Elaborator &e, CallArgs &args) { return anyOrAll(e, args, ast::BinaryOperator::BitOr); }

struct TargetObject : OwnContext {
  std::string typeName() const override { return "a target"; }
  std::optional<Value> attribute(Elaborator &e, std::string_view name, SourceRange) override {
    if (name == "arch")
      return e.str(e.target.isCuda() ? "sm_" + std::to_string(e.target.architecture)
                                     : e.target.name);
    if (name == "kind") {
      auto *kind = e.heap.make<InstanceObject>();
      kind->cls = emptyClass(e, "TargetKind");
      kind->set("name", e.str(e.target.isCuda() ? "cuda" : e.target.isGpu() ? "hip" : "c"));
      return Value::object(kind);
    }
    Value self = Value::object(this);
    if (name == "current")
      return makeClosure(e.heap, "Target.current",
                         [self](Elaborator &, CallArgs &) { return self; });
    return std::nullopt;
  }
  std::optional<Value> call(Elaborator &, CallArgs &) override { return Value::object(this); }
};

} // namespace

void fillTvm(Elaborator &e, ModuleObject &m) {
  ModuleObject *tilelang = e.shimModule("tilelang");
  defineIn(m, "DataType", tilelang->globals->find("DataType")->value);
  defineIn(m, "tirx", Value::object(e.shimModule("tvm.tirx")));
  defineIn(m, "tir", Value::object(e.shimModule("tvm.tirx")));
  ModuleObject *target = submodule(e, m, "target");
  defineIn(*target, "Target", Value::object(e.heap.make<TargetObject>()));
}

std::optional<Value> tvmFallback(Elaborator &, ModuleObject &, std::string_view) {
  return std::nullopt;
}

void fillTirx(Elaborator &e, ModuleObject &m) {
  using Op = ast::BinaryOperator;
  using Cmp = ast::CompareOperator;
  static const std::pair<const char *, NativeFunction> functions[] = {
      {"const", constValue},
      {"reinterpret", reinterpret},
      {"Add", operatorOf<Op::Add>},
      {"Sub", operatorOf<Op::Sub>},
      {"Mul", operatorOf<Op::Mult>},
      {"Div", operatorOf<Op::Div>},
      {"FloorDiv", operatorOf<Op::FloorDiv>},
      {"FloorMod", operatorOf<Op::Mod>},
      {"shift_left", operatorOf<Op::LShift>},
      {"shift_right", operatorOf<Op::RShift>},
      {"bitwise_and", operatorOf<Op::BitAnd>},
      {"bitwise_or", operatorOf<Op::BitOr>},
      {"bitwise_xor", operatorOf<Op::BitXor>},
      {"EQ", comparisonOf<Cmp::Eq>},
      {"NE", comparisonOf<Cmp::NotEq>},
      {"LT", comparisonOf<Cmp::Lt>},
      {"LE", comparisonOf<Cmp::LtE>},
      {"GT", comparisonOf<Cmp::Gt>},
      {"GE", comparisonOf<Cmp::GtE>},
      {"all", allOf},
      {"any", anyOf},
      {"And", allOf},
      {"Or", anyOf},
  };
  for (auto [name, function] : functions)
    defineFunctionIn(e, m, name, function);
  for (const char *name : {"PrimExpr", "Var", "IntImm", "FloatImm", "Buffer", "PrimFunc",
                           "BufferLoad", "BufferRegion", "Call"})
    defineIn(m, name, Value::object(emptyClass(e, name)));
}

std::optional<Value> tirxFallback(Elaborator &e, ModuleObject &, std::string_view name) {
  static const std::map<std::string_view, std::string_view> renamed = {
      {"Min", "min"}, {"Max", "max"}, {"if_then_else", "if_then_else"}, {"ceildiv", "ceildiv"}};
  auto it = renamed.find(name);
  return languageAttribute(e, it != renamed.end() ? it->second : name);
}

// ---- Instrumentation: markers in kernels that mean nothing without the tool.

namespace {

struct Marker : OwnContext {
  std::string typeName() const override { return "an instrumentation marker"; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override {
    return Value::object(this);
  }
  std::optional<Value> call(Elaborator &, CallArgs &args) override {
    // A decorator keeps its function.
    if (args.positional.size() == 1 && args.positional[0].value.is(ValueKind::Function))
      return args.positional[0].value;
    return Value::object(this);
  }
};

} // namespace

void fillInstrumentation(Elaborator &e, ModuleObject &m) {
  defineIn(m, "iket", Value::object(e.heap.make<Marker>()));
}

} // namespace tlc::elaborate
