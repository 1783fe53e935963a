// HIP as the emulator offers it: the host interface is that of CUDA under its other names, kernels
// are launched by address. No toolkit is needed.
#pragma once
#define EMU_HIP
#include "../cuda_runtime.h"

struct emu_wave { // 64 or 32, by the device
  operator int() const { return ::emu::lanes_of_warp(); }
};
inline const emu_wave warpSize;

enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorInvalidDevice = 101,
  hipErrorLaunchFailure = 719
};
inline hipError_t emu_hip(cudaError_t e) { return hipError_t(e); }
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeMaxThreadsPerBlock
};
/// What programs ask of a device; `gcnArchName` is "gfx942" and the like.
struct hipDeviceProp_t {
  char name[256], gcnArchName[256];
  int multiProcessorCount, warpSize, maxThreadsPerBlock;
  size_t sharedMemPerBlock, totalGlobalMem;
};
hipError_t hipDeviceGetAttribute(int *v, hipDeviceAttribute_t a, int device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int device);

template <class T> hipError_t hipMalloc(T **p, size_t n) { return emu_hip(cudaMalloc(p, n)); }
inline hipError_t hipFree(void *p) { return emu_hip(cudaFree(p)); }
inline hipError_t hipMemcpy(void *d, const void *s, size_t n, hipMemcpyKind k) {
  return emu_hip(cudaMemcpy(d, s, n, cudaMemcpyKind(k)));
}
inline hipError_t hipMemcpyAsync(void *d, const void *s, size_t n, hipMemcpyKind k,
                                 hipStream_t = nullptr) {
  return hipMemcpy(d, s, n, k);
}
inline hipError_t hipMemset(void *d, int v, size_t n) { return emu_hip(cudaMemset(d, v, n)); }
inline hipError_t hipMemsetAsync(void *d, int v, size_t n, hipStream_t = nullptr) {
  return hipMemset(d, v, n);
}
inline hipError_t hipGetDevice(int *d) { return emu_hip(cudaGetDevice(d)); }
inline hipError_t hipSetDevice(int d) { return emu_hip(cudaSetDevice(d)); }
inline hipError_t hipGetDeviceCount(int *n) { return emu_hip(cudaGetDeviceCount(n)); }
inline hipError_t hipDeviceSynchronize() { return emu_hip(cudaDeviceSynchronize()); }
inline hipError_t hipGetLastError() { return emu_hip(cudaGetLastError()); }
inline hipError_t hipPeekAtLastError() { return emu_hip(cudaPeekAtLastError()); }
inline const char *hipGetErrorString(hipError_t e) { return cudaGetErrorString(cudaError_t(e)); }
inline hipError_t hipStreamCreate(hipStream_t *s) { return emu_hip(cudaStreamCreate(s)); }
inline hipError_t hipStreamDestroy(hipStream_t s) { return emu_hip(cudaStreamDestroy(s)); }
inline hipError_t hipStreamSynchronize(hipStream_t s) { return emu_hip(cudaStreamSynchronize(s)); }
inline hipError_t hipEventCreate(hipEvent_t *e) { return emu_hip(cudaEventCreate(e)); }
inline hipError_t hipEventDestroy(hipEvent_t e) { return emu_hip(cudaEventDestroy(e)); }
inline hipError_t hipEventRecord(hipEvent_t e, hipStream_t s = nullptr) {
  return emu_hip(cudaEventRecord(e, s));
}
inline hipError_t hipEventSynchronize(hipEvent_t e) { return emu_hip(cudaEventSynchronize(e)); }
inline hipError_t hipEventElapsedTime(float *ms, hipEvent_t from, hipEvent_t to) {
  return emu_hip(cudaEventElapsedTime(ms, from, to));
}

// ---- launches: a launch has only an address, so how to call what is there is remembered when it
// is taken
namespace emu {
using Invoker = void (*)(const void *kernel, void **arguments);
void remember_kernel(const void *kernel, Invoker invoker);
template <class... P, size_t... I>
void invoke(void (*kernel)(P...), void **arguments, std::index_sequence<I...>) {
  call_kernel(kernel, *static_cast<std::decay_t<P> *>(arguments[I])...);
}
template <class... P> const void *remember(void (*kernel)(P...)) {
  const void *address = reinterpret_cast<const void *>(kernel);
  remember_kernel(address, [](const void *k, void **arguments) {
    invoke(reinterpret_cast<void (*)(P...)>(const_cast<void *>(k)), arguments,
           std::index_sequence_for<P...>{});
  });
  return address;
}
} // namespace emu
hipError_t hipLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                           size_t shared, hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                      unsigned shared, hipStream_t stream);
