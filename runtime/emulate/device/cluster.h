// The functions of cuda/cluster.cuh.
namespace tlc {

TLC_DEVICE bool elect_one(::emu::Site emu_site = {}) { return ::emu::elect(0xffffffff, emu_site); }
TLC_DEVICE int warp_uniform(int value TLC_AT) {
  return __shfl_sync(0xffffffff, value, 0, 32 TLC_HERE);
}
template <int Count> TLC_DEVICE void setmaxnreg_inc(::emu::Site emu_site = {}) {
  ::emu::set_max_registers(Count, true, emu_site);
}
template <int Count> TLC_DEVICE void setmaxnreg_dec(::emu::Site emu_site = {}) {
  ::emu::set_max_registers(Count, false, emu_site);
}

TLC_DEVICE void cluster_arrive(::emu::Site emu_site = {}) { ::emu::cluster_arrive(emu_site); }
TLC_DEVICE void cluster_wait(::emu::Site emu_site = {}) { ::emu::cluster_wait(emu_site); }
TLC_DEVICE void cluster_sync(::emu::Site emu_site = {}) {
  ::emu::cluster_arrive(emu_site);
  ::emu::cluster_wait(emu_site);
}
TLC_DEVICE uint32_t cluster_rank() { return ::emu::cluster_rank(); }
template <class T> TLC_DEVICE T *map_cluster(T *p, int rank TLC_AT) {
  return static_cast<T *>(::emu::map_pointer(p, uint32_t(rank) TLC_HERE));
}
template <int Bytes> TLC_DEVICE void st_cluster(void *p, int rank, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "st_cluster stores 4, 8 or 16 bytes");
  ::emu::check_room(EMU_ROOM(from), Bytes TLC_HERE);
  ::emu::store_shared(::emu::map_shared(shared_address(p), uint32_t(rank)), from, Bytes TLC_HERE);
}
template <class T> TLC_DEVICE void put_cluster(T *p, int rank, T value TLC_AT) {
  st_cluster<int(sizeof(T))>(p, rank, &value TLC_HERE);
}
template <int Bytes> TLC_DEVICE void ld_cluster(void *to, const void *p, int rank TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "ld_cluster loads 4, 8 or 16 bytes");
  ::emu::check_room(EMU_ROOM(to), Bytes TLC_HERE);
  ::emu::load_shared(to, ::emu::map_shared(shared_address(p), uint32_t(rank)), Bytes TLC_HERE);
}

TLC_DEVICE void grid_dependency_wait() { ::emu::grid_dependency_wait(); }
TLC_DEVICE void grid_dependency_launch() { ::emu::grid_dependency_launch(); }

} // namespace tlc
