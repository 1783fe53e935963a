// Tiles of one arena: what is made of a tile's pointer stays in that tile, though its neighbour's bytes are there to be
// touched; and tiles that have the same bytes one after the other hold only what was written as theirs.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- accesses of threads: three tiles, then one in the place of two of them

enum Plain {
  plainClean,
  storePast,
  storeBefore,
  readPast,
  vectorPast,
  atomicPast,
  tileTooLong,
  notWritten,
  readWhenGone,
  writtenWhenGone,
};

template <int Fault> __global__ void __launch_bounds__(64) exchange(const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(int, count, 4, arena);
  TLC_SHARED_TILE(float, left, 64, arena + 16);
  TLC_SHARED_TILE(float, right, 64, arena + 272);
  const int tid = int(threadIdx.x);
  if (tid < 4)
    count[tid] = 0;
  left[tid + (Fault == storePast)] = X[tid]; // mark: left
  right[tid - (Fault == storeBefore)] = X[64 + tid]; // mark: right
  if (Fault == storePast || Fault == storeBefore)
    (Fault == storePast ? left[0] : right[63]) = X[Fault == storePast ? 0 : 127];
  __syncthreads();
  tlc::atomic_add(&count[tid % 4 + (Fault == atomicPast)], 1); // mark: count
  alignas(16) float four[4];
  tlc::copy<16>(four, &left[tid % 16 * 4 + (Fault == vectorPast ? 4 : 0)]); // mark: vector
  const float sum = left[64 - tid - (Fault == readPast ? 0 : 1)] + right[tid] + four[tid / 16]; // mark: read
  __syncthreads();
  TLC_SHARED_TILE(float, both, Fault == tileTooLong ? 129 : 128, arena + 16); // mark: tile
  if (Fault != notWritten || tid != 5)
    both[tid] = sum; // mark: both
  both[64 + tid] = 2 * sum; // mark: both
  if (Fault == writtenWhenGone && tid == 0)
    left[3] = 0; // mark: gone
  __syncthreads();
  Y[tid] = both[63 - tid] + both[64 + tid] + float(count[tid % 4]); // mark: result
  if (Fault == readWhenGone)
    Y[tid] += left[tid]; // mark: gone
}
template <int Fault> bool exchanged() {
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(64);
  if (!start(exchange<Fault>, {1, 64, 528}, upload(x), y))
    return false;
  const auto result = download(y, 64);
  const auto sum = [&](size_t i) { return x[63 - i] + x[64 + i] + x[i % 16 * 4 + i / 16]; };
  for (size_t i = 0; i < 64; ++i)
    if (result[i] != sum(63 - i) + 2 * sum(i) + 16)
      return false;
  return true;
}

// ---- matrices of a warp: copied, moved by rows of matrix instructions

enum Matrices { matricesClean, copyPast, loadPast, storeRowPast, copyOfOther };

template <int Fault> __global__ void __launch_bounds__(32) transposed(const __half *__restrict__ X, __half *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(__half, in, 256, arena);
  TLC_SHARED_TILE(__half, out, 256, arena + 512);
  TLC_SHARED_TILE(__half, unused, 256, arena + 1024);
  const int lane = int(threadIdx.x), row = lane % 16, half = lane / 16;
  tlc::copy<16>(&unused[lane * 8], X);
  tlc::cp_async<16>(&in[row * 16 + half * 8 + (Fault == copyPast ? 16 : 0)], &X[row * 16 + half * 8]); // mark: copy
  tlc::cp_async_commit();
  tlc::cp_async_wait<0>();
  __syncwarp();
  alignas(16) __half a[8];
  tlc::ldmatrix_x4_trans(a, &in[row * 16 + half * 8 + (Fault == loadPast ? 16 : 0)]); // mark: load
  // The second and the third of four 8x8 matrices change places.
  tlc::stmatrix_x4(&out[(lane % 8 + lane / 16 * 8 + (Fault == storeRowPast ? 1 : 0)) * 16 + lane / 8 % 2 * 8], a); // mark: store
  __syncwarp();
  tlc::copy<16>(&Y[lane * 8], &out[lane * 8]);
}
template <int Fault> bool transposedRight() {
  std::vector<__half> x = halves(256, 3);
  __half *y = reserve<__half>(256);
  if (!start(transposed<Fault>, {1, 32, 1536}, upload(x), y))
    return false;
  const auto result = download(y, 256);
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 16; ++j)
      if (float(result[i * 16 + j]) != float(x[j * 16 + i]))
        return false;
  return true;
}

