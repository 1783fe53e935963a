// Blocks of a grid: results of others, flags, tickets, grid barriers, memory that is gone.
#include <cuda_runtime.h>

#include "faults.h"

namespace {

// ---- the last block adds what all have left

enum Ticket { clean, unpublished, unacquired, scopeOfBlock, noBarrierBeforeTicket };

template <int Fault>
__global__ void __launch_bounds__(64)
    last_block(const float *__restrict__ X, float *__restrict__ parts, int *__restrict__ ticket,
               float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(int, last, 128);
  using tlc::order, tlc::scope;
  const int tid = int(threadIdx.x);
  parts[blockIdx.x * 64 + tid] = X[blockIdx.x * 64 + tid] * 3; // mark: part
  if (Fault != noBarrierBeforeTicket)
    __syncthreads();
  if (tid == 0) {
    constexpr order kind = Fault == unpublished  ? order::acquire
                           : Fault == unacquired ? order::release
                                                 : order::acq_rel;
    constexpr scope reach = Fault == scopeOfBlock ? scope::block : scope::device;
    *last = tlc::atomic_add<kind, reach>(ticket, 1) == int(gridDim.x) - 1; // mark: ticket
  }
  __syncthreads();
  if (!*last)
    return;
  float sum = 0;
  for (int b = 0; b < int(gridDim.x); ++b)
    sum += parts[b * 64 + tid]; // mark: gather
  Y[tid] = sum;
}
template <int Fault> bool lastBlock() {
  const int blocks = 4;
  std::vector<float> x(64 * blocks);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(64);
  if (!start(last_block<Fault>, {blocks, 64, 4}, upload(x), reserve<float>(64 * blocks),
             upload(std::vector<int>(1)), y))
    return false;
  auto result = download(y, 64);
  for (int t = 0; t < 64; ++t) {
    float sum = 0;
    for (int b = 0; b < blocks; ++b)
      sum += x[b * 64 + t] * 3;
    if (std::fabs(sum - result[t]) > 1e-4)
      return false;
  }
  return true;
}

// ---- a flag between two blocks that run at once

enum Flag { flagClean, relaxedStore, relaxedPoll, plainStore, neverSet, storedTooEarly, fencedStore };

template <int Fault>
__global__ void __launch_bounds__(64)
    hand_over(float *__restrict__ data, int *__restrict__ flag, float *__restrict__ Y) {
  using tlc::order;
  const int tid = int(threadIdx.x);
  if (blockIdx.x == 0) {
    data[tid] = float(tid); // mark: produce
    if (Fault != storedTooEarly)
      __syncthreads();
    if (tid == 0 && Fault == plainStore)
      *flag = 1; // mark: flag
    if (Fault == fencedStore)
      __threadfence();
    if (tid == 0 && Fault != plainStore)
      tlc::atomic_store<Fault == relaxedStore || Fault == fencedStore ? order::relaxed : order::release>(flag, Fault == neverSet ? 0 : 1); // mark: flag
  } else {
    if (tid == 0)
      while (tlc::atomic_load<Fault == relaxedPoll ? order::relaxed : order::acquire>(flag) == 0) { // mark: poll
      }
    __syncthreads();
    Y[tid] = data[tid] * 2; // mark: consume
  }
}
template <int Fault> bool handOver() {
  float *data = reserve<float>(64), *y = reserve<float>(64);
  if (!start(hand_over<Fault>, {2, 64, 0, true}, data, upload(std::vector<int>(1)), y))
    return false;
  auto result = download(y, 64);
  for (int i = 0; i < 64; ++i)
    if (result[i] != float(2 * i))
      return false;
  return true;
}

// ---- a barrier of the grid

enum Grid { gridClean, noGridBarrier, notCooperative, aBlockIsMissing };

template <int Fault> __global__ void __launch_bounds__(32) rotate(const float *__restrict__ X, float *__restrict__ tmp, float *__restrict__ Y) {
  const int at = int(blockIdx.x * 32 + threadIdx.x), all = int(gridDim.x) * 32;
  tmp[at] = X[at] + 1; // mark: write
  if (Fault != noGridBarrier && (Fault != aBlockIsMissing || blockIdx.x != 1))
    tlc::grid_sync(); // mark: grid
  Y[at] = tmp[(at + 40) % all]; // mark: read
}
template <int Fault> bool rotated() {
  std::vector<float> x(96);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(96);
  if (!start(rotate<Fault>, {3, 32, 0, Fault != notCooperative}, upload(x), reserve<float>(96), y))
    return false;
  auto result = download(y, 96);
  for (int i = 0; i < 96; ++i)
    if (result[i] != x[(i + 40) % 96] + 1)
      return false;
  return true;
}

// ---- as many blocks as a large device holds, in rounds

enum Relay { relayClean, relaySkipsBarrier, relayFlag };

template <int Fault>
__global__ void __launch_bounds__(128) relay(float *__restrict__ from, float *__restrict__ to, int *__restrict__ flag, int rounds) {
  const int at = int(blockIdx.x * 128 + threadIdx.x), all = int(gridDim.x) * 128;
  for (int round = 0; round < rounds; ++round) {
    float *const source = round % 2 ? to : from, *const target = round % 2 ? from : to;
    target[at] = source[(at + 200) % all] + 1; // mark: step
    if (Fault != relaySkipsBarrier || round != 2)
      tlc::grid_sync(); // mark: grid
  }
  // An atomic of one block reaches another one beside the barriers, too.
  if (blockIdx.x == 5 && threadIdx.x == 0) {
    from[all] = 3; // mark: give
    if (Fault == relayFlag)
      tlc::atomic_store<tlc::order::relaxed>(flag, 1);
    else
      tlc::atomic_store<tlc::order::release>(flag, 1);
  }
  if (blockIdx.x == 77 && threadIdx.x == 0) {
    while (tlc::atomic_load<tlc::order::acquire>(flag) == 0) {
    }
    from[all + 1] = from[all]; // mark: take
  }
}
template <int Fault, unsigned Blocks, int Rounds> bool relayed() {
  const size_t all = Blocks * 128;
  std::vector<float> x(all + 2);
  for (size_t i = 0; i < all; ++i)
    x[i] = number(i);
  float *from = upload(x), *to = reserve<float>(all);
  if (!start(relay<Fault>, {Blocks, 128, 0, true}, from, to, upload(std::vector<int>(1)), Rounds))
    return false;
  const auto result = download(Rounds % 2 ? to : from, all), more = download(from, all + 2);
  for (size_t i = 0; i < all; ++i)
    if (result[i] != x[(i + size_t(Rounds) * 200) % all] + float(Rounds))
      return false;
  return more[all + 1] == 3;
}

// ---- blocks with tiles of their own

enum Own { ownClean, overlapping, freed, notUploaded, readOnlyLoad, sameValue, spinLock };

template <int Fault> __global__ void __launch_bounds__(32) doubled(const float *__restrict__ X, float *__restrict__ Y) {
  const int lane = int(threadIdx.x), at = int(blockIdx.x) * (Fault == overlapping ? 31 : 32) + lane;
  if (Fault == readOnlyLoad)
    Y[at] = 1; // mark: write
  Y[at] = 2 * X[at] + (Fault == overlapping ? float(blockIdx.x) : 0.0f); // mark: write
  if (Fault == readOnlyLoad)
    Y[at] = __ldg(&Y[at]); // mark: read
}
template <int Fault> bool doubledAll() {
  std::vector<float> x(96);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *in = Fault == notUploaded ? reserve<float>(96) : upload(x), *y = reserve<float>(96);
  if (Fault == freed)
    cudaFree(in);
  if (!start(doubled<Fault>, {3, 32}, in, y))
    return false;
  auto result = download(y, 96);
  for (int i = 0; i < 96; ++i)
    if (result[i] != 2 * x[i])
      return false;
  return true;
}

// ---- a lock, taken by one thread of each warp

enum Lock { lockClean, noLock, neverReleased };

template <int Fault> __global__ void __launch_bounds__(128) locked(int *__restrict__ lock, int *__restrict__ total) {
  using tlc::order;
  if (threadIdx.x % 32 == 0) {
    if (Fault != noLock)
      while (tlc::atomic_compare_exchange<order::acquire>(lock, 0, 1) != 0) { // mark: take
      }
    *total += 1; // mark: add
    if (Fault != neverReleased && Fault != noLock)
      tlc::atomic_store<order::release>(lock, 0); // mark: release
  }
}
template <int Fault> bool lockedSum() {
  int *total = upload(std::vector<int>(1));
  return start(locked<Fault>, {3, 128}, upload(std::vector<int>(1)), total) &&
         download(total, 1)[0] == 12;
}

} // namespace

