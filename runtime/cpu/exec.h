// The host's side on a CPU: blocks as tasks of the caller's threads or of the pool.
#pragma once

#include "../portable/host.h"
#include "pool.h"

namespace tlc {

//@ device_limits
// What the launcher knows of the machine.
struct device_limits {
  int variant;
  int multiprocessors; // threads of the pool
};

//@ query
TLC_HOST tlc_status query(const char *, int, device_limits *limits) {
  limits->variant = 0;
  const unsigned threads = std::thread::hardware_concurrency();
  limits->multiprocessors = threads == 0 ? 1 : int(threads);
  return TLC_OK;
}

//@ wrong_device
TLC_HOST tlc_status wrong_device(const char *function, const device_limits &, const char *built_for) {
  return fail(TLC_ERR_DEVICE, "%s: built for %s, which this processor is not", function, built_for);
}

//@ cpu_has_avx2
TLC_HOST bool cpu_has_avx2() {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

//@ cpu_has_avx512
TLC_HOST bool cpu_has_avx512() {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

//@ prepare_threads
// Starts the pool, so that the first call need not.
TLC_HOST void prepare_threads(size_t arena) {
  (void)tlc_pool_1::instance();
  (void)tlc_pool_1::scratch(arena);
}

//@ parallel_for
// Runs task(index, worker) for each index in [0, count) on the caller's threads, or on the pool.
template <class Task>
TLC_HOST void parallel_for(const tlc_cpu_exec *executor, int64_t count, const Task &task) {
  const auto call = [](void *data, int64_t index, int32_t worker) {
    (*static_cast<const Task *>(data))(index, worker);
  };
  void *const data = const_cast<void *>(static_cast<const void *>(&task));
  if (executor != nullptr && executor->parallel_for != nullptr)
    executor->parallel_for(executor->context, count, call, data);
  else
    tlc_pool_1::instance().run(count, call, data);
}

//@ run_blocks
// Runs block(x, arena) for each block x of a grid; `arena` is memory of the worker.
template <class Block>
TLC_HOST tlc_status run_blocks(const char *function, const int64_t (&grid)[3], size_t arena_bytes,
                             void *stream, const Block &block) {
  const tlc_cpu_exec *const executor = static_cast<const tlc_cpu_exec *>(stream);
  const int64_t width = grid[0], height = grid[1], count = width * height * grid[2];
  if (count <= 0)
    return TLC_OK;
  std::atomic<bool> starved{false};
  parallel_for(executor, count, [&](int64_t index, int32_t worker) {
    unsigned char *arena = nullptr;
    if (executor != nullptr && executor->scratch != nullptr &&
        executor->scratch_bytes >= arena_bytes)
      arena = static_cast<unsigned char *>(executor->scratch) +
              size_t(worker) * executor->scratch_bytes;
    else if (arena_bytes > 0)
      arena = tlc_pool_1::scratch(arena_bytes);
    if (arena == nullptr && arena_bytes > 0) {
      starved.store(true, std::memory_order_relaxed);
      return;
    }
    const int x[3] = {int(index % width), int(index / width % height),
                      int(index / width / height)};
    block(x, arena);
  });
  if (starved.load(std::memory_order_relaxed))
    return fail(TLC_ERR_RESOURCE, "%s: no memory for %llu bytes per thread", function,
                (unsigned long long)arena_bytes);
  return TLC_OK;
}

//@ end
} // namespace tlc
