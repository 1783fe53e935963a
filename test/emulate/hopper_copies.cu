// Copies of the tensor memory accelerator in every direction, plain bulk copies, and what blocks of a
// cluster do to each other's shared memory.
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- runs of bytes: load, change, store

enum Bulk {
  bulkClean,
  bulkNotFenced,
  bulkNotWaited,
  bulkNotDrained,
  bulkTooLong,
  bulkMisaligned,
  bulkObjectOverwritten,
  bulkReadBack,
  bulkNotCommitted,
  bulkTriedOnce,
  bulkExpectedLate,
  bulkNotInitialised,
  bulkLapped,
};

template <int Fault>
__global__ void __launch_bounds__(64) scale(const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const in = reinterpret_cast<float *>(arena), *const out = in + 256;
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 2048);
  const int tid = int(threadIdx.x);
  if (tid == 0 && Fault != bulkNotInitialised) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
  }
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
    if (tid == 0) {
      constexpr int shift = Fault == bulkMisaligned ? 1 : 0, bytes = Fault == bulkTooLong ? 2048 + 64 : 1024;
      if (Fault == bulkExpectedLate) {
        tlc::mbarrier_arrive(full); // mark: arrive
        tlc::bulk_load(in, X + round * 256 + shift, bytes, full); // mark: load
        tlc::mbarrier_expect_tx(full, bytes); // mark: expect
      } else {
        tlc::mbarrier_arrive_expect_tx(full, bytes);
        tlc::bulk_load(in, X + round * 256 + shift, bytes, full); // mark: load
      }
    }
    if (Fault == bulkTriedOnce)
      (void)tlc::mbarrier_try_wait(full, round);
    else if (Fault == bulkLapped && tid == 63 && round == 0)
      ;
    else if (Fault != bulkNotWaited)
      while (!tlc::mbarrier_try_wait(full, round)) // mark: wait
        ;
    for (int i = tid; i < 256; i += 64)
      out[Fault == bulkObjectOverwritten ? i + 1 : i] = 2 * in[i]; // mark: scale
    if (Fault != bulkNotFenced)
      tlc::fence_proxy_async();
    __syncthreads();
    if (tid == 0) {
      tlc::bulk_store(Y + round * 256, out, 1024); // mark: store
      if (Fault != bulkNotCommitted)
        tlc::tma_store_commit();
      if (Fault == bulkReadBack)
        tlc::tma_store_wait_read<0>();
      else if (Fault != bulkNotDrained || round == 0)
        tlc::tma_store_wait<0>();
      if (Fault != bulkNotDrained)
        Y[512 + round] = Y[round * 256]; // mark: back
    }
    __syncthreads();
  }
}

template <int Fault> bool scaled() {
  std::vector<float> x(516);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(514);
  if (!start(scale<Fault>, {1, 64, 2048 + 8}, upload(x), y))
    return false;
  const auto result = download(y, 514);
  for (size_t i = 0; i < 512; ++i)
    if (result[i] != 2 * x[i])
      return false;
  return result[512] == 2 * x[0] && result[513] == 2 * x[256];
}

// ---- a ring that a thread fills and a warp empties

enum Ring { ringClean, ringLaneReleases, ringNotWaitedFor, ringParity, ringOneStage };

