#pragma once
#include "hip_runtime.h"

#include "../cuda_bf16.h"
using hip_bfloat16 = __nv_bfloat16;
