// A pool of threads for callers that bring none. All files that tlc emits share it: its functions are
// inline and not in an anonymous namespace. The number in the name changes when anything here does.
#pragma once

#include "base.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

//@ tlc_pool_1
namespace tlc_pool_1 {

using task = void (*)(void *data, int64_t index, int32_t worker);

// Threads wait for rounds; the caller of a round works along. Rounds of several callers follow each
// other.
class pool {
public:
  pool() {
    const unsigned wanted = std::thread::hardware_concurrency();
    for (unsigned i = 1; i < wanted; ++i) {
      try {
        threads.emplace_back([this, i] { work(int32_t(i)); });
      } catch (...) { // fewer threads are slower, not wrong
        break;
      }
    }
  }
  pool(const pool &) = delete;
  pool &operator=(const pool &) = delete;
  ~pool() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    wake.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  int32_t size() const { return int32_t(threads.size()) + 1; }

  void run(int64_t count, task function, void *data) {
    if (count <= 0)
      return;
    std::lock_guard<std::mutex> one(caller);
    if (count == 1 || threads.empty()) {
      for (int64_t i = 0; i < count; ++i)
        function(data, i, 0);
      return;
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      current = function;
      argument = data;
      last = count;
      next.store(0, std::memory_order_relaxed);
      busy = int(threads.size());
      ++round;
    }
    wake.notify_all();
    take(function, data, count, 0);
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return busy == 0; });
  }

private:
  void take(task function, void *data, int64_t count, int32_t worker) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      function(data, i, worker);
  }
  void work(int32_t worker) {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return ending || round != seen; });
      if (ending)
        return;
      seen = round;
      const task function = current;
      void *const data = argument;
      const int64_t count = last;
      lock.unlock();
      take(function, data, count, worker);
      lock.lock();
      if (--busy == 0)
        done.notify_one();
    }
  }

  std::vector<std::thread> threads;
  std::mutex caller, mutex;
  std::condition_variable wake, done;
  std::atomic<int64_t> next{0};
  task current = nullptr;
  void *argument = nullptr;
  int64_t last = 0;
  int busy = 0;
  uint64_t round = 0;
  bool ending = false;
};

inline pool &instance() {
  static pool all;
  return all;
}

// Memory of the calling thread, 64-byte aligned, kept for its next kernel; null if there is none.
class arena {
public:
  arena() = default;
  arena(const arena &) = delete;
  arena &operator=(const arena &) = delete;
  ~arena() { std::free(memory); }
  unsigned char *reserve(size_t bytes) {
    if (bytes > size) {
      std::free(memory);
      memory = std::malloc(bytes + 64);
      size = memory == nullptr ? 0 : bytes;
    }
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory);
    return memory == nullptr ? nullptr
                             : reinterpret_cast<unsigned char *>((address + 63) & ~uintptr_t(63));
  }

private:
  void *memory = nullptr;
  size_t size = 0;
};
inline unsigned char *scratch(size_t bytes) {
  static thread_local arena own;
  return own.reserve(bytes == 0 ? 1 : bytes);
}

} // namespace tlc_pool_1

//@ end
