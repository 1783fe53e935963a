// How an integer expression changes as one of its variables grows, and what it is where a
// comparison holds.
#pragma once

#include "analysis/Ranges.h"

#include <optional>

namespace tlc::analysis {

enum class Direction : std::int8_t { Shrinks = -1, Constant = 0, Grows = 1 };

/// Whether `e` never shrinks, never grows or does not change at all as `var` grows, everything else
/// being equal; nothing if that is not known. Lets that `ranges` has seen are looked through.
/// Values are taken as unbounded integers.
std::optional<Direction> directionOf(ir::Expr e, ir::Expr var, const Ranges &ranges);

/// The sum that is not negative exactly where a comparison of integers holds; nothing: no such
/// form. Casts to wider integers are looked through. Values are taken as unbounded integers.
std::optional<ir::Linear> notNegativeWhere(ir::Expr comparison);

/// Whether `sum` fits 32 bits on the way and at its end, whatever its terms are.
bool fitsInt32(const ir::Linear &sum, const Ranges &ranges);

/// `sum` in int32 if it is known to fit, or else in int64, where sums of a few multiples of int32
/// do not wrap.
ir::Expr exactSum(ir::Context &context, ir::Linear sum, const Ranges &ranges);

} // namespace tlc::analysis