template <int Fault>
__global__ void __launch_bounds__(64) ring_sum(const float *__restrict__ X, float *__restrict__ Y, int rounds) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const tile = reinterpret_cast<float *>(arena);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 256), *const empty = full + 2;
  const int tid = int(threadIdx.x), lane = tid % 32;
  if (tid == 0) {
    for (int s = 0; s < 2; ++s) {
      tlc::mbarrier_init(&full[s], 1);
      tlc::mbarrier_init(&empty[s], 1);
    }
    tlc::fence_mbarrier_init();
  }
  __syncthreads();
  if (tid < 32) {
    if (!tlc::elect_one())
      return;
    for (int k = 0; k < rounds; ++k) {
      const int s = k % 2, parity = k / 2 % 2;
      if (Fault != ringNotWaitedFor)
        tlc::mbarrier_wait(&empty[s], Fault == ringParity ? parity : parity ^ 1); // mark: wait_empty
      tlc::mbarrier_arrive_expect_tx(&full[s], 128); // mark: expect
      tlc::bulk_load(tile + (Fault == ringOneStage ? 0 : s * 32), X + k * 32, 128, &full[s]); // mark: fill
    }
    return;
  }
  float sum = 0;
  for (int k = 0; k < rounds; ++k) {
    const int s = k % 2, parity = k / 2 % 2;
    tlc::mbarrier_wait(&full[s], parity); // mark: wait_full
    sum += tile[(Fault == ringOneStage ? 0 : s * 32) + lane]; // mark: use
    if (Fault != ringLaneReleases)
      __syncwarp();
    if (lane == 0)
      tlc::mbarrier_arrive(&empty[s]); // mark: release
  }
  Y[lane] = sum;
}
template <int Fault> bool ringSummed() {
  const int rounds = 7;
  std::vector<float> x(rounds * 32);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(32);
  if (!start(ring_sum<Fault>, {1, 64, 256 + 32}, upload(x), y, rounds))
    return false;
  const auto result = download(y, 32);
  for (size_t i = 0; i < 32; ++i) {
    float sum = 0;
    for (size_t k = 0; k < rounds; ++k)
      sum += x[k * 32 + i];
    if (result[i] != sum)
      return false;
  }
  return true;
}

// ---- a ring that two warps empty in turns, two slots at a time

enum RingTurns { turnsClean, turnsNotTaken, turnsTooEarly };

template <int Fault>
__global__ void __launch_bounds__(96) ring_turns(const float *__restrict__ X, float *__restrict__ Y, int tiles) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const tile = reinterpret_cast<float *>(arena);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 256), *const empty = full + 2, *const turns = full + 4;
  const int tid = int(threadIdx.x), lane = tid % 32, reader = tid / 32 - 1;
  if (tid == 0) {
    for (int s = 0; s < 2; ++s) {
      tlc::mbarrier_init(&full[s], 1);
      tlc::mbarrier_init(&empty[s], 1);
      tlc::mbarrier_init(&turns[s], 1);
    }
    tlc::fence_mbarrier_init();
  }
  __syncthreads();
  if (reader < 0) {
    for (int k = 0; k < 2 * tiles && lane == 0; ++k) {
      const int s = k % 2;
      tlc::mbarrier_wait(&empty[s], k / 2 % 2 ^ 1);
      tlc::mbarrier_arrive_expect_tx(&full[s], 128);
      tlc::bulk_load(tile + s * 32, X + k * 32, 128, &full[s]); // mark: fill_turn
    }
    return;
  }
  for (int t = reader; t < tiles; t += 2) {
    // Whose phases they are only the turn says: all of a reader's have one parity.
    if (Fault != turnsNotTaken)
      tlc::mbarrier_wait(&turns[reader], t / 2 % 2 ^ (reader == 0));
    float sum = 0;
    for (int s = 0; s < 2; ++s) {
      if (Fault == turnsTooEarly && s == 1 && lane == 0)
        tlc::mbarrier_arrive(&turns[1 - reader]);
      tlc::mbarrier_wait(&full[s], t % 2); // mark: wait_turn
      sum += tile[s * 32 + lane]; // mark: use_turn
      __syncwarp();
      if (lane == 0)
        tlc::mbarrier_arrive(&empty[s]); // mark: release_turn
    }
    if (Fault != turnsTooEarly && lane == 0)
      tlc::mbarrier_arrive(&turns[1 - reader]);
    Y[t * 32 + lane] = sum;
  }
}
template <int Fault> bool ringTurns() {
  const int tiles = 5;
  std::vector<float> x(tiles * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(tiles * 32);
  if (!start(ring_turns<Fault>, {1, 96, 256 + 48}, upload(x), y, tiles))
    return false;
  const auto result = download(y, tiles * 32);
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i] != x[i / 32 * 64 + i % 32] + x[i / 32 * 64 + 32 + i % 32])
      return false;
  return true;
}

