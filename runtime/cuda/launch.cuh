// The host's side: what a device can do, and the one way to start a kernel.
#pragma once

#include "../portable/host.h"
#include "base.cuh"

namespace tlc {

//@ fail_native
// Remembers the runtime's error behind a failure.
inline tlc_status fail_native(const char *function, const char *what, cudaError_t error) {
  last_native_error = int(error);
  return fail(TLC_ERR_NATIVE, "%s: %s: %s", function, what, cudaGetErrorString(error));
}

//@ device_limits
// What the launcher wants to know of a device.
struct device_limits {
  int capability; // 10 * major + minor
  int shared;     // bytes of dynamic shared memory that a block may ask for
  int multiprocessors;
};
inline cudaError_t query(int device, device_limits *limits) {
  int major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&limits->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&limits->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  limits->capability = 10 * major + minor;
  return error;
}

//@ load_kernel
// Loads a kernel on the current device and lets it use `shared` bytes.
template <class... P> inline cudaError_t load_kernel(void (*kernel)(P...), int shared) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaSuccess && shared > 48 * 1024)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  return error;
}

//@ launch_shape
struct launch_shape {
  dim3 grid, block, cluster;
  size_t shared;    // bytes
  bool cooperative; // all blocks are resident at once
};

//@ launch
// Starts a kernel on a stream of the current device.
template <class... P>
inline cudaError_t launch(void (*kernel)(P...), const launch_shape &shape, void *stream,
                          P... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = attributes;
  if (shape.cluster.x * shape.cluster.y * shape.cluster.z > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x = shape.cluster.x;
    attributes[config.numAttrs].val.clusterDim.y = shape.cluster.y;
    attributes[config.numAttrs].val.clusterDim.z = shape.cluster.z;
    ++config.numAttrs;
  }
  if (shape.cooperative) {
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs].val.cooperative = 1;
    ++config.numAttrs;
  }
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

//@ end
} // namespace tlc
