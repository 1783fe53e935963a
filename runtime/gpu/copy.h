// Moves of up to 16 bytes as one access of a thread.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/copy.h stands for it
#ifdef __HIP__
#include "../hip/base.h"
#else
#include "../cuda/base.cuh"
#endif

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

//@ end
} // namespace tlc
#endif
