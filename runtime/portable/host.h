// What every launcher needs: the text of the last error, and checked sizes.
#pragma once

#include "../tlc.h"
#include "base.h"

#include <cstdarg>
#include <cstdio>

namespace tlc {

//@ last_error last_native_error
// Of the calling thread.
static thread_local char last_error[256] = "";
static thread_local int last_native_error = 0;

//@ fail
// Keeps a message for _last_error; returns `status`.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
inline tlc_status fail(tlc_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

//@ product
// The product of sizes; -1 if it does not fit, so that no later check takes it for a size.
inline int64_t product(std::initializer_list<int64_t> sizes) {
  uint64_t all = 1;
  for (int64_t size : sizes) {
    if (size == 0)
      return 0;
    if (size < 0 || all > uint64_t(INT64_MAX) / uint64_t(size))
      all = 0;
    all *= uint64_t(size);
  }
  return all == 0 ? -1 : int64_t(all);
}

//@ is_aligned
inline bool is_aligned(const void *pointer, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

//@ end
} // namespace tlc
