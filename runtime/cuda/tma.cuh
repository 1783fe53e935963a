// The tensor memory accelerator (sm_90 and later): copies of boxes of a tensor that a CUtensorMap
// describes, and of plain runs of bytes. One thread issues a copy. Coordinates count elements,
// innermost dimension first. What of a box lies outside the tensor is zero after a load (its bytes
// count on the barrier all the same) and is left out by a store. Shared addresses are multiples of
// 128 bytes, better of the swizzle's repeat (1024, 512 or 256 bytes).
#pragma once

#ifndef TLC_EMULATE // there emulate/device/tma.h stands for it
#include "async.cuh"

#include <cuda.h>

namespace tlc {

//@ tma_prefetch
// Fetches a tensor map before its first use.
TLC_DEVICE void tma_prefetch(const CUtensorMap *map TLC_AT) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

//@ cache_hint
// How long the lines of a copy should stay in the second-level cache.
struct cache_hint {
  uint64_t policy;
};

//@ evict_first
// For data that is used once.
TLC_DEVICE cache_hint evict_first() {
  cache_hint hint;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(hint.policy));
  return hint;
}

//@ evict_last
// For data that other blocks use soon.
TLC_DEVICE cache_hint evict_last() {
  cache_hint hint;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(hint.policy));
  return hint;
}

//@ tma_load_1d
// Loads a box; its bytes arrive on `barrier`.
TLC_DEVICE void tma_load_1d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3}], [%2];" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0)
               : "memory");
}

//@ tma_load_1d_hint : tma_load_1d cache_hint
TLC_DEVICE void tma_load_1d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                            cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3}], [%2], %4;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "l"(hint.policy)
      : "memory");
}

//@ tma_load_2d
// Loads a box; its bytes arrive on `barrier`.
TLC_DEVICE void tma_load_2d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                            int x1 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1)
               : "memory");
}

//@ tma_load_2d_hint : tma_load_2d cache_hint
TLC_DEVICE void tma_load_2d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "l"(hint.policy)
      : "memory");
}

//@ tma_load_3d
// Loads a box; its bytes arrive on `barrier`.
TLC_DEVICE void tma_load_3d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            int x2 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2)
               : "memory");
}

//@ tma_load_3d_hint : tma_load_3d cache_hint
TLC_DEVICE void tma_load_3d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            int x2, cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "l"(hint.policy)
      : "memory");
}

//@ tma_load_4d
// Loads a box; its bytes arrive on `barrier`.
TLC_DEVICE void tma_load_4d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            int x2, int x3 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3)
               : "memory");
}

//@ tma_load_4d_hint : tma_load_4d cache_hint
TLC_DEVICE void tma_load_4d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            int x2, int x3, cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "l"(hint.policy)
      : "memory");
}

//@ tma_load_5d
// Loads a box; its bytes arrive on `barrier`.
TLC_DEVICE void tma_load_5d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            int x2, int x3, int x4 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
               : "memory");
}

//@ tma_load_5d_hint : tma_load_5d cache_hint
TLC_DEVICE void tma_load_5d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0, int x1,
                            int x2, int x3, int x4, cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
      "l"(hint.policy)
      : "memory");
}

//@ tma_load_1d_multicast
// Loads a box to the same place in each block of the set `blocks` (bit: rank in the cluster), and
// its bytes to the barrier of the same place there.
TLC_DEVICE void tma_load_1d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3}], [%2], %4;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "h"(blocks)
               : "memory");
}

//@ tma_load_1d_multicast_hint : tma_load_1d_multicast cache_hint
TLC_DEVICE void tma_load_1d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      uint16_t blocks, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3}], [%2], %4, %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "h"(blocks), "l"(hint.policy)
               : "memory");
}

//@ tma_load_2d_multicast
// Loads a box to the same place in each block of the set `blocks` (bit: rank in the cluster), and
// its bytes to the barrier of the same place there.
TLC_DEVICE void tma_load_2d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "h"(blocks)
               : "memory");
}

