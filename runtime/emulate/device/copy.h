// The functions of gpu/copy.h. They are the same plain accesses, but an array that they are given
// escapes to them: without that a compiler that has inlined everything watches what goes by way of
// the pointer and not what goes by the array's name, and a register would seem to be read that
// nothing set.
namespace tlc {

template <int Bytes> struct unit;
template <> struct unit<1> { using type = uint8_t; };
template <> struct unit<2> { using type = uint16_t; };
template <> struct unit<4> { using type = uint32_t; };
template <> struct unit<8> { using type = uint2; };
template <> struct unit<16> { using type = uint4; };

template <class T> TLC_DEVICE T *escaped(T *p) {
  asm volatile("" ::"r"(p));
  return p;
}

template <int Bytes> TLC_DEVICE void copy_or_zero(void *to, const void *from, bool valid TLC_AT) {
  ::emu::check_room(EMU_ROOM(to), Bytes TLC_HERE);
  ::emu::check_room(EMU_ROOM(from), Bytes TLC_HERE);
  constexpr int width = Bytes > 16 ? 16 : Bytes;
  static_assert(Bytes % width == 0, "long copies are made of 16-byte ones");
  using word = typename unit<width>::type;
  word *const target = static_cast<word *>(escaped(to));
  const word *const source = static_cast<const word *>(escaped(from));
#pragma unroll
  for (int i = 0; i < Bytes / width; ++i)
    target[i] = valid ? source[i] : word{};
}
template <int Bytes> TLC_DEVICE void copy(void *to, const void *from TLC_AT) {
  copy_or_zero<Bytes>(to, from, true TLC_HERE);
}
template <int N, class T> TLC_DEVICE void copy_elements(T *to, const T *from TLC_AT) {
  ::emu::check_room(EMU_ROOM(to), N * sizeof(T) TLC_HERE);
  ::emu::check_room(EMU_ROOM(from), N * sizeof(T) TLC_HERE);
  escaped(to), escaped(from);
#pragma unroll
  for (int i = 0; i < N; ++i)
    to[i] = from[i];
}
template <int N, class T> TLC_DEVICE void fill_elements(T *to, T value TLC_AT) {
  ::emu::check_room(EMU_ROOM(to), N * sizeof(T) TLC_HERE);
  escaped(to);
#pragma unroll
  for (int i = 0; i < N; ++i)
    to[i] = value;
}
template <int N, class T> TLC_DEVICE vec<T, N> load_vec(const T *from TLC_AT) {
  vec<T, N> value;
  copy<int(sizeof(T)) * N>(&value, from TLC_HERE);
  return value;
}
template <class T, int N> TLC_DEVICE void store_vec(T *to, const vec<T, N> &value TLC_AT) {
  copy<int(sizeof(T)) * N>(to, &value TLC_HERE);
}

} // namespace tlc
