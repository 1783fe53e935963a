// Fitting the tiles of one operation together.
#pragma once

#include "elaborate/tile/TCall.h"

namespace tlc::elaborate {

/// Gives a corner the extents of the other side, right-aligned; dims of extent 1 that only one side
/// has are dropped. Afterwards tile ranks agree and extents are equal, or 1 on the source where
/// `broadcast`. False after a report.
bool matchTiles(Elaborator &, std::string_view op, Tile &source, Tile &target, bool broadcast,
                SourceRange range);
/// Drops leading dims of extent 1 until the tile has `rank` dims; false if it has not.
bool dropTo(ir::Region &, unsigned rank);
/// Extents as numbers; nullopt after a report that they must be constant.
std::optional<std::vector<std::int64_t>> constantExtents(Elaborator &, std::string_view op,
                                                         const Tile &);
std::string extentsText(const ir::Region &);
/// The element of a region at tile coordinates `index`; dims of extent 1 stay where they are.
ir::Element elementAt(const ir::Region &, const std::vector<ir::Expr> &index);
/// A map over a box whose body is made by `body`.
void elementMap(Elaborator &, const std::vector<ir::Expr> &extents,
                const std::function<void(const std::vector<ir::Expr> &)> &body);

/// One step of a reduction on values of one type.
ir::Expr combineValues(ir::Context &, ir::ReduceOp, ir::Expr accumulator, ir::Expr x);
void addThreadReductions(Handlers &);

} // namespace tlc::elaborate
