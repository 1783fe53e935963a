// Python's built-in functions.
#include "elaborate/python/Builtins.h"
#include "elaborate/runtime/Runtime.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tlc::elaborate {

namespace {

bool anyRuntime(const CallArgs &args) {
  for (const CallArg &arg : args.positional)
    if (arg.value.isRuntime())
      return true;
  return false;
}

Value len(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, /");
  if (!b.ok)
    return Value::error();
  const Value &v = b.at(0)->value;
  switch (v.kind()) {
  case ValueKind::Poison:
    return v;
  case ValueKind::Str:
  case ValueKind::DType: {
    Int n = 0;
    for (char c : v.asText())
      n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return Value::integer(n);
  }
  case ValueKind::Bytes:
    return Value::integer(Int(v.as<BytesObject>()->bytes.size()));
  case ValueKind::Tuple:
    return Value::integer(Int(v.as<TupleObject>()->items.size()));
  case ValueKind::List:
    return Value::integer(Int(v.as<ListObject>()->items.size()));
  case ValueKind::Dict:
    return Value::integer(Int(v.as<DictObject>()->table.size()));
  case ValueKind::Set:
    return Value::integer(Int(v.as<SetObject>()->table.size()));
  case ValueKind::Range:
    return Value::integer(v.as<RangeObject>()->size());
  case ValueKind::Class:
    if (v.as<ClassObject>()->isEnum) {
      evaluateClass(e, *v.as<ClassObject>(), args.range);
      return Value::integer(Int(v.as<ClassObject>()->members.size()));
    }
    break;
  case ValueKind::Instance:
    if (auto r = callSpecial(e, v, "__len__", {}, args.range))
      return *r;
    break;
  case ValueKind::Native:
    if (auto items = static_cast<NativeObject *>(v.asObject())->items(e))
      return Value::integer(Int(items->size()));
    break;
  default:
    break;
  }
  return badArgument(e, *b.at(0), "the argument of `len`", "a sequence or a collection");
}

Value absolute(Elaborator &e, CallArgs &args) {
  if (anyRuntime(args))
    return runtimeBuiltin(e, "abs", args);
  Binding b(e, args, "x, /");
  if (!b.ok)
    return Value::error();
  const Value &v = b.at(0)->value;
  if (v.isIntegral())
    return Value::integer(v.asInt() < 0 ? -v.asInt() : v.asInt());
  if (v.isFloat())
    return Value::real(std::fabs(v.asDouble()));
  return badArgument(e, *b.at(0), "the argument of `abs`", "a number");
}

// min and max: of several arguments, or of the items of one.
Value extreme(Elaborator &e, CallArgs &args, bool largest) {
  std::string_view name = largest ? "max" : "min";
  std::vector<Value> items;
  Value key = Value::none(), otherwise;
  bool hasDefault = false;
  for (const KeywordArg &k : args.keywords) {
    if (k.name == "key")
      key = k.value;
    else if (k.name == "default") {
      otherwise = k.value;
      hasDefault = true;
    } else {
      e.report(diag::UnexpectedKeyword, k.nameRange, name, k.name, "");
      return Value::error();
    }
  }
  if (args.positional.empty()) {
    e.report(diag::FunctionMissingArgument, args.range, name, "iterable");
    return Value::error();
  }
  if (args.positional.size() == 1) {
    if (args.positional[0].value.isPoison())
      return args.positional[0].value;
    auto all = e.items(args.positional[0].value, args.positional[0].range);
    if (!all)
      return Value::error();
    items = *all;
  } else
    for (const CallArg &arg : args.positional)
      items.push_back(arg.value);
  if (items.empty()) {
    if (hasDefault)
      return otherwise;
    e.report(diag::BadValue, args.range, "`" + std::string(name) + "` of nothing");
    return Value::error();
  }
  Value unknown = Value::none();
  bool runtime = false;
  for (const Value &v : items) {
    if (v.isError())
      return v;
    if (v.isPoison())
      unknown = v;
    runtime = runtime || v.isRuntime();
  }
  if (unknown.isPoison())
    return unknown;
  if (runtime) {
    CallArgs flat = args;
    flat.positional.clear();
    for (const Value &v : items)
      flat.positional.push_back({v, args.range, nullptr});
    if (args.positional.size() == items.size())
      flat.positional = args.positional;
    return runtimeBuiltin(e, name, flat);
  }
  Value best, bestKey;
  for (const Value &v : items) {
    Value k = key.isNone() ? v : e.callWith(key, {v}, args.range);
    if (!best.isError()) {
      Value better = e.compare(largest ? ast::CompareOperator::Gt : ast::CompareOperator::Lt, k,
                               bestKey, args.range);
      if (!better.isBool())
        return Value::error();
      if (!better.asBool())
        continue;
    }
    best = v;
    bestKey = k;
  }
  return best;
}
Value minimumOf(Elaborator &e, CallArgs &args) { return extreme(e, args, false); }
Value maximumOf(Elaborator &e, CallArgs &args) { return extreme(e, args, true); }

Value sum(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable, /, start=");
  if (!b.ok)
    return Value::error();
  if (b.at(0)->value.isPoison())
    return b.at(0)->value;
  auto items = e.items(b.at(0)->value, b.at(0)->range);
  if (!items)
    return Value::error();
  Value total = b.value("start", Value::integer(0));
  for (const Value &v : *items)
    total = e.binary(ast::BinaryOperator::Add, total, v, args.range, args.range, args.range);
  return total;
}

double roundHalfEven(double x) { return std::nearbyint(x); }

Value roundNumber(Elaborator &e, CallArgs &args) {
  if (anyRuntime(args))
    return runtimeBuiltin(e, "round", args);
  Binding b(e, args, "number, ndigits=");
  if (!b.ok)
    return Value::error();
  Value unknown = unknownAmong(args);
  if (!unknown.isNone())
    return unknown;
  const Value &v = b.at(0)->value;
  if (!v.isNumber())
    return badArgument(e, *b.at(0), "the argument of `round`", "a number");
  Value digits = b.value("ndigits");
  if (digits.isNone()) {
    if (v.isIntegral())
      return Value::integer(v.asInt());
    double r = roundHalfEven(v.asDouble());
    if (!std::isfinite(r) || std::fabs(r) > 1e37) {
      e.report(diag::BadValue, args.range, "this float cannot be an int");
      return Value::error();
    }
    return Value::integer(static_cast<Int>(r));
  }
  auto n = e.toInt(digits, b.range("ndigits"), "the number of digits");
  if (!n)
    return Value::error();
  if (v.isIntegral() && *n >= 0)
    return v;
  // Decimal rounding as the shortest decimal text has it.
  char buffer[400];
  int places = static_cast<int>(std::clamp<std::int64_t>(*n, 0, 300));
  std::snprintf(buffer, sizeof buffer, "%.*f", places, v.asDouble());
  double r = std::strtod(buffer, nullptr);
  if (*n < 0) {
    double scale = std::pow(10.0, static_cast<double>(-*n));
    r = roundHalfEven(v.asDouble() / scale) * scale;
  }
  return v.isIntegral() ? Value::integer(static_cast<Int>(r)) : Value::real(r);
}

Value print(Elaborator &e, CallArgs &args) {
  // Messages of the compile-time half have no reader; in a kernel run-time values are printed by
  // the device.
  if (e.kernel && anyRuntime(args))
    runtimePrint(e, args);
  return Value::none();
}

Value isinstance(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, cls, /");
  if (!b.ok)
    return Value::error();
  if (b.at(0)->value.isPoison())
    return b.at(0)->value;
  return Value::boolean(isInstance(e, b.at(0)->value, b.at(1)->value, args.range));
}

Value issubclass(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "cls, base, /");
  if (!b.ok)
    return Value::error();
  auto *cls = b.at(0)->value.as<ClassObject>();
  for (const Value &base : e.toList(b.at(1)->value))
    if (auto *object = base.as<ClassObject>(); cls && object && isSubclass(e, *cls, *object))
      return Value::boolean(true);
  return Value::boolean(false);
}

