// Qualifiers, the shared arena, and the location that the emulator hands to its reports.
#pragma once

#include "../portable/base.h"

#include <cuda_runtime.h>

//@ TLC_DEVICE
#define TLC_DEVICE __device__ __forceinline__

//@ TLC_AT TLC_HERE
// Where a collective was called: a defaulted parameter under the emulator, nothing on a device.
#ifndef TLC_AT
#define TLC_AT
#define TLC_HERE
#endif

//@ TLC_DYNAMIC_SHARED
// The dynamic shared memory of the launch: all shared buffers of a kernel lie in it.
#define TLC_DYNAMIC_SHARED(type, name, alignment)                                                  \
  extern __shared__ __align__(alignment) unsigned char tlc_arena[];                                \
  type *const name = reinterpret_cast<type *>(tlc_arena)

//@ end
