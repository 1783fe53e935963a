// The functions of hip/barrier.h.
namespace tlc {

TLC_DEVICE void wait_shared() { ::emu::lds_settle(); }
template <int Pending> TLC_DEVICE void wait_loads() { ::emu::lds_wait(Pending); }
TLC_DEVICE void barrier_only(::emu::Site emu_site = {}) { ::emu::barrier_only(emu_site); }

} // namespace tlc
