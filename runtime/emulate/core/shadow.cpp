// Shadow memory: who wrote and read each granule last, what is initialised, what is allocated.
#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "engine.h"

namespace emu {
Epoch Thread::now() const { return epoch(block->realm->id, slot, c.g.at[slot]); }
Actor thread_actor(Thread *t) { return {t->now(), &t->c.g, &t->c.v, &t->c.u}; }

static bool is_shared(Address a) { return a - kSharedBase < kWindows * kWindowBytes; }
bool knows_earlier(const Clock &c) {
  const u32 slot = earlier_slot();
  if (c.get(slot))
    return true;
  if (c.foreign)
    for (auto &[realm, times] : *c.foreign)
      if (slot < times.size() && times[slot])
        return true;
  return false;
}
bool ordered(Epoch e, const Actor &a, bool was_write, Address at) {
  const u32 group = epoch_group(e), slot = epoch_slot(e), time = epoch_time(e);
  if (const Earlier earlier = earlier_launch(group); earlier != Earlier::no)
    return earlier == Earlier::ended || knows_earlier(*a.g);
  const Realm *realm = running->realm(group);
  const u8 kind = realm ? realm->kinds[slot] : u8(kAsyncAgent); // what has ended is not asked for
  const Clock &c =
      a.async && was_write && kind <= kGenericAgent ? *(is_shared(at) ? a.v : a.u) : *a.g;
  if (group != epoch_group(a.e)) {
    if (!c.foreign)
      return false;
    auto it = c.foreign->find(group);
    return it != c.foreign->end() && slot < it->second.size() && it->second[slot] >= time;
  }
  if (kind == kQuad)
    return c.get(slot) >= time && c.get(slot + 1) >= time && c.get(slot + 2) >= time &&
           c.get(slot + 3) >= time;
  return c.get(slot) >= time;
}

// ---- pools behind a cell: sets of accesses, four cells for a granule used by parts, two for a
// byte --
struct Other {
  Epoch e;
  u32 pc;
  /// By thread, and by what kind of access it is.
  bool operator<(const Other &o) const {
    return e >> 28 != o.e >> 28 ? e >> 28 < o.e >> 28 : (e & 7) < (o.e & 7);
  }
};
struct OthersOf {          // a cell
  std::vector<Other> list; // sorted
  size_t crowd = 16;       // as many before those that are ordered are looked for
  bool has_writes = false; // atomics that write
};
struct Pools {
  std::vector<OthersOf> others;
  std::vector<u32> free_others;
  std::vector<std::array<Cell, 4>> splits;
  std::vector<std::array<Cell, 2>> halved;
  void clear() { others.clear(), free_others.clear(), splits.clear(), halved.clear(); }
};
static Pools pools[2];              // global, shared
constexpr size_t kMaxOthers = 2048; // all threads of a block, and more

static Cell *cell_of(Address a) {
  return reinterpret_cast<Cell *>(kCellBase) + (home(a) - kGlobalBase) / 4;
}
static u8 *state_of(Address a) {
  return reinterpret_cast<u8 *>(kStateBase) + (home(a) - kGlobalBase) / 4;
}
// Of shared memory: the window through which it was written last; 0 of no tile.
static u16 *owner_of(Address a) {
  return reinterpret_cast<u16 *>(kOwnerBase) + (home(a) - kSharedBase) / 4;
}

void fill_state(Address at, size_t bytes, u8 state) {
  if (at % 4 == 0 && bytes >= 4) {
    std::memset(state_of(at), state, bytes / 4);
    at += bytes / 4 * 4, bytes %= 4;
  }
  for (; bytes; ++at, --bytes)
    if (state)
      *state_of(at) |= u8(1 << at % 4);
    else
      *state_of(at) &= u8(~(1 << at % 4));
}
void mark_swizzle(Address at, size_t bytes, int swizzle) {
  u8 *s = state_of(at);
  for (size_t i = 0; i < bytes / 4; ++i)
    s[i] = u8((s[i] & 15) | (swizzle + 1) << kSwizzleShift);
}
int swizzle_at(Address at) { return (*state_of(at) >> kSwizzleShift) - 1; }
void set_barrier_object(Address at, bool on) {
  for (int i = 0; i < 2; ++i)
    cell_of(at)[i] = Cell{on ? epoch(kBarrierObject, 0, 0) : 0, 0, 0, 0};
}

void reset_shared(Block &b) {
  std::memset(cell_of(b.base()), 0, (b.shared_bytes + 2 * kReserved) / 4 * sizeof(Cell));
  std::memset(state_of(b.base()), 0, (b.shared_bytes + 2 * kReserved) / 4);
  std::memset(owner_of(b.base()), 0, (b.shared_bytes + 2 * kReserved) / 4 * sizeof(u16));
  pools[1].clear();
}
void reset_global() {
  for (Allocation &a : allocations()) {
    if (!a.dirty)
      continue;
    const Address lo = Address(cell_of(a.lo)) & ~Address(4095),
                  hi = (Address(cell_of(a.hi)) + 4095) & ~Address(4095);
    // Neighbouring allocations share a page at most; the launch is over, so their cells may go too.
    madvise(reinterpret_cast<void *>(lo), hi - lo, MADV_DONTNEED);
    a.dirty = false;
  }
  pools[0].clear();
  forget_releases();
}
std::vector<Allocation> &allocations() {
  static std::vector<Allocation> v; // in address order
  return v;
}
static Allocation *find_allocation(Address a) {
  static size_t last = 0;
  auto &v = allocations();
  if (last < v.size() && a >= v[last].lo && a < v[last].hi)
    return &v[last];
  auto it = std::upper_bound(v.begin(), v.end(), a,
                             [](Address x, const Allocation &y) { return x < y.lo; });
  if (it == v.begin())
    return nullptr;
  last = size_t(it - v.begin() - 1);
  return &v[last];
}

std::string describe(Address at) {
  if (!device_address(at))
    return is_fiber_stack(at) ? "a variable of a thread" : "memory of the host";
  if (is_shared(at)) {
    const u32 block = arena_of(at);
    const bool runs = running && block < running->blocks.size();
    std::string s = describe_tile(at);
    if (s.empty())
      s = format("shared+%d",
                 int(at % kArena) - int(runs ? running->blocks[block]->shared_lo : kReserved));
    if (runs && running->blocks.size() > 1)
      s += format(" of block rank %u", block);
    return s;
  }
  Allocation *a = find_allocation(at);
  if (!a)
    return format("global %zx", size_t(at));
  if (!a->name.empty())
    return format("%s + %zd bytes (size %zu)", a->name.c_str(), ptrdiff_t(at - a->lo),
                  size_t(a->hi - a->lo));
  return format("global allocation %zu + %zd (size %zu)", size_t(a - allocations().data()),
                ptrdiff_t(at - a->lo), size_t(a->hi - a->lo));
}
std::string describe(const Thread *t) {
  const dim3_t b = t->block->index, i = t->index;
  return format("thread (%u,%u,%u) of block (%u,%u,%u)", i.x, i.y, i.z, b.x, b.y, b.z);
}
static std::string describe_epoch(Epoch e) {
  const Realm *realm = running ? running->realm(epoch_group(e)) : nullptr;
  if (earlier_launch(epoch_group(e)) != Earlier::no)
    return "the kernel before this one, which may still run,";
  if (!realm)
    return "a thread of another block";
  const u32 slot = epoch_slot(e);
  if (slot < realm->threads.size())
    return describe(realm->threads[slot]);
  switch (realm->kinds[slot]) {
  case kGenericAgent:
    return settings.gfx ? "a load to shared memory" : "cp.async";
  case kQuad:
    return "wgmma";
  default:
    return "an asynchronous copy";
  }
}
static std::string describe_actor(const Actor &a) {
  return a.what ? std::string(a.what) : describe_epoch(a.e);
}

// Two plain stores that race but leave the same value are only a warning. Whether they do shows at
// the writer's next step, after its store.
static struct {
  bool on = false;
  Address at;
  size_t bytes, report;
  u8 old[16];
} equal_store;
void settle_equal_store() {
  if (!equal_store.on)
    return;
  equal_store.on = false;
  if (!std::memcmp(reinterpret_cast<void *>(equal_store.at), equal_store.old, equal_store.bytes))
    downgrade_last(equal_store.report);
}

static void race(const Actor &a, Address at, size_t bytes, bool write, u32 pc, Epoch other,
                 u32 other_pc, bool was_write) {
  const Realm *realm = running->realm(epoch_group(other));
  const bool proxy = a.async && was_write && realm &&
                     realm->kinds[epoch_slot(other)] <= kGenericAgent &&
                     ordered(other, {a.e, a.g, a.g, a.g, false}, true, at);
  const std::string text =
      format("%s of %s by %s at ", write ? "write" : "read", describe(at).c_str(),
             describe_actor(a).c_str()) +
      where(pc) +
      (proxy ? ", not fenced for the asynchronous proxy after the " : ", unordered with the ") +
      (was_write ? "write" : "read") + " by " + describe_epoch(other) + " at " + where(other_pc) +
      (is_atomic(a.e) && is_atomic(other) ? ": atomics whose scope is too narrow" : "");
  report(proxy ? "proxy" : "race", text, pc, other_pc);
  if (!proxy && write && was_write && !a.async && bytes <= 16 && !equal_store.on &&
      !is_atomic(other)) {
    equal_store.on = true;
    equal_store.at = at, equal_store.bytes = bytes, equal_store.report = report_count();
    std::memcpy(equal_store.old, reinterpret_cast<void *>(at), bytes);
  }
}

struct Access {
  const Actor &a;
  Address at;
  size_t bytes;
  bool write, atomic;
  u32 pc, halves;
  Pools &pool;
};

// Two atomics may come in any order if the scope of each reaches the other.
static bool reach_each_other(Epoch a, Epoch b) {
  const int least = std::min(scope_of(a), scope_of(b));
  const Realm *realm = running->realm(epoch_group(a));
  if (least == kGpu || !realm || epoch_group(a) != epoch_group(b))
    return least == kGpu;
  const auto &threads = realm->threads;
  const u32 x = epoch_slot(a), y = epoch_slot(b);
  return least == kCluster ||
         (x < threads.size() && y < threads.size() && threads[x]->block == threads[y]->block);
}
/// Whether `x` may not come at any time beside an access that it does not know of.
static bool conflicts(const Access &x, Epoch e) {
  if (is_atomic(e) && x.atomic)
    return !(is_atomic_load(e) && is_atomic_load(x.a.e)) && !reach_each_other(e, x.a.e);
  return x.write || is_atomic_write(e);
}

// Besides its last write a cell remembers what is not ordered before that: readers, and atomics
// that others came beside.
static void drop_ordered(const Access &x, OthersOf &set) {
  std::erase_if(set.list, [&](const Other &o) {
    return (x.write || !is_atomic_write(o.e)) && ordered(o.e, x.a, is_atomic_write(o.e), x.at);
  });
  set.crowd = std::max<size_t>(16, 2 * set.list.size());
}
static bool one_conflicts(const Access &x, const Other &o) {
  if (!conflicts(x, o.e) || ordered(o.e, x.a, is_atomic_write(o.e), x.at))
    return false;
  race(x.a, x.at, x.bytes, x.write, x.pc, o.e, o.pc, is_atomic_write(o.e));
  return true;
}
static void check_others(const Access &x, Cell &c) {
  if (!c.r)
    return;
  if (epoch_group(c.r) != kOthers) {
    if (one_conflicts(x, {c.r, c.rpc}) || (x.write && !x.atomic) ||
        (x.write && ordered(c.r, x.a, is_atomic_write(c.r), x.at)))
      c.r = 0;
    return;
  }
  OthersOf &set = x.pool.others[epoch_index(c.r)];
  if (x.write || set.has_writes)
    for (const Other &o : set.list)
      if (one_conflicts(x, o))
        break;
  if (!x.write)
    return;
  if (x.atomic)
    drop_ordered(x, set);
  if (!x.atomic || set.list.empty()) {
    set = {};
    x.pool.free_others.push_back(epoch_index(c.r));
    c.r = 0;
  }
}
static void add_other(const Access &x, Cell &c, const Other &o) {
  if (!c.r ||
      (epoch_group(c.r) != kOthers && !is_atomic_write(c.r) && ordered(c.r, x.a, false, x.at))) {
    c.r = o.e, c.rpc = o.pc;
    return;
  }
  if (epoch_group(c.r) != kOthers) {
    u32 i;
    if (x.pool.free_others.empty())
      i = u32(x.pool.others.size()), x.pool.others.emplace_back();
    else
      i = x.pool.free_others.back(), x.pool.free_others.pop_back();
    x.pool.others[i] = {{{c.r, c.rpc}}, 16, is_atomic_write(c.r)};
    c.r = Epoch(kOthers) << 44 | i;
  }
  OthersOf &set = x.pool.others[epoch_index(c.r)];
  set.has_writes |= is_atomic_write(o.e);
  const auto place = std::lower_bound(set.list.begin(), set.list.end(), o);
  if (place != set.list.end() && !(o < *place)) { // a thread's later access stands for the earlier
    *place = o;
    return;
  }
  if (set.list.size() >= kMaxOthers)
    return;
  set.list.insert(place, o);
  if (set.list.size() > set.crowd)
    drop_ordered(x, set);
}
static void check_cell(const Access &x, Cell &c) {
  if (epoch_group(c.w) == kBarrierObject) {
    report("barrier-object",
           format("%s of the mbarrier object at %s by %s at ", x.write ? "write" : "read",
                  describe(x.at).c_str(), describe_actor(x.a).c_str()) +
               where(x.pc),
           x.pc);
    return;
  }
  const bool known = !c.w || c.w >> 3 == x.a.e >> 3 || ordered(c.w, x.a, true, x.at);
  if (!known && (!is_atomic(c.w) || !x.atomic || !reach_each_other(c.w, x.a.e)))
    race(x.a, x.at, x.bytes, x.write, x.pc, c.w, c.wpc, true);
  check_others(x, c);
  if (x.write) {
    if (!known && x.atomic && is_atomic(c.w))
      add_other(x, c, {c.w, c.wpc});
    c.w = x.a.e, c.wpc = x.pc;
  } else if (c.r != x.a.e) {
    add_other(x, c, {x.a.e, x.pc});
  }
}
// The parts of a cell that some access does not touch as a whole, which begin as copies of it. The
// cell keeps a mark of such parts and their place.
template <size_t N>
static void take_apart(Pools &pool, std::vector<std::array<Cell, N>> &parts, u32 mark, Cell &c) {
  std::array<Cell, N> &made = parts.emplace_back();
  made.fill(c);
  if (epoch_group(c.r) == kOthers) // a set has one owner
    for (size_t i = 1; i < N; ++i) {
      pool.others.push_back(OthersOf(pool.others[epoch_index(c.r)]));
      made[i].r = Epoch(kOthers) << 44 | u32(pool.others.size() - 1);
    }
  c.w = Epoch(mark) << 44 | u32(parts.size() - 1), c.r = 0;
}
static void check_byte(const Access &x, Cell &c) {
  if (x.halves != kBothHalves && epoch_group(c.w) != kHalved)
    take_apart(x.pool, x.pool.halved, kHalved, c);
  if (epoch_group(c.w) != kHalved)
    return check_cell(x, c);
  auto &parts = x.pool.halved[epoch_index(c.w)];
  for (u32 i = 0; i < 2; ++i)
    if (x.halves >> i & 1)
      check_cell(x, parts[i]);
  if (x.halves == kBothHalves && x.write)
    c = parts[0];
}
static void check_granule(const Access &x, Cell &c, u32 mask) {
  if (epoch_group(c.w) == kBarrierObject)
    return check_cell(x, c);
  if (mask != 15 && epoch_group(c.w) != kSplit)
    take_apart(x.pool, x.pool.splits, kSplit, c);
  if (epoch_group(c.w) != kSplit)
    return check_cell(x, c);
  auto &parts = x.pool.splits[epoch_index(c.w)];
  for (int i = 0; i < 4; ++i)
    if (mask >> i & 1)
      check_byte(x, parts[i]);
  if (mask == 15 && x.write)
    c = parts[0];
}

static bool in_bounds(const Actor &a, Address at, size_t bytes, bool write, u32 pc) {
  std::string why;
  if (is_shared(at)) {
    const u32 block = arena_of(at), offset = u32(at % kArena);
    if (block >= running->blocks.size() || offset < running->blocks[block]->shared_lo ||
        offset + bytes > running->blocks[block]->shared_lo + running->blocks[block]->shared_bytes)
      why = format("outside the block's %u bytes of shared memory",
                   block < running->blocks.size() ? running->blocks[block]->shared_bytes : 0);
    else if (!in_tile(at, bytes))
      why = "outside that tile";
  } else {
    Allocation *m = find_allocation(at);
    if (!m || at + bytes > m->hi)
      why = "outside every allocation";
    else
      m->dirty = true;
  }
  if (why.empty())
    return true;
  report("out-of-bounds",
         format("%s of %zu bytes at %s by %s is %s: ", write ? "write" : "read", bytes,
                describe(at).c_str(), describe_actor(a).c_str(), why.c_str()) +
             where(pc),
         pc);
  return false;
}

struct Way { // of an access
  bool read, write, atomic = false, nc = false;
  u32 halves = kBothHalves;
};
static u32 last_writer(const Pools &pool, const Cell &c, u32 first) {
  return epoch_group(c.w) == kSplit ? pool.splits[epoch_index(c.w)][first].wpc : c.wpc;
}
// What a tile has is what was written by way of its own pointer: tiles that have the same bytes one
// after the other do not inherit each other's values.
class Ownership {
public:
  Ownership(const Access &x, bool read)
      : x(x), read(read), window(u16(window_of(x.at))),
        owner(is_shared(x.at) ? owner_of(x.at) : nullptr) {}

