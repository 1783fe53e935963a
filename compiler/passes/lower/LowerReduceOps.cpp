// Operators of reductions and scans. See LowerReduceOps.h.
#include "passes/lower/LowerReduceOps.h"

#include "support/Check.h"

#include <limits>

namespace tlc::passes {

using namespace ir;

Folder::Folder(Context &context, ReduceOp op, bool nanPropagate, DType element)
    : context(context), op(op), nanPropagate(nanPropagate && element.isFloat()),
      type(element.isFloat() && element.bits() < 32 ? DType(Scalar::Float32) : element) {}

Expr Folder::neutral() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
  case ReduceOp::Sum:
  case ReduceOp::AbsSum:
  case ReduceOp::Or:
  case ReduceOp::Xor:
    return context.zero(type);
  case ReduceOp::AbsMax:
    return context.zero(type);
  case ReduceOp::Max:
    return type.isFloat() ? context.real(type, -infinity) : context.integer(type, minInteger(type));
  case ReduceOp::Min:
    return type.isFloat() ? context.real(type, infinity) : context.integer(type, maxInteger(type));
  case ReduceOp::And:
    return type.isBool() ? context.boolean(true) : context.integer(type, -1);
  }
  TLC_UNREACHABLE("no such reduction");
}

Expr Folder::prepare(Expr element) const {
  Expr x = context.cast(type, element);
  bool absolute = (op == ReduceOp::AbsSum || op == ReduceOp::AbsMax) && !type.isUInt();
  return absolute ? context.math(MathFn::Abs, {x}) : x;
}

Expr Folder::prepareOld(Expr value) const { return context.cast(type, value); }

Expr Folder::combine(Expr a, Expr b) const {
  auto extreme = [&](BinaryOp which) {
    Expr value = context.binary(which, a, b);
    if (!nanPropagate)
      return value;
    value = context.select(context.math(MathFn::IsNan, {b}), b, value);
    return context.select(context.math(MathFn::IsNan, {a}), a, value);
  };
  switch (op) {
  case ReduceOp::Sum:
  case ReduceOp::AbsSum:
    return a + b;
  case ReduceOp::Max:
  case ReduceOp::AbsMax:
    return extreme(BinaryOp::Max);
  case ReduceOp::Min:
    return extreme(BinaryOp::Min);
  case ReduceOp::And:
    return type.isBool() ? logicalAnd(a, b) : context.binary(BinaryOp::And, a, b);
  case ReduceOp::Or:
    return type.isBool() ? logicalOr(a, b) : context.binary(BinaryOp::Or, a, b);
  case ReduceOp::Xor:
    return type.isBool() ? context.binary(BinaryOp::Ne, a, b) : context.binary(BinaryOp::Xor, a, b);
  }
  TLC_UNREACHABLE("no such reduction");
}

Expr Folder::settled(Expr value) const {
  const bool passesOver = op == ReduceOp::Max || op == ReduceOp::AbsMax || op == ReduceOp::Min;
  return passesOver && type.isFloat() && !nanPropagate ? combine(value, neutral()) : value;
}

} // namespace tlc::passes
