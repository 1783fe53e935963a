// CUDA as the emulator offers it: qualifiers, built-ins and the part of the host interface that
// emitted files use. No toolkit is needed.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <type_traits>

#include "emu/api.h"

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)

// ---- vector types ----
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
#define EMU_VECTORS(T, name, a1, a2, a4)                                                           \
  struct alignas(a2) name##2 {                                                                     \
    T x, y;                                                                                        \
  };                                                                                               \
  struct name##3 {                                                                                 \
    T x, y, z;                                                                                     \
  };                                                                                               \
  struct alignas(a4) name##4 {                                                                     \
    T x, y, z, w;                                                                                  \
  };                                                                                               \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                       \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTORS(float, float, 4, 8, 16)
EMU_VECTORS(int, int, 4, 8, 16)
EMU_VECTORS(double, double, 8, 16, 16)
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// ---- indices ----
extern uint3 threadIdx, blockIdx; // set whenever a fiber starts or goes on
extern dim3 blockDim, gridDim;
#ifndef EMU_HIP
constexpr int warpSize = 32;
#endif

// ---- arithmetic ----
using std::max;
using std::min;
inline int min(int a, unsigned b) { return int(std::min(unsigned(a), b)); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
// The C library declares functions of these names for itself; a macro takes no part in that.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
inline float __fdividef(float a, float b) { return a / b; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
unsigned __fns(unsigned mask, unsigned base, int n);
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }

// ---- barriers, warps ----
#define EMU_AT ::emu::Site emu_site = {}
inline size_t __cvta_generic_to_shared(const void *p) { return ::emu::to_shared(p); }
inline size_t __cvta_generic_to_global(const void *p) { return size_t(p); }
inline void __syncthreads(EMU_AT) { ::emu::barrier_sync(0, 0, emu_site); }
inline int __syncthreads_count(int p, EMU_AT) { return ::emu::barrier_count(p != 0, emu_site); }
inline int __syncthreads_and(int p, EMU_AT) { return ::emu::barrier_count(p == 0, emu_site) == 0; }
inline int __syncthreads_or(int p, EMU_AT) { return ::emu::barrier_count(p != 0, emu_site) != 0; }
#undef __builtin_assume
#define __builtin_assume(...) ::emu::assume(__VA_ARGS__)
inline void __trap(EMU_AT) { ::emu::trap(emu_site); }
inline void __syncwarp(unsigned mask = ~0u, EMU_AT) { ::emu::warp_sync(mask, emu_site); }
namespace emu {
template <class T>
__attribute__((no_sanitize("thread"))) inline T shuffle_as(unsigned mask, T v, int how, int lane,
                                                           int width, Site s) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &v, sizeof(T));
  bits = shuffle(mask, bits, how, lane, width, s);
  __builtin_memcpy(&v, &bits, sizeof(T));
  return v;
}
} // namespace emu
template <class T> T __shfl_sync(unsigned m, T v, int lane, int w = 32, EMU_AT) {
  return ::emu::shuffle_as(m, v, ::emu::kIndex, lane, w, emu_site);
}
template <class T> T __shfl_xor_sync(unsigned m, T v, int lane, int w = 32, EMU_AT) {
  return ::emu::shuffle_as(m, v, ::emu::kXor, lane, w, emu_site);
}
template <class T> T __shfl_up_sync(unsigned m, T v, int d, int w = 32, EMU_AT) {
  return ::emu::shuffle_as(m, v, ::emu::kUp, d, w, emu_site);
}
template <class T> T __shfl_down_sync(unsigned m, T v, int d, int w = 32, EMU_AT) {
  return ::emu::shuffle_as(m, v, ::emu::kDown, d, w, emu_site);
}
inline unsigned __ballot_sync(unsigned m, int p, EMU_AT) {
  return ::emu::ballot(m, p != 0, emu_site);
}
inline int __any_sync(unsigned m, int p, EMU_AT) { return ::emu::ballot(m, p != 0, emu_site) != 0; }
inline int __all_sync(unsigned m, int p, EMU_AT) { return ::emu::ballot(m, p == 0, emu_site) == 0; }
template <class T> unsigned __match_any_sync(unsigned m, T v, EMU_AT) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &v, sizeof(T));
  return ::emu::match_any(m, bits, emu_site);
}
template <class T> unsigned __match_all_sync(unsigned m, T v, int *all, EMU_AT) {
  *all = __match_any_sync(m, v, emu_site) == m;
  return *all ? m : 0;
}
inline unsigned __activemask() { return ::emu::active_mask(); }
inline void __nanosleep(unsigned) { ::emu::nanosleep(); }
inline void __threadfence_block() { ::emu::fence(::emu::kCta); }
inline void __threadfence() { ::emu::fence(::emu::kGpu); }
inline void __threadfence_system() { ::emu::fence(::emu::kGpu); }

