// Integer arithmetic that C++ lacks.
#pragma once

#include "base.h"

namespace tlc {

//@ floor_div
// Quotient rounded towards minus infinity; signed types.
template <class T> TLC_FN T floor_div(T a, T b) {
  const T quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

//@ floor_mod
// Remainder with the sign of the divisor; signed types.
template <class T> TLC_FN T floor_mod(T a, T b) {
  const T remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

//@ float_to_int
// Truncates; out of range gives the nearest integer there is, NaN gives 0.
template <class Int, class Float> TLC_FN Int float_to_int(Float x) {
  constexpr bool is_signed = Int(Int(0) - 1) < Int(1);
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Int) == 4 && sizeof(Float) == 4) // the instruction does just this
    return is_signed ? Int(__float2int_rz(x)) : Int(__float2uint_rz(x));
#endif
  constexpr int bits = int(sizeof(Int)) * 8 - (is_signed ? 1 : 0);
  constexpr Int largest = Int(~uint64_t(0) >> (64 - bits));
  const Float limit = Float(uint64_t(1) << (bits - 1)) * Float(2);
  if (x != x)
    return Int(0);
  if (x >= limit)
    return largest;
  if (is_signed ? x < -limit : x <= Float(-1))
    return is_signed ? Int(-largest - 1) : Int(0);
  return Int(x);
}

//@ wrap_int4
// The low 4 bits as a number.
TLC_FN int8_t wrap_int4(int value) { return int8_t(((value & 15) ^ 8) - 8); }

//@ wrap_uint4
TLC_FN uint8_t wrap_uint4(int value) { return uint8_t(value & 15); }

//@ float_to_int4
template <class Float> TLC_FN int8_t float_to_int4(Float x) {
  const int value = float_to_int<int>(x);
  return int8_t(value < -8 ? -8 : value > 7 ? 7 : value);
}

//@ float_to_uint4
template <class Float> TLC_FN uint8_t float_to_uint4(Float x) {
  const int value = float_to_int<int>(x);
  return uint8_t(value < 0 ? 0 : value > 15 ? 15 : value);
}

//@ end
} // namespace tlc
