// The functions of cuda/wgmma.cuh, and all the products that the compiler can write.
namespace tlc {

TLC_DEVICE void wgmma_fence(::emu::Site emu_site = {}) { ::emu::wgmma_fence(emu_site); }
TLC_DEVICE void wgmma_commit(::emu::Site emu_site = {}) { ::emu::wgmma_commit(emu_site); }
template <int Pending> TLC_DEVICE void wgmma_wait(::emu::Site emu_site = {}) {
  ::emu::wgmma_wait(Pending, emu_site);
}
template <int N, class T> TLC_DEVICE void wgmma_pin(T *d TLC_AT) {
  ::emu::check_room(EMU_ROOM(d), N * sizeof(T) TLC_HERE);
  ::emu::wgmma_pin(d, N * sizeof(T) TLC_HERE);
}
// 16-bit operands may be contiguous along m or n; of the others the templates have no parameter. K
// is what A keeps along k, K2 twice as many: products of an A with zeros. Selector: which two lanes
// of four hold their metadata.
#define EMU_SHAPE(N, K, a, b, c, ...)                                                              \
  { N, K, ::emu::Element::a, ::emu::Element::b, ::emu::Element::c, __VA_ARGS__ }
#define EMU_TRANSPOSABLE(N, K, K2, a, b, c, C)                                                     \
  template <int TransA, int TransB>                                                                \
  TLC_DEVICE void wgmma_m64n##N##k##K##_##a##_##b##_##c##_ss(C *d, uint64_t left, uint64_t right,  \
                                                             bool accumulate TLC_AT) {             \
    ::emu::wgmma(EMU_SHAPE(N, K, a, b, c, TransA != 0, TransB != 0), d, left, nullptr, right,      \
                 accumulate, EMU_ROOMS(d, d, d) TLC_HERE);                                         \
  }                                                                                                \
  template <int TransB>                                                                            \
  TLC_DEVICE void wgmma_m64n##N##k##K##_##a##_##b##_##c##_rs(                                      \
      C *d, const void *left, uint64_t right, bool accumulate TLC_AT) {                            \
    ::emu::wgmma(EMU_SHAPE(N, K, a, b, c, false, TransB != 0), d, 0,                               \
                 static_cast<const uint32_t *>(left), right, accumulate,                           \
                 EMU_ROOMS(d, left, d) TLC_HERE);                                                  \
  }                                                                                                \
  template <int Selector, int TransA, int TransB>                                                  \
  TLC_DEVICE void wgmma_sp_m64n##N##k##K2##_##a##_##b##_##c##_ss(                                  \
      C *d, uint64_t left, uint64_t right, uint32_t metadata, bool accumulate TLC_AT) {            \
    ::emu::wgmma(EMU_SHAPE(N, K2, a, b, c, TransA != 0, TransB != 0, true, Selector, metadata), d, \
                 left, nullptr, right, accumulate, EMU_ROOMS(d, d, d) TLC_HERE);                   \
  }                                                                                                \
  template <int Selector, int TransB>                                                              \
  TLC_DEVICE void wgmma_sp_m64n##N##k##K2##_##a##_##b##_##c##_rs(                                  \
      C *d, const void *left, uint64_t right, uint32_t metadata, bool accumulate TLC_AT) {         \
    ::emu::wgmma(EMU_SHAPE(N, K2, a, b, c, false, TransB != 0, true, Selector, metadata), d, 0,    \
                 static_cast<const uint32_t *>(left), right, accumulate,                           \
                 EMU_ROOMS(d, left, d) TLC_HERE);                                                  \
  }
#define EMU_PLAIN(N, K, K2, a, b, c, C) EMU_FIXED(N, K, K2, a, b, c, C, , 0)
#define EMU_SELECTABLE(N, K, K2, a, b, c, C)                                                       \
  EMU_FIXED(N, K, K2, a, b, c, C, template <int Selector>, Selector)
