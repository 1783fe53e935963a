// float16: stored as a pattern, computed in float, rounded to nearest even after every operation;
// overflows to infinity.
#pragma once

#include "base.h"

namespace tlc {

//@ half float16
struct float16 { uint16_t bits; };
// Without branches, so that loops over it become vectors.
TLC_FN float to_float(float16 x) {
  const uint32_t magnitude = x.bits & 0x7fffu, sign = uint32_t(x.bits & 0x8000u) << 16;
  // A float of the same digits, 2^112 too small; denormals are multiples of 2^-24.
  const float normal = bit_cast<float>((magnitude << 13) + (112u << 23));
  const float denormal = float(int32_t(magnitude)) * 5.9604644775390625e-08f;
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  const uint32_t finite = bit_cast<uint32_t>(magnitude < 0x400u ? denormal : normal);
  return bit_cast<float>((magnitude >= 0x7c00u ? special : finite) | sign);
}

//@ to_half
TLC_FN float16 to_half(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  // Adding 0.5 leaves multiples of 2^-24 in the last digits, rounded to even.
  const uint32_t denormal = bit_cast<uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < (113u << 23) ? denormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return {uint16_t(result | (magnitude > 0x7f800000u ? 0u : bits >> 16 & 0x8000u))};
}

//@ to_half_double
TLC_FN float16 to_half(double x) { return to_half(narrow_once(x)); }

//@ to_half_saturate
TLC_FN float16 to_half_saturate(float x) {
  const float largest = 65504.0f;
  return to_half(x > largest ? largest : x < -largest ? -largest : x);
}

//@ add_half
TLC_FN float16 add(float16 a, float16 b) {
  return to_half(to_float(a) + to_float(b));
}

//@ sub_half
TLC_FN float16 sub(float16 a, float16 b) {
  return to_half(to_float(a) - to_float(b));
}

//@ mul_half
TLC_FN float16 mul(float16 a, float16 b) {
  return to_half(to_float(a) * to_float(b));
}

//@ div_half
TLC_FN float16 div(float16 a, float16 b) {
  return to_half(to_float(a) / to_float(b));
}

//@ neg_half
TLC_FN float16 neg(float16 a) { return {uint16_t(a.bits ^ 0x8000u)}; }

//@ abs_half : abs half
TLC_FN float16 abs(float16 a) { return {uint16_t(a.bits & 0x7fffu)}; }

//@ min_half : min half
TLC_FN float16 min(float16 a, float16 b) {
  const float x = to_float(a), y = to_float(b);
  return x < y || y != y ? a : b;
}

//@ max_half : max half
TLC_FN float16 max(float16 a, float16 b) {
  const float x = to_float(a), y = to_float(b);
  return x > y || y != y ? a : b;
}

//@ plus_half : plus half
TLC_FN float16 plus(float16 a, float16 b) {
  return to_half(to_float(a) + to_float(b));
}

//@ end
} // namespace tlc
