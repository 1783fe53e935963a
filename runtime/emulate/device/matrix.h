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
    ::emu::check_room(EMU_ROOM(registers), count * 4 TLC_HERE);                                    \
    ::emu::ldmatrix(static_cast<uint32_t *>(registers), count, trans,                              \
                    own_address(row TLC_HERE) TLC_HERE);                                           \
  }                                                                                                \
  TLC_DEVICE void st##name(void *row, const void *registers TLC_AT) {                              \
    ::emu::check_room(EMU_ROOM(registers), count * 4 TLC_HERE);                                    \
    ::emu::stmatrix(static_cast<const uint32_t *>(registers), count, trans,                        \
                    own_address(row TLC_HERE) TLC_HERE);                                           \
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
               right, EMU_ROOMS(sum, left, right) TLC_HERE);                                       \
  }
#include "products.def"

} // namespace tlc