// ---- boxes of 1 to 5 dimensions, partly outside: zeros come, nothing is stored there

constexpr int dims[5] = {20, 5, 4, 3, 2}, box[5] = {8, 3, 2, 2, 2}, first[5] = {-4, 3, -1, 2, 1};
// Stores may reach past the end, but not begin before the tensor.
constexpr int stored[5] = {16, 3, 3, 0, 1};

template <int Rank> constexpr int elements_of(const int (&size)[5]) {
  int n = 1;
  for (int d = 0; d < Rank; ++d)
    n *= size[d];
  return n;
}

enum Boxes { boxesClean, boxesBefore, boxesRank, boxesMap, boxesPast, boxesNotFenced, boxesWritten, boxesWrittenOnly, boxesFencedElsewhere, boxesOfHost, boxesBetween };

template <int Rank, int Fault>
__global__ void __launch_bounds__(32)
    move_box(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, const CUtensorMap *other, float *written) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const in = reinterpret_cast<float *>(arena), *const out = reinterpret_cast<float *>(arena + 2048);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 4096);
  constexpr int count = elements_of<Rank>(box);
  if (Fault >= boxesWritten && Fault <= boxesFencedElsewhere) { // what is loaded is written by threads first
    written[48 + threadIdx.x] = float(48 + threadIdx.x); // mark: write
    if (Fault == boxesWritten)
      tlc::fence_proxy_async_global();
    if (Fault == boxesFencedElsewhere)
      tlc::fence_proxy_async();
    __syncwarp();
  }
  if (threadIdx.x == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    tlc::mbarrier_arrive_expect_tx(full, count * 4);
    const CUtensorMap *const map = Fault == boxesMap ? other : &from;
    constexpr int x = first[0] + (Fault == boxesBetween ? 2 : 0), y = first[1], z = first[2], u = first[3], v = first[4];
    unsigned char *const place = arena + (Fault == boxesPast ? 4096 : 0);
    if constexpr (Rank == 1)
      tlc::tma_load_1d(place, map, full, x); // mark: load
    else if constexpr (Rank == 2 || Fault == boxesRank)
      tlc::tma_load_2d(place, map, full, x, y); // mark: load
    else if constexpr (Rank == 3)
      tlc::tma_load_3d(place, map, full, x, y, z);
    else if constexpr (Rank == 4)
      tlc::tma_load_4d(place, map, full, x, y, z, u);
    else
      tlc::tma_load_5d(place, map, full, x, y, z, u, v);
  }
  __syncthreads();
  tlc::mbarrier_wait(full, 0);
  for (int i = int(threadIdx.x); i < count; i += 32)
    out[i] = in[i] + 1; // mark: add
  if (Fault != boxesNotFenced)
    tlc::fence_proxy_async();
  __syncwarp();
  if (tlc::elect_one()) {
    constexpr int x = Fault == boxesBefore ? first[0] : stored[0], y = stored[1], z = stored[2], u = stored[3], v = stored[4];
    if constexpr (Rank == 1)
      tlc::tma_store_1d(&to, out, x);
    else if constexpr (Rank == 2)
      tlc::tma_store_2d(&to, out, x, y); // mark: store
    else if constexpr (Rank == 3)
      tlc::tma_store_3d(&to, out, x, y, z);
    else if constexpr (Rank == 4)
      tlc::tma_store_4d(&to, out, x, y, z, u);
    else
      tlc::tma_store_5d(&to, out, x, y, z, u, v);
    tlc::tma_store_commit();
    tlc::tma_store_wait_read<0>();
  }
}

