// Python's built-in types, as functions.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace tlc::elaborate {

namespace {

std::string stripped(std::string text) {
  const char *blanks = " \t\n\r\f\v";
  std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<Int> parseInt(std::string text, unsigned base) {
  text = stripped(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text = text.substr(1);
  }
  auto prefix = [&](const char *p) { return text.size() > 2 && (text.starts_with(p)); };
  if ((base == 16 || base == 0) && (prefix("0x") || prefix("0X")))
    base = 16, text = text.substr(2);
  else if ((base == 2 || base == 0) && (prefix("0b") || prefix("0B")))
    base = 2, text = text.substr(2);
  else if ((base == 8 || base == 0) && (prefix("0o") || prefix("0O")))
    base = 8, text = text.substr(2);
  if (base == 0)
    base = 10;
  if (text.empty())
    return std::nullopt;
  Int value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '_' && i > 0 && i + 1 < text.size())
      continue;
    unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                     : c >= 'a' && c <= 'z' ? static_cast<unsigned>(c - 'a' + 10)
                     : c >= 'A' && c <= 'Z' ? static_cast<unsigned>(c - 'A' + 10)
                                            : 99u;
    if (digit >= base || __builtin_mul_overflow(value, Int(base), &value) ||
        __builtin_add_overflow(value, Int(digit), &value))
      return std::nullopt;
  }
  return negative ? -value : value;
}

Value wrong(Elaborator &e, const CallArg &arg, std::string_view type) {
  if (arg.value.isError() || arg.value.isPoison())
    return arg.value;
  e.report(diag::WrongType, arg.range, "the argument of `" + std::string(type) + "`",
           "a number or a str", typeNameWithArticle(arg.value));
  return Value::error();
}

Value intType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x=, base=");
  if (!b.ok)
    return Value::error();
  const CallArg *x = b.at(0);
  if (!x)
    return Value::integer(0);
  const Value &v = x->value;
  if (v.isRuntime())
    return runtimeBuiltin(e, "int", args);
  if (v.isIntegral())
    return Value::integer(v.asInt());
  if (v.isFloat()) {
    double d = std::trunc(v.asDouble());
    if (!std::isfinite(d) || std::fabs(d) >= 1.7e38) {
      e.report(diag::BadValue, x->range, "the float " + repr(v) + " cannot be an int");
      return Value::error();
    }
    return Value::integer(static_cast<Int>(d));
  }
  if (v.isText()) {
    Value base = b.value("base", Value::integer(10));
    auto n = base.isIntegral() && base.asInt() >= 0 && base.asInt() <= 36 && base.asInt() != 1
                 ? parseInt(v.asText(), static_cast<unsigned>(base.asInt()))
                 : std::nullopt;
    if (!n) {
      e.report(diag::BadValue, x->range, "the str " + repr(v) + " is not an int");
      return Value::error();
    }
    return Value::integer(*n);
  }
  if (auto *member = v.as<EnumMemberObject>(); member && member->value.isInt())
    return member->value;
  if (auto r = callSpecial(e, v, "__int__", {}, args.range))
    return *r;
  return wrong(e, *x, "int");
}

Value floatType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x=, /");
  if (!b.ok)
    return Value::error();
  const CallArg *x = b.at(0);
  if (!x)
    return Value::real(0);
  const Value &v = x->value;
  if (v.isRuntime())
    return runtimeBuiltin(e, "float", args);
  if (v.isNumber())
    return Value::real(v.asDouble());
  if (v.isText()) {
    std::string text = stripped(v.asText());
    char *end = nullptr;
    double d = std::strtod(text.c_str(), &end);
    bool hex = text.find_first_of("xX") != std::string::npos;
    if (text.empty() || *end != 0 || hex) {
      e.report(diag::BadValue, x->range, "the str " + repr(v) + " is not a float");
      return Value::error();
    }
    return Value::real(d);
  }
  if (auto r = callSpecial(e, v, "__float__", {}, args.range))
    return *r;
  return wrong(e, *x, "float");
}

