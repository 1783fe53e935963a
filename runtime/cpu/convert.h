// Floats of 19 bits and less: stored as patterns, computed in float. A conversion rounds once, to nearest even,
// and overflows to the largest finite value.
#pragma once

#include "../portable/narrow.h"
#include "base.h"

namespace tlc {

//@ to_tfloat32
// The nearest float whose low 13 bits are zero.
TLC_FN float to_tfloat32(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return (bits & 0x7fffffu) != 0 ? bit_cast<float>(0x7fc00000u) : x;
  return bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
}

//@ to_float_e4m3
TLC_FN float to_float(float8_e4m3 x) {
  return small_decode<small_float<4, 3, specials::nan_only>>(x.bits);
}

//@ to_float_e5m2
TLC_FN float to_float(float8_e5m2 x) {
  return small_decode<small_float<5, 2, specials::ieee>>(x.bits);
}

//@ to_float_e4m3fnuz
TLC_FN float to_float(float8_e4m3fnuz x) {
  return small_decode<small_float<4, 3, specials::fnuz>>(x.bits);
}

//@ to_float_e5m2fnuz
TLC_FN float to_float(float8_e5m2fnuz x) {
  return small_decode<small_float<5, 2, specials::fnuz>>(x.bits);
}

//@ to_float_e8m0
TLC_FN float to_float(float8_e8m0 x) {
  return bit_cast<float>(x.bits == 255 ? 0x7fc00000u
                         : x.bits == 0 ? 0x00400000u
                                       : uint32_t(x.bits) << 23);
}

//@ to_float_e2m1
TLC_FN float to_float(float4_e2m1 x) {
  return small_decode<small_float<2, 1, specials::none>>(x.bits);
}

//@ to_float8_e4m3
TLC_FN float8_e4m3 to_float8_e4m3(float x) {
  return {small_encode<small_float<4, 3, specials::nan_only>, true>(x)};
}

//@ to_float8_e5m2
TLC_FN float8_e5m2 to_float8_e5m2(float x) {
  return {small_encode<small_float<5, 2, specials::ieee>, true>(x)};
}

//@ to_float8_e5m2_infinite
// Overflows to infinity.
TLC_FN float8_e5m2 to_float8_e5m2_infinite(float x) {
  return {small_encode<small_float<5, 2, specials::ieee>, false>(x)};
}

//@ to_float8_e4m3fnuz
TLC_FN float8_e4m3fnuz to_float8_e4m3fnuz(float x) {
  return {small_encode<small_float<4, 3, specials::fnuz>, true>(x)};
}

//@ to_float8_e5m2fnuz
TLC_FN float8_e5m2fnuz to_float8_e5m2fnuz(float x) {
  return {small_encode<small_float<5, 2, specials::fnuz>, true>(x)};
}

//@ to_float8_e8m0
// The nearest power of two in the exponent; what is not positive gives the smallest.
TLC_FN float8_e8m0 to_float8_e8m0(float x) {
  if (x != x)
    return {255};
  if (!(x > 0))
    return {0};
  const float exponent = std::round(std::log2(x)) + 127.0f;
  return {uint8_t(exponent < 0.0f ? 0.0f : exponent > 254.0f ? 254.0f : exponent)};
}

//@ to_float4_e2m1
TLC_FN float4_e2m1 to_float4_e2m1(float x) {
  return {small_encode<small_float<2, 1, specials::none>, true>(x)};
}

//@ end
} // namespace tlc
