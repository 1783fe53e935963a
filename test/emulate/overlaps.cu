// What overlaps: many readers and many atomics of one word, atomics of other blocks, launches that begin
// before the one before them has ended; and registers that are named past their array's end.
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- a word that the whole block reads

enum Word { wordClean, wordNoBarrier, wordRelaxed, wordReadBehind };

template <int Fault> __global__ void __launch_bounds__(128) broadcast(const float *__restrict__ X, float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(float, scale, 128);
  int *const readers = reinterpret_cast<int *>(scale + 1);
  const int tid = int(threadIdx.x);
  if (tid == 0)
    *scale = X[0], *readers = 0;
  __syncthreads();
  float sum = tid < 96 ? *scale * X[tid] : 0; // mark: first
  if (Fault == wordRelaxed) { // all have read by then, but nothing says so
    tlc::atomic_add(readers, 1);
    if (tid == 0)
      while (tlc::atomic_load(readers) < 128) {
      }
  } else if (Fault != wordNoBarrier) {
    __syncthreads();
  }
  __syncwarp();
  if (tid == 0)
    *scale = X[1]; // mark: write
  __syncthreads();
  sum += *scale * X[tid];
  if (Fault == wordReadBehind && tid == 127) {
    *scale = sum; // mark: last
    Y[128] = sum;
  }
  Y[tid] = sum;
}
template <int Fault> bool broadcasted() {
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *y = reserve<float>(129);
  if (!start(broadcast<Fault>, {1, 128, 8}, upload(x), y))
    return false;
  const auto result = download(y, 128);
  for (size_t i = 0; i < x.size(); ++i)
    if (std::fabs(result[i] - (i < 96 ? x[0] + x[1] : x[1]) * x[i]) > 1e-5)
      return false;
  return true;
}

// ---- a counter that the whole block adds to

enum Counter { counterClean, counterReadEarly, counterOverwritten };

template <int Fault> __global__ void __launch_bounds__(128) add_up(int *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(int, counter, 128);
  const int tid = int(threadIdx.x);
  if (tid == 0)
    *counter = 0;
  __syncthreads();
  tlc::atomic_add(counter, tid); // mark: add
  if (Fault != counterReadEarly)
    __syncthreads();
  else
    __syncwarp();
  if (tid == 96)
    Y[0] = *counter; // mark: read
  if (Fault == counterOverwritten && tid == 0)
    *counter = 7; // mark: write
}
template <int Fault> bool addedUp() {
  int *y = reserve<int>(1);
  return start(add_up<Fault>, {1, 128, 4}, y) && download(y, 1)[0] == 127 * 64;
}

// ---- pairs of 16-bit floats, which are added to as one

template <class T, int Fault> __global__ void __launch_bounds__(64) add_pairs(T *Y) {
  tlc::vec<T, 2> pair;
  pair[0] = T(1.0f), pair[1] = T(0.5f);
  tlc::atomic_add(Y + (Fault ? 1 : 0), pair); // mark: pair
}
template <class T, int Fault> bool addedPairs() {
  T *y = upload(std::vector<T>(4, T(0.0f)));
  if (!start(add_pairs<T, Fault>, {2, 64}, y))
    return false;
  const auto result = download(y, 4);
  return float(result[0]) == 128 && float(result[1]) == 64 && float(result[2]) == 0;
}

// ---- elements of half a byte

enum Half { halfClean, halfOfNeighbour, halfTwice, halfInWholeByte };

template <int Fault> __global__ void __launch_bounds__(64) halves(int *Y) {
  TLC_DYNAMIC_SHARED(uint8_t, packed, 128);
  const int tid = int(threadIdx.x);
  tlc::put_uint4(packed, Fault == halfTwice ? tid | 32 : tid, uint8_t(tid)); // mark: put
  if (Fault == halfInWholeByte && tid % 2)
    packed[tid / 2] = uint8_t(tid); // mark: whole
  Y[tid] = tlc::get_uint4(packed, Fault == halfOfNeighbour ? tid ^ 1 : tid); // mark: get
  __syncthreads();
  Y[tid] += tlc::get_uint4(packed, tid ^ 33) + packed[tid / 2];
}
template <int Fault> bool halved() {
  int *y = reserve<int>(64);
  if (!start(halves<Fault>, {1, 64, 32}, y))
    return false;
  const auto result = download(y, 64);
  for (int i = 0; i < 64; ++i)
    if (result[size_t(i)] != i % 16 + (i ^ 33) % 16 + (i | 1) % 16 * 16 + (i & ~1) % 16)
      return false;
  return true;
}