// ---- Attributes and objects

Value getattrOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, name, default=, /");
  if (!b.ok)
    return Value::error();
  auto name = e.toStr(b.at(1)->value, b.at(1)->range, "the name of an attribute");
  if (!name)
    return Value::error();
  const CallArg *otherwise = b.at(2);
  if (!otherwise)
    return e.attribute(b.at(0)->value, *name, b.at(1)->range, args.range);
  auto found = e.findAttribute(b.at(0)->value, *name);
  return found ? *found : otherwise->value;
}

Value hasattr(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, name, /");
  if (!b.ok)
    return Value::error();
  auto name = e.toStr(b.at(1)->value, b.at(1)->range, "the name of an attribute");
  if (!name)
    return Value::error();
  if (b.at(0)->value.isPoison())
    return b.at(0)->value;
  return Value::boolean(e.findAttribute(b.at(0)->value, *name).has_value());
}

Value setattr(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, name, value, /");
  if (!b.ok)
    return Value::error();
  if (auto name = e.toStr(b.at(1)->value, b.at(1)->range, "the name of an attribute"))
    e.setAttribute(b.at(0)->value, *name, b.at(2)->value, args.range);
  return Value::none();
}

Value callableOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  return Value::boolean(e.callable(b.at(0)->value));
}

Value hashOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  if (!hashable(b.at(0)->value)) {
    e.report(diag::Unhashable, b.at(0)->range, typeNameWithArticle(b.at(0)->value));
    return Value::error();
  }
  return Value::integer(static_cast<std::int64_t>(hash(b.at(0)->value)));
}

