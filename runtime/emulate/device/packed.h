// The functions of portable/packed.h, and those that store such elements in memory that others
// write at the same time. Only the half that is meant is read or written: its neighbour may be
// another thread's.
namespace tlc {

// What compilers make of a loop of zeros is not watched.
template <int N> TLC_DEVICE void zero_bytes(uint8_t (&bytes)[N]) {
  for (int i = 0; i < N; ++i)
    bytes[i] = 0;
  ::emu::mark_written(bytes, N);
}

// In memory, or of the thread's own. Inlined its access would be watched as one of the whole byte.
__attribute__((noinline, no_sanitize("thread"))) inline uint8_t get_uint4(const uint8_t *packed,
                                                                          int64_t i TLC_AT) {
  ::emu::access_half(packed + (i >> 1), int(i & 1), false TLC_HERE);
  return uint8_t(packed[i >> 1] >> int(i & 1) * 4 & 15);
}
TLC_DEVICE int8_t get_int4(const uint8_t *packed, int64_t i TLC_AT) {
  return int8_t((get_uint4(packed, i TLC_HERE) ^ 8) - 8);
}

// Of the thread's own.
TLC_DEVICE void set_uint4(uint8_t *packed, int64_t i, uint8_t value) {
  const int shift = int(i & 1) * 4;
  packed[i >> 1] = uint8_t((packed[i >> 1] & ~(15 << shift)) | (value & 15) << shift);
}
TLC_DEVICE void set_int4(uint8_t *packed, int64_t i, int8_t value) {
  set_uint4(packed, i, uint8_t(value));
}

__attribute__((noinline, no_sanitize("thread"))) inline void put_uint4(uint8_t *packed, int64_t i,
                                                                       uint8_t value TLC_AT) {
  uint8_t *const p = packed + (i >> 1);
  const int shift = int(i & 1) * 4;
  ::emu::access_half(p, int(i & 1), true TLC_HERE);
  *p = uint8_t((*p & ~(15 << shift)) | (value & 15) << shift);
}
TLC_DEVICE void put_int4(uint8_t *packed, int64_t i, int8_t value TLC_AT) {
  put_uint4(packed, i, uint8_t(value) TLC_HERE);
}

} // namespace tlc
