// Moves of up to 16 bytes as one access of a thread, and asynchronous copies to shared memory.
#pragma once

#include "base.cuh"

namespace tlc {

//@ unit
// An integer of as many bytes, for one access.
template <int Bytes> struct unit;
template <> struct unit<1> { using type = uint8_t; };
template <> struct unit<2> { using type = uint16_t; };
template <> struct unit<4> { using type = uint32_t; };
template <> struct unit<8> { using type = uint2; };
template <> struct unit<16> { using type = uint4; };

//@ copy
// Both addresses are multiples of Bytes, or of 16 if that is less.
template <int Bytes> TLC_DEVICE void copy(void *to, const void *from) {
  if constexpr (Bytes > 16) {
    static_assert(Bytes % 16 == 0, "long copies are made of 16-byte ones");
#pragma unroll
    for (int i = 0; i < Bytes / 16; ++i)
      static_cast<uint4 *>(to)[i] = static_cast<const uint4 *>(from)[i];
  } else {
    using word = typename unit<Bytes>::type;
    *static_cast<word *>(to) = *static_cast<const word *>(from);
  }
}

//@ copy_or_zero
// As copy where `valid`; else the target is zeroed and nothing is read.
template <int Bytes> TLC_DEVICE void copy_or_zero(void *to, const void *from, bool valid) {
  if constexpr (Bytes > 16) {
#pragma unroll
    for (int i = 0; i < Bytes / 16; ++i)
      static_cast<uint4 *>(to)[i] = valid ? static_cast<const uint4 *>(from)[i] : uint4{};
  } else {
    using word = typename unit<Bytes>::type;
    *static_cast<word *>(to) = valid ? *static_cast<const word *>(from) : word{};
  }
}

//@ copy_elements
// One by one, for runs that are no power of two.
template <int N, class T> TLC_DEVICE void copy_elements(T *to, const T *from) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    to[i] = from[i];
}

//@ fill_elements
template <int N, class T> TLC_DEVICE void fill_elements(T *to, T value) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    to[i] = value;
}

//@ load_vec
// N elements, as one access where they are 16 bytes or less.
template <int N, class T> TLC_DEVICE vec<T, N> load_vec(const T *from) {
  vec<T, N> value;
  copy<int(sizeof(T)) * N>(&value, from);
  return value;
}

//@ store_vec
template <class T, int N> TLC_DEVICE void store_vec(T *to, const vec<T, N> &value) {
  copy<int(sizeof(T)) * N>(to, &value);
}

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
