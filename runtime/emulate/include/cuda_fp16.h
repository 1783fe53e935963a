// float16 as emitted files and host programs use it: stored in 16 bits, computed in float, rounded
// once.
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
inline __half __double2half(double d) {
  __half h;
  h.bits = ::emu::double_to_half(d);
  return h;
}
inline float __half2float(__half h) { return float(h); }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline float2 __half22float2(__half2 h) { return {float(h.x), float(h.y)}; }
// A float has more than twice the bits, so rounding twice gives what rounding once does.
inline __half __hadd_rn(__half a, __half b) { return __half(float(a) + float(b)); }
inline __half __hsub_rn(__half a, __half b) { return __half(float(a) - float(b)); }
inline __half __hmul_rn(__half a, __half b) { return __half(float(a) * float(b)); }
