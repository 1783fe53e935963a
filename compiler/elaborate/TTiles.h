// Fitting the tiles of one operation together.
#pragma once

#include "elaborate/TCall.h"

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

} // namespace tlc::elaborate
