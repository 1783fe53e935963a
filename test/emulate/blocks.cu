// Threads of one block: reductions, warp collectives, atomics in shared memory, named barriers.
#include <cuda_runtime.h>

#include "faults.h"

#include <utility>

namespace {

enum Sum {
  clean,
  noBarrier,
  warpSkipsBarrier,
  barrierInBranches,
  partMissing,
  readPastTheEnd,
  laneSkipsShuffle,
  maskWithoutCaller,
  unequalMasks,
  twoShuffles,
};

template <int Fault>
__global__ void __launch_bounds__(128) row_sum(const float *__restrict__ X, float *__restrict__ Y, int n) {
  TLC_DYNAMIC_SHARED(float, part, 128);
  const int tid = int(threadIdx.x), lane = tid % 32, warp = tid / 32, row = int(blockIdx.x);
  float sum = 0;
  for (int i = tid; Fault == readPastTheEnd ? i <= n : i < n; i += 128)
    sum += X[row * n + i]; // mark: load
  uint32_t mask = 0xffffffff;
  if (Fault == maskWithoutCaller)
    mask = 0xfffffff0;
  if (Fault == unequalMasks && lane < 16)
    mask = 0xffff;
  for (int bits = 16; bits > 0; bits /= 2) {
    if (Fault == laneSkipsShuffle && tid == 5)
      continue;
    if (Fault == twoShuffles && lane >= 16)
      sum += tlc::shfl_xor(sum, bits); // mark: shuffle
    else
      sum += tlc::shfl_xor(sum, bits, 32, mask); // mark: shuffle
  }
  if (lane == 0 && (Fault != partMissing || warp != 2))
    part[warp] = sum; // mark: part
  if (Fault == barrierInBranches) {
    if (lane < 16)
      __syncthreads(); // mark: barrier
    else
      __syncthreads(); // mark: barrier
  } else if (Fault != noBarrier && (Fault != warpSkipsBarrier || warp != 1)) {
    __syncthreads(); // mark: barrier
  }
  if (tid == 0)
    Y[row] = part[0] + part[1] + part[2] + part[3]; // mark: gather
}

template <int Fault> bool rowSum() {
  const int rows = 3, n = 200;
  std::vector<float> x(rows * n);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(rows);
  if (!start(row_sum<Fault>, {rows, 128, 16}, upload(x), y, n))
    return false;
  auto result = download(y, rows);
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j)
      sum += x[i * n + j];
    if (std::fabs(sum - result[i]) > 1e-3)
      return false;
  }
  return true;
}

// ---- counters in shared memory

enum Count { countClean, notZeroed, plainAdd, noBarrierZeroed, noBarrierCounted, misalignedAtomic };

template <int Fault> __global__ void __launch_bounds__(64) count(const int *__restrict__ X, int *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(int, counts, 128);
  const int tid = int(threadIdx.x);
  if (tid < 8 && Fault != notZeroed)
    counts[tid] = 0; // mark: zero
  if (Fault != noBarrierZeroed)
    __syncthreads();
  if (Fault == plainAdd)
    counts[X[tid] % 8] += 1; // mark: add
  else if (Fault == misalignedAtomic)
    tlc::atomic_add(reinterpret_cast<int *>(reinterpret_cast<char *>(counts) + 2), 1); // mark: add
  else
    tlc::atomic_add(&counts[X[tid] % 8], 1); // mark: add
  if (Fault != noBarrierCounted)
    __syncthreads();
  if (tid < 8)
    Y[tid] = counts[tid]; // mark: result
}

template <int Fault> bool countAll() {
  std::vector<int> x(64), expected(8);
  for (int i = 0; i < 64; ++i)
    ++expected[(x[i] = i * 7 / 3) % 8];
  int *y = reserve<int>(8);
  return start(count<Fault>, {1, 64, 32}, upload(x), y) && download(y, 8) == expected;
}

// ---- a warp that produces and one that consumes

enum Warps { warpsClean, noFull, noFree, wrongCount, wrongNumber, noSuchBarrier, halfWarp };

template <int Fault> __global__ void __launch_bounds__(64) two_warps(float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(float, buffer, 128);
  const int lane = int(threadIdx.x) % 32;
  for (int k = 0; k < 4; ++k) {
    if (threadIdx.x < 32) {
      if (k > 0 && Fault != noFree)
        tlc::named_barrier_sync(2, 64); // mark: free
      buffer[lane] = float(k * 100 + lane); // mark: fill
      if (Fault != halfWarp || lane < 16)
        tlc::named_barrier_arrive(Fault == noSuchBarrier ? 17 : 1, 64); // mark: full
    } else {
      if (Fault != noFull)
        tlc::named_barrier_sync(Fault == wrongNumber ? 3 : 1, Fault == wrongCount ? 32 : 64); // mark: take
      Y[k * 32 + lane] = buffer[31 - lane]; // mark: read
      if (k < 3)
        tlc::named_barrier_arrive(2, 64); // mark: release
    }
  }
}

template <int Fault> bool twoWarps() {
  float *y = reserve<float>(128);
  if (!start(two_warps<Fault>, {1, 64, 128}, y))
    return false;
  auto result = download(y, 128);
  for (int i = 0; i < 128; ++i)
    if (result[i] != float(i / 32 * 100 + 31 - i % 32))
      return false;
  return true;
}

