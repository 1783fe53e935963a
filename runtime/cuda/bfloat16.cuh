// bfloat16: rounds to nearest even after every operation, overflows to infinity.
#pragma once

#include "base.cuh"

#include <cuda_bf16.h>

namespace tlc {

//@ bfloat16
TLC_DEVICE float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

//@ to_bfloat16
TLC_DEVICE __nv_bfloat16 to_bfloat16(float x) { return __float2bfloat16_rn(x); }

//@ to_bfloat16_double
TLC_DEVICE __nv_bfloat16 to_bfloat16(double x) { return __double2bfloat16(x); }

//@ to_bfloat16_saturate
TLC_DEVICE __nv_bfloat16 to_bfloat16_saturate(float x) {
  const float largest = bit_cast<float>(0x7f7f0000u);
  return __float2bfloat16_rn(x != x ? x : fminf(fmaxf(x, -largest), largest));
}

//@ add_bfloat16
TLC_DEVICE __nv_bfloat16 add(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd_rn(a, b); }

//@ sub_bfloat16
TLC_DEVICE __nv_bfloat16 sub(__nv_bfloat16 a, __nv_bfloat16 b) { return __hsub_rn(a, b); }

//@ mul_bfloat16
TLC_DEVICE __nv_bfloat16 mul(__nv_bfloat16 a, __nv_bfloat16 b) { return __hmul_rn(a, b); }

//@ div_bfloat16
TLC_DEVICE __nv_bfloat16 div(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16_rn(__bfloat162float(a) / __bfloat162float(b));
}

//@ neg_bfloat16
TLC_DEVICE __nv_bfloat16 neg(__nv_bfloat16 a) {
  return bit_cast<__nv_bfloat16>(uint16_t(bit_cast<uint16_t>(a) ^ 0x8000));
}

//@ abs_bfloat16 : abs bfloat16
TLC_DEVICE __nv_bfloat16 abs(__nv_bfloat16 a) {
  return bit_cast<__nv_bfloat16>(uint16_t(bit_cast<uint16_t>(a) & 0x7fff));
}

//@ min_bfloat16 : min bfloat16
TLC_DEVICE __nv_bfloat16 min(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16_rn(fminf(__bfloat162float(a), __bfloat162float(b)));
}

//@ max_bfloat16 : max bfloat16
TLC_DEVICE __nv_bfloat16 max(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16_rn(fmaxf(__bfloat162float(a), __bfloat162float(b)));
}

//@ plus_bfloat16 : plus bfloat16
TLC_DEVICE __nv_bfloat16 plus(__nv_bfloat16 a, __nv_bfloat16 b) { return __hadd_rn(a, b); }

//@ end
} // namespace tlc
