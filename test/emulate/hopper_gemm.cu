// A GEMM as tlc emits it for sm_90: a warp that feeds a ring by TMA, two warpgroups that multiply what
// they find there, clusters of two blocks that share B, results by way of shared memory and TMA. C = A B^T
// with ragged sizes; one cluster walks over all tiles.
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

constexpr int tile_m = 128, tile_n = 64, tile_k = 64, stages = 3;
constexpr int bytes_a = tile_m * tile_k * 2, bytes_b = tile_n * tile_k * 2, bytes_c = 64 * tile_n * 2;
constexpr int shared_bytes = stages * (bytes_a + bytes_b) + 2 * bytes_c + 2 * stages * 8;

enum Fault {
  clean,
  noBarrierAfterInit,
  noFenceAfterInit,
  fullParity,
  emptyParity,
  releaseBeforeWait,
  releaseThisStage,
  noProductFence,
  expectTooSmall,
  expectTooLarge,
  boxOffByOne,
  stagingReused,
  stagingReusedByLanes,
  noProxyFence,
  proxyFenceTooEarly,
  noProductCommit,
  noStoreCommit,
  sendBeforeBarrier,
  namedCount,
  namedCountOdd,
  noNamedBarrier,
  noClusterBarrierAtEnd,
  sumsTooEarly,
  sumsPinnedTooEarly,
  descriptorOffByARow,
  descriptorPastTheRing,
  wrongSwizzle,
  emptyCountSmall,
  emptyCountLarge,
  tooManyRegisters,
  registersNotGivenUp,
  registersOfOneWarp,
  noDrainAtEnd,
  barrierInOneLane,
  multicastMask,
  multicastOutside,
  stageStride,
  rowTooFar,
  columnTooFar,
  leaderOfDivergedWarp,
  tileMisaligned,
};
enum Way { byWarp, byGroup, direct }; // how results leave