template <int Rank> CUtensorMap boxMap(const float *base) {
  uint64_t size[5], strides[4], bytes = 4;
  uint32_t boxes[5];
  for (int d = 0; d < Rank; ++d) {
    size[d] = uint64_t(dims[d]), boxes[d] = uint32_t(box[d]);
    bytes *= size[d];
    if (d < 4)
      strides[d] = bytes;
  }
  CUtensorMap map = {};
  (void)tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, Rank, const_cast<float *>(base), size, strides, boxes, 0, 0);
  return map;
}
template <int Rank, int Fault = boxesClean> bool boxes() {
  const int count = elements_of<Rank>(dims);
  std::vector<float> x(size_t(count), 0), y(size_t(count), -7);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  alignas(16) static float host[elements_of<Rank>(dims)];
  const float *from = Fault == boxesOfHost ? host : upload(x);
  float *to = upload(y);
  if (!start(move_box<Rank, Fault>, {1, 32, 4096 + 8}, boxMap<Rank>(from), boxMap<Rank>(to),
             reinterpret_cast<const CUtensorMap *>(from), const_cast<float *>(from)))
    return false;
  const auto result = download(to, size_t(count));
  for (int i = 0; i < count; ++i) {
    bool written = true, inside = true; // by the store; of the elements that were loaded
    int source = 0;
    for (int d = 0, left = i, pitch = 1; d < Rank; left /= dims[d], pitch *= dims[d++]) {
      const int at = left % dims[d] - stored[d], from = first[d] + at;
      written = written && at >= 0 && at < box[d];
      inside = inside && from >= 0 && from < dims[d];
      source += from * pitch;
    }
    if (result[size_t(i)] != (written ? (inside ? x[size_t(source)] : 0) + 1 : -7))
      return false;
  }
  return true;
}
template <int Rank> bool refused() { // a map that the driver would not make
  CUtensorMap map = {};
  const uint64_t size[] = {20, 5}, strides[] = {Rank == 1 ? 40u : 80u};
  const uint32_t boxes[] = {Rank == 2 ? 6u : 8u, Rank == 3 ? 257u : 3u};
  float *base = reserve<float>(100) + (Rank == 4 ? 1 : 0);
  const int swizzle = Rank == 5 ? 16 : 0;
  const tlc_status status = tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, base, size, strides, boxes, swizzle, 0);
  return (status == TLC_ERR_NATIVE) == (Rank < 5);
}

// ---- sums of several blocks, added by the copies

enum Sums { sumsClean, sumsNotFenced, sumsNotZeroed, sumsBesideStores, sumsOfBytes };

template <int Fault>
__global__ void __launch_bounds__(32) add_up(const __grid_constant__ CUtensorMap map, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(float, part, 128);
  const int lane = int(threadIdx.x);
  part[lane] = float(lane + int(blockIdx.x)); // mark: part
  if (Fault != sumsNotFenced)
    tlc::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
    tlc::tma_reduce_add_1d(&map, part, 0); // mark: add
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
  if (Fault == sumsBesideStores && blockIdx.x == 1)
    Y[lane] = 0; // mark: store
}
template <int Fault> bool addedUp() {
  std::vector<float> zero(32, 100);
  float *y = Fault == sumsNotZeroed ? reserve<float>(32) : upload(zero);
  const uint64_t size = Fault == sumsOfBytes ? 128 : 32;
  const uint32_t width = uint32_t(size);
  CUtensorMap map = {};
  (void)tlc::tensor_map(&map, Fault == sumsOfBytes ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                        1, y, &size, &size, &width, 0, 0);
  if (!start(add_up<Fault>, {5, 32, 128}, map, y))
    return false;
  const auto result = download(y, 32);
  for (int i = 0; i < 32; ++i)
    if (result[size_t(i)] != float(100 + 5 * i + 10))
      return false;
  return true;
}

// ---- pixels for a convolution: 3x3 filters over n images, padded by 1

constexpr int channels = 16, wide = 7, high = 6, images = 2, pixels = 64;

enum Pixels { pixelsClean, pixelsOfBoxes, pixelsTooFew };

