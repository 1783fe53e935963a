// Reductions of the tensor memory accelerator beside the addition of tma.cuh (sm_90 and later).
// Which exist for a type: min, max of integers and 16-bit floats; inc, dec of uint32_t; and, or, xor
// of 32-bit and 64-bit integers.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/tma.h stands for it
#include "tma.cuh"

//@ TLC_TMA_REDUCE
// One of the operations, known when compiling.
#define TLC_TMA_REDUCE_AS(operation, rank, at, ...)                                                \
  asm volatile("cp.reduce.async.bulk.tensor." rank ".global.shared::cta." operation                \
               ".bulk_group [%0, {" at "}], [%1];" ::"l"(map),                                     \
               "r"(shared_address(from)), __VA_ARGS__                                              \
               : "memory")
#define TLC_TMA_REDUCE(rank, at, ...)                                                              \
  if constexpr (Operation == tma_operation::min)                                                   \
    TLC_TMA_REDUCE_AS("min", rank, at, __VA_ARGS__);                                               \
  else if constexpr (Operation == tma_operation::max)                                              \
    TLC_TMA_REDUCE_AS("max", rank, at, __VA_ARGS__);                                               \
  else if constexpr (Operation == tma_operation::inc)                                              \
    TLC_TMA_REDUCE_AS("inc", rank, at, __VA_ARGS__);                                               \
  else if constexpr (Operation == tma_operation::dec)                                              \
    TLC_TMA_REDUCE_AS("dec", rank, at, __VA_ARGS__);                                               \
  else if constexpr (Operation == tma_operation::bit_and)                                          \
    TLC_TMA_REDUCE_AS("and", rank, at, __VA_ARGS__);                                               \
  else if constexpr (Operation == tma_operation::bit_or)                                           \
    TLC_TMA_REDUCE_AS("or", rank, at, __VA_ARGS__);                                                \
  else                                                                                             \
    TLC_TMA_REDUCE_AS("xor", rank, at, __VA_ARGS__)

namespace tlc {

//@ tma_operation
enum class tma_operation { min, max, inc, dec, bit_and, bit_or, bit_xor };

//@ tma_reduce_1d : TLC_TMA_REDUCE tma_operation
// Combines a box with the tensor, element by element; a part of this thread's next group.
template <tma_operation Operation>
TLC_DEVICE void tma_reduce_1d(const CUtensorMap *map, const void *from, int x0 TLC_AT) {
  TLC_TMA_REDUCE("1d", "%2", "r"(x0));
}

//@ tma_reduce_2d : TLC_TMA_REDUCE tma_operation
template <tma_operation Operation>
TLC_DEVICE void tma_reduce_2d(const CUtensorMap *map, const void *from, int x0, int x1 TLC_AT) {
  TLC_TMA_REDUCE("2d", "%2, %3", "r"(x0), "r"(x1));
}

//@ tma_reduce_3d : TLC_TMA_REDUCE tma_operation
template <tma_operation Operation>
TLC_DEVICE void tma_reduce_3d(const CUtensorMap *map, const void *from, int x0, int x1,
                              int x2 TLC_AT) {
  TLC_TMA_REDUCE("3d", "%2, %3, %4", "r"(x0), "r"(x1), "r"(x2));
}

//@ tma_reduce_4d : TLC_TMA_REDUCE tma_operation
template <tma_operation Operation>
TLC_DEVICE void tma_reduce_4d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                              int x3 TLC_AT) {
  TLC_TMA_REDUCE("4d", "%2, %3, %4, %5", "r"(x0), "r"(x1), "r"(x2), "r"(x3));
}

//@ tma_reduce_5d : TLC_TMA_REDUCE tma_operation
template <tma_operation Operation>
TLC_DEVICE void tma_reduce_5d(const CUtensorMap *map, const void *from, int x0, int x1, int x2,
                              int x3, int x4 TLC_AT) {
  TLC_TMA_REDUCE("5d", "%2, %3, %4, %5, %6", "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4));
}

//@ end
} // namespace tlc
#endif
