// Layouts as expressions of the IR, and expressions of the IR as layouts.
#pragma once

#include "ir/Buffer.h"
#include "layout/Shape.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlc::passes {

/// The outputs (inputs) renamed to d0, d1 … in their order.
Layout withDimOutputs(Layout l);
Layout withDimInputs(Layout l);
/// Keeps only the outputs `dims`, renamed d0, d1 … in that order.
Layout selectOutputs(const Layout &l, std::span<const unsigned> dims);

/// The value of one output at `inputs` (one non-negative int32 expression per input axis, in
/// order).
ir::Expr layoutExpr(const Layout &l, const OutputAxis &output, std::span<const ir::Expr> inputs);
/// All outputs.
std::vector<ir::Expr> layoutExprs(const Layout &l, std::span<const ir::Expr> inputs);
/// The only output of a memory or of an access.
ir::Expr offsetExpr(const Layout &memory, std::span<const ir::Expr> inputs);

/// Element indices as a function of the variables of a box: (d0, d1 … of the box) -> (d0, d1 … of
/// the buffer), plus what does not depend on the box's variables. Constants are in `outer`, so the
/// layout maps 0 to 0.
struct IndexMap {
  Layout layout;
  std::vector<ir::Expr> outer; ///< per buffer dim, int32 or int64; never null

  /// Constant parts, if all are constant.
  std::optional<std::vector<Index>> constants() const;
};
/// None if some index is no such function (a product of variables, a table look-up …).
std::optional<IndexMap> indexMap(std::span<const ir::Expr> vars, std::span<const Index> extents,
                                 std::span<const ir::Expr> indices);
/// The map of a region: tile coordinates to buffer coordinates, its offsets in `outer`.
IndexMap regionMap(const ir::Region &region, std::span<const Index> tile);

/// map.layout after `schedule`, continued where the schedule covers more than the box.
std::optional<Layout> composeExtended(const Layout &map, const Layout &schedule);

/// Integer value of an expression with numbers for variables; none if it has others or divides by
/// 0.
std::optional<Index> evaluate(ir::Expr e, std::span<const ir::Expr> vars,
                              std::span<const Index> values);

} // namespace tlc::passes
