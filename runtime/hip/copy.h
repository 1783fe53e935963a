// Moves of up to 16 bytes as one access of a thread.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/copy.h stands for it
#include "base.h"

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
  using word = typename unit<(Bytes > 16 ? 16 : Bytes)>::type;
#pragma unroll
  for (int i = 0; i < Bytes / int(sizeof(word)); ++i)
    static_cast<word *>(to)[i] = static_cast<const word *>(from)[i];
}

//@ copy_or_zero
// As copy where `valid`; else the target is zeroed and nothing is read.
template <int Bytes> TLC_DEVICE void copy_or_zero(void *to, const void *from, bool valid) {
  using word = typename unit<(Bytes > 16 ? 16 : Bytes)>::type;
#pragma unroll
  for (int i = 0; i < Bytes / int(sizeof(word)); ++i)
    static_cast<word *>(to)[i] = valid ? static_cast<const word *>(from)[i] : word{};
}

//@ end
} // namespace tlc
#endif
