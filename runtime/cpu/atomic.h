// Atomics on one element, by the compiler's builtins; scopes do not differ on a CPU.
#pragma once

#include "math.h"

#include <atomic>

namespace tlc {

//@ order scope
enum class order { relaxed, consume, acquire, release, acq_rel, seq_cst };
enum class scope { block, cluster, device, system };

//@ word_of
// The integer of the same size.
template <int Bytes> struct word_of;
template <> struct word_of<1> { using type = uint8_t; };
template <> struct word_of<2> { using type = uint16_t; };
template <> struct word_of<4> { using type = uint32_t; };
template <> struct word_of<8> { using type = uint64_t; };

//@ memory_order
// What __atomic functions call an order; `failed`: of a comparison that finds another value.
[[maybe_unused]] constexpr int memory_order(order o, bool failed = false) {
  return o == order::relaxed   ? __ATOMIC_RELAXED
         : o == order::release ? (failed ? __ATOMIC_RELAXED : __ATOMIC_RELEASE)
         : o == order::acq_rel ? (failed ? __ATOMIC_ACQUIRE : __ATOMIC_ACQ_REL)
         : o == order::seq_cst ? __ATOMIC_SEQ_CST
                               : __ATOMIC_ACQUIRE;
}

//@ atomic_update
// Replaces *p by f(*p); gives the previous value.
template <order Order, class T, class F> inline T atomic_update(T *p, const F &f) {
  using word = typename word_of<sizeof(T)>::type;
  word *const at = reinterpret_cast<word *>(p);
  word seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &seen, bit_cast<word>(f(bit_cast<T>(seen))), true,
                                      memory_order(Order), memory_order(Order, true))) {
  }
  return bit_cast<T>(seen);
}

//@ atomic_add
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_add(T *p, T value) {
  return atomic_update<Order>(p, [=](T seen) { return plus(seen, value); });
}

//@ atomic_add_vec
// Each element on its own.
template <order Order = order::relaxed, scope Scope = scope::device, class T, int N>
inline vec<T, N> atomic_add(T *p, const vec<T, N> &value) {
  vec<T, N> old;
  for (int i = 0; i < N; ++i)
    old[i] = atomic_add<Order, Scope>(p + i, value[i]);
  return old;
}

//@ atomic_min
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_min(T *p, T value) {
  return atomic_update<Order>(p, [=](T seen) { return min(seen, value); });
}

//@ atomic_max
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_max(T *p, T value) {
  return atomic_update<Order>(p, [=](T seen) { return max(seen, value); });
}

//@ atomic_and
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_and(T *p, T value) {
  return atomic_update<Order>(p, [=](T seen) { return T(seen & value); });
}

//@ atomic_or
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_or(T *p, T value) {
  return atomic_update<Order>(p, [=](T seen) { return T(seen | value); });
}

//@ atomic_xor
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_xor(T *p, T value) {
  return atomic_update<Order>(p, [=](T seen) { return T(seen ^ value); });
}

//@ atomic_exchange
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_exchange(T *p, T value) {
  return atomic_update<Order>(p, [=](T) { return value; });
}

//@ atomic_compare_exchange
// Exchanges if the previous value is `expected`, bit by bit; gives the previous value.
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_compare_exchange(T *p, T expected, T value) {
  using word = typename word_of<sizeof(T)>::type;
  word seen = bit_cast<word>(expected);
  __atomic_compare_exchange_n(reinterpret_cast<word *>(p), &seen, bit_cast<word>(value), false,
                              memory_order(Order), memory_order(Order, true));
  return bit_cast<T>(seen);
}

//@ atomic_load
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline T atomic_load(const T *p) {
  using word = typename word_of<sizeof(T)>::type;
  return bit_cast<T>(__atomic_load_n(reinterpret_cast<const word *>(p), memory_order(Order)));
}

//@ atomic_store
template <order Order = order::relaxed, scope Scope = scope::device, class T>
inline void atomic_store(T *p, T value) {
  using word = typename word_of<sizeof(T)>::type;
  __atomic_store_n(reinterpret_cast<word *>(p), bit_cast<word>(value), memory_order(Order));
}

//@ put_uint4
// Like set_uint4 in memory that others write at the same time: the neighbour in the byte may be theirs.
inline void put_uint4(uint8_t *packed, int64_t i, uint8_t value) {
  const int shift = int(i & 1) * 4;
  atomic_update<order::relaxed>(packed + (i >> 1), [=](uint8_t old) {
    return uint8_t((old & ~(15 << shift)) | (value & 15) << shift);
  });
}

//@ put_int4
inline void put_int4(uint8_t *packed, int64_t i, int8_t value) {
  put_uint4(packed, i, uint8_t(value));
}

//@ end
} // namespace tlc
