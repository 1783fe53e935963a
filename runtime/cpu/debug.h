// Messages from a kernel.
#pragma once

#include "base.h"

#include <cstdio>
#include <cstdlib>

namespace tlc {

//@ check
// Ends the process if a condition that the program asserts does not hold.
TLC_FN void check(bool holds, const char *message) {
  if (!holds) {
    fprintf(stderr, "%s\n", message);
    abort();
  }
}

//@ print_value
template <class T> inline void print_value(const char *message, T value) {
  if constexpr (T(0.5) != T(0))
    printf("%s%g\n", message, double(value));
  else if constexpr (T(0) - T(1) > T(0))
    printf("%s%llu\n", message, (unsigned long long)value);
  else
    printf("%s%lld\n", message, (long long)value);
}

//@ print_text
TLC_FN void print_text(const char *message) { printf("%s\n", message); }

//@ print_element
template <class T> inline void print_element(const char *name, int64_t index, T value) {
  if constexpr (T(0.5) != T(0))
    printf("%s[%lld] = %g\n", name, (long long)index, double(value));
  else if constexpr (T(0) - T(1) > T(0))
    printf("%s[%lld] = %llu\n", name, (long long)index, (unsigned long long)value);
  else
    printf("%s[%lld] = %lld\n", name, (long long)index, (long long)value);
}

//@ end
} // namespace tlc