template <int Fault>
__global__ void __launch_bounds__(32) gather(const __grid_constant__ CUtensorMap map, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const tile = reinterpret_cast<float *>(arena);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + pixels * channels * 4);
  if (threadIdx.x == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
  }
  __syncwarp();
  for (int tap = 0; tap < 9; ++tap) {
    if (threadIdx.x == 0) {
      tlc::mbarrier_arrive_expect_tx(full, (Fault == pixelsTooFew ? pixels + 1 : pixels) * channels * 4); // mark: expect
      tlc::tma_load_im2col_4d(tile, &map, full, 0, -1, -1, 0, tap % 3, tap / 3); // mark: load
    }
    tlc::mbarrier_wait(full, tap % 2);
    for (int i = int(threadIdx.x); i < pixels * channels; i += 32)
      Y[tap * pixels * channels + i] = tile[i];
    __syncwarp();
  }
}
template <int Fault> bool gathered() {
  std::vector<float> x(images * high * wide * channels);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i + 1);
  const float *base = upload(x);
  float *y = reserve<float>(9 * pixels * channels);
  const uint64_t size[] = {channels, wide, high, images};
  const uint64_t strides[] = {channels * 4, wide * channels * 4, high * wide * channels * 4};
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const uint32_t steps[] = {1, 1, 1, 1}, boxes[] = {channels, 8, 8, 1};
  CUtensorMap map = {};
  const tlc_status status =
      Fault == pixelsOfBoxes
          ? tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, const_cast<float *>(base), size, strides, boxes, 0, 0)
          : tlc::tensor_map_im2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, const_cast<float *>(base), size, strides,
                                   lower, upper, channels, pixels, steps, 0, 0);
  if (status != TLC_OK || !start(gather<Fault>, {1, 32, pixels * channels * 4 + 8}, map, y))
    return false;
  const auto result = download(y, 9 * pixels * channels);
  for (int tap = 0; tap < 9; ++tap)
    for (int p = 0; p < pixels; ++p)
      for (int c = 0; c < channels; ++c) {
        const int w = p % wide + tap % 3 - 1, h = p / wide % high + tap / 3 - 1, n = p / (wide * high);
        const bool inside = w >= 0 && w < wide && h >= 0 && h < high && n < images;
        const float wanted = inside ? x[size_t(((n * high + h) * wide + w) * channels + c)] : 0;
        if (result[size_t((tap * pixels + p) * channels + c)] != wanted)
          return false;
      }
  return true;
}

// ---- neighbours in a cluster

enum Peers {
  peersClean,
  peersNotStarted,
  peersNotWaited,
  peersOutside,
  peersGone,
  peersObjectNotFenced,
  peersArriveTwice,
  peersHalfArrives,
};

