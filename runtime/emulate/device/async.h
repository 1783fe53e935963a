// The functions of cuda/async.cuh.
namespace tlc {

TLC_DEVICE uint32_t shared_address(const void *p) { return ::emu::to_shared(p); }
// Of instructions that reach no other block of the cluster.
TLC_DEVICE uint32_t own_address(const void *p TLC_AT) { return ::emu::own_shared(p TLC_HERE); }

template <int Bytes> TLC_DEVICE void cp_async(void *to, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  ::emu::cp_async(own_address(to TLC_HERE), from, Bytes, Bytes TLC_HERE);
}
template <int Bytes> TLC_DEVICE void cp_async(void *to, const void *from, bool valid TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async moves 4, 8 or 16 bytes");
  ::emu::cp_async(own_address(to TLC_HERE), from, Bytes, valid ? Bytes : 0 TLC_HERE);
}
TLC_DEVICE void cp_async_commit() { ::emu::cp_async_commit(); }
template <int Pending> TLC_DEVICE void cp_async_wait() { ::emu::cp_async_wait(Pending); }

} // namespace tlc
