#include "analysis/Monotone.h"

#include "ir/Walk.h"

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

} // namespace

std::optional<Direction> directionOf(Expr e, Expr var, const Ranges &ranges) {
  return Differ(var, ranges).visit(e);
}

Expr notNegativeWhere(Expr comparison) {
  if (comparison.kind() != ExprKind::Binary)
    return {};
  Expr a = comparison->operands[0], b = comparison->operands[1];
  if (!a.dtype().isInt() || a.dtype().lanes != 1)
    return {};
  switch (comparison->binaryOp()) {
  case BinaryOp::Ge:
    return a - b;
  case BinaryOp::Gt:
    return a - b - 1;
  case BinaryOp::Le:
    return b - a;
  case BinaryOp::Lt:
    return b - a - 1;
  default:
    return {};
  }
}

} // namespace tlc::analysis
