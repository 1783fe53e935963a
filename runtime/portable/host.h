// What every launcher needs: the text of the last error, and checked sizes.
#pragma once

#include "../tlc.h"
#include "base.h"

#include <cstdarg>
#include <cstdio>
#include <initializer_list>

namespace tlc {

//@ last_error last_native_error
// Of the calling thread.
[[maybe_unused]] static thread_local char last_error[256] = "";
[[maybe_unused]] static thread_local int last_native_error = 0;

//@ fail
// Keeps a message for _last_error; returns `status`.
TLC_HOST tlc_status fail(tlc_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

//@ product
// The product of sizes; -1 if one is negative or it does not fit.
TLC_HOST int64_t product(std::initializer_list<int64_t> sizes) {
  uint64_t all = 1;
  for (int64_t size : sizes)
    if (size == 0)
      all = 0;
  for (int64_t size : sizes) {
    if (size < 0 || (size > 0 && all > uint64_t(INT64_MAX) / uint64_t(size)))
      return -1;
    all *= uint64_t(size);
  }
  return int64_t(all);
}

//@ check_size
// A run-time size or stride, at most `largest`.
TLC_HOST tlc_status check_size(const char *function, const char *name, int64_t size,
                             int64_t largest) {
  if (size >= 0 && size <= largest)
    return TLC_OK;
  return fail(TLC_ERR_SHAPE, "%s: %s = %lld must lie between 0 and %lld", function, name,
              (long long)size, (long long)largest);
}

//@ check_pointer
// A tensor may be null only if it is empty.
TLC_HOST tlc_status check_pointer(const char *function, const char *name, const void *pointer,
                                std::initializer_list<int64_t> shape) {
  if (pointer != nullptr)
    return TLC_OK;
  for (int64_t size : shape)
    if (size == 0)
      return TLC_OK;
  return fail(TLC_ERR_ARGUMENT, "%s: %s is a null pointer", function, name);
}

//@ check_tensor
// Besides: its size in bits fits 63 bits, its address is a multiple of `alignment` bytes.
TLC_HOST tlc_status check_tensor(const char *function, const char *name, const void *pointer,
                               std::initializer_list<int64_t> shape, int bits, int alignment) {
  const int64_t elements = product(shape);
  if (elements < 0 || product({elements, bits}) < 0)
    return fail(TLC_ERR_SHAPE, "%s: the size of %s does not fit 64 bits", function, name);
  if (reinterpret_cast<uintptr_t>(pointer) % uintptr_t(alignment) != 0)
    return fail(TLC_ERR_ALIGNMENT, "%s: %s is not aligned to %d bytes", function, name, alignment);
  return check_pointer(function, name, pointer, shape);
}

//@ check_workspace
TLC_HOST tlc_status check_workspace(const char *function, const void *workspace, size_t given,
                                  int64_t needed) {
  if (needed == 0)
    return TLC_OK;
  if (workspace == nullptr || int64_t(given) < needed)
    return fail(TLC_ERR_WORKSPACE, "%s: needs %lld bytes of workspace, got %llu", function,
                (long long)needed, workspace == nullptr ? 0ull : (unsigned long long)given);
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return fail(TLC_ERR_WORKSPACE, "%s: the workspace is not aligned to 256 bytes", function);
  return TLC_OK;
}

//@ usable_bytes
// Of a workspace that callers may leave out: none of one that is not there, or not at a multiple of
// 256 bytes.
TLC_HOST int64_t usable_bytes(const void *workspace, size_t bytes) {
  return workspace == nullptr || reinterpret_cast<uintptr_t>(workspace) % 256 != 0 ? 0
                                                                                   : int64_t(bytes);
}

//@ launch_plan
// The grids of a function's launches, and where the parts of its workspace begin.
template <int Launches, int Parts> struct launch_plan {
  int64_t grid[Launches][3];
  int64_t part[Parts];
  int64_t workspace; // bytes in all
};

//@ add_part
// Places `bytes` more of workspace at the next multiple of 256; gives its offset.
TLC_HOST int64_t add_part(int64_t *workspace, int64_t bytes) {
  const int64_t offset = (*workspace + 255) / 256 * 256;
  *workspace = offset + bytes;
  return offset;
}

//@ check_grid
TLC_HOST tlc_status check_grid(const char *function, const int64_t (&grid)[3], int64_t largest_x,
                             int64_t largest) {
  if (grid[0] <= largest_x && grid[1] <= largest && grid[2] <= largest)
    return TLC_OK;
  return fail(TLC_ERR_SHAPE, "%s: a grid of %lld x %lld x %lld blocks is too large", function,
              (long long)grid[0], (long long)grid[1], (long long)grid[2]);
}

//@ end
} // namespace tlc
