// Scalar expressions with run-time operands: conversions and operators, typed by RuntimeTypes.h.
#pragma once

#include "elaborate/runtime/RuntimeState.h"
#include "elaborate/runtime/RuntimeTypes.h"

namespace tlc::elaborate {

/// A number of compile time, or a run-time scalar: what operators take.
bool isScalar(const Value &value);
/// `x` converted to `dtype` by value; a scalar becomes a broadcast where `dtype` is a vector.
ir::Expr convert(Elaborator &, ir::Expr x, DType dtype);
/// Both operands as expressions of their common type; false after a report. `spelling` is the
/// operator for the message.
bool unify(Elaborator &, OperatorClass op, std::string_view spelling, const Value &a,
           const Value &b, SourceRange aRange, SourceRange bRange, SourceRange range, ir::Expr &x,
           ir::Expr &y);
/// As a bool: `x != 0`.
ir::Expr toCondition(Elaborator &, ir::Expr value);
/// One bool: vectors are refused.
ir::Expr toCondition(Elaborator &, const Value &, SourceRange range);
/// A compile-time number as an element of `dtype`; null after a report that it does not fit.
ir::Expr literal(Elaborator &, const Value &, DType dtype, SourceRange range);
/// An index, extent or count: int32 or int64. Null after a report that names `what`.
ir::Expr toIndex(Elaborator &, const Value &, SourceRange range, std::string_view what);
/// Two integers of one type, int64 if one of them is.
void unifyIndices(Elaborator &, ir::Expr &a, ir::Expr &b);
/// condition ? a : b of two values already evaluated.
Value selectValue(Elaborator &, ir::Expr condition, const Value &a, const Value &b,
                  SourceRange aRange, SourceRange bRange, SourceRange range);

/// The ternary: `a` and `b` are evaluated under their conditions. `word` names it for refusals.
Value lazySelect(Elaborator &, const Value &condition, SourceRange conditionRange,
                 const std::function<Value()> &a, const std::function<Value()> &b,
                 SourceRange aRange, SourceRange bRange, SourceRange range,
                 const std::string &word);

enum class MinMax : std::uint8_t { Min, Max };
Value minMax(Elaborator &, MinMax which, const Value &a, const Value &b, SourceRange aRange,
             SourceRange bRange, SourceRange range);
/// |x|; of a compile-time number as well.
Value absolute(Elaborator &, const Value &x, SourceRange range);
/// A function of the mathematical library; ints are computed in float32.
Value mathCall(Elaborator &, ir::MathFn fn, const std::vector<CallArg> &args, SourceRange range);
/// x ** y
Value power(Elaborator &, const Value &x, const Value &y, SourceRange xRange, SourceRange yRange,
            SourceRange range);

} // namespace tlc::elaborate
