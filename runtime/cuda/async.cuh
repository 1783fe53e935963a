// Asynchronous copies of threads from global to shared memory.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/async.h stands for it
#include "../gpu/copy.h"

namespace tlc {

//@ shared_address
// Where a pointer to shared memory points within it.
TLC_DEVICE uint32_t shared_address(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

//@ cp_async
// Global to shared memory, complete after cp_async_wait. Bytes: 4, 8 or 16.
template <int Bytes> TLC_DEVICE void cp_async(void *to, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  copy<Bytes>(to, from);
#else
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from))
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "n"(Bytes)
                 : "memory");
#endif
}
// As above where `valid`; else the target is zeroed and nothing is read.
template <int Bytes>
TLC_DEVICE void cp_async(void *to, const void *from, bool valid TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  copy_or_zero<Bytes>(to, from, valid);
#else
  const int size = valid ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(size)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "n"(Bytes), "r"(size)
                 : "memory");
#endif
}

//@ cp_async_commit
// Closes a group of this thread's copies.
TLC_DEVICE void cp_async_commit() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

//@ cp_async_wait
// Waits until at most Pending of this thread's groups are incomplete.
template <int Pending> TLC_DEVICE void cp_async_wait() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

//@ end
} // namespace tlc
#endif