Value reprOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "obj, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  if (auto r = callSpecial(e, b.at(0)->value, "__repr__", {}, args.range))
    return *r;
  return e.str(repr(b.at(0)->value));
}

Value formatOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "value, spec=, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  Value spec = b.value("spec", e.str(""));
  auto text =
      spec.isText() ? formatValue(e, b.at(0)->value, spec.asText(), args.range) : std::nullopt;
  return text ? e.str(*text) : Value::error();
}

// ---- Numbers

Value divmodOf(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "a, b, /");
  if (!b.ok)
    return Value::error();
  const CallArg &x = *b.at(0), &y = *b.at(1);
  Value q = e.binary(ast::BinaryOperator::FloorDiv, x.value, y.value, x.range, y.range, args.range);
  if (q.isError())
    return q;
  Value r = e.binary(ast::BinaryOperator::Mod, x.value, y.value, x.range, y.range, args.range);
  return r.isError() ? r : e.heap.tuple({q, r});
}

Value power(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "base, exp, mod=");
  if (!b.ok)
    return Value::error();
  const CallArg &x = *b.at(0), &y = *b.at(1);
  const CallArg *m = b.at(2);
  if (!m || m->value.isNone())
    return e.binary(ast::BinaryOperator::Pow, x.value, y.value, x.range, y.range, args.range);
  if (!x.value.isIntegral() || !y.value.isIntegral() || !m->value.isIntegral() ||
      y.value.asInt() < 0 || m->value.asInt() <= 0 || m->value.asInt() > (Int(1) << 62)) {
    e.report(diag::BadValue, args.range,
             "`pow` with a modulus needs ints, a non-negative exponent and a positive modulus");
    return Value::error();
  }
  Int modulus = m->value.asInt(), result = 1 % modulus, base = x.value.asInt() % modulus;
  base = base < 0 ? base + modulus : base;
  for (Int n = y.value.asInt(); n > 0; n >>= 1) {
    if (n & 1)
      result = result * base % modulus;
    base = base * base % modulus;
  }
  return Value::integer(result);
}

Value inBase(Elaborator &e, CallArgs &args, unsigned base, const char *prefix) {
  Binding b(e, args, "number, /");
  if (!b.ok)
    return Value::error();
  const Value &v = b.at(0)->value;
  if (!v.isIntegral())
    return badArgument(e, *b.at(0), "the argument", "an int");
  auto magnitude = static_cast<unsigned __int128>(v.asInt() < 0 ? -v.asInt() : v.asInt());
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[static_cast<unsigned>(magnitude % base)]);
    magnitude /= base;
  } while (magnitude != 0);
  return e.str((v.asInt() < 0 ? "-" : "") + std::string(prefix) + digits);
}
Value bin(Elaborator &e, CallArgs &args) { return inBase(e, args, 2, "0b"); }
Value oct(Elaborator &e, CallArgs &args) { return inBase(e, args, 8, "0o"); }
Value hex(Elaborator &e, CallArgs &args) { return inBase(e, args, 16, "0x"); }

Value chr(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "i, /");
  auto code =
      b.ok ? e.toInt(b.at(0)->value, b.at(0)->range, "the argument of `chr`") : std::nullopt;
  if (!code)
    return Value::error();
  if (*code < 0 || *code > 0x10ffff) {
    e.report(diag::BadValue, args.range, "the argument of `chr` is no code point");
    return Value::error();
  }
  auto c = static_cast<std::uint32_t>(*code);
  std::string out;
  if (c < 0x80)
    out += static_cast<char>(c);
  else {
    int extra = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    out += static_cast<char>(lead[extra] | (c >> (6 * extra)));
    for (int i = extra - 1; i >= 0; --i)
      out += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3f));
  }
  return e.str(out);
}

Value ord(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "c, /");
  if (!b.ok)
    return Value::error();
  if (!b.at(0)->value.isText() || b.at(0)->value.asText().size() != 1)
    return badArgument(e, *b.at(0), "the argument of `ord`", "a str of one ASCII character");
  return Value::integer(static_cast<unsigned char>(b.at(0)->value.asText()[0]));
}

