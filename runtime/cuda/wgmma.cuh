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

//@ end
} // namespace tlc
#endif
