// Sums of a tile whose products the blocks of a cluster share: each has summed up a part of them.
//
// The columns of the tile are `Pieces` pieces; of 2^shift blocks, block p mod 2^shift gets piece p.
// A thread holds `Registers` sums, in `Runs` runs in each of which the pieces follow each other;
// what it has for another block it gives to the thread of its own number there, so it does not
// matter how the tile is spread over threads. Those are the first `Threads` of the block.
#pragma once
#include "../gpu/copy.h"
#include "cluster.cuh"

namespace tlc {

//@ send_sums
// Writes what others get of the sums to their `inbox`, 16 bytes at a time. A barrier of the cluster
// follows, and then add_sums. Nothing else lies in the inbox, of Threads * Registers * (1 - 1 /
// Pieces) elements: some blocks may still multiply.
template <int Pieces, int Runs, int Registers, int Threads, class T>
TLC_DEVICE void send_sums(T *inbox, const T *sums, int thread, int rank, int shift TLC_AT) {
  constexpr int Run = Registers / Runs, Part = Run / Pieces, Share = Registers / Pieces;
  static_assert(sizeof(T) == 4 && Part % 4 == 0, "pieces are whole vectors of 16 bytes");
#pragma unroll
  for (int p = 0; p < Pieces; ++p) {
    const int owner = p & ((1 << shift) - 1);
    if (owner == rank)
      continue;
    const int sender = rank - (owner < rank), slot = sender * (Pieces >> shift) + (p >> shift);
    T *const to = inbox + (slot * (Share / 4) * Threads + thread) * 4;
#pragma unroll
    for (int m = 0; m < Runs; ++m) {
#pragma unroll
      for (int i = 0; i < Part; i += 4)
        st_cluster<16>(to + (m * Part + i) * Threads, owner,
                       &sums[m * Run + p * Part + i] TLC_HERE);
    }
  }
}

//@ add_sums
// Adds what the other blocks sent to the pieces that this one has, always in the same order. Its
// sums of the other pieces stay partial.
template <int Pieces, int Runs, int Registers, int Threads, class T>
TLC_DEVICE void add_sums(T *sums, const T *inbox, int thread, int rank, int shift) {
  constexpr int Run = Registers / Runs, Part = Run / Pieces, Share = Registers / Pieces;
  const int others = (1 << shift) - 1;
#pragma unroll
  for (int p = 0; p < Pieces; ++p) {
    if ((p & others) != rank)
      continue;
    for (int sender = 0; sender < others; ++sender) {
      const int slot = sender * (Pieces >> shift) + (p >> shift);
      const T *const from = inbox + (slot * (Share / 4) * Threads + thread) * 4;
#pragma unroll
      for (int m = 0; m < Runs; ++m) {
#pragma unroll
        for (int i = 0; i < Part; i += 4) {
          alignas(16) T got[4];
          copy<16>(got, from + (m * Part + i) * Threads);
#pragma unroll
          for (int e = 0; e < 4; ++e)
            sums[m * Run + p * Part + i + e] += got[e];
        }
      }
    }
  }
}

//@ end
} // namespace tlc
