// Attention forward as tlc emits it for sm_90: a thread draws work and feeds rings of K and V, two
// warpgroups take turns on the tensor cores; of each, the scores of one tile and the output of the tile before
// are in flight together. Probabilities go from sums to A registers. (Emitted text has no lambdas; here they
// are always inlined, so that what they share stays in registers.)
#include <cuda_runtime.h>

#include <type_traits>

#include "hopper.h"

namespace {

constexpr int depth = 64, columns = 64, stages = 2, rows = 128, tile_bytes = 64 * depth * 2;
constexpr int turn = 8; // named barriers turn + g: warpgroup g may issue its products

struct Work {
  int row, head, tiles; // first row; number of K and V tiles, 0: there is no more work
};
struct Shared {
  unsigned char q[2][2][tile_bytes], k[stages][tile_bytes], v[stages][tile_bytes], o[2][tile_bytes];
  uint64_t q_full[2], q_empty[2], k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];
  Work work[2];
};

enum Fault {
  clean,
  noBarrierBeforeStore,
  noProxyFence,
  stagingReused,
  noWaitForOutput,
  noFenceForOutput,
  probabilitiesInFlight,
  scoresTooEarly,
  keysReleasedTooEarly,
  noWaitForWork,
  turnToNobody,
  namedCount,
  fullCount,
  endsWhileStoring,
  halfAWorkItem,
  valuesNotReleased,
};

