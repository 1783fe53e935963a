// Arithmetic beyond C's operators. float16 and bfloat16 round after every operation.
#pragma once

#include "convert.cuh"

namespace tlc {

//@ add
TLC_DEVICE __half add(__half a, __half b) { return __hadd_rn(a, b); }
TLC_DEVICE __nv_bfloat16 add(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd_rn(a, b); }

//@ sub
TLC_DEVICE __half sub(__half a, __half b) { return __hsub_rn(a, b); }
TLC_DEVICE __nv_bfloat16 sub(__nv_bfloat16 a, __nv_bfloat16 b) { return __hsub_rn(a, b); }

//@ mul
TLC_DEVICE __half mul(__half a, __half b) { return __hmul_rn(a, b); }
TLC_DEVICE __nv_bfloat16 mul(__nv_bfloat16 a, __nv_bfloat16 b) { return __hmul_rn(a, b); }

//@ div
TLC_DEVICE __half div(__half a, __half b) { return to_half(to_float(a) / to_float(b)); }
TLC_DEVICE __nv_bfloat16 div(__nv_bfloat16 a, __nv_bfloat16 b) {
  return to_bfloat16(to_float(a) / to_float(b));
}

//@ neg
TLC_DEVICE __half neg(__half a) { return bit_cast<__half>(uint16_t(bit_cast<uint16_t>(a) ^ 0x8000)); }
TLC_DEVICE __nv_bfloat16 neg(__nv_bfloat16 a) {
  return bit_cast<__nv_bfloat16>(uint16_t(bit_cast<uint16_t>(a) ^ 0x8000));
}

//@ abs
TLC_DEVICE __half abs(__half a) { return bit_cast<__half>(uint16_t(bit_cast<uint16_t>(a) & 0x7fff)); }
TLC_DEVICE __nv_bfloat16 abs(__nv_bfloat16 a) {
  return bit_cast<__nv_bfloat16>(uint16_t(bit_cast<uint16_t>(a) & 0x7fff));
}

template <class Int> TLC_DEVICE Int abs(Int a) { return a < 0 ? Int(-a) : a; }

//@ is_nan
TLC_DEVICE bool is_nan(float x) { return isnan(x); }
TLC_DEVICE bool is_nan(double x) { return isnan(x); }

//@ is_inf
TLC_DEVICE bool is_inf(float x) { return isinf(x); }
TLC_DEVICE bool is_inf(double x) { return isinf(x); }

//@ is_finite
TLC_DEVICE bool is_finite(float x) { return isfinite(x); }
TLC_DEVICE bool is_finite(double x) { return isfinite(x); }

//@ ldexp
// x * 2^exponent.
TLC_DEVICE float ldexp(float x, int exponent) { return ldexpf(x, exponent); }
TLC_DEVICE double ldexp(double x, int exponent) { return ::ldexp(x, exponent); }
TLC_DEVICE float ldexp(float x, float exponent) { return ldexpf(x, int(exponent)); }
TLC_DEVICE double ldexp(double x, double exponent) { return ::ldexp(x, int(exponent)); }

//@ min
// Of two floats the other one if one is NaN.
TLC_DEVICE float min(float a, float b) { return fminf(a, b); }
TLC_DEVICE double min(double a, double b) { return fmin(a, b); }
TLC_DEVICE __half min(__half a, __half b) { return to_half(fminf(to_float(a), to_float(b))); }
TLC_DEVICE __nv_bfloat16 min(__nv_bfloat16 a, __nv_bfloat16 b) {
  return to_bfloat16(fminf(to_float(a), to_float(b)));
}
template <class Int> TLC_FN Int min(Int a, Int b) { return b < a ? b : a; }

//@ max
// Of two floats the other one if one is NaN.
TLC_DEVICE float max(float a, float b) { return fmaxf(a, b); }
TLC_DEVICE double max(double a, double b) { return fmax(a, b); }
TLC_DEVICE __half max(__half a, __half b) { return to_half(fmaxf(to_float(a), to_float(b))); }
TLC_DEVICE __nv_bfloat16 max(__nv_bfloat16 a, __nv_bfloat16 b) {
  return to_bfloat16(fmaxf(to_float(a), to_float(b)));
}
template <class Int> TLC_FN Int max(Int a, Int b) { return a < b ? b : a; }

//@ sigmoid
TLC_DEVICE float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
TLC_DEVICE double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }

//@ fast_rcp
TLC_DEVICE float fast_rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
TLC_DEVICE double fast_rcp(double x) { return 1.0 / x; }

//@ popcount
TLC_DEVICE int popcount(uint32_t x) { return __popc(x); }
TLC_DEVICE int popcount(uint64_t x) { return __popcll(x); }

//@ clz
TLC_DEVICE int clz(uint32_t x) { return __clz(int(x)); }
TLC_DEVICE int clz(uint64_t x) { return __clzll((long long)x); }

//@ ffs
TLC_DEVICE int ffs(uint32_t x) { return __ffs(int(x)); }
TLC_DEVICE int ffs(uint64_t x) { return __ffsll((long long)x); }

//@ assume
// Tells the compiler a fact.
TLC_DEVICE void assume(bool fact) { __builtin_assume(fact); }

//@ end
} // namespace tlc