void addGrids(std::vector<Case> &cases) {
  const Case all[] = {
      {"ticket", lastBlock<clean>, "", ""},
      {"ticket: parts not published", lastBlock<unpublished>, "race", "gather,part"},
      {"ticket: parts not acquired", lastBlock<unacquired>, "race", "gather,part"},
      {"ticket: scope of a block", lastBlock<scopeOfBlock>, "race", "gather,part,ticket"},
      {"ticket: drawn before the barrier", lastBlock<noBarrierBeforeTicket>, "race", "gather,part"},
      {"flag", handOver<flagClean>, "", ""},
      {"flag: relaxed store", handOver<relaxedStore>, "race", "consume,produce"},
      {"flag: relaxed poll", handOver<relaxedPoll>, "race", "consume,produce"},
      {"flag: plain store", handOver<plainStore>, "race", "flag,poll"},
      {"flag: never set", handOver<neverSet>, "deadlock", "poll"},
      {"flag: stored before the barrier", handOver<storedTooEarly>, "race", "consume,produce"},
      {"flag with a fence", handOver<fencedStore>, "", ""},
      {"grid", rotated<gridClean>, "", ""},
      {"grid: no barrier", rotated<noGridBarrier>, "race,uninitialised", "read,write"},
      {"grid: not a cooperative launch", rotated<notCooperative>, "barrier", "grid"},
      {"grid: a block does not come", rotated<aBlockIsMissing>, "race,uninitialised,deadlock", "read,write,grid"},
      {"grid of a device", relayed<relayClean, 132, 5>, "", ""},
      {"grid of a device: a barrier is skipped", relayed<relaySkipsBarrier, 132, 5>, "race,uninitialised", "step"},
      {"grid of a device: relaxed flag", relayed<relayFlag, 132, 1>, "race", "give,take"},
      {"grid of many blocks", relayed<relayClean, 1056, 2>, "", ""},
      {"own", doubledAll<ownClean>, "", ""},
      {"own: blocks overlap", doubledAll<overlapping>, "race", "write"},
      {"own: input freed", doubledAll<freed>, "out-of-bounds", "write"},
      {"own: input not uploaded", doubledAll<notUploaded>, "uninitialised", "write"},
      {"own: read-only load of what was written", doubledAll<readOnlyLoad>, "non-coherent", "read"},
      {"lock", lockedSum<lockClean>, "", ""},
      {"lock: not taken", lockedSum<noLock>, "race", "add"},
      {"lock: never released", lockedSum<neverReleased>, "deadlock", "take"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