//@ tma_load_2d_multicast_hint : tma_load_2d_multicast cache_hint
TLC_DEVICE void tma_load_2d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, uint16_t blocks, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "h"(blocks),
               "l"(hint.policy)
               : "memory");
}

//@ tma_load_3d_multicast
// Loads a box to the same place in each block of the set `blocks` (bit: rank in the cluster), and
// its bytes to the barrier of the same place there.
TLC_DEVICE void tma_load_3d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, int x2, uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "h"(blocks)
               : "memory");
}

//@ tma_load_3d_multicast_hint : tma_load_3d_multicast cache_hint
TLC_DEVICE void tma_load_3d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, int x2, uint16_t blocks, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "h"(blocks),
               "l"(hint.policy)
               : "memory");
}

//@ tma_load_4d_multicast
// Loads a box to the same place in each block of the set `blocks` (bit: rank in the cluster), and
// its bytes to the barrier of the same place there.
TLC_DEVICE void tma_load_4d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, int x2, int x3, uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
               "h"(blocks)
               : "memory");
}

//@ tma_load_4d_multicast_hint : tma_load_4d_multicast cache_hint
TLC_DEVICE void tma_load_4d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, int x2, int x3, uint16_t blocks,
                                      cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
               "h"(blocks), "l"(hint.policy)
               : "memory");
}

//@ tma_load_5d_multicast
// Loads a box to the same place in each block of the set `blocks` (bit: rank in the cluster), and
// its bytes to the barrier of the same place there.
TLC_DEVICE void tma_load_5d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, int x2, int x3, int x4, uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
               "h"(blocks)
               : "memory");
}

//@ tma_load_5d_multicast_hint : tma_load_5d_multicast cache_hint
TLC_DEVICE void tma_load_5d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                      int x1, int x2, int x3, int x4, uint16_t blocks,
                                      cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8, %9;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
               "h"(blocks), "l"(hint.policy)
               : "memory");
}

//@ tma_load_im2col_3d
// Loads pixels for a convolution from {channel, w, ..., n}, shifted by the filter's offsets {w,
// ...}.
TLC_DEVICE void tma_load_im2col_3d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                   int x1, int x2, int offset0 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5}], [%2], {%6};" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2),
               "h"(uint16_t(offset0))
               : "memory");
}

//@ tma_load_im2col_3d_hint : tma_load_im2col_3d cache_hint
TLC_DEVICE void tma_load_im2col_3d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                   int x1, int x2, int offset0, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
               "L2::cache_hint"
               " [%0], [%1, {%3, %4, %5}], [%2], {%6}, %7;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2),
               "h"(uint16_t(offset0)), "l"(hint.policy)
               : "memory");
}

//@ tma_load_im2col_4d
// Loads pixels for a convolution from {channel, w, ..., n}, shifted by the filter's offsets {w,
// ...}.
TLC_DEVICE void tma_load_im2col_4d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                   int x1, int x2, int x3, int offset0, int offset1 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
               "h"(uint16_t(offset0)), "h"(uint16_t(offset1))
               : "memory");
}

//@ tma_load_im2col_4d_hint : tma_load_im2col_4d cache_hint
TLC_DEVICE void tma_load_im2col_4d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                   int x1, int x2, int x3, int offset0, int offset1,
                                   cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
               "L2::cache_hint"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
               "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "l"(hint.policy)
               : "memory");
}

//@ tma_load_im2col_5d
// Loads pixels for a convolution from {channel, w, ..., n}, shifted by the filter's offsets {w,
// ...}.
TLC_DEVICE void tma_load_im2col_5d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                   int x1, int x2, int x3, int x4, int offset0, int offset1,
                                   int offset2 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
               "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "h"(uint16_t(offset2))
               : "memory");
}