Value identity(Elaborator &, CallArgs &args) {
  // Equal for equal objects, which is all that can be done with it here.
  if (args.positional.size() != 1)
    return Value::error();
  const Value &v = args.positional[0].value;
  return Value::integer(
      static_cast<Int>(v.isObject() ? reinterpret_cast<std::uintptr_t>(v.asObject()) : hash(v)));
}

Value hostOnly(Elaborator &e, CallArgs &args) {
  return e.makePoison(args.callee, args.range, "`" + args.callee + "` needs a running Python");
}

void installExceptions(Elaborator &e, Scope &scope) {
  static const std::pair<const char *, const char *> classes[] = {
      {"BaseException", ""},
      {"Exception", "BaseException"},
      {"ArithmeticError", "Exception"},
      {"ZeroDivisionError", "ArithmeticError"},
      {"OverflowError", "ArithmeticError"},
      {"AssertionError", "Exception"},
      {"AttributeError", "Exception"},
      {"ImportError", "Exception"},
      {"ModuleNotFoundError", "ImportError"},
      {"LookupError", "Exception"},
      {"IndexError", "LookupError"},
      {"KeyError", "LookupError"},
      {"NameError", "Exception"},
      {"UnboundLocalError", "NameError"},
      {"NotImplementedError", "Exception"},
      {"OSError", "Exception"},
      {"FileNotFoundError", "OSError"},
      {"RuntimeError", "Exception"},
      {"RecursionError", "RuntimeError"},
      {"StopIteration", "Exception"},
      {"TypeError", "Exception"},
      {"ValueError", "Exception"},
      {"KeyboardInterrupt", "BaseException"},
      {"SystemExit", "BaseException"},
      {"Warning", "Exception"},
      {"UserWarning", "Warning"},
      {"DeprecationWarning", "Warning"},
      {"RuntimeWarning", "Warning"},
  };
  for (auto [name, base] : classes) {
    auto *cls = e.heap.make<ClassObject>();
    cls->name = name;
    cls->evaluated = true;
    cls->isException = true;
    if (Slot *slot = scope.find(base))
      cls->bases.push_back(slot->value);
    Slot &slot = scope.slot(name);
    slot.value = Value::object(cls);
    slot.bound = true;
  }
}

} // namespace

ClassObject *exceptionClass(Elaborator &e, std::string_view name) {
  Slot *slot = e.parts->builtins->find(name);
  return slot ? slot->value.as<ClassObject>() : nullptr;
}

void installBuiltins(Elaborator &e, Scope &scope) {
  static const std::pair<const char *, NativeFunction> functions[] = {
      {"len", len},
      {"abs", absolute},
      {"min", minimumOf},
      {"max", maximumOf},
      {"sum", sum},
      {"round", roundNumber},
      {"print", print},
      {"isinstance", isinstance},
      {"issubclass", issubclass},
      {"getattr", getattrOf},
      {"hasattr", hasattr},
      {"setattr", setattr},
      {"callable", callableOf},
      {"hash", hashOf},
      {"repr", reprOf},
      {"ascii", reprOf},
      {"format", formatOf},
      {"divmod", divmodOf},
      {"pow", power},
      {"bin", bin},
      {"oct", oct},
      {"hex", hex},
      {"chr", chr},
      {"ord", ord},
      {"id", identity},
      {"property", builtinProperty},
      {"staticmethod", builtinStaticmethod},
      {"classmethod", builtinClassmethod},
      {"super", builtinSuper},
      {"open", hostOnly},
      {"input", hostOnly},
      {"exec", hostOnly},
      {"eval", hostOnly},
      {"compile", hostOnly},
      {"globals", hostOnly},
      {"locals", hostOnly},
      {"vars", hostOnly},
      {"dir", hostOnly},
      {"exit", hostOnly},
      {"quit", hostOnly},
      {"help", hostOnly},
      {"memoryview", hostOnly},
      {"__import__", hostOnly},
  };
  auto define = [&](const char *name, const Value &value) {
    Slot &slot = scope.slot(name);
    slot.value = value;
    slot.bound = true;
  };
  for (auto [name, function] : functions)
    define(name, makeBuiltin(e.heap, name, function));
  installTypes(e, scope);
  installIterators(e, scope);
  installExceptions(e, scope);
  define("NotImplemented", Value::notImplemented());
  define("Ellipsis", Value::ellipsis());
  define("__debug__", Value::boolean(true));
}

} // namespace tlc::elaborate
