// Rings of asynchronous copies before matrix instructions, as tlc emits them for sm_80.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "faults.h"

namespace {

constexpr int size = 128, step = 32, stages = 3, tile = 64;

enum Ring {
  clean,
  noBarrier,
  barrierAfterCopy,
  noWait,
  laxWait,
  shortRing,
  noCommit,
  lateCommit,
  sharedTooSmall,
  misalignedRow,
  misalignedCopy,
  copyPastTheEnd,
  storePastTheEnd,
  rowNotFilled,
  lanesMissing,
  laneEnded,
  sumNotCleared,
  fragmentNotLoaded,
};

/// Of a row of 32 halves, the 16-byte unit `u` in its swizzled place.
__device__ int place(int row, int u) { return row * 32 + (u ^ (row / 2 & 3)) * 8; }

template <int Fault>
__global__ void __launch_bounds__(128)
    ring_gemm(const __half *__restrict__ A, const __half *__restrict__ B, float *__restrict__ C,
              int rows) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  const int tid = int(threadIdx.x), lane = tid % 32, warp = tid / 32;
  const int m = int(blockIdx.x) / 2 * tile, n = int(blockIdx.x) % 2 * tile;
  const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
  constexpr int ring = Fault == shortRing ? stages - 1 : stages;
  __half *const A_shared = reinterpret_cast<__half *>(arena);
  __half *const B_shared = A_shared + stages * tile * step;
  const auto copies = [&](int k) {
    for (int g = 0; g < 2; ++g) {
      const int row = tid / 4 + g * 32, u = tid % 4, from = (k * step + u * 8);
      if (Fault == rowNotFilled && row == 17)
        continue;
      constexpr int shift = Fault == misalignedCopy ? 4 : 0;
      const bool inside = Fault == copyPastTheEnd || m + row < rows;
      tlc::cp_async<16>(&A_shared[k % ring * tile * step + place(row, u)], &A[(m + row) * size + from + shift], inside); // mark: copy
      tlc::cp_async<16>(&B_shared[k % ring * tile * step + place(row, u)], &B[(n + row) * size + from]); // mark: copy
    }
  };
  alignas(16) float sum[32];
  for (int i = 0; i < 32; ++i)
    if (Fault != sumNotCleared || i != 5)
      sum[i] = 0;
  for (int k = 0; k < stages - 1; ++k) {
    copies(k);
    if (Fault != noCommit)
      tlc::cp_async_commit();
  }
  for (int k = 0; k < size / step; ++k) {
    if (Fault != noWait)
      tlc::cp_async_wait<Fault == laxWait ? stages - 1 : stages - 2>();
    if (Fault != noBarrier && Fault != barrierAfterCopy)
      __syncthreads(); // mark: barrier
    if (Fault == lateCommit)
      tlc::cp_async_commit();
    if (k + stages - 1 < size / step)
      copies(k + stages - 1);
    if (Fault != lateCommit)
      tlc::cp_async_commit();
    if (Fault == barrierAfterCopy)
      __syncthreads();
    for (int s = 0; s < step / 16; ++s) {
      alignas(16) __half a[16], b[16];
      const __half *const A_stage = &A_shared[k % ring * tile * step];
      const __half *const B_stage = &B_shared[k % ring * tile * step];
      constexpr int shift = Fault == misalignedRow ? 4 : 0;
      for (int i = 0; i < 2; ++i)
        tlc::ldmatrix_x4(&a[i * 8], &A_stage[place(warp_m + i * 16 + lane % 16, s * 2 + lane / 16) + shift]); // mark: load
      for (int j = 0; j < (Fault == fragmentNotLoaded ? 3 : 4); ++j)
        tlc::ldmatrix_x2(&b[j * 4], &B_stage[place(warp_n + j * 8 + lane % 8, s * 2 + lane / 8 % 2)]); // mark: load
      if (Fault == laneEnded && lane == 7)
        return;
      if (Fault == lanesMissing && lane == 5)
        continue;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          tlc::mma_m16n8k16_f16_f16_f32(&sum[(i * 4 + j) * 4], &a[i * 8], &b[j * 4]); // mark: product
    }
  }
  for (int g = 0; g < 16; ++g) {
    const int row = m + warp_m + g / 8 * 16 + g % 2 * 8 + lane / 4;
    const int column = n + warp_n + g / 2 % 4 * 8 + lane % 4 * 2;
    if (row < rows || Fault == storePastTheEnd)
      tlc::copy<8>(&C[row * size + column], &sum[g * 2]); // mark: store
  }
}

template <int Fault> bool ringGemm() {
  constexpr int rows = 100;
  std::vector<__half> a(rows * size), b(size * size);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = number(i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = number(i + 77777);
  float *c = reserve<float>(rows * size);
  const unsigned shared = 2 * stages * tile * step * 2 - (Fault == sharedTooSmall ? 64 : 0);
  if (!start(ring_gemm<Fault>, {4, 128, shared}, upload(a), upload(b), c, rows))
    return false;
  auto result = download(c, rows * size);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < size; ++j) {
      double sum = 0;
      for (int k = 0; k < size; ++k)
        sum += double(float(a[i * size + k])) * double(float(b[j * size + k]));
      if (std::fabs(sum - result[i * size + j]) > 1e-3)
        return false;
    }
  return true;
}

// ---- one shared tile, filled by way of registers

enum Tile { tileClean, noBarrierBefore, noBarrierBehind, conditionalBarrier, wrongColumn };