// ---- a flag that is looked at, then put back

enum PutBack { putBackClean, putBackPlain };

template <int Fault> __global__ void __launch_bounds__(64) put_back(int *flag, float *data, float *Y) {
  using tlc::order;
  const int tid = int(threadIdx.x);
  if (tid == 0) {
    *data = 3;
    tlc::atomic_store<order::release>(flag, 1);
  }
  if (tid == 32) {
    while (tlc::atomic_load<order::acquire>(flag) == 0) { // mark: poll
    }
    *Y = *data;
  }
  if (Fault == putBackClean)
    __syncthreads();
  if (tid == 1) {
    if (Fault == putBackPlain)
      while (tlc::atomic_load<order::acquire>(flag) == 0) {
      }
    *flag = 0; // mark: back
  }
}
template <int Fault> bool isPutBack() {
  float *y = reserve<float>(1);
  int *flag = upload(std::vector<int>(1));
  return start(put_back<Fault>, {1, 64}, flag, reserve<float>(1), y) && download(y, 1)[0] == 3 && download(flag, 1)[0] == 0;
}

// ---- atomics of several blocks, flags that are set twice

enum Scopes { scopesClean, scopeOfBlock, scopeOfLoad };

template <int Fault> __global__ void __launch_bounds__(32) add_of_blocks(int *Y) {
  using tlc::order, tlc::scope;
  if (Fault == scopeOfLoad) {
    if (blockIdx.x == 1)
      (void)tlc::atomic_load<order::relaxed, scope::block>(Y); // mark: load
    else
      tlc::atomic_store(Y, 1); // mark: add
  } else {
    tlc::atomic_add<order::relaxed, Fault == scopeOfBlock ? scope::block : scope::device>(Y, 1); // mark: add
  }
}
template <int Fault> bool addedByBlocks() {
  int *y = upload(std::vector<int>(1));
  return start(add_of_blocks<Fault>, {3, 32}, y) && download(y, 1)[0] == 96;
}

enum Relay { relayClean, relayStored, relayFresh };

/// Block 0 hands data over, block 1 counts the flag up, block 2 reads what block 1 left there.
template <int Fault> __global__ void __launch_bounds__(32) relay(int *flag, int *fresh, float *data, float *Y) {
  using tlc::order;
  if (threadIdx.x != 0)
    return;
  if (blockIdx.x == 0) {
    *data = 5; // mark: data
    tlc::atomic_store<order::release>(flag, 1);
  } else if (blockIdx.x == 1) {
    while (tlc::atomic_load(flag) == 0) {
    }
    if (Fault == relayStored)
      tlc::atomic_store(flag, 2); // forgets what was released with the 1
    else
      tlc::atomic_add(flag, 1);
    tlc::atomic_store(fresh, 1); // memory that nothing has written
  } else {
    while (tlc::atomic_load(flag) != 2) {
    }
    (void)tlc::atomic_load<order::acquire>(flag);
    *Y = *data; // mark: use
  }
}
template <int Fault> bool relayed() {
  float *y = reserve<float>(1);
  return start(relay<Fault>, {3, 32, 0, true}, upload(std::vector<int>(1)), reserve<int>(1), reserve<float>(1), y) &&
         download(y, 1)[0] == 5;
}

// ---- what one block writes and another one copies, fenced on the writer's side

enum Fenced { fencedClean, fencedAtReader, fencedNowhere };

