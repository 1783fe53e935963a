// Elements of half a byte, two in each byte.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/packed.h stands for it
#include "base.h"

namespace tlc {

//@ zero_bytes
// An element of half a byte is stored by keeping its neighbour, so registers of them begin as
// something.
template <class T, int N> TLC_FN void zero_bytes(T (&bytes)[N]) {
  for (int i = 0; i < N; ++i)
    bytes[i] = 0;
}

//@ get_int4
// The i-th signed 4-bit integer of a packed array, low half of a byte first.
TLC_FN int8_t get_int4(const uint8_t *packed, int64_t i) {
  const int nibble = packed[i >> 1] >> ((i & 1) * 4) & 15;
  return int8_t((nibble ^ 8) - 8);
}

//@ get_uint4
// The i-th unsigned 4-bit integer (or pattern) of a packed array, low half of a byte first.
TLC_FN uint8_t get_uint4(const uint8_t *packed, int64_t i) {
  return uint8_t(packed[i >> 1] >> ((i & 1) * 4) & 15);
}

//@ set_uint4
// Replaces the i-th 4-bit element of a packed array; its neighbour in the byte is read and written.
TLC_FN void set_uint4(uint8_t *packed, int64_t i, uint8_t value) {
  const int shift = int(i & 1) * 4;
  packed[i >> 1] = uint8_t((packed[i >> 1] & ~(15 << shift)) | (value & 15) << shift);
}

//@ set_int4
TLC_FN void set_int4(uint8_t *packed, int64_t i, int8_t value) {
  set_uint4(packed, i, uint8_t(value));
}

//@ end
} // namespace tlc
#endif
