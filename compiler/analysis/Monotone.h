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

/// The sum that is not negative exactly where a comparison of integers holds, of the type of what
/// is compared; null: no such form. Values are taken as unbounded integers.
ir::Expr notNegativeWhere(ir::Expr comparison);

} // namespace tlc::analysis
