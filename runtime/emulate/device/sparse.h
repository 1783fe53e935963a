// The functions of cuda/sparse.cuh.
namespace tlc {

#define EMU_PRODUCT(K, a, b, c, A, B, C)                                                           \
  template <int Selector = 0>                                                                      \
  TLC_DEVICE void mma_sp_m16n8k##K##_##a##_##b##_##c(C *sum, const A *left, const B *right,        \
                                                     uint32_t metadata TLC_AT) {                   \
    ::emu::mma_sparse({16, 8, K, ::emu::Element::a, ::emu::Element::b, ::emu::Element::c},         \
                      Selector, sum, left, right, metadata, EMU_ROOMS(sum, left, right) TLC_HERE); \
  }
#include "sparse.def"

} // namespace tlc
