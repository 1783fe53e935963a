// Exchanges between the lanes of a wave, 64 or 32. All live lanes of the wave reach a call
// together.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/hip/wave.h stands for it
#include "base.h"

namespace tlc {

//@ wave_size
TLC_DEVICE constexpr int wave_size() { return TLC_WAVE; }

//@ wave_lane
// Of this thread in its wave.
TLC_DEVICE int wave_lane() {
  return int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u))) % TLC_WAVE;
}

//@ wave_sync
// Orders what the lanes did to shared memory before against what they do after; code that counts on
// the lanes of a wave going on together needs it.
TLC_DEVICE void wave_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

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

//@ lane_permute
// The value of lane `lane` of the wave.
template <class T> TLC_DEVICE T lane_permute(T value, int lane TLC_AT) {
  return shuffle_words(value, [&](uint32_t word) {
    return uint32_t(__builtin_amdgcn_ds_bpermute(lane * 4, int(word)));
  });
}

//@ shfl
// The value of lane `lane` of each group of `width` lanes.
template <class T> TLC_DEVICE T shfl(T value, int lane, int width = TLC_WAVE TLC_AT) {
  return lane_permute(value, wave_lane() / width * width + lane % width TLC_HERE);
}

//@ shfl_xor
// The value of the lane whose number differs in the bits of `bits`.
template <class T> TLC_DEVICE T shfl_xor(T value, int bits TLC_AT) {
  return lane_permute(value, wave_lane() ^ bits TLC_HERE);
}

//@ shfl_up
// The value of the lane `delta` before; the own value where there is none.
template <class T> TLC_DEVICE T shfl_up(T value, int delta, int width = TLC_WAVE TLC_AT) {
  const int lane = wave_lane();
  return lane_permute(value, lane % width >= delta ? lane - delta : lane TLC_HERE);
}

//@ shfl_down
// The value of the lane `delta` further on; the own value where there is none.
template <class T> TLC_DEVICE T shfl_down(T value, int delta, int width = TLC_WAVE TLC_AT) {
  const int lane = wave_lane();
  return lane_permute(value, lane % width + delta < width ? lane + delta : lane TLC_HERE);
}

//@ dpp
// A move within rows of 16 lanes, as v_mov_b32_dpp with this control does it: 0xb1 swaps
// neighbours, 0x4e pairs, 0x141 mirrors halves of a row, 0x140 rows, 0x110 + n comes from n lanes
// before. Where there is no source, or the row is not in Rows, it gives `old`.
template <int Control, int Rows = 15, int Banks = 15, class T>
TLC_DEVICE T dpp(T old, T value TLC_AT) {
  static_assert(sizeof(T) == 4, "dpp moves 32-bit values");
  return bit_cast<T>(__builtin_amdgcn_update_dpp(bit_cast<int>(old), bit_cast<int>(value), Control,
                                                 Rows, Banks, false));
}

//@ read_lane
// The value of one lane, in all; `lane` is the same for all.
template <class T> TLC_DEVICE T read_lane(T value, int lane TLC_AT) {
  return shuffle_words(
      value, [&](uint32_t word) { return uint32_t(__builtin_amdgcn_readlane(int(word), lane)); });
}

//@ read_first_lane
template <class T> TLC_DEVICE T read_first_lane(T value TLC_AT) {
  return shuffle_words(
      value, [&](uint32_t word) { return uint32_t(__builtin_amdgcn_readfirstlane(int(word))); });
}

//@ ballot
// Bit i: the value of lane i.
TLC_DEVICE uint64_t ballot(bool value TLC_AT) { return __ballot(value); }

//@ any
TLC_DEVICE bool any(bool value TLC_AT) { return __any(value) != 0; }

//@ all
TLC_DEVICE bool all(bool value TLC_AT) { return __all(value) != 0; }

//@ end
} // namespace tlc
#endif