template <int Fault, int Store>
__global__ void __launch_bounds__(384, 1)
    ring_gemm(const __grid_constant__ CUtensorMap A_map, const __grid_constant__ CUtensorMap B_map,
              const __grid_constant__ CUtensorMap C_map, __half *__restrict__ C, int M, int N, int K) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  unsigned char *const A_shared = arena + (Fault == tileMisaligned ? 128 : 0);
  unsigned char *const B_shared = A_shared + stages * bytes_a;
  unsigned char *const C_shared = B_shared + stages * bytes_b;
  uint64_t *const full = reinterpret_cast<uint64_t *>(C_shared + 2 * bytes_c);
  uint64_t *const empty = full + stages;
  const int lane = int(threadIdx.x) % 32;
  const int warp = tlc::warp_uniform(int(threadIdx.x) / 32 % 4);
  const int group = tlc::warp_uniform(int(threadIdx.x) / 128);
  const int rank = int(tlc::cluster_rank());

  if (threadIdx.x == 0) {
    tlc::tma_prefetch(&A_map);
    for (int s = 0; s < stages; ++s) {
      tlc::mbarrier_init(&full[s], 1); // mark: init
      tlc::mbarrier_init(&empty[s], Fault == emptyCountSmall ? 15 : Fault == emptyCountLarge ? 17 : 16); // mark: init
    }
    if (Fault != noFenceAfterInit)
      tlc::fence_mbarrier_init();
  }
  if (Fault != noBarrierAfterInit)
    tlc::cluster_sync();

  const int tiles_n = (N + tile_n - 1) / tile_n, tiles = (M + 2 * tile_m - 1) / (2 * tile_m) * tiles_n;
  const int steps = (K + tile_k - 1) / tile_k;
  int stage = 0, parity = 0;
  if (group == 0) {
    if (Fault != registersNotGivenUp && (Fault != registersOfOneWarp || warp == 0))
      tlc::setmaxnreg_dec<40>(); // mark: registers
    if (Fault == leaderOfDivergedWarp && lane == 3)
      return;
    if (warp == 0 && tlc::elect_one()) { // mark: elect
      for (int tile = 0; tile < tiles; ++tile) {
        const int m = (tile / tiles_n * 2 + rank) * tile_m, n = tile % tiles_n * tile_n;
        for (int k = 0; k < steps; ++k) {
          constexpr int stride = Fault == stageStride ? bytes_b / 2 : bytes_b;
          constexpr int expected = bytes_a + bytes_b + (Fault == expectTooSmall   ? -16
                                                        : Fault == expectTooLarge ? 16
                                                                                  : 0);
          const uint16_t blocks = Fault == multicastMask ? uint16_t(1 << rank) : Fault == multicastOutside ? 7 : 3;
          tlc::mbarrier_wait(&empty[stage], Fault == emptyParity ? parity : parity ^ 1);  // mark: wait_empty
          tlc::mbarrier_arrive_expect_tx(&full[stage], expected);                         // mark: expect
          tlc::tma_load_2d(A_shared + stage * bytes_a, &A_map, &full[stage], k * tile_k, m); // mark: load
          tlc::tma_load_2d_multicast(B_shared + stage * stride + rank * (bytes_b / 2), &B_map, &full[stage], k * tile_k, n + rank * (tile_n / 2), blocks); // mark: load
          if (++stage == stages)
            stage = 0, parity ^= 1;
        }
      }
    }
    __syncwarp();
  } else {
    tlc::setmaxnreg_inc<Fault == tooManyRegisters ? 240 : 232>(); // mark: registers
    const int consumer = group - 1, thread = int(threadIdx.x) % 128;
    unsigned char *const staging = C_shared + consumer * bytes_c;
    const uint64_t A_first = tlc::wgmma_descriptor(
        A_shared + consumer * (bytes_a / 2) + (Fault == descriptorOffByARow ? 128 : Fault == descriptorPastTheRing ? 80 * 1024 : 0),
        16, Fault == wrongSwizzle ? 512 : 1024, Fault == wrongSwizzle ? 64 : 128);
    const uint64_t B_first = tlc::wgmma_descriptor(B_shared, 16, 1024, 128);
    const auto release = [&](int s) {
      if (lane < 2)
        tlc::mbarrier_arrive_remote(&empty[s], lane); // mark: release
    };
    for (int tile = 0; tile < tiles; ++tile) {
      const int m = (tile / tiles_n * 2 + rank) * tile_m + consumer * 64, n = tile % tiles_n * tile_n;
      alignas(16) float sum[tile_n / 2];
      int previous = 0;
      for (int k = 0; k < steps; ++k) {
        tlc::mbarrier_wait(&full[stage], Fault == fullParity ? parity ^ 1 : parity); // mark: wait_full
        if (Fault != noProductFence)
          tlc::wgmma_fence();
        for (int i = 0; i < tile_k / 16; ++i)
          tlc::wgmma_m64n64k16_f16_f16_f32_ss<0, 0>(sum, A_first + (stage * bytes_a >> 4) + i * 2, // mark: product
                                                    B_first + (stage * bytes_b >> 4) + i * 2, k > 0 || i > 0);
        if (Fault != noProductCommit)
          tlc::wgmma_commit();
        if (Fault == sumsPinnedTooEarly)
          tlc::wgmma_pin<tile_n / 2>(sum); // mark: pin
        tlc::wgmma_wait<Fault == releaseBeforeWait ? 2 : 1>();
        if (Fault == releaseThisStage)
          release(stage);
        else if (k > 0)
          release(previous);
        previous = stage;
        if (++stage == stages)
          stage = 0, parity ^= 1;
      }
      tlc::wgmma_wait<Fault == sumsTooEarly ? 1 : 0>();
      if (Fault != releaseThisStage)
        release(previous);
      if (Fault != sumsTooEarly && Fault != noProductCommit)
        tlc::wgmma_pin<tile_n / 2>(sum);

      if constexpr (Store == direct) {
        for (int i = 0; i < tile_n / 2; ++i) {
          const int row = m + warp * 16 + lane / 4 + i / 2 % 2 * 8, column = n + i / 4 * 8 + lane % 4 * 2 + i % 2;
          const bool in_row = Fault == rowTooFar ? row <= M : row < M;
          const bool in_column = Fault == columnTooFar ? column <= N : column < N;
          if (in_row && in_column)
            C[row * N + column] = __float2half_rn(sum[i]); // mark: store
        }
        continue;
      }
      alignas(16) __half packed[tile_n / 2];
      for (int i = 0; i < tile_n / 2; ++i)
        packed[i] = __float2half_rn(sum[i]); // mark: pack
      if (Fault != sumsTooEarly && Fault != noProductCommit)
        tlc::wgmma_pin<tile_n / 2>(packed); // before the branch
      if ((Store == byWarp ? lane : thread) == 0 && Fault != stagingReused)
        tlc::tma_store_wait_read<0>();
      if constexpr (Store == byWarp) {
        if (Fault != stagingReusedByLanes)
          __syncwarp();
      } else if (Fault != noNamedBarrier) {
        tlc::named_barrier_sync(1 + consumer, Fault == namedCount ? 160 : Fault == namedCountOdd ? 120 : 128); // mark: named
      }
      if (Fault == proxyFenceTooEarly)
        tlc::fence_proxy_async();
      // Row r of 128 bytes, 16-byte unit u lies at u ^ r % 8.
      for (int j = 0; j < tile_n / 8; j += 2) {
        const int row = warp * 16 + lane % 16, unit = (j + lane / 16) ^ row % 8;
        tlc::stmatrix_x4(staging + row * 128 + unit * 16, &packed[j * 4]); // mark: stage
      }
      if (Fault != noProxyFence && Fault != proxyFenceTooEarly)
        tlc::fence_proxy_async();
      if constexpr (Store == byWarp) {
        if (Fault != sendBeforeBarrier)
          __syncwarp();
        if (lane == 0) {
          tlc::tma_store_2d(&C_map, staging + warp * 2048, n, m + warp * 16); // mark: send
          if (Fault != noStoreCommit)
            tlc::tma_store_commit();
          if (Fault == barrierInOneLane)
            __syncwarp(); // mark: one_lane
        }
      } else {
        if (Fault != sendBeforeBarrier)
          tlc::named_barrier_sync(1 + consumer, 128); // mark: named
        if (thread == 0) {
          tlc::tma_store_2d(&C_map, staging, n, m); // mark: send
          tlc::tma_store_commit();
        }
      }
    }
    if (Store != direct && Fault != noDrainAtEnd && (Store == byWarp ? lane : thread) == 0)
      tlc::tma_store_wait_read<0>();
    if (Fault == barrierInOneLane)
      return;
    __syncwarp();
  }
  if (Fault != noClusterBarrierAtEnd)
    tlc::cluster_sync();
}

