// What every other runtime file stands on. TLC_FN: a function for host and device alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

//@ TLC_FN
#ifdef __CUDACC__
#define TLC_FN [[maybe_unused]] __host__ __device__ __forceinline__
#elif defined(__HIP__)
#define TLC_FN [[maybe_unused]] __host__ __device__ inline
#else
#define TLC_FN [[maybe_unused]] inline
#endif

//@ TLC_HOST
#define TLC_HOST [[maybe_unused]] inline

namespace tlc {

//@ bit_cast
// The same bits read as another type of the same size.
template <class To, class From> TLC_FN To bit_cast(const From &from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

//@ vec
// N elements that are loaded and stored as one.
template <class T, int N> struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) vec {
  T lane[N];
  TLC_FN const T &operator[](int i) const { return lane[i]; }
  TLC_FN T &operator[](int i) { return lane[i]; }
};

//@ splat
// N times the same element.
template <int N, class T> TLC_FN vec<T, N> splat(T value) {
  vec<T, N> all;
  for (int i = 0; i < N; ++i)
    all.lane[i] = value;
  return all;
}

//@ end
} // namespace tlc
