// Copies by threads (cp.async) that asynchronous work takes up, and stores whose result another block reads.
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- a warp copies, another one stores what came; twice, in one place

enum Mixed {
  mixedClean,
  mixedByProducer,
  mixedNotWaited,
  mixedNotFenced,
  mixedFencedEarly,
  mixedPlainArrival,
  mixedBehindArrival,
  mixedNotWaitedByProducer,
  mixedFreedEarly,
  mixedOneLane,
  mixedStored,
};

template <int Fault> __global__ void __launch_bounds__(64) relay_tile(const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const tile = reinterpret_cast<float *>(arena);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 1024), *const empty = full + 1;
  const int tid = int(threadIdx.x), lane = tid % 32;
  if (tid == 0) {
    tlc::mbarrier_init(full, 32);
    tlc::mbarrier_init(empty, 1);
    tlc::fence_mbarrier_init();
  }
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
    if (tid < 32) {
      tlc::mbarrier_wait(empty, round ^ 1);
      tlc::cp_async<16>(tile + lane * 4, X + round * 256 + lane * 4); // mark: copy
      if (Fault == mixedFencedEarly)
        tlc::fence_proxy_async();
      if (Fault == mixedStored)
        tlc::copy<16>(tile + 128 + lane * 4, X + round * 256 + 128 + lane * 4); // mark: copy
      else if (Fault != mixedBehindArrival)
        tlc::cp_async<16>(tile + 128 + lane * 4, X + round * 256 + 128 + lane * 4); // mark: copy
      if (Fault == mixedByProducer || Fault == mixedNotWaitedByProducer) {
        tlc::cp_async_commit();
        if (Fault == mixedByProducer)
          tlc::cp_async_wait<0>();
        tlc::fence_proxy_async();
        tlc::mbarrier_arrive(full);
      } else if (Fault == mixedPlainArrival) {
        tlc::mbarrier_arrive(full);
      } else {
        tlc::cp_async_mbarrier_arrive(full);
      }
      if (Fault == mixedBehindArrival)
        tlc::cp_async<16>(tile + 128 + lane * 4, X + round * 256 + 128 + lane * 4); // mark: copy
    } else {
      if (Fault != mixedNotWaited && (Fault != mixedOneLane || lane == 1))
        tlc::mbarrier_wait(full, round);
      if (Fault != mixedOneLane)
        __syncwarp();
      if (Fault != mixedNotFenced && Fault != mixedByProducer && Fault != mixedFencedEarly && Fault != mixedNotWaitedByProducer)
        tlc::fence_proxy_async();
      if (lane == 0) {
        tlc::bulk_store(Y + round * 256, tile, 1024); // mark: store
        tlc::tma_store_commit();
        if (Fault != mixedFreedEarly)
          tlc::tma_store_wait_read<0>();
        tlc::mbarrier_arrive(empty);
        tlc::tma_store_wait<0>();
      }
    }
  }
}
template <int Fault> bool relayedTile() {
  std::vector<float> x(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(512);
  return start(relay_tile<Fault>, {1, 64, 1024 + 16}, upload(x), y) && download(y, 512) == x;
}

// ---- a block stores, another one reads it

enum Stored { storedClean, storedSourceOnly, storedNotWaited };

template <int Fault> __global__ void __launch_bounds__(32) store_for_other(float *data, int *flag, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  using tlc::order;
  const int lane = int(threadIdx.x);
  float *const tile = reinterpret_cast<float *>(arena);
  if (blockIdx.x == 0) {
    tile[lane] = float(lane);
    tlc::fence_proxy_async();
    __syncwarp();
    if (lane == 0) {
      tlc::bulk_store(data, tile, 128); // mark: store
      tlc::tma_store_commit();
      if (Fault == storedClean)
        tlc::tma_store_wait<0>();
      if (Fault == storedSourceOnly)
        tlc::tma_store_wait_read<0>();
      tlc::atomic_store<order::release>(flag, 1);
      tlc::tma_store_wait<0>();
    }
    return;
  }
  if (lane == 0)
    while (tlc::atomic_load<order::acquire>(flag) == 0) {
    }
  __syncwarp();
  Y[lane] = data[31 - lane]; // mark: read
}
template <int Fault> bool storedForOther() {
  float *y = reserve<float>(32);
  if (!start(store_for_other<Fault>, {2, 32, 128, true}, reserve<float>(32), upload(std::vector<int>(1)), y))
    return false;
  const auto result = download(y, 32);
  for (size_t i = 0; i < 32; ++i)
    if (result[i] != float(31 - i))
      return false;
  return true;
}

} // namespace

void addHopperMixed(std::vector<Case> &cases) {
  const Case all[] = {
      {"mixed", relayedTile<mixedClean>, "", ""},
      {"mixed: producer waits and fences", relayedTile<mixedByProducer>, "", ""},
      {"mixed: not waited for", relayedTile<mixedNotWaited>, "race,uninitialised", "copy,store"},
      {"mixed: not fenced", relayedTile<mixedNotFenced>, "proxy", "store,copy"},
      {"mixed: fenced before the copies are done", relayedTile<mixedFencedEarly>, "proxy", "store,copy"},
      {"mixed: an arrival that waits for no copies", relayedTile<mixedPlainArrival>, "race,uninitialised", "copy,store"},
      {"mixed: copied behind the arrival", relayedTile<mixedBehindArrival>, "race,uninitialised", "copy,store"},
      {"mixed: producer fences what it has not waited for", relayedTile<mixedNotWaitedByProducer>, "race,proxy,uninitialised", "copy,store"},
      {"mixed: place freed while the store reads", relayedTile<mixedFreedEarly>, "race", "copy,store"},
      {"mixed: another lane waits", relayedTile<mixedOneLane>, "race,uninitialised", "copy,store"},
      {"mixed: stores by threads, an arrival of copies", relayedTile<mixedStored>, "race,proxy", "copy,store"},
      {"stored for another block", storedForOther<storedClean>, "", ""},
      {"stored for another block: only the source waited for", storedForOther<storedSourceOnly>, "race,uninitialised", "read,store"},
      {"stored for another block: not waited for", storedForOther<storedNotWaited>, "race,uninitialised", "read,store"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
