// Atomics on one element of global or shared memory. Order and scope are template arguments; an
// order stronger than relaxed is made by fences around a relaxed operation.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/atomic.h stands for it
#include "math.cuh"
#include "warp.cuh"

namespace tlc {

//@ order scope
enum class order { relaxed, consume, acquire, release, acq_rel, seq_cst };
enum class scope { block, cluster, device, system };

//@ fence
template <scope Scope> TLC_DEVICE void fence() {
  if constexpr (Scope == scope::block)
    __threadfence_block();
  else if constexpr (Scope == scope::system)
    __threadfence_system();
  else
    __threadfence();
}

//@ fence_before fence_after
template <order Order, scope Scope> TLC_DEVICE void fence_before() {
  if constexpr (Order == order::release || Order == order::acq_rel || Order == order::seq_cst)
    fence<Scope>();
}
template <order Order, scope Scope> TLC_DEVICE void fence_after() {
  if constexpr (Order != order::relaxed && Order != order::release)
    fence<Scope>();
}

//@ word_of
// The unsigned integer of the same size that hardware compares and swaps.
template <int Bytes> struct word_of;
template <> struct word_of<1> { using type = uint8_t; };
template <> struct word_of<2> { using type = unsigned short; };
template <> struct word_of<4> { using type = unsigned; };
template <> struct word_of<8> { using type = unsigned long long; };

//@ native_integer
// The type under which the hardware's integer atomics take T; none for other types.
template <class T> struct native_integer { enum : bool { exists = false }; };
template <> struct native_integer<int32_t> {
  enum : bool { exists = true };
  using type = int;
};
template <> struct native_integer<uint32_t> {
  enum : bool { exists = true };
  using type = unsigned;
};
template <> struct native_integer<int64_t> {
  enum : bool { exists = true };
  using type = long long;
};
template <> struct native_integer<uint64_t> {
  enum : bool { exists = true };
  using type = unsigned long long;
};

//@ read_now
// Reads memory that others may change, here and once.
template <class T> TLC_DEVICE T read_now(const T *p) {
  using word = typename word_of<sizeof(T)>::type;
  return bit_cast<T>(word(*reinterpret_cast<const volatile word *>(p)));
}

//@ swap_if_equal
// The previous value; exchanged if that was `expected`, bit by bit.
template <class T> TLC_DEVICE T swap_if_equal(T *p, T expected, T value) {
  if constexpr (sizeof(T) == 1) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(p);
    unsigned *const word = reinterpret_cast<unsigned *>(address & ~uintptr_t(3));
    const int shift = int(address & 3) * 8;
    unsigned seen = *const_cast<volatile unsigned *>(word);
    while (uint8_t(seen >> shift) == bit_cast<uint8_t>(expected)) {
      const unsigned next =
          (seen & ~(255u << shift)) | unsigned(bit_cast<uint8_t>(value)) << shift;
      const unsigned before = atomicCAS(word, seen, next);
      if (before == seen)
        return expected;
      seen = before;
    }
    return bit_cast<T>(uint8_t(seen >> shift));
  } else {
    using word = typename word_of<sizeof(T)>::type;
    return bit_cast<T>(
        atomicCAS(reinterpret_cast<word *>(p), bit_cast<word>(expected), bit_cast<word>(value)));
  }
}

//@ same_bits
template <class T> TLC_DEVICE bool same_bits(const T &a, const T &b) {
  using word = typename word_of<sizeof(T)>::type;
  return bit_cast<word>(a) == bit_cast<word>(b);
}

//@ atomic_update
// Replaces *p by f(*p); gives the previous value. Stops early where f changes nothing.
template <class T, class F> TLC_DEVICE T atomic_update(T *p, F f) {
  T seen = read_now(p);
  for (;;) {
    const T next = f(seen);
    if (same_bits(next, seen))
      return seen;
    const T before = swap_if_equal(p, seen, next);
    if (same_bits(before, seen))
      return seen;
    seen = before;
  }
}