// Rows of a TMA store are multiples of 16 bytes; the direct one has columns of any number.
template <int Fault, int Store = byWarp, int M = 390, int N = Store == direct ? 123 : 120, int K = 5 * tile_k - 8>
bool gemm() {
  const std::vector<__half> a = halves(M * K, 0), b = halves(N * K, 77777);
  const __half *A = upload(a), *B = upload(b);
  __half *C = reserve<__half>(M * N);
  const CUtensorMap A_map = matrixMap(A, M, K, K, Fault == boxOffByOne ? tile_m - 1 : tile_m, tile_k, 128);
  const CUtensorMap B_map = matrixMap(B, N, K, K, tile_n / 2, tile_k, 128);
  const CUtensorMap C_map = matrixMap(C, M, Store == direct ? 120 : N, Store == direct ? 128 : N, Store == byWarp ? 16 : 64, tile_n, 128);
  if (!startClusters(ring_gemm<Fault, Store>, {2, 384, shared_bytes + 128}, {2, 1}, 1, A_map, B_map, C_map, C, M, N, K))
    return false;
  const std::vector<__half> result = download(C, M * N);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += double(float(a[i * K + k])) * double(float(b[j * K + k]));
      if (std::fabs(sum - float(result[i * N + j])) > 1e-3 * std::fabs(sum) + 1e-3)
        return false;
    }
  return true;
}

} // namespace

