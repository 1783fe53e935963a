// Barriers of a block, and what they wait for.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/hip/barrier.h stands for it
#include "base.h"

namespace tlc {

//@ wait_shared
// Until this wave's own accesses to shared memory are done.
TLC_DEVICE void wait_shared() {
#ifdef __GFX12__
  asm volatile("s_wait_dscnt 0x0" ::: "memory");
#else
  asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
#endif
}

//@ wait_loads
// Until at most Pending of this wave's load_to_shared (gfx942, gfx950) are incomplete. (Loads to
// registers that are on their way make it wait for more of them.)
template <int Pending> TLC_DEVICE void wait_loads() {
  asm volatile("s_waitcnt vmcnt(%0)" ::"n"(Pending) : "memory");
}

//@ barrier_only
// Waits for the block's threads and for nothing they did: what they stored is seen behind it if
// they waited first (wait_shared), what they loaded to shared memory if they waited for that
// (wait_loads).
TLC_DEVICE void barrier_only() {
  asm volatile("" ::: "memory");
  __builtin_amdgcn_s_barrier();
  asm volatile("" ::: "memory");
}

//@ end
} // namespace tlc
#endif
