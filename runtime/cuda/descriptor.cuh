// What tells a warpgroup's product where its operand lies (sm_90a). Also for the emulator, which
// decodes it.
#pragma once

#include "async.cuh"

namespace tlc {

//@ wgmma_descriptor
// Describes an operand in shared memory, which begins at a repeat of its swizzle (PTX manual,
// "Matrix descriptor format"). Rows of `swizzle` bytes (0: 16) hold neighbours along the contiguous
// dimension, 8 of them form an atom.
//   contiguous along k: stride_bytes from 8 rows of m/n to the next 8; leading_bytes from 8 units
//   of k to the next without a swizzle, else not used. A step of 32 bytes along k adds 32 >> 4.
//   contiguous along m/n: leading_bytes from one row's worth of m/n to the next, stride_bytes from
//   8 k to the next 8 (the other way round without a swizzle).
TLC_DEVICE uint64_t wgmma_descriptor(const void *tile, int leading_bytes, int stride_bytes,
                                     int swizzle) {
  const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return uint64_t((shared_address(tile) & 0x3ffff) >> 4) |
         uint64_t((leading_bytes >> 4) & 0x3fff) << 16 |
         uint64_t((stride_bytes >> 4) & 0x3fff) << 32 | mode << 62;
}

//@ end
} // namespace tlc