void addHopperGemm(std::vector<Case> &cases) {
  const Case all[] = {
      {"sm90 gemm", gemm<clean>, "", ""},
      {"sm90 gemm, stored by warpgroups", gemm<clean, byGroup>, "", ""},
      {"sm90 gemm, stored from registers", gemm<clean, direct>, "", ""},
      {"sm90 gemm, 256 x 256 x 256", gemm<clean, byWarp, 256, 256, 256>, "", ""},
      {"sm90 gemm: ring not at its swizzle's repeat", gemm<tileMisaligned>, "swizzle", "load"},
      {"sm90 gemm: no barrier after the initialisation", gemm<noBarrierAfterInit>, "race,mbarrier", "wait_empty,wait_full,expect,release,load"},
      {"sm90 gemm: initialisation not fenced", gemm<noFenceAfterInit>, "proxy", "init"},
      {"sm90 gemm: parity of the full barrier", gemm<fullParity>, "race,uninitialised,mbarrier", "product,wait_full"},
      {"sm90 gemm: parity of the empty barrier", gemm<emptyParity>, "deadlock", "wait_empty"},
      {"sm90 gemm: stage released before its product is waited for", gemm<releaseBeforeWait>, "race", "product,load"},
      {"sm90 gemm: stage released in the round that uses it", gemm<releaseThisStage>, "race,mbarrier", "product,load"},
      {"sm90 gemm: no fence before products", gemm<noProductFence>, "wgmma-fence", "product"},
      {"sm90 gemm: too few bytes expected", gemm<expectTooSmall>, "deadlock,mbarrier,race", "expect"},
      {"sm90 gemm: too many bytes expected", gemm<expectTooLarge>, "deadlock,mbarrier", "expect"},
      {"sm90 gemm: box one row short", gemm<boxOffByOne>, "deadlock,mbarrier,uninitialised", "expect"},
      {"sm90 gemm: staging overwritten while it is stored", gemm<stagingReused>, "race", "stage"},
      {"sm90 gemm: staging overwritten by other lanes", gemm<stagingReusedByLanes>, "race", "stage"},
      {"sm90 gemm: staging not fenced", gemm<noProxyFence>, "proxy", "stage"},
      {"sm90 gemm: staging fenced before it is written", gemm<proxyFenceTooEarly>, "proxy", "stage"},
      {"sm90 gemm: products not committed", gemm<noProductCommit>, "in-flight,race,exit", "pack,product"},
      {"sm90 gemm: stores not committed", gemm<noStoreCommit>, "race,exit", "stage,send"},
      {"sm90 gemm: sent before the warp has written", gemm<sendBeforeBarrier>, "race", "send"},
      {"sm90 gemm: sent before the warpgroup has written", gemm<sendBeforeBarrier, byGroup>, "race", "send"},
      {"sm90 gemm: named barrier of too many warps", gemm<namedCount, byGroup>, "deadlock,barrier-count", "named"},
      {"sm90 gemm: named barrier of a part of a warp", gemm<namedCountOdd, byGroup>, "barrier-count", "named"},
      {"sm90 gemm: no named barrier", gemm<noNamedBarrier, byGroup>, "race,barrier-count", "stage,named"},
      {"sm90 gemm: block ends while a peer reaches into it", gemm<noClusterBarrierAtEnd>, "exit,mbarrier", "release"},
      {"sm90 gemm: sums read before the wait", gemm<sumsTooEarly>, "in-flight,race", "pack"},
      {"sm90 gemm: sums pinned before the wait", gemm<sumsPinnedTooEarly>, "in-flight", "pin"},
      {"sm90 gemm: descriptor one row off", gemm<descriptorOffByARow>, "descriptor", "product"},
      {"sm90 gemm: descriptor past the ring", gemm<descriptorPastTheRing>, "out-of-bounds,uninitialised,swizzle,barrier-object", "product"},
      {"sm90 gemm: descriptor of another swizzle", gemm<wrongSwizzle>, "swizzle", "product"},
      {"sm90 gemm: too few arrivals free a stage", gemm<emptyCountSmall>, "race,mbarrier", "product,load,release"},
      {"sm90 gemm: too many arrivals wanted", gemm<emptyCountLarge>, "deadlock", "wait_empty"},
      {"sm90 gemm: more registers than the launch gave", gemm<tooManyRegisters>, "registers", "registers"},
      {"sm90 gemm: registers that nobody gave up", gemm<registersNotGivenUp>, "deadlock", "registers"},
      {"sm90 gemm: registers given up by one warp", gemm<registersOfOneWarp>, "deadlock,registers", "registers"},
      {"sm90 gemm: ends while a store reads", gemm<noDrainAtEnd>, "exit", "send"},
      {"sm90 gemm: warp barrier in one lane", gemm<barrierInOneLane>, "collective,deadlock", "one_lane"},
      {"sm90 gemm: multicast to itself only", gemm<multicastMask>, "deadlock", "wait_full,expect"},
      {"sm90 gemm: multicast outside the cluster", gemm<multicastOutside>, "out-of-bounds", "load"},
      {"sm90 gemm: stages overlap", gemm<stageStride>, "race,uninitialised", "load"},
      {"sm90 gemm: a row too far", gemm<rowTooFar, direct>, "out-of-bounds", "store"},
      {"sm90 gemm: a column too far", gemm<columnTooFar, direct>, "race,out-of-bounds", "store"},
      {"sm90 gemm: a lane has ended before the election", gemm<leaderOfDivergedWarp>, "collective", "elect"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
