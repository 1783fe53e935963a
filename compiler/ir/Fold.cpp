#include "ir/Fold.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace tlc::ir {
namespace {

using Op = BinaryOp;

__int128 floorDivide(__int128 a, __int128 b) {
  __int128 q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

/// The value that an integer constant of `dtype` stands for (uint64 is kept as two's complement).
__int128 valueOf(DType dtype, std::int64_t stored) {
  if (dtype.isUInt() && dtype.bits() == 64)
    return static_cast<std::uint64_t>(stored);
  return stored;
}

/// Signed index arithmetic is taken not to overflow, as in the languages that are emitted; unsigned
/// arithmetic wraps, so identities that regroup products hold for signed types only.
bool regroups(DType dtype) { return dtype.isInt(); }

/// x as y * constant or y + constant with the constant on the right.
const ExprNode *withConstant(Expr e, Op op) {
  if (e.kind() == ExprKind::Binary && e->binaryOp() == op && e->operands[1].isInt())
    return e.get();
  return nullptr;
}

/// e / c without remainder, where that is plain from the form of e: constants, multiples, sums of
/// such.
Expr exactQuotient(Context &context, Expr e, std::int64_t c) {
  if (auto value = e.constant())
    return *value % c == 0 ? context.integer(e.dtype(), *value / c) : Expr();
  if (const ExprNode *product = withConstant(e, Op::Mul)) {
    std::int64_t factor = product->operands[1]->integer;
    if (factor % c == 0)
      return context.binary(Op::Mul, product->operands[0], context.integer(e.dtype(), factor / c));
    if (factor != 0 && c % factor == 0)
      return exactQuotient(context, product->operands[0], c / factor);
    return {};
  }
  if (e.kind() == ExprKind::Binary && (e->binaryOp() == Op::Add || e->binaryOp() == Op::Sub)) {
    Expr a = exactQuotient(context, e->operands[0], c);
    Expr b = a ? exactQuotient(context, e->operands[1], c) : Expr();
    return b ? context.binary(e->binaryOp(), a, b) : Expr();
  }
  return {};
}

/// Splits a sum into a part that is plainly a multiple of c and the rest; either may be null (0).
struct Split {
  Expr quotient, rest;
};
std::optional<Split> splitMultiple(Context &context, Expr e, std::int64_t c) {
  if (Expr q = exactQuotient(context, e, c))
    return Split{q, {}};
  if (e.kind() != ExprKind::Binary || e->binaryOp() != Op::Add)
    return std::nullopt;
  auto a = splitMultiple(context, e->operands[0], c);
  auto b = splitMultiple(context, e->operands[1], c);
  if (!a && !b)
    return std::nullopt;
  Split left = a ? *a : Split{{}, e->operands[0]};
  Split right = b ? *b : Split{{}, e->operands[1]};
  auto add = [&](Expr x, Expr y) { return !x ? y : !y ? x : context.binary(Op::Add, x, y); };
  return Split{add(left.quotient, right.quotient), add(left.rest, right.rest)};
}

Expr foldDivMod(Context &context, Op op, Expr a, Expr b) {
  DType dtype = a.dtype();
  bool isDiv = op == Op::FloorDiv || op == Op::TruncDiv;
  auto c = b.constant();
  if (!c || *c == 0)
    return {};
  if (*c == 1)
    return isDiv ? a : context.zero(dtype);
  if (*c <= 1 || !regroups(dtype))
    return {};
  if (Expr q = exactQuotient(context, a, *c))
    return isDiv ? q : context.zero(dtype);
  if (op == Op::TruncDiv || op == Op::TruncMod)
    return {};
  if (auto split = splitMultiple(context, a, *c)) {
    if (!isDiv)
      return context.binary(op, split->rest, b);
    return context.binary(Op::Add, split->quotient, context.binary(op, split->rest, b));
  }
  if (a.kind() == ExprKind::Binary && a->operands[1].isInt()) {
    std::int64_t inner = a->operands[1]->integer;
    if (isDiv && a->binaryOp() == Op::FloorDiv && inner > 0 &&
        static_cast<__int128>(inner) * *c <= maxInteger(dtype))
      return context.binary(op, a->operands[0], context.integer(dtype, inner * *c));
    if (a->binaryOp() == Op::FloorMod && inner > 0) {
      if (!isDiv && inner % *c == 0) // (x % 12) % 4
        return context.binary(op, a->operands[0], b);
      if (inner <= *c) // (x % 4) // 8, (x % 4) % 8
        return isDiv ? context.zero(dtype) : a;
      if (isDiv && inner % *c == 0) // (x % 12) // 4 == (x // 4) % 3
        return context.binary(Op::FloorMod, context.binary(op, a->operands[0], b),
                              context.integer(dtype, inner / *c));
    }
  }
  return {};
}

/// x // n * n + x % n == x, as indices have it that are taken apart and put together again.
Expr fromQuotient(Context &context, Expr multiple, Expr remainder) {
  auto is = [](Expr e, Op op) { return e.kind() == ExprKind::Binary && e->binaryOp() == op; };
  if (!is(multiple, Op::Mul) || !is(remainder, Op::FloorMod) ||
      multiple->operands[1] != remainder->operands[1] || !multiple->operands[1].isInt())
    return {};
  Expr whole = remainder->operands[0], n = remainder->operands[1];
  return multiple->operands[0] == context.binary(Op::FloorDiv, whole, n) ? whole : Expr();
}

Expr foldIntegerIdentity(Context &context, Op op, Expr a, Expr b) {
  DType dtype = a.dtype();
  auto constant = [&](std::int64_t value) { return context.integer(dtype, value); };
  switch (op) {
  case Op::Add:
    if (b.isConstant(0))
      return a;
    if (a.isConstant(0))
      return b;
    if (b.isInt())
      if (const ExprNode *sum = withConstant(a, Op::Add))
        return context.binary(op, sum->operands[0],
                              constant(sum->operands[1]->integer + b->integer));
    if (Expr whole = fromQuotient(context, a, b))
      return whole;
    return fromQuotient(context, b, a);
  case Op::Sub:
    if (b.isConstant(0))
      return a;
    if (a == b)
      return context.zero(dtype);
    if (b.isInt() && dtype.isInt() && b->integer != minInteger(dtype))
      return context.binary(Op::Add, a, constant(-b->integer));
    // (x + y) - x, (x + y) - y
    if (a.kind() == ExprKind::Binary && a->binaryOp() == Op::Add) {
      if (a->operands[0] == b)
        return a->operands[1];
      if (a->operands[1] == b)
        return a->operands[0];
    }
    return {};
  case Op::Mul:
    if (b.isConstant(1))
      return a;
    if (a.isConstant(1))
      return b;
    if (a.isConstant(0) || b.isConstant(0))
      return context.zero(dtype);
    if (b.isInt() && regroups(dtype))
      if (const ExprNode *product = withConstant(a, Op::Mul))
        return context.binary(op, product->operands[0],
                              constant(product->operands[1]->integer * b->integer));
    return {};
  case Op::FloorDiv:
  case Op::FloorMod:
  case Op::TruncDiv:
  case Op::TruncMod:
    return foldDivMod(context, op, a, b);
  case Op::Min:
  case Op::Max:
    if (a == b)
      return a;
    if (b.isInt())
      if (const ExprNode *inner = withConstant(a, op))
        return context.binary(op, inner->operands[0], context.binary(op, inner->operands[1], b));
    return {};
  case Op::And:
    if (a == b)
      return a;
    return a.isConstant(0) || b.isConstant(0) ? context.zero(dtype) : Expr();
  case Op::Or:
  case Op::Xor:
    if (b.isConstant(0))
      return a;
    if (a.isConstant(0))
      return b;
    if (a == b)
      return op == Op::Or ? a : context.zero(dtype);
    return {};
  case Op::Shl:
  case Op::Shr:
    return b.isConstant(0) ? a : Expr();
  default:
    return {};
  }
}

Expr foldComparison(Context &context, Op op, Expr a, Expr b) {
  if (a.dtype().isFloat() || a.dtype().isVector())
    return {}; // NaN != NaN
  if (a == b)
    return context.boolean(op == Op::Eq || op == Op::Le || op == Op::Ge);
  // x + c1 < c2: signed sums are taken not to overflow.
  if (b.isInt() && regroups(a.dtype()))
    if (const ExprNode *sum = withConstant(a, Op::Add)) {
      const __int128 rest = static_cast<__int128>(b->integer) - sum->operands[1]->integer;
      if (rest >= minInteger(a.dtype()) && rest <= maxInteger(a.dtype()))
        return context.binary(op, sum->operands[0],
                              context.integer(a.dtype(), static_cast<std::int64_t>(rest)));
    }
  return {};
}

/// Both sides are pure, so a deciding constant on either side decides.
Expr foldLogic(Op op, Expr a, Expr b) {
  bool isAnd = op == Op::LogicalAnd;
  for (auto [side, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (side.isTrue())
      return isAnd ? other : side;
    if (side.isFalse())
      return isAnd ? side : other;
  }
  return a == b ? a : Expr();
}

} // namespace

std::optional<std::int64_t> evaluateInteger(Op op, DType dtype, std::int64_t a, std::int64_t b) {
  __int128 x = valueOf(dtype, a), y = valueOf(dtype, b);
  auto wrapped = [&](__int128 value) {
    return wrapInteger(dtype, static_cast<std::int64_t>(static_cast<unsigned __int128>(value)));
  };
  unsigned bits = dtype.isBool() ? 1 : dtype.bits();
  switch (op) {
  case Op::Add:
    return wrapped(x + y);
  case Op::Sub:
    return wrapped(x - y);
  case Op::Mul:
    return wrapped(x * y);
  case Op::Div:
    return std::nullopt;
  case Op::FloorDiv:
    return y == 0 ? std::nullopt : std::optional(wrapped(floorDivide(x, y)));
  case Op::FloorMod:
    return y == 0 ? std::nullopt : std::optional(wrapped(x - floorDivide(x, y) * y));
  case Op::TruncDiv:
    return y == 0 ? std::nullopt : std::optional(wrapped(x / y));
  case Op::TruncMod:
    return y == 0 ? std::nullopt : std::optional(wrapped(x % y));
  case Op::Min:
    return x < y ? a : b;
  case Op::Max:
    return x > y ? a : b;
  case Op::And:
    return wrapped(x & y);
  case Op::Or:
    return wrapped(x | y);
  case Op::Xor:
    return wrapped(x ^ y);
  case Op::Shl:
    return y < 0 || y >= bits ? std::nullopt : std::optional(wrapped(x << static_cast<int>(y)));
  case Op::Shr:
    return y < 0 || y >= bits ? std::nullopt : std::optional(wrapped(x >> static_cast<int>(y)));
  case Op::Eq:
    return x == y;
  case Op::Ne:
    return x != y;
  case Op::Lt:
    return x < y;
  case Op::Le:
    return x <= y;
  case Op::Gt:
    return x > y;
  case Op::Ge:
    return x >= y;
  case Op::LogicalAnd:
    return x != 0 && y != 0;
  case Op::LogicalOr:
    return x != 0 || y != 0;
  }
  return std::nullopt;
}

std::optional<double> evaluateFloat(Op op, DType dtype, double a, double b) {
  // A double holds every narrower format and rounds innocuously for + - * / (2p + 2 bits suffice).
  switch (op) {
  case Op::Add:
    return roundFloat(dtype, a + b);
  case Op::Sub:
    return roundFloat(dtype, a - b);
  case Op::Mul:
    return roundFloat(dtype, a * b);
  case Op::Div:
    return roundFloat(dtype, a / b);
  case Op::Min:
    return std::fmin(a, b);
  case Op::Max:
    return std::fmax(a, b);
  default:
    return std::nullopt;
  }
}

std::int64_t floatToInteger(DType dtype, double value) {
  if (std::isnan(value))
    return 0;
  if (dtype.isBool())
    return value != 0;
  value = std::trunc(value);
  if (dtype.isUInt() && dtype.bits() == 64) {
    if (value <= 0)
      return 0;
    return value >= 18446744073709551616.0
               ? -1
               : static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  }
  if (value <= static_cast<double>(minInteger(dtype)))
    return minInteger(dtype);
  // maxInteger of 64 bits rounds up to 2^63 as a double, which is out of range itself.
  if (value >= static_cast<double>(maxInteger(dtype)))
    return maxInteger(dtype);
  return static_cast<std::int64_t>(value);
}

double evaluateMath(MathFn fn, std::span<const double> x) {
  double a = x[0];
  switch (fn) {
  case MathFn::Exp:
  case MathFn::FastExp:
    return std::exp(a);
  case MathFn::Exp2:
    return std::exp2(a);
  case MathFn::Exp10:
  case MathFn::FastExp10:
    return std::pow(10.0, a);
  case MathFn::Expm1:
    return std::expm1(a);
  case MathFn::Log:
  case MathFn::FastLog:
    return std::log(a);
  case MathFn::Log2:
  case MathFn::FastLog2:
    return std::log2(a);
  case MathFn::Log10:
  case MathFn::FastLog10:
    return std::log10(a);
  case MathFn::Log1p:
    return std::log1p(a);
  case MathFn::Sqrt:
    return std::sqrt(a);
  case MathFn::Rsqrt:
    return 1 / std::sqrt(a);
  case MathFn::Sin:
  case MathFn::FastSin:
    return std::sin(a);
  case MathFn::Cos:
  case MathFn::FastCos:
    return std::cos(a);
  case MathFn::Tan:
  case MathFn::FastTan:
    return std::tan(a);
  case MathFn::Asin:
    return std::asin(a);
  case MathFn::Acos:
    return std::acos(a);
  case MathFn::Atan:
    return std::atan(a);
  case MathFn::Sinh:
    return std::sinh(a);
  case MathFn::Cosh:
    return std::cosh(a);
  case MathFn::Tanh:
    return std::tanh(a);
  case MathFn::Asinh:
    return std::asinh(a);
  case MathFn::Acosh:
    return std::acosh(a);
  case MathFn::Atanh:
    return std::atanh(a);
  case MathFn::Erf:
    return std::erf(a);
  case MathFn::Sigmoid:
    return 1 / (1 + std::exp(-a));
  case MathFn::Abs:
    return std::fabs(a);
  case MathFn::Floor:
    return std::floor(a);
  case MathFn::Ceil:
    return std::ceil(a);
  case MathFn::Trunc:
    return std::trunc(a);
  case MathFn::RoundEven:
    return std::nearbyint(a);
  case MathFn::RoundAway:
    return std::round(a);
  case MathFn::IsNan:
    return std::isnan(a);
  case MathFn::IsInf:
    return std::isinf(a);
  case MathFn::IsFinite:
    return std::isfinite(a);
  case MathFn::FastRcp:
    return 1 / a;
  case MathFn::Pow:
    return std::pow(a, x[1]);
  case MathFn::Fmod:
    return std::fmod(a, x[1]);
  case MathFn::Atan2:
    return std::atan2(a, x[1]);
  case MathFn::Hypot:
    return std::hypot(a, x[1]);
  case MathFn::CopySign:
    return std::copysign(a, x[1]);
  case MathFn::NextAfter:
    return std::nextafter(a, x[1]); // callers handle narrower types
  case MathFn::Ldexp:
    return std::ldexp(a, static_cast<int>(x[1]));
  case MathFn::Fma:
    return std::fma(a, x[1], x[2]);
  case MathFn::Popcount:
  case MathFn::Clz:
  case MathFn::Ffs:
    break; // integers, see foldMath
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Expr foldUnary(Context &context, UnaryOp op, Expr a) {
  DType dtype = a.dtype();
  if (a.isInt()) {
    std::int64_t v = a->integer;
    std::int64_t result = op == UnaryOp::Neg
                              ? static_cast<std::int64_t>(-static_cast<std::uint64_t>(v))
                          : op == UnaryOp::Not ? !v
                                               : ~v;
    return context.integer(dtype, result);
  }
  if (a.isFloat() && op == UnaryOp::Neg)
    return context.real(dtype, -a->real);
  if (a.kind() == ExprKind::Unary && a->unaryOp() == op)
    return a->operands[0];
  // not (a < b) is b <= a, except on floats, where NaN makes both false.
  if (op == UnaryOp::Not && a.kind() == ExprKind::Binary && isComparison(a->binaryOp())) {
    bool isFloat = a->operands[0].dtype().isFloat();
    constexpr Op opposite[] = {Op::Ne, Op::Eq, Op::Ge, Op::Gt, Op::Le, Op::Lt};
    bool equality = a->binaryOp() == Op::Eq || a->binaryOp() == Op::Ne;
    if (equality || !isFloat)
      return context.binary(
          opposite[static_cast<unsigned>(a->binaryOp()) - static_cast<unsigned>(Op::Eq)],
          a->operands[0], a->operands[1]);
  }
  return {};
}

Expr foldBinary(Context &context, Op op, Expr a, Expr b) {
  DType dtype = a.dtype();
  if (op == Op::LogicalAnd || op == Op::LogicalOr)
    return foldLogic(op, a, b);
  if (a.isInt() && b.isInt()) {
    auto value = evaluateInteger(op, dtype, a->integer, b->integer);
    if (!value)
      return {};
    return isComparison(op) ? context.boolean(*value) : context.integer(dtype, *value);
  }
  if (a.isFloat() && b.isFloat()) {
    if (auto value = evaluateFloat(op, dtype, a->real, b->real))
      return context.real(dtype, *value);
    switch (op) {
    case Op::Eq:
      return context.boolean(a->real == b->real);
    case Op::Ne:
      return context.boolean(a->real != b->real);
    case Op::Lt:
      return context.boolean(a->real < b->real);
    case Op::Le:
      return context.boolean(a->real <= b->real);
    case Op::Gt:
      return context.boolean(a->real > b->real);
    case Op::Ge:
      return context.boolean(a->real >= b->real);
    default:
      return {};
    }
  }
  if (isComparison(op))
    return foldComparison(context, op, a, b);
  if (dtype.isVector())
    return {};
  if (dtype.isFloat()) {
    // x * 1, x / 1 and x - 0 are x for every x; x + 0 is not (-0 + 0 is 0).
    if ((op == Op::Mul || op == Op::Div) && b.isFloat() && b->real == 1)
      return a;
    if (op == Op::Mul && a.isFloat() && a->real == 1)
      return b;
    return {};
  }
  return foldIntegerIdentity(context, op, a, b);
}

Expr foldSelect(Context &context, Expr condition, Expr then, Expr otherwise) {
  if (condition.isTrue() || then == otherwise)
    return then;
  if (condition.isFalse())
    return otherwise;
  if (then.isTrue() && otherwise.isFalse())
    return condition;
  if (then.isFalse() && otherwise.isTrue())
    return context.unary(UnaryOp::Not, condition);
  return {};
}

Expr foldCast(Context &context, DType dtype, Expr a, bool saturate) {
  DType from = a.dtype();
  if (from == dtype)
    return a;
  if (a.isInt()) {
    if (!dtype.isFloat())
      return context.integer(dtype, dtype.isBool() ? a->integer != 0 : a->integer);
    return context.real(
        dtype, roundFloat(dtype, static_cast<double>(valueOf(from, a->integer)), saturate));
  }
  if (a.isFloat()) {
    if (dtype.isFloat())
      return context.real(dtype, roundFloat(dtype, a->real, saturate));
    return context.integer(dtype, floatToInteger(dtype, a->real));
  }
  // Widening and coming back: int32 -> int64 -> int32, float16 -> float32 -> float16; of integers,
  // whose conversions wrap, by way of the other sign, too.
  if (a.kind() == ExprKind::Cast && a->operands[0].dtype() == dtype) {
    DType middle = from;
    bool widened = dtype.isFloat()
                       ? middle.isFloat() && middle.mantissaBits() >= dtype.mantissaBits() &&
                             middle.exponentBits() >= dtype.exponentBits()
                       : middle.isInteger() && dtype.isInteger() && middle.bits() >= dtype.bits();
    if (widened && !dtype.isBool())
      return a->operands[0];
  }
  // A division does not need the wider type that only its dividend was brought to.
  if (a.kind() == ExprKind::Binary && dtype.isInt() && from.isInt() &&
      (a->binaryOp() == Op::FloorDiv || a->binaryOp() == Op::FloorMod)) {
    Expr dividend = a->operands[0];
    auto divisor = a->operands[1].constant();
    if (dividend.kind() == ExprKind::Cast && dividend->operands[0].dtype() == dtype && divisor &&
        *divisor > 0 && *divisor <= maxInteger(dtype))
      return context.binary(a->binaryOp(), dividend->operands[0], context.integer(dtype, *divisor));
  }
  return {};
}

Expr foldMath(Context &context, MathFn fn, std::span<const Expr> args) {
  DType dtype = args[0].dtype();
  if (args[0].isInt() && dtype.isInteger()) {
    std::uint64_t mask = dtype.bits() >= 64 ? ~0ull : (std::uint64_t{1} << dtype.bits()) - 1;
    std::uint64_t pattern = static_cast<std::uint64_t>(args[0]->integer) & mask;
    switch (fn) {
    case MathFn::Abs:
      return context.integer(dtype, args[0]->integer < 0 && dtype.isInt() ? -args[0]->integer
                                                                          : args[0]->integer);
    case MathFn::Popcount:
      return context.int32(std::popcount(pattern));
    case MathFn::Clz:
      return context.int32(std::countl_zero(pattern) - static_cast<int>(64 - dtype.bits()));
    case MathFn::Ffs:
      return context.int32(pattern ? std::countr_zero(pattern) + 1 : 0);
    default:
      return {};
    }
  }
  std::vector<double> values;
  for (Expr arg : args) {
    if (!arg.isConstant())
      return {};
    values.push_back(arg.isFloat() ? arg->real : static_cast<double>(arg->integer));
  }
  if (fn == MathFn::NextAfter && dtype.scalar != Scalar::Float64)
    return {}; // the neighbour depends on the type
  double result = evaluateMath(fn, values);
  if (fn == MathFn::IsNan || fn == MathFn::IsInf || fn == MathFn::IsFinite)
    return context.boolean(result != 0);
  return dtype.isFloat() ? context.real(dtype, roundFloat(dtype, result)) : Expr();
}

} // namespace tlc::ir