template <int Fault>
__global__ void __launch_bounds__(64) pass_on(const int *__restrict__ X, int *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  int *const got = reinterpret_cast<int *>(arena);
  uint64_t *const arrived = reinterpret_cast<uint64_t *>(arena + 256);
  const int tid = int(threadIdx.x), rank = int(tlc::cluster_rank()), next = (rank + 1) % 4;
  const int value = X[int(blockIdx.x) * 64 + tid];
  if (tid == 0) {
    tlc::mbarrier_init(arrived, Fault == peersArriveTwice ? 32 : 64); // mark: init
    if (Fault != peersObjectNotFenced)
      tlc::fence_mbarrier_init();
  }
  if (Fault != peersNotStarted)
    tlc::cluster_sync();
  if (Fault == peersGone && rank == 0)
    return;
  if (Fault == peersOutside)
    *tlc::map_cluster(got + tid, next + 1) = value; // mark: give
  else if (rank % 2)
    *tlc::map_cluster(got + tid, next) = value; // mark: give
  else
    tlc::st_cluster<4>(got + tid, next, &value); // mark: give
  if (Fault == peersHalfArrives && tid >= 32)
    ;
  else
    tlc::mbarrier_arrive_remote(arrived, next); // mark: arrive
  if (Fault != peersNotWaited)
    tlc::mbarrier_wait(arrived, 0); // mark: wait
  int back;
  tlc::ld_cluster<4>(&back, got + tid, rank); // mark: take
  Y[int(blockIdx.x) * 64 + tid] = back;
  tlc::cluster_sync();
}
template <int Fault> bool passedOn() {
  std::vector<int> x(8 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = int(i);
  int *y = reserve<int>(8 * 64);
  if (!startClusters(pass_on<Fault>, {8, 64, 256 + 8}, {4, 1}, 1, upload(x), y))
    return false;
  const auto result = download(y, 8 * 64);
  for (int b = 0; b < 8; ++b)
    for (int i = 0; i < 64; ++i)
      if (result[size_t(b * 64 + i)] != (b / 4 * 4 + (b + 3) % 4) * 64 + i)
        return false;
  return true;
}

// ---- which blocks make a cluster

__global__ void __launch_bounds__(32) name_blocks(int *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(int, mine, 16);
  const int block = int(blockIdx.x + gridDim.x * blockIdx.y);
  if (threadIdx.x == 0)
    *mine = block;
  tlc::cluster_arrive();
  tlc::cluster_wait();
  if (threadIdx.x < 4) {
    int peer;
    tlc::ld_cluster<4>(&peer, mine, int(threadIdx.x));
    Y[block * 5 + int(threadIdx.x)] = peer;
  }
  if (threadIdx.x == 4)
    Y[block * 5 + 4] = int(tlc::cluster_rank());
  tlc::cluster_sync();
}
bool blocksNamed() { // 4 x 4 blocks in clusters of 2 x 2
  int *y = reserve<int>(16 * 5);
  if (!startClusters(name_blocks, {4, 32, 16}, {2, 2}, 4, y))
    return false;
  const auto result = download(y, 16 * 5);
  for (int b = 0; b < 16; ++b)
    for (int i = 0; i < 5; ++i) {
      const int x = b % 4, row = b / 4;
      const int wanted = i == 4 ? x % 2 + row % 2 * 2 : x / 2 * 2 + i % 2 + 4 * (row / 2 * 2 + i / 2);
      if (result[size_t(b * 5 + i)] != wanted)
        return false;
    }
  return true;
}

} // namespace