template <int Fault> __global__ void __launch_bounds__(32) copy_of_other(float *data, int *flag, float *Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  using tlc::order;
  const int lane = int(threadIdx.x);
  float *const tile = reinterpret_cast<float *>(arena);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 128);
  if (blockIdx.x == 0) {
    data[lane] = float(lane); // mark: write
    if (Fault == fencedClean)
      tlc::fence_proxy_async_global();
    __syncwarp();
    if (lane == 0)
      tlc::atomic_store<order::release>(flag, 1);
    return;
  }
  if (lane == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    while (tlc::atomic_load<order::acquire>(flag) == 0) {
    }
    if (Fault == fencedAtReader)
      tlc::fence_proxy_async_global();
    tlc::mbarrier_arrive_expect_tx(full, 128);
    tlc::bulk_load(tile, data, 128, full); // mark: load
  }
  __syncwarp();
  tlc::mbarrier_wait(full, 0);
  Y[lane] = tile[lane];
}
template <int Fault> bool copiedOfOther() {
  float *y = reserve<float>(32);
  if (!start(copy_of_other<Fault>, {2, 32, 136, true}, reserve<float>(32), upload(std::vector<int>(1)), y))
    return false;
  const auto result = download(y, 32);
  for (size_t i = 0; i < 32; ++i)
    if (result[i] != float(i))
      return false;
  return true;
}

// ---- launches that begin before the one before them has ended

enum Dependent { dependentClean, notWaited, waitedByOne, overwrittenEarly, twoBefore, twoBeforeClean, notAllowed };

__global__ void __launch_bounds__(64) produce(const float *X, float *tmp) {
  tlc::grid_dependency_launch();
  tmp[blockIdx.x * 64 + threadIdx.x] = X[blockIdx.x * 64 + threadIdx.x] * 2; // mark: produce
}
template <int Fault> __global__ void __launch_bounds__(64) consume(const float *tmp, float *Y, float *X) {
  const int tid = int(threadIdx.x), at = int(blockIdx.x) * 64 + tid;
  if (Fault == overwrittenEarly)
    X[at] = 0; // mark: early
  if (Fault == twoBefore)
    tlc::grid_dependency_launch();
  if (Fault == waitedByOne) {
    if (tid == 0)
      tlc::grid_dependency_wait();
    __syncwarp();
  } else if (Fault == dependentClean && blockIdx.x % 2) { // one waits for all
    if (tid == 0)
      tlc::grid_dependency_wait();
    __syncthreads();
  } else if (Fault != notWaited && Fault != notAllowed) {
    tlc::grid_dependency_wait();
  }
  if (Fault == twoBeforeClean)
    tlc::grid_dependency_launch();
  Y[at] = tmp[(at + 32) % 128]; // mark: consume
}
/// Reads what the launch before the last one wrote, then waits.
__global__ void __launch_bounds__(64) third(const float *tmp, const float *Y, float *Z) {
  const int at = int(blockIdx.x) * 64 + int(threadIdx.x);
  const float x = tmp[at]; // mark: third
  tlc::grid_dependency_wait();
  Z[at] = x + Y[at];
}
template <class... P, class... A> bool startDependent(void (*kernel)(P...), bool may, A... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = may;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2), config.blockDim = dim3(64);
  config.attrs = &attribute, config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}
template <int Fault> bool dependents() {
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = number(i);
  float *X = upload(x), *tmp = reserve<float>(128), *y = reserve<float>(128), *z = reserve<float>(128);
  const bool three = Fault == twoBefore || Fault == twoBeforeClean;
  if (!startDependent(produce, true, X, tmp) || !startDependent(consume<Fault>, Fault != notAllowed, tmp, y, X) ||
      (three && !startDependent(third, true, tmp, y, z)))
    return false;
  const auto result = download(three ? z : y, 128);
  for (size_t i = 0; i < x.size(); ++i)
    if (result[i] != 2 * x[(i + 32) % 128] + (three ? 2 * x[i] : 0))
      return false;
  return true;
}

// ---- registers

enum Local { localClean, localPast, localBefore, localMember, localMisaligned };

