// Ranges: divisibility, and expressions as polynomials.
#include "analysis/Ranges.h"

#include <algorithm>
#include <numeric>

namespace tlc::analysis {

using namespace ir;

namespace {

constexpr std::size_t maxTerms = 24;

/// A constant divisor > 0: of // and %, of >> and of & with a mask.
std::optional<std::int64_t> divisorOf(Expr e) {
  auto c = e->operands[1].constant();
  if (!c)
    return std::nullopt;
  switch (e->binaryOp()) {
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod:
  case BinaryOp::TruncDiv:
  case BinaryOp::TruncMod:
    return *c > 0 ? c : std::nullopt;
  case BinaryOp::Shr:
    return *c >= 0 && *c < 62 ? std::optional(std::int64_t{1} << *c) : std::nullopt;
  case BinaryOp::And:
    return *c > 0 && *c < (std::int64_t{1} << 62) && ((*c + 1) & *c) == 0 ? std::optional(*c + 1)
                                                                          : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace

/// Whether the operation's exact result lies in the dtype: always for signed ones.
bool Ranges::exact(Expr e) const {
  if (!e.dtype().isUInt())
    return true;
  Interval limits{0, maxInteger(e.dtype())};
  Interval a = interval(e->operands[0]);
  Interval b = e->operands.size() > 1 ? interval(e->operands[1]) : Interval{};
  Interval result;
  switch (e.kind() == ExprKind::Binary ? e->binaryOp() : BinaryOp::Div) {
  case BinaryOp::Add:
    result = a + b;
    break;
  case BinaryOp::Sub:
    result = a - b;
    break;
  case BinaryOp::Mul:
    result = a * b;
    break;
  case BinaryOp::Shl:
    result = b.isPoint() && b.lo >= 0 && b.lo < 62 ? a * Interval::point(std::int64_t{1} << b.lo)
                                                   : Interval{};
    break;
  default:
    return e.kind() == ExprKind::Binary;
  }
  return result.bounded() && result.within(limits);
}

const Poly &Ranges::poly(Expr e) const {
  static const Poly invalid = Poly::invalid();
  if (e.dtype().isFloat() || e.dtype().isVector())
    return invalid;
  if (const Poly *known = polyMemo.find(e.get(), values))
    return *known;
  Poly result = computePoly(e);
  if (result.valid && result.terms.size() > maxTerms)
    result = Poly::atom(e);
  return polyMemo.set(e.get(), values, std::move(result));
}

Poly Ranges::computePoly(Expr e) const {
  switch (e.kind()) {
  case ExprKind::Int:
    return e.dtype().isUInt() && e->integer < 0 ? Poly::atom(e) : Poly(e->integer);
  case ExprKind::Var:
    if (Expr value = definition(e))
      return e.dtype().isBool() ? Poly::atom(e) : poly(value);
    if (auto split = splits.find(e.get()); split != splits.end()) {
      Context &context = e.context();
      Expr wide = context.cast(DType(Scalar::Int64), e);
      Expr quotient = floorDiv(wide, split->second.modulus);
      return Poly::atom(quotient) * Poly(split->second.modulus) + split->second.remainder;
    }
    return Poly::atom(e);
  case ExprKind::Unary:
    if (e->unaryOp() == UnaryOp::Neg && e.dtype().isInt())
      return Poly(0) - poly(e->operands[0]);
    return Poly::atom(e);
  case ExprKind::Binary:
    return binaryPoly(e);
  case ExprKind::Cast: {
    Expr from = e->operands[0];
    if (from.dtype().isFloat() || from.dtype().isBool() || e.dtype().isBool())
      return Poly::atom(e);
    bool widens =
        from.dtype().isInt() && e.dtype().isInt() && from.dtype().bits() <= e.dtype().bits();
    Interval limits{minInteger(e.dtype()), maxInteger(e.dtype())};
    Interval values = interval(from);
    if (widens || (values.within(limits) && values.hi != Interval::infinity))
      return poly(from);
    return Poly::atom(e);
  }
  default:
    return Poly::atom(e);
  }
}

Poly Ranges::binaryPoly(Expr e) const {
  if (e.dtype().isBool() || !exact(e))
    return Poly::atom(e);
  Expr x = e->operands[0], y = e->operands[1];
  switch (e->binaryOp()) {
  case BinaryOp::Add:
    return poly(x) + poly(y);
  case BinaryOp::Sub:
    return poly(x) - poly(y);
  case BinaryOp::Mul: {
    const Poly &a = poly(x), &b = poly(y);
    return a.terms.size() * b.terms.size() <= maxTerms ? a * b : Poly::atom(e);
  }
  case BinaryOp::Shl:
    if (auto c = y.constant(); c && *c >= 0 && *c < 62)
      return poly(x) * Poly(std::int64_t{1} << *c);
    return Poly::atom(e);
  case BinaryOp::TruncDiv:
  case BinaryOp::TruncMod:
    if (interval(x).lo < 0)
      return Poly::atom(e);
    [[fallthrough]];
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod:
  case BinaryOp::Shr:
  case BinaryOp::And: {
    bool quotient = e->binaryOp() == BinaryOp::FloorDiv || e->binaryOp() == BinaryOp::TruncDiv ||
                    e->binaryOp() == BinaryOp::Shr;
    const Poly &dividend = poly(x);
    if (auto d = divisorOf(e)) {
      Poly q = quotientPoly(e, dividend, *d);
      return quotient ? q : dividend - q * Poly(*d);
    }
    if (e->binaryOp() != BinaryOp::FloorMod)
      return Poly::atom(e);
    return dividend - Poly::atom(floorDiv(x, y)) * poly(y);
  }
  case BinaryOp::Min:
  case BinaryOp::Max: {
    Interval a = interval(x), b = interval(y);
    bool isMin = e->binaryOp() == BinaryOp::Min;
    if (a.hi <= b.lo)
      return poly(isMin ? x : y);
    if (b.hi <= a.lo)
      return poly(isMin ? y : x);
    return Poly::atom(e);
  }
  default:
    return Poly::atom(e);
  }
}

/// floor(dividend / divisor): what is divisible leaves the division, and the rest may be decided by
/// its interval.
Poly Ranges::quotientPoly(Expr e, const Poly &dividend, std::int64_t divisor) const {
  if (!dividend.valid)
    return Poly::atom(e);
  Poly whole = floorDiv(dividend.constant, divisor);
  Poly rest = floorMod(dividend.constant, divisor);
  for (const auto &[monomial, coefficient] : dividend.terms) {
    if (coefficient / divisor != 0)
      whole.terms.emplace_back(monomial, coefficient / divisor);
    if (coefficient % divisor != 0)
      rest.terms.emplace_back(monomial, coefficient % divisor);
  }
  Interval values = interval(rest);
  if (values.bounded() && floorDiv(values.lo, divisor) == floorDiv(values.hi, divisor))
    return whole + floorDiv(values.lo, divisor);
  // (g x + c) // (g d) == (x + c // g) // d
  std::int64_t g = std::gcd(rest.content(), divisor);
  if (g > 1) {
    std::int64_t constant = floorDiv(rest.constant, g);
    rest = rest.dividedTerms(g) + constant;
    divisor /= g;
  }
  if (divisor == 1)
    return whole + rest;
  DType wide(Scalar::Int64);
  Expr inner = toExpr(e.context(), wide, rest);
  return whole + Poly::atom(floorDiv(inner, divisor));
}

Interval Ranges::interval(const Poly &p) const {
  if (!p.valid)
    return {};
  Interval sum = Interval::point(p.constant);
  for (const auto &[monomial, coefficient] : p.terms) {
    Interval product = Interval::point(coefficient);
    for (Expr atom : monomial)
      product = product * interval(atom);
    sum = sum + product;
  }
  return sum;
}

/// Whether intervals alone say that p >= 0: interval(p).lo >= 0, but done with the first term that
/// has no bound.
bool Ranges::boundedBelow(const Poly &p) const {
  if (!p.valid)
    return false;
  Interval sum = Interval::point(p.constant);
  for (const auto &[monomial, coefficient] : p.terms) {
    Interval product = Interval::point(coefficient);
    for (Expr atom : monomial)
      product = product * interval(atom);
    if (product.lo == Interval::minusInfinity)
      return false;
    sum = sum + Interval::point(product.lo);
  }
  return sum.lo >= 0;
}

Congruence Ranges::congruence(const Poly &p) const {
  if (!p.valid)
    return {};
  Congruence sum = Congruence::constant(p.constant);
  for (const auto &[monomial, coefficient] : p.terms) {
    Congruence product = Congruence::constant(coefficient);
    for (Expr atom : monomial)
      product = product * congruence(atom);
    sum = sum + product;
  }
  return sum;
}

Congruence Ranges::congruence(Expr e) const {
  if (e.dtype().isFloat() || e.dtype().isVector())
    return {};
  if (const Congruence *known = congruenceMemo.find(e.get(), values))
    return *known;
  Congruence result = computeCongruence(e);
  if (auto known = congruences.find(e.get()); known != congruences.end())
    result = meet(result, known->second);
  return congruenceMemo.set(e.get(), values, result);
}

Congruence Ranges::computeCongruence(Expr e) const {
  // A result that may have wrapped keeps only the powers of two of its modulus.
  auto wrapped = [&](Congruence c) {
    std::int64_t bits = e.dtype().bits() >= 62 ? 62 : e.dtype().bits();
    return c + Congruence{std::int64_t{1} << bits, 0};
  };
  if (auto value = e.constant())
    return Congruence::constant(*value);
  if (e.isVar())
    return definition(e) ? congruence(definition(e)) : Congruence{};
  if (e.kind() == ExprKind::Select)
    return join(congruence(e->operands[1]), congruence(e->operands[2]));
  if (e.kind() == ExprKind::Unary && e->unaryOp() == UnaryOp::Neg)
    return wrapped(Congruence::constant(0) - congruence(e->operands[0]));
  if (e.kind() == ExprKind::Cast && !e->operands[0].dtype().isFloat() && !e.dtype().isBool()) {
    Congruence c = congruence(e->operands[0]);
    Interval limits{minInteger(e.dtype()), maxInteger(e.dtype())};
    return interval(e->operands[0]).within(limits) ? c : wrapped(c);
  }
  if (e.kind() != ExprKind::Binary || e.dtype().isBool())
    return {};
  Congruence a = congruence(e->operands[0]), b = congruence(e->operands[1]);
  bool isExact = exact(e);
  switch (e->binaryOp()) {
  case BinaryOp::Add:
    return isExact ? a + b : wrapped(a + b);
  case BinaryOp::Sub:
    return isExact ? a - b : wrapped(a - b);
  case BinaryOp::Mul:
    return isExact ? a * b : wrapped(a * b);
  case BinaryOp::Shl:
    if (auto c = e->operands[1].constant(); c && *c >= 0 && *c < 62)
      return wrapped(a * Congruence::constant(std::int64_t{1} << *c));
    return {};
  case BinaryOp::Min:
  case BinaryOp::Max:
    return join(a, b);
  case BinaryOp::Or:
  case BinaryOp::Xor: {
    std::int64_t power = 1;
    while (power < (std::int64_t{1} << 40) && a.divisibleBy(power * 2) && b.divisibleBy(power * 2))
      power *= 2;
    return {power, 0};
  }
  default:
    break;
  }
  auto d = divisorOf(e);
  if (!d)
    return {};
  bool truncates = e->binaryOp() == BinaryOp::TruncDiv || e->binaryOp() == BinaryOp::TruncMod;
  if (truncates && interval(e->operands[0]).lo < 0 && !a.divisibleBy(*d))
    return {};
  bool isMod = e->binaryOp() == BinaryOp::FloorMod || e->binaryOp() == BinaryOp::TruncMod ||
               e->binaryOp() == BinaryOp::And;
  if (isMod) {
    if (a.modulus % *d == 0)
      return Congruence::constant(floorMod(a.remainder, *d));
    std::int64_t g = std::gcd(a.modulus, *d);
    return {g, floorMod(a.remainder, g)};
  }
  if (a.modulus % *d != 0)
    return {};
  if (a.modulus == 0)
    return Congruence::constant(floorDiv(a.remainder, *d));
  std::int64_t modulus = a.modulus / *d;
  return {modulus, floorMod(floorDiv(a.remainder, *d), modulus)};
}

std::int64_t Ranges::alignment(Expr e, std::int64_t limit) const {
  Congruence direct = congruence(e), other = congruence(poly(e));
  std::int64_t power = 1;
  while (power < limit && (direct.divisibleBy(power * 2) || other.divisibleBy(power * 2)))
    power *= 2;
  return power;
}

} // namespace tlc::analysis
