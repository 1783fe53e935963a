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
/// `shape` is the tile's own size where the fragments cover more (guarded) coordinates. Rows may
/// come out rounded up.
SharedPlan deriveShared(const Layout &store, const Layout &load, Index elementBytes,
                        const SharedMemory &machine = {}, const Sizes &shape = {});

} // namespace tlc