// ---- asynchronous copies, and the barriers that tell of them

enum Async { asyncClean, boxPast, boxWidePast, bulkPast, bulkStorePast, boxStorePast, nextBarrier, barrierBefore, initPast };

template <int Fault>
__global__ void __launch_bounds__(32)
    relay(const __grid_constant__ CUtensorMap X_map, const __grid_constant__ CUtensorMap Y_map, const float *__restrict__ X,
          float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, box, 256, arena); // 8 rows of 32
  TLC_SHARED_TILE(float, run, 256, arena + 1024);
  TLC_SHARED_TILE(float, spare, 256, arena + 2048);
  TLC_SHARED_TILE(uint64_t, full, 2, arena + 3072);
  TLC_SHARED_TILE(uint64_t, empty, 2, arena + 3088);
  const int lane = int(threadIdx.x);
  for (int i = lane; i < 256; i += 32)
    spare[i] = 0;
  if (lane == 0) {
    for (int s = 0; s < 2; ++s) {
      tlc::mbarrier_init(&full[s + (Fault == initPast ? 1 : 0)], 1); // mark: init
      tlc::mbarrier_init(&empty[s], 1);
    }
    tlc::fence_mbarrier_init();
    tlc::fence_proxy_async();
    constexpr int shift = Fault == boxPast ? 128 : 0, bytes = Fault == bulkPast ? 1024 + 16 : 1024;
    uint64_t *const told = Fault == nextBarrier ? &full[2] : Fault == barrierBefore ? &empty[-1] : &full[1];
    if (Fault != initPast) {
      tlc::mbarrier_arrive_expect_tx(&full[0], 1024);
      tlc::tma_load_2d(&box[shift], &X_map, &full[0], 0, 0); // mark: box
    }
    tlc::mbarrier_arrive_expect_tx(told, bytes); // mark: barrier
    tlc::bulk_load(run, X + 256, bytes, told); // mark: run
  }
  __syncwarp();
  if (Fault != initPast)
    tlc::mbarrier_wait(&full[0], 0);
  tlc::mbarrier_wait(Fault == nextBarrier ? &empty[0] : &full[1], 0);
  if (lane == 0) {
    tlc::tma_store_2d(&Y_map, Fault == boxStorePast ? box + 128 : box, 0, 0); // mark: store_box
    tlc::bulk_store(Y + 256, run, Fault == bulkStorePast ? 1024 + 16 : 1024); // mark: store_run
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
}
template <int Fault> bool relayed() {
  std::vector<float> x(516);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  const float *from = upload(x);
  float *y = upload(std::vector<float>(516));
  const auto map = [](const float *base, int height) {
    return matrixMap(base, 16, 32, 32, height, 32, 0, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  };
  if (!start(relay<Fault>, {1, 32, 3104}, map(from, Fault == boxWidePast ? 9 : 8), map(y, 8), from, y))
    return false;
  const auto result = download(y, 512);
  return std::equal(result.begin(), result.end(), x.begin());
}

// ---- a product of a warpgroup: what descriptors say

enum Described { describedClean, leftPast, rightPast, rightWide, stepPast };

template <int Fault> __global__ void __launch_bounds__(128) multiply(const __half *__restrict__ A, const __half *__restrict__ B, float *__restrict__ C) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  TLC_SHARED_TILE(__half, left, 64 * 32, arena); // units of 8 rows of 8 elements, by k, then by rows
  TLC_SHARED_TILE(__half, right, 64 * 32, arena + 4096);
  TLC_SHARED_TILE(__half, spare, 64 * 32, arena + 8192);
  const int tid = int(threadIdx.x), warp = tid / 32, lane = tid % 32;
  for (int i = tid; i < 256; i += 128) { // row i % 64, 8 elements from i / 64 * 8 on
    const int place = (i / 64 * 8 + i % 64 / 8) * 64 + i % 8 * 8;
    tlc::copy<16>(&left[place], &A[i % 64 * 32 + i / 64 * 8]);
    tlc::copy<16>(&right[place], &B[i % 64 * 32 + i / 64 * 8]);
    tlc::copy<16>(&spare[place], &B[0]);
  }
  tlc::fence_proxy_async();
  __syncthreads();
  alignas(16) float sum[32];
  tlc::wgmma_fence();
  const uint64_t a = tlc::wgmma_descriptor(left + (Fault == leftPast ? 512 : 0), 1024, 128, 0);
  const uint64_t b = tlc::wgmma_descriptor(right + (Fault == rightPast ? 512 : 0), 1024, Fault == rightWide ? 256 : 128, 0);
  constexpr uint64_t step = Fault == stepPast ? 4096 : 2048;
  for (uint64_t k = 0; k < 2; ++k)
    tlc::wgmma_m64n64k16_f16_f16_f32_ss<0, 0>(sum, a + (k * step >> 4), b + (k * 2048 >> 4), k > 0); // mark: product
  tlc::wgmma_commit();
  tlc::wgmma_wait<0>();
  for (int i = 0; i < 32; ++i)
    C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}
