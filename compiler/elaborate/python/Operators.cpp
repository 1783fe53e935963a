// Python's operators at compile time.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

#include <cmath>

namespace tlc::elaborate {

namespace {

using Op = ast::BinaryOperator;

std::optional<Int> floorDivide(Int a, Int b) {
  if (b == -1)
    return -a;
  Int q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

Int floorModulo(Int a, Int b) {
  if (b == -1)
    return 0;
  Int r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

std::optional<Int> power(Int base, Int exponent) {
  Int result = 1;
  while (exponent > 0) {
    if (exponent & 1)
      if (__builtin_mul_overflow(result, base, &result))
        return std::nullopt;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return std::nullopt;
  }
  return result;
}

double floorModulo(double a, double b) {
  double r = std::fmod(a, b);
  if (r == 0)
    return std::copysign(0.0, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

struct Operands {
  Elaborator &e;
  Op op;
  const Value &a, &b;
  SourceRange aRange, bRange, range;

  Value divisionByZero() const {
    e.report(diag::DivisionByZero, bRange);
    return Value::error();
  }
  Value overflow() const {
    e.report(diag::IntegerOverflow, range, ast::spelling(op));
    return Value::error();
  }
  Value badShift() const {
    e.report(diag::BadShift, bRange, decimal(b.asInt()));
    return Value::error();
  }
  Value unfit() const {
    e.report(diag::BadOperands, range, ast::spelling(op), typeNameWithArticle(a),
             typeNameWithArticle(b));
    return Value::error();
  }
};

Value shiftInts(const Operands &o, Int x, Int y) {
  if (y < 0)
    return o.badShift();
  if (o.op == Op::RShift)
    return Value::integer(y >= 127 ? (x < 0 ? -1 : 0) : x >> static_cast<int>(y));
  if (x == 0)
    return Value::integer(0);
  auto factor = y < 127 ? power(2, y) : std::nullopt;
  Int r;
  if (!factor || __builtin_mul_overflow(x, *factor, &r))
    return o.overflow();
  return Value::integer(r);
}

Value intOperator(const Operands &o) {
  Int x = o.a.asInt(), y = o.b.asInt(), r = 0;
  bool bools = o.a.isBool() && o.b.isBool();
  switch (o.op) {
  case Op::Add:
    return __builtin_add_overflow(x, y, &r) ? o.overflow() : Value::integer(r);
  case Op::Sub:
    return __builtin_sub_overflow(x, y, &r) ? o.overflow() : Value::integer(r);
  case Op::Mult:
    return __builtin_mul_overflow(x, y, &r) ? o.overflow() : Value::integer(r);
  case Op::Div:
    return y == 0 ? o.divisionByZero()
                  : Value::real(static_cast<double>(x) / static_cast<double>(y));
  case Op::FloorDiv:
    return y == 0 ? o.divisionByZero() : Value::integer(*floorDivide(x, y));
  case Op::Mod:
    return y == 0 ? o.divisionByZero() : Value::integer(floorModulo(x, y));
  case Op::Pow: {
    if (y < 0)
      return x == 0 ? o.divisionByZero()
                    : Value::real(std::pow(static_cast<double>(x), static_cast<double>(y)));
    auto p = power(x, y);
    return p ? Value::integer(*p) : o.overflow();
  }
  case Op::LShift:
  case Op::RShift:
    return shiftInts(o, x, y);
  case Op::BitOr:
    return bools ? Value::boolean(x | y) : Value::integer(x | y);
  case Op::BitXor:
    return bools ? Value::boolean(x ^ y) : Value::integer(x ^ y);
  case Op::BitAnd:
    return bools ? Value::boolean(x & y) : Value::integer(x & y);
  case Op::MatMult:
    break;
  }
  return o.unfit();
}

Value floatOperator(const Operands &o) {
  double x = o.a.asDouble(), y = o.b.asDouble();
  switch (o.op) {
  case Op::Add:
    return Value::real(x + y);
  case Op::Sub:
    return Value::real(x - y);
  case Op::Mult:
    return Value::real(x * y);
  case Op::Div:
    return y == 0 ? o.divisionByZero() : Value::real(x / y);
  case Op::FloorDiv:
    return y == 0 ? o.divisionByZero() : Value::real(std::floor(x / y));
  case Op::Mod:
    return y == 0 ? o.divisionByZero() : Value::real(floorModulo(x, y));
  case Op::Pow:
    if (x == 0 && y < 0)
      return o.divisionByZero();
    return Value::real(std::pow(x, y));
  default:
    return o.unfit();
  }
}

Value repeat(const Operands &o, const Value &sequence, const Value &count) {
  std::size_t length =
      sequence.isText() ? sequence.asText().size() : o.e.toList(sequence).size() * sizeof(Value);
  Int n = std::max(count.asInt(), Int(0));
  // Far beyond any budget: say so before memory is gone.
  if (length != 0)
    o.e.chargeBytes(static_cast<std::uint64_t>(std::min(n, Int(stepLimit) * 16 + 16)) * length,
                    o.range);
  else
    n = 0;
  if (sequence.isText()) {
    std::string text, one = sequence.asText();
    for (Int i = 0; i < n; ++i)
      text += one;
    return o.e.str(std::move(text));
  }
  std::vector<Value> items, one = o.e.toList(sequence);
  for (Int i = 0; i < n; ++i)
    items.insert(items.end(), one.begin(), one.end());
  return sequence.is(ValueKind::Tuple) ? o.e.heap.tuple(std::move(items))
                                       : o.e.heap.list(std::move(items));
}

std::optional<Value> sequenceOperator(const Operands &o) {
  auto isSequence = [](const Value &v) {
    return v.isText() || v.is(ValueKind::Tuple) || v.is(ValueKind::List);
  };
  if (o.op == Op::Mult && isSequence(o.a) && o.b.isIntegral())
    return repeat(o, o.a, o.b);
  if (o.op == Op::Mult && o.a.isIntegral() && isSequence(o.b))
    return repeat(o, o.b, o.a);
  if (o.op == Op::Mod && o.a.isText()) {
    if (o.b.isPoison())
      return o.b;
    auto text = formatPercent(o.e, o.a.asText(), o.b, o.range);
    return text ? o.e.str(*text) : Value::error();
  }
  if (o.op != Op::Add)
    return std::nullopt;
  if (o.a.isText() && o.b.isText()) {
    o.e.chargeBytes(o.a.asText().size() + o.b.asText().size(), o.range);
    return o.e.str(o.a.asText() + o.b.asText());
  }
  if (o.a.kind() != o.b.kind() || !isSequence(o.a))
    return std::nullopt;
  std::vector<Value> items = o.e.toList(o.a), more = o.e.toList(o.b);
  o.e.chargeBytes((items.size() + more.size()) * sizeof(Value), o.range);
  items.insert(items.end(), more.begin(), more.end());
  return o.a.is(ValueKind::Tuple) ? o.e.heap.tuple(std::move(items))
                                  : o.e.heap.list(std::move(items));
}

std::optional<Value> tableOperator(const Operands &o) {
  if (o.op == Op::BitOr && o.a.is(ValueKind::Dict) && o.b.is(ValueKind::Dict)) {
    auto *dict = o.e.heap.make<DictObject>();
    dict->table = o.a.as<DictObject>()->table;
    o.b.as<DictObject>()->table.forEach(
        [&](const Value &k, const Value &v) { dict->table.set(k, v); });
    return Value::object(dict);
  }
  auto *x = o.a.as<SetObject>(), *y = o.b.as<SetObject>();
  if (!x || !y)
    return std::nullopt;
  auto *set = o.e.heap.make<SetObject>();
  set->frozen = x->frozen;
  auto addIf = [&](const SetObject &from, const SetObject &other, bool wanted) {
    from.table.forEach([&](const Value &k, const Value &) {
      if ((other.table.find(k) != nullptr) == wanted)
        set->table.set(k, Value::none());
    });
  };
  switch (o.op) {
  case Op::BitOr:
    set->table = x->table;
    addIf(*y, *x, false);
    break;
  case Op::BitAnd:
    addIf(*x, *y, true);
    break;
  case Op::Sub:
    addIf(*x, *y, false);
    break;
  case Op::BitXor:
    addIf(*x, *y, false);
    addIf(*y, *x, false);
    break;
  default:
    return std::nullopt;
  }
  return Value::object(set);
}

std::pair<const char *, const char *> specialNames(Op op) {
  switch (op) {
  case Op::Add:
    return {"__add__", "__radd__"};
  case Op::Sub:
    return {"__sub__", "__rsub__"};
  case Op::Mult:
    return {"__mul__", "__rmul__"};
  case Op::MatMult:
    return {"__matmul__", "__rmatmul__"};
  case Op::Div:
    return {"__truediv__", "__rtruediv__"};
  case Op::FloorDiv:
    return {"__floordiv__", "__rfloordiv__"};
  case Op::Mod:
    return {"__mod__", "__rmod__"};
  case Op::Pow:
    return {"__pow__", "__rpow__"};
  case Op::LShift:
    return {"__lshift__", "__rlshift__"};
  case Op::RShift:
    return {"__rshift__", "__rrshift__"};
  case Op::BitOr:
    return {"__or__", "__ror__"};
  case Op::BitXor:
    return {"__xor__", "__rxor__"};
  case Op::BitAnd:
    return {"__and__", "__rand__"};
  }
  return {"", ""};
}

bool isType(const Value &v) {
  return v.is(ValueKind::Class) || v.isNone() ||
         (v.is(ValueKind::Builtin) && v.as<BuiltinObject>()->isType);
}

// An int-valued member of an enum computes like its value.
Value plain(const Value &v) {
  auto *member = v.as<EnumMemberObject>();
  return member && member->value.isNumber() ? member->value : v;
}

} // namespace

Value Elaborator::binary(Op op, const Value &givenA, const Value &givenB, SourceRange aRange,
                         SourceRange bRange, SourceRange range) {
  Value a = plain(givenA), b = plain(givenB);
  if (a.isError() || b.isError())
    return Value::error();
  Operands o{*this, op, a, b, aRange, bRange, range};
  if (a.isIntegral() && b.isIntegral())
    return intOperator(o);
  if (a.isNumber() && b.isNumber())
    return floatOperator(o);
  if (a.isPoison())
    return a;
  if (b.isPoison() && !(op == Op::Mod && a.isText()))
    return b;
  if (a.is(ValueKind::Instance))
    if (auto r = callSpecial(*this, a, specialNames(op).first, {b}, range);
        r && !r->is(ValueKind::NotImplemented))
      return *r;
  if (b.is(ValueKind::Instance))
    if (auto r = callSpecial(*this, b, specialNames(op).second, {a}, range);
        r && !r->is(ValueKind::NotImplemented))
      return *r;
  if (auto r = sequenceOperator(o))
    return *r;
  if (auto r = tableOperator(o))
    return *r;
  auto scalar = [](const Value &v) { return v.isRuntime() || v.isNumber() || v.isBuffer(); };
  if ((a.isRuntime() || b.isRuntime() || a.isBuffer() || b.isBuffer()) && scalar(a) && scalar(b))
    return runtimeBinary(*this, op, a, b, aRange, bRange, range);
  if (op == Op::BitOr && isType(a) && isType(b)) // int | None
    return heap.tuple({a, b});
  return o.unfit();
}

Value Elaborator::unary(ast::UnaryOperator op, const Value &given, SourceRange range) {
  Value a = plain(given);
  if (a.isError())
    return a;
  if (op == ast::UnaryOperator::Not) {
    if (a.isPoison())
      return a;
    auto decided = truth(a, range);
    if (decided)
      return Value::boolean(!*decided);
    return a.isRuntime() ? runtimeUnary(*this, op, a, range) : Value::error();
  }
  if (a.isPoison())
    return a;
  if (a.isRuntime())
    return runtimeUnary(*this, op, a, range);
  if (a.is(ValueKind::Instance)) {
    const char *name = op == ast::UnaryOperator::USub   ? "__neg__"
                       : op == ast::UnaryOperator::UAdd ? "__pos__"
                                                        : "__invert__";
    if (auto r = callSpecial(*this, a, name, {}, range))
      return *r;
  }
  if (a.isIntegral()) {
    Int i = a.asInt(), r = 0;
    switch (op) {
    case ast::UnaryOperator::USub:
      if (__builtin_sub_overflow(Int(0), i, &r)) {
        report(diag::IntegerOverflow, range, "-");
        return Value::error();
      }
      return Value::integer(r);
    case ast::UnaryOperator::UAdd:
      return Value::integer(i);
    default:
      return Value::integer(~i);
    }
  }
  if (a.isFloat() && op != ast::UnaryOperator::Invert)
    return Value::real(op == ast::UnaryOperator::USub ? -a.asDouble() : a.asDouble());
  report(diag::BadOperand, range, ast::spelling(op), typeNameWithArticle(a));
  return Value::error();
}

// ---- Comparing

namespace {

using Cmp = ast::CompareOperator;

template <class T> bool ordered(Cmp op, const T &a, const T &b) {
  switch (op) {
  case Cmp::Lt:
    return a < b;
  case Cmp::LtE:
    return !(b < a);
  case Cmp::Gt:
    return b < a;
  default:
    return !(a < b);
  }
}

bool orderedDoubles(Cmp op, double a, double b) {
  switch (op) {
  case Cmp::Lt:
    return a < b;
  case Cmp::LtE:
    return a <= b;
  case Cmp::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

// <, <=, >, >= of compile-time values; nullopt if they have no order.
std::optional<bool> order(Elaborator &e, Cmp op, const Value &a, const Value &b, unsigned depth) {
  if (a.isIntegral() && b.isIntegral())
    return ordered(op, a.asInt(), b.asInt());
  if (a.isNumber() && b.isNumber())
    return orderedDoubles(op, a.asDouble(), b.asDouble());
  if (a.isText() && b.isText())
    return ordered(op, a.asText(), b.asText());
  bool sequences = a.kind() == b.kind() && (a.is(ValueKind::Tuple) || a.is(ValueKind::List));
  if (sequences && depth < 100) {
    std::vector<Value> x = e.toList(a), y = e.toList(b);
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i]))
        return order(e, op, x[i], y[i], depth + 1);
    return ordered(op, x.size(), y.size());
  }
  if (a.is(ValueKind::Set) && b.is(ValueKind::Set)) {
    auto subset = [](const Value &p, const Value &q) {
      bool all = true;
      p.as<SetObject>()->table.forEach(
          [&](const Value &k, const Value &) { all = all && q.as<SetObject>()->table.find(k); });
      return all;
    };
    bool proper = a.as<SetObject>()->table.size() != b.as<SetObject>()->table.size();
    switch (op) {
    case Cmp::Lt:
      return proper && subset(a, b);
    case Cmp::LtE:
      return subset(a, b);
    case Cmp::Gt:
      return proper && subset(b, a);
    default:
      return subset(b, a);
    }
  }
  return std::nullopt;
}

const char *specialName(Cmp op) {
  switch (op) {
  case Cmp::Eq:
    return "__eq__";
  case Cmp::NotEq:
    return "__ne__";
  case Cmp::Lt:
    return "__lt__";
  case Cmp::LtE:
    return "__le__";
  case Cmp::Gt:
    return "__gt__";
  case Cmp::GtE:
    return "__ge__";
  default:
    return "";
  }
}

Value contains(Elaborator &e, const Value &item, const Value &container, bool negate,
               SourceRange range) {
  bool found = false;
  switch (container.kind()) {
  case ValueKind::Str:
  case ValueKind::DType:
    if (!item.isText()) {
      e.report(diag::BadOperands, range, "in", typeNameWithArticle(item), "a str");
      return Value::error();
    }
    found = container.asText().find(item.asText()) != std::string::npos;
    break;
  case ValueKind::Dict:
    found = hashable(item) && container.as<DictObject>()->table.find(item);
    break;
  case ValueKind::Set:
    found = hashable(item) && container.as<SetObject>()->table.find(item);
    break;
  case ValueKind::Range: {
    auto *r = container.as<RangeObject>();
    if (item.isIntegral() && r->size() > 0) {
      Int offset = item.asInt() - r->start;
      found = offset % r->step == 0 && offset / r->step >= 0 && offset / r->step < r->size();
    }
    break;
  }
  default: {
    if (auto r = callSpecial(e, container, "__contains__", {item}, range)) {
      auto holds = e.truth(*r, range);
      return holds ? Value::boolean(*holds != negate) : Value::error();
    }
    auto items = e.items(container, range);
    if (!items)
      return Value::error();
    for (const Value &other : *items)
      found = found || item.identical(other) || equal(item, other);
  }
  }
  return Value::boolean(found != negate);
}

} // namespace

Value Elaborator::compare(Cmp op, const Value &a, const Value &b, SourceRange range) {
  if (a.isError() || b.isError())
    return Value::error();
  if (op == Cmp::Is || op == Cmp::IsNot) {
    // Whether something unknown is None or a given object is not known either.
    if (a.isPoison() && !b.isPoison())
      return a;
    bool same = a.identical(b) || (a.isDType() && b.isDType() && equal(a, b));
    return Value::boolean(same == (op == Cmp::Is));
  }
  if (a.isPoison())
    return a;
  if (b.isPoison())
    return b;
  if (op == Cmp::In || op == Cmp::NotIn)
    return contains(*this, a, b, op == Cmp::NotIn, range);
  for (const Value *v : {&a, &b})
    if (v->is(ValueKind::Instance)) {
      static const std::map<Cmp, Cmp> mirrored = {
          {Cmp::Lt, Cmp::Gt}, {Cmp::Gt, Cmp::Lt}, {Cmp::LtE, Cmp::GtE}, {Cmp::GtE, Cmp::LtE}};
      auto it = mirrored.find(op);
      Cmp asked = v == &a || it == mirrored.end() ? op : it->second;
      if (auto r = callSpecial(*this, *v, specialName(asked), {v == &a ? b : a}, range);
          r && !r->is(ValueKind::NotImplemented))
        return *r;
    }
  auto scalar = [](const Value &v) { return v.isRuntime() || v.isNumber(); };
  if ((a.isRuntime() || b.isRuntime()) && scalar(a) && scalar(b))
    return runtimeCompare(*this, op, a, b, range);
  if (op == Cmp::Eq || op == Cmp::NotEq)
    return Value::boolean(equal(a, b) == (op == Cmp::Eq));
  Value x = plain(a), y = plain(b);
  if (auto result = order(*this, op, x, y, 0))
    return Value::boolean(*result);
  report(diag::BadOperands, range, ast::spelling(op), typeNameWithArticle(a),
         typeNameWithArticle(b));
  return Value::error();
}

} // namespace tlc::elaborate
