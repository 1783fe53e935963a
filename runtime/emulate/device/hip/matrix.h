// The functions of hip/matrix.h.
namespace tlc {

#define EMU_PRODUCT(form, M, N, K, a, b, c, KA, KB, A, B, C, first, last)                          \
  TLC_DEVICE void form##_m##M##n##N##k##K##_##a##_##b##_##c(C *sum, const A *left,                 \
                                                            const B *right TLC_AT) {               \
    ::emu::wave_multiply(                                                                          \
        {M, N, K, ::emu::Element::KA, ::emu::Element::KB, ::emu::Element::c, first, last}, sum,    \
        left, right, EMU_ROOMS(sum, left, right) TLC_HERE);                                        \
  }
#include "products.def"

} // namespace tlc
