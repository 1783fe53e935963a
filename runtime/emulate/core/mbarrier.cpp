// mbarriers: phases, arrivals, transaction bytes; and the asynchronous copies that complete on
// them.
#include "engine.h"

namespace emu {
Address shared_to_generic(u32 shared, Block **owner) {
  Block *b = current->block;
  const u32 rank = shared_rank(shared);
  Block *o = rank < b->cluster->size() ? (*b->cluster)[rank] : nullptr;
  if (!o) {
    report("out-of-bounds",
           format("shared address %08x names block rank %u of a cluster of %zu", shared, rank,
                  b->cluster->size()),
           0);
    abandon();
  }
  if (owner)
    *owner = o;
  return o->base() + shared_window(shared) * kWindowBytes + shared_place(shared);
}
u32 to_shared(const void *p) {
  const Address a = Address(p);
  if (!current || a < kSharedBase || !device_address(a) || arena_of(a) >= running->blocks.size()) {
    report("out-of-bounds", "a shared address is asked of a pointer that is not into shared memory",
           code_pc(__builtin_return_address(0)));
    abandon();
  }
  return shared_of(u32(running->blocks[arena_of(a)]->rank), window_of(a), u32(a % kArena));
}
u32 own_shared(const void *p, Site s) {
  const u32 shared = to_shared(p);
  if (shared_rank(shared) == u32(current->block->rank))
    return shared;
  const u32 pc = site_pc(s);
  report("remote",
         format("%s is another block's, which this instruction does not reach: ",
                describe(Address(p)).c_str()) +
             where(pc),
         pc);
  abandon();
}
u32 map_shared(u32 shared, u32 rank) {
  return shared_of(std::min(rank, kMostRank), shared_window(shared), shared_place(shared));
}
void *map_pointer(const void *shared, u32 rank, Site s) {
  if (rank >= current->block->cluster->size()) {
    const u32 pc = site_pc(s);
    report("out-of-bounds",
           format("block rank %u of a cluster of %zu: ", rank, current->block->cluster->size()) +
               where(pc),
           pc);
    abandon();
  }
  return reinterpret_cast<void *>(shared_to_generic(map_shared(to_shared(shared), rank)));
}

MBarrier *find_barrier(u32 shared, const char *what, u32 pc, Block **owner) {
  Block *b;
  const Address a = shared_to_generic(shared, &b);
  if (owner)
    *owner = b;
  if (!in_tile(a, 8)) // whatever barrier is there, it is not the one that was meant
    report("out-of-bounds",
           format("%s on an mbarrier at %s, outside that tile: ", what, describe(a).c_str()) +
               where(pc),
           pc);
  auto it = b->mbarriers.find(home(a));
  if (it != b->mbarriers.end())
    return it->second.get();
  report("mbarrier",
         format("%s on %s, where no mbarrier is initialised: ", what, describe(a).c_str()) +
             where(pc),
         pc);
  abandon();
}
void use_barrier(MBarrier *b, Thread *t, bool async, u32 pc) {
  if (!settings.checks)
    return;
  if (!ordered(b->init, thread_actor(t), true, b->at))
    report("race",
           format("mbarrier %s used by %s at ", describe(b->at).c_str(), describe(t).c_str()) +
               where(pc) + ", unordered with its initialisation at " + where(b->init_pc),
           pc, b->init_pc);
  if (async && !b->fenced)
    report("proxy",
           format("mbarrier %s used by an asynchronous copy or another block at ",
                  describe(b->at).c_str()) +
               where(pc) + ", its initialisation is not fenced: " + where(b->init_pc),
           pc, b->init_pc);
}
constexpr int64_t kMostCount = (1 << 20) - 1; // of arrivals, and of bytes that are expected
void mbarrier_init(u32 bar, u32 count, Site s) {
  require_architecture(80, "mbarrier", s);
  Thread *t = current;
  const u32 pc = site_pc(s);
  if (count < 1 || count > kMostCount)
    report("mbarrier",
           format("a count of %d, which is outside 1..2^20-1: ", int(count)) + where(pc), pc);
  Block *owner;
  const Address a = shared_to_generic(bar, &owner);
  if (a % 8)
    report("misaligned", "mbarrier not aligned to 8 bytes: " + where(pc), pc);
  generic_access(a, 8, true, pc);
  auto &m = owner->mbarriers[home(a)];
  if (m && !m->waiting.empty())
    report("mbarrier", "initialised again while threads wait: " + where(pc), pc);
  const u32 slot = m ? m->slot : owner->realm->new_slot(kAsyncAgent);
  const int64_t phase = m ? m->phase : 0;
  m = std::make_unique<MBarrier>();
  m->at = a, m->block = owner, m->count = m->pending = int(count), m->slot = slot,
  m->init = t->now(), m->init_pc = pc;
  m->phase =
      (phase + 1) & ~int64_t(1); // keeps agent epochs growing when reused; parity starts at 0
  if (phase == 0)
    m->phase = 0;
  set_barrier_object(a, true);
  t->unfenced_barriers.push_back(a);
}
static void fence_barriers(Thread *t) {
  for (Address a : t->unfenced_barriers)
    for (Block *b : *t->block->cluster) {
      auto it = b->mbarriers.find(home(a));
      if (it != b->mbarriers.end())
        it->second->fenced = true;
    }
  t->unfenced_barriers.clear();
}
void fence_barrier_init() { fence_barriers(current); }
void fence_proxy_async_global() {
  current->c.u.join(current->c.g);
  current->tick();
}
void fence_proxy_async() {
  current->c.v.join(current->c.g);
  current->tick(); // what this thread writes from here on is not fenced
  fence_barriers(current);
}

static void try_complete(MBarrier *b) {
  if (b->pending != 0 || b->tx != 0)
    return;
  b->done = b->now;
  b->now.clear();
  b->pending = b->count;
  ++b->phase;
  for (Thread *t : b->waiting)
    wake(t);
  b->waiting.clear();
}
void complete_bytes(MBarrier *b, int64_t bytes) {
  b->tx -= bytes;
  b->now.g.raise(b->slot, u32(b->phase + 1));
  b->now.v.raise(b->slot, u32(b->phase + 1));
  try_complete(b);
}
static void expect_bytes(MBarrier *b, int64_t bytes, u32 pc) {
  b->tx += bytes, b->expect_pc = pc;
  if (std::abs(b->tx) > kMostCount)
    report("mbarrier",
           format("%lld bytes pending, more than 2^20-1: ", (long long)b->tx) + where(pc), pc);
}
void mbarrier_expect(u32 bar, int64_t bytes, Site s) {
  require_architecture(90, "mbarrier.expect_tx", s);
  const u32 pc = site_pc(s);
  MBarrier *b = find_barrier(bar, "expect", pc);
  use_barrier(b, current, false, pc);
  expect_bytes(b, bytes, pc);
  try_complete(b);
}
struct Arrival {
  u32 count;
  int64_t expect;      // bytes
  const Clocks &knows; // what waiters hear
  const char *what;
};
static void arrive(u32 bar, const Arrival &arrival, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  const auto [count, expect, knows, what] = arrival;
  Block *owner;
  MBarrier *b = find_barrier(bar, what, pc, &owner);
  const bool remote = owner != t->block;
  use_barrier(b, t, remote, pc);
  if (remote)
    note_remote(owner, t->slot, t->c.g.at[t->slot], pc);
  if (expect) {
    require_architecture(90, "mbarrier.expect_tx", s);
    expect_bytes(b, expect, pc);
  }
  if (b->pending < int(count)) {
    report("mbarrier",
           format("more arrivals than the %d of %s's phase %lld (bytes pending: %lld) at ",
                  b->count, describe(b->at).c_str(), (long long)b->phase, (long long)b->tx) +
               where(pc),
           pc);
    abandon();
  }
  b->pending -= int(count);
  b->now.join(knows);
  t->tick();
  try_complete(b);
}
void mbarrier_arrive(u32 bar, u32 count, int64_t expect, Site s) {
  arrive(bar, {count, expect, current->c, "arrive"}, s);
}
// The phase a thread waits for is told from the parities of its own waits, and from what it has been
// told of copies to phases that it has not waited for itself: those who take phases in turns tell
// each other. A barrier that has gone past that phase gives no meaning to the parity any more.
// Nothing is remembered of a wait that did not succeed: the same may be asked again.
static MBarrier *asked_for(u32 bar, u32 parity, u32 pc) {
  Thread *t = current;
  MBarrier *b = find_barrier(bar, "wait", pc);
  use_barrier(b, t, false, pc);
  auto it = t->phases_seen.find(b->at);
  const bool waited = it != t->phases_seen.end();
  int64_t wanted = std::max<int64_t>(waited ? it->second : -1, int64_t(t->c.g.get(b->slot)) - 1);
  if (((wanted & 1) != 0) != ((parity & 1) != 0))
    ++wanted;
  else if (waited && b->phase - 1 > wanted)
    wanted = b->phase - 1 - ((b->phase - 1 - wanted) & 1);
  if (b->phase - 1 > wanted)
    report("mbarrier",
           format("%s waits for phase %lld of %s, which is past phase %lld already (parity says "
                  "nothing then): ",
                  describe(t).c_str(), (long long)wanted, describe(b->at).c_str(),
                  (long long)(b->phase - 1)) +
               where(pc),
           pc);
  t->phases_seen[b->at] = wanted;
  return b;
}
static bool over(const MBarrier *b, u32 parity) { return (b->phase & 1) != int64_t(parity & 1); }
void mbarrier_wait(u32 bar, u32 parity, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  MBarrier *b = asked_for(bar, parity, pc);
  while (!over(b, parity)) {
    b->waiting.push_back(t);
    park(pc, "parity %d", int(parity), 0, 0, b->at);
  }
  t->c.join(b->done);
}
// The first try for a phase fails, as it may on hardware: who does not look at the result is found
// out.
bool mbarrier_try_wait(u32 bar, u32 parity, Site s) {
  const u32 pc = site_pc(s);
  MBarrier *b = asked_for(bar, parity, pc);
  auto [tried, first] = current->phases_tried.try_emplace(b->at, -1);
  const int64_t phase = current->phases_seen[b->at];
  if (first || tried->second != phase || !over(b, parity)) {
    tried->second = phase;
    yield_spinning(pc);
    return false;
  }
  current->c.join(b->done);
  return true;
}

void exit_checks(Block &b) {
  register_checks(b);
  Clock all;
  for (Thread *t : b.threads)
    all.join(t->c.g);
  for (auto &[a, m] : b.mbarriers) {
    if (m->tx != 0)
      report("mbarrier",
             format("%s ends with %lld bytes pending, last expect at ", describe(a).c_str(),
                    (long long)m->tx) +
                 where(m->expect_pc),
             m->expect_pc);
    else if (m->pending == m->count && all.get(m->slot) < u32(m->phase) &&
             m->done.g.get(m->slot) == u32(m->phase))
      report("exit",
             format("nobody waited for the last copies on %s, expected at ", describe(a).c_str()) +
                 where(m->expect_pc),
             m->expect_pc);
  }
}

// ---- copies of one thread: cp.async groups and bulk-store groups, both first in first out ----
void run_queue(Thread::Copies &c, u32 limit) {
  while (!c.queue.empty() && c.queue.front().first < limit) {
    auto run = std::move(c.queue.front().second);
    c.queue.pop_front();
    run();
  }
}
void start_copy(const char *what, u32 dst, const void *src, int bytes, int valid, u32 pc) {
  Thread *t = current;
  const Address to = shared_to_generic(dst), from = Address(src);
  if (valid && !global_address(from)) {
    report("out-of-bounds",
           format("%s from %s, which is no global memory: ", what, describe(from).c_str()) +
               where(pc),
           pc);
    abandon();
  }
  if (to % Address(bytes) || (valid && from % Address(bytes)))
    report("misaligned",
           format("%s of %d bytes from %s to %s: ", what, bytes, describe(from).c_str(),
                  describe(to).c_str()) +
               where(pc),
           pc);
  count_access(t, from, size_t(valid), false, pc);
  count_access(t, to, size_t(bytes), true, pc);
  if (!t->cp.slot)
    t->cp.slot = t->block->realm->new_slot(kGenericAgent);
  const bool later = settings.mode == kLate || (settings.mode == kRandom && random_number() % 2);
  const Epoch e = epoch(t->block->realm->id, t->cp.slot, t->cp.batch);
  const auto run = [=](const Clock &start) {
    const Actor a{e, &start, &start, &start, false, what};
    if (valid)
      access(a, from, size_t(valid), false, pc);
    access(a, to, size_t(bytes), true, pc);
    if (valid && device_address(from))
      std::memcpy(reinterpret_cast<void *>(to), src, size_t(valid));
    std::memset(reinterpret_cast<char *>(to) + valid, 0, size_t(bytes - valid));
  };
  if (later) {
    t->cp.queue.push_back({t->cp.commits, [run, start = t->c.g] { run(start); }});
  } else {
    run(t->c.g);
  }
  t->tick();
}
void cp_async(u32 dst, const void *src, int bytes, int valid, Site s) {
  start_copy("cp.async", dst, src, bytes, valid, site_pc(s));
}
void cp_async_commit() {
  auto &cp = current->cp;
  cp.last.push_back(cp.batch++);
  ++cp.commits;
}
void cp_async_wait(int pending) {
  Thread *t = current;
  const u32 limit = t->cp.commits > u32(pending) ? t->cp.commits - u32(pending) : 0;
  run_queue(t->cp, limit);
  if (t->cp.slot && limit)
    t->c.g.raise(t->cp.slot, t->cp.last[limit - 1]);
}
// The copies so far are done before the arrival, and known to whoever waits for it; what else the
// thread has done is not, as the arrival is not its own.
void cp_async_mbarrier_arrive(u32 bar, Site s) {
  Clocks copies;
  auto &cp = current->cp;
  run_queue(cp, ~0u);
  if (cp.slot)
    copies.g.raise(cp.slot, cp.batch++);
  arrive(bar, {1, 0, copies, "cp.async arrival"}, s);
}
void queue_bulk(std::function<void()> run, u32 pc) {
  Thread *t = current;
  t->bulk.open = true, t->bulk.pc = pc;
  t->tick();
  if (settings.mode == kLate || (settings.mode == kRandom && random_number() % 2))
    t->bulk.queue.push_back({t->bulk.commits, std::move(run)});
  else
    run();
}
void open_bulk(Thread *t) {
  if (t->bulk.slot)
    return;
  t->bulk.slot = t->block->realm->new_slot(kAsyncAgent);
  t->bulk.write_slot = t->block->realm->new_slot(kAsyncAgent);
}
void bulk_commit() { ++current->bulk.commits, current->bulk.open = false; }
void bulk_wait(int pending, bool read_only) {
  Thread *t = current;
  const u32 limit = t->bulk.commits > u32(pending) ? t->bulk.commits - u32(pending) : 0;
  run_queue(t->bulk, limit);
  if (!t->bulk.slot)
    return;
  t->bulk.waited_read = std::max(t->bulk.waited_read, limit);
  t->c.g.raise(t->bulk.slot, limit), t->c.v.raise(t->bulk.slot, limit);
  if (!read_only)
    t->c.g.raise(t->bulk.write_slot, limit), t->c.v.raise(t->bulk.write_slot, limit);
}
} // namespace emu