template <int Fault> bool multiplied() {
  const std::vector<__half> a = halves(64 * 32, 5), b = halves(64 * 32, 700);
  float *c = reserve<float>(64 * 64);
  if (!start(multiply<Fault>, {1, 128, 3 * 4096}, upload(a), upload(b), c))
    return false;
  const auto result = download(c, 64 * 64);
  for (size_t i = 0; i < 64; ++i)
    for (size_t j = 0; j < 64; ++j) {
      double sum = 0;
      for (size_t k = 0; k < 32; ++k)
        sum += double(float(a[i * 32 + k])) * double(float(b[j * 32 + k]));
      if (std::fabs(sum - result[i * 64 + j]) > 1e-3)
        return false;
    }
  return true;
}

// ---- tiles of another block of the cluster

enum Peer { peerClean, peerStorePast, peerLoadPast, peerPointerPast, peerBarrierPast, peerMulticastPast };

template <int Fault>
__global__ void __launch_bounds__(32) swap_rows(const __grid_constant__ CUtensorMap map, const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(float, both, 64, arena); // a box of 32 floats of each block
  TLC_SHARED_TILE(float, row, 32, arena + 256);
  TLC_SHARED_TILE(float, spare, 32, arena + 384);
  TLC_SHARED_TILE(uint64_t, full, 1, arena + 512);
  TLC_SHARED_TILE(uint64_t, told, 1, arena + 520);
  const int lane = int(threadIdx.x), rank = int(tlc::cluster_rank()), other = rank ^ 1;
  spare[lane] = 0;
  if (lane == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::mbarrier_init(told, 1);
    tlc::fence_mbarrier_init();
  }
  tlc::cluster_sync();
  const float value = X[rank * 32 + lane];
  tlc::st_cluster<4>(&row[lane + (Fault == peerStorePast && lane == 31)], other, &value); // mark: store
  if (Fault == peerStorePast && lane == 31)
    tlc::st_cluster<4>(&row[31], other, &value);
  if (lane == 0) {
    tlc::mbarrier_arrive_remote(Fault == peerBarrierPast ? full + 1 : told, other); // mark: arrive
    tlc::mbarrier_arrive_expect_tx(full, 256);
  }
  tlc::cluster_sync();
  if (lane == 0)
    tlc::tma_load_1d_multicast(both + rank * 32 + (Fault == peerMulticastPast ? 32 : 0), &map, full, rank * 32, 3); // mark: box
  tlc::mbarrier_wait(full, 0);
  tlc::mbarrier_wait(told, 0);
  tlc::cluster_sync();
  float back;
  tlc::ld_cluster<4>(&back, &row[31 - lane + (Fault == peerLoadPast && lane == 0)], other); // mark: load
  const float *const there = tlc::map_cluster(both, other);
  Y[rank * 32 + lane] = row[lane] + 2 * back + there[31 - lane + (Fault == peerPointerPast ? 33 : 0)]; // mark: pointer
  tlc::cluster_sync();
}
template <int Fault> bool swapped() {
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  const float *from = upload(x);
  float *y = reserve<float>(64);
  CUtensorMap map = {};
  const uint64_t size = 64;
  const uint32_t width = 32;
  (void)tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, const_cast<float *>(from), &size, &size, &width, 0, 0);
  if (!startClusters(swap_rows<Fault>, {2, 32, 528}, uint2{2, 1}, 1, map, from, y))
    return false;
  const auto result = download(y, 64);
  for (size_t i = 0; i < 64; ++i)
    if (result[i] != x[i ^ 32] + 2 * x[i / 32 * 32 + 31 - i % 32] + x[31 - i % 32])
      return false;
  return true;
}

} // namespace

