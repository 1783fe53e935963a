// Reductions and scans as one thread does them: loops over the lines of a tile along one axis.
#pragma once

#include "ir/Builder.h"

#include <functional>
#include <vector>

namespace tlc::passes {

/// The element of a region at coordinates of its tile.
ir::Element elementAt(const ir::Region &region, const std::vector<ir::Expr> &tile);

/// Loops over all axes of a box but one. `line` gets the coordinates; that of `axis` is still to be
/// set.
void forEachLine(ir::Builder &builder, const std::vector<std::int64_t> &box, std::size_t axis,
                 const std::function<void(std::vector<ir::Expr> &point)> &line);

} // namespace tlc::passes
