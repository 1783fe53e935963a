// Tiles of one arena on AMD's devices: as tiles.cu, and loads to shared memory past the registers.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "hip.h"

namespace {

enum Fault { clean, loadPast, storePast, vectorPast, readPast, fragmentPast, readWhenGone, partOnly };

template <int Fault> __global__ void __launch_bounds__(64) waves(const float *X, const __half *A, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, direct, 128, arena);
  TLC_SHARED_TILE(__half, left, 256, arena + 512); // [16][16]
  TLC_SHARED_TILE(float, tail, 64, arena + 1024);
  const int lane = int(threadIdx.x);
  for (int i = 0; i < 2; ++i)
    tlc::load_to_shared<4>(&direct[i * 64 + (Fault == loadPast ? 32 : 0)], &X[i * 64 + lane]); // mark: load
  tlc::copy<8>(&left[lane * 4 + (Fault == vectorPast ? 4 : 0)], &A[lane * 4]); // mark: fill
  tail[lane - (Fault == storePast)] = X[lane]; // mark: tail
  tlc::wait_loads<0>();
  __syncthreads();
  alignas(16) __half a[4];
  alignas(16) float sum[4] = {};
  tlc::copy<8>(a, &left[(lane % 16 + (Fault == fragmentPast ? 1 : 0)) * 16 + lane / 16 * 4]); // mark: fragment
  tlc::mfma_m16n16k16_f16_f16_f32(sum, a, a);
  const float got = direct[63 - lane] + direct[64 + lane - (Fault == readPast ? 65 : 0)] + tail[lane]; // mark: read
  __syncthreads();
  TLC_SHARED_TILE(float, total, 64, arena);
  if (Fault != partOnly || lane % 2)
    total[lane] = got + sum[0]; // mark: total
  __syncthreads();
  Y[lane] = total[63 - lane]; // mark: result
  if (Fault == readWhenGone)
    Y[lane] += direct[lane]; // mark: gone
}
template <int Fault> bool waved() {
  std::vector<float> x(128);
  std::vector<__half> a(256);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = __half(number(i)), x[i / 2] = number(i + 400);
  float *y = reserve<float>(64);
  if (!startHip(waves<Fault>, {1, 64, 1280}, upload(x), upload(a), y))
    return false;
  const auto result = download(y, 64);
  for (size_t i = 0; i < 64; ++i) {
    const size_t lane = 63 - i;
    float want = x[63 - lane] + x[64 + lane] + x[lane];
    for (size_t k = 0; k < 16; ++k)
      want += float(a[lane / 16 * 4 * 16 + k]) * float(a[lane % 16 * 16 + k]);
    if (std::fabs(result[i] - want) > 1e-3f)
      return false;
  }
  return true;
}

} // namespace

void addHipTiles(std::vector<Case> &cases) {
  const Case all[] = {
      {"tiles of waves", waved<clean>, "", "", "gfx942"},
      {"tiles of waves: load past one", waved<loadPast>, "out-of-bounds", "load", "gfx942"},
      {"tiles of waves: store before one", waved<storePast>, "out-of-bounds", "tail", "gfx942"},
      {"tiles of waves: vector past one", waved<vectorPast>, "out-of-bounds", "fill", "gfx942"},
      {"tiles of waves: read before one", waved<readPast>, "out-of-bounds", "read", "gfx942"},
      {"tiles of waves: fragment past one", waved<fragmentPast>, "out-of-bounds", "fragment", "gfx942"},
      {"tiles of waves: read when its place is another's", waved<readWhenGone>, "overlap", "gone", "gfx942"},
      {"tiles of waves: only a part written", waved<partOnly>, "overlap", "result", "gfx942"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
