// Messages from a kernel.
#pragma once

#include "base.h"

#include <cstdio>
#include <cstdlib>

namespace tlc {

//@ check
// Ends the process if a condition that the program asserts does not hold.
inline void check(bool holds, const char *message) {
  if (!holds) {
    fprintf(stderr, "%s\n", message);
    abort();
  }
}

//@ print_value
inline void print_value(const char *message, int64_t value) {
  printf("%s%lld\n", message, (long long)value);
}
inline void print_value(const char *message, uint64_t value) {
  printf("%s%llu\n", message, (unsigned long long)value);
}
inline void print_value(const char *message, double value) { printf("%s%g\n", message, value); }

//@ print_text
inline void print_text(const char *message) { printf("%s\n", message); }

//@ print_element
inline void print_element(const char *name, int64_t index, double value) {
  printf("%s[%lld] = %g\n", name, (long long)index, value);
}

//@ end
} // namespace tlc
