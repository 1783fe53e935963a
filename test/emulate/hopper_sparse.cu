// Products of a warpgroup whose A keeps half of its elements along k, and what may go wrong around one. All
// types, ways and widths: tools/compare_mma/compare_wgmma.cu.
#include <cuda_runtime.h>

#include "hopper.h"
#include "sparse.h"

namespace {

enum Fault { clean, twiceTheSame, descending, oddHalves, laneSkips, pastSwizzle, sumsRead, leftOverwritten, notFenced, wrongSelector };

constexpr int n = 32;

/// 64 x 32 sums of float16, 32 along k: A keeps 16, rows of B have 64 bytes of the swizzle's 128.
template <int Fault, bool Registers>
__global__ void __launch_bounds__(128) halves_product(const __half *__restrict__ A, const __half *__restrict__ B,
                                                      const uint32_t *__restrict__ metadata, float *__restrict__ C) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  unsigned char *const B_shared = arena + 4096;
  const int tid = int(threadIdx.x), warp = tid / 32, lane = tid % 32;
  alignas(16) float sum[n / 2];
  for (int i = 0; i < n / 2; ++i)
    sum[i] = 0;
  uint32_t a[4];
  for (int i = 0; i < 4; ++i)
    a[i] = *reinterpret_cast<const uint32_t *>(A + (warp * 16 + lane / 4 + i % 2 * 8) * 16 + i / 2 * 8 + lane % 4 * 2);
  // A: units of 16 bytes in columns of 64 rows; B: unit u of row r lies at (u + 4) ^ r % 8.
  tlc::copy<16>(arena + tid % 2 * 1024 + tid / 2 * 16, A + tid / 2 * 16 + tid % 2 * 8); // mark: left
  tlc::copy<16>(B_shared + tid / 4 * 128 + ((4 + tid % 4) ^ (tid / 4 % 8)) * 16, B + tid * 8); // mark: right
  if (Fault != notFenced)
    tlc::fence_proxy_async();
  __syncthreads();
  uint32_t words = metadata[tid];
  if (Fault == twiceTheSame && tid == 64)
    words |= 0xf;
  if (Fault == descending && tid == 33)
    words = (words & ~15u) | 0x1;
  const uint64_t left = tlc::wgmma_descriptor(arena, 1024, 128, 0),
                 right = tlc::wgmma_descriptor(B_shared + (Fault == pastSwizzle ? 96 : 64), 16, 1024, 128);
  constexpr int selector = Fault == wrongSelector;
  tlc::wgmma_fence();
  if (Fault != laneSkips || tid != 5) {
    if constexpr (Registers)
      tlc::wgmma_sp_m64n32k32_f16_f16_f32_rs<selector, 0>(sum, a, right, words, true); // mark: product
    else
      tlc::wgmma_sp_m64n32k32_f16_f16_f32_ss<selector, 0, 0>(sum, left, right, words, true); // mark: product
  }
  tlc::wgmma_commit();
  if (Fault == sumsRead)
    C[tid] = sum[0]; // mark: early
  if (Fault == leftOverwritten)
    tlc::copy<16>(arena + tid % 2 * 1024 + tid / 2 * 16, B + tid * 8); // mark: overwrite
  tlc::wgmma_wait<0>();
  tlc::wgmma_pin<n / 2>(sum);
  for (int i = 0; i < n / 2; ++i)
    C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}
/// Of two tfloat32 one is kept, its halves together in the metadata.
template <int Fault>
__global__ void __launch_bounds__(128) floats_product(const float *__restrict__ A, const float *__restrict__ B,
                                                      const uint32_t *__restrict__ metadata, float *__restrict__ C) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  const int tid = int(threadIdx.x), warp = tid / 32, lane = tid % 32;
  alignas(16) float sum[n / 2];
  uint32_t a[4];
  for (int i = 0; i < 4; ++i)
    a[i] = __float_as_uint(A[(warp * 16 + lane / 4 + i % 2 * 8) * 8 + i / 2 * 4 + lane % 4]);
  tlc::copy<16>(arena + tid % 4 * 512 + tid / 4 * 16, B + tid * 4); // mark: right
  tlc::fence_proxy_async();
  __syncthreads();
  uint32_t words = metadata[tid];
  if (Fault == oddHalves && tid == 96)
    words = (words & ~15u) | 0x9; // 1, 2
  tlc::wgmma_fence();
  tlc::wgmma_sp_m64n32k16_tf32_tf32_f32_rs<0>(sum, a, tlc::wgmma_descriptor(arena, 512, 128, 0), words, false); // mark: product
  tlc::wgmma_commit();
  tlc::wgmma_wait<0>();
  tlc::wgmma_pin<n / 2>(sum);
  for (int i = 0; i < n / 2; ++i)
    C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

