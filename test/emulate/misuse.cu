// Instructions that are given what they cannot take: arrays of registers that are too short, memory of the wrong
// kind, another block's shared memory; barriers that are counted wrongly.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- arrays of registers, and what instructions take of them from a place on

enum Arrays { arraysClean, loadPast, storePast, sumPast, leftPast, rightPast, copyPast, vectorPast };

template <int Fault> __global__ void __launch_bounds__(32) fragments(const __half *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(__half, tile, 256, arena);
  const int lane = int(threadIdx.x);
  tlc::copy<16>(&tile[lane * 8], &X[lane * 8]);
  __syncwarp();
  alignas(16) __half a[8], b[4];
  alignas(16) float sum[8] = {};
  tlc::ldmatrix_x4(&a[Fault == loadPast ? 2 : 0], &tile[lane * 8]); // mark: load
  tlc::ldmatrix_x2(b, &tile[lane * 8]);
  for (int j = 0; j < 2; ++j)
    tlc::mma_m16n8k16_f16_f16_f32(&sum[j * 4 + (Fault == sumPast ? 2 : 0)], &a[Fault == leftPast ? 2 : 0], // mark: product
                                  &b[Fault == rightPast ? 2 : 0]);                                         // mark: product
  __syncwarp();
  tlc::stmatrix_x4(&tile[lane * 8], &a[Fault == storePast ? 4 : 0]); // mark: store
  const int shift = Fault == copyPast ? lane / 31 * 2 : 0;
  for (int g = 0; g < 4; ++g)
    tlc::copy<8>(&Y[lane * 8 + g * 2], &sum[g * 2 + shift]); // mark: copy
  if (Fault == vectorPast)
    tlc::store_vec(&sum[6], tlc::load_vec<4>(&Y[lane * 8])); // mark: copy
}
template <int Fault> bool fragmentsRight() {
  float *y = reserve<float>(256);
  if (!start(fragments<Fault>, {1, 32, 512}, upload(std::vector<__half>(256, __half(0.5f))), y))
    return false;
  return download(y, 256) == std::vector<float>(256, 4.0f);
}

template <int Registers> __global__ void __launch_bounds__(128) wide(float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  TLC_SHARED_TILE(uint4, tile, 256, arena);
  for (int i = 0; i < 2; ++i)
    tile[i * 128 + threadIdx.x] = {0, 0, 0, 0};
  tlc::fence_proxy_async();
  __syncthreads();
  alignas(16) float sum[Registers];
  tlc::wgmma_fence();
  const uint64_t a = tlc::wgmma_descriptor(tile, 128, 256, 0), b = tlc::wgmma_descriptor(tile + 128, 128, 256, 0);
  tlc::wgmma_m64n64k16_f16_f16_f32_ss<0, 0>(sum, a, b, false); // mark: product
  tlc::wgmma_commit();
  tlc::wgmma_wait<0>();
  Y[threadIdx.x] = sum[27];
}
template <int Registers> bool wideRight() { return start(wide<Registers>, {1, 128, 4096}, reserve<float>(128)); }

// ---- what copies read, or write: global memory only

enum Sources { sourcesClean, fromShared, fromRegisters, runFromShared, runToShared, cachedShared };

template <int Fault> __global__ void __launch_bounds__(32) sources(const float *X, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, first, 32, arena);
  TLC_SHARED_TILE(float, second, 32, arena + 128);
  TLC_SHARED_TILE(float, third, 32, arena + 256);
  TLC_SHARED_TILE(uint64_t, full, 1, arena + 384);
  const int lane = int(threadIdx.x);
  alignas(16) float own[4] = {1, 2, 3, 4};
  first[lane] = X[lane];
  if (lane == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    tlc::fence_proxy_async();
  }
  __syncwarp();
  tlc::cp_async<4>(&second[lane], Fault == fromShared ? &first[lane] : Fault == fromRegisters ? &own[lane % 4] : &X[lane]); // mark: copy
  tlc::cp_async_commit();
  tlc::cp_async_wait<0>();
  __syncwarp();
  tlc::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
    tlc::mbarrier_arrive_expect_tx(full, 128);
    tlc::bulk_load(third, Fault == runFromShared ? first : X, 128, full); // mark: load
    tlc::bulk_store(Fault == runToShared ? second : Y + 32, first, 128); // mark: store
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
  tlc::mbarrier_wait(full, 0);
  Y[lane] = second[lane] + third[lane] + (Fault == cachedShared ? __ldg(&first[lane]) : 0); // mark: cached
}
template <int Fault> bool sourcesRight() {
  float *y = reserve<float>(64);
  if (!start(sources<Fault>, {1, 32, 392}, (const float *)upload(std::vector<float>(32, 3.0f)), y))
    return false;
  const auto result = download(y, 64);
  return result[5] == 6 && result[37] == 3;
}

// ---- another block's shared memory, by instructions that reach their own only; the cluster's barrier