void addHopperCopies(std::vector<Case> &cases) {
  const Case all[] = {
      {"bulk", scaled<bulkClean>, "", ""},
      {"bulk: result not fenced", scaled<bulkNotFenced>, "proxy", "scale"},
      {"bulk: not waited for", scaled<bulkNotWaited>, "race,uninitialised,exit", "scale,load"},
      {"bulk: tried once, result not looked at", scaled<bulkTriedOnce>, "race,uninitialised", "scale,load"},
      {"bulk: ends while the store reads", scaled<bulkNotDrained>, "exit", "store"},
      {"bulk: too long", scaled<bulkTooLong>, "out-of-bounds,barrier-object", "load"},
      {"bulk: misaligned", scaled<bulkMisaligned>, "misaligned", "load"},
      {"bulk: barrier object overwritten", scaled<bulkObjectOverwritten>, "barrier-object", "scale"},
      {"bulk: read back when only the source is free", scaled<bulkReadBack>, "race", "back"},
      {"bulk: store not committed", scaled<bulkNotCommitted>, "race,exit", "scale,back,store"},
      {"bulk: bytes expected after the arrival", scaled<bulkExpectedLate>, "mbarrier,race,deadlock,uninitialised", "expect,arrive,scale,load"},
      {"bulk: barrier not initialised", scaled<bulkNotInitialised>, "mbarrier", "load,wait"},
      {"bulk: a thread misses a phase", scaled<bulkLapped>, "race,mbarrier,uninitialised", "scale,wait"},
      {"bulk ring", ringSummed<ringClean>, "", ""},
      {"bulk ring: a lane releases for the others", ringSummed<ringLaneReleases>, "race,mbarrier", "use,fill,wait_full"},
      {"bulk ring: filled without a wait", ringSummed<ringNotWaitedFor>, "race,mbarrier,uninitialised", "use,fill,wait_full,expect"},
      {"bulk ring: parity of the empty barrier", ringSummed<ringParity>, "deadlock", "wait_empty"},
      {"bulk ring: stages in one place", ringSummed<ringOneStage>, "race", "use,fill"},
      {"ring in turns", ringTurns<turnsClean>, "", ""},
      {"ring in turns: not taken", ringTurns<turnsNotTaken>, "mbarrier,race,uninitialised", "wait_turn,use_turn,fill_turn,release_turn"},
      {"ring in turns: passed on before the last slot was seen", ringTurns<turnsTooEarly>, "mbarrier,race,uninitialised", "wait_turn,use_turn,fill_turn,release_turn"},
      {"boxes: 1 dimension", boxes<1>, "", ""},
      {"boxes: 2 dimensions", boxes<2>, "", ""},
      {"boxes: 3 dimensions", boxes<3>, "", ""},
      {"boxes: 4 dimensions", boxes<4>, "", ""},
      {"boxes: 5 dimensions", boxes<5>, "", ""},
      {"boxes: stride refused", refused<1>, "", ""},
      {"boxes: width refused", refused<2>, "", ""},
      {"boxes: height refused", refused<3>, "", ""},
      {"boxes: base refused", refused<4>, "", ""},
      {"boxes: accepted", refused<5>, "", ""},
      {"boxes: too few coordinates", boxes<3, boxesRank>, "tensor-map", "load"},
      {"boxes: columns between units", boxes<2, boxesBetween>, "tensor-map", "load"},
      {"boxes: stored before the tensor", boxes<2, boxesBefore>, "tensor-map", "store"},
      {"boxes: no tensor map", boxes<2, boxesMap>, "tensor-map", "load"},
      {"boxes: past the shared memory", boxes<2, boxesPast>, "out-of-bounds,barrier-object", "load"},
      {"boxes: result not fenced", boxes<2, boxesNotFenced>, "proxy", "add"},
      {"boxes: of the host's memory", boxes<2, boxesOfHost>, "out-of-bounds", "load"},
      {"boxes: loaded where threads wrote", boxes<2, boxesWritten>, "", ""},
      {"boxes: writes not fenced", boxes<2, boxesWrittenOnly>, "proxy", "write"},
      {"boxes: writes fenced for shared memory only", boxes<2, boxesFencedElsewhere>, "proxy", "write"},
      {"sums", addedUp<sumsClean>, "", ""},
      {"sums: not fenced", addedUp<sumsNotFenced>, "proxy", "part"},
      {"sums: added to nothing", addedUp<sumsNotZeroed>, "uninitialised", "add"},
      {"sums: beside a plain store", addedUp<sumsBesideStores>, "race", "store,add"},
      {"sums: of bytes", addedUp<sumsOfBytes>, "tensor-map", "add"},
      {"pixels", gathered<pixelsClean>, "", ""},
      {"pixels: map of boxes", gathered<pixelsOfBoxes>, "tensor-map", "load"},
      {"pixels: too many expected", gathered<pixelsTooFew>, "deadlock,mbarrier", "expect"},
      {"blocks of clusters", blocksNamed, "", ""},
      {"peers", passedOn<peersClean>, "", ""},
      {"peers: may not have started", passedOn<peersNotStarted>, "race,mbarrier,proxy", "give,arrive,wait,init"},
      {"peers: not waited for", passedOn<peersNotWaited>, "race,uninitialised", "give,take"},
      {"peers: outside the cluster", passedOn<peersOutside>, "out-of-bounds", "give"},
      {"peers: one has ended", passedOn<peersGone>, "exit", "give,arrive"},
      {"peers: barrier object not fenced", passedOn<peersObjectNotFenced>, "proxy", "init,arrive"},
      {"peers: too many arrivals", passedOn<peersArriveTwice>, "mbarrier,race,uninitialised", "arrive,take,give,wait"},
      {"peers: half of them arrive", passedOn<peersHalfArrives>, "deadlock", "wait"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