template <int Fault>
__global__ void __launch_bounds__(64) staged(const float *__restrict__ X, float *__restrict__ Y, int rounds) {
  TLC_DYNAMIC_SHARED(float, tile, 128);
  const int tid = int(threadIdx.x);
  float sum = 0;
  for (int k = 0; k < rounds; ++k) {
    const float value = X[k * 64 + tid];
    if (Fault != noBarrierBehind && (Fault != conditionalBarrier || k % 2 == 0))
      __syncthreads(); // mark: behind
    tile[tid] = value; // mark: fill
    if (Fault != noBarrierBefore)
      __syncthreads(); // mark: before
    sum += tile[63 - tid + (Fault == wrongColumn ? 1 : 0)]; // mark: use
  }
  Y[tid] = sum;
}

template <int Fault> bool stagedSum() {
  std::vector<float> x(64 * 4);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(64);
  if (!start(staged<Fault>, {1, 64, 256}, upload(x), y, 4))
    return false;
  auto result = download(y, 64);
  for (int i = 0; i < 64; ++i) {
    float sum = 0;
    for (int k = 0; k < 4; ++k)
      sum += x[k * 64 + 63 - i];
    if (sum != result[i])
      return false;
  }
  return true;
}

// ---- asynchronous copies that a barrier object waits for

enum Object { objectClean, noObjectWait, tooFewArrivals, wrongParity, copyAfterArrival, objectOverwritten, notInitialised };

template <int Fault>
__global__ void __launch_bounds__(64) by_object(const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const tile = reinterpret_cast<float *>(arena + 16);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena);
  const int tid = int(threadIdx.x);
  if (tid == 0 && Fault != notInitialised)
    tlc::mbarrier_init(full, Fault == tooFewArrivals ? 32 : 64);
  __syncthreads();
  if (Fault != copyAfterArrival)
    tlc::cp_async<4>(&tile[tid], &X[tid]); // mark: copy
  tlc::cp_async_mbarrier_arrive(full); // mark: arrive
  if (Fault == copyAfterArrival)
    tlc::cp_async<4>(&tile[tid], &X[tid]); // mark: copy
  if (Fault == objectOverwritten && tid == 0)
    tile[-4] = 0; // mark: overwrite
  if (Fault != noObjectWait)
    tlc::mbarrier_wait(full, Fault == wrongParity ? 1 : 0); // mark: wait
  Y[tid] = tile[63 - tid]; // mark: use
}

template <int Fault> bool byObject() {
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(64);
  if (!start(by_object<Fault>, {1, 64, 16 + 256}, upload(x), y))
    return false;
  auto result = download(y, 64);
  for (int i = 0; i < 64; ++i)
    if (result[i] != x[63 - i])
      return false;
  return true;
}

} // namespace

void addPipelines(std::vector<Case> &cases) {
  const Case all[] = {
      {"ring", ringGemm<clean>, "", ""},
      {"ring: no barrier", ringGemm<noBarrier>, "race,uninitialised", "load,copy"},
      {"ring: barrier behind the copy", ringGemm<barrierAfterCopy>, "race", "load,copy"},
      {"ring: no wait", ringGemm<noWait>, "race,uninitialised", "load,copy"},
      {"ring: wait for one group too few", ringGemm<laxWait>, "race,uninitialised", "load,copy"},
      {"ring: one stage too few", ringGemm<shortRing>, "race", "load,copy"},
      {"ring: copies not committed", ringGemm<noCommit>, "race,uninitialised", "load,copy"},
      {"ring: committed before the copy", ringGemm<lateCommit>, "race,uninitialised", "load,copy"},
      {"ring: launched with too little shared memory", ringGemm<sharedTooSmall>, "out-of-bounds", "copy"},
      {"ring: matrix row misaligned", ringGemm<misalignedRow>, "misaligned", "load"},
      {"ring: copy misaligned", ringGemm<misalignedCopy>, "misaligned", "copy"},
      {"ring: copy past the last row", ringGemm<copyPastTheEnd>, "out-of-bounds", "copy"},
      {"ring: store past the last row", ringGemm<storePastTheEnd>, "out-of-bounds", "store"},
      {"ring: a row is not filled", ringGemm<rowNotFilled>, "uninitialised", "load"},
      {"ring: a lane skips a product", ringGemm<lanesMissing>, "collective,deadlock", "product,load"},
      {"ring: a lane ends before a product", ringGemm<laneEnded>, "collective", "product"},
      {"ring: one sum is not cleared", ringGemm<sumNotCleared>, "uninitialised", "product,store"},
      {"ring: one fragment is not loaded", ringGemm<fragmentNotLoaded>, "uninitialised", "product,store"},
      {"tile", stagedSum<tileClean>, "", ""},
      {"tile: no barrier before its use", stagedSum<noBarrierBefore>, "race,uninitialised", "use"},
      {"tile: no barrier on the way back", stagedSum<noBarrierBehind>, "race", "fill"},
      {"tile: the barrier on the way back is conditional", stagedSum<conditionalBarrier>, "race", "fill"},
      {"tile: read past its end", stagedSum<wrongColumn>, "out-of-bounds", "use"},
      {"object", byObject<objectClean>, "", ""},
      {"object: no wait", byObject<noObjectWait>, "race,uninitialised", "use"},
      {"object: too few arrivals", byObject<tooFewArrivals>, "race,uninitialised,mbarrier", "use,arrive,wait"},
      {"object: wrong parity", byObject<wrongParity>, "race,uninitialised", "use"},
      {"object: copy after the arrival", byObject<copyAfterArrival>, "race,uninitialised", "use"},
      {"object: overwritten", byObject<objectOverwritten>, "barrier-object", "overwrite"},
      {"object: not initialised", byObject<notInitialised>, "mbarrier", "arrive"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
