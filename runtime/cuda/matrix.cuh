// Matrix instructions of a warp. mma_mXnYkZ_a_b_c: c += a b, where each lane passes the elements that the
// PTX manual gives it, in the manual's order, from 4-byte aligned arrays. 4-bit elements lie in pairs.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/matrix.h stands for it
#include "async.cuh"
#include "convert.cuh"

namespace tlc {

//@ words
// The 32-bit registers that hold an array of narrow elements.
template <class T> TLC_DEVICE uint32_t *words(T *elements) {
  return reinterpret_cast<uint32_t *>(elements);
}
template <class T> TLC_DEVICE const uint32_t *words(const T *elements) {
  return reinterpret_cast<const uint32_t *>(elements);
}

//@ ldmatrix_x1
// One 8x8 matrix of 16-bit elements: lanes 0-7 point to the rows, each lane gets 1 word.
TLC_DEVICE void ldmatrix_x1(void *registers, const void *row TLC_AT) {
  uint32_t *r = static_cast<uint32_t *>(registers);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
}

//@ ldmatrix_x1_trans
// One 8x8 matrix of 16-bit elements, transposed: lanes 0-7 point to the rows, each lane gets 1 word.
TLC_DEVICE void ldmatrix_x1_trans(void *registers, const void *row TLC_AT) {
  uint32_t *r = static_cast<uint32_t *>(registers);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
}

//@ ldmatrix_x2
// Two 8x8 matrices of 16-bit elements: lanes 0-15 point to the rows, each lane gets 2 words.
TLC_DEVICE void ldmatrix_x2(void *registers, const void *row TLC_AT) {
  uint32_t *r = static_cast<uint32_t *>(registers);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

//@ ldmatrix_x2_trans
// Two 8x8 matrices of 16-bit elements, transposed: lanes 0-15 point to the rows, each lane gets 2 words.
TLC_DEVICE void ldmatrix_x2_trans(void *registers, const void *row TLC_AT) {
  uint32_t *r = static_cast<uint32_t *>(registers);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

//@ ldmatrix_x4
// Four 8x8 matrices of 16-bit elements: all lanes point to the rows, each lane gets 4 words.
TLC_DEVICE void ldmatrix_x4(void *registers, const void *row TLC_AT) {
  uint32_t *r = static_cast<uint32_t *>(registers);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

//@ ldmatrix_x4_trans
// Four 8x8 matrices of 16-bit elements, transposed: all lanes point to the rows, each lane gets 4 words.
TLC_DEVICE void ldmatrix_x4_trans(void *registers, const void *row TLC_AT) {
  uint32_t *r = static_cast<uint32_t *>(registers);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

//@ stmatrix_x1
// The inverse of ldmatrix_x1, from sm_90 on.
TLC_DEVICE void stmatrix_x1(void *row, const void *registers TLC_AT) {
  const uint32_t *r = static_cast<const uint32_t *>(registers);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(
                   shared_address(row)),
               "r"(r[0])
               : "memory");
}

//@ stmatrix_x1_trans
// The inverse of ldmatrix_x1_trans, from sm_90 on.
TLC_DEVICE void stmatrix_x1_trans(void *row, const void *registers TLC_AT) {
  const uint32_t *r = static_cast<const uint32_t *>(registers);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(
                   shared_address(row)),
               "r"(r[0])
               : "memory");
}

//@ stmatrix_x2
// The inverse of ldmatrix_x2, from sm_90 on.
TLC_DEVICE void stmatrix_x2(void *row, const void *registers TLC_AT) {
  const uint32_t *r = static_cast<const uint32_t *>(registers);
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                   shared_address(row)),
               "r"(r[0]), "r"(r[1])
               : "memory");
}

//@ stmatrix_x2_trans
// The inverse of ldmatrix_x2_trans, from sm_90 on.
TLC_DEVICE void stmatrix_x2_trans(void *row, const void *registers TLC_AT) {
  const uint32_t *r = static_cast<const uint32_t *>(registers);
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
                   shared_address(row)),
               "r"(r[0]), "r"(r[1])
               : "memory");
}

//@ stmatrix_x4
// The inverse of ldmatrix_x4, from sm_90 on.
TLC_DEVICE void stmatrix_x4(void *row, const void *registers TLC_AT) {
  const uint32_t *r = static_cast<const uint32_t *>(registers);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_address(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

//@ stmatrix_x4_trans
// The inverse of ldmatrix_x4_trans, from sm_90 on.
TLC_DEVICE void stmatrix_x4_trans(void *row, const void *registers TLC_AT) {
  const uint32_t *r = static_cast<const uint32_t *>(registers);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   shared_address(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

//@ mma_m16n8k8_f16_f16_f32
TLC_DEVICE void mma_m16n8k8_f16_f16_f32(float *c, const __half *a, const __half *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]),
                 "r"(words(b)[0]));
}

//@ mma_m16n8k8_f16_f16_f16
TLC_DEVICE void mma_m16n8k8_f16_f16_f16(__half *c, const __half *a, const __half *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
               "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
               : "+r"(words(c)[0]), "+r"(words(c)[1])
               : "r"(words(a)[0]), "r"(words(a)[1]),
                 "r"(words(b)[0]));
}

