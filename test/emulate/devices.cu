// What a device does not have, or does not take: instructions of later architectures, launches, memory that is not the
// instruction's.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- launches that every GPU refuses, or that one does without the host's leave

__global__ void reversed(float *Y) {
  TLC_DYNAMIC_SHARED(float, row, 128);
  row[threadIdx.x] = float(threadIdx.x);
  __syncthreads();
  Y[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}
__global__ void nothing() {}

struct Tried {
  dim3 grid = dim3(1), block = dim3(32);
  size_t shared = 128;
  unsigned cluster = 1;
  bool cooperative = false;
};
template <class... P, class... A> cudaError_t tried(void (*kernel)(P...), const Tried &t, A... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {t.cluster, 1, 1};
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = t.cooperative;
  cudaLaunchConfig_t config = {};
  config.gridDim = t.grid, config.blockDim = t.block, config.dynamicSmemBytes = t.shared;
  config.attrs = attributes, config.numAttrs = 2;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}
bool launchesRefused() {
  const cudaError_t wrong = cudaErrorInvalidConfiguration;
  return tried(nothing, {dim3(0)}) == wrong && tried(nothing, {dim3(1, 65536)}) == wrong && tried(nothing, {dim3(1, 65535)}) == cudaSuccess &&
         tried(nothing, {dim3(1), dim3(1, 1, 65)}) == wrong && tried(nothing, {dim3(1), dim3(1025)}) == wrong;
}
bool sharedNeedsLeave() {
  float *y = reserve<float>(32);
  if (tried(reversed, {dim3(1), dim3(32), 49152}, y) != cudaSuccess || tried(reversed, {dim3(1), dim3(32), 49153}, y) != cudaErrorInvalidValue)
    return false;
  return cudaFuncSetAttribute(reversed, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) == cudaSuccess &&
         tried(reversed, {dim3(1), dim3(32), 60000}, y) == cudaSuccess && tried(reversed, {dim3(1), dim3(32), 60016}, y) == cudaErrorInvalidValue;
}
bool clustersNeedLeave() {
  if (tried(nothing, {dim3(16), dim3(32), 0, 8}) != cudaSuccess || tried(nothing, {dim3(16), dim3(32), 0, 16}) != cudaErrorInvalidClusterSize ||
      tried(nothing, {dim3(6), dim3(32), 0, 4}) != cudaErrorInvalidClusterSize)
    return false;
  cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  return tried(nothing, {dim3(16), dim3(32), 0, 16}) == cudaSuccess;
}
bool clustersUnknown() { return tried(nothing, {dim3(2), dim3(32), 0, 2}) == cudaErrorNotSupported; }
bool cooperativeFits() { // 132 multiprocessors of 2048 threads and 228 KiB
  const auto launch = [](unsigned blocks, unsigned threads, size_t shared) {
    return tried(nothing, {dim3(blocks), dim3(threads), shared, 1, true});
  };
  return launch(120, 1024, 0) == cudaSuccess && launch(265, 1024, 0) == cudaErrorCooperativeLaunchTooLarge &&
         launch(4 * 132, 32, 48 << 10) == cudaSuccess && launch(4 * 132 + 1, 32, 48 << 10) == cudaErrorCooperativeLaunchTooLarge;
}

// ---- instructions by architecture

__global__ void __launch_bounds__(32) multiply(float *Y) {
  alignas(16) __half a[8], b[4];
  alignas(16) float sum[4] = {};
  for (int i = 0; i < 8; ++i)
    a[i] = __half(1.0f), b[i / 2] = __half(2.0f);
  tlc::mma_m16n8k16_f16_f16_f32(sum, a, b); // mark: product
  Y[threadIdx.x] = sum[0];
}
__global__ void __launch_bounds__(32) multiplySmall(float *Y) {
  alignas(16) tlc::float8_e4m3 a[16] = {}, b[8] = {};
  alignas(16) float sum[4] = {};
  tlc::mma_m16n8k32_e4m3_e4m3_f32(sum, a, b); // mark: product
  Y[threadIdx.x] = sum[0] + 32;
}
__global__ void __launch_bounds__(32) storeMatrix(float *Y) {
  TLC_DYNAMIC_SHARED(__half, tile, 128);
  alignas(16) __half a[2] = {__half(32.0f), __half(32.0f)};
  tlc::stmatrix_x1(&tile[threadIdx.x % 8 * 8], a); // mark: product
  __syncwarp();
  Y[threadIdx.x] = float(tile[threadIdx.x]);
}
__global__ void __launch_bounds__(32) copyRun(const float *X, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, row, 32, arena);
  TLC_SHARED_TILE(uint64_t, full, 1, arena + 128);
  if (threadIdx.x == 0) {
    tlc::mbarrier_init(full, 1); // mark: product
    tlc::fence_mbarrier_init();
    tlc::mbarrier_arrive_expect_tx(full, 128); // mark: product
    tlc::bulk_load(row, X, 128, full);
  }
  __syncwarp();
  tlc::mbarrier_wait(full, 0);
  Y[threadIdx.x] = row[threadIdx.x];
}
__global__ void __launch_bounds__(128) multiplyWide(float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  TLC_SHARED_TILE(uint4, tile, 256, arena);
  for (int i = 0; i < 2; ++i)
    tile[i * 128 + threadIdx.x] = {0, 0, 0, 0};
  tlc::fence_proxy_async();
  __syncthreads();
  alignas(16) float sum[32];
  tlc::wgmma_fence();
  const uint64_t a = tlc::wgmma_descriptor(tile, 128, 256, 0), b = tlc::wgmma_descriptor(tile + 128, 128, 256, 0);
  tlc::wgmma_m64n64k16_f16_f16_f32_ss<0, 0>(sum, a, b, false); // mark: product
  tlc::wgmma_commit();
  tlc::wgmma_wait<0>();
  Y[threadIdx.x] = sum[0] + 32;
}
template <auto Kernel, unsigned Threads = 32> bool all32() {
  float *y = reserve<float>(Threads);
  bool started;
  if constexpr (std::is_invocable_v<decltype(Kernel), float *>)
    started = start(Kernel, {1, Threads, 4096}, y);
  else
    started = start(Kernel, {1, Threads, 4096}, upload(std::vector<float>(32, 32.0f)), y);
  const std::vector<float> result = started ? download(y, Threads) : std::vector<float>(1);
  for (float value : result)
    if (value != 32)
      return false;
  return true;
}

