// Memory layouts for tiles in shared memory, derived from who writes and who reads them.
#pragma once

#include "layout/Analysis.h"

namespace tlc {

/// A shared-memory layout for a tile that `store` writes and `load` reads, conflict-free where
/// possible.
struct SharedPlan {
  Layout memory;
  Index storeVector = 1, loadVector = 1;
  AccessCost store, load;
};
/// Which registers an access may put together: any that lie side by side, or only runs r, r + 1 …
enum class Vectors : std::uint8_t { AnyOrder, InOrder };
/// `shape` is the tile's own size where the fragments cover more (guarded) coordinates. Rows may
/// come out rounded up.
SharedPlan deriveShared(const Layout &store, const Layout &load, Index elementBytes,
                        const SharedMemory &machine = {}, const Sizes &shape = {},
                        Vectors vectors = Vectors::AnyOrder);

/// The form of tiles that warpgroup products and tensor copies address by descriptor: rows x panels
/// along the last axis. A panel is all rows times `swizzleBytes` bytes (0: 16 bytes), row-major,
/// its 16-byte units exchanged by the row (128 bytes: unit ^= row % 8, 64: unit ^= row / 2 % 4, 32:
/// unit ^= row / 4 % 2, 0: as they are). Panels follow each other; leading axes are outermost.
/// Throws LayoutError if the last axis is no whole number of panels, or if rows that are swizzled
/// are no multiple of 8.
Layout swizzledPanels(const Sizes &shape, unsigned elementBits, Index swizzleBytes);
/// The swizzle of such a layout; none if it is another one.
std::optional<Index> panelSwizzle(const Layout &memory, const Sizes &shape, unsigned elementBits);
/// The widest swizzle that a tile of this shape can have; none if it cannot even lie in panels of
/// 16 bytes.
std::optional<Index> widestPanels(const Sizes &shape, unsigned elementBits);

} // namespace tlc
