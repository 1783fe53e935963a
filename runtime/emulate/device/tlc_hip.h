// Included before every emitted .hip: the runtime's functions for AMD's devices under their own
// names, as tlc.h is for CUDA.
#pragma once

#define TLC_EMULATE 1
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#define TLC_AT , ::emu::Site emu_site = {}
#define TLC_HERE , emu_site
#define TLC_WAVE ::emu::lanes_of_warp()
#define TLC_KERNEL(kernel) ::emu::remember(kernel)
#include "tiles.h"

#ifdef EMU_RUNTIME_INCLUDED
#define EMU_OPEN
#define EMU_CLOSE
#else
#define EMU_OPEN namespace {
#define EMU_CLOSE }
#endif
EMU_OPEN
#include "../../portable/base.h"
#include "../../portable/integer.h"
#include "../../portable/narrow.h"

#include "../../hip/base.h"
#include "../../hip/half.h"
namespace tlc {
TLC_DEVICE uint64_t whole_wave() {
  return ::emu::lanes_of_warp() == 64 ? ~uint64_t(0) : uint64_t(0xffffffff);
}
} // namespace tlc

#include "atomic.h"
#include "copy.h"
#include "hip/barrier.h"
#include "hip/matrix.h"
#include "hip/memory.h"
#include "hip/wave.h"
#include "packed.h"
EMU_CLOSE