template <int Fault, bool Causal>
__global__ void __launch_bounds__(384, 1)
    attention(const __grid_constant__ CUtensorMap Q_map, const __grid_constant__ CUtensorMap K_map,
              const __grid_constant__ CUtensorMap V_map, const __grid_constant__ CUtensorMap O_map, int *__restrict__ next,
              int length, int heads, float scale) {
  TLC_DYNAMIC_SHARED(Shared, shared, 1024);
  const int lane = int(threadIdx.x) % 32, thread = int(threadIdx.x) % 128;
  const int group = tlc::warp_uniform(int(threadIdx.x) / 128);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      tlc::mbarrier_init(&shared->q_full[i], 1);
      tlc::mbarrier_init(&shared->q_empty[i], 8);
    }
    for (int i = 0; i < stages; ++i) {
      tlc::mbarrier_init(&shared->k_full[i], Fault == fullCount ? 2 : 1);
      tlc::mbarrier_init(&shared->v_full[i], 1);
      tlc::mbarrier_init(&shared->k_empty[i], 8);
      tlc::mbarrier_init(&shared->v_empty[i], 8);
    }
    tlc::fence_mbarrier_init();
  }
  __syncthreads();
  const int row_tiles = (length + rows - 1) / rows;

  if (group == 2) {
    tlc::setmaxnreg_dec<24>();
    if (threadIdx.x != 256)
      return;
    int slot = 0, parity = 0, index = int(blockIdx.x);
    for (int item = 0;; ++item) {
      const int q = item % 2;
      tlc::mbarrier_wait(&shared->q_empty[q], item / 2 % 2 ^ 1);
      if (index >= row_tiles * heads) {
        if (Fault == halfAWorkItem)
          shared->work[q].tiles = 0;
        else
          shared->work[q] = {0, 0, 0}; // mark: work
        tlc::mbarrier_arrive(&shared->q_full[q]);
        break;
      }
      const int row = index % row_tiles * rows, head = index / row_tiles;
      const int last = Causal && row + rows < length ? row + rows : length;
      const int tiles = (last + columns - 1) / columns;
      shared->work[q] = {row, head, tiles}; // mark: work
      index = int(gridDim.x) + tlc::atomic_add(next, 1);
      tlc::mbarrier_arrive_expect_tx(&shared->q_full[q], 2 * tile_bytes);
      for (int g = 0; g < 2; ++g)
        tlc::tma_load_3d(shared->q[q][g], &Q_map, &shared->q_full[q], 0, row + g * 64, head);
      for (int tile = tiles - 1; tile >= 0; --tile) {
        tlc::mbarrier_wait(&shared->k_empty[slot], parity ^ 1);
        tlc::mbarrier_arrive_expect_tx(&shared->k_full[slot], tile_bytes); // mark: keys
        tlc::tma_load_3d(shared->k[slot], &K_map, &shared->k_full[slot], 0, tile * columns, head); // mark: keys
        tlc::mbarrier_wait(&shared->v_empty[slot], parity ^ 1); // mark: values_empty
        tlc::mbarrier_arrive_expect_tx(&shared->v_full[slot], tile_bytes);
        tlc::tma_load_3d(shared->v[slot], &V_map, &shared->v_full[slot], 0, tile * columns, head); // mark: values
        if (++slot == stages)
          slot = 0, parity ^= 1;
      }
    }
    return;
  }

  tlc::setmaxnreg_inc<240>();
  const int my_row = thread / 32 * 16 + lane / 4, my_column = lane % 4 * 2;
  const uint64_t k_first = tlc::wgmma_descriptor(shared->k, 16, 1024, 128);
  const uint64_t v_first = tlc::wgmma_descriptor(shared->v, columns * 128, 1024, 128);
  int k_slot = 0, k_parity = 0, v_slot = 0, v_parity = 0;
  alignas(16) float s[columns / 2], o[depth / 2];
  alignas(16) uint32_t p[columns / 4];
  const auto release = [&](uint64_t *empty) __attribute__((always_inline)) {
    if (lane == 0)
      tlc::mbarrier_arrive(empty); // mark: release
  };
  const auto start_output = [&](bool first) __attribute__((always_inline)) {
    tlc::mbarrier_wait(&shared->v_full[v_slot], v_parity);
    if (Fault != noFenceForOutput)
      tlc::wgmma_fence();
    for (int i = 0; i < columns / 16; ++i)
      tlc::wgmma_m64n64k16_f16_f16_f32_rs<1>(o, &p[i * 4], v_first + (v_slot * tile_bytes >> 4) + i * 128, !first || i > 0); // mark: output
    tlc::wgmma_commit();
  };
  const auto finish_output = [&]() __attribute__((always_inline)) {
    if (Fault != noWaitForOutput)
      tlc::wgmma_wait<0>();
    if (Fault != noWaitForOutput)
      tlc::wgmma_pin<depth / 2>(o);
    if (Fault != valuesNotReleased)
      release(&shared->v_empty[v_slot]);
    if (++v_slot == stages)
      v_slot = 0, v_parity ^= 1;
  };
  const auto pack = [&]() __attribute__((always_inline)) {
    for (int i = 0; i < columns / 4; ++i) {
      const __half2 pair = __floats2half2_rn(s[2 * i], s[2 * i + 1]);
      p[i] = tlc::bit_cast<uint32_t>(pair); // mark: pack
    }
  };
  if (group == 1)
    tlc::named_barrier_arrive(turn, 256);
  for (int item = 0;; ++item) {
    if (Fault != noWaitForWork)
      tlc::mbarrier_wait(&shared->q_full[item % 2], item / 2 % 2);
    const Work w = shared->work[item % 2]; // mark: take
    if (w.tiles == 0)
      break;
    const uint64_t q_first = tlc::wgmma_descriptor(shared->q[item % 2][group], 16, 1024, 128);
    float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
    // The first round stands apart: a branch among products makes ptxas serialise them.
    const auto step = [&](auto is_first, int tile) __attribute__((always_inline)) {
      constexpr bool first = decltype(is_first)::value;
      tlc::mbarrier_wait(&shared->k_full[k_slot], k_parity); // mark: keys_full
      tlc::named_barrier_sync(turn + group, Fault == namedCount ? 128 : 256); // mark: turn
      tlc::wgmma_fence();
      for (int i = 0; i < depth / 16; ++i)
        tlc::wgmma_m64n64k16_f16_f16_f32_ss<0, 0>(s, q_first + i * 2, k_first + (k_slot * tile_bytes >> 4) + i * 2, i > 0); // mark: scores
      tlc::wgmma_commit();
      if constexpr (!first)
        start_output(tile == w.tiles - 2);
      tlc::named_barrier_arrive(Fault == turnToNobody ? turn + group : turn + 1 - group, 256); // mark: turn
      if (Fault == keysReleasedTooEarly)
        release(&shared->k_empty[k_slot]);
      if constexpr (first)
        tlc::wgmma_wait<0>();
      else
        tlc::wgmma_wait<Fault == scoresTooEarly ? 2 : 1>();
      if (Fault != scoresTooEarly)
        tlc::wgmma_pin<columns / 2>(s);
      if (Fault != keysReleasedTooEarly)
        release(&shared->k_empty[k_slot]);
      if (++k_slot == stages)
        k_slot = 0, k_parity ^= 1;

      float correction[2];
      for (int half = 0; half < 2; ++half) {
        const int row = w.row + group * 64 + my_row + half * 8;
        const int limit = (Causal && row + 1 < length ? row + 1 : length) - tile * columns - my_column;
        float top = -INFINITY;
        for (int i = half * 2; i < columns / 2; i += 4)
          for (int j = 0; j < 2; ++j) {
            if (i / 4 * 8 + j >= limit)
              s[i + j] = -0x1p100f; // mark: mask
            top = tlc::max(top, s[i + j]); // mark: mask
          }
        top = tlc::max(top, tlc::shfl_xor(top, 1));
        top = tlc::max(largest[half], tlc::max(top, tlc::shfl_xor(top, 2)));
        correction[half] = exp2f((largest[half] - top) * scale);
        largest[half] = top;
        sum[half] *= correction[half];
        for (int i = half * 2; i < columns / 2; i += 4)
          for (int j = 0; j < 2; ++j) {
            s[i + j] = exp2f((s[i + j] - top) * scale);
            sum[half] += s[i + j];
          }
      }
      if (Fault == probabilitiesInFlight)
        pack();
      if constexpr (!first) {
        finish_output();
        for (int i = 0; i < depth / 2; ++i)
          o[i] *= correction[i / 2 % 2]; // mark: rescale
      }
      if (Fault != probabilitiesInFlight)
        pack();
    };
    step(std::true_type(), w.tiles - 1);
    for (int tile = w.tiles - 2; tile >= 0; --tile)
      step(std::false_type(), tile);
    release(&shared->q_empty[item % 2]);
    start_output(w.tiles == 1);
    finish_output();

    for (int half = 0; half < 2; ++half) {
      sum[half] += tlc::shfl_xor(sum[half], 1);
      sum[half] += tlc::shfl_xor(sum[half], 2);
    }
    alignas(16) __half packed[depth / 2];
    for (int i = 0; i < depth / 2; ++i)
      packed[i] = __float2half_rn(o[i] / sum[i / 2 % 2]); // mark: rescale
    if (thread == 0 && Fault != stagingReused)
      tlc::tma_store_wait_read<0>();
    tlc::named_barrier_sync(1 + group, 128);
    for (int j = 0; j < depth / 8; j += 2) {
      const int row = thread / 32 * 16 + lane % 16, unit = (j + lane / 16) ^ row % 8;
      tlc::stmatrix_x4(shared->o[group] + row * 128 + unit * 16, &packed[j * 4]); // mark: stage
    }
    if (Fault != noProxyFence)
      tlc::fence_proxy_async();
    if (Fault != noBarrierBeforeStore)
      tlc::named_barrier_sync(1 + group, 128);
    if (thread == 0) {
      tlc::tma_store_3d(&O_map, shared->o[group], 0, w.row + group * 64, w.head); // mark: store
      tlc::tma_store_commit();
    }
  }
  if (thread == 0 && Fault != endsWhileStoring)
    tlc::tma_store_wait_read<0>();
}

