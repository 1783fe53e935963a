// The host's side: what a device can do, and the one way to start a kernel.
#pragma once

#include "base.h"

#include "../portable/host.h"

#include <cstdlib>

namespace tlc {

//@ fail_native
// Keeps the runtime's error behind a failure.
TLC_HOST tlc_status fail_native(const char *function, const char *what, hipError_t error) {
  last_native_error = int(error);
  (void)hipGetLastError(); // reported here: not again to who asks next
  return fail(TLC_ERR_NATIVE, "%s: %s: %s", function, what, hipGetErrorString(error));
}

//@ device_limits
// What the launcher knows of a device.
struct device_limits {
  int variant;    // which of the file's kernels it runs
  int capability; // 0x942 of gfx942, 0x90a of gfx90a
  int shared;     // bytes of shared memory that a block may ask for
  int multiprocessors;
  int wave; // lanes of a wave
};

//@ query
TLC_HOST tlc_status query(const char *function, int device, device_limits *limits) {
  hipDeviceProp_t properties;
  const hipError_t error = hipGetDeviceProperties(&properties, device);
  if (error != hipSuccess)
    return fail_native(function, "cannot ask the device", error);
  const char *name = properties.gcnArchName; // "gfx942:sramecc+:xnack-"
  limits->capability = strncmp(name, "gfx", 3) ? 0 : int(strtol(name + 3, nullptr, 16));
  limits->variant = 0;
  limits->shared = int(properties.sharedMemPerBlock);
  limits->multiprocessors = properties.multiProcessorCount;
  limits->wave = properties.warpSize;
  return TLC_OK;
}

//@ launch_shape
struct launch_shape {
  unsigned block[3];
  int shared;       // bytes
  bool cooperative; // all blocks are resident at once
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
  void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};
  const dim3 blocks{unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])};
  const dim3 threads{shape.block[0], shape.block[1], shape.block[2]};
  const auto queue = static_cast<hipStream_t>(stream);
  const hipError_t error = shape.cooperative
                               ? hipLaunchCooperativeKernel(TLC_KERNEL(kernel), blocks, threads,
                                                            pointers, unsigned(shape.shared), queue)
                               : hipLaunchKernel(TLC_KERNEL(kernel), blocks, threads, pointers,
                                                 size_t(shape.shared), queue);
  return error == hipSuccess ? TLC_OK : fail_native(function, "launch", error);
}

//@ end
} // namespace tlc