enum Peers {
  peersClean,
  waitThere,
  initThere,
  arriveThere,
  matrixThere,
  copyThere,
  runThere,
  arriveTwice,
  waitTwice,
  noArrival,
};
template <int Fault> __global__ void __launch_bounds__(32) peers(const __half *X, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(__half, tile, 256, arena);
  TLC_SHARED_TILE(uint64_t, told, 2, arena + 512);
  const int lane = int(threadIdx.x), other = int(tlc::cluster_rank() ^ 1);
  if (lane == 0) {
    tlc::mbarrier_init(told, 1);
    tlc::mbarrier_init(Fault == initThere ? tlc::map_cluster(told + 1, other) : told + 1, 1); // mark: init
    tlc::fence_mbarrier_init();
  }
  tlc::cp_async<16>(Fault == copyThere ? tlc::map_cluster(&tile[lane * 8], other) : &tile[lane * 8], &X[lane * 8]); // mark: copy
  tlc::cp_async_commit();
  tlc::cp_async_wait<0>();
  tlc::fence_proxy_async();
  if (Fault == arriveTwice)
    tlc::cluster_arrive();
  if (Fault != noArrival)
    tlc::cluster_arrive(); // mark: arrive
  tlc::cluster_wait(); // mark: wait
  if (Fault == waitTwice)
    tlc::cluster_wait(); // mark: wait
  if (lane == 0 && Fault == arriveThere)
    tlc::mbarrier_arrive(tlc::map_cluster(told, other)); // mark: told
  else if (lane == 0)
    tlc::mbarrier_arrive_remote(told, other);
  tlc::mbarrier_wait(Fault == waitThere ? tlc::map_cluster(told, other) : told, 0); // mark: heard
  alignas(16) __half a[8];
  tlc::ldmatrix_x4(a, Fault == matrixThere ? tlc::map_cluster(&tile[lane * 8], other) : &tile[lane * 8]); // mark: matrix
  if (lane == 0) {
    tlc::bulk_store(Y + 64 + blockIdx.x * 128, Fault == runThere ? tlc::map_cluster(tile, other) : tile, 512); // mark: run
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
  tlc::cluster_sync();
  Y[blockIdx.x * 32 + lane] = float(a[0]);
}
template <int Fault> bool peersRight() {
  float *y = reserve<float>(320);
  if (!startClusters(peers<Fault>, {2, 32, 528}, uint2{2, 1}, 1, (const __half *)upload(std::vector<__half>(256, __half(2.0f))), y))
    return false;
  const auto result = download(y, 64);
  return result == std::vector<float>(64, 2.0f);
}

// ---- named barriers of pairs of warps

enum Pairs { pairsClean, pairsInTurn, oneNumber };

template <int Fault> __global__ void __launch_bounds__(128) pairs(const float *X, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, row, 128, arena);
  const int tid = int(threadIdx.x), pair = tid / 64;
  const int number = Fault == pairsClean ? 1 + pair : 1;
  row[tid] = X[tid];
  for (int turn = 0; turn < (Fault == pairsInTurn ? 2 : 1); ++turn) {
    if (Fault != pairsInTurn || turn == pair)
      tlc::named_barrier_sync(number, 64); // mark: pair
    if (Fault == pairsInTurn)
      __syncthreads();
  }
  Y[tid] = row[tid ^ 32];
}
template <int Fault> bool pairsRight() {
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(128);
  if (!start(pairs<Fault>, {1, 128, 512}, upload(x), y))
    return false;
  const auto result = download(y, 128);
  for (size_t i = 0; i < 128; ++i)
    if (result[i] != x[i ^ 32])
      return false;
  return true;
}

// ---- boxes that several blocks store, or that one loads while another stores it

enum Boxes { boxesClean, boxesTwice, boxesLoaded };

template <int Fault>
__global__ void __launch_bounds__(32) boxes(const __grid_constant__ CUtensorMap X_map, const __grid_constant__ CUtensorMap Y_map) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, tile, 32, arena);
  TLC_SHARED_TILE(uint64_t, full, 1, arena + 128);
  if (threadIdx.x == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    tlc::mbarrier_arrive_expect_tx(full, 128);
    const bool other = Fault == boxesLoaded && blockIdx.x == 1;
    tlc::tma_load_1d(tile, other ? &Y_map : &X_map, full, 0); // mark: load
    tlc::mbarrier_wait(full, 0);
    tlc::tma_store_1d(&Y_map, tile, Fault == boxesTwice ? 0 : int(blockIdx.x) * 32); // mark: store
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
}
template <int Fault> bool boxesRight() {
  const auto map = [](const float *base) {
    CUtensorMap map = {};
    const uint64_t size = 64;
    const uint32_t width = 32;
    (void)tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, const_cast<float *>(base), &size, &size, &width, 0, 0);
    return map;
  };
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  const float *y = upload(std::vector<float>(64));
  if (!start(boxes<Fault>, {2, 32, 136}, map(upload(x)), map(y)))
    return false;
  const auto result = download(y, 64);
  for (size_t i = 0; i < 64; ++i)
    if (result[i] != x[i % 32])
      return false;
  return true;
}