// ---- memory of the host, waits without an atomic, whole numbers divided by zero

__global__ void doubled(const float *X, float *Y) {
  Y[threadIdx.x] = 2 * X[threadIdx.x]; // mark: host
}
bool readsHost() {
  const std::vector<float> x(32);
  return start(doubled, {1, 32}, x.data(), reserve<float>(32));
}
bool writesHost() {
  std::vector<float> y(32);
  return start(doubled, {1, 32}, upload(std::vector<float>(32)), y.data());
}
__global__ void flagged(volatile int *flag, int *Y) {
  if (threadIdx.x == 0)
    while (*flag == 0) // mark: poll
      ;
  else
    *flag = 1; // mark: set
  *Y = 1;
}
bool waitsForFlag() { return start(flagged, {1, 2}, upload(std::vector<int>(1)), reserve<int>(1)); }
__global__ void divided(int *Y, int n) {
  Y[threadIdx.x] = 100 / (n - int(threadIdx.x)); // mark: divide
}
bool dividedBy(int n) { return start(divided, {1, 32}, reserve<int>(32), n); }
bool dividedRight() { return dividedBy(32); }
bool dividedByZero() { return dividedBy(31); }
__global__ void longArray(float *Y, int n) {
  float row[120000]; // of the 512 KiB that a thread may have
  for (int i = 0; i < 120000; ++i)
    row[i] = float(i + int(threadIdx.x));
  Y[threadIdx.x] = row[n];
}
bool longArrays() {
  float *y = reserve<float>(3);
  return start(longArray, {1, 3}, y, 119999) && download(y, 3) == std::vector<float>{119999, 120000, 120001};
}

} // namespace

void addDevices(std::vector<Case> &cases) {
  const Case all[] = {
      {"launches: refused", launchesRefused, "", ""},
      {"launches: shared memory beyond 48 KiB", sharedNeedsLeave, "", ""},
      {"launches: clusters", clustersNeedLeave, "", ""},
      {"launches: no clusters", clustersUnknown, "", "", "80"},
      {"launches: cooperative", cooperativeFits, "", ""},
      {"device: product", all32<multiply>, "", "", "80"},
      {"device: product of a later one", all32<multiply>, "device", "product", "75"},
      {"device: small floats", all32<multiplySmall>, "", "", "89"},
      {"device: small floats of a later one", all32<multiplySmall>, "device", "product", "86"},
      {"device: matrix store", all32<storeMatrix>, "", ""},
      {"device: matrix store of a later one", all32<storeMatrix>, "device", "product", "89"},
      {"device: bulk copy", all32<copyRun>, "", ""},
      {"device: bulk copy of a later one", all32<copyRun>, "device", "product", "80"},
      {"device: barrier of a later one", all32<copyRun>, "device", "product", "75"},
      {"device: warpgroup", all32<multiplyWide, 128>, "", "", "90"},
      {"device: warpgroup of a later one", all32<multiplyWide, 128>, "device", "product", "80"},
      {"device: warpgroup of an earlier one", all32<multiplyWide, 128>, "device", "product", "100"},
      {"memory: read of the host's", readsHost, "out-of-bounds", "host"},
      {"memory: write to the host's", writesHost, "out-of-bounds", "host"},
      {"memory: plain flag", waitsForFlag, "race", "poll,set"},
      {"memory: long arrays", longArrays, "", ""},
      {"division", dividedRight, "", ""},
      {"division by zero", dividedByZero, "division", "divide"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
