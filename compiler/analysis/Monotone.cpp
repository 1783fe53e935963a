#include "analysis/Monotone.h"

#include "ir/Walk.h"

#include <algorithm>
#include <limits>

namespace tlc::analysis {

using namespace ir;

namespace {

using Known = std::optional<Direction>;

Known opposite(Known d) {
  return d ? Known(static_cast<Direction>(-static_cast<int>(*d))) : std::nullopt;
}

/// Of a sum, a minimum or a maximum.
Known together(Known a, Known b) {
  if (!a || !b || *a == *b)
    return a && b ? a : std::nullopt;
  if (*a == Direction::Constant)
    return b;
  return *b == Direction::Constant ? a : std::nullopt;
}

/// Of something multiplied with, or divided by, `factor`.
Known scaled(Known d, Expr factor, const Ranges &ranges) {
  if (d == Direction::Constant)
    return d;
  Interval values = ranges.interval(factor);
  return values.lo >= 0 ? d : values.hi <= 0 ? opposite(d) : std::nullopt;
}

class Differ {
public:
  Differ(Expr var, const Ranges &ranges) : var(var), ranges(ranges) {}

  Known visit(Expr e) const {
    if (e == var)
      return Direction::Grows;
    switch (e.kind()) {
    case ExprKind::Int:
      return Direction::Constant;
    case ExprKind::Var: {
      Expr value = ranges.definition(e);
      return value ? visit(value) : Known(Direction::Constant);
    }
    case ExprKind::Cast:
      return e.dtype().isInt() && e->operands[0].dtype().isInt() ? visit(e->operands[0])
                                                                 : unlessConstant(e);
    case ExprKind::Unary:
      return e->unaryOp() == UnaryOp::Neg ? opposite(visit(e->operands[0])) : unlessConstant(e);
    case ExprKind::Binary:
      return binary(e);
    default:
      return unlessConstant(e);
    }
  }

private:
  Known binary(Expr e) const {
    Expr left = e->operands[0], right = e->operands[1];
    Known a = visit(left), b = visit(right);
    switch (e->binaryOp()) {
    case BinaryOp::Add:
    case BinaryOp::Min:
    case BinaryOp::Max:
      return together(a, b);
    case BinaryOp::Sub:
      return together(a, opposite(b));
    case BinaryOp::Mul:
      if (b == Direction::Constant)
        return scaled(a, right, ranges);
      return a == Direction::Constant ? scaled(b, left, ranges) : std::nullopt;
    case BinaryOp::FloorDiv:
    case BinaryOp::TruncDiv:
      return b == Direction::Constant ? scaled(a, right, ranges) : std::nullopt;
    default:
      return unlessConstant(e);
    }
  }

  /// Of an operation that is not understood: its operands may still not depend on the variable.
  Known unlessConstant(Expr e) const {
    for (Expr operand : e->operands)
      if (visit(operand) != Direction::Constant)
        return std::nullopt;
    return Direction::Constant;
  }

  Expr var;
  const Ranges &ranges;
};

/// Adds a multiple of `e` to a sum whose terms are distinct.
void addTo(Linear &sum, Expr e, std::int64_t factor) {
  const Linear parts = linear(e);
  sum.constant += factor * parts.constant;
  for (const auto &[part, times] : parts.terms) {
    const Expr within = part.kind() == ExprKind::Cast ? part->operands[0] : Expr();
    if (within && part.dtype().isInt() && within.dtype().isInt() &&
        within.dtype().bits() <= part.dtype().bits()) {
      addTo(sum, within, factor * times);
      continue;
    }
    auto known = std::find_if(sum.terms.begin(), sum.terms.end(),
                              [&](const auto &term) { return term.first == part; });
    if (known != sum.terms.end())
      known->second += factor * times;
    else
      sum.terms.emplace_back(part, factor * times);
  }
}

} // namespace

std::optional<Direction> directionOf(Expr e, Expr var, const Ranges &ranges) {
  return Differ(var, ranges).visit(e);
}

std::optional<Linear> notNegativeWhere(Expr comparison) {
  if (comparison.kind() != ExprKind::Binary)
    return std::nullopt;
  Expr a = comparison->operands[0], b = comparison->operands[1];
  if (!a.dtype().isInt() || a.dtype().lanes != 1)
    return std::nullopt;
  const BinaryOp op = comparison->binaryOp();
  if (op != BinaryOp::Ge && op != BinaryOp::Gt && op != BinaryOp::Le && op != BinaryOp::Lt)
    return std::nullopt;
  Linear sum;
  const bool greater = op == BinaryOp::Ge || op == BinaryOp::Gt;
  addTo(sum, a, greater ? 1 : -1);
  addTo(sum, b, greater ? -1 : 1);
  std::erase_if(sum.terms, [](const auto &term) { return term.second == 0; });
  std::sort(sum.terms.begin(), sum.terms.end(),
            [](const auto &x, const auto &y) { return x.first->id < y.first->id; });
  sum.constant -= op == BinaryOp::Gt || op == BinaryOp::Lt;
  return sum;
}

bool fitsInt32(const Linear &sum, const Ranges &ranges) {
  // What is positive and what is negative alone: whatever the order, no part goes beyond.
  Interval all = hull(Interval::point(0), Interval::point(sum.constant));
  for (const auto &[term, factor] : sum.terms)
    all = all + hull(Interval::point(0), ranges.interval(term) * Interval::point(factor));
  using Limits = std::numeric_limits<std::int32_t>;
  return all.within({Limits::min(), Limits::max()});
}

Expr exactSum(Context &context, Linear sum, const Ranges &ranges) {
  const DType dtype(fitsInt32(sum, ranges) ? Scalar::Int32 : Scalar::Int64);
  for (auto &[term, factor] : sum.terms)
    term = context.cast(dtype, term);
  return fromLinear(context, dtype, sum);
}

} // namespace tlc::analysis
