// Numbers as the interpreter holds them, and as they lie in memory.
#pragma once

#include "support/DType.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tlc::interpret {

/// One scalar: `i` of integers and bools (extended to 64 bits as the dtype says), `f` of floats
/// (exact).
union Value {
  std::int64_t i;
  double f;
};

/// `value` rounded to the nearest of the dtype, as support/DType.h says, but fast for 16 and 32
/// bits.
double roundTo(DType dtype, double value);

/// How one element of a dtype is read and written. `bit`: where a narrow element starts in its byte
/// (0 for whole bytes). Stored floats are rounded by encoding them.
struct Codec {
  Value (*load)(const std::byte *from, unsigned bit);
  void (*store)(std::byte *to, unsigned bit, Value value);
  unsigned bits;
};
const Codec &codec(Scalar scalar);

/// Values of float16, by bit pattern.
const float *halfTable();

inline double loadFloat32(const std::byte *from) {
  float value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Converts a value between dtypes as semantics.md §1 says.
Value convert(DType from, DType to, Value value, bool saturate);
/// With the usual saturation of the target.
Value convert(DType from, DType to, Value value);

/// Whether the two are the same bits of the dtype (NaN equals NaN).
bool sameValue(DType dtype, Value a, Value b);

} // namespace tlc::interpret