//@ tma_load_im2col_5d_hint : tma_load_im2col_5d cache_hint
TLC_DEVICE void tma_load_im2col_5d(void *to, const CUtensorMap *map, uint64_t *barrier, int x0,
                                   int x1, int x2, int x3, int x4, int offset0, int offset1,
                                   int offset2, cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::"
      "cache_hint"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, %11;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
      "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "h"(uint16_t(offset2)), "l"(hint.policy)
      : "memory");
}

//@ tma_load_im2col_3d_multicast
// The same to several blocks of the cluster.
TLC_DEVICE void tma_load_im2col_3d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier,
                                             int x0, int x1, int x2, int offset0,
                                             uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3, %4, %5}], [%2], {%6}, %7;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2),
               "h"(uint16_t(offset0)), "h"(blocks)
               : "memory");
}

//@ tma_load_im2col_3d_multicast_hint : tma_load_im2col_3d_multicast cache_hint
TLC_DEVICE void tma_load_im2col_3d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier,
                                             int x0, int x1, int x2, int offset0, uint16_t blocks,
                                             cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4, %5}], [%2], {%6}, %7, %8;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2),
               "h"(uint16_t(offset0)), "h"(blocks), "l"(hint.policy)
               : "memory");
}

//@ tma_load_im2col_4d_multicast
// The same to several blocks of the cluster.
TLC_DEVICE void tma_load_im2col_4d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier,
                                             int x0, int x1, int x2, int x3, int offset0,
                                             int offset1, uint16_t blocks TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
               "multicast::cluster"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
               "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "h"(blocks)
               : "memory");
}

//@ tma_load_im2col_4d_multicast_hint : tma_load_im2col_4d_multicast cache_hint
TLC_DEVICE void tma_load_im2col_4d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier,
                                             int x0, int x1, int x2, int x3, int offset0,
                                             int offset1, uint16_t blocks, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
               "multicast::cluster.L2::cache_hint"
               " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9, %10;" ::"r"(shared_address(to)),
               "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
               "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "h"(blocks), "l"(hint.policy)
               : "memory");
}

//@ tma_load_im2col_5d_multicast
// The same to several blocks of the cluster.
TLC_DEVICE void tma_load_im2col_5d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier,
                                             int x0, int x1, int x2, int x3, int x4, int offset0,
                                             int offset1, int offset2, uint16_t blocks TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
      "multicast::cluster"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, %11;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
      "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "h"(uint16_t(offset2)), "h"(blocks)
      : "memory");
}

//@ tma_load_im2col_5d_multicast_hint : tma_load_im2col_5d_multicast cache_hint
TLC_DEVICE void tma_load_im2col_5d_multicast(void *to, const CUtensorMap *map, uint64_t *barrier,
                                             int x0, int x1, int x2, int x3, int x4, int offset0,
                                             int offset1, int offset2, uint16_t blocks,
                                             cache_hint hint TLC_AT) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes."
      "multicast::cluster.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10}, %11, %12;" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
      "h"(uint16_t(offset0)), "h"(uint16_t(offset1)), "h"(uint16_t(offset2)), "h"(blocks),
      "l"(hint.policy)
      : "memory");
}

//@ tma_store_1d
// Stores a box; a part of this thread's next group.
TLC_DEVICE void tma_store_1d(const CUtensorMap *map, const void *from, int x0 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group"
               " [%0, {%2}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0)
               : "memory");
}

//@ tma_store_1d_hint : tma_store_1d cache_hint
TLC_DEVICE void tma_store_1d(const CUtensorMap *map, const void *from, int x0,
                             cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group.L2::cache_hint"
               " [%0, {%2}], [%1], %3;" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "l"(hint.policy)
               : "memory");
}

//@ tma_store_2d
// Stores a box; a part of this thread's next group.
TLC_DEVICE void tma_store_2d(const CUtensorMap *map, const void *from, int x0, int x1 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
               " [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1)
               : "memory");
}

