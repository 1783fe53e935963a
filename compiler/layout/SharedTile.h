// Memory layouts for tiles in shared memory, derived from who writes and who reads them.
#pragma once

#include "layout/Analysis.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

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

/// deriveShared for several kinds of vectors: memories are made and judged once for all of them.
class SharedSearch {
public:
  SharedSearch(const Layout &store, const Layout &load, Index elementBytes,
               const SharedMemory &machine, const Sizes &shape);
  SharedSearch(const SharedSearch &) = delete;
  SharedSearch &operator=(const SharedSearch &) = delete;

  SharedPlan find(Vectors vectors);

private:
  struct Access {
    Layout offsets;
    mutable std::map<Index, AccessCost> costs; ///< by vector
  };
  struct Candidate {
    Layout memory;
    Access writes, reads;
  };

  void addXors();
  void addSwizzledRows();
  const Candidate *candidate(std::size_t maker);
  std::pair<AccessCost, Index> cheapest(const Access &access, Vectors vectors) const;

  std::array<Layout, 2> fragments; ///< that store, that load
  Index elementBytes;
  SharedMemory machine;
  Sizes tile, cover; ///< the tile, and with what fragments reach beyond it
  Index limit;       ///< of a vector, in elements
  /// In the order in which they are tried; from `plain` on only if all before have conflicts.
  std::vector<std::function<std::optional<Layout>()>> makers;
  std::size_t plain = 0;
  std::vector<std::unique_ptr<Candidate>> made; ///< by maker
  std::vector<Layout> memories;                 ///< of those made
};

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