/// Lanes 4 g and 4 g + 1 of a warp have the metadata of its rows g (low half) and g + 8.
std::vector<uint32_t> metadataOf(bool isWide) {
  std::vector<uint32_t> out(128, 0xffffffff);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 16 && t % 4 < 2; ++i) {
      if (i == 0)
        out[size_t(t)] = 0;
      const int row = t / 32 * 16 + t % 32 / 4 + i / 8 * 8, at = t % 2 * 8 + i % 8;
      const int place = isWide ? keptOf(row, at / 2, true) * 2 + at % 2 : keptOf(row, at, false);
      out[size_t(t)] |= uint32_t(place) << 2 * i;
    }
  return out;
}
template <class T> bool isRight(const std::vector<T> &a, const std::vector<T> &b, const std::vector<float> &c, bool isWide) {
  const int k = isWide ? 16 : 32;
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int x = 0; x < k / 2; ++x)
        sum += double(float(a[size_t(i * k / 2 + x)])) * double(float(b[size_t(j * k + placeOf(i, x, isWide))]));
      if (std::fabs(sum - double(c[size_t(i * n + j)])) > 1e-4)
        return false;
    }
  return true;
}
template <int Fault, bool Registers = false> bool ofHalves() {
  const std::vector<__half> a = halves(64 * 16, 3), b = halves(n * 32, 11);
  float *c = reserve<float>(64 * n);
  return start(halves_product<Fault, Registers>, {1, 128, 4096 + 4096}, static_cast<const __half *>(upload(a)),
               static_cast<const __half *>(upload(b)), static_cast<const uint32_t *>(upload(metadataOf(false))), c) &&
         isRight(a, b, download(c, 64 * n), false);
}
template <int Fault> bool ofFloats() {
  std::vector<float> a(64 * 8), b(n * 16);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = number(i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = number(i + 99);
  float *c = reserve<float>(64 * n);
  return start(floats_product<Fault>, {1, 128, 4096}, static_cast<const float *>(upload(a)),
               static_cast<const float *>(upload(b)), static_cast<const uint32_t *>(upload(metadataOf(true))), c) &&
         isRight(a, b, download(c, 64 * n), true);
}

} // namespace

void addHopperSparse(std::vector<Case> &cases) {
  const Case all[] = {
      {"sparse products", ofHalves<clean>, "", ""},
      {"sparse products: A in registers", ofHalves<clean, true>, "", ""},
      {"sparse products: tf32", ofFloats<clean>, "", ""},
      {"sparse products: a place twice", ofHalves<twiceTheSame>, "metadata", "product"},
      {"sparse products: places not in order", ofHalves<descending, true>, "metadata", "product"},
      {"sparse products: half a tf32", ofFloats<oddHalves>, "metadata", "product"},
      {"sparse products: lanes without metadata", ofHalves<wrongSelector>, "metadata", "product"},
      {"sparse products: a lane skips the product", ofHalves<laneSkips>, "collective,deadlock,exit,in-flight", "product"},
      {"sparse products: B past its swizzle's rows", ofHalves<pastSwizzle>, "descriptor", "product"},
      {"sparse products: sums read in flight", ofHalves<sumsRead>, "in-flight", "early"},
      {"sparse products: A overwritten in flight", ofHalves<leftOverwritten>, "race", "overwrite,product"},
      {"sparse products: not fenced", ofHalves<notFenced>, "proxy", "left,right"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
