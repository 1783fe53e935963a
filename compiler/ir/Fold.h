// Identities applied when an expression is made. Each function returns null where nothing applies.
#pragma once

#include "ir/Expr.h"

namespace tlc::ir {

Expr foldUnary(Context &context, UnaryOp op, Expr a);
Expr foldBinary(Context &context, BinaryOp op, Expr a, Expr b);
Expr foldSelect(Context &context, Expr condition, Expr then, Expr otherwise);
Expr foldCast(Context &context, DType dtype, Expr a, bool saturate);
Expr foldMath(Context &context, MathFn fn, std::span<const Expr> args);

/// The value of an operation on two integer constants of `dtype`, wrapped; none for a division by
/// zero, a negative shift or one by the width or more. Comparisons give 0 or 1.
std::optional<std::int64_t> evaluateInteger(BinaryOp op, DType dtype, std::int64_t a,
                                            std::int64_t b);
/// The same on floats, rounded to `dtype`; comparisons and logic are not handled.
std::optional<double> evaluateFloat(BinaryOp op, DType dtype, double a, double b);
/// A float as an integer type: truncates, saturates, NaN gives 0.
std::int64_t floatToInteger(DType dtype, double value);
/// A math function of doubles, before rounding to the result's type.
double evaluateMath(MathFn fn, std::span<const double> args);

} // namespace tlc::ir