//@ tma_store_2d_hint : tma_store_2d cache_hint
TLC_DEVICE void tma_store_2d(const CUtensorMap *map, const void *from, int x0, int x1,
                             cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint"
               " [%0, {%2, %3}], [%1], %4;" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "l"(hint.policy)
               : "memory");
}

//@ tma_store_3d
// Stores a box; a part of this thread's next group.
TLC_DEVICE void tma_store_3d(const CUtensorMap *map, const void *from, int x0, int x1,
                             int x2 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group"
               " [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2)
               : "memory");
}

//@ tma_store_3d_hint : tma_store_3d cache_hint
TLC_DEVICE void tma_store_3d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                             cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint"
               " [%0, {%2, %3, %4}], [%1], %5;" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "l"(hint.policy)
               : "memory");
}

//@ tma_store_4d
// Stores a box; a part of this thread's next group.
TLC_DEVICE void tma_store_4d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                             int x3 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group"
               " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "r"(x3)
               : "memory");
}

//@ tma_store_4d_hint : tma_store_4d cache_hint
TLC_DEVICE void tma_store_4d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                             int x3, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group.L2::cache_hint"
               " [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "l"(hint.policy)
               : "memory");
}

//@ tma_store_5d
// Stores a box; a part of this thread's next group.
TLC_DEVICE void tma_store_5d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                             int x3, int x4 TLC_AT) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group"
               " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
               : "memory");
}

//@ tma_store_5d_hint : tma_store_5d cache_hint
TLC_DEVICE void tma_store_5d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                             int x3, int x4, cache_hint hint TLC_AT) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group.L2::cache_hint"
               " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
               "l"(hint.policy)
               : "memory");
}

//@ tma_reduce_add_1d
// Adds a box to the tensor, element by element; a part of this thread's next group.
TLC_DEVICE void tma_reduce_add_1d(const CUtensorMap *map, const void *from, int x0 TLC_AT) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group"
               " [%0, {%2}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0)
               : "memory");
}

//@ tma_reduce_add_2d
// Adds a box to the tensor, element by element; a part of this thread's next group.
TLC_DEVICE void tma_reduce_add_2d(const CUtensorMap *map, const void *from, int x0, int x1 TLC_AT) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group"
               " [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1)
               : "memory");
}

//@ tma_reduce_add_3d
// Adds a box to the tensor, element by element; a part of this thread's next group.
TLC_DEVICE void tma_reduce_add_3d(const CUtensorMap *map, const void *from, int x0, int x1,
                                  int x2 TLC_AT) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group"
               " [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2)
               : "memory");
}

//@ tma_reduce_add_4d
// Adds a box to the tensor, element by element; a part of this thread's next group.
TLC_DEVICE void tma_reduce_add_4d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                                  int x3 TLC_AT) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.bulk_group"
               " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "r"(x3)
               : "memory");
}

//@ tma_reduce_add_5d
// Adds a box to the tensor, element by element; a part of this thread's next group.
TLC_DEVICE void tma_reduce_add_5d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                                  int x3, int x4 TLC_AT) {
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.bulk_group"
               " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
               : "memory");
}

//@ tma_store_commit
// Closes a group of this thread's stores (also bulk_store and reductions).
TLC_DEVICE void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

//@ tma_store_wait_read
// Waits until at most Pending of this thread's groups still read shared memory.
template <int Pending> TLC_DEVICE void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

//@ tma_store_wait
// Waits until at most Pending of this thread's groups are incomplete.
template <int Pending> TLC_DEVICE void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

//@ bulk_load
// Copies a run of bytes from global to shared memory; they arrive on `barrier`. Addresses and size
// are multiples of 16.
TLC_DEVICE void bulk_load(void *to, const void *from, int bytes, uint64_t *barrier TLC_AT) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

//@ bulk_store
// Copies a run of bytes from shared to global memory; a part of this thread's next group.
TLC_DEVICE void bulk_store(void *to, const void *from, int bytes TLC_AT) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to)),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}

//@ end
} // namespace tlc
#endif
