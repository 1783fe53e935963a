// What the host program that `tlc run` writes is made of: arrays from and to the files of a folder,
// memory of the device, and how the call ended. The device is the CPU, or the emulator
// (TLC_RUN_EMULATED).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#ifdef TLC_RUN_EMULATED
#include <cuda_runtime.h>
#endif

namespace tlc_run {

[[noreturn]] inline void fail(const std::string &what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(3);
}

/// Memory of the device for a whole run. At least a byte, so that it has an address.
inline void *allocate(std::size_t bytes) {
#ifdef TLC_RUN_EMULATED
  void *p = nullptr;
  if (cudaMalloc(&p, bytes ? bytes : 1) != cudaSuccess)
    p = nullptr;
#else
  void *p = std::aligned_alloc(256, (bytes + 256) / 256 * 256);
#endif
  if (!p)
    fail("no memory for " + std::to_string(bytes) + " bytes");
  return p;
}

class Folder {
public:
  explicit Folder(const char *path) : path(path) {}

  /// The contents of NAME.in on the device. `written`: what the call leaves goes to NAME.out.
  /// `defined`: the call may read it; else the bytes are there, but the emulator takes them for
  /// never written.
  void *array(const char *name, std::size_t bytes, bool written, bool defined) {
    std::vector<unsigned char> contents(bytes);
    std::FILE *file = std::fopen((path + "/" + name + ".in").c_str(), "rb");
    if (!file || std::fread(contents.data(), 1, bytes, file) != bytes)
      fail(std::string("cannot read the contents of ") + name);
    std::fclose(file);
    void *p = allocate(bytes);
#ifdef TLC_RUN_EMULATED
    emu_name(p, name);
#endif
    copy(p, contents.data(), bytes, defined);
    if (written)
      results.push_back({name, p, bytes});
    return p;
  }
  /// Memory for the call itself: zero if it must start so.
  void *workspace(std::size_t bytes, bool zeroed) {
    if (!bytes)
      return nullptr;
    void *p = allocate(bytes);
    std::vector<unsigned char> contents(bytes, zeroed ? 0 : 0xff);
    copy(p, contents.data(), bytes, zeroed);
    return p;
  }

  /// Writes the results, and `outcome`: the status in the first line, then what is said about it.
  int finish(int status, const char *error) {
#ifdef TLC_RUN_EMULATED
    cudaDeviceSynchronize(); // launches are over when they return; a GPU's host program has this
#endif
    for (const Result &r : results)
      write(r.name + ".out", r.data, r.bytes);
    std::string text = std::to_string(status) + "\n" + (status ? error : "");
    write("outcome", text.data(), text.size());
    return 0;
  }

private:
  struct Result {
    std::string name;
    void *data;
    std::size_t bytes;
  };

  // The emulator's device memory can be written by the host; only its own copies make it defined.
  static void copy(void *to, const void *from, std::size_t bytes, bool defined) {
#ifdef TLC_RUN_EMULATED
    if (defined && bytes) {
      cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
      return;
    }
#endif
    (void)defined;
    if (bytes)
      std::memcpy(to, from, bytes);
  }
  void write(const std::string &name, const void *data, std::size_t bytes) const {
    std::FILE *file = std::fopen((path + "/" + name).c_str(), "wb");
    if (!file || std::fwrite(data, 1, bytes, file) != bytes || std::fclose(file))
      fail("cannot write " + name);
  }

  std::string path;
  std::vector<Result> results;
};

} // namespace tlc_run