//@ add_once_half : add_once half
TLC_DEVICE __half add_once(__half *p, __half value) { return atomicAdd(p, value); }

//@ add_once_bfloat16 : add_once bfloat16
TLC_DEVICE __nv_bfloat16 add_once(__nv_bfloat16 *p, __nv_bfloat16 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return atomicAdd(p, value);
#else
  return bit_cast<__nv_bfloat16>(
      atomic_update(reinterpret_cast<uint16_t *>(p), [=](uint16_t old) {
        return bit_cast<uint16_t>(plus(bit_cast<__nv_bfloat16>(old), value));
      }));
#endif
}

//@ add_once
template <class T> TLC_DEVICE T add_once(T *p, T value) {
  if constexpr (native_integer<T>::exists && sizeof(T) == 8) {
    using type = unsigned long long;
    return T(atomicAdd(reinterpret_cast<type *>(p), type(value)));
  } else if constexpr (native_integer<T>::exists || T(0.5f) != T(0)) {
    return atomicAdd(p, value);
  } else {
    return atomic_update(p, [=](T old) { return T(old + value); });
  }
}

//@ atomic_add
// Of several elements: each on its own, nothing orders them among each other.
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_add(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = add_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ is_float
template <class T> struct is_float { enum : bool { value = false }; };
template <> struct is_float<float> { enum : bool { value = true }; };

//@ atomic_add_vec
template <order Order = order::relaxed, scope Scope = scope::device, class T, int N>
TLC_DEVICE vec<T, N> atomic_add(T *p, const vec<T, N> &value TLC_AT) {
  fence_before<Order, Scope>();
  vec<T, N> old;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (is_float<T>::value && (N == 2 || N == 4)) {
    if (__isGlobal(p)) {
      if constexpr (N == 2)
        old = bit_cast<vec<T, N>>(
            atomicAdd(reinterpret_cast<float2 *>(p), make_float2(value[0], value[1])));
      else
        old = bit_cast<vec<T, N>>(
            atomicAdd(reinterpret_cast<float4 *>(p),
                      make_float4(value[0], value[1], value[2], value[3])));
      fence_after<Order, Scope>();
      return old;
    }
  }
#endif
#pragma unroll
  for (int i = 0; i < N; ++i)
    old[i] = add_once(p + i, value[i]);
  fence_after<Order, Scope>();
  return old;
}

//@ atomic_add_half : atomic_add_vec half
// Pairs, as one operation.
template <order Order = order::relaxed, scope Scope = scope::device>
TLC_DEVICE vec<__half, 2> atomic_add(__half *p, const vec<__half, 2> &value TLC_AT) {
  fence_before<Order, Scope>();
  const __half2 old = atomicAdd(reinterpret_cast<__half2 *>(p), bit_cast<__half2>(value));
  fence_after<Order, Scope>();
  return bit_cast<vec<__half, 2>>(old);
}

//@ atomic_add_bfloat16 : atomic_add_vec bfloat16
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <order Order = order::relaxed, scope Scope = scope::device>
TLC_DEVICE vec<__nv_bfloat16, 2> atomic_add(__nv_bfloat16 *p,
                                            const vec<__nv_bfloat16, 2> &value TLC_AT) {
  fence_before<Order, Scope>();
  const __nv_bfloat162 old =
      atomicAdd(reinterpret_cast<__nv_bfloat162 *>(p), bit_cast<__nv_bfloat162>(value));
  fence_after<Order, Scope>();
  return bit_cast<vec<__nv_bfloat16, 2>>(old);
}
#endif

//@ min_once
template <class T> TLC_DEVICE T min_once(T *p, T value) {
  if constexpr (native_integer<T>::exists) {
    using type = typename native_integer<T>::type;
    return T(atomicMin(reinterpret_cast<type *>(p), type(value)));
  } else {
    return atomic_update(p, [=](T seen) { return min(seen, value); });
  }
}

//@ atomic_min
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_min(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = min_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ max_once
template <class T> TLC_DEVICE T max_once(T *p, T value) {
  if constexpr (native_integer<T>::exists) {
    using type = typename native_integer<T>::type;
    return T(atomicMax(reinterpret_cast<type *>(p), type(value)));
  } else {
    return atomic_update(p, [=](T seen) { return max(seen, value); });
  }
}

//@ atomic_max
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_max(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = max_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ and_once
template <class T> TLC_DEVICE T and_once(T *p, T value) {
  if constexpr (native_integer<T>::exists) {
    using type = typename native_integer<T>::type;
    return T(atomicAnd(reinterpret_cast<type *>(p), type(value)));
  } else {
    return atomic_update(p, [=](T seen) { return T(seen & value); });
  }
}

//@ atomic_and
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_and(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = and_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ or_once
template <class T> TLC_DEVICE T or_once(T *p, T value) {
  if constexpr (native_integer<T>::exists) {
    using type = typename native_integer<T>::type;
    return T(atomicOr(reinterpret_cast<type *>(p), type(value)));
  } else {
    return atomic_update(p, [=](T seen) { return T(seen | value); });
  }
}

//@ atomic_or
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_or(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = or_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ xor_once
template <class T> TLC_DEVICE T xor_once(T *p, T value) {
  if constexpr (native_integer<T>::exists) {
    using type = typename native_integer<T>::type;
    return T(atomicXor(reinterpret_cast<type *>(p), type(value)));
  } else {
    return atomic_update(p, [=](T seen) { return T(seen ^ value); });
  }
}

//@ atomic_xor
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_xor(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = xor_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ exchange_once
template <class T> TLC_DEVICE T exchange_once(T *p, T value) {
  if constexpr (sizeof(T) >= 4) {
    using word = typename word_of<sizeof(T)>::type;
    return bit_cast<T>(atomicExch(reinterpret_cast<word *>(p), bit_cast<word>(value)));
  } else {
    T seen = read_now(p);
    for (;;) {
      const T before = swap_if_equal(p, seen, value);
      if (same_bits(before, seen))
        return seen;
      seen = before;
    }
  }
}

//@ atomic_exchange
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_exchange(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = exchange_once(p, value);
  fence_after<Order, Scope>();
  return old;
}

//@ atomic_compare_exchange
// Exchanges if the previous value is `expected`; gives the previous value.
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_compare_exchange(T *p, T expected, T value TLC_AT) {
  fence_before<Order, Scope>();
  const T old = swap_if_equal(p, expected, value);
  fence_after<Order, Scope>();
  return old;
}

//@ atomic_load
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_load(const T *p TLC_AT) {
  if constexpr (Order == order::seq_cst)
    fence<Scope>();
  const T value = read_now(p);
  fence_after<Order, Scope>();
  return value;
}

//@ atomic_store
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE void atomic_store(T *p, T value TLC_AT) {
  fence_before<Order, Scope>();
  using word = typename word_of<sizeof(T)>::type;
  *reinterpret_cast<volatile word *>(p) = bit_cast<word>(value);
  if constexpr (Order == order::seq_cst)
    fence<Scope>();
}

//@ put_uint4
// Like set_uint4 in memory that others write at the same time: the neighbour in the byte may be theirs.
TLC_DEVICE void put_uint4(uint8_t *packed, int64_t i, uint8_t value TLC_AT) {
  const int shift = int(i & 1) * 4;
  atomic_update(packed + (i >> 1), [=](uint8_t old) {
    return uint8_t((old & ~(15 << shift)) | (value & 15) << shift);
  });
}

//@ put_int4
TLC_DEVICE void put_int4(uint8_t *packed, int64_t i, int8_t value TLC_AT) {
  put_uint4(packed, i, uint8_t(value) TLC_HERE);
}

//@ end
} // namespace tlc
#endif
