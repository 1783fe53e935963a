// Products of a warpgroup (sm_90a). The products themselves, wgmma_m64nNkK_a_b_c_ss (A and B in
// shared memory) and ..._rs (A in registers), are written by the compiler for the shapes that a
// kernel uses.
//
// What keeps ptxas (CUDA 13.0) from serialising products, of which it tells in C7510, C7514, C7519:
// - Sums are touched behind the wait that completes them and a wgmma_pin.
// - Halves that are packed from sums are pinned as well if a branch follows: ptxas moves
//   conversions behind it, and finds the sums read among products.
// - No branch stands between the products of a round and their wait. A first round that has fewer
//   of them stands apart from the loop.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/wgmma.h stands for it
#include "async.cuh"

namespace tlc {

//@ wgmma_fence
// Orders accesses to the registers of products (accumulators, A) before those that follow.
TLC_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

//@ wgmma_commit
// Closes a group of this warpgroup's products.
TLC_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

//@ wgmma_wait
// Waits until at most Pending of this warpgroup's groups are incomplete.
template <int Pending> TLC_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

//@ wgmma_pin
// Keeps accesses to accumulators from moving over the wait that stands before: N elements.
template <int N> TLC_DEVICE void wgmma_pin(float *d) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
template <int N, class T> TLC_DEVICE void wgmma_pin(T *d) {
  uint32_t *word = reinterpret_cast<uint32_t *>(d);
#pragma unroll
  for (int i = 0; i < N * int(sizeof(T)) / 4; ++i)
    asm volatile("" : "+r"(word[i])::"memory");
}

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
#endif
