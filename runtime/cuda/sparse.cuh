// Products of a warp whose A has zeros: of four neighbours along k two are kept (mma.sp, sm_80).
// Those lie as A of a product of half the depth does; B and the sum as in matrix.cuh. `metadata`
// says which two, 2 bits each in ascending order:
//   16-bit elements   lanes 4 g + 2 Selector and the next: rows g (low half) and g + 8 (high half),
//                     the first lane k 0 to 15, the other 16 to 31
//   tfloat32          as 16-bit elements: each counts as two, of which both or none are kept
//   8-bit elements    lane 4 g + t: row g + t % 2 * 8, k from t / 2 * 32 on; Selector is 0
#pragma once

#ifndef TLC_EMULATE // there emulate/device/sparse.h stands for it
#include "convert.cuh"
#include "matrix.cuh"

//@ TLC_SPARSE
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 5)
#define TLC_SPARSE "mma.sp::ordered_metadata.sync.aligned"
#else
#define TLC_SPARSE "mma.sp.sync.aligned"
#endif

namespace tlc {

//@ mma_sp_m16n8k32_f16_f16_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k32_f16_f16_f32(float *c, const __half *a, const __half *b,
                                            uint32_t metadata TLC_AT) {
  static_assert(Selector == 0 || Selector == 1, "a pair of lanes holds the metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k32_bf16_bf16_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k32_bf16_bf16_f32(float *c, const __nv_bfloat16 *a,
                                              const __nv_bfloat16 *b, uint32_t metadata TLC_AT) {
  static_assert(Selector == 0 || Selector == 1, "a pair of lanes holds the metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k32_f16_f16_f16
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k32_f16_f16_f16(__half *c, const __half *a, const __half *b,
                                            uint32_t metadata TLC_AT) {
  static_assert(Selector == 0 || Selector == 1, "a pair of lanes holds the metadata");
  uint32_t *d = words(c);
  asm volatile(TLC_SPARSE ".m16n8k32.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7, "
                          "%8, %9}, {%0, %1}, %10, %11;"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k16_tf32_tf32_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k16_tf32_tf32_f32(float *c, const float *a, const float *b,
                                              uint32_t metadata TLC_AT) {
  static_assert(Selector == 0 || Selector == 1, "a pair of lanes holds the metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k16.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_s8_s8_s32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_s8_s8_s32(int32_t *c, const int8_t *a, const int8_t *b,
                                          uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  int32_t *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_s8_u8_s32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_s8_u8_s32(int32_t *c, const int8_t *a, const uint8_t *b,
                                          uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  int32_t *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_u8_s8_s32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_u8_s8_s32(int32_t *c, const uint8_t *a, const int8_t *b,
                                          uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  int32_t *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_u8_u8_s32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_u8_u8_s32(int32_t *c, const uint8_t *a, const uint8_t *b,
                                          uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  int32_t *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_e4m3_e4m3_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_e4m3_e4m3_f32(float *c, const float8_e4m3 *a, const float8_e4m3 *b,
                                              uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_e4m3_e5m2_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_e4m3_e5m2_f32(float *c, const float8_e4m3 *a, const float8_e5m2 *b,
                                              uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_e5m2_e4m3_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_e5m2_e4m3_f32(float *c, const float8_e5m2 *a, const float8_e4m3 *b,
                                              uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ mma_sp_m16n8k64_e5m2_e5m2_f32
template <int Selector = 0>
TLC_DEVICE void mma_sp_m16n8k64_e5m2_e5m2_f32(float *c, const float8_e5m2 *a, const float8_e5m2 *b,
                                              uint32_t metadata TLC_AT) {
  static_assert(Selector == 0, "all lanes hold metadata");
  float *d = c;
  asm volatile(TLC_SPARSE ".m16n8k64.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(words(a)[0]), "r"(words(a)[1]), "r"(words(a)[2]), "r"(words(a)[3]),
                 "r"(words(b)[0]), "r"(words(b)[1]), "r"(words(b)[2]), "r"(words(b)[3]),
                 "r"(metadata), "n"(Selector));
}

//@ end
} // namespace tlc
#endif
