// Modules of Python's library, as far as factories use them.
#include "elaborate/runtime/Runtime.h"
#include "elaborate/shims/Shims.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tlc::elaborate {

// ---- math

namespace {

template <double (*F)(double)> Value mathFunction(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  auto x = e.toDouble(b.at(0)->value, b.at(0)->range, "the argument of `" + args.callee + "`");
  if (!x)
    return Value::error();
  double y = F(*x);
  if (std::isnan(y) && !std::isnan(*x)) {
    e.report(diag::BadValue, b.at(0)->range,
             "`" + args.callee + "` is not defined for " + repr(b.at(0)->value));
    return Value::error();
  }
  return Value::real(y);
}

template <double (*F)(double)> Value mathRounding(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  if (b.at(0)->value.isIntegral())
    return Value::integer(b.at(0)->value.asInt());
  auto x = e.toDouble(b.at(0)->value, b.at(0)->range, "the argument of `" + args.callee + "`");
  if (!x)
    return Value::error();
  double y = F(*x);
  if (!std::isfinite(y) || std::fabs(y) > 1.7e38) {
    e.report(diag::BadValue, b.at(0)->range, repr(b.at(0)->value) + " cannot be an int");
    return Value::error();
  }
  return Value::integer(static_cast<Int>(y));
}

Value mathLog(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x, base=, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  auto x = e.toDouble(b.at(0)->value, b.at(0)->range, "the argument of `log`");
  auto base = b.at(1) ? e.toDouble(b.at(1)->value, b.at(1)->range, "the base of `log`")
                      : std::optional(0.0);
  if (!x || !base)
    return Value::error();
  if (*x <= 0 || (b.at(1) && (*base <= 0 || *base == 1))) {
    e.report(diag::BadValue, args.range, "`log` is not defined here");
    return Value::error();
  }
  return Value::real(b.at(1) ? std::log(*x) / std::log(*base) : std::log(*x));
}

template <double (*F)(double, double)> Value mathOfTwo(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x, y, /");
  if (!b.ok)
    return Value::error();
  auto x = e.toDouble(b.at(0)->value, b.at(0)->range, "the first argument");
  auto y = e.toDouble(b.at(1)->value, b.at(1)->range, "the second argument");
  return x && y ? Value::real(F(*x, *y)) : Value::error();
}

Value divisors(Elaborator &e, CallArgs &args, bool gcd) {
  Int result = gcd ? 0 : 1;
  for (const CallArg &arg : args.positional) {
    auto n = e.toInt(arg.value, arg.range, "the argument of `" + args.callee + "`");
    if (!n)
      return Value::error();
    if (gcd)
      result = std::gcd(static_cast<std::int64_t>(result), *n);
    else {
      Int g = std::gcd(static_cast<std::int64_t>(result), *n);
      if (g == 0)
        return Value::integer(0);
      Int next = result / g * *n;
      if (next > (Int(1) << 62) || next < -(Int(1) << 62)) {
        e.report(diag::IntegerOverflow, args.range, "lcm");
        return Value::error();
      }
      result = next < 0 ? -next : next;
    }
  }
  return Value::integer(result);
}
Value gcd(Elaborator &e, CallArgs &args) { return divisors(e, args, true); }
Value lcm(Elaborator &e, CallArgs &args) { return divisors(e, args, false); }

Value prod(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, /, *, start=");
  auto items = b.ok ? e.items(b.at(0)->value, b.at(0)->range) : std::nullopt;
  if (!items)
    return Value::error();
  Value total = b.value("start", Value::integer(1));
  for (const Value &v : *items)
    total = e.binary(ast::BinaryOperator::Mult, total, v, args.range, args.range, args.range);
  return total;
}

Value isqrt(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "n, /");
  auto n = b.ok ? e.toInt(b.at(0)->value, b.at(0)->range, "the argument of `isqrt`") : std::nullopt;
  if (!n || *n < 0)
    return Value::error();
  auto r = static_cast<std::int64_t>(std::sqrt(static_cast<double>(*n)));
  while (r * r > *n)
    --r;
  while ((r + 1) * (r + 1) <= *n)
    ++r;
  return Value::integer(r);
}