// ---- what the whole block votes on

template <int Fault> __global__ void __launch_bounds__(96) votes(int *__restrict__ Y) {
  const int tid = int(threadIdx.x);
  int found = 0;
  for (int k = 0; k < 3; ++k)
    found += __syncthreads_count(tid % (k + 2) == 0) * (k == 0 ? 1 : k * 100);
  found += __syncthreads_or(tid == 95) * 1000000 + __syncthreads_and(tid < 96) * 2000000;
  if (Fault)
    tlc::assume(tid < 90); // mark: assume
  Y[tid] = found;
}
template <int Fault> bool blockVotes() {
  int *y = reserve<int>(96);
  return start(votes<Fault>, {1, 96}, y) &&
         download(y, 96) == std::vector<int>(96, 48 + 3200 + 4800 + 3000000);
}

// ---- lanes of a warp that share memory

enum Lanes { lanesClean, noSyncwarp, misalignedVector, vectorPastTheEnd };

template <int Fault> __global__ void __launch_bounds__(32) lanes(const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(float, tile, 128);
  const int lane = int(threadIdx.x);
  constexpr int shift = Fault == misalignedVector ? 2 : Fault == vectorPastTheEnd ? 4 : 0;
  tlc::copy<16>(&tile[lane * 4], &X[lane * 4 + shift]); // mark: copy
  if (Fault != noSyncwarp)
    __syncwarp(); // mark: syncwarp
  for (int i = 0; i < 4; ++i)
    Y[i * 32 + lane] = tile[i * 32 + lane]; // mark: use
}
template <int Fault> bool exchange() {
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(128);
  return start(lanes<Fault>, {1, 32, 512}, upload(x), y) && download(y, 128) == x;
}

/// 40 places that race, of which a report lists 30.
template <size_t... I>
__global__ void __launch_bounds__(64) race_often(float *out, std::index_sequence<I...>) {
  const float value = float(threadIdx.x);
  ((out[I] = value), ...); // mark: often
}
bool raceOften() {
  start(race_often<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                   29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39>,
        {1, 64}, reserve<float>(40), std::make_index_sequence<40>());
  return true;
}

} // namespace

void addBlocks(std::vector<Case> &cases) {
  const Case all[] = {
      {"sum", rowSum<clean>, "", ""},
      {"sum: no barrier", rowSum<noBarrier>, "race,uninitialised", "gather"},
      {"sum: a warp skips the barrier", rowSum<warpSkipsBarrier>, "race,uninitialised", "gather"},
      {"sum: barriers in two branches", rowSum<barrierInBranches>, "divergence", "barrier"},
      {"sum: a part is missing", rowSum<partMissing>, "uninitialised", "gather"},
      {"sum: read past the end", rowSum<readPastTheEnd>, "out-of-bounds", "load"},
      {"sum: a lane skips the shuffle", rowSum<laneSkipsShuffle>, "collective,deadlock", "shuffle"},
      {"sum: caller not in its mask", rowSum<maskWithoutCaller>, "collective", "shuffle"},
      {"sum: unequal masks", rowSum<unequalMasks>, "collective", "shuffle"},
      {"sum: two shuffles meet", rowSum<twoShuffles>, "collective", "shuffle"},
      {"count", countAll<countClean>, "", ""},
      {"count: not zeroed", countAll<notZeroed>, "uninitialised", "add"},
      {"count: plain addition", countAll<plainAdd>, "race", "add"},
      {"count: no barrier behind the zeros", countAll<noBarrierZeroed>, "race,uninitialised", "add,zero"},
      {"count: no barrier before the result", countAll<noBarrierCounted>, "race", "result,add"},
      {"count: misaligned atomic", countAll<misalignedAtomic>, "misaligned", "add"},
      {"warps", twoWarps<warpsClean>, "", ""},
      {"warps: no wait for full", twoWarps<noFull>, "race,deadlock,barrier-count,uninitialised", "read,full,free"},
      {"warps: no wait for free", twoWarps<noFree>, "race,barrier-count", "fill,full"},
      {"warps: wrong count", twoWarps<wrongCount>, "barrier-count,race,uninitialised", "full,take,read"},
      {"warps: wrong barrier", twoWarps<wrongNumber>, "deadlock", "take,free"},
      {"warps: no such barrier", twoWarps<noSuchBarrier>, "barrier", "full"},
      {"warps: half a warp arrives", twoWarps<halfWarp>, "divergence,deadlock", "full,free"},
      {"votes", blockVotes<0>, "", ""},
      {"votes: a false assumption", blockVotes<1>, "assumption", "assume"},
      {"often", raceOften, "race", "often"},
      {"lanes", exchange<lanesClean>, "", ""},
      {"lanes: no syncwarp", exchange<noSyncwarp>, "race,uninitialised", "use"},
      {"lanes: misaligned vector", exchange<misalignedVector>, "misaligned", "copy"},
      {"lanes: vector past the end", exchange<vectorPastTheEnd>, "out-of-bounds", "copy"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
