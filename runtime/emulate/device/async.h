// The functions of cuda/async.cuh.
namespace tlc {

TLC_DEVICE uint32_t shared_address(const void *p) { return ::emu::to_shared(p); }

template <int Bytes> TLC_DEVICE void cp_async(void *to, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  ::emu::cp_async(shared_address(to), from, Bytes, Bytes TLC_HERE);
}
template <int Bytes> TLC_DEVICE void cp_async(void *to, const void *from, bool valid TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  ::emu::cp_async(shared_address(to), from, Bytes, valid ? Bytes : 0 TLC_HERE);
}
TLC_DEVICE void cp_async_commit() { ::emu::cp_async_commit(); }
template <int Pending> TLC_DEVICE void cp_async_wait() { ::emu::cp_async_wait(Pending); }

} // namespace tlc