//@ mma_m8n8k16_s8_s8_s32
TLC_DEVICE void mma_m8n8k16_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(words(a)[0]),
                 "r"(words(b)[0]));
}

//@ mma_m8n8k16_u8_u8_s32
TLC_DEVICE void mma_m8n8k16_u8_u8_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(words(a)[0]),
                 "r"(words(b)[0]));
}

//@ mma_m8n8k16_s8_u8_s32
TLC_DEVICE void mma_m8n8k16_s8_u8_s32(int32_t *c, const int8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(words(a)[0]),
                 "r"(words(b)[0]));
}

//@ mma_m8n8k16_u8_s8_s32
TLC_DEVICE void mma_m8n8k16_u8_s8_s32(int32_t *c, const uint8_t *a, const int8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(words(a)[0]),
                 "r"(words(b)[0]));
}

//@ mma_m8n8k32_s4_s4_s32
TLC_DEVICE void mma_m8n8k32_s4_s4_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(words(a)[0]),
                 "r"(words(b)[0]));
}

//@ mma_m8n8k32_u4_u4_s32
TLC_DEVICE void mma_m8n8k32_u4_u4_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.u4.u4.s32 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(words(a)[0]),
                 "r"(words(b)[0]));
}

//@ mma_m16n8k16_f16_f16_f32
TLC_DEVICE void mma_m16n8k16_f16_f16_f32(float *c, const __half *a, const __half *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k16_f16_f16_f16
TLC_DEVICE void mma_m16n8k16_f16_f16_f16(__half *c, const __half *a, const __half *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
               "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(words(c)[0]), "+r"(words(c)[1])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k16_bf16_bf16_f32
TLC_DEVICE void mma_m16n8k16_bf16_bf16_f32(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k8_bf16_bf16_f32
TLC_DEVICE void mma_m16n8k8_bf16_bf16_f32(float *c, const __nv_bfloat16 *a, const __nv_bfloat16 *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]),
                 "r"(words(b)[0]));
}

//@ mma_m16n8k8_tf32_tf32_f32
TLC_DEVICE void mma_m16n8k8_tf32_tf32_f32(float *c, const float *a, const float *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k4_tf32_tf32_f32
TLC_DEVICE void mma_m16n8k4_tf32_tf32_f32(float *c, const float *a, const float *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]),
                 "r"(words(b)[0]));
}

//@ mma_m16n8k32_s8_s8_s32
TLC_DEVICE void mma_m16n8k32_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k32_u8_u8_s32
TLC_DEVICE void mma_m16n8k32_u8_u8_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k32_s8_u8_s32
TLC_DEVICE void mma_m16n8k32_s8_u8_s32(int32_t *c, const int8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k32_u8_s8_s32
TLC_DEVICE void mma_m16n8k32_u8_s8_s32(int32_t *c, const uint8_t *a, const int8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k16_s8_s8_s32
TLC_DEVICE void mma_m16n8k16_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]),
                 "r"(words(b)[0]));
}

//@ mma_m16n8k16_u8_u8_s32
TLC_DEVICE void mma_m16n8k16_u8_u8_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]),
                 "r"(words(b)[0]));
}

//@ mma_m16n8k64_s4_s4_s32
TLC_DEVICE void mma_m16n8k64_s4_s4_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k64_u4_u4_s32
TLC_DEVICE void mma_m16n8k64_u4_u4_s32(int32_t *c, const uint8_t *a, const uint8_t *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m8n8k4_f64_f64_f64
TLC_DEVICE void mma_m8n8k4_f64_f64_f64(double *c, const double *a, const double *b TLC_AT) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a[0]),
                 "d"(b[0]));
}

//@ mma_m16n8k32_e4m3_e4m3_f32
TLC_DEVICE void mma_m16n8k32_e4m3_e4m3_f32(float *c, const float8_e4m3 *a, const float8_e4m3 *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k32_e5m2_e5m2_f32
TLC_DEVICE void mma_m16n8k32_e5m2_e5m2_f32(float *c, const float8_e5m2 *a, const float8_e5m2 *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k32_e4m3_e5m2_f32
TLC_DEVICE void mma_m16n8k32_e4m3_e5m2_f32(float *c, const float8_e4m3 *a, const float8_e5m2 *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ mma_m16n8k32_e5m2_e4m3_f32
TLC_DEVICE void mma_m16n8k32_e5m2_e4m3_f32(float *c, const float8_e5m2 *a, const float8_e4m3 *b TLC_AT) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]));
}

//@ end
} // namespace tlc
#endif
