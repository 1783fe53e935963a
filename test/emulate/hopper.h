// What the kernels for sm_90 share: tensor maps and launches with clusters.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>

#include <atomic>
#include <cstdarg>
#include <initializer_list>

#include "../../runtime/tlc.h"
#include "faults.h"

// As in an emitted file, which has them in an anonymous namespace.
namespace {
#include "../../runtime/cuda/tensor_map.cuh"
} // namespace

/// A map of a row-major [rows][columns] matrix with rows of `pitch` elements; boxes of `height` rows of
/// `width` elements.
template <class T>
CUtensorMap matrixMap(const T *base, int rows, int columns, int pitch, int height, int width,
                      int swizzle, CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16) {
  CUtensorMap map = {};
  const uint64_t sizes[] = {uint64_t(columns), uint64_t(rows)}, strides[] = {pitch * sizeof(T)};
  const uint32_t box[] = {uint32_t(width), uint32_t(height)};
  if (tlc::tensor_map(&map, type, 2, const_cast<T *>(base), sizes, strides, box, swizzle, 128) !=
      TLC_OK)
    std::printf("%s\n", tlc::last_error);
  return map;
}

/// Starts kernels in clusters; `rows` of blocks and of clusters, too.
template <class... P, class... A>
bool startClusters(void (*kernel)(P...), const Shape &shape, uint2 cluster, unsigned rows, A... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shape.shared));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(shape.grid, rows), config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared;
  config.attrs = &attribute, config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}

inline std::vector<__half> halves(size_t count, size_t seed) {
  std::vector<__half> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = number(i + seed);
  return values;
}
