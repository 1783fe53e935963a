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

//@ any_sync
TLC_DEVICE bool any_sync(bool value, uint32_t mask = 0xffffffff TLC_AT) {
  return __any_sync(mask, value TLC_HERE) != 0;
}

//@ all_sync
TLC_DEVICE bool all_sync(bool value, uint32_t mask = 0xffffffff TLC_AT) {
  return __all_sync(mask, value TLC_HERE) != 0;
}

//@ ballot_sync
// Bit i: the value of lane i.
TLC_DEVICE uint32_t ballot_sync(bool value, uint32_t mask = 0xffffffff TLC_AT) {
  return __ballot_sync(mask, value TLC_HERE);
}

//@ match_any_sync
// The lanes that hold the same value.
template <class T> TLC_DEVICE uint32_t match_any_sync(T value, uint32_t mask = 0xffffffff TLC_AT) {
  return __match_any_sync(mask, value TLC_HERE);
}

//@ match_all_sync
// `mask` if all its lanes hold the same value, else 0.
template <class T> TLC_DEVICE uint32_t match_all_sync(T value, uint32_t mask = 0xffffffff TLC_AT) {
  int all;
  return __match_all_sync(mask, value, &all TLC_HERE);
}

//@ activemask
TLC_DEVICE uint32_t activemask() { return __activemask(); }

//@ elect_one
// True in one lane of a converged warp.
TLC_DEVICE bool elect_one() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
#else
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32 == 0;
#endif
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

//@ warp_reduce_bitand
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_bitand(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value &= shfl_xor(value, bits, 32, 0xffffffff TLC_HERE);
  return value;
}

//@ warp_reduce_bitor
template <int Width = 32, class T> TLC_DEVICE T warp_reduce_bitor(T value TLC_AT) {
#pragma unroll
  for (int bits = Width / 2; bits > 0; bits /= 2)
    value |= shfl_xor(value, bits, 32, 0xffffffff TLC_HERE);
  return value;
}

//@ end
} // namespace tlc
