// Calls of the device, and lines for compare.py.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

/// Opens the file that the one argument names; without it the program ends with status 2.
inline std::FILE *openResults(int argc, char **argv) {
  std::FILE *file = argc == 2 ? std::fopen(argv[1], "w") : nullptr;
  if (!file) {
    std::fprintf(stderr, "%s FILE: writes the results there\n", argv[0]);
    std::exit(2);
  }
  return file;
}
inline void check(cudaError_t error) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}
inline unsigned char *upload(const std::vector<unsigned char> &host) {
  unsigned char *device = nullptr;
  check(cudaMalloc(reinterpret_cast<void **>(&device), host.size()));
  check(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
  return device;
}
template <class... P, class... A>
void start(void (*kernel)(P...), int blocks, int threads, std::size_t shared, A... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(blocks)), config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = shared;
  check(cudaLaunchKernelEx(&config, kernel, arguments...));
  check(cudaDeviceSynchronize());
}

inline std::uint64_t bitsAt(const unsigned char *data, std::size_t index, int bits) {
  std::uint64_t out = 0;
  if (bits < 8)
    return data[index / 2] >> (index % 2 * 4) & 15;
  std::memcpy(&out, data + index * std::size_t(bits / 8), std::size_t(bits / 8));
  return out;
}
inline void setBitsAt(unsigned char *data, std::size_t index, int bits, std::uint64_t value) {
  if (bits < 8)
    data[index / 2] = static_cast<unsigned char>(data[index / 2] | (value & 15) << (index % 2 * 4));
  else
    std::memcpy(data + index * std::size_t(bits / 8), &value, std::size_t(bits / 8));
}

/// What exact arithmetic gives, and the sum of the magnitudes that go into it.
struct Exact {
  long double sum, magnitude;
  explicit Exact(double start) : sum(start), magnitude(std::fabs(start)) {}
  void add(double x, double y) {
    const long double product = (long double)(x)*y;
    sum += product, magnitude += std::fabs(product);
  }
  /// A line for an element whose result has these bits.
  void print(std::FILE *file, std::uint64_t bits) const {
    std::fprintf(file, "%llx %a %a\n", (unsigned long long)bits, double(sum), double(magnitude));
  }
};