template <bool (*F)(double)> Value mathQuestion(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x, /");
  auto x = b.ok ? e.toDouble(b.at(0)->value, b.at(0)->range, "the argument") : std::nullopt;
  return x ? Value::boolean(F(*x)) : Value::error();
}
bool isNan(double x) { return std::isnan(x); }
bool isInf(double x) { return std::isinf(x); }
bool isFinite(double x) { return std::isfinite(x); }
double degrees(double x) { return x * 180 / M_PI; }
double radians(double x) { return x / 180 * M_PI; }

} // namespace

void fillMath(Elaborator &e, ModuleObject &m) {
  static const std::pair<const char *, NativeFunction> functions[] = {
      {"sqrt", mathFunction<std::sqrt>},
      {"exp", mathFunction<std::exp>},
      {"exp2", mathFunction<std::exp2>},
      {"log2", mathFunction<std::log2>},
      {"log10", mathFunction<std::log10>},
      {"log1p", mathFunction<std::log1p>},
      {"expm1", mathFunction<std::expm1>},
      {"sin", mathFunction<std::sin>},
      {"cos", mathFunction<std::cos>},
      {"tan", mathFunction<std::tan>},
      {"asin", mathFunction<std::asin>},
      {"acos", mathFunction<std::acos>},
      {"atan", mathFunction<std::atan>},
      {"sinh", mathFunction<std::sinh>},
      {"cosh", mathFunction<std::cosh>},
      {"tanh", mathFunction<std::tanh>},
      {"erf", mathFunction<std::erf>},
      {"fabs", mathFunction<std::fabs>},
      {"degrees", mathFunction<degrees>},
      {"radians", mathFunction<radians>},
      {"ceil", mathRounding<std::ceil>},
      {"floor", mathRounding<std::floor>},
      {"trunc", mathRounding<std::trunc>},
      {"log", mathLog},
      {"pow", mathOfTwo<std::pow>},
      {"fmod", mathOfTwo<std::fmod>},
      {"atan2", mathOfTwo<std::atan2>},
      {"hypot", mathOfTwo<std::hypot>},
      {"copysign", mathOfTwo<std::copysign>},
      {"gcd", gcd},
      {"lcm", lcm},
      {"prod", prod},
      {"isqrt", isqrt},
      {"isnan", mathQuestion<isNan>},
      {"isinf", mathQuestion<isInf>},
      {"isfinite", mathQuestion<isFinite>},
  };
  for (auto [name, function] : functions)
    defineFunctionIn(e, m, name, function);
  defineIn(m, "pi", Value::real(M_PI));
  defineIn(m, "e", Value::real(M_E));
  defineIn(m, "tau", Value::real(2 * M_PI));
  defineIn(m, "inf", Value::real(HUGE_VAL));
  defineIn(m, "nan", Value::real(std::nan("")));
}

// ---- typing

namespace {

Value castTo(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "type, value, /");
  return b.ok ? b.at(1)->value : Value::error();
}

} // namespace

void fillTyping(Elaborator &e, ModuleObject &m) {
  defineIn(m, "TYPE_CHECKING", Value::boolean(false));
  defineFunctionIn(e, m, "cast", castTo);
  defineFunctionIn(e, m, "overload", returnFirst);
  defineFunctionIn(e, m, "final", returnFirst);
  for (const char *name : {"TypeVar", "NewType", "ParamSpec"})
    defineIn(m, name, makeClosure(e.heap, name, [](Elaborator &e, CallArgs &) {
               return Value::object(emptyClass(e, "TypeVar"));
             }));
  ClassObject *namedTuple = emptyClass(e, "NamedTuple");
  namedTuple->isDataclass = true;
  defineIn(m, "NamedTuple", Value::object(namedTuple));
}

