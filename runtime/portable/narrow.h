// Floats of 8 bits and less: stored as patterns, computed in float.
#pragma once

#include "base.h"

namespace tlc {

//@ small_float
// What the largest exponent of a small float means.
enum class specials {
  ieee,     // infinities and NaNs
  nan_only, // one NaN, no infinity
  fnuz,     // NaN in place of minus zero, no infinity
  none      // finite values only
};
// Enumerators, because compilers say of unused constants that they are unused.
template <int Exponent, int Mantissa, specials Specials> struct small_float {
  enum : bool { has_infinity = Specials == specials::ieee, is_fnuz = Specials == specials::fnuz };
  enum : int { mantissa = Mantissa, bias = (1 << (Exponent - 1)) - (is_fnuz ? 0 : 1) };
  enum : uint32_t {
    sign = 1u << (Exponent + Mantissa),
    largest = has_infinity                     ? (((1u << Exponent) - 1) << Mantissa) - 1
              : Specials == specials::nan_only ? (1u << (Exponent + Mantissa)) - 2
                                               : (1u << (Exponent + Mantissa)) - 1,
    // All ones, as GPUs write it; without NaNs that is the largest value.
    nan = is_fnuz ? 1u << (Exponent + Mantissa) : (1u << (Exponent + Mantissa)) - 1
  };
};

//@ small_encode
// The nearest pattern, ties to even. Too large: infinity if there is one and Saturate is false,
// else the largest finite value.
template <class Format, bool Saturate> TLC_FN uint8_t small_encode(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint8_t(Format::nan);
  constexpr int lowest = 1 - int(Format::bias); // exponent of the smallest normal value
  const int field = int(magnitude >> 23), exponent = field == 0 ? -126 : field - 127;
  const uint32_t significand = (magnitude & 0x7fffff) | (field == 0 ? 0u : 1u << 23);
  const int shift = 23 - int(Format::mantissa) + (exponent < lowest ? lowest - exponent : 0);
  uint32_t pattern = 0;
  if (shift < 26) {
    const uint32_t rest = significand & ((1u << shift) - 1), tie = 1u << (shift - 1);
    pattern = significand >> shift;
    pattern += rest > tie || (rest == tie && (pattern & 1)) ? 1 : 0;
  }
  if (exponent > lowest)
    pattern += uint32_t(exponent - lowest) << int(Format::mantissa);
  if (pattern > uint32_t(Format::largest))
    pattern = uint32_t(Format::largest) + (Format::has_infinity && !Saturate ? 1u : 0u);
  const bool negative = bits >> 31 && !(Format::is_fnuz && pattern == 0);
  return uint8_t(pattern | (negative ? uint32_t(Format::sign) : 0u));
}

//@ small_decode
// The value of a pattern.
template <class Format> TLC_FN float small_decode(uint8_t pattern) {
  const uint32_t magnitude = pattern & (uint32_t(Format::sign) - 1);
  const bool negative = (pattern & uint32_t(Format::sign)) != 0;
  const bool infinity = Format::has_infinity && magnitude == uint32_t(Format::largest) + 1;
  float value;
  if (magnitude > uint32_t(Format::largest))
    value = bit_cast<float>(infinity ? 0x7f800000u : 0x7fc00000u);
  else if (Format::is_fnuz && negative && magnitude == 0)
    value = bit_cast<float>(0x7fc00000u);
  else if (magnitude >> int(Format::mantissa) ==
           0) // no hidden bit: a multiple of the smallest value
    value = float(magnitude) *
            bit_cast<float>(uint32_t(128 - int(Format::bias) - int(Format::mantissa)) << 23);
  else
    value = bit_cast<float>((magnitude << (23 - int(Format::mantissa))) +
                            (uint32_t(127 - int(Format::bias)) << 23));
  return negative ? -value : value;
}

//@ float8_e4m3 float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0 float4_e2m1
// Storage of small floats. 4-bit ones lie in pairs (see get_uint4).
struct float8_e4m3 {
  uint8_t bits;
};
struct float8_e5m2 {
  uint8_t bits;
};
struct float8_e4m3fnuz {
  uint8_t bits;
};
struct float8_e5m2fnuz {
  uint8_t bits;
};
struct float8_e8m0 {
  uint8_t bits;
};
struct float4_e2m1 {
  uint8_t bits;
};

//@ end
} // namespace tlc
