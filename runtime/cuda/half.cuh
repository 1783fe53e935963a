// float16: rounds to nearest even after every operation, overflows to infinity.
#pragma once

#include "base.cuh"

#include <cuda_fp16.h>

namespace tlc {

//@ half
TLC_DEVICE float to_float(__half x) { return __half2float(x); }

//@ to_half
TLC_DEVICE __half to_half(float x) { return __float2half_rn(x); }

//@ to_half_double
TLC_DEVICE __half to_half(double x) { return __double2half(x); }

//@ to_half_saturate
TLC_DEVICE __half to_half_saturate(float x) {
  const float largest = 65504.0f;
  return __float2half_rn(x != x ? x : fminf(fmaxf(x, -largest), largest));
}

//@ add_half
TLC_DEVICE __half add(__half a, __half b) { return __hadd_rn(a, b); }

//@ sub_half
TLC_DEVICE __half sub(__half a, __half b) { return __hsub_rn(a, b); }

//@ mul_half
TLC_DEVICE __half mul(__half a, __half b) { return __hmul_rn(a, b); }

//@ div_half
TLC_DEVICE __half div(__half a, __half b) {
  return __float2half_rn(__half2float(a) / __half2float(b));
}

//@ neg_half
TLC_DEVICE __half neg(__half a) {
  return bit_cast<__half>(uint16_t(bit_cast<uint16_t>(a) ^ 0x8000));
}

//@ abs_half : abs half
TLC_DEVICE __half abs(__half a) {
  return bit_cast<__half>(uint16_t(bit_cast<uint16_t>(a) & 0x7fff));
}

//@ min_half : min half
TLC_DEVICE __half min(__half a, __half b) {
  return __float2half_rn(fminf(__half2float(a), __half2float(b)));
}

//@ max_half : max half
TLC_DEVICE __half max(__half a, __half b) {
  return __float2half_rn(fmaxf(__half2float(a), __half2float(b)));
}

//@ plus_half : plus half
TLC_DEVICE __half plus(__half a, __half b) { return __hadd_rn(a, b); }

//@ end
} // namespace tlc
