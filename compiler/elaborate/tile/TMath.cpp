// Scalar mathematics and conversions.
#include "elaborate/tile/TCall.h"

#include <algorithm>
#include <limits>

namespace tlc::elaborate {

using ir::BinaryOp;
using ir::Expr;
using ir::MathFn;
using sema::Builtin;

namespace {

Value wrap(Expr x) { return x ? Value::expr(x) : Value::error(); }

std::vector<CallArg> operands(TCall &c) {
  std::vector<CallArg> list;
  for (const sema::Parameter &p : c.info.parameters)
    if (p.name != "rounding_mode")
      list.push_back(c.arg(p.name));
  return list;
}

constexpr std::pair<Builtin, MathFn> functions[] = {
    {Builtin::Exp, MathFn::Exp},
    {Builtin::Exp2, MathFn::Exp2},
    {Builtin::Exp10, MathFn::Exp10},
    {Builtin::Log, MathFn::Log},
    {Builtin::Log2, MathFn::Log2},
    {Builtin::Log10, MathFn::Log10},
    {Builtin::Log1p, MathFn::Log1p},
    {Builtin::Sqrt, MathFn::Sqrt},
    {Builtin::Rsqrt, MathFn::Rsqrt},
    {Builtin::Sin, MathFn::Sin},
    {Builtin::Cos, MathFn::Cos},
    {Builtin::Tan, MathFn::Tan},
    {Builtin::Asin, MathFn::Asin},
    {Builtin::Acos, MathFn::Acos},
    {Builtin::Atan, MathFn::Atan},
    {Builtin::Sinh, MathFn::Sinh},
    {Builtin::Cosh, MathFn::Cosh},
    {Builtin::Tanh, MathFn::Tanh},
    {Builtin::Asinh, MathFn::Asinh},
    {Builtin::Acosh, MathFn::Acosh},
    {Builtin::Atanh, MathFn::Atanh},
    {Builtin::Erf, MathFn::Erf},
    {Builtin::Sigmoid, MathFn::Sigmoid},
    {Builtin::Floor, MathFn::Floor},
    {Builtin::Ceil, MathFn::Ceil},
    {Builtin::Trunc, MathFn::Trunc},
    {Builtin::NearbyInt, MathFn::RoundEven},
    {Builtin::IsNan, MathFn::IsNan},
    {Builtin::IsInf, MathFn::IsInf},
    {Builtin::IsFinite, MathFn::IsFinite},
    {Builtin::FastExp, MathFn::FastExp},
    {Builtin::FastExp10, MathFn::FastExp10},
    {Builtin::FastLog, MathFn::FastLog},
    {Builtin::FastLog2, MathFn::FastLog2},
    {Builtin::FastLog10, MathFn::FastLog10},
    {Builtin::FastSin, MathFn::FastSin},
    {Builtin::FastCos, MathFn::FastCos},
    {Builtin::FastTan, MathFn::FastTan},
    {Builtin::FastRcp, MathFn::FastRcp},
    {Builtin::Atan2, MathFn::Atan2},
    {Builtin::Hypot, MathFn::Hypot},
    {Builtin::Fmod, MathFn::Fmod},
    {Builtin::CopySign, MathFn::CopySign},
    {Builtin::NextAfter, MathFn::NextAfter},
};

Value function(TCall &c) {
  for (const auto &[id, fn] : functions)
    if (id == c.info.id)
      return mathCall(c.e, fn, operands(c), c.range);
  TLC_UNREACHABLE("no function for " + c.name());
}

/// The integer as it is, for functions of bits.
Expr integerOperand(TCall &c, std::string_view parameter) {
  Expr x = c.scalar(parameter);
  if (x && x.dtype().isFloat()) {
    c.wrong(parameter, "an integer");
    return {};
  }
  if (x && x.dtype().isBool())
    x = convert(c.e, x, DType(Scalar::Int32, x.dtype().lanes));
  return x;
}

Value bitFunction(TCall &c) {
  Expr x = integerOperand(c, c.info.parameters[0].name);
  MathFn fn = c.info.id == Builtin::Popcount ? MathFn::Popcount
              : c.info.id == Builtin::Clz    ? MathFn::Clz
                                             : MathFn::Ffs;
  return x ? Value::expr(c.context().math(fn, {x})) : Value::error();
}

Value ldexp(TCall &c) {
  Expr x = c.scalar("x1"), n = c.scalar("x2");
  if (!x || !n)
    return Value::error();
  std::optional<DType> both = commonType(OperatorClass::Arithmetic, x.dtype(), n.dtype());
  if (!both) {
    c.e.report(diag::OperandTypes, c.range, c.name(), x.dtype().str(), n.dtype().str(),
               operandsWanted(OperatorClass::Arithmetic));
    return Value::error();
  }
  DType type = mathType(x.dtype()).element().withLanes(both->lanes);
  return Value::expr(
      c.context().math(MathFn::Ldexp, {convert(c.e, x, type), convert(c.e, n, type)}));
}

// ---- Operators as functions

struct Named {
  Builtin id;
  ast::BinaryOperator op;
};
constexpr Named operators[] = {
    {Builtin::FloorDiv, ast::BinaryOperator::FloorDiv},
    {Builtin::FloorMod, ast::BinaryOperator::Mod},
    {Builtin::ShiftLeft, ast::BinaryOperator::LShift},
    {Builtin::ShiftRight, ast::BinaryOperator::RShift},
    {Builtin::BitwiseAnd, ast::BinaryOperator::BitAnd},
    {Builtin::BitwiseOr, ast::BinaryOperator::BitOr},
    {Builtin::BitwiseXor, ast::BinaryOperator::BitXor},
    {Builtin::Pow, ast::BinaryOperator::Pow},
    {Builtin::IeeeAdd, ast::BinaryOperator::Add},
    {Builtin::IeeeSub, ast::BinaryOperator::Sub},
    {Builtin::IeeeMul, ast::BinaryOperator::Mult},
    {Builtin::IeeeFdiv, ast::BinaryOperator::Div},
    {Builtin::Add2, ast::BinaryOperator::Add},
    {Builtin::Sub2, ast::BinaryOperator::Sub},
    {Builtin::Mul2, ast::BinaryOperator::Mult},
};

Value operate(TCall &c, ast::BinaryOperator op) {
  std::vector<CallArg> args = operands(c);
  return c.e.binary(op, args[0].value, args[1].value, args[0].range, args[1].range, c.range);
}

Value binaryOperator(TCall &c) {
  for (const Named &named : operators)
    if (named.id == c.info.id)
      return operate(c, named.op);
  TLC_UNREACHABLE("no operator for " + c.name());
}

Value bitwiseNot(TCall &c) { return c.e.unary(ast::UnaryOperator::Invert, c.value("x"), c.range); }

/// Both operands as numbers of compile time.
bool bothInts(const CallArg &a, const CallArg &b) {
  return a.value.isIntegral() && b.value.isIntegral();
}

/// Whether a divisor is known not to be negative.
bool isPositive(TCall &c, Expr divisor) {
  if (std::optional<std::int64_t> n = divisor.constant())
    return *n > 0;
  if (divisor.dtype().isUInt())
    return true;
  if (!c.e.kernel) // outside of kernels nothing but sizes is run-time
    return true;
  const auto &dims = c.e.kernel->function.dims;
  return std::any_of(dims.begin(), dims.end(),
                     [&](const ir::Dim &dim) { return dim.var == divisor; });
}

Value ceilDiv(TCall &c) {
  CallArg a = c.arg("a"), b = c.arg("b");
  if (bothInts(a, b) && b.value.asInt() != 0) {
    Int n = a.value.asInt(), d = b.value.asInt();
    Int q = n / d;
    if (n % d != 0 && (n % d > 0) == (d > 0))
      ++q;
    return Value::integer(q);
  }
  Expr x, y;
  if (!unify(c.e, OperatorClass::Arithmetic, "ceildiv", a.value, b.value, a.range, b.range, c.range,
             x, y))
    return Value::error();
  if (x.dtype().isFloat())
    return Value::expr(c.context().math(MathFn::Ceil, {c.context().binary(BinaryOp::Div, x, y)}));
  if (y.isConstant(0)) {
    c.e.report(diag::DivisionByZero, b.range);
    return Value::error();
  }
  if (isPositive(c, y))
    return Value::expr(ir::ceilDiv(x, y));
  // -(-x // y) is right for either sign.
  Expr zero = c.context().zero(x.dtype());
  return Value::expr(zero - ir::floorDiv(zero - x, y));
}

Value alignUp(TCall &c) {
  CallArg x = c.arg("x"), y = c.arg("y");
  CallArgs args;
  args.positional = {x, y};
  args.range = c.range;
  args.calleeRange = c.args.calleeRange;
  Value units = callBuiltin(c.e, sema::info(Builtin::CeilDiv), args);
  if (units.isError())
    return units;
  return c.e.binary(ast::BinaryOperator::Mult, units, y.value, c.range, y.range, c.range);
}

/// C's division and remainder.
Value truncDivMod(TCall &c) {
  bool isDiv = c.info.id == Builtin::TruncDiv;
  CallArg a = c.arg("a"), b = c.arg("b");
  if (bothInts(a, b) && b.value.asInt() != 0)
    return Value::integer(isDiv ? a.value.asInt() / b.value.asInt()
                                : a.value.asInt() % b.value.asInt());
  Expr x, y;
  if (!unify(c.e, OperatorClass::Arithmetic, c.info.name, a.value, b.value, a.range, b.range,
             c.range, x, y))
    return Value::error();
  if (y.isConstant(0)) {
    c.e.report(diag::DivisionByZero, b.range);
    return Value::error();
  }
  if (!x.dtype().isFloat())
    return Value::expr(c.context().binary(isDiv ? BinaryOp::TruncDiv : BinaryOp::TruncMod, x, y));
  if (!isDiv)
    return Value::expr(c.context().math(MathFn::Fmod, {x, y}));
  return Value::expr(c.context().math(MathFn::Trunc, {c.context().binary(BinaryOp::Div, x, y)}));
}

Value minimumOrMaximum(TCall &c) {
  std::vector<CallArg> args = operands(c);
  bool isMin = c.info.id == Builtin::Min || c.info.id == Builtin::Min2;
  return minMax(c.e, isMin ? MinMax::Min : MinMax::Max, args[0].value, args[1].value, args[0].range,
                args[1].range, c.range);
}

Value clamp(TCall &c) {
  CallArg x = c.arg("dst"), lo = c.arg("min_val"), hi = c.arg("max_val");
  Value upper = minMax(c.e, MinMax::Min, x.value, hi.value, x.range, hi.range, c.range);
  if (upper.isError())
    return upper;
  return minMax(c.e, MinMax::Max, upper, lo.value, x.range, lo.range, c.range);
}

Value absoluteValue(TCall &c) { return absolute(c.e, c.value("x"), c.rangeOf("x")); }

/// T.Select, and T.if_then_else where its arguments were evaluated before.
Value select(TCall &c) {
  std::vector<CallArg> args = operands(c);
  Expr condition = toCondition(c.e, toExpr(c.e, args[0].value, args[0].range));
  if (!condition)
    return Value::error();
  return selectValue(c.e, condition, args[1].value, args[2].value, args[1].range, args[2].range,
                     c.range);
}

Value likely(TCall &c) { return c.value("x"); }

// ---- Extreme values

Value infinity(TCall &c) {
  std::optional<DType> t = c.dtype("dtype");
  if (!t)
    return Value::error();
  double inf = std::numeric_limits<double>::infinity();
  if (!t->isFloat() || t->encoding() != FloatEncoding::Ieee) {
    c.e.report(diag::NoInfinity, c.rangeOf("dtype"), t->str()).help("use T.max_value");
    return Value::error();
  }
  return Value::expr(c.context().real(*t, inf));
}

Value extreme(TCall &c) {
  std::optional<DType> t = c.dtype("dtype");
  if (!t)
    return Value::error();
  bool isMax = c.info.id == Builtin::MaxValue;
  if (t->isFloat())
    return Value::expr(c.context().real(*t, isMax ? maxFinite(*t) : -maxFinite(*t)));
  if (t->scalar == Scalar::UInt64 && isMax)
    return Value::expr(c.context().integer(*t, -1));
  return Value::expr(c.context().integer(*t, isMax ? maxInteger(*t) : minInteger(*t)));
}

// ---- Rounding

Value round(TCall &c) {
  std::optional<std::size_t> mode =
      c.choice("rounding_mode", {"ties-to-even", "ties-away-from-zero"}, "ties-to-even");
  if (!mode)
    return Value::error();
  return mathCall(c.e, *mode == 0 ? MathFn::RoundEven : MathFn::RoundAway, {c.arg("x")}, c.range);
}

/// Only rounding to nearest exists on every target.
bool nearest(TCall &c) {
  std::optional<std::size_t> mode = c.choice("rounding_mode", {"rn", "rz", "ru", "rd"}, "rn");
  if (mode && *mode != 0)
    c.e.report(diag::UnsupportedBuiltin, c.rangeOf("rounding_mode"), c.info.name,
               "with this rounding mode is not supported yet", c.e.target.name);
  return mode && *mode == 0;
}

Value ieeeOperator(TCall &c) { return nearest(c) ? binaryOperator(c) : Value::error(); }

Value ieeeFunction(TCall &c) {
  if (c.info.index("rounding_mode") >= 0 && !nearest(c))
    return Value::error();
  switch (c.info.id) {
  case Builtin::IeeeFmaf:
  case Builtin::Fma2:
    return mathCall(c.e, MathFn::Fma, operands(c), c.range);
  case Builtin::IeeeFsqrt:
    return mathCall(c.e, MathFn::Sqrt, operands(c), c.range);
  case Builtin::IeeeFrsqrt:
    return mathCall(c.e, MathFn::Rsqrt, operands(c), c.range);
  default:
    return runtimeBinary(c.e, ast::BinaryOperator::Div, Value::real(1.0), c.value("x"),
                         c.rangeOf("x"), c.rangeOf("x"), c.range);
  }
}

// ---- Conversions

Value castTo(TCall &c) {
  std::optional<DType> t = c.dtype("dtype");
  if (!t)
    return Value::error();
  bool saturate = true;
  if (c.info.id == Builtin::CastTo) {
    std::optional<std::string> mode = c.text("round");
    if (mode && !mode->empty() && *mode != "rn") {
      c.e.report(diag::UnsupportedBuiltin, c.rangeOf("round"), c.info.name,
                 "with this rounding mode is not supported yet", c.e.target.name);
      return Value::error();
    }
    saturate = c.flag("sat", true);
  }
  const Value v = c.value("value");
  // A compile-time float is rounded once, from double.
  if (v.isFloat() && t->isFloat() && saturate)
    return wrap(literal(c.e, v, *t, c.rangeOf("value")));
  Expr x = c.scalar("value");
  if (!x)
    return Value::error();
  DType to = t->isVector() ? *t : t->withLanes(x.dtype().lanes);
  bool narrow = to.isFloat() && to.bits() <= 8;
  if (narrow && x.dtype().isFloat())
    return Value::expr(c.context().cast(to, x, saturate));
  return Value::expr(convert(c.e, x, to));
}

Value immediate(TCall &c) {
  std::optional<DType> t = c.dtype("dtype");
  const Value v = c.value("value");
  if (!t || !v.isNumber())
    return t ? v : Value::error();
  return wrap(literal(c.e, v, *t, c.rangeOf("value")));
}

/// T.reinterpret(value, dtype); TVM's order (dtype, value) is taken as well.
Value reinterpret(TCall &c) {
  std::string_view value = "value", type = "dtype";
  if (c.value("value").isText())
    std::swap(value, type);
  // A null pointer, as TVM's attributes want one.
  if (c.value(type).isText() && c.value(type).asText() == "handle")
    return Value::none();
  std::optional<DType> t =
      c.e.toDType(c.value(type), c.rangeOf(type), "the dtype of `T.reinterpret`");
  Expr x = c.scalar(value);
  if (!t || !x)
    return Value::error();
  DType from = x.dtype();
  unsigned bits = from.bits() * from.lanes;
  // A vector of the element type that has as many bits.
  DType to = t->lanes == 1 && bits % t->bits() == 0 ? t->withLanes(bits / t->bits()) : *t;
  if (to.bits() * to.lanes != bits) {
    c.e.report(diag::ReinterpretWidth, c.range, from.str(), bits, t->str(), t->bits() * t->lanes);
    return Value::error();
  }
  return Value::expr(c.context().bitcast(to, x));
}

/// Row-major coordinates of a linear index.
Value coordinates(TCall &c) {
  std::vector<Value> shape = c.e.toList(c.value("shape"));
  std::vector<Value> result(shape.size());
  Value rest = c.value("index");
  SourceRange r = c.rangeOf("index"), s = c.rangeOf("shape");
  for (std::size_t d = shape.size(); d-- > 0;) {
    result[d] = c.e.binary(ast::BinaryOperator::Mod, rest, shape[d], r, s, c.range);
    rest = c.e.binary(ast::BinaryOperator::FloorDiv, rest, shape[d], r, s, c.range);
  }
  return c.e.heap.list(std::move(result));
}

/// Four products of 8-bit integers added to a 32-bit one.
Value dp4a(TCall &c) {
  if (!c.statement())
    return Value::none();
  std::optional<Tile> a = asTile(c.e, c.value("A"), c.rangeOf("A"));
  std::optional<Tile> b = asTile(c.e, c.value("B"), c.rangeOf("B"));
  std::optional<Tile> acc = asTile(c.e, c.value("C"), c.rangeOf("C"));
  if (!a || !b || !acc) {
    c.wrong(!a ? "A" : !b ? "B" : "C", "an element of a buffer");
    return Value::none();
  }
  auto at = [&](const Tile &t, std::int64_t i) {
    ir::Element element{t.region.buffer, t.region.offsets, {}};
    if (i)
      element.indices.back() = element.indices.back() + i;
    return element;
  };
  Expr sum = load(c.e, at(*acc, 0), 1, c.range);
  for (std::int64_t i = 0; i < 4 && sum; ++i) {
    Expr x = load(c.e, at(*a, i), 1, c.range), y = load(c.e, at(*b, i), 1, c.range);
    sum = sum + convert(c.e, x, sum.dtype()) * convert(c.e, y, sum.dtype());
  }
  if (sum)
    c.builder().store(at(*acc, 0), sum);
  return Value::none();
}

// ---- Vectors

std::optional<unsigned> lanesOf(TCall &c) {
  std::optional<std::int64_t> n = c.integer("lanes");
  if (n && (*n < 1 || *n > 64)) {
    c.outOfRange("lanes", "between 1 and 64", std::to_string(*n));
    return std::nullopt;
  }
  return n ? std::optional<unsigned>(static_cast<unsigned>(*n)) : std::nullopt;
}

Value ramp(TCall &c) {
  Expr base = c.index("base"), stride = c.index("stride");
  std::optional<unsigned> lanes = lanesOf(c);
  if (!base || !stride || !lanes)
    return Value::error();
  unifyIndices(c.e, base, stride);
  std::vector<Expr> items;
  for (unsigned i = 0; i < *lanes; ++i)
    items.push_back(base + stride * std::int64_t(i));
  return Value::expr(*lanes == 1 ? items[0] : c.context().vector(items));
}

Value broadcast(TCall &c) {
  Expr x = c.scalar("value");
  std::optional<unsigned> lanes = lanesOf(c);
  if (!x || !lanes)
    return Value::error();
  return Value::expr(*lanes == 1 ? x : c.context().broadcast(x, *lanes));
}

void lanesInto(TCall &c, Expr x, std::vector<Expr> &items) {
  if (!x.dtype().isVector())
    items.push_back(x);
  else
    for (unsigned i = 0; i < x.dtype().lanes; ++i)
      items.push_back(c.context().extract(x, i));
}

Value shuffle(TCall &c) {
  std::vector<Expr> lanes, picked;
  for (const Value &v : c.e.toList(c.value("vectors"))) {
    Expr x = toExpr(c.e, v, c.rangeOf("vectors"));
    if (!x)
      return Value::error();
    lanesInto(c, x, lanes);
  }
  for (const Value &v : c.e.toList(c.value("indices"))) {
    std::optional<std::int64_t> i = c.e.toInt(v, c.rangeOf("indices"), "a lane of `T.Shuffle`");
    if (!i)
      return Value::error();
    if (*i < 0 || *i >= std::int64_t(lanes.size())) {
      c.outOfRange("indices", "lanes from 0 to " + std::to_string(lanes.size() - 1),
                   std::to_string(*i));
      return Value::error();
    }
    picked.push_back(lanes[static_cast<std::size_t>(*i)]);
  }
  if (picked.empty())
    return Value::error();
  return Value::expr(picked.size() == 1 ? picked[0] : c.context().vector(picked));
}

Value extractLane(TCall &c) {
  Expr x = c.scalar("vector");
  std::optional<std::int64_t> i = c.integer("lane");
  if (!x || !i)
    return Value::error();
  if (*i < 0 || *i >= x.dtype().lanes) {
    c.outOfRange("lane", "below " + std::to_string(x.dtype().lanes), std::to_string(*i));
    return Value::error();
  }
  return Value::expr(x.dtype().isVector() ? c.context().extract(x, static_cast<unsigned>(*i)) : x);
}

Value half(TCall &c) {
  Expr x = c.scalar("vec");
  if (!x)
    return Value::error();
  unsigned n = x.dtype().lanes;
  if (n % 2) {
    c.wrong("vec", "a vector with an even number of lanes");
    return Value::error();
  }
  std::vector<Expr> all, items;
  lanesInto(c, x, all);
  auto begin = all.begin() + (c.info.id == Builtin::VectorHigh ? n / 2 : 0);
  items.assign(begin, begin + n / 2);
  return Value::expr(items.size() == 1 ? items[0] : c.context().vector(items));
}

Value combineVectors(TCall &c) {
  Expr low = c.scalar("low"), high = c.scalar("high");
  if (!low || !high)
    return Value::error();
  if (low.dtype() != high.dtype()) {
    c.e.report(diag::OperandTypes, c.range, c.name(), low.dtype().str(), high.dtype().str(),
               "two vectors of one type");
    return Value::error();
  }
  std::vector<Expr> items;
  lanesInto(c, low, items);
  lanesInto(c, high, items);
  return Value::expr(c.context().vector(items));
}

} // namespace

void addMath(Handlers &t) {
  for (const auto &[id, fn] : functions)
    handle(t, id, function);
  for (const Named &named : operators)
    handle(t, named.id, binaryOperator);
  for (Builtin id : {Builtin::IeeeAdd, Builtin::IeeeSub, Builtin::IeeeMul, Builtin::IeeeFdiv})
    handle(t, id, ieeeOperator);
  for (Builtin id : {Builtin::IeeeFmaf, Builtin::IeeeFsqrt, Builtin::IeeeFrsqrt, Builtin::IeeeFrcp,
                     Builtin::Fma2})
    handle(t, id, ieeeFunction);
  for (Builtin id : {Builtin::Popcount, Builtin::Clz, Builtin::Ffs})
    handle(t, id, bitFunction);
  for (Builtin id : {Builtin::Min, Builtin::Max, Builtin::Min2, Builtin::Max2})
    handle(t, id, minimumOrMaximum);
  handle(t, Builtin::Ldexp, ldexp);
  handle(t, Builtin::BitwiseNot, bitwiseNot);
  handle(t, Builtin::CeilDiv, ceilDiv);
  handle(t, Builtin::AlignUp, alignUp);
  handle(t, Builtin::TruncDiv, truncDivMod);
  handle(t, Builtin::TruncMod, truncDivMod);
  handle(t, Builtin::Clamp, clamp);
  handle(t, Builtin::Abs, absoluteValue);
  handle(t, Builtin::Abs2, absoluteValue);
  handle(t, Builtin::Select, select);
  handle(t, Builtin::IfThenElse, select);
  handle(t, Builtin::Likely, likely);
  handle(t, Builtin::Infinity, infinity);
  handle(t, Builtin::MinValue, extreme);
  handle(t, Builtin::MaxValue, extreme);
  handle(t, Builtin::Round, round);
  handle(t, Builtin::CastTo, castTo);
  handle(t, Builtin::CastAs, castTo);
  handle(t, Builtin::IntImm, immediate);
  handle(t, Builtin::FloatImm, immediate);
  handle(t, Builtin::Reinterpret, reinterpret);
  handle(t, Builtin::IndexToCoordinates, coordinates);
  handle(t, Builtin::Dp4a, dp4a);
}

void addVectors(Handlers &t) {
  handle(t, Builtin::Ramp, ramp);
  handle(t, Builtin::Broadcast, broadcast);
  handle(t, Builtin::Shuffle, shuffle);
  handle(t, Builtin::ExtractLane, extractLane);
  handle(t, Builtin::VectorLow, half);
  handle(t, Builtin::VectorHigh, half);
  handle(t, Builtin::VectorCombine, combineVectors);
}

} // namespace tlc::elaborate
