// Arithmetic beyond C's operators.
#pragma once

#include "bfloat16.cuh"
#include "convert.cuh"
#include "half.cuh"

namespace tlc {

//@ abs
template <class Int> TLC_DEVICE Int abs(Int a) { return a < 0 ? Int(-a) : a; }

//@ is_nan
template <class Float> TLC_DEVICE bool is_nan(Float x) { return x != x; }

//@ is_inf
template <class Float> TLC_DEVICE bool is_inf(Float x) { return isinf(x); }

//@ is_finite
template <class Float> TLC_DEVICE bool is_finite(Float x) { return isfinite(x); }

//@ ldexp
// x * 2^exponent.
template <class Float, class Exponent> TLC_DEVICE Float ldexp(Float x, Exponent exponent) {
  if constexpr (sizeof(Float) == 4)
    return ldexpf(x, int(exponent));
  else
    return ::ldexp(x, int(exponent));
}

//@ min
// Of two floats the other one if one is NaN.
template <class T> TLC_FN T min(T a, T b) {
  if constexpr (T(0.5f) == T(0))
    return b < a ? b : a;
  else if constexpr (sizeof(T) == 4)
    return fminf(a, b);
  else
    return fmin(a, b);
}

//@ max
// Of two floats the other one if one is NaN.
template <class T> TLC_FN T max(T a, T b) {
  if constexpr (T(0.5f) == T(0))
    return a < b ? b : a;
  else if constexpr (sizeof(T) == 4)
    return fmaxf(a, b);
  else
    return fmax(a, b);
}

//@ plus
template <class T> TLC_DEVICE T plus(T a, T b) { return T(a + b); }

//@ fast_rcp
template <class Float> TLC_DEVICE Float fast_rcp(Float x) {
  if constexpr (sizeof(Float) == 4) {
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1.0f / x;
#endif
  } else {
    return 1.0 / x;
  }
}

//@ divide
// n / d without a branch: `/` has one, for numbers far from 1, behind which nothing is computed ahead, so of many quotients each waits for
// the one before. Rounded as `/` does but for one of 10^9 pairs, which is the neighbour (H200); exact quotients always; where n or the quotient
// is below 2^-100 within 2 ulp.
TLC_DEVICE float divide(float n, float d) {
  // The reciprocal is not to be too small or too large for a float.
  const float scale = fabsf(d) > 0x1p126f ? 0x1p-32f : fabsf(d) < 0x1p-126f ? 0x1p32f : 1.0f;
  n *= scale;
  d *= scale;
  const float inverse = fast_rcp(d), q = n * inverse, rest = fmaf(-d, q, n);
  // Nothing is left, or q is no finite number.
  return fabsf(rest) > 0.0f && fabsf(rest) < INFINITY ? fmaf(rest, inverse, q) : q;
}

//@ sigmoid
template <class Float> TLC_DEVICE Float sigmoid(Float x) {
  if constexpr (sizeof(Float) == 4)
    return divide(1.0f, 1.0f + expf(-x));
  else
    return 1.0 / (1.0 + exp(-x));
}

//@ exp2
// Of floats the hardware's instruction: within 2 ulp; what is smaller than 2^-126 becomes 0.
template <class Float> TLC_DEVICE Float exp2(Float x) {
  if constexpr (sizeof(Float) == 4) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    const float y = exp2f(x);
    return y < 1.17549435e-38f ? 0.0f : y;
#endif
  } else {
    return ::exp2(x);
  }
}

//@ popcount
template <class Word> TLC_DEVICE int popcount(Word x) {
  return sizeof(Word) == 8 ? __popcll(uint64_t(x)) : __popc(uint32_t(x));
}

//@ clz
template <class Word> TLC_DEVICE int clz(Word x) {
  return sizeof(Word) == 8 ? __clzll(int64_t(x)) : __clz(int32_t(x));
}

//@ ffs
template <class Word> TLC_DEVICE int ffs(Word x) {
  return sizeof(Word) == 8 ? __ffsll(int64_t(x)) : __ffs(int32_t(x));
}

//@ assume
// Tells the compiler a fact.
TLC_DEVICE void assume(bool fact TLC_AT) { __builtin_assume(fact TLC_HERE); }

//@ kept
// `value`, which the compiler then does not compute anew in each place where it is used.
TLC_DEVICE int kept(int value) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(value));
#endif
  return value;
}
TLC_DEVICE int64_t kept(int64_t value) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(value));
#endif
  return value;
}

//@ end
} // namespace tlc