#define EMU_FIXED(N, K, K2, a, b, c, C, parameters, selector)                                      \
  TLC_DEVICE void wgmma_m64n##N##k##K##_##a##_##b##_##c##_ss(C *d, uint64_t left, uint64_t right,  \
                                                             bool accumulate TLC_AT) {             \
    ::emu::wgmma(EMU_SHAPE(N, K, a, b, c, false, false), d, left, nullptr, right, accumulate,      \
                 EMU_ROOMS(d, d, d) TLC_HERE);                                                     \
  }                                                                                                \
  TLC_DEVICE void wgmma_m64n##N##k##K##_##a##_##b##_##c##_rs(                                      \
      C *d, const void *left, uint64_t right, bool accumulate TLC_AT) {                            \
    ::emu::wgmma(EMU_SHAPE(N, K, a, b, c, false, false), d, 0,                                     \
                 static_cast<const uint32_t *>(left), right, accumulate,                           \
                 EMU_ROOMS(d, left, d) TLC_HERE);                                                  \
  }                                                                                                \
  parameters TLC_DEVICE void wgmma_sp_m64n##N##k##K2##_##a##_##b##_##c##_ss(                       \
      C *d, uint64_t left, uint64_t right, uint32_t metadata, bool accumulate TLC_AT) {            \
    ::emu::wgmma(EMU_SHAPE(N, K2, a, b, c, false, false, true, selector, metadata), d, left,       \
                 nullptr, right, accumulate, EMU_ROOMS(d, d, d) TLC_HERE);                         \
  }                                                                                                \
  parameters TLC_DEVICE void wgmma_sp_m64n##N##k##K2##_##a##_##b##_##c##_rs(                       \
      C *d, const void *left, uint64_t right, uint32_t metadata, bool accumulate TLC_AT) {         \
    ::emu::wgmma(EMU_SHAPE(N, K2, a, b, c, false, false, true, selector, metadata), d, 0,          \
                 static_cast<const uint32_t *>(left), right, accumulate,                           \
                 EMU_ROOMS(d, left, d) TLC_HERE);                                                  \
  }
// Integers have 8, 16, 24 and multiples of 16 columns, floats all multiples of 8.
#define EMU_EVEN_WIDTHS(F, ...)                                                                    \
  F(8, __VA_ARGS__)                                                                                \
  F(16, __VA_ARGS__)                                                                               \
  F(24, __VA_ARGS__)                                                                               \
  F(32, __VA_ARGS__)                                                                               \
  F(48, __VA_ARGS__)                                                                               \
  F(64, __VA_ARGS__)                                                                               \
  F(80, __VA_ARGS__)                                                                               \
  F(96, __VA_ARGS__)                                                                               \
  F(112, __VA_ARGS__)                                                                              \
  F(128, __VA_ARGS__)                                                                              \
  F(144, __VA_ARGS__)                                                                              \
  F(160, __VA_ARGS__)                                                                              \
  F(176, __VA_ARGS__)                                                                              \
  F(192, __VA_ARGS__)                                                                              \
  F(208, __VA_ARGS__)                                                                              \
  F(224, __VA_ARGS__)                                                                              \
  F(240, __VA_ARGS__)                                                                              \
  F(256, __VA_ARGS__)
#define EMU_WIDTHS(F, ...)                                                                         \
  EMU_EVEN_WIDTHS(F, __VA_ARGS__)                                                                  \
  F(40, __VA_ARGS__)                                                                               \
  F(56, __VA_ARGS__)                                                                               \
  F(72, __VA_ARGS__)                                                                               \
  F(88, __VA_ARGS__)                                                                               \
  F(104, __VA_ARGS__)                                                                              \
  F(120, __VA_ARGS__)                                                                              \
  F(136, __VA_ARGS__)                                                                              \
  F(152, __VA_ARGS__)                                                                              \
  F(168, __VA_ARGS__)                                                                              \
  F(184, __VA_ARGS__)                                                                              \
  F(200, __VA_ARGS__)                                                                              \
  F(216, __VA_ARGS__)                                                                              \
  F(232, __VA_ARGS__)                                                                              \
  F(248, __VA_ARGS__)
EMU_WIDTHS(EMU_TRANSPOSABLE, 16, 32, f16, f16, f32, float)
EMU_WIDTHS(EMU_TRANSPOSABLE, 16, 32, f16, f16, f16, __half)
EMU_WIDTHS(EMU_TRANSPOSABLE, 16, 32, bf16, bf16, f32, float)
EMU_WIDTHS(EMU_SELECTABLE, 8, 16, tf32, tf32, f32, float)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e4m3, e4m3, f32, float)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e4m3, e4m3, f16, __half)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e4m3, e5m2, f32, float)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e4m3, e5m2, f16, __half)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e5m2, e4m3, f32, float)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e5m2, e4m3, f16, __half)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e5m2, e5m2, f32, float)
EMU_WIDTHS(EMU_PLAIN, 32, 64, e5m2, e5m2, f16, __half)
EMU_EVEN_WIDTHS(EMU_PLAIN, 32, 64, s8, s8, s32, int32_t)
EMU_EVEN_WIDTHS(EMU_PLAIN, 32, 64, s8, u8, s32, int32_t)
EMU_EVEN_WIDTHS(EMU_PLAIN, 32, 64, u8, s8, s32, int32_t)
EMU_EVEN_WIDTHS(EMU_PLAIN, 32, 64, u8, u8, s32, int32_t)
#undef EMU_WIDTHS
#undef EMU_EVEN_WIDTHS
#undef EMU_PLAIN
#undef EMU_SELECTABLE
#undef EMU_FIXED
#undef EMU_SHAPE
#undef EMU_TRANSPOSABLE

} // namespace tlc