CUtensorMap headsMap(const __half *base, int length, int heads) {
  CUtensorMap map = {};
  const uint64_t sizes[] = {depth, uint64_t(length), uint64_t(heads)};
  const uint64_t strides[] = {depth * 2, uint64_t(length) * depth * 2};
  const uint32_t box[] = {depth, 64, 1};
  (void)tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, const_cast<__half *>(base), sizes, strides, box, 128, 256);
  return map;
}

template <int Fault, bool Causal = false, int Length = 200, int Heads = 3, int Blocks = 2> bool attend() {
  constexpr int size = Heads * Length * depth;
  const std::vector<__half> q = halves(size, 0), k = halves(size, 77777), v = halves(size, 999);
  const __half *Q = upload(q), *K = upload(k), *V = upload(v);
  __half *O = reserve<__half>(size);
  const float scale = 0.5f;
  if (!start(attention<Fault, Causal>, {Blocks, 384, sizeof(Shared)}, headsMap(Q, Length, Heads), headsMap(K, Length, Heads),
             headsMap(V, Length, Heads), headsMap(O, Length, Heads), upload(std::vector<int>(1)), Length, Heads,
             scale * 1.44269504f))
    return false;
  const std::vector<__half> result = download(O, size);
  std::vector<double> weight(Length);
  for (int head = 0; head < Heads; ++head)
    for (int i = 0; i < Length; ++i) {
      const size_t base = size_t(head) * Length * depth;
      const int count = Causal ? i + 1 : Length;
      double all = 0;
      for (int j = 0; j < count; ++j) {
        double score = 0;
        for (int d = 0; d < depth; ++d)
          score += double(float(q[base + size_t(i * depth + d)])) * double(float(k[base + size_t(j * depth + d)]));
        all += weight[size_t(j)] = std::exp(score * scale);
      }
      for (int d = 0; d < depth; ++d) {
        double sum = 0;
        for (int j = 0; j < count; ++j)
          sum += weight[size_t(j)] / all * double(float(v[base + size_t(j * depth + d)]));
        if (!(std::fabs(sum - double(float(result[base + size_t(i * depth + d)]))) < 2e-3))
          return false;
      }
    }
  return true;
}

} // namespace

