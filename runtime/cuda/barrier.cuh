// Barriers of parts of a block, by number.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/barrier.h stands for it
#include "base.cuh"

namespace tlc {

//@ named_barrier_sync
// Waits for `threads` threads of the block at barrier `id`; whole warps take part.
TLC_DEVICE void named_barrier_sync(int id, int threads TLC_AT) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

//@ named_barrier_arrive
// Counts this warp in without waiting.
TLC_DEVICE void named_barrier_arrive(int id, int threads TLC_AT) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

//@ end
} // namespace tlc
#endif
