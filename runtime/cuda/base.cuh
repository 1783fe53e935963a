// Qualifiers, the shared arena, and the location that the emulator hands to its reports.
#pragma once

#include "../portable/base.h"

#include <cuda_runtime.h>

//@ TLC_DEVICE
#define TLC_DEVICE [[maybe_unused]] __device__ __forceinline__

//@ TLC_AT TLC_HERE
// Where a collective was called: a defaulted parameter under the emulator, nothing on a device.
#ifndef TLC_AT
#define TLC_AT
#define TLC_HERE
#endif

//@ TLC_DYNAMIC_SHARED
// The dynamic shared memory of the launch: all shared buffers of a kernel lie in it.
#define TLC_DYNAMIC_SHARED(type, name, alignment)                                                  \
  extern __shared__ __align__(alignment) unsigned char tlc_arena[];                                \
  type *const name = reinterpret_cast<type *>(tlc_arena)

namespace tlc {

//@ raster_rows raster_columns
// Renumbers the blocks of a grid so that neighbours in time form panels of `Panel` rows (columns):
// {x, y} of this block.
template <int Panel> TLC_DEVICE int2 raster_rows() {
  const int columns = int(gridDim.x), rows = int(gridDim.y);
  const int block = int(blockIdx.x) + columns * int(blockIdx.y);
  const int first = block / (Panel * columns) * Panel, inside = block % (Panel * columns);
  const int height = rows - first < Panel ? rows - first : Panel;
  return {inside / height, first + inside % height};
}
template <int Panel> TLC_DEVICE int2 raster_columns() {
  const int columns = int(gridDim.x), rows = int(gridDim.y);
  const int block = int(blockIdx.x) + columns * int(blockIdx.y);
  const int first = block / (Panel * rows) * Panel, inside = block % (Panel * rows);
  const int width = columns - first < Panel ? columns - first : Panel;
  return {first + inside % width, inside / width};
}

//@ end
} // namespace tlc