// ---- counts

enum Counts { countsClean, noArrivals, tooManyBytes, initByAll, namedZero };

template <int Fault> __global__ void __launch_bounds__(128) counts(const float *X, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, row, 64, arena);
  TLC_SHARED_TILE(uint64_t, full, 1, arena + 256);
  const int tid = int(threadIdx.x);
  if (tid == 0 || Fault == initByAll)
    tlc::mbarrier_init(full, Fault == noArrivals ? 0 : 1); // mark: init
  tlc::fence_mbarrier_init();
  __syncthreads();
  if (tid == 0) {
    tlc::mbarrier_arrive_expect_tx(full, Fault == tooManyBytes ? 1 << 20 : 256); // mark: expect
    tlc::bulk_load(row, X, 256, full);
  }
  tlc::mbarrier_wait(full, 0);
  Y[tid] = row[63 - tid % 64];
  if (Fault == namedZero && tid < 64) // half of the block waits for one more warp, the others for the block
    tlc::named_barrier_sync(0, 96); // mark: named
  else
    __syncthreads(); // mark: block
}
template <int Fault> bool countsRight() {
  float *y = reserve<float>(128);
  return start(counts<Fault>, {1, 128, 264}, upload(std::vector<float>(64, 5.0f)), y) && download(y, 128)[9] == 5;
}

} // namespace

void addMisuse(std::vector<Case> &cases) {
  const Case all[] = {
      {"arrays", fragmentsRight<arraysClean>, "", ""},
      {"arrays: matrices loaded past one", fragmentsRight<loadPast>, "out-of-bounds", "load"},
      {"arrays: matrices stored from past one", fragmentsRight<storePast>, "out-of-bounds", "store"},
      {"arrays: sums past one", fragmentsRight<sumPast>, "out-of-bounds", "product"},
      {"arrays: A past one", fragmentsRight<leftPast>, "out-of-bounds", "product"},
      {"arrays: B past one", fragmentsRight<rightPast>, "out-of-bounds", "product"},
      {"arrays: copied from past one", fragmentsRight<copyPast>, "out-of-bounds", "copy"},
      {"arrays: vector past one", fragmentsRight<vectorPast>, "out-of-bounds", "copy"},
      {"arrays of warpgroups", wideRight<32>, "", ""},
      {"arrays of warpgroups: too short", wideRight<28>, "out-of-bounds", "product"},
      {"sources", sourcesRight<sourcesClean>, "", ""},
      {"sources: copy from shared memory", sourcesRight<fromShared>, "out-of-bounds", "copy"},
      {"sources: copy from registers", sourcesRight<fromRegisters>, "out-of-bounds", "copy"},
      {"sources: run from shared memory", sourcesRight<runFromShared>, "out-of-bounds", "load"},
      {"sources: run to shared memory", sourcesRight<runToShared>, "out-of-bounds", "store"},
      {"sources: cached read of shared memory", sourcesRight<cachedShared>, "non-coherent", "cached"},
      {"peers", peersRight<peersClean>, "", ""},
      {"peers: wait at another's barrier", peersRight<waitThere>, "remote", "heard"},
      {"peers: another's barrier initialised", peersRight<initThere>, "remote", "init"},
      {"peers: plain arrival at another's barrier", peersRight<arriveThere>, "remote", "told"},
      {"peers: matrix of another", peersRight<matrixThere>, "remote", "matrix"},
      {"peers: copy to another", peersRight<copyThere>, "remote", "copy"},
      {"peers: run of another", peersRight<runThere>, "remote", "run"},
      {"peers: two arrivals", peersRight<arriveTwice>, "barrier", "arrive"},
      {"peers: two waits", peersRight<waitTwice>, "barrier", "wait"},
      {"peers: no arrival", peersRight<noArrival>, "barrier", "wait"},
      {"pairs of warps", pairsRight<pairsClean>, "", ""},
      {"pairs of warps: one barrier, in turn", pairsRight<pairsInTurn>, "", ""},
      {"pairs of warps: one barrier at the same time", pairsRight<oneNumber>, "barrier-count", "pair"},
      {"boxes of blocks", boxesRight<boxesClean>, "", ""},
      {"boxes of blocks: stored twice", boxesRight<boxesTwice>, "race", "store"},
      {"boxes of blocks: loaded and stored", boxesRight<boxesLoaded>, "race", "load,store"},
      {"counts", countsRight<countsClean>, "", ""},
      {"counts: no arrivals", countsRight<noArrivals>, "mbarrier", "init"},
      {"counts: too many bytes", countsRight<tooManyBytes>, "mbarrier", "expect"},
      {"counts: initialised by all", countsRight<initByAll>, "barrier-object,race", "init"},
      {"counts: barrier 0 by half of the block", countsRight<namedZero>, "barrier-count", "named,block"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
