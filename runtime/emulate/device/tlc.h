// Included before every emitted file: the runtime's device functions under their own names. What is
// plain C++ comes from the real files; what is PTX, or orders memory, from the files beside this
// one.
#pragma once

#define TLC_EMULATE 1
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define TLC_AT , ::emu::Site emu_site = {}
#define TLC_HERE , emu_site

// Emitted files open an anonymous namespace around namespace tlc; two different ones would be
// ambiguous. Those that include the runtime (tools/emulate.sh defines the macro for them) do not.
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

#include "../../cuda/base.cuh"
// The dynamic shared memory of a kernel: the only way in which emitted text names shared memory.
#undef TLC_DYNAMIC_SHARED
#include "tiles.h"

#include "../../cuda/bfloat16.cuh"
#include "../../cuda/convert.cuh"
#include "../../cuda/debug.cuh"
#include "../../cuda/half.cuh"
#include "../../cuda/math.cuh"
#include "../../cuda/warp.cuh"
#include "async.h"
#include "atomic.h"
#include "barrier.h"
#include "cluster.h"
#include "copy.h"
#include "descriptor.h"

#include "../../cuda/cluster_sum.cuh"
#include "matrix.h"
#include "mbarrier.h"
#include "packed.h"
#include "sparse.h"
#include "tma.h"
#include "wgmma.h"
EMU_CLOSE
