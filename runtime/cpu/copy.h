// Moves of runs of elements.
#pragma once

#include "base.h"

namespace tlc {

//@ copy
template <int Bytes> inline void copy(void *to, const void *from) { memcpy(to, from, Bytes); }

//@ copy_or_zero
// As copy where `valid`; else the target is zeroed and nothing is read.
template <int Bytes> inline void copy_or_zero(void *to, const void *from, bool valid) {
  if (valid)
    memcpy(to, from, Bytes);
  else
    memset(to, 0, Bytes);
}

//@ copy_elements
template <int N, class T> inline void copy_elements(T *to, const T *from) {
  memcpy(to, from, sizeof(T) * N);
}

//@ fill_elements
template <int N, class T> inline void fill_elements(T *to, T value) {
  for (int i = 0; i < N; ++i)
    to[i] = value;
}

//@ load_vec
template <int N, class T> inline vec<T, N> load_vec(const T *from) {
  vec<T, N> value;
  memcpy(&value, from, sizeof value);
  return value;
}

//@ store_vec
template <class T, int N> inline void store_vec(T *to, const vec<T, N> &value) {
  memcpy(to, &value, sizeof value);
}

//@ end
} // namespace tlc
