// The functions of cuda/matrix.cuh.
namespace tlc {

template <class T> TLC_DEVICE uint32_t *words(T *elements) {
  return reinterpret_cast<uint32_t *>(elements);
}
template <class T> TLC_DEVICE const uint32_t *words(const T *elements) {
  return reinterpret_cast<const uint32_t *>(elements);
}

#define EMU_MOVES(name, count, trans)                                                              \
  TLC_DEVICE void ld##name(void *registers, const void *row TLC_AT) {                              \
    ::emu::ldmatrix(static_cast<uint32_t *>(registers), count, trans,                              \
                    shared_address(row) TLC_HERE);                                                 \
  }                                                                                                \
  TLC_DEVICE void st##name(void *row, const void *registers TLC_AT) {                              \
    ::emu::stmatrix(static_cast<const uint32_t *>(registers), count, trans,                        \
                    shared_address(row) TLC_HERE);                                                 \
  }
EMU_MOVES(matrix_x1, 1, false)
EMU_MOVES(matrix_x2, 2, false)
EMU_MOVES(matrix_x4, 4, false)
EMU_MOVES(matrix_x1_trans, 1, true)
EMU_MOVES(matrix_x2_trans, 2, true)
EMU_MOVES(matrix_x4_trans, 4, true)
#undef EMU_MOVES

#define EMU_PRODUCT(M, N, K, a, b, c, A, B, C)                                                     \
  TLC_DEVICE void mma_m##M##n##N##k##K##_##a##_##b##_##c(C *sum, const A *left,                    \
                                                         const B *right TLC_AT) {                  \
    ::emu::mma({M, N, K, ::emu::Element::a, ::emu::Element::b, ::emu::Element::c}, sum, left,      \
               right TLC_HERE);                                                                    \
  }
EMU_PRODUCT(16, 8, 8, f16, f16, f32, __half, __half, float)
EMU_PRODUCT(16, 8, 8, f16, f16, f16, __half, __half, __half)
EMU_PRODUCT(8, 8, 16, s8, s8, s32, int8_t, int8_t, int32_t)
EMU_PRODUCT(8, 8, 16, u8, u8, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(8, 8, 16, s8, u8, s32, int8_t, uint8_t, int32_t)
EMU_PRODUCT(8, 8, 16, u8, s8, s32, uint8_t, int8_t, int32_t)
EMU_PRODUCT(8, 8, 32, s4, s4, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(8, 8, 32, u4, u4, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(16, 8, 16, f16, f16, f32, __half, __half, float)
EMU_PRODUCT(16, 8, 16, f16, f16, f16, __half, __half, __half)
EMU_PRODUCT(16, 8, 16, bf16, bf16, f32, __nv_bfloat16, __nv_bfloat16, float)
EMU_PRODUCT(16, 8, 8, bf16, bf16, f32, __nv_bfloat16, __nv_bfloat16, float)
EMU_PRODUCT(16, 8, 8, tf32, tf32, f32, float, float, float)
EMU_PRODUCT(16, 8, 4, tf32, tf32, f32, float, float, float)
EMU_PRODUCT(16, 8, 32, s8, s8, s32, int8_t, int8_t, int32_t)
EMU_PRODUCT(16, 8, 32, u8, u8, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(16, 8, 32, s8, u8, s32, int8_t, uint8_t, int32_t)
EMU_PRODUCT(16, 8, 32, u8, s8, s32, uint8_t, int8_t, int32_t)
EMU_PRODUCT(16, 8, 16, s8, s8, s32, int8_t, int8_t, int32_t)
EMU_PRODUCT(16, 8, 16, u8, u8, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(16, 8, 64, s4, s4, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(16, 8, 64, u4, u4, s32, uint8_t, uint8_t, int32_t)
EMU_PRODUCT(8, 8, 4, f64, f64, f64, double, double, double)
EMU_PRODUCT(16, 8, 32, e4m3, e4m3, f32, float8_e4m3, float8_e4m3, float)
EMU_PRODUCT(16, 8, 32, e5m2, e5m2, f32, float8_e5m2, float8_e5m2, float)
EMU_PRODUCT(16, 8, 32, e4m3, e5m2, f32, float8_e4m3, float8_e5m2, float)
EMU_PRODUCT(16, 8, 32, e5m2, e4m3, f32, float8_e5m2, float8_e4m3, float)
#undef EMU_PRODUCT

} // namespace tlc
