// Narrow floats: stored as patterns, computed in float. A conversion rounds once, to nearest even;
// float16 and bfloat16 overflow to infinity, 8-bit and smaller floats to their largest finite value.
#pragma once

#include "../portable/narrow.h"
#include "base.h"

namespace tlc {

//@ float16 bfloat16
struct float16 { uint16_t bits; };
struct bfloat16 { uint16_t bits; };

//@ to_float
// Without branches, so that loops over it become vectors.
inline float to_float(float x) { return x; }
inline float to_float(float16 x) {
  const uint32_t magnitude = x.bits & 0x7fffu, sign = uint32_t(x.bits & 0x8000u) << 16;
  // A float of the same digits, 2^112 too small; denormals are multiples of 2^-24.
  const float normal = bit_cast<float>((magnitude << 13) + (112u << 23));
  const float denormal = float(int32_t(magnitude)) * 5.9604644775390625e-08f;
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  const uint32_t finite = bit_cast<uint32_t>(magnitude < 0x400u ? denormal : normal);
  return bit_cast<float>((magnitude >= 0x7c00u ? special : finite) | sign);
}
inline float to_float(bfloat16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }

//@ narrow_once
// A double as a float from which a second rounding cannot go wrong: the last digit stands for all that
// is lost.
inline float narrow_once(double x) {
  const float near = float(x);
  if (double(near) == x || near != near || near - near != 0)
    return near;
  const float toward = std::fabs(double(near)) > std::fabs(x) ? std::nextafterf(near, 0.0f) : near;
  return bit_cast<float>(bit_cast<uint32_t>(toward) | 1u);
}

//@ to_half
inline float16 to_half(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  // Adding 0.5 leaves multiples of 2^-24 in the last digits, rounded to even.
  const uint32_t denormal = bit_cast<uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t half = magnitude < (113u << 23) ? denormal : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return {uint16_t(half | (magnitude > 0x7f800000u ? 0u : bits >> 16 & 0x8000u))};
}
inline float16 to_half(double x) { return to_half(narrow_once(x)); }

//@ to_bfloat16
inline bfloat16 to_bfloat16(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return {uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded)};
}
inline bfloat16 to_bfloat16(double x) { return to_bfloat16(narrow_once(x)); }

//@ to_half_saturate
inline float16 to_half_saturate(float x) {
  return to_half(x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x);
}

//@ to_bfloat16_saturate
inline bfloat16 to_bfloat16_saturate(float x) {
  const float largest = bit_cast<float>(0x7f7f0000u);
  return to_bfloat16(x > largest ? largest : x < -largest ? -largest : x);
}

//@ to_tfloat32
// The nearest float whose low 13 bits are zero.
inline float to_tfloat32(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return (bits & 0x7fffffu) != 0 ? bit_cast<float>(0x7fc00000u) : x;
  return bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
}

//@ to_float_e4m3
inline float to_float(float8_e4m3 x) {
  return small_decode<small_float<4, 3, specials::nan_only>>(x.bits);
}

//@ to_float_e5m2
inline float to_float(float8_e5m2 x) {
  return small_decode<small_float<5, 2, specials::ieee>>(x.bits);
}

//@ to_float_e4m3fnuz
inline float to_float(float8_e4m3fnuz x) {
  return small_decode<small_float<4, 3, specials::fnuz>>(x.bits);
}

//@ to_float_e5m2fnuz
inline float to_float(float8_e5m2fnuz x) {
  return small_decode<small_float<5, 2, specials::fnuz>>(x.bits);
}

//@ to_float_e8m0
inline float to_float(float8_e8m0 x) {
  return bit_cast<float>(x.bits == 255 ? 0x7fc00000u
                         : x.bits == 0 ? 0x00400000u
                                       : uint32_t(x.bits) << 23);
}

//@ to_float_e2m1
inline float to_float(float4_e2m1 x) {
  return small_decode<small_float<2, 1, specials::none>>(x.bits);
}

//@ to_float8_e4m3
inline float8_e4m3 to_float8_e4m3(float x) {
  return {small_encode<small_float<4, 3, specials::nan_only>, true>(x)};
}

//@ to_float8_e5m2
inline float8_e5m2 to_float8_e5m2(float x) {
  return {small_encode<small_float<5, 2, specials::ieee>, true>(x)};
}

//@ to_float8_e5m2_infinite
// Overflows to infinity.
inline float8_e5m2 to_float8_e5m2_infinite(float x) {
  return {small_encode<small_float<5, 2, specials::ieee>, false>(x)};
}

//@ to_float8_e4m3fnuz
inline float8_e4m3fnuz to_float8_e4m3fnuz(float x) {
  return {small_encode<small_float<4, 3, specials::fnuz>, true>(x)};
}

//@ to_float8_e5m2fnuz
inline float8_e5m2fnuz to_float8_e5m2fnuz(float x) {
  return {small_encode<small_float<5, 2, specials::fnuz>, true>(x)};
}

//@ to_float8_e8m0
// The nearest power of two in the exponent; what is not positive gives the smallest.
inline float8_e8m0 to_float8_e8m0(float x) {
  if (x != x)
    return {255};
  if (!(x > 0))
    return {0};
  const float exponent = std::round(std::log2(x)) + 127.0f;
  return {uint8_t(exponent < 0.0f ? 0.0f : exponent > 254.0f ? 254.0f : exponent)};
}

//@ to_float4_e2m1
inline float4_e2m1 to_float4_e2m1(float x) {
  return {small_encode<small_float<2, 1, specials::none>, true>(x)};
}

//@ end
} // namespace tlc
