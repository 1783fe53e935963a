// The frame of the kernels with planted faults: a kernel is a template over the fault it has (0:
// none), a case says which report must come and on which of the kernel's lines.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

/// Launches, checks the numbers; false if they are wrong. What was reported is judged by run.py.
using Run = bool (*)();

struct Case {
  const char *name;
  Run run;
  const char *kinds; ///< kinds of report that will do, separated by commas; empty: a clean kernel
  const char *marks; ///< the report must name a line with one of these comments: "wait,fill"
  const char *device = ""; ///< EMU_ARCH; empty: the one that the files are for
};

void addPipelines(std::vector<Case> &cases);
void addSparse(std::vector<Case> &cases);
void addBlocks(std::vector<Case> &cases);
void addGrids(std::vector<Case> &cases);
void addHipProducts(std::vector<Case> &cases);
void addHipWaves(std::vector<Case> &cases);
void addHopperAttention(std::vector<Case> &cases);
void addHopperCopies(std::vector<Case> &cases);
void addHopperGemm(std::vector<Case> &cases);
void addHopperMixed(std::vector<Case> &cases);
void addHopperProducts(std::vector<Case> &cases);
void addHopperSparse(std::vector<Case> &cases);
void addHopperTensors(std::vector<Case> &cases);
void addOverlaps(std::vector<Case> &cases);
void addTiles(std::vector<Case> &cases);
void addDevices(std::vector<Case> &cases);
void addMisuse(std::vector<Case> &cases);
void addHipTiles(std::vector<Case> &cases);

struct Shape {
  unsigned grid = 1, threads = 32, shared = 0;
  bool cooperative = false;
};

template <class... P, class... A>
bool start(void (*kernel)(P...), const Shape &shape, A... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shape.shared));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(shape.grid), config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared;
  config.attrs = &attribute, config.numAttrs = shape.cooperative;
  return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}

/// Device memory of `count` elements that nothing has written.
template <class T> T *reserve(size_t count) {
  T *pointer = nullptr;
  cudaMalloc(&pointer, count * sizeof(T));
  return pointer;
}
template <class T> T *upload(const std::vector<T> &host) {
  T *pointer = reserve<T>(host.size());
  cudaMemcpy(pointer, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return pointer;
}
template <class T> std::vector<T> download(const T *pointer, size_t count) {
  std::vector<T> host(count);
  cudaMemcpy(host.data(), pointer, count * sizeof(T), cudaMemcpyDeviceToHost);
  return host;
}
inline float number(size_t i) { return float(int(i * 2654435761u >> 24 & 127) - 64) / 64; }
