// Barriers of whole grids.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/barrier.h stands for it
#include "base.cuh"

#include <cooperative_groups.h>

namespace tlc {

//@ grid_sync
// Waits for all threads of a cooperative launch.
TLC_DEVICE void grid_sync() { cooperative_groups::this_grid().sync(); }

//@ end
} // namespace tlc
#endif
