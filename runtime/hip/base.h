// Qualifiers, the shared arena, kernels by address, and the location that the emulator hands to its
// reports.
#pragma once

// First, because it declares memcpy for the device.
#include <hip/hip_runtime.h>

#include "../portable/base.h"

//@ TLC_DEVICE
#define TLC_DEVICE [[maybe_unused]] __device__ __forceinline__

//@ TLC_AT TLC_HERE
// Where a collective was called: a defaulted parameter under the emulator, nothing on a device.
#ifndef TLC_AT
#define TLC_AT
#define TLC_HERE
#endif

//@ TLC_DYNAMIC_SHARED
// The dynamic shared memory of the launch: all shared buffers of a kernel lie in it.
#ifndef TLC_DYNAMIC_SHARED
#define TLC_DYNAMIC_SHARED(type, name, alignment)                                                  \
  extern __shared__ __attribute__((aligned(alignment))) unsigned char tlc_arena[];                 \
  type *const name = reinterpret_cast<type *>(tlc_arena)
#endif

//@ TLC_WAVE
// Lanes of a wave. (The host's pass of a compiler does not know the device.)
#ifndef TLC_WAVE
#ifdef __AMDGCN_WAVEFRONT_SIZE
#define TLC_WAVE __AMDGCN_WAVEFRONT_SIZE
#else
#define TLC_WAVE 64
#endif
#endif

//@ TLC_KERNEL
// What a launch calls a kernel. (The emulator keeps how to call it.)
#ifndef TLC_KERNEL
#define TLC_KERNEL(kernel) reinterpret_cast<const void *>(kernel)
#endif
