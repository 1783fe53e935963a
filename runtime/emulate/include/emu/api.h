// What emulated device functions call. Plain C++; every function is in the library, so none of it
// is seen by the access hooks of the kernel's translation unit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace emu {
// The line of a call: a defaulted last parameter `Site s = {}`. (g++ 12 takes the line of the
// declaration when the default is an aggregate, hence the constructor.)
struct Site {
  const char *file;
  int line;
  constexpr Site(const char *f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
};

struct dim3_t {
  unsigned x = 1, y = 1, z = 1;
};
// ---- launch ----
struct Launch {
  dim3_t grid, block, cluster;
  size_t shared = 0;
  bool cooperative = false;
  bool dependent = false; // may begin before the launch before it has ended
  const void *kernel = nullptr;
};
int launch(const Launch &l, const std::function<void()> &body);
void *shared_arena(size_t align);
void *shared_tile(void *place, size_t bytes, const char *name, Site s);
uint64_t descriptor_mark(uint32_t shared); // of the tile that a wgmma descriptor is made for
uint32_t to_shared(const void *p);
int report_errors(); // errors so far (printed as they are flushed)
int report_warnings();
void set_mode(int mode, uint64_t seed, bool checks);
void assume(bool fact, Site s = {}); // what the compiler was told must hold
[[noreturn]] void trap(Site s);

// ---- barriers and warps ----
void barrier_sync(int id, int threads, Site s); // threads 0: the whole block
void barrier_arrive(int id, int threads, Site s);
int barrier_count(bool p, Site s); // for how many threads of the block p holds
void grid_sync(Site s);
void grid_dependency_wait();   // for the launch before this one
void grid_dependency_launch(); // the next one may begin
void cluster_arrive(Site s);
void cluster_wait(Site s);
uint32_t cluster_rank();
uint32_t map_shared(uint32_t shared, uint32_t rank);
void *map_pointer(const void *shared, uint32_t rank, Site s); // into another block of the cluster
int lanes_of_warp();                                          // 32, or 64 on a device of wave64
void warp_sync(uint64_t mask, Site s);
enum { kIndex, kXor, kUp, kDown };
uint64_t shuffle(uint64_t mask, uint64_t bits, int how, int lane, int width, Site s);
uint64_t ballot(uint64_t mask, bool p, Site s);
uint64_t match_any(uint64_t mask, uint64_t bits, Site s);
uint64_t active_mask();
bool elect(uint64_t mask, Site s);
void set_max_registers(int count, bool up, Site s);

// ---- mbarriers ----
// Addresses are of this block's shared memory, but where an arrival may be at another block's
// barrier.
uint32_t own_shared(const void *p, Site s);
void mbarrier_init(uint32_t bar, uint32_t count, Site s);
void mbarrier_arrive(uint32_t bar, uint32_t count, int64_t expect, Site s);
void mbarrier_expect(uint32_t bar, int64_t bytes, Site s);
void cp_async_mbarrier_arrive(uint32_t bar, Site s);
void mbarrier_wait(uint32_t bar, uint32_t parity, Site s);
bool mbarrier_try_wait(uint32_t bar, uint32_t parity, Site s);
void fence_barrier_init();
void fence_proxy_async();        // for shared memory
void fence_proxy_async_global(); // for global memory

// ---- copies ----
void cp_async(uint32_t dst, const void *src, int bytes, int valid, Site s);
void cp_async_commit();
void cp_async_wait(int pending);
/// Coordinates, innermost first; with `offsets` (rank - 2 of them) an im2col load. `blocks`: ranks
/// that receive the box, as bits; -1: this block.
struct Box {
  int rank;
  const int *at;
  const int *offsets = nullptr;
  int blocks = -1;
};
void tma_load(uint32_t dst, const void *map, uint32_t bar, const Box &box, Site s);
/// What a store does with the elements that are there.
enum class Reduction { none, add, min, max, inc, dec, bit_and, bit_or, bit_xor };
void tma_store(const void *map, uint32_t src, const Box &box, Reduction how, Site s);
void tma_prefetch(const void *map, Site s);
void bulk_load(uint32_t dst, const void *src, uint32_t bytes, uint32_t bar, Site s);
void bulk_store(void *dst, uint32_t src, uint32_t bytes, Site s);
void bulk_commit();
void bulk_wait(int pending, bool read_only);

// ---- matrices ----
/// How many bytes an array of registers has from a pointer on, all bits set where the compiler does
/// not see it.
#define EMU_ROOM(pointer) __builtin_dynamic_object_size(pointer, 0)
struct Room {
  size_t c = ~size_t(0), a = ~size_t(0), b = ~size_t(0);
};
#define EMU_ROOMS(c, a, b)                                                                         \
  ::emu::Room { EMU_ROOM(c), EMU_ROOM(a), EMU_ROOM(b) }
[[noreturn]] void no_room(size_t room, size_t bytes, Site s);
__attribute__((always_inline)) inline void check_room(size_t room, size_t bytes, Site s) {
  if (room < bytes)
    no_room(room, bytes, s);
}
void ldmatrix(uint32_t *out, int count, bool trans, uint32_t at, Site s);
void stmatrix(const uint32_t *in, int count, bool trans, uint32_t at, Site s);
enum class Element {
  f16,
  bf16,
  tf32,
  f32,
  f64,
  e4m3,
  e5m2,
  e4m3fnuz,
  e5m2fnuz,
  s8,
  u8,
  s4,
  u4,
  s32
};
/// c += a b of one warp (mma.sync): each lane passes its fragments in the order of the PTX manual.
struct Product {
  int m, n, k;
  Element a, b, c;
};
void mma(const Product &product, void *c, const void *a, const void *b, const Room &room, Site s);
/// The same where A keeps two of four neighbours along k (mma.sp): cuda/sparse.cuh.
void mma_sparse(const Product &product, int selector, void *c, const void *a, const void *b,
                uint32_t metadata, const Room &room, Site s);
void wgmma_fence(Site s);
void wgmma_commit(Site s);
void wgmma_wait(int pending, Site s);
void wgmma_pin(const void *registers, size_t bytes, Site s);
/// d = a b (+ d) of a warpgroup, 64 x n: b and, where `a` is null, a lie where the descriptors say.
struct WgmmaShape {
  int n, k;
  Element a, b, c;
  bool trans_a = false, trans_b = false;
  bool sparse = false;   // k counts the zeros of A, too; which elements it keeps:
  int selector = 0;      // the lanes whose metadata is looked at
  uint32_t metadata = 0; // of this lane
};
void wgmma(const WgmmaShape &shape, void *d, uint64_t desc_a, const uint32_t *a, uint64_t desc_b,
           bool accumulate, const Room &room, Site s);

// ---- waves of AMD's devices ----
/// c += a b of one wave. Where a lane's elements lie follows from the device; from and to: the
/// devices that have the instruction, 0x90a for gfx90a.
struct WaveProduct {
  int m, n, k;
  Element a, b, c;
  uint32_t from, to;
};
void wave_multiply(const WaveProduct &product, void *c, const void *a, const void *b,
                   const Room &room, Site s);
/// A move between lanes by data parallel primitives: as v_mov_b32_dpp. Lanes without a source keep
/// `old`.
uint32_t wave_move(uint32_t old, uint32_t word, int control, int rows, int banks, Site s);
uint32_t wave_read(uint32_t word, int lane, Site s); // the same lane for all; -1: the first
uint32_t wave_permute(uint32_t word, int lane, Site s);
/// Global to shared memory, past the registers: lane i's bytes go to base + i * bytes. Without
/// `from` zeros do. Complete after lds_wait.
void lds_load(uint32_t base, const void *from, int bytes, Site s);
void lds_wait(int pending); // for all but so many of this wave's lds_loads
void lds_settle();          // for this wave's own accesses to shared memory
void barrier_only(Site s);  // orders what was waited for, nothing else
/// A load or store by descriptor; outside of its `size` bytes zeros are read and nothing is
/// written.
struct BufferAccess {
  const void *base;
  uint32_t size, offset;
  int bytes;
};
void buffer_load(void *to, const BufferAccess &a, Site s);
void buffer_store(const void *from, const BufferAccess &a, Site s);
const void *buffer_address(const BufferAccess &a); // null outside

// ---- explicit accesses and atomics ----
void load(void *out, const void *generic, size_t bytes, bool nc, Site s);
void store(void *generic, const void *in, size_t bytes, Site s);
void load_shared(void *out, uint32_t shared, size_t bytes, Site s);
void store_shared(uint32_t shared, const void *in, size_t bytes, Site s);
enum Order { kRelaxed, kAcquire, kRelease, kAcqRel };
enum Scope { kCta, kCluster, kGpu };
void atomic_begin(const void *p, size_t bytes, bool write, bool load, Order o, Scope sc, Site s);
void atomic_end(const void *p, size_t bytes, bool write, bool load, Order o, Scope sc);
void fence(Scope sc);
void access_half(const void *p, int half, bool write, Site s); // of a byte, the lower one first
void mark_written(const void *p, size_t bytes); // a variable that unwatched code has set
/// From here on the thread is the kernel's. Of its parameters the caller passes so many bytes in
/// memory, just below its frame.
void enter_kernel(size_t bytes);
void leave_kernel();
template <class... P>
constexpr size_t bytes_in_memory() { // x86-64: structures of more than 16 bytes
  return (size_t(0) + ... + (sizeof(P) > 16 ? (sizeof(P) + alignof(P) + 7) / 8 * 8 : 0));
}
template <class... P, class... A>
__attribute__((no_sanitize("thread"))) void call_kernel(void (*kernel)(P...),
                                                        const A &...arguments) {
  enter_kernel(bytes_in_memory<P...>());
  kernel(arguments...);
  leave_kernel();
}
void nanosleep();
void poll(Site s); // lets other threads go on

float half_to_float(uint16_t h);
uint16_t float_to_half(float f);
inline float bf16_to_float(uint16_t h) {
  const uint32_t u = uint32_t(h) << 16;
  return __builtin_bit_cast(float, u);
}
uint16_t float_to_bf16(float f);
uint16_t double_to_half(double d); // rounds once
uint16_t double_to_bf16(double d);
} // namespace emu
