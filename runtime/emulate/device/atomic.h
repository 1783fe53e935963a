// The functions of cuda/atomic.cuh and hip/atomic.h: an order and a scope say what they order,
// fences are not spelled out.
namespace tlc {

enum class order { relaxed, consume, acquire, release, acq_rel, seq_cst };
enum class scope { block, cluster, device, system };

constexpr ::emu::Scope emulated(scope s) {
  return s == scope::block ? ::emu::kCta : s == scope::cluster ? ::emu::kCluster : ::emu::kGpu;
}
constexpr ::emu::Order emulated(order o) {
  return o == order::relaxed                          ? ::emu::kRelaxed
         : o == order::consume || o == order::acquire ? ::emu::kAcquire
         : o == order::release                        ? ::emu::kRelease
                                                      : ::emu::kAcqRel;
}
template <scope Scope> TLC_DEVICE void fence() { ::emu::fence(emulated(Scope)); }

/// Replaces *p by f(*p) as one operation; gives the previous value.
template <order Order, scope Scope, class T, class F> TLC_DEVICE T atomic_apply(T *p, F f TLC_AT) {
  return ::emu::atomic_update(p, f, emulated(Order), emulated(Scope) TLC_HERE);
}
TLC_DEVICE __half sum_of(__half a, __half b) { return add(a, b); }
#ifndef EMU_HIP
TLC_DEVICE __nv_bfloat16 sum_of(__nv_bfloat16 a, __nv_bfloat16 b) { return add(a, b); }
#endif
template <class T> TLC_DEVICE T sum_of(T a, T b) { return T(a + b); }

template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_add(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T old) { return sum_of(old, value); } TLC_HERE);
}
// Pairs of 16-bit floats are one operation, other vectors one for each element.
template <order Order = order::relaxed, scope Scope = scope::device, class T, int N>
TLC_DEVICE vec<T, N> atomic_add(T *p, const vec<T, N> &value TLC_AT) {
  vec<T, N> old;
  if constexpr (sizeof(T) == 2 && N == 2 && !std::is_integral_v<T>) {
    using pair = vec<T, N>;
    old = atomic_apply<Order, Scope>(reinterpret_cast<pair *>(p), [=](pair before) {
      for (int i = 0; i < N; ++i)
        before[i] = sum_of(before[i], value[i]);
      return before;
    } TLC_HERE);
  } else {
    for (int i = 0; i < N; ++i)
      old[i] = atomic_add<Order, Scope>(p + i, value[i] TLC_HERE);
  }
  return old;
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_min(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T old) { return min(old, value); } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_max(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T old) { return max(old, value); } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_and(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T old) { return T(old & value); } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_or(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T old) { return T(old | value); } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_xor(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T old) { return T(old ^ value); } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_exchange(T *p, T value TLC_AT) {
  return atomic_apply<Order, Scope>(p, [=](T) { return value; } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
TLC_DEVICE T atomic_compare_exchange(T *p, T expected, T value TLC_AT) {
  return atomic_apply<Order, Scope>(
      p, [=](T old) { return !memcmp(&old, &expected, sizeof(T)) ? value : old; } TLC_HERE);
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
__attribute__((no_sanitize("thread"))) inline T atomic_load(const T *p TLC_AT) {
  ::emu::atomic_begin(p, sizeof(T), false, true, emulated(Order), emulated(Scope) TLC_HERE);
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  ::emu::atomic_end(p, sizeof(T), false, true, emulated(Order), emulated(Scope));
  return value;
}
template <order Order = order::relaxed, scope Scope = scope::device, class T>
__attribute__((no_sanitize("thread"))) inline void atomic_store(T *p, T value TLC_AT) {
  ::emu::atomic_begin(p, sizeof(T), true, false, emulated(Order), emulated(Scope) TLC_HERE);
  __builtin_memcpy(p, &value, sizeof(T));
  ::emu::atomic_end(p, sizeof(T), true, false, emulated(Order), emulated(Scope));
}

} // namespace tlc
