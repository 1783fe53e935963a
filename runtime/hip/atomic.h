// Atomic operations and fences, with what they order and for whom as template arguments. They give
// the previous value.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/atomic.h stands for it
#include "half.h"

namespace tlc {

//@ order
enum class order { relaxed, consume, acquire, release, acq_rel, seq_cst };

//@ scope
enum class scope {
  block,
  cluster,
  device,
  system
}; // a device has no clusters: they are the device

//@ order_of
constexpr int order_of(order o) {
  return o == order::relaxed                          ? __ATOMIC_RELAXED
         : o == order::consume || o == order::acquire ? __ATOMIC_ACQUIRE
         : o == order::release                        ? __ATOMIC_RELEASE
         : o == order::acq_rel                        ? __ATOMIC_ACQ_REL
                                                      : __ATOMIC_SEQ_CST;
}

//@ scope_of
constexpr int scope_of(scope s) {
  return s == scope::block    ? __HIP_MEMORY_SCOPE_WORKGROUP
         : s == scope::system ? __HIP_MEMORY_SCOPE_SYSTEM
                              : __HIP_MEMORY_SCOPE_AGENT;
}

//@ fence
template <scope Scope> TLC_DEVICE void fence() {
  if constexpr (Scope == scope::block)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  else if constexpr (Scope == scope::system)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  else
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

//@ atomic_load
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_load(const T *p TLC_AT) {
  return __hip_atomic_load(p, order_of(Order), scope_of(Scope));
}

//@ atomic_store
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE void atomic_store(T *p, T value TLC_AT) {
  __hip_atomic_store(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_add
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_add(T *p, T value TLC_AT) {
  return __hip_atomic_fetch_add(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_min
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_min(T *p, T value TLC_AT) {
  return __hip_atomic_fetch_min(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_max
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_max(T *p, T value TLC_AT) {
  return __hip_atomic_fetch_max(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_and
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_and(T *p, T value TLC_AT) {
  return __hip_atomic_fetch_and(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_or
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_or(T *p, T value TLC_AT) {
  return __hip_atomic_fetch_or(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_xor
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_xor(T *p, T value TLC_AT) {
  return __hip_atomic_fetch_xor(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_exchange
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_exchange(T *p, T value TLC_AT) {
  return __hip_atomic_exchange(p, value, order_of(Order), scope_of(Scope));
}

//@ atomic_compare_exchange
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_compare_exchange(T *p, T expected, T value TLC_AT) {
  constexpr order failed = Order == order::release   ? order::relaxed
                           : Order == order::acq_rel ? order::acquire
                                                     : Order;
  __hip_atomic_compare_exchange_strong(p, &expected, value, order_of(Order), order_of(failed),
                                       scope_of(Scope));
  return expected;
}

//@ put_uint4
// Like set_uint4 in memory that others write at the same time: the neighbour in the byte may be theirs.
TLC_DEVICE void put_uint4(uint8_t *packed, int64_t i, uint8_t value TLC_AT) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(packed + (i >> 1));
  unsigned *const word = reinterpret_cast<unsigned *>(address & ~uintptr_t(3));
  const int shift = int(address & 3) * 8 + int(i & 1) * 4;
  atomic_and(word, ~(15u << shift) TLC_HERE);
  atomic_or(word, unsigned(value & 15) << shift TLC_HERE);
}

//@ put_int4
TLC_DEVICE void put_int4(uint8_t *packed, int64_t i, int8_t value TLC_AT) {
  put_uint4(packed, i, uint8_t(value) TLC_HERE);
}

//@ end
} // namespace tlc
#endif
