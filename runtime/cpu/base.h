// Spellings that compilers differ in.
#pragma once

#include "../portable/base.h"

#include <cmath>

//@ TLC_RESTRICT
#if defined(__GNUC__)
#define TLC_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define TLC_RESTRICT __restrict
#else
#define TLC_RESTRICT
#endif

//@ TLC_INLINE
// Functions that become part of their callers whatever the compiler thinks of it.
#if defined(__GNUC__)
#define TLC_INLINE __attribute__((always_inline)) inline
#else
#define TLC_INLINE inline
#endif

//@ TLC_UNROLL
#define TLC_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TLC_UNROLL(n) TLC_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define TLC_UNROLL(n) TLC_PRAGMA(GCC unroll n)
#else
#define TLC_UNROLL(n)
#endif

//@ TLC_INDEPENDENT
// The iterations of the loop that follows touch different memory.
#if defined(__GNUC__) && !defined(__clang__)
#define TLC_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TLC_INDEPENDENT
#endif

namespace tlc {

//@ narrow_once
// A double as a float from which a second rounding cannot go wrong: the last digit stands for all that
// is lost.
TLC_FN float narrow_once(double x) {
  const float near = float(x);
  if (double(near) == x || near != near || near - near != 0)
    return near;
  const float toward = std::fabs(double(near)) > std::fabs(x) ? std::nextafterf(near, 0.0f) : near;
  return bit_cast<float>(bit_cast<uint32_t>(toward) | 1u);
}

//@ end
} // namespace tlc
