// How wide the accesses of a map's body may be: consecutive registers of the schedule that are
// consecutive in memory.
#pragma once

#include "ir/Stmt.h"
#include "layout/Layout.h"
#include "passes/infer/LayoutExpr.h"

#include <functional>
#include <vector>

namespace tlc::passes {

/// Whether `e` is a multiple of `d` for all values of its variables.
using Divides = std::function<bool(ir::Expr e, Index d)>;

/// What the questions below are asked about.
struct MapShape {
  std::vector<ir::Expr> vars;
  std::vector<Index> extents;
  const Layout *schedule; ///< (reg, thread) -> d0, d1 …
  Divides divides;
};

/// Largest power of two w <= limit such that registers w*k … w*k + w - 1 of the schedule address w
/// consecutive elements of `element`'s buffer, aligned to w elements. `indices` are logical. 1 if
/// nothing is known. `anyRows`: all indices but the last may be any functions of the variables.
Index accessWidth(const ir::Element &element, const MapShape &shape, Index limit,
                  bool anyRows = false);

/// Whether `condition` is the same for all registers of each aligned group of w (the group runs
/// along one map variable).
bool uniformInGroup(ir::Expr condition, const MapShape &shape, Index w);

/// Elements in the widest access of a thread (16 bytes), at least 1.
Index widestAccess(DType dtype, Index maxBytes = 16);

} // namespace tlc::passes
