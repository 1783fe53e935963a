// Internal structures of the emulator: fibers, clocks, shadow memory, blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/api.h"

namespace emu {
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using Address = uintptr_t;

// ---- address map: fixed, so that an access is classified by one subtraction ----
constexpr Address kGlobalBase = 0x100000000000, kGlobalSize = 1ull << 34;
constexpr Address kSharedBase = kGlobalBase + kGlobalSize, kArena = 256 << 10;
constexpr int kArenas = 4096, kReserved = 1024; // the first KiB of shared memory is the system's
// Shared memory is seen through windows, one for each tile, which lie behind each other: tiles.cpp.
constexpr Address kWindowBytes = kArenas * kArena;
constexpr u32 kWindows = 512;
constexpr Address kDeviceSize = kGlobalSize + kWindowBytes,
                  kDeviceReach = kGlobalSize + kWindows * kWindowBytes;
constexpr Address kStackBase = 0x180000000000,
                  kStackBytes = 1 << 20, // a GPU's threads have 512 KiB
    kStacks = 1 << 18;                   // threads at a time: 128 blocks of a full multiprocessor
constexpr Address kTouchBase = 0x190000000000; // one u32 for each 4 bytes of stack
constexpr Address kWrittenBase =
    0x1a0000000000; // one byte for each 4 bytes of stack: who was written
constexpr Address kCellBase = 0x200000000000, kStateBase = 0x300000000000;
constexpr Address kOwnerBase = 0x310000000000; // one u16 for each 4 bytes of shared memory
static_assert(kGlobalBase + kDeviceReach < kStackBase);

/// Where a byte is, whichever window it is seen through.
inline Address home(Address a) {
  return a < kSharedBase ? a : kSharedBase + (a - kSharedBase) % kWindowBytes;
}
inline bool global_address(Address a) { return a - kGlobalBase < kGlobalSize; }
inline u32 window_of(Address a) {
  return a < kSharedBase ? 0 : u32((a - kSharedBase) / kWindowBytes);
}
/// Of an address in shared memory, which of the blocks that run has it.
inline u32 arena_of(Address a) { return u32((home(a) - kSharedBase) / kArena); }

// What device code has as an address in shared memory: 18 bits of place, 9 of window, 5 of rank.
constexpr u32 kMostRank = 31;
constexpr int kDescriptorMark = 52; // bits of a wgmma descriptor that the hardware does not use
inline u32 shared_place(u32 shared) { return shared & (kArena - 1); }
inline u32 shared_window(u32 shared) { return shared >> 18 & (kWindows - 1); }
inline u32 shared_rank(u32 shared) { return shared >> 27; }
inline u32 shared_of(u32 rank, u32 window, u32 place) { return rank << 27 | window << 18 | place; }

// ---- clocks ----
// An epoch names one access: realm (the blocks of a cluster), slot (thread or agent), time, and
// whether it is an atomic: of what scope, and whether it only loads.
using Epoch = u64;
enum How : u64 { kPlain = 0, kAtomic = 1, kAtomicLoad = 4 }; // atomics: plus their scope

constexpr u32 kGroupMarks = 0xffff0; // groups from here on are marks, not epochs
constexpr u32 kOthers = kGroupMarks, kSplit = kGroupMarks + 1, kHalved = kGroupMarks + 2,
              kBarrierObject = kGroupMarks + 3;
inline Epoch epoch(u64 realm, u64 slot, u64 time) { return realm << 44 | slot << 28 | time << 3; }
inline u32 epoch_group(Epoch e) { return u32(e >> 44); }
inline u32 epoch_slot(Epoch e) { return u32(e >> 28) & 0xffff; }
inline u32 epoch_time(Epoch e) { return u32(e >> 3) & 0x1ffffff; }
inline bool is_atomic(Epoch e) { return (e & 7) != kPlain; }
inline bool is_atomic_load(Epoch e) { return (e & 7) >= kAtomicLoad; }
inline bool is_atomic_write(Epoch e) { return is_atomic(e) && !is_atomic_load(e); }
inline Scope scope_of(Epoch e) { // of an atomic
  return Scope((e & 7) - (is_atomic_load(e) ? kAtomicLoad : kAtomic));
}
inline u32 epoch_index(Epoch e) { return u32(e); }

using Foreign = std::map<u32, std::vector<u32>>;
struct Clock {
  std::vector<u32> at;                    // slots of this realm
  std::shared_ptr<const Foreign> foreign; // what was learnt of other realms
  u32 get(u32 slot) const { return slot < at.size() ? at[slot] : 0; }
  void raise(u32 slot, u32 time) {
    if (slot >= at.size())
      at.resize(slot + 1);
    if (at[slot] < time)
      at[slot] = time;
  }
  void join(const Clock &o);
  void meet(const Clock &o); // pointwise minimum
  void join_foreign(u32 realm, const std::vector<u32> &times);
  /// What a clock of realm `from` says to one of realm `own`.
  void learn(const Clock &o, u32 from, u32 own);
};
struct Clocks { // generic; what asynchronous work may see of shared and of global memory
  Clock g, v, u;
  void join(const Clocks &o) { g.join(o.g), v.join(o.v), u.join(o.u); }
  void clear() { g = {}, v = {}, u = {}; }
};

enum SlotKind : u8 {
  kThread,
  kGenericAgent,
  kAsyncAgent,
  kQuad
}; // kQuad: one of four warps' slots

// Who accesses: a thread, or an asynchronous operation with the clocks of its start.
struct Actor {
  Epoch e;
  const Clock *g;
  const Clock *v;
  const Clock *u;
  bool async = false;
  const char *what = nullptr; // of an asynchronous operation
};
inline Actor agent(Epoch e, const Clocks &start, const char *what) {
  return {e, &start.g, &start.v, &start.u, true, what};
}

// ---- shadow ----
struct Cell { // for 4 bytes of memory
  Epoch w, r;
  u32 wpc, rpc;
};
constexpr u8 kInitialised = 15,
             kSwizzleShift = 4; // state byte: 4 bits of validity, swizzle written

struct Allocation {
  Address lo, hi;
  bool dirty = false;
  std::string name = {}; // that the host has given it
};

// ---- reports ----
enum Kind : int;
std::string where(u32 pc); // deferred: text with a mark that is resolved when printed
u32 site_pc(Site s);
u32 code_pc(const void *p);
void report(const char *kind, const std::string &text, u32 pc1, u32 pc2 = 0, bool warning = false);
void downgrade_last(size_t index);
size_t report_count();
int report_events(); // errors, repeated ones too
void flush_reports(u32 kernel);
std::string format(const char *f, ...);

struct Place {
  std::string emitted; // "kernel.cu:525", as the compiler was told the file's name
  std::string user;    // "gemm.tl:26"; empty if the emitted text does not say
};
std::map<u32, Place> places_of(const std::set<u32> &marks); // of those that are known

// ---- blocks and threads ----
struct Block;
struct Realm;
struct Group;
struct Thread;

// ---- counts, by line: see counts.cpp ----
enum class Counter {
  global_read_bytes,
  global_written_bytes,
  global_requests,
  global_sectors,
  shared_read_bytes,
  shared_written_bytes,
  shared_requests,
  shared_wavefronts,
  bank_conflicts,
  atomics,
  products,
  multiply_adds,
  barriers,
  count
};
struct Requests;
struct Warp;
extern bool counting;
void start_counting(const char *file);
void count(Counter c, u32 pc, u64 n = 1);
void count_bytes(Address at, size_t bytes, bool write, u32 pc); // of no warp's request
void count_access(Thread *t, Address at, size_t bytes, bool write, u32 pc);
void settle_requests(Warp &w); // the warp's lanes are together, or have ended

struct Flight { // registers that an asynchronous operation still uses
  Address lo, hi;
  u32 group;
  u32 pc;
};

struct Thread {
  void *sp = nullptr;
  Address stack = 0;
  Block *block = nullptr;
  dim3_t index;
  int linear = 0, lane = 0, warp = 0;
  u32 slot = 0;
  Clocks c;
  bool done = false, ready = false, spinning = false, in_kernel = false;
  int64_t cluster_ticket = 0;
  bool cluster_arrived = false;  // and has not waited
  bool triggered = false;        // the next launch may begin
  const char *waiting = nullptr; // for the deadlock report: a format, its numbers, an mbarrier
  int waiting_for[3] = {};
  u32 unsettled = 0; // AMD: time of the first store to shared memory that was not waited for
  Address waiting_at = 0;
  u32 waiting_pc = 0;
  // atomics
  Clocks fence[3]; // snapshots of release fences, by scope
  bool fenced[3] = {};
  Clocks heard[3]; // learnt by relaxed reads, waiting for an acquire fence
  bool has_heard[3] = {};
  // wgmma
  u32 fence_epoch = 0, fences = 0, commits = 0, waited = 0;
  std::vector<Flight> flights;
  Address flight_lo = ~Address(0), flight_hi = 0;
  // copies of this thread: cp.async, bulk stores
  struct Copies {
    u32 slot = 0, write_slot = 0, commits = 0, waited = 0, waited_read = 0;
    bool open = false;
    // cp.async: what is waited for together. A batch ends with its group, or where a barrier object
    // is to hear of it.
    u32 batch = 1;
    std::vector<u32> last; // of each group
    std::deque<std::pair<u32, std::function<void()>>> queue;
    u32 pc = 0;
  } cp, bulk;
  std::unordered_map<Address, int64_t> phases_seen, phases_tried; // by barrier: of its waits
  std::vector<Address> unfenced_barriers;
  Epoch now() const;
  void tick() { ++c.g.at[slot]; }
};

using Lanes = u64; // of a warp, as bits
constexpr int kLanes = 64;
inline Lanes lane_bit(int lane) { return Lanes(1) << lane; }
struct Meeting { // a warp collective being gathered
  const char *what;
  Lanes mask, arrived = 0;
  Site site;
  void *args[kLanes];
  Thread *threads[kLanes];
  /// Calls use(lane, its argument) for those that take part.
  template <class T, class F> void each(F use) {
    for (int l = 0; l < kLanes; ++l)
      if (arrived & lane_bit(l))
        use(l, *static_cast<T *>(args[l]));
  }
};
struct Warp {
  std::vector<std::unique_ptr<Meeting>> meetings;
  struct { // lanes on their way into a block barrier
    Lanes mask = 0;
    int id = 0, threads = 0;
    bool wait = false, only = false; // only: what was not waited for is not ordered
    Site site;
    std::vector<Thread *> lanes;
  } gather;
  // setmaxnreg: registers of a lane that it has and has asked for; 0: those of the launch
  int registers = 0, registers_asked = 0;
  u32 registers_pc = 0;
  std::shared_ptr<Requests> requests; // gathered since the lanes were last together
};

struct BlockBarrier {
  int expected = 0, arrived = 0;
  Clocks c;
  bool whole = false;
  int votes = 0, result = 0; // of __syncthreads_count: of this round, of the last one
  std::vector<Thread *> waiting;
  std::vector<int> warps; // that have arrived
  Site first;
  struct { // the round before: one of its threads as it arrived
    u32 slot = 0, time = 0;
    Site site;
  } last;
};

struct MBarrier {
  Address at = 0;
  Block *block = nullptr;
  int count = 0, pending = 0;
  int64_t tx = 0, phase = 0;
  u32 slot = 0, expect_pc = 0, init_pc = 0;
  Epoch init = 0;
  bool fenced = false;
  Clocks now, done;
  std::vector<Thread *> waiting;
};

struct WgmmaOp {
  WgmmaShape shape;
  bool from_registers = false, accumulate = true;
  u64 desc_a = 0, desc_b = 0;
  void *d[128];
  const u32 *a[128];
  u32 metadata[128]; // of a sparse A
  u32 group = 0, pc = 0;
  Clocks start;
};
struct Warpgroup {
  u32 slot = 0; // four slots
  int arrived = 0;
  Site site;
  std::unique_ptr<WgmmaOp> gathering;
  Thread *threads[128];
  std::deque<std::unique_ptr<WgmmaOp>> queue;
};

struct Block {
  Group *group = nullptr;
  Realm *realm = nullptr;
  dim3_t index;
  int rank = 0, live = 0, arena = 0;
  u32 shared_bytes = 0, shared_lo = kReserved;
  std::vector<Block *> *cluster = nullptr;
  std::vector<Thread *> threads;
  std::vector<Warp> warps;
  std::vector<Thread *> waiting_for_registers;
  std::vector<Warpgroup> warpgroups;
  BlockBarrier barriers[16];
  std::map<Address, std::unique_ptr<MBarrier>> mbarriers;
  std::map<u32, std::pair<u32, u32>>
      remote; // slot -> last time it wrote here from another block, line
  bool exited = false;
  Address base() const { return kSharedBase + arena * kArena; }
};
struct ClusterBarrier {
  int arrived = 0;
  int64_t generation = 0;
  Clocks now, done;
  std::vector<Thread *> waiting;
};

struct Pending {
  std::function<void()> run;
};

/// A cluster's threads and agents, whose times are kept together: of other realms threads know only
/// what barriers of the grid and atomics tell them.
struct Realm {
  u32 id = 0;
  std::vector<Thread *> threads;
  std::vector<u8> kinds; // of slots
  u32 new_slot(SlotKind k) {
    kinds.push_back(k);
    return u32(kinds.size() - 1);
  }
};
/// The barrier of a cooperative grid. What threads know as they come is gathered by realm.
struct GridBarrier {
  int arrived = 0;
  int64_t generation = 0;
  struct Known {
    Foreign now;
    std::shared_ptr<const Foreign> last, done; // last: what was merged into `now` already
    void gather(const Clock &c, u32 realm);
    void finish();
    void tell(Clock &c, u32 realm) const;
  } g, v, u;
  std::vector<Thread *> waiting;
};

struct Group { // blocks that run together: one block, a cluster, or a cooperative grid
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Realm> realms; // one for each cluster, with consecutive numbers
  std::vector<std::vector<Block *>> clusters;
  std::vector<ClusterBarrier> cluster_barriers;
  std::vector<std::unique_ptr<Thread>> threads;
  std::deque<Thread *> ready;
  std::deque<Pending> pending;
  GridBarrier grid;
  bool cooperative = false;
  int live = 0;
  int working = 0; // threads in `ready` that do not poll
  bool abandoned = false;
  /// The realm of that number, if it runs now.
  Realm *realm(u32 id) {
    const u32 at = id - realms[0].id;
    return at < realms.size() ? &realms[at] : nullptr;
  }
};

enum Mode { kEarly, kLate, kRandom };
struct Settings {
  bool checks = true;
  bool keep_going = false; // behind an error, with other blocks and launches
  Mode mode = kEarly;
  u64 seed = 0;
  int architecture = 90; // 10 * major + minor of the device that is played; 0: it is AMD's
  u32 gfx = 0;           // 0x942 of gfx942, 0x90a of gfx90a
  int lanes = 32;        // of a warp
  int sms = 132;         // its multiprocessors
};
extern Settings settings;
extern Thread *current;
extern Group *running;
extern u32 fence_counter;
inline Lanes whole_warp() { return settings.lanes == 64 ? ~Lanes(0) : Lanes(~0u); }
extern u64 stores; // of all threads so far: shows whether those that poll get anywhere

// fibers and scheduling
void park(u32 pc, const char *why, int a = 0, int b = 0, int c = 0, Address at = 0);
void wake(Thread *t);
[[noreturn]] void abandon(); // give up the launch after an error that leaves no way on
void yield_spinning(u32 pc);
void post(std::function<void()> run); // asynchronous work, done now or later by mode
u64 random_number();

// shadow
constexpr u32 kBothHalves = 3; // of a byte
/// `halves`: of the one byte that is accessed.
void access(const Actor &a, Address at, size_t bytes, bool write, u32 pc, bool nc = false,
            u32 halves = kBothHalves);
void access_atomic(Address at, size_t bytes, bool write, bool load, Scope scope, u32 pc);
void access_reduction(const Actor &a, Address at, size_t bytes, u32 pc);
void generic_access(Address at, size_t bytes, bool write, u32 pc, u32 halves = kBothHalves);
void settle_equal_store();
void check_flights(const void *p, size_t bytes, u32 pc, const char *how);
void touch_registers(const void *p, size_t bytes, u32 pc, const char *how);
void read_registers(const void *p, size_t bytes, u32 pc);
void write_registers(const void *p, size_t bytes, u32 pc);
void check_written(const void *p, size_t bytes, u32 pc); // by an instruction that is no touch
bool all_written(const void *p, size_t bytes);
void mark_unwritten(const void *p, size_t bytes);
inline bool is_fiber_stack(Address a) { return a - kStackBase < kStackBytes * kStacks; }
void forget_registers(Address stack); // nothing on it is written
void mark_swizzle(Address at, size_t bytes, int swizzle);
int swizzle_at(Address at);
void reset_shared(Block &b);
void reset_global();
void set_barrier_object(Address at, bool on);
inline bool device_address(Address a) { return a - kGlobalBase < kDeviceReach; }
/// Launches are over when they return, but what the last ones touched is remembered for one that
/// may begin before they have ended; this forgets it, when the host has waited for them.
void finish_launches();
/// Whether an earlier access is known to one of the memory at `at`.
bool ordered(Epoch e, const Actor &a, bool was_write, Address at);
void fill_state(Address at, size_t bytes, u8 state);
Actor thread_actor(Thread *t);
/// An instruction's arrays hold as many bytes as it takes of them.
void check_rooms(const Room &room, size_t c, size_t a, size_t b, Site s);
std::string describe(Address at);
bool in_tile(Address at, size_t bytes); // that the address was made for, if it is a tile's
std::string describe_tile(Address at);  // "A_shared + 64 bytes (size 4096)"; "" of no tile
void forget_tiles();                    // of the launch before
std::string describe(const Thread *t);
std::vector<Allocation> &allocations();

const float *table(bool bf16);          // all values of float16 or bfloat16
const float *small_table(Element kind); // all values of an 8-bit float

// device
/// Reports an instruction that came with a later architecture, or that only sm_90a has.
void require_architecture(int least, const char *what, Site s);
void require_hopper(const char *what, Site s);
int shared_limit(); // bytes that one block may have

// sync
void thread_exit(Thread *t);
MBarrier *find_barrier(u32 shared, const char *what, u32 pc, Block **owner = nullptr);
void complete_bytes(MBarrier *b, int64_t bytes);
void use_barrier(MBarrier *b, Thread *t, bool async, u32 pc);
Address shared_to_generic(u32 shared, Block **owner = nullptr);
void note_remote(Block *owner, u32 slot, u32 time, u32 pc);
int64_t &seen_phase(Thread *t, Address bar);
void meet_warp(const char *what, Lanes mask, Site site, void *arg, void (*run)(Meeting &));
void exit_checks(Block &b);
void register_checks(Block &b);
/// An asynchronous copy of this thread to shared memory, zeros behind the `valid` bytes.
void start_copy(const char *what, u32 dst, const void *src, int bytes, int valid, u32 pc);
void queue_bulk(std::function<void()> run, u32 pc);
void open_bulk(Thread *t);
void forget_releases();
/// The slot of a realm that knows that the launch before this one has ended.
u32 earlier_slot();
/// What is known of a realm of an earlier launch, if it is one.
enum class Earlier { no, ended, mayRun };
Earlier earlier_launch(u32 realm);
bool knows_earlier(const Clock &c);
void leave_early(Thread *t); // it triggers the next launch, or ends
void ensure_maps();
void ensure_windows(u32 count); // are mapped
void run_queue(Thread::Copies &c, u32 limit);
std::string deadlock_text(Group &g);
} // namespace emu