void addTiles(std::vector<Case> &cases) {
  const Case all[] = {
      {"tiles", exchanged<plainClean>, "", ""},
      {"tiles: store past one", exchanged<storePast>, "out-of-bounds", "left"},
      {"tiles: store before one", exchanged<storeBefore>, "out-of-bounds", "right"},
      {"tiles: read past one", exchanged<readPast>, "out-of-bounds", "read"},
      {"tiles: vector past one", exchanged<vectorPast>, "out-of-bounds", "vector"},
      {"tiles: atomic past one", exchanged<atomicPast>, "out-of-bounds", "count"},
      {"tiles: longer than the arena", exchanged<tileTooLong>, "out-of-bounds", "tile"},
      {"tiles: not written, but what was there before", exchanged<notWritten>, "overlap", "result"},
      {"tiles: read when its place is another's", exchanged<readWhenGone>, "overlap", "gone"},
      {"tiles: written when its place is another's", exchanged<writtenWhenGone>, "overlap,race", "gone"},
      {"tile rows", transposedRight<matricesClean>, "", ""},
      {"tile rows: copy past one", transposedRight<copyPast>, "out-of-bounds", "copy"},
      {"tile rows: matrix loaded past one", transposedRight<loadPast>, "out-of-bounds", "load"},
      {"tile rows: matrix stored past one", transposedRight<storeRowPast>, "out-of-bounds", "store"},
      {"tile copies", relayed<asyncClean>, "", ""},
      {"tile copies: box past one", relayed<boxPast>, "out-of-bounds", "box"},
      {"tile copies: box too high", relayed<boxWidePast>, "out-of-bounds", "box"},
      {"tile copies: run past one", relayed<bulkPast>, "out-of-bounds", "run"},
      {"tile copies: run stored past one", relayed<bulkStorePast>, "out-of-bounds", "store_run"},
      {"tile copies: box stored past one", relayed<boxStorePast>, "out-of-bounds", "store_box"},
      {"tile copies: the next tile's barrier", relayed<nextBarrier>, "out-of-bounds", "barrier"},
      {"tile copies: the barrier before", relayed<barrierBefore>, "out-of-bounds", "barrier"},
      {"tile copies: more barriers initialised", relayed<initPast>, "out-of-bounds", "init"},
      {"tile products", multiplied<describedClean>, "", ""},
      {"tile products: A past its tile", multiplied<leftPast>, "out-of-bounds", "product"},
      {"tile products: B past its tile", multiplied<rightPast>, "out-of-bounds", "product"},
      {"tile products: B with too long strides", multiplied<rightWide>, "out-of-bounds", "product"},
      {"tile products: step past the tile", multiplied<stepPast>, "out-of-bounds", "product"},
      {"peer tiles", swapped<peerClean>, "", ""},
      {"peer tiles: store past one", swapped<peerStorePast>, "out-of-bounds", "store"},
      {"peer tiles: load past one", swapped<peerLoadPast>, "out-of-bounds", "load"},
      {"peer tiles: pointer past one", swapped<peerPointerPast>, "out-of-bounds", "pointer"},
      {"peer tiles: barrier past one", swapped<peerBarrierPast>, "out-of-bounds", "arrive"},
      {"peer tiles: multicast past one", swapped<peerMulticastPast>, "out-of-bounds", "box"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
