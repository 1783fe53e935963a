// The functions of hip/memory.h.
namespace tlc {

template <int Bytes> TLC_DEVICE void load_to_shared(void *base, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 16, "loads to shared memory move 4 or 16 bytes");
  ::emu::lds_load(::emu::to_shared(base), from, Bytes TLC_HERE);
}

struct buffer {
  const void *base;
  uint32_t bytes;
};
TLC_DEVICE buffer make_buffer(const void *base, uint32_t bytes) { return {base, bytes}; }
template <int Bytes>
TLC_DEVICE void buffer_load(void *to, const buffer &from, uint32_t offset TLC_AT) {
  ::emu::check_room(EMU_ROOM(to), Bytes TLC_HERE);
  ::emu::buffer_load(to, {from.base, from.bytes, offset, Bytes} TLC_HERE);
}
template <int Bytes>
TLC_DEVICE void buffer_store(const buffer &to, uint32_t offset, const void *from TLC_AT) {
  ::emu::check_room(EMU_ROOM(from), Bytes TLC_HERE);
  ::emu::buffer_store(from, {to.base, to.bytes, offset, Bytes} TLC_HERE);
}

} // namespace tlc