  /// The next cell, of which bytes from `first` on are accessed.
  void step(const Cell &c, u32 first) {
    if (!owner)
      return;
    if (read && window && *owner && *owner != window)
      foreign(c, first);
    if (x.write)
      *owner = window;
    ++owner;
  }

private:
  void foreign(const Cell &c, u32 first) {
    const Address cell = kSharedBase + Address(owner - owner_of(kSharedBase)) * 4;
    const Address mine = cell + window * kWindowBytes, other = cell + *owner * kWindowBytes;
    if (!in_tile(mine, 4) || !in_tile(other, 4)) // each has a part of it
      return;
    const u32 writer = last_writer(x.pool, c, first);
    report("overlap",
           format("read of %zu bytes at %s by %s at ", x.bytes, describe(x.at).c_str(),
                  describe_actor(x.a).c_str()) +
               where(x.pc) + ", where another tile was written since, " + describe(other) +
               ", at " + where(writer),
           x.pc, writer);
  }
  const Access &x;
  const bool read;
  const u16 window;
  u16 *owner;
};
static void walk(const Actor &a, Address at, size_t bytes, Way way, u32 pc) {
  const auto [read, write, atomic, nc, halves] = way;
  if (!in_bounds(a, at, bytes, write, pc))
    return;
  const Access x{a, at, bytes, write, atomic, pc, halves, pools[is_shared(at)]};
  Ownership ownership(x, read);
  Cell *c = cell_of(at);
  u8 *s = state_of(at);
  u32 first = at % 4;
  for (size_t left = bytes; left; ++c, ++s) {
    const u32 n = u32(std::min<size_t>(left, 4 - first)), mask = ((1u << n) - 1) << first;
    if (read) {
      if ((*s & mask) != mask && epoch_group(c->w) != kBarrierObject) {
        report("uninitialised",
               format("read of %zu bytes at %s by %s before anything wrote there: ", bytes,
                      describe(at).c_str(), describe_actor(a).c_str()) +
                   where(pc),
               pc);
        *s |= u8(mask);
      }
      if (nc && c->w && epoch_group(c->w) != kSplit)
        report("non-coherent",
               format("read-only-cache load of %s by %s at ", describe(at).c_str(),
                      describe_actor(a).c_str()) +
                   where(pc) + ", written in this launch at " + where(c->wpc),
               pc, c->wpc);
    }
    if (write)
      *s = u8((*s & 15) | mask);
    ownership.step(*c, first);
    check_granule(x, *c, mask);
    left -= n, first = 0;
  }
}
void access(const Actor &a, Address at, size_t bytes, bool write, u32 pc, bool nc, u32 halves) {
  if (a.async && !device_address(at))
    report("out-of-bounds",
           format("%s of %zu bytes at %zx by %s, which is no device memory: ",
                  write ? "write" : "read", bytes, size_t(at), describe_actor(a).c_str()) +
               where(pc),
           pc);
  if (a.async)
    count_bytes(at, bytes, write, pc);
  if (settings.checks && device_address(at))
    walk(a, at, bytes, {!write, write, false, nc, halves}, pc);
}
void access_atomic(Address at, size_t bytes, bool write, bool load, Scope scope, u32 pc) {
  settle_equal_store();
  count(Counter::atomics, pc);
  count_access(current, at, bytes, write, pc);
  if (!settings.checks || !device_address(at))
    return;
  Actor a = thread_actor(current);
  a.e |= u64(write ? kAtomic : kAtomicLoad) + u64(scope);
  walk(a, at, bytes, {load, write, true}, pc);
}
void access_reduction(const Actor &a, Address at, size_t bytes, u32 pc) {
  if (!settings.checks || !device_address(at))
    return;
  Actor atomic = a;
  atomic.e |= u64(kAtomic) + u64(kGpu);
  walk(atomic, at, bytes, {true, true, true}, pc);
}
u64 stores = 0;
void generic_access(Address at, size_t bytes, bool write, u32 pc, u32 halves) {
  settle_equal_store();
  stores += write;
  if (current)
    count_access(current, at, bytes, write, pc);
  if (!settings.checks)
    return;
  if (!current) {
    if (pc)
      report("host", std::string("device memory touched by the host: ") + where(pc), pc);
    return;
  }
  if (is_shared(at)) {
    Block *owner = nullptr;
    const u32 i = arena_of(at);
    if (i < running->blocks.size())
      owner = running->blocks[i].get();
    if (owner && owner != current->block)
      note_remote(owner, current->slot, current->c.g.at[current->slot], pc);
  }
  if (write && settings.gfx && is_shared(at) && !current->unsettled) {
    current->tick();
    current->unsettled = current->c.g.at[current->slot];
  }
  access(thread_actor(current), at, bytes, write, pc, false, halves);
}
void access_half(const void *p, int half, bool write, Site s) {
  const u32 pc = site_pc(s);
  if (write)
    count(Counter::atomics, pc);
  if (device_address(Address(p)))
    generic_access(Address(p), 1, write, pc, 1u << half);
  else
    read_registers(p, 1, pc); // what is stored in them is not told of so
}
} // namespace emu