template <int Fault> __global__ void __launch_bounds__(32) local_arrays(const int *__restrict__ N, float *__restrict__ Y) {
  const int n = N[0]; // 8
  alignas(16) float a[8];
  tlc::vec<float, 4> v;
  for (int i = 0; i < (Fault == localPast ? n + 1 : n); ++i)
    a[i] = float(i + int(threadIdx.x)); // mark: fill
  for (int i = 0; i < 4; ++i)
    v[Fault == localMember ? i + n - 6 : i] = a[Fault == localBefore ? 3 - i - n / 8 : i]; // mark: take
  alignas(16) float b[4];
  tlc::copy<16>(b, &a[Fault == localMisaligned ? n - 7 : n - 4]); // mark: copy
  Y[threadIdx.x] = v[0] + v[3] + b[1];
}
template <int Fault> bool localArrays() {
  float *y = reserve<float>(32);
  if (!start(local_arrays<Fault>, {1, 32}, upload(std::vector<int>{8}), y))
    return false;
  const auto result = download(y, 32);
  for (int i = 0; i < 32; ++i)
    if (result[i] != float(i + 3 + i + 5 + i))
      return false;
  return true;
}

} // namespace

void addOverlaps(std::vector<Case> &cases) {
  const Case all[] = {
      {"word", broadcasted<wordClean>, "", ""},
      {"word: overwritten while other warps read it", broadcasted<wordNoBarrier>, "race", "first,write"},
      {"word: overwritten when all have read it, relaxed", broadcasted<wordRelaxed>, "race", "first,write"},
      {"word: overwritten by its last reader", broadcasted<wordReadBehind>, "race", "last"},
      {"counter", addedUp<counterClean>, "", ""},
      {"counter: read before all warps have added", addedUp<counterReadEarly>, "race", "add,read"},
      {"counter: overwritten beside its reader", addedUp<counterOverwritten>, "race", "read,write"},
      {"pairs of float16", addedPairs<__half, 0>, "", ""},
      {"pairs of bfloat16", addedPairs<__nv_bfloat16, 0>, "", ""},
      {"pairs of float16: misaligned", addedPairs<__half, 1>, "misaligned", "pair"},
      {"halves of bytes", halved<halfClean>, "", ""},
      {"halves of bytes: the neighbour's", halved<halfOfNeighbour>, "race", "get,put"},
      {"halves of bytes: stored by two threads", halved<halfTwice>, "race", "put"},
      {"halves of bytes: beside a whole byte", halved<halfInWholeByte>, "race", "whole,get"},
      {"flag put back", isPutBack<putBackClean>, "", ""},
      {"flag put back: another thread may still look at it", isPutBack<putBackPlain>, "race", "poll,back"},
      {"adds of blocks", addedByBlocks<scopesClean>, "", ""},
      {"adds of blocks: scope of the block", addedByBlocks<scopeOfBlock>, "race", "add"},
      {"adds of blocks: load of the block's scope", addedByBlocks<scopeOfLoad>, "race", "add,load"},
      {"relay", relayed<relayClean>, "", ""},
      {"relay: stored over", relayed<relayStored>, "race", "use"},
      {"copy of another's", copiedOfOther<fencedClean>, "", ""},
      {"copy of another's, fenced by the reader", copiedOfOther<fencedAtReader>, "", ""},
      {"copy of another's: not fenced", copiedOfOther<fencedNowhere>, "proxy", "load"},
      {"dependent", dependents<dependentClean>, "", ""},
      {"dependent: no wait", dependents<notWaited>, "race", "consume"},
      {"dependent: a lane waits for its warp only", dependents<waitedByOne>, "race", "consume"},
      {"dependent: overwrites before the wait", dependents<overwrittenEarly>, "race", "early"},
      {"dependent on two", dependents<twoBeforeClean>, "", ""},
      {"dependent on two: the second began the third too early", dependents<twoBefore>, "race", "third"},
      {"dependent, but not allowed to begin early", dependents<notAllowed>, "", ""},
      {"registers", localArrays<localClean>, "", ""},
      {"registers: past the end", localArrays<localPast>, "out-of-bounds", "fill"},
      {"registers: before the first", localArrays<localBefore>, "out-of-bounds", "take"},
      {"registers: past a vector's end", localArrays<localMember>, "out-of-bounds", "take"},
      {"registers: misaligned vector", localArrays<localMisaligned>, "misaligned", "copy"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
