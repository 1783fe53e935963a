// Products of a wave: MFMA on gfx908 and later (waves of 64), WMMA on gfx11 and gfx12 (waves of
// 32). c += a b, the operands of a lane in an array: the lane's row of A (column of B) is lane % m
// (lane % n), and its elements follow along k from lane / m times as many on. Of the sum a lane has
// column lane % n:
//   MFMA           rows 4 (lane / n) to + 3, then as many further as the wave covers
//   WMMA, gfx11    rows 2 i + lane / 16; the operands of lanes 16 to 31 repeat those of 0 to 15,
//   with all of k;
//                  a float16 sum fills every second of 16 places
//   WMMA, gfx12    rows 8 (lane / 16) + i
#pragma once

#ifndef TLC_EMULATE // there emulate/device/hip/matrix.h stands for it
#include "base.h"

#include <hip/hip_fp16.h>

namespace tlc {

//@ bits_vector
template <class T, int N> struct bits_vector_of {
  using type = T __attribute__((ext_vector_type(N)));
};
template <class T> struct bits_vector_of<T, 1> { using type = T; };
template <class T, int N> using bits_vector = typename bits_vector_of<T, N>::type;

//@ read_bits
// The bytes of an array as a vector that the built-in functions take.
template <class V> TLC_DEVICE V read_bits(const void *from) {
  V value;
  memcpy(&value, from, sizeof value);
  return value;
}

//@ mfma_m32n32k8_f16_f16_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX9__)
TLC_DEVICE void mfma_m32n32k8_f16_f16_f32(float *c, const __half *a, const __half *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x8f16(read_bits<bits_vector<_Float16, 4>>(a),
                                             read_bits<bits_vector<_Float16, 4>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k16_f16_f16_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX9__)
TLC_DEVICE void mfma_m16n16k16_f16_f16_f32(float *c, const __half *a, const __half *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x16f16(read_bits<bits_vector<_Float16, 4>>(a),
                                              read_bits<bits_vector<_Float16, 4>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k8_bf16_bf16_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx90a__) || defined(__gfx942__) ||              \
    defined(__gfx950__)
TLC_DEVICE void mfma_m32n32k8_bf16_bf16_f32(float *c, const uint16_t *a, const uint16_t *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(read_bits<bits_vector<short, 4>>(a),
                                                 read_bits<bits_vector<short, 4>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k16_bf16_bf16_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx90a__) || defined(__gfx942__) ||              \
    defined(__gfx950__)
TLC_DEVICE void mfma_m16n16k16_bf16_bf16_f32(float *c, const uint16_t *a,
                                             const uint16_t *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(
      read_bits<bits_vector<short, 4>>(a), read_bits<bits_vector<short, 4>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k2_f32_f32_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX9__)
TLC_DEVICE void mfma_m32n32k2_f32_f32_f32(float *c, const float *a, const float *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x2f32(read_bits<bits_vector<float, 1>>(a),
                                             read_bits<bits_vector<float, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k4_f32_f32_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX9__)
TLC_DEVICE void mfma_m16n16k4_f32_f32_f32(float *c, const float *a, const float *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x4f32(read_bits<bits_vector<float, 1>>(a),
                                             read_bits<bits_vector<float, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k4_f64_f64_f64
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx90a__) || defined(__gfx942__) ||              \
    defined(__gfx950__)
TLC_DEVICE void mfma_m16n16k4_f64_f64_f64(double *c, const double *a, const double *b TLC_AT) {
  bits_vector<double, 4> sum = read_bits<bits_vector<double, 4>>(c);
  sum = __builtin_amdgcn_mfma_f64_16x16x4f64(read_bits<bits_vector<double, 1>>(a),
                                             read_bits<bits_vector<double, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k8_s8_s8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx908__) || defined(__gfx90a__)
TLC_DEVICE void mfma_m32n32k8_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  bits_vector<int, 16> sum = read_bits<bits_vector<int, 16>>(c);
  sum = __builtin_amdgcn_mfma_i32_32x32x8i8(read_bits<bits_vector<int, 1>>(a),
                                            read_bits<bits_vector<int, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k16_s8_s8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx908__) || defined(__gfx90a__)
TLC_DEVICE void mfma_m16n16k16_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  bits_vector<int, 4> sum = read_bits<bits_vector<int, 4>>(c);
  sum = __builtin_amdgcn_mfma_i32_16x16x16i8(read_bits<bits_vector<int, 1>>(a),
                                             read_bits<bits_vector<int, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k16_s8_s8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__) || defined(__gfx950__)
TLC_DEVICE void mfma_m32n32k16_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  bits_vector<int, 16> sum = read_bits<bits_vector<int, 16>>(c);
  sum = __builtin_amdgcn_mfma_i32_32x32x16_i8(read_bits<bits_vector<long, 1>>(a),
                                              read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k32_s8_s8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__) || defined(__gfx950__)
TLC_DEVICE void mfma_m16n16k32_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  bits_vector<int, 4> sum = read_bits<bits_vector<int, 4>>(c);
  sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(read_bits<bits_vector<long, 1>>(a),
                                              read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k4_xf32_xf32_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m32n32k4_xf32_xf32_f32(float *c, const float *a, const float *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x4_xf32(read_bits<bits_vector<float, 2>>(a),
                                               read_bits<bits_vector<float, 2>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k8_xf32_xf32_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m16n16k8_xf32_xf32_f32(float *c, const float *a, const float *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x8_xf32(read_bits<bits_vector<float, 2>>(a),
                                               read_bits<bits_vector<float, 2>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k16_e4m3fnuz_e4m3fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m32n32k16_e4m3fnuz_e4m3fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k16_e4m3fnuz_e5m2fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m32n32k16_e4m3fnuz_e5m2fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k16_e5m2fnuz_e4m3fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m32n32k16_e5m2fnuz_e4m3fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m32n32k16_e5m2fnuz_e5m2fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m32n32k16_e5m2fnuz_e5m2fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 16> sum = read_bits<bits_vector<float, 16>>(c);
  sum = __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k32_e4m3fnuz_e4m3fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m16n16k32_e4m3fnuz_e4m3fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k32_e4m3fnuz_e5m2fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m16n16k32_e4m3fnuz_e5m2fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k32_e5m2fnuz_e4m3fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m16n16k32_e5m2fnuz_e4m3fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ mfma_m16n16k32_e5m2fnuz_e5m2fnuz_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__gfx942__)
TLC_DEVICE void mfma_m16n16k32_e5m2fnuz_e5m2fnuz_f32(float *c, const uint8_t *a,
                                                     const uint8_t *b TLC_AT) {
  bits_vector<float, 4> sum = read_bits<bits_vector<float, 4>>(c);
  sum = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(
      read_bits<bits_vector<long, 1>>(a), read_bits<bits_vector<long, 1>>(b), sum, 0, 0, 0);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ wmma_m16n16k16_f16_f16_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_f16_f16_f32(float *c, const __half *a, const __half *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(
      read_bits<bits_vector<_Float16, 8>>(a), read_bits<bits_vector<_Float16, 8>>(b), sum);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(read_bits<bits_vector<_Float16, 16>>(a),
                                                   read_bits<bits_vector<_Float16, 16>>(b), sum);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_bf16_bf16_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_bf16_bf16_f32(float *c, const uint16_t *a,
                                             const uint16_t *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(read_bits<bits_vector<short, 8>>(a),
                                                          read_bits<bits_vector<short, 8>>(b), sum);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(read_bits<bits_vector<short, 16>>(a),
                                                    read_bits<bits_vector<short, 16>>(b), sum);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_f16_f16_f16
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_f16_f16_f16(__half *c, const __half *a, const __half *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<_Float16, 8> sum = read_bits<bits_vector<_Float16, 8>>(c);
  sum = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(
      read_bits<bits_vector<_Float16, 8>>(a), read_bits<bits_vector<_Float16, 8>>(b), sum);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<_Float16, 16> sum = read_bits<bits_vector<_Float16, 16>>(c);
  sum = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(
      read_bits<bits_vector<_Float16, 16>>(a), read_bits<bits_vector<_Float16, 16>>(b), sum, false);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_s8_s8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(
      true, read_bits<bits_vector<int, 2>>(a), true, read_bits<bits_vector<int, 2>>(b), sum, false);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, read_bits<bits_vector<int, 4>>(a), true,
                                                   read_bits<bits_vector<int, 4>>(b), sum, false);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_s8_u8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_s8_u8_s32(int32_t *c, const int8_t *a, const uint8_t *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, read_bits<bits_vector<int, 2>>(a),
                                                         false, read_bits<bits_vector<int, 2>>(b),
                                                         sum, false);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, read_bits<bits_vector<int, 4>>(a), false,
                                                   read_bits<bits_vector<int, 4>>(b), sum, false);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_u8_s8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_u8_s8_s32(int32_t *c, const uint8_t *a, const int8_t *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, read_bits<bits_vector<int, 2>>(a),
                                                         true, read_bits<bits_vector<int, 2>>(b),
                                                         sum, false);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, read_bits<bits_vector<int, 4>>(a), true,
                                                   read_bits<bits_vector<int, 4>>(b), sum, false);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_u8_u8_s32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX11__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_u8_u8_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
#ifdef __GFX12__
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, read_bits<bits_vector<int, 2>>(a),
                                                         false, read_bits<bits_vector<int, 2>>(b),
                                                         sum, false);
  memcpy(c, &sum, sizeof sum);
#else
  bits_vector<int, 8> sum = read_bits<bits_vector<int, 8>>(c);
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, read_bits<bits_vector<int, 4>>(a), false,
                                                   read_bits<bits_vector<int, 4>>(b), sum, false);
  memcpy(c, &sum, sizeof sum);
#endif
}
#endif

//@ wmma_m16n16k16_e4m3_e4m3_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_e4m3_e4m3_f32(float *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(
      read_bits<bits_vector<int, 2>>(a), read_bits<bits_vector<int, 2>>(b), sum);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ wmma_m16n16k16_e4m3_e5m2_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_e4m3_e5m2_f32(float *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(
      read_bits<bits_vector<int, 2>>(a), read_bits<bits_vector<int, 2>>(b), sum);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ wmma_m16n16k16_e5m2_e4m3_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_e5m2_e4m3_f32(float *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(
      read_bits<bits_vector<int, 2>>(a), read_bits<bits_vector<int, 2>>(b), sum);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ wmma_m16n16k16_e5m2_e5m2_f32
#if !defined(__HIP_DEVICE_COMPILE__) || defined(__GFX12__)
TLC_DEVICE void wmma_m16n16k16_e5m2_e5m2_f32(float *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  bits_vector<float, 8> sum = read_bits<bits_vector<float, 8>>(c);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(
      read_bits<bits_vector<int, 2>>(a), read_bits<bits_vector<int, 2>>(b), sum);
  memcpy(c, &sum, sizeof sum);
}
#endif

//@ end
} // namespace tlc
#endif