std::optional<Value> typingFallback(Elaborator &e, ModuleObject &, std::string_view name) {
  static const std::map<std::string_view, const char *> builtin = {
      {"List", "list"}, {"Dict", "dict"}, {"Tuple", "tuple"}, {"Set", "set"}, {"Type", "type"}};
  if (auto it = builtin.find(name); it != builtin.end())
    return e.parts->builtins->find(it->second)->value;
  return Value::object(emptyClass(e, std::string(name)));
}

// ---- enum

void fillEnum(Elaborator &e, ModuleObject &m) {
  for (const char *name : {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}) {
    ClassObject *cls = emptyClass(e, name);
    cls->isEnum = true;
    defineIn(m, name, Value::object(cls));
  }
  defineIn(m, "auto", makeClosure(e.heap, "enum.auto", [](Elaborator &e, CallArgs &args) {
             return e.makePoison("enum.auto()", args.range);
           }));
  defineFunctionIn(e, m, "unique", returnFirst);
}

// ---- dataclasses

namespace {

Value markDataclass(Elaborator &e, const Value &value, bool frozen) {
  auto *cls = value.as<ClassObject>();
  if (!cls)
    return value;
  cls->isDataclass = true;
  cls->frozen = frozen;
  (void)e;
  return value;
}

Value dataclass(Elaborator &e, CallArgs &args) {
  bool frozen = false;
  for (const KeywordArg &k : args.keywords)
    if (k.name == "frozen" && k.value.isBool())
      frozen = k.value.asBool();
  if (!args.positional.empty())
    return markDataclass(e, args.positional[0].value, frozen);
  return makeClosure(e.heap, "dataclass", [frozen](Elaborator &e, CallArgs &inner) {
    return inner.positional.empty() ? Value::error()
                                    : markDataclass(e, inner.positional[0].value, frozen);
  });
}

Value field(Elaborator &e, CallArgs &args) {
  for (const KeywordArg &k : args.keywords) {
    if (k.name == "default")
      return k.value;
    if (k.name == "default_factory") {
      auto *factory = e.heap.make<BoundMethodObject>(); // see instantiateDataclass
      factory->self = Value::none();
      factory->function = k.value;
      return Value::object(factory);
    }
  }
  return Value::none();
}

Value asdict(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj");
  auto *instance = b.ok ? b.at(0)->value.as<InstanceObject>() : nullptr;
  if (!instance)
    return b.ok && b.at(0)->value.isPoison() ? b.at(0)->value : Value::error();
  auto *dict = e.heap.make<DictObject>();
  for (const std::string &name : instance->cls->fields)
    if (Value *v = instance->find(name))
      dict->table.set(e.str(name), *v);
  return Value::object(dict);
}

Value replace(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, /, **kwargs");
  auto *instance = b.ok ? b.at(0)->value.as<InstanceObject>() : nullptr;
  if (!instance)
    return Value::error();
  auto *copy = e.heap.make<InstanceObject>();
  copy->cls = instance->cls;
  copy->attributes = instance->attributes;
  for (const KeywordArg &k : b.keywords)
    copy->set(k.name, k.value);
  return Value::object(copy);
}

} // namespace

void fillDataclasses(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "dataclass", dataclass);
  defineFunctionIn(e, m, "field", field);
  defineFunctionIn(e, m, "asdict", asdict);
  defineFunctionIn(e, m, "replace", replace);
}

// ---- collections, operator, copy

