// The part of HIP's host interface that is not CUDA's under another name.
#include <cstdio>

#include "engine.h"
#include "hip/hip_runtime.h"

using namespace emu;
static std::map<const void *, Invoker> &invokers() {
  static std::map<const void *, Invoker> known;
  return known;
}
void emu::remember_kernel(const void *kernel, Invoker invoker) { invokers()[kernel] = invoker; }

static hipError_t start(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                        bool cooperative) {
  const auto it = invokers().find(kernel);
  int most = 0;
  hipDeviceGetAttribute(&most, hipDeviceAttributeMaxSharedMemoryPerBlock, 0);
  if (it == invokers().end() || shared > size_t(most))
    return hipErrorInvalidValue;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = shared;
  config.attrs = &attribute, config.numAttrs = cooperative;
  return emu_hip(emu_launch(&config, kernel, [&] { it->second(kernel, arguments); }));
}
hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                           size_t shared, hipStream_t) {
  return start(kernel, grid, block, arguments, shared, false);
}
hipError_t hipLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                      unsigned shared, hipStream_t) {
  return start(kernel, grid, block, arguments, shared, true);
}

hipError_t hipDeviceGetAttribute(int *v, hipDeviceAttribute_t a, int device) {
  ensure_maps();
  if (device)
    return hipErrorInvalidDevice;
  switch (a) {
  case hipDeviceAttributeMultiprocessorCount:
    *v = settings.sms;
    break;
  case hipDeviceAttributeMaxSharedMemoryPerBlock:
    *v = settings.gfx == 0x950 ? 160 << 10 : 64 << 10;
    break;
  case hipDeviceAttributeWarpSize:
    *v = settings.lanes;
    break;
  case hipDeviceAttributeMaxThreadsPerBlock:
    *v = 1024;
    break;
  default:
    return hipErrorInvalidValue;
  }
  return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int device) {
  int shared = 0;
  if (const hipError_t e =
          hipDeviceGetAttribute(&shared, hipDeviceAttributeMaxSharedMemoryPerBlock, device))
    return e;
  *p = {};
  std::snprintf(p->name, sizeof p->name, "emulated");
  std::snprintf(p->gcnArchName, sizeof p->gcnArchName, "gfx%x", settings.gfx);
  p->multiProcessorCount = settings.sms, p->warpSize = settings.lanes, p->maxThreadsPerBlock = 1024;
  p->sharedMemPerBlock = size_t(shared), p->totalGlobalMem = kGlobalSize;
  return hipSuccess;
}