// ---- atomics: the runtime's functions, in device/atomic.h, are made of this ----
namespace emu {
/// An atomic that replaces *p by f(*p). One that changes nothing may be a poll, and lets others go
/// on.
template <class T, class F>
__attribute__((no_sanitize("thread"))) inline T atomic_update(T *p, F f, Order o, Scope sc,
                                                              Site s) {
  atomic_begin(p, sizeof(T), true, true, o, sc, s);
  T old;
  __builtin_memcpy(&old, p, sizeof(T));
  mark_written(&f, sizeof f); // this function is not watched, what it calls is
  const T next = f(old);
  const bool same = !__builtin_memcmp(&old, &next, sizeof(T));
  __builtin_memcpy(p, &next, sizeof(T));
  atomic_end(p, sizeof(T), true, true, o, sc);
  if (same)
    poll(s);
  return old;
}
} // namespace emu
template <class T> T __ldg(const T *p, EMU_AT) {
  T v;
  ::emu::load(&v, p, sizeof(T), true, emu_site);
  return v;
}

// ---- host interface ----
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDevice = 101,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
  cudaErrorInvalidClusterSize = 912
};
using cudaStream_t = struct emu_stream *;
using cudaEvent_t = struct emu_event *;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 10
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes;
  int maxThreadsPerBlock;
};
enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
struct cudaLaunchAttributeValue {
  struct {
    unsigned x, y, z;
  } clusterDim;
  int cooperative;
  int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};
cudaError_t cudaMalloc(void **p, size_t bytes);
template <class T> cudaError_t cudaMalloc(T **p, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void **>(p), bytes);
}
cudaError_t cudaFree(void *p);
void emu_name(const void *p, const char *name); ///< what reports call an allocation
cudaError_t cudaMemcpy(void *d, const void *s, size_t bytes, cudaMemcpyKind);
cudaError_t cudaMemset(void *d, int v, size_t bytes);
cudaError_t cudaGetDevice(int *d);
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int device);
cudaError_t cudaSetDevice(int d);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaGetLastError();
inline cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind k,
                                   cudaStream_t = nullptr) {
  return cudaMemcpy(d, s, n, k);
}
inline cudaError_t cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t = nullptr) {
  return cudaMemset(d, v, n);
}
inline cudaError_t cudaStreamCreate(cudaStream_t *s) { return *s = nullptr, cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
// Launches are over when they return, so an event is a moment of the host's clock.
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t = nullptr);
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
const char *cudaGetErrorString(cudaError_t);
namespace emu {
void allow(const void *kernel, cudaFuncAttribute what, int value); // of its launches
cudaError_t launch_error(const Launch &l);                         // why a GPU would not take it
} // namespace emu
template <class F> cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute what, int value) {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (what == cudaFuncAttributeMaxDynamicSharedMemorySize && value > most)
    return cudaErrorInvalidValue;
  return emu::allow(reinterpret_cast<const void *>(kernel), what, value), cudaSuccess;
}
template <class F> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F *) {
  *a = {0, 1024};
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F *, int, size_t) {
  return *n = 1, cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxActiveClusters(int *n, F *, const cudaLaunchConfig_t *c) {
  unsigned size = 1;
  for (unsigned i = 0; i < c->numAttrs; ++i)
    if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
      size = c->attrs[i].val.clusterDim.x * c->attrs[i].val.clusterDim.y *
             c->attrs[i].val.clusterDim.z;
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  return *n = std::max(1, sms / int(size)), cudaSuccess;
}
cudaError_t emu_launch(const cudaLaunchConfig_t *c, const void *kernel,
                       const std::function<void()> &body);
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...), A &&...args) {
  const std::tuple<std::decay_t<P>...> kept(std::forward<A>(args)...);
  return emu_launch(c, reinterpret_cast<const void *>(kernel), [&] {
    std::apply([&](const auto &...a) { emu::call_kernel(kernel, a...); }, kept);
  });
}
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
enum { cudaEnableDefault = 0 };
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *found = nullptr);
