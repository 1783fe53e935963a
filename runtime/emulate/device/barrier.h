// The functions of cuda/barrier.cuh and cuda/grid.cuh.
namespace tlc {

TLC_DEVICE void named_barrier_sync(int id, int threads TLC_AT) {
  ::emu::barrier_sync(id, threads TLC_HERE);
}
TLC_DEVICE void named_barrier_arrive(int id, int threads TLC_AT) {
  ::emu::barrier_arrive(id, threads TLC_HERE);
}
TLC_DEVICE void grid_sync(::emu::Site emu_site = {}) { ::emu::grid_sync(emu_site); }

} // namespace tlc