Value boolType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "x=, /");
  if (!b.ok)
    return Value::error();
  if (!b.at(0))
    return Value::boolean(false);
  const Value &v = b.at(0)->value;
  if (v.isPoison())
    return v;
  auto known = e.truth(v, b.at(0)->range);
  if (known)
    return Value::boolean(*known);
  return v.isRuntime() ? runtimeBuiltin(e, "bool", args) : Value::error();
}

Value strType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "object=, encoding=, errors=");
  if (!b.ok)
    return Value::error();
  if (!b.at(0))
    return e.str("");
  const Value &v = b.at(0)->value;
  if (v.isPoison())
    return v;
  if (auto r = callSpecial(e, v, "__str__", {}, args.range))
    return *r;
  if (auto r = callSpecial(e, v, "__repr__", {}, args.range))
    return *r;
  return e.str(str(v));
}

std::optional<std::vector<Value>> itemsOf(Elaborator &e, Binding &b) {
  if (!b.at(0))
    return std::vector<Value>();
  return e.items(b.at(0)->value, b.at(0)->range);
}

Value listType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable=, /");
  if (!b.ok || (b.at(0) && b.at(0)->value.isPoison()))
    return b.ok ? b.at(0)->value : Value::error();
  auto items = itemsOf(e, b);
  return items ? e.heap.list(std::move(*items)) : Value::error();
}

Value tupleType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable=, /");
  if (!b.ok || (b.at(0) && b.at(0)->value.isPoison()))
    return b.ok ? b.at(0)->value : Value::error();
  auto items = itemsOf(e, b);
  return items ? e.heap.tuple(std::move(*items)) : Value::error();
}

Value setOf(Elaborator &e, CallArgs &args, bool frozen) {
  Binding b(e, args, "iterable=, /");
  if (!b.ok || (b.at(0) && b.at(0)->value.isPoison()))
    return b.ok ? b.at(0)->value : Value::error();
  auto items = itemsOf(e, b);
  if (!items)
    return Value::error();
  auto *set = e.heap.make<SetObject>();
  set->frozen = frozen;
  for (const Value &v : *items) {
    if (!hashable(v)) {
      e.report(diag::Unhashable, args.range, typeNameWithArticle(v));
      return Value::error();
    }
    set->table.set(v, Value::none());
  }
  return Value::object(set);
}
Value setType(Elaborator &e, CallArgs &args) { return setOf(e, args, false); }
Value frozensetType(Elaborator &e, CallArgs &args) { return setOf(e, args, true); }

Value dictType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "iterable=, /, **kwargs");
  if (!b.ok || (b.at(0) && b.at(0)->value.isPoison()))
    return b.ok ? b.at(0)->value : Value::error();
  auto *dict = e.heap.make<DictObject>();
  if (b.at(0)) {
    if (auto *other = b.at(0)->value.as<DictObject>())
      dict->table = other->table;
    else {
      auto items = e.items(b.at(0)->value, b.at(0)->range);
      if (!items)
        return Value::error();
      for (const Value &item : *items) {
        auto pair = e.items(item, b.at(0)->range);
        if (!pair)
          return Value::error();
        if (pair->size() != 2) {
          e.report(diag::UnpackCount, b.at(0)->range, pair->size(), 2);
          return Value::error();
        }
        if (!hashable((*pair)[0])) {
          e.report(diag::Unhashable, b.at(0)->range, typeNameWithArticle((*pair)[0]));
          return Value::error();
        }
        dict->table.set((*pair)[0], (*pair)[1]);
      }
    }
  }
  for (const KeywordArg &k : b.keywords)
    dict->table.set(e.str(k.name), k.value);
  return Value::object(dict);
}