namespace {

Value namedtuple(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "typename, field_names, *, defaults=, rename=");
  if (!b.ok)
    return Value::error();
  std::vector<std::string> fields;
  if (b.at(1)->value.isText()) {
    std::string word;
    for (char c : b.at(1)->value.asText() + " ")
      if (c == ' ' || c == ',') {
        if (!word.empty())
          fields.push_back(word);
        word.clear();
      } else
        word += c;
  } else if (auto items = e.items(b.at(1)->value, b.at(1)->range))
    for (const Value &v : *items)
      if (v.isText())
        fields.push_back(v.asText());
  std::vector<Value> defaults = b.at(2) ? e.toList(b.at(2)->value) : std::vector<Value>();
  std::string name = b.at(0)->value.isText() ? b.at(0)->value.asText() : "namedtuple";
  return makeClosure(e.heap, name, [name, fields, defaults](Elaborator &e, CallArgs &inner) {
    std::string signature;
    for (std::size_t i = 0; i < fields.size(); ++i)
      signature += (i ? ", " : "") + fields[i] + (i + defaults.size() >= fields.size() ? "=" : "");
    Binding given(e, inner, signature);
    if (!given.ok)
      return Value::error();
    auto *tuple = e.heap.make<TupleObject>();
    tuple->names = fields;
    for (std::size_t i = 0; i < fields.size(); ++i)
      tuple->items.push_back(given.at(i) ? given.at(i)->value
                                         : defaults[i + defaults.size() - fields.size()]);
    return Value::object(tuple);
  });
}

template <ast::BinaryOperator Op> Value operatorFunction(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "a, b, /");
  if (!b.ok)
    return Value::error();
  return e.binary(Op, b.at(0)->value, b.at(1)->value, b.at(0)->range, b.at(1)->range, args.range);
}

Value copied(Elaborator &e, const Value &value, bool deep, unsigned depth) {
  auto inner = [&](const Value &v) {
    return deep && depth < 100 ? copied(e, v, deep, depth + 1) : v;
  };
  if (value.is(ValueKind::List) || value.is(ValueKind::Tuple)) {
    std::vector<Value> items;
    for (const Value &v : e.toList(value))
      items.push_back(inner(v));
    if (value.is(ValueKind::List))
      return e.heap.list(std::move(items));
    Value made = e.heap.tuple(std::move(items));
    made.as<TupleObject>()->names = value.as<TupleObject>()->names;
    return made;
  }
  if (auto *dict = value.as<DictObject>()) {
    auto *made = e.heap.make<DictObject>();
    dict->table.forEach([&](const Value &k, const Value &v) { made->table.set(k, inner(v)); });
    return Value::object(made);
  }
  if (auto *set = value.as<SetObject>()) {
    auto *made = e.heap.make<SetObject>();
    made->table = set->table;
    return Value::object(made);
  }
  if (auto *instance = value.as<InstanceObject>()) {
    auto *made = e.heap.make<InstanceObject>();
    made->cls = instance->cls;
    for (auto &[name, v] : instance->attributes)
      made->set(name, inner(v));
    return Value::object(made);
  }
  return value;
}

Value shallowCopy(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x");
  return b.ok ? copied(e, b.at(0)->value, false, 0) : Value::error();
}
Value deepCopy(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x, memo=");
  return b.ok ? copied(e, b.at(0)->value, true, 0) : Value::error();
}

} // namespace

void fillCollections(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "namedtuple", namedtuple);
  defineIn(m, "OrderedDict", e.parts->builtins->find("dict")->value);
}

void fillOperator(Elaborator &e, ModuleObject &m) {
  using Op = ast::BinaryOperator;
  static const std::pair<const char *, NativeFunction> functions[] = {
      {"add", operatorFunction<Op::Add>},           {"sub", operatorFunction<Op::Sub>},
      {"mul", operatorFunction<Op::Mult>},          {"truediv", operatorFunction<Op::Div>},
      {"floordiv", operatorFunction<Op::FloorDiv>}, {"mod", operatorFunction<Op::Mod>},
      {"pow", operatorFunction<Op::Pow>},           {"and_", operatorFunction<Op::BitAnd>},
      {"or_", operatorFunction<Op::BitOr>},         {"xor", operatorFunction<Op::BitXor>},
  };
  for (auto [name, function] : functions)
    defineFunctionIn(e, m, name, function);
}

void fillCopy(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "copy", shallowCopy);
  defineFunctionIn(e, m, "deepcopy", deepCopy);
}

} // namespace tlc::elaborate
