// Arithmetic beyond C++'s operators.
#pragma once

#include "bfloat16.h"
#include "convert.h"
#include "half.h"

namespace tlc {

//@ abs
template <class Int> inline Int abs(Int a) { return a < 0 ? Int(-a) : a; }

//@ is_nan
template <class Float> inline bool is_nan(Float x) { return x != x; }

//@ is_inf
template <class Float> inline bool is_inf(Float x) { return x == x && x - x != Float(0); }

//@ is_finite
template <class Float> inline bool is_finite(Float x) { return x - x == Float(0); }

//@ ldexp
// x * 2^exponent.
template <class Float> inline Float ldexp(Float x, int exponent) { return std::ldexp(x, exponent); }
template <class Float> inline Float ldexp(Float x, Float exponent) {
  return std::ldexp(x, int(exponent));
}

//@ min
// Of two floats the other one if one is NaN.
template <class T> inline T min(T a, T b) { return a < b || b != b ? a : b; }

//@ max
// Of two floats the other one if one is NaN.
template <class T> inline T max(T a, T b) { return a > b || b != b ? a : b; }

//@ plus
template <class T> inline T plus(T a, T b) { return T(a + b); }

//@ exp_of_parts
// e^rest * 2^whole for |rest| <= ln(2)/2 and -252 <= whole <= 254.
TLC_FN float exp_of_parts(float rest, float whole) {
  float p = 1.9875691500e-4f;
  p = p * rest + 1.3981999507e-3f;
  p = p * rest + 8.3334519073e-3f;
  p = p * rest + 4.1665795894e-2f;
  p = p * rest + 1.6666665459e-1f;
  p = p * rest + 5.0000001201e-1f;
  p = p * rest * rest + rest + 1.0f;
  // In two factors: one alone does not reach denormals.
  const int32_t first = int32_t(whole) >> 1, second = int32_t(whole) - first;
  return p * bit_cast<float>(uint32_t(first + 127) << 23) *
         bit_cast<float>(uint32_t(second + 127) << 23);
}

//@ exp
// Within 2 units of the last place; no branch, so that loops become vectors.
TLC_FN float exp(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  // Adding and subtracting 1.5 * 2^23 rounds to an integer.
  const float whole = (clamped * 1.44269504f + 12582912.0f) - 12582912.0f;
  const float rest = (clamped - whole * 0.693359375f) + whole * 2.12194440e-4f;
  const float value = exp_of_parts(rest, whole);
  return x != x ? x : value;
}

//@ exp2
// Within 2 units of the last place; no branch.
TLC_FN float exp2(float x) {
  const float clamped = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x;
  const float whole = (clamped + 12582912.0f) - 12582912.0f;
  const float value = exp_of_parts((clamped - whole) * 0.693147181f, whole);
  return x != x ? x : value;
}

//@ exp10
template <class Float> inline Float exp10(Float x) { return Float(std::pow(10.0, double(x))); }

//@ log
TLC_FN float log(float x) { return std::log(x); }

//@ tanh
TLC_FN float tanh(float x) { return std::tanh(x); }

//@ rsqrt
template <class Float> inline Float rsqrt(Float x) { return Float(1) / std::sqrt(x); }

//@ sigmoid
template <class Float> inline Float sigmoid(Float x) {
  if constexpr (sizeof(Float) == 4)
    return 1.0f / (1.0f + exp(-x));
  else
    return 1.0 / (1.0 + std::exp(-x));
}

//@ fast_rcp
template <class Float> inline Float fast_rcp(Float x) { return Float(1) / x; }

//@ popcount
template <class Word> inline int popcount(Word x) {
  int count = 0;
  for (; x != 0; x &= x - 1)
    ++count;
  return count;
}

//@ clz
template <class Word> inline int clz(Word x) {
  int zeros = int(sizeof(Word)) * 8;
  for (; x != 0; x >>= 1)
    --zeros;
  return zeros;
}

//@ ffs
template <class Word> inline int ffs(Word x) {
  int place = 1;
  if (x == 0)
    return 0;
  for (; (x & 1) == 0; x >>= 1)
    ++place;
  return place;
}

//@ assume
// Tells the compiler a fact.
TLC_FN void assume(bool fact) {
#if defined(__GNUC__)
  if (!fact)
    __builtin_unreachable();
#else
  (void)fact;
#endif
}

//@ end
} // namespace tlc