Value rangeType(Elaborator &e, CallArgs &args) {
  if (args.positional.empty() || args.positional.size() > 3 || !args.keywords.empty()) {
    Binding b(e, args, "start, stop=, step=, /"); // reports
    return Value::error();
  }
  Int parts[3] = {0, 0, 1};
  std::size_t n = args.positional.size();
  for (std::size_t i = 0; i < n; ++i) {
    const CallArg &arg = args.positional[i];
    if (arg.value.isError() || arg.value.isPoison())
      return arg.value;
    if (arg.value.isRuntime()) {
      if (auto known = arg.value.isExpr() ? arg.value.asExpr().constant() : std::nullopt) {
        parts[i] = *known;
        continue;
      }
      if (e.inKernel())
        return makeRange(e, args);
      e.report(diag::RuntimeConditionHere, arg.range, "`range`");
      return Value::error();
    }
    if (!arg.value.isIntegral()) {
      e.report(diag::WrongType, arg.range, "the argument of `range`", "an int",
               typeNameWithArticle(arg.value));
      return Value::error();
    }
    parts[i] = arg.value.asInt();
  }
  auto *range = e.heap.make<RangeObject>();
  range->start = n == 1 ? 0 : parts[0];
  range->stop = n == 1 ? parts[0] : parts[1];
  range->step = n == 3 ? parts[2] : 1;
  Int limit = Int(1) << 100;
  if (range->step == 0 || range->start > limit || range->start < -limit || range->stop > limit ||
      range->stop < -limit) {
    e.report(diag::BadValue, args.positional[n == 3 ? 2 : 0].range,
             range->step == 0 ? "the step of a range cannot be 0" : "the range is too long");
    return Value::error();
  }
  return Value::object(range);
}

Value sliceType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "start, stop=, step=, /");
  if (!b.ok)
    return Value::error();
  auto *slice = e.heap.make<SliceObject>();
  slice->lowerRange = slice->upperRange = slice->stepRange = args.range;
  slice->lower = Value::none();
  slice->upper = b.at(0)->value;
  slice->step = b.value("step");
  if (b.at(1)) {
    slice->lower = b.at(0)->value;
    slice->upper = b.at(1)->value;
  }
  return Value::object(slice);
}

Value typeType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "object, /");
  if (!b.ok)
    return Value::error();
  const Value &v = b.at(0)->value;
  if (v.isPoison())
    return v;
  if (auto *instance = v.as<InstanceObject>())
    return Value::object(instance->cls);
  if (auto *member = v.as<EnumMemberObject>())
    return Value::object(member->cls);
  if (Slot *slot = e.parts->builtins->find(typeName(v)))
    return slot->value;
  auto *cls = e.heap.make<ClassObject>();
  cls->name = typeName(v);
  cls->evaluated = true;
  return Value::object(cls);
}

Value objectType(Elaborator &e, CallArgs &) {
  auto *cls = e.heap.make<ClassObject>();
  cls->name = "object";
  cls->evaluated = true;
  auto *instance = e.heap.make<InstanceObject>();
  instance->cls = cls;
  return Value::object(instance);
}

Value bytesType(Elaborator &e, CallArgs &args) {
  return e.makePoison("bytes", args.range, "bytes are not computed with at compile time");
}

} // namespace

void installTypes(Elaborator &e, Scope &scope) {
  static const std::pair<const char *, NativeFunction> types[] = {
      {"int", intType},       {"float", floatType},         {"bool", boolType},
      {"str", strType},       {"list", listType},           {"tuple", tupleType},
      {"set", setType},       {"frozenset", frozensetType}, {"dict", dictType},
      {"range", rangeType},   {"slice", sliceType},         {"type", typeType},
      {"bytes", bytesType},   {"bytearray", bytesType},     {"complex", bytesType},
      {"object", objectType},
  };
  for (auto [name, function] : types) {
    Slot &slot = scope.slot(name);
    slot.value = makeBuiltin(e.heap, name, function, true);
    slot.bound = true;
  }
}

} // namespace tlc::elaborate