void addHopperAttention(std::vector<Case> &cases) {
  const Case all[] = {
      {"attention", attend<clean>, "", ""},
      {"attention, causal", attend<clean, true>, "", ""},
      {"attention, one short head", attend<clean, false, 70, 1, 1>, "", ""},
      {"attention: no barrier before the store", attend<noBarrierBeforeStore>, "race", "store"},
      {"attention: staging not fenced", attend<noProxyFence>, "proxy", "stage"},
      {"attention: staging overwritten while it is stored", attend<stagingReused>, "race", "stage"},
      {"attention: output not waited for", attend<noWaitForOutput>, "in-flight,race", "rescale,pack"},
      {"attention: no fence before the output's products", attend<noFenceForOutput>, "wgmma-fence", "output"},
      {"attention: probabilities overwritten in flight", attend<probabilitiesInFlight>, "in-flight", "pack"},
      {"attention: scores read in flight", attend<scoresTooEarly>, "in-flight,race", "mask"},
      {"attention: keys released too early", attend<keysReleasedTooEarly>, "race,mbarrier", "scores,release,keys"},
      {"attention: work not waited for", attend<noWaitForWork>, "race,uninitialised", "take"},
      {"attention: the turn goes to nobody", attend<turnToNobody>, "deadlock,barrier-count", "turn"},
      {"attention: the turn's barrier of half its threads", attend<namedCount>, "barrier-count,deadlock", "turn"},
      {"attention: full barrier with a count of 2", attend<fullCount>, "deadlock", "keys_full"},
      {"attention: ends while it stores", attend<endsWhileStoring>, "exit", "store"},
      {"attention: half a work item", attend<halfAWorkItem, false, 70, 1, 1>, "uninitialised", "take"},
      {"attention: values never released", attend<valuesNotReleased>, "deadlock", "values_empty"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
