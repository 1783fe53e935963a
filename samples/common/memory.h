// Memory that the kernel can reach, on the machine that the samples were built for: CUDA, HIP, or
// the CPU itself. SAMPLE_CUDA or SAMPLE_HIP selects (samples/CMakeLists.txt sets them from
// TLC_SAMPLE_TARGET).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#if defined(SAMPLE_CUDA)
#include <cuda_runtime.h>
#define SAMPLE_GPU(name) cuda##name
#elif defined(SAMPLE_HIP)
#include <hip/hip_runtime.h>
#define SAMPLE_GPU(name) hip##name
#endif

namespace sample {

#ifdef SAMPLE_GPU

inline void require(SAMPLE_GPU(Error_t) error, const char *what) {
  if (error == SAMPLE_GPU(Success))
    return;
  std::fprintf(stderr, "%s: %s\n", what, SAMPLE_GPU(GetErrorString)(error));
  std::exit(1);
}

/// `count` elements in the memory of the current device.
template <class T> class Buffer {
public:
  explicit Buffer(const std::vector<T> &host) : count(host.size()) {
    require(SAMPLE_GPU(Malloc)(&pointer, bytes()), "allocation");
    upload(host);
  }
  ~Buffer() { (void)SAMPLE_GPU(Free)(pointer); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  T *data() const { return static_cast<T *>(pointer); }
  void upload(const std::vector<T> &host) {
    require(SAMPLE_GPU(Memcpy)(pointer, host.data(), bytes(), SAMPLE_GPU(MemcpyHostToDevice)),
            "upload");
  }
  std::vector<T> download() const {
    std::vector<T> host(count);
    require(SAMPLE_GPU(Memcpy)(host.data(), pointer, bytes(), SAMPLE_GPU(MemcpyDeviceToHost)),
            "download");
    return host;
  }

private:
  std::size_t bytes() const { return count * sizeof(T); }
  void *pointer = nullptr;
  std::size_t count;
};

/// Waits for everything started, and ends the program if something failed meanwhile.
inline void synchronize() { require(SAMPLE_GPU(DeviceSynchronize)(), "kernel"); }

/// Mean seconds of `launch`, by the device's own clock.
template <class Launch> double seconds(Launch launch, int repetitions) {
  SAMPLE_GPU(Event_t) start, stop;
  require(SAMPLE_GPU(EventCreate)(&start), "event");
  require(SAMPLE_GPU(EventCreate)(&stop), "event");
  launch();
  require(SAMPLE_GPU(EventRecord)(start, nullptr), "event");
  for (int i = 0; i < repetitions; ++i)
    launch();
  require(SAMPLE_GPU(EventRecord)(stop, nullptr), "event");
  require(SAMPLE_GPU(EventSynchronize)(stop), "timing");
  float milliseconds = 0;
  require(SAMPLE_GPU(EventElapsedTime)(&milliseconds, start, stop), "timing");
  (void)SAMPLE_GPU(EventDestroy)(start);
  (void)SAMPLE_GPU(EventDestroy)(stop);
  return milliseconds * 1e-3 / repetitions;
}

#else

template <class T> class Buffer {
public:
  explicit Buffer(const std::vector<T> &host)
      : count(host.size()),
        pointer(static_cast<T *>(std::aligned_alloc(256, (bytes() + 255) / 256 * 256 + 256))) {
    upload(host);
  }
  ~Buffer() { std::free(pointer); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  T *data() const { return pointer; }
  void upload(const std::vector<T> &host) {
    if (count)
      std::memcpy(pointer, host.data(), bytes());
  }
  std::vector<T> download() const { return {pointer, pointer + count}; }

private:
  std::size_t bytes() const { return count * sizeof(T); }
  std::size_t count;
  T *pointer;
};

inline void synchronize() {}

template <class Launch> double seconds(Launch launch, int repetitions) {
  launch();
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i)
    launch();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         repetitions;
}

#endif

} // namespace sample
