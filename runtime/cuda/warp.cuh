// Exchanges between the lanes of a warp. All lanes of `mask` reach a call together.
#pragma once

#include "math.cuh"

namespace tlc {

//@ shuffle_words
// Applies an exchange of 32-bit words to a value of any size.
template <class T, class Exchange> TLC_DEVICE T shuffle_words(const T &value, Exchange exchange) {
  constexpr int count = int(sizeof(T) + 3) / 4;
  uint32_t word[count] = {};
  memcpy(word, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < count; ++i)
    word[i] = exchange(word[i]);
  T result;
  memcpy(&result, word, sizeof(T));
  return result;
}

//@ shfl
// The value of lane `lane` of each group of `width` lanes.
template <class T>
TLC_DEVICE T shfl(T value, int lane, int width = 32, uint32_t mask = 0xffffffff TLC_AT) {
  return shuffle_words(
      value, [&](uint32_t word) { return __shfl_sync(mask, word, lane, width TLC_HERE); });
}

//@ shfl_xor
// The value of the lane whose number differs in the bits of `bits`.
template <class T>
TLC_DEVICE T shfl_xor(T value, int bits, int width = 32, uint32_t mask = 0xffffffff TLC_AT) {
  return shuffle_words(
      value, [&](uint32_t word) { return __shfl_xor_sync(mask, word, bits, width TLC_HERE); });
}

//@ shfl_down
// The value of the lane `delta` further on; the own value where there is none.
template <class T>
TLC_DEVICE T shfl_down(T value, int delta, int width = 32, uint32_t mask = 0xffffffff TLC_AT) {
  return shuffle_words(value, [&](uint32_t word) {
    return __shfl_down_sync(mask, word, unsigned(delta), width TLC_HERE);
  });
}

//@ shfl_up
// The value of the lane `delta` before; the own value where there is none.
template <class T>
TLC_DEVICE T shfl_up(T value, int delta, int width = 32, uint32_t mask = 0xffffffff TLC_AT) {
  return shuffle_words(value, [&](uint32_t word) {
    return __shfl_up_sync(mask, word, unsigned(delta), width TLC_HERE);
  });
}

//@ any
TLC_DEVICE bool any(bool value, uint32_t mask = 0xffffffff TLC_AT) {
  return __any_sync(mask, value TLC_HERE) != 0;
}

//@ all
TLC_DEVICE bool all(bool value, uint32_t mask = 0xffffffff TLC_AT) {
  return __all_sync(mask, value TLC_HERE) != 0;
}

//@ ballot
// Bit i: the value of lane i.
TLC_DEVICE uint32_t ballot(bool value, uint32_t mask = 0xffffffff TLC_AT) {
  return __ballot_sync(mask, value TLC_HERE);
}

//@ match_any
// The lanes that hold the same value.
template <class T> TLC_DEVICE uint32_t match_any(T value, uint32_t mask = 0xffffffff TLC_AT) {
  return __match_any_sync(mask, value TLC_HERE);
}

//@ match_all
// `mask` if all its lanes hold the same value, else 0.
template <class T> TLC_DEVICE uint32_t match_all(T value, uint32_t mask = 0xffffffff TLC_AT) {
  int all;
  return __match_all_sync(mask, value, &all TLC_HERE);
}

//@ active_mask
TLC_DEVICE uint32_t active_mask() { return __activemask(); }

//@ find_nth_set
// The place of the n-th set bit of a mask counted from bit `base` (n > 0: upwards, from 1); -1 if there
// is none.
TLC_DEVICE int find_nth_set(uint32_t mask, int base, int n) {
  return int(__fns(mask, unsigned(base), n));
}

//@ warp_reduce_sum
// The sum over each group of `Width` lanes, in all of them.
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_sum(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value = plus(value, shfl_xor(value, bits, 32, 0xffffffff TLC_HERE));
  return value;
}

//@ warp_reduce_max
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_max(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value = max(value, shfl_xor(value, bits, 32, 0xffffffff TLC_HERE));
  return value;
}

//@ warp_reduce_min
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_min(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value = min(value, shfl_xor(value, bits, 32, 0xffffffff TLC_HERE));
  return value;
}

//@ warp_reduce_and
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_and(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value &= shfl_xor(value, bits, 32, 0xffffffff TLC_HERE);
  return value;
}

//@ warp_reduce_or
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_or(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value |= shfl_xor(value, bits, 32, 0xffffffff TLC_HERE);
  return value;
}

//@ end
} // namespace tlc
