// Floats of 19 bits and less. A conversion rounds once, to nearest even, and
// overflows to the largest finite value.
#pragma once

#include "../portable/narrow.h"
#include "base.cuh"

#include <cuda_fp16.h>

namespace tlc {

//@ to_tfloat32
// The nearest float whose low 13 bits are zero.
TLC_DEVICE float to_tfloat32(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000) == 0x7f800000)
    return (bits & 0x7fffff) != 0 ? bit_cast<float>(0x7fc00000u) : x;
  return bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000);
}

//@ half2_of_e4m3x2
// Two 8-bit floats as two float16: exact.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
TLC_DEVICE uint32_t half2_of_e4m3x2(uint16_t pair) {
  uint32_t both;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"(pair));
  return both;
}
#endif

//@ to_float_e4m3
TLC_DEVICE float to_float(float8_e4m3 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  return __half2float(bit_cast<__half>(uint16_t(half2_of_e4m3x2(x.bits))));
#else
  return small_decode<small_float<4, 3, specials::nan_only>>(x.bits);
#endif
}

//@ to_float_e5m2
// The upper byte of a float16.
TLC_DEVICE float to_float(float8_e5m2 x) {
  return __half2float(bit_cast<__half>(uint16_t(x.bits << 8)));
}

//@ to_float_e4m3fnuz
TLC_DEVICE float to_float(float8_e4m3fnuz x) {
  return small_decode<small_float<4, 3, specials::fnuz>>(x.bits);
}

//@ to_float_e5m2fnuz
TLC_DEVICE float to_float(float8_e5m2fnuz x) {
  return small_decode<small_float<5, 2, specials::fnuz>>(x.bits);
}

//@ to_float_e8m0
TLC_DEVICE float to_float(float8_e8m0 x) {
  return bit_cast<float>(x.bits == 255 ? 0x7fc00000u
                         : x.bits == 0 ? 0x00400000u
                                       : uint32_t(x.bits) << 23);
}

//@ to_float_e2m1
TLC_DEVICE float to_float(float4_e2m1 x) {
  return small_decode<small_float<2, 1, specials::none>>(x.bits);
}

//@ to_float8_e4m3
TLC_DEVICE float8_e4m3 to_float8_e4m3(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return {uint8_t(pair)};
#else
  return {small_encode<small_float<4, 3, specials::nan_only>, true>(x)};
#endif
}

//@ to_float8_e5m2
TLC_DEVICE float8_e5m2 to_float8_e5m2(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return {uint8_t(pair)};
#else
  return {small_encode<small_float<5, 2, specials::ieee>, true>(x)};
#endif
}

//@ to_float8_e5m2_infinite
// Overflows to infinity.
TLC_DEVICE float8_e5m2 to_float8_e5m2_infinite(float x) {
  return {small_encode<small_float<5, 2, specials::ieee>, false>(x)};
}

//@ to_float8_e4m3fnuz
TLC_DEVICE float8_e4m3fnuz to_float8_e4m3fnuz(float x) {
  return {small_encode<small_float<4, 3, specials::fnuz>, true>(x)};
}

//@ to_float8_e5m2fnuz
TLC_DEVICE float8_e5m2fnuz to_float8_e5m2fnuz(float x) {
  return {small_encode<small_float<5, 2, specials::fnuz>, true>(x)};
}

//@ to_float8_e8m0
// The nearest power of two in the exponent; what is not positive gives the smallest.
TLC_DEVICE float8_e8m0 to_float8_e8m0(float x) {
  if (x != x)
    return {255};
  if (!(x > 0))
    return {0};
  const float exponent = roundf(log2f(x)) + 127.0f;
  return {uint8_t(fminf(fmaxf(exponent, 0.0f), 254.0f))};
}

//@ to_float4_e2m1
TLC_DEVICE float4_e2m1 to_float4_e2m1(float x) {
  return {small_encode<small_float<2, 1, specials::none>, true>(x)};
}

//@ end
} // namespace tlc
