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

//@ TLC_UNROLL
#define TLC_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TLC_UNROLL(n) TLC_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define TLC_UNROLL(n) TLC_PRAGMA(GCC unroll n)
#else
#define TLC_UNROLL(n)
#endif

//@ TLC_DEVICE
#define TLC_DEVICE inline

//@ end
