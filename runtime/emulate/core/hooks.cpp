// The entry points that -fsanitize=thread and -fsanitize=bounds call, answered by the emulator
// instead of their runtimes.
#include <cstring>

#include "engine.h"

extern "C" char __executable_start, _end;

using namespace emu;
namespace {
inline void register_access(void *p, size_t bytes, bool write, const void *ret) {
  if (write)
    write_registers(p, bytes, code_pc(ret));
  else
    read_registers(p, bytes, code_pc(ret));
}
/// Variables and constants of the program, which kernels have in common with it.
bool in_program(Address a) {
  return a - Address(&__executable_start) < Address(&_end) - Address(&__executable_start);
}
void host_access(Address a, unsigned bytes, bool write, const void *ret) {
  if (!settings.checks || !current->in_kernel || in_program(a) || is_fiber_stack(a))
    return;
  const u32 pc = code_pc(ret);
  report("out-of-bounds",
         format("%s of %u bytes of the host's memory by %s: ", write ? "write" : "read", bytes,
                describe(current).c_str()) +
             where(pc),
         pc);
  abandon();
}
/// A loop that reads one place over and over waits for somebody, who has to run.
void watch_polls(Address a, u32 pc) {
  static Address last = 0;
  static u32 last_pc = 0, times = 0;
  if (a != last || pc != last_pc) {
    last = a, last_pc = pc, times = 0;
  } else if (++times == 4096) {
    times = 0;
    yield_spinning(pc);
  }
}
inline void hook(void *p, unsigned bytes, bool write, const void *ret, bool aligned) {
  const Address a = Address(p);
  if (device_address(a)) {
    const u32 pc = code_pc(ret);
    if (aligned && a % bytes) {
      report("misaligned",
             format("%s of %u bytes at %s by %s: ", write ? "write" : "read", bytes,
                    describe(a).c_str(), current ? describe(current).c_str() : "the host") +
                 where(pc),
             pc);
      if (current)
        abandon(); // the host's own vector access might fault next
    }
    generic_access(a, bytes, write, pc);
    if (!write && current)
      watch_polls(a, pc);
  } else if (current && a - current->stack < kStackBytes) {
    if (aligned && a % bytes && settings.checks)
      report("misaligned",
             format("%s of %u bytes of a local array by %s: ", write ? "write" : "read", bytes,
                    describe(current).c_str()) +
                 where(code_pc(ret)),
             code_pc(ret));
    register_access(p, bytes, write, ret);
  } else if (current) {
    host_access(a, bytes, write, ret);
  }
}
void range(void *p, size_t bytes, bool write, const void *ret) {
  const Address a = Address(p);
  if (!bytes)
    return;
  // clang copies vectors of up to 16 bytes as memory; emitted text copies nothing else so.
  if (device_address(a) && bytes <= 16 && !(bytes & (bytes - 1)))
    hook(p, unsigned(bytes), write, ret, true);
  else if (device_address(a))
    generic_access(a, bytes, write, code_pc(ret));
  else if (current)
    register_access(p, bytes, write, ret);
}
// What the compiler says of an index: the layouts of the sanitizer's interface.
struct TypeName {
  u16 kind, info;
  char text[];
};
struct OutOfBounds {
  const char *file;
  u32 line, column;
  const TypeName *array, *index;
};
void out_of_bounds(const OutOfBounds *data, u64 index, const void *ret) {
  if (!settings.checks)
    return;
  const u32 pc = code_pc(ret);
  report("out-of-bounds",
         format("element %lld of %s%s%s: ", (long long)index, data->array->text,
                current ? " of " : "", current ? describe(current).c_str() : "") +
             where(pc),
         pc);
  if (current)
    abandon(); // what it would touch is another variable
}
} // namespace

#define RET __builtin_return_address(0)
#define HOOK(n)                                                                                    \
  void __tsan_read##n(void *p) { hook(p, n, false, RET, true); }                                   \
  void __tsan_write##n(void *p) { hook(p, n, true, RET, true); }                                   \
  void __tsan_unaligned_read##n(void *p) { hook(p, n, false, RET, false); }                        \
  void __tsan_unaligned_write##n(void *p) { hook(p, n, true, RET, false); }                        \
  void __tsan_volatile_read##n(void *p) { hook(p, n, false, RET, true); }                          \
  void __tsan_volatile_write##n(void *p) { hook(p, n, true, RET, true); }                          \
  void __tsan_read_write##n(void *p) {                                                             \
    hook(p, n, false, RET, true), hook(p, n, true, RET, true);                                     \
  }                                                                                                \
  void __tsan_unaligned_read_write##n(void *p) {                                                   \
    hook(p, n, false, RET, false), hook(p, n, true, RET, false);                                   \
  }
#define ATOMIC(bits, T)                                                                            \
  T __tsan_atomic##bits##_load(const volatile T *p, int) { return *p; }                            \
  void __tsan_atomic##bits##_store(volatile T *p, T v, int) { *p = v; }                            \
  T __tsan_atomic##bits##_exchange(volatile T *p, T v, int) {                                      \
    T o = *p;                                                                                      \
    *p = v;                                                                                        \
    return o;                                                                                      \
  }                                                                                                \
  T __tsan_atomic##bits##_fetch_add(volatile T *p, T v, int) {                                     \
    T o = *p;                                                                                      \
    *p = T(o + v);                                                                                 \
    return o;                                                                                      \
  }                                                                                                \
  T __tsan_atomic##bits##_fetch_sub(volatile T *p, T v, int) {                                     \
    T o = *p;                                                                                      \
    *p = T(o - v);                                                                                 \
    return o;                                                                                      \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *e, T v, int, int) {          \
    if (*p == *e) {                                                                                \
      *p = v;                                                                                      \
      return 1;                                                                                    \
    }                                                                                              \
    *e = *p;                                                                                       \
    return 0;                                                                                      \
  }
extern "C" {
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t) ATOMIC(64, uint64_t) void __tsan_read_range(void *p, size_t n) {
  range(p, n, false, RET);
}
void __tsan_write_range(void *p, size_t n) { range(p, n, true, RET); }
void __ubsan_handle_out_of_bounds(const OutOfBounds *data, uintptr_t index) {
  out_of_bounds(data, index, RET);
}
void __ubsan_handle_out_of_bounds_abort(const OutOfBounds *data, uintptr_t index) {
  out_of_bounds(data, index, RET);
}
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
// clang routes these here; for g++ the link wraps the plain names (only in device code do they
// matter).
void *__tsan_memcpy(void *d, const void *s, size_t n) {
  range(const_cast<void *>(s), n, false, RET), range(d, n, true, RET);
  return std::memcpy(d, s, n);
}
void *__tsan_memmove(void *d, const void *s, size_t n) {
  range(const_cast<void *>(s), n, false, RET), range(d, n, true, RET);
  return std::memmove(d, s, n);
}
void *__tsan_memset(void *d, int v, size_t n) {
  range(d, n, true, RET);
  return std::memset(d, v, n);
}
}
