// Every function of runtime/hip that a device has, for the compiler that it is meant for (compile_hip.py). The
// products are added by that script.
#include "gpu/shared.h"
#include "hip/atomic.h"
#include "hip/barrier.h"
#include "hip/launch.h"
#include "hip/matrix.h"
#include "hip/memory.h"
#include "hip/wave.h"

__global__ void everything(float *out, const float *in, int n) {
  TLC_DYNAMIC_SHARED(float, arena, 128);
  TLC_SHARED_TILE(float, tile, 256, arena + 256);
  const int tid = int(threadIdx.x), lane = tlc::wave_lane();
  const tlc::buffer from = tlc::make_buffer(in, unsigned(n)), to = tlc::make_buffer(out, unsigned(n));
  alignas(16) float x[4], y[4] = {};
  tlc::buffer_load<16>(x, from, unsigned(tid * 16));
  tlc::buffer_load<8>(y + 2, from, unsigned(tid * 8 + 4096));
  tlc::buffer_load<4>(y + 1, from, unsigned(tid * 4 + 8192));
  tlc::buffer_load<2>(y, from, unsigned(tid * 2 + 8192));
  tlc::buffer_load<1>(reinterpret_cast<char *>(y) + 2, from, unsigned(tid + 9000));
#ifdef __gfx942__
  tlc::load_to_shared<4>(&arena[tid / 64 * 64], &in[tid]);
  tlc::wait_loads<0>();
#endif
  tlc::copy<16>(&arena[4096 + tid * 4], x);
  tlc::wait_shared();
  tlc::barrier_only();
  float sum = arena[tid ^ 1] + tile[tid & 255] + arena[4096 + (tid ^ 5)];
  sum += tlc::dpp<0xb1>(0.0f, sum) + tlc::dpp<0x141>(sum, sum);
  sum += tlc::shfl_xor(sum, 16) + tlc::shfl_up(sum, 1) + tlc::shfl_down(sum, 2, 16) + tlc::shfl(sum, 3, 8);
  sum += tlc::read_lane(sum, n & 31) + tlc::read_first_lane(sum);
  sum += float(tlc::ballot(sum > 0) >> lane) + float(tlc::any(sum > 1)) + float(tlc::all(sum > 2));
  arena[tid] = sum;
  tlc::wave_sync();
  x[0] += arena[tid ^ 3] + y[0] + y[1] + y[2] + y[3];
  tlc::copy_or_zero<8>(x + 2, &in[tid * 2], tid < n);
  tlc::buffer_store<16>(to, unsigned(tid * 16), x);
  tlc::buffer_store<8>(to, unsigned(tid * 8 + 4096), x);
  tlc::buffer_store<4>(to, unsigned(tid * 4 + 8192), x);
  tlc::buffer_store<2>(to, unsigned(tid * 2 + 9000), x);
  tlc::buffer_store<1>(to, unsigned(tid + 12000), x);
}

__global__ void atomics(float *out, int *counts, unsigned *words, unsigned long long *wide) {
  using tlc::order, tlc::scope;
  tlc::atomic_add(out, 1.0f);
  const int n = tlc::atomic_add<order::acq_rel>(counts, 1) + tlc::atomic_min(counts + 1, 3) +
                tlc::atomic_max<order::relaxed, scope::system>(counts + 2, 4);
  tlc::atomic_store<order::release>(counts + 3, n);
  while (tlc::atomic_load<order::acquire, scope::block>(counts + 4) == 0) {
  }
  tlc::fence<scope::block>();
  tlc::fence<scope::device>();
  tlc::fence<scope::system>();
  words[9] = tlc::atomic_and(words, 5u) + tlc::atomic_or(words + 1, 6u) + tlc::atomic_xor(words + 2, 7u) +
             tlc::atomic_exchange(words + 3, 8u);
  tlc::atomic_compare_exchange<order::acq_rel>(wide, 1ull, 2ull);
}

tlc_status start(float *out, const float *in, int n, void *stream) {
  const int64_t grid[3] = {4, 1, 1};
  tlc::device_limits limits;
  if (tlc_status status = tlc::query("everything", 0, &limits))
    return status;
  return tlc::launch("everything", everything, grid, {{256, 1, 1}, limits.shared, false}, stream, out, in, n);
}
