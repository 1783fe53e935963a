// bfloat16: stored as a pattern, computed in float, rounded to nearest even after every operation;
// overflows to infinity.
#pragma once

#include "base.h"

namespace tlc {

//@ bfloat16
struct bfloat16 { uint16_t bits; };
TLC_FN float to_float(bfloat16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }

//@ to_bfloat16
TLC_FN bfloat16 to_bfloat16(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return {uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded)};
}

//@ to_bfloat16_double
TLC_FN bfloat16 to_bfloat16(double x) { return to_bfloat16(narrow_once(x)); }

//@ to_bfloat16_saturate
TLC_FN bfloat16 to_bfloat16_saturate(float x) {
  const float largest = bit_cast<float>(0x7f7f0000u);
  return to_bfloat16(x > largest ? largest : x < -largest ? -largest : x);
}

//@ add_bfloat16
TLC_FN bfloat16 add(bfloat16 a, bfloat16 b) {
  return to_bfloat16(to_float(a) + to_float(b));
}

//@ sub_bfloat16
TLC_FN bfloat16 sub(bfloat16 a, bfloat16 b) {
  return to_bfloat16(to_float(a) - to_float(b));
}

//@ mul_bfloat16
TLC_FN bfloat16 mul(bfloat16 a, bfloat16 b) {
  return to_bfloat16(to_float(a) * to_float(b));
}

//@ div_bfloat16
TLC_FN bfloat16 div(bfloat16 a, bfloat16 b) {
  return to_bfloat16(to_float(a) / to_float(b));
}

//@ neg_bfloat16
TLC_FN bfloat16 neg(bfloat16 a) { return {uint16_t(a.bits ^ 0x8000u)}; }

//@ abs_bfloat16 : abs bfloat16
TLC_FN bfloat16 abs(bfloat16 a) { return {uint16_t(a.bits & 0x7fffu)}; }

//@ min_bfloat16 : min bfloat16
TLC_FN bfloat16 min(bfloat16 a, bfloat16 b) {
  const float x = to_float(a), y = to_float(b);
  return x < y || y != y ? a : b;
}

//@ max_bfloat16 : max bfloat16
TLC_FN bfloat16 max(bfloat16 a, bfloat16 b) {
  const float x = to_float(a), y = to_float(b);
  return x > y || y != y ? a : b;
}

//@ plus_bfloat16 : plus bfloat16
TLC_FN bfloat16 plus(bfloat16 a, bfloat16 b) {
  return to_bfloat16(to_float(a) + to_float(b));
}

//@ end
} // namespace tlc
