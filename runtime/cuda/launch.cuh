// The host's side: what a device can do, and the one way to start a kernel.
#pragma once

#include "../portable/host.h"
#include "base.cuh"

#include <atomic>

namespace tlc {

//@ fail_native
// Keeps the runtime's error behind a failure.
TLC_HOST tlc_status fail_native(const char *function, const char *what, cudaError_t error) {
  last_native_error = int(error);
  (void)cudaGetLastError(); // reported here: not again to who asks next
  return fail(TLC_ERR_NATIVE, "%s: %s: %s", function, what, cudaGetErrorString(error));
}

//@ device_limits
// What the launcher knows of a device.
struct device_limits {
  int variant;    // which of the file's kernels it runs
  int capability; // 10 * major + minor
  int shared;     // bytes of dynamic shared memory that a block may ask for
  int multiprocessors;
};

//@ query
TLC_HOST tlc_status query(const char *function, int device, device_limits *limits) {
  int major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error == cudaSuccess)
    error =
        cudaDeviceGetAttribute(&limits->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&limits->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess)
    return fail_native(function, "cannot ask the device", error);
  limits->variant = 0;
  limits->capability = 10 * major + minor;
  return TLC_OK;
}

//@ wrong_device
TLC_HOST tlc_status wrong_device(const char *function, const device_limits &limits,
                               const char *built_for) {
  return fail(TLC_ERR_DEVICE, "%s: built for %s; the device is sm_%d", function, built_for,
              limits.capability);
}

//@ check_shared
TLC_HOST tlc_status check_shared(const char *function, const device_limits &limits, int needed) {
  if (needed <= limits.shared)
    return TLC_OK;
  return fail(TLC_ERR_RESOURCE, "%s: needs %d bytes of shared memory, the device has %d", function,
              needed, limits.shared);
}

//@ device_cache
// The limits of devices on which the kernels are loaded. Threads may fill an entry at the same time:
// they write the same values.
class device_cache {
  static constexpr int devices = 64;
  struct entry {
    std::atomic<int> ready, variant, capability, shared, multiprocessors;
  };
  entry entries[devices] = {};

public:
  bool find(int device, device_limits *limits) const {
    if (device < 0 || device >= devices)
      return false;
    const entry &e = entries[device];
    if (!e.ready.load(std::memory_order_acquire))
      return false;
    limits->variant = e.variant.load(std::memory_order_relaxed);
    limits->capability = e.capability.load(std::memory_order_relaxed);
    limits->shared = e.shared.load(std::memory_order_relaxed);
    limits->multiprocessors = e.multiprocessors.load(std::memory_order_relaxed);
    return true;
  }
  void store(int device, const device_limits &limits) {
    if (device < 0 || device >= devices)
      return;
    entry &e = entries[device];
    e.variant.store(limits.variant, std::memory_order_relaxed);
    e.capability.store(limits.capability, std::memory_order_relaxed);
    e.shared.store(limits.shared, std::memory_order_relaxed);
    e.multiprocessors.store(limits.multiprocessors, std::memory_order_relaxed);
    e.ready.store(1, std::memory_order_release);
  }
};

//@ load_kernel
// Loads a kernel on the current device and lets it use `shared` bytes.
template <class... P>
TLC_HOST tlc_status load_kernel(const char *function, void (*kernel)(P...), int shared) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaSuccess && shared > 48 * 1024)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  return error == cudaSuccess ? TLC_OK : fail_native(function, "cannot load the kernel", error);
}

//@ on_device
// Runs `load` with `device` as the current one and restores that; for _prepare only.
template <class Load>
TLC_HOST tlc_status on_device(const char *function, int device, const Load &load) {
  int current = 0;
  cudaError_t error = cudaGetDevice(&current);
  if (error == cudaSuccess && current != device)
    error = cudaSetDevice(device);
  if (error != cudaSuccess)
    return fail_native(function, "cannot select the device", error);
  const tlc_status status = load();
  if (current != device)
    (void)cudaSetDevice(current);
  return status;
}

//@ launch_shape
struct launch_shape {
  unsigned block[3], cluster[3];
  int shared;       // bytes
  bool cooperative; // all blocks are resident at once
  bool dependent;   // may begin before the kernel before it has ended: it waits for that one itself
};

//@ same_type
template <class T> struct same_type { using type = T; };

//@ launch
// Starts a kernel on a stream of the current device; an empty grid starts nothing.
template <class... P>
inline tlc_status launch(const char *function, void (*kernel)(P...), const int64_t (&grid)[3],
                         const launch_shape &shape, void *stream,
                         typename same_type<P>::type... arguments) {
  if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
    return TLC_OK;
  cudaLaunchAttribute attributes[3] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2]));
  config.blockDim = dim3(shape.block[0], shape.block[1], shape.block[2]);
  config.dynamicSmemBytes = size_t(shape.shared);
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = attributes;
  if (shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1) {
    for (int d = 0; d < 3; ++d)
      if (grid[d] % shape.cluster[d] != 0)
        return fail(TLC_ERR_SHAPE, "%s: a grid of %lld blocks along %c is cut into clusters of %u",
                    function, (long long)grid[d], "xyz"[d], shape.cluster[d]);
    cudaLaunchAttribute &cluster = attributes[config.numAttrs++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = shape.cluster[0];
    cluster.val.clusterDim.y = shape.cluster[1];
    cluster.val.clusterDim.z = shape.cluster[2];
  }
  if (shape.cooperative) {
    cudaLaunchAttribute &cooperative = attributes[config.numAttrs++];
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
  }
  if (shape.dependent) {
    cudaLaunchAttribute &dependent = attributes[config.numAttrs++];
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
  }
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  return error == cudaSuccess ? TLC_OK : fail_native(function, "launch", error);
}

//@ end
} // namespace tlc
