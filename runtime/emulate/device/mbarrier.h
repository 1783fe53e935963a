// The functions of cuda/mbarrier.cuh.
namespace tlc {

TLC_DEVICE void mbarrier_init(uint64_t *barrier, int arrivals TLC_AT) {
  ::emu::mbarrier_init(own_address(barrier TLC_HERE), uint32_t(arrivals) TLC_HERE);
}
TLC_DEVICE void mbarrier_arrive(uint64_t *barrier TLC_AT) {
  ::emu::mbarrier_arrive(own_address(barrier TLC_HERE), 1, 0 TLC_HERE);
}
TLC_DEVICE void mbarrier_arrive_remote(uint64_t *barrier, int rank TLC_AT) {
  ::emu::mbarrier_arrive(::emu::map_shared(shared_address(barrier), uint32_t(rank)), 1, 0 TLC_HERE);
}
TLC_DEVICE void mbarrier_expect_tx(uint64_t *barrier, int bytes TLC_AT) {
  ::emu::mbarrier_expect(own_address(barrier TLC_HERE), bytes TLC_HERE);
}
TLC_DEVICE void mbarrier_arrive_expect_tx(uint64_t *barrier, int bytes TLC_AT) {
  ::emu::mbarrier_arrive(own_address(barrier TLC_HERE), 1, bytes TLC_HERE);
}
TLC_DEVICE void mbarrier_wait(uint64_t *barrier, int parity TLC_AT) {
  ::emu::mbarrier_wait(own_address(barrier TLC_HERE), uint32_t(parity) TLC_HERE);
}
TLC_DEVICE bool mbarrier_try_wait(uint64_t *barrier, int parity TLC_AT) {
  return ::emu::mbarrier_try_wait(own_address(barrier TLC_HERE), uint32_t(parity) TLC_HERE);
}
TLC_DEVICE void cp_async_mbarrier_arrive(uint64_t *barrier TLC_AT) {
  ::emu::cp_async_mbarrier_arrive(own_address(barrier TLC_HERE) TLC_HERE);
}
TLC_DEVICE void fence_mbarrier_init() { ::emu::fence_barrier_init(); }
TLC_DEVICE void fence_proxy_async() { ::emu::fence_proxy_async(); }
TLC_DEVICE void fence_proxy_async_global() { ::emu::fence_proxy_async_global(); }

} // namespace tlc
