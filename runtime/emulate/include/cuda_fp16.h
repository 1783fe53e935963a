#pragma once
#include "cuda_runtime.h"
struct __half {
  uint16_t bits;
  __half() = default;
  __half(float f) : bits(::emu::float_to_half(f)) {}
  operator float() const { return ::emu::half_to_float(bits); }
};
struct alignas(4) __half2 {
  __half x, y;
};
inline __half __float2half(float f) { return __half(f); }
inline __half __float2half_rn(float f) { return __half(f); }
inline float __half2float(__half h) { return float(h); }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline float2 __half22float2(__half2 h) { return {float(h.x), float(h.y)}; }
