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

#ifndef TLC_EMULATE
#define TLC_EMULATE 1
#endif
#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)
// The dynamic shared memory of a kernel: the only way to name shared memory in emitted text.
#define TLC_DYNAMIC_SHARED(type, name, alignment)                                                  \
  type *const name = static_cast<type *>(::emu::shared_arena(alignment))

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
constexpr int warpSize = 32;

// ---- arithmetic ----
using std::max;
using std::min;
inline int min(int a, unsigned b) { return int(std::min(unsigned(a), b)); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }

// ---- barriers, warps ----
#define EMU_AT ::emu::Site emu_site = {}
inline size_t __cvta_generic_to_shared(const void *p) { return ::emu::to_shared(p); }
inline void __syncthreads(EMU_AT) { ::emu::barrier_sync(0, 0, emu_site); }
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
inline unsigned __activemask() { return ::emu::active_mask(); }
inline void __nanosleep(unsigned) { ::emu::nanosleep(); }
inline void __threadfence_block() { ::emu::fence(::emu::kCta); }
inline void __threadfence() { ::emu::fence(::emu::kGpu); }
inline void __threadfence_system() { ::emu::fence(::emu::kGpu); }

// ---- atomics: CUDA's are relaxed at device scope; the others are runtime functions ----
namespace emu {
template <class T, class F>
__attribute__((no_sanitize("thread"))) inline T atomic_update(T *p, F f, Order o, Scope sc,
                                                              Site s) {
  atomic_begin(p, sizeof(T), true, true, o, sc, s);
  const T old = *p;
  *p = f(old);
  atomic_end(p, sizeof(T), true, o, sc);
  return old;
}
} // namespace emu
template <class T> T atomicAdd(T *p, std::type_identity_t<T> v, EMU_AT) {
  return ::emu::atomic_update(
      p, [=](T o) { return T(o + v); }, ::emu::kRelaxed, ::emu::kGpu, emu_site);
}
template <class T> T atomicMax(T *p, std::type_identity_t<T> v, EMU_AT) {
  return ::emu::atomic_update(
      p, [=](T o) { return o > v ? o : v; }, ::emu::kRelaxed, ::emu::kGpu, emu_site);
}
template <class T> T atomicMin(T *p, std::type_identity_t<T> v, EMU_AT) {
  return ::emu::atomic_update(
      p, [=](T o) { return o < v ? o : v; }, ::emu::kRelaxed, ::emu::kGpu, emu_site);
}
template <class T> T atomicExch(T *p, std::type_identity_t<T> v, EMU_AT) {
  return ::emu::atomic_update(
      p, [=](T) { return v; }, ::emu::kRelaxed, ::emu::kGpu, emu_site);
}
template <class T> T atomicCAS(T *p, std::type_identity_t<T> e, std::type_identity_t<T> v, EMU_AT) {
  return ::emu::atomic_update(
      p, [=](T o) { return o == e ? v : o; }, ::emu::kRelaxed, ::emu::kGpu, emu_site);
}
template <class T>
__attribute__((no_sanitize("thread"))) inline T
tlc_atomic_load(const T *p, ::emu::Order o, ::emu::Scope sc = ::emu::kGpu, EMU_AT) {
  ::emu::atomic_begin(p, sizeof(T), false, true, o, sc, emu_site);
  const T v = *p;
  ::emu::atomic_end(p, sizeof(T), false, o, sc);
  return v;
}
template <class T>
__attribute__((no_sanitize("thread"))) inline void
tlc_atomic_store(T *p, std::type_identity_t<T> v, ::emu::Order o, ::emu::Scope sc = ::emu::kGpu,
                 EMU_AT) {
  ::emu::atomic_begin(p, sizeof(T), true, false, o, sc, emu_site);
  *p = v;
  ::emu::atomic_end(p, sizeof(T), true, o, sc);
}
template <class T>
T tlc_atomic_add(T *p, std::type_identity_t<T> v, ::emu::Order o, ::emu::Scope sc = ::emu::kGpu,
                 EMU_AT) {
  return ::emu::atomic_update(
      p, [=](T x) { return T(x + v); }, o, sc, emu_site);
}
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
  cudaErrorLaunchFailure = 719
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
  cudaDevAttrComputeCapabilityMajor = 75
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
cudaError_t cudaMemcpy(void *d, const void *s, size_t bytes, cudaMemcpyKind);
cudaError_t cudaMemset(void *d, int v, size_t bytes);
cudaError_t cudaGetDevice(int *d);
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
inline cudaError_t cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind k,
                                   cudaStream_t = nullptr) {
  return cudaMemcpy(d, s, n, k);
}
inline cudaError_t cudaMemsetAsync(void *d, int v, size_t n, cudaStream_t = nullptr) {
  return cudaMemset(d, v, n);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t);
template <class F> cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute, int bytes) {
  return bytes <= 232448 ? cudaSuccess : cudaErrorInvalidValue;
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
  return emu_launch(c, reinterpret_cast<const void *>(kernel),
                    [&] { std::apply([&](const auto &...a) { kernel(a...); }, kept); });
}
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
enum { cudaEnableDefault = 0 };
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *found = nullptr);
