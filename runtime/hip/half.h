// float16: rounds to nearest even after every operation, overflows to infinity.
#pragma once

#include "base.h"

#include <hip/hip_fp16.h>

namespace tlc {

//@ half
TLC_DEVICE float to_float(__half x) { return __half2float(x); }

//@ to_half
TLC_DEVICE __half to_half(float x) { return __float2half_rn(x); }

// A float has more than twice the bits, so rounding twice gives what rounding once does.
//@ add_half
TLC_DEVICE __half add(__half a, __half b) { return to_half(to_float(a) + to_float(b)); }

//@ sub_half
TLC_DEVICE __half sub(__half a, __half b) { return to_half(to_float(a) - to_float(b)); }

//@ mul_half
TLC_DEVICE __half mul(__half a, __half b) { return to_half(to_float(a) * to_float(b)); }

//@ end
} // namespace tlc
