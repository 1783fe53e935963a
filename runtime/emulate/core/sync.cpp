// Block, named, cluster and warp barriers; warp collectives; atomics and fences; thread exit.
#include <algorithm>
#include <array>

#include "engine.h"

namespace emu {
static std::string at(Site s) { return where(site_pc(s)); }
static bool same(Site a, Site b) { return a.line == b.line && !std::strcmp(a.file, b.file); }

// ---- block and named barriers: a warp's live lanes meet first, then the warp arrives as one ----
static Lanes live_lanes(Block &b, int warp) {
  Lanes m = 0;
  const size_t first = size_t(warp * settings.lanes);
  for (int l = 0; l < settings.lanes && first + size_t(l) < b.threads.size(); ++l)
    if (!b.threads[first + size_t(l)]->done)
      m |= lane_bit(l);
  return m;
}
static void release_barrier(BlockBarrier &b) {
  count(Counter::barriers, site_pc(b.first));
  for (Thread *t : b.waiting) {
    t->c.join(b.c);
    if (t != current)
      wake(t);
  }
  b.waiting.clear(), b.warps.clear(), b.c.clear();
  b.arrived = b.expected = 0;
  b.result = b.votes, b.votes = 0;
}
/// A warp that comes to a barrier must know that its last round is over; else it might have been
/// taken for one that was waited for then.
static void check_round(const BlockBarrier &b, const std::vector<Thread *> &lanes, int id, u32 pc) {
  if (std::any_of(lanes.begin(), lanes.end(),
                  [&](const Thread *t) { return t->c.g.get(b.last.slot) >= b.last.time; }))
    return;
  report("barrier-count",
         format("%s comes to barrier %d at ", describe(lanes[0]).c_str(), id) + where(pc) +
             " and does not know whether the round that others began at " + at(b.last.site) +
             " is over",
         pc, site_pc(b.last.site));
}
/// What a barrier learns of a thread that comes to it.
static void join_arrival(Clocks &c, Thread *t, bool only) {
  u32 &time = t->c.g.at[t->slot];
  const u32 now = time;
  if (only && t->unsettled) // its stores may still be on their way
    time = t->unsettled - 1;
  else
    t->unsettled = 0;
  c.join(t->c);
  time = now;
  t->tick();
}
static void warp_arrives(Block &k, int warp) {
  Warp &w = k.warps[size_t(warp)];
  settle_requests(w);
  auto &g = w.gather;
  const u32 pc = site_pc(g.site);
  BlockBarrier &b = k.barriers[g.id];
  const int threads = g.threads ? g.threads : k.live;
  check_round(b, g.lanes, g.id, pc);
  if (b.arrived == 0) {
    b.expected = threads, b.first = g.site, b.whole = g.threads == 0;
  } else if (b.expected != threads) {
    report("barrier-count",
           format("barrier %d expects %d threads at ", g.id, b.expected) + at(b.first) +
               format(" but %d at ", threads) + where(pc),
           pc, site_pc(b.first));
    abandon();
  }
  if (std::find(b.warps.begin(), b.warps.end(), warp) != b.warps.end())
    report("barrier-count",
           format("warp %d arrives again at barrier %d, which still waits since ", warp, g.id) +
               at(b.first) + ": " + where(pc),
           pc, site_pc(b.first));
  b.warps.push_back(warp);
  const u32 slot = g.lanes[0]->slot, time = g.only ? 0 : g.lanes[0]->c.g.at[slot];
  for (Thread *t : g.lanes)
    join_arrival(b.c, t, g.only);
  b.arrived += g.threads ? settings.lanes : int(g.lanes.size());
  for (Thread *t : g.lanes)
    if (g.wait)
      b.waiting.push_back(t);
    else if (t != current)
      wake(t);
  const Site site = g.site;
  g.lanes.clear(), g.mask = 0;
  if (b.arrived < b.expected)
    return;
  release_barrier(b);
  b.last = {slot, time, site};
}
static void arrive_block(int id, int threads, Site s, bool wait, bool only = false) {
  Thread *t = current;
  Block &k = *t->block;
  const u32 pc = site_pc(s);
  if (id < 0 || id > 15) {
    report("barrier", format("barrier number %d does not exist: ", id) + where(pc), pc);
    abandon();
  }
  if (threads % settings.lanes || threads < 0 || threads > int(k.warps.size()) * settings.lanes) {
    report("barrier-count",
           format("barrier %d with %d threads, not a whole number of the block's warps: ", id,
                  threads) +
               where(pc),
           pc);
    abandon();
  }
  auto &g = k.warps[size_t(t->warp)].gather;
  if (g.mask && (g.id != id || g.threads != threads || g.wait != wait || !same(g.site, s))) {
    report("divergence",
           format("lanes of warp %d meet barrier %d at ", t->warp, g.id) + at(g.site) +
               format(" and barrier %d at ", id) + where(pc),
           pc, site_pc(g.site));
    abandon();
  }
  if (!g.mask)
    g.id = id, g.threads = threads, g.wait = wait, g.only = only, g.site = s;
  g.mask |= lane_bit(t->lane);
  g.lanes.push_back(t);
  BlockBarrier &b = k.barriers[id];
  const bool last = g.mask == live_lanes(k, t->warp);
  if (last)
    warp_arrives(k, t->warp);
  if (!last || (wait && std::find(b.waiting.begin(), b.waiting.end(), t) != b.waiting.end()))
    park(pc, "barrier %d", id);
}
void barrier_sync(int id, int threads, Site s) { arrive_block(id, threads, s, true); }
void barrier_only(Site s) { arrive_block(0, 0, s, true, true); }
void barrier_arrive(int id, int threads, Site s) { arrive_block(id, threads, s, false); }

int barrier_count(bool p, Site s) {
  BlockBarrier &b = current->block->barriers[0];
  b.votes += p;
  arrive_block(0, 0, s, true);
  return b.result; // the next round cannot end before this thread has come to it
}

// ---- grid barrier: every thread of a cooperative launch ----
void grid_sync(Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  if (!running->cooperative) {
    report("barrier", "grid barrier in a launch that is not cooperative: " + where(pc), pc);
    abandon();
  }
  GridBarrier &b = running->grid;
  int live = 0;
  for (auto &block : running->blocks)
    live += block->live;
  const u32 realm = t->block->realm->id;
  b.g.gather(t->c.g, realm), b.v.gather(t->c.v, realm), b.u.gather(t->c.u, realm);
  t->tick();
  const int64_t ticket = b.generation;
  if (++b.arrived >= live) {
    count(Counter::barriers, pc);
    b.g.finish(), b.v.finish(), b.u.finish();
    b.arrived = 0, ++b.generation;
    for (Thread *o : b.waiting)
      wake(o);
    b.waiting.clear();
  }
  while (b.generation == ticket) {
    b.waiting.push_back(t);
    park(pc, "grid barrier (%d of %d threads there)", b.arrived, live);
  }
  b.g.tell(t->c.g, realm), b.v.tell(t->c.v, realm), b.u.tell(t->c.u, realm);
}

// ---- cluster barrier: every live thread arrives, then waits ----
static int cluster_live(Block *b) {
  int n = 0;
  for (Block *o : *b->cluster)
    n += o->live;
  return n;
}
static ClusterBarrier &cluster_barrier(Block *b) {
  return running->cluster_barriers[b->cluster - running->clusters.data()];
}
static void finish_cluster(ClusterBarrier &b) {
  b.done = b.now, b.now.clear();
  b.arrived = 0, ++b.generation;
  for (Thread *t : b.waiting)
    wake(t);
  b.waiting.clear();
}
static void misuse(const char *what, Site s) {
  report("barrier", describe(current) + what + at(s), site_pc(s));
  abandon();
}
void cluster_arrive(Site s) {
  require_architecture(90, "cluster barrier", s);
  Thread *t = current;
  ClusterBarrier &b = cluster_barrier(t->block);
  if (t->cluster_arrived)
    misuse(" arrives twice at the cluster's barrier without a wait: ", s);
  t->cluster_arrived = true;
  b.now.join(t->c);
  t->tick();
  t->cluster_ticket = b.generation;
  if (++b.arrived >= cluster_live(t->block)) {
    count(Counter::barriers, site_pc(s));
    finish_cluster(b);
  }
}
void cluster_wait(Site s) {
  Thread *t = current;
  ClusterBarrier &b = cluster_barrier(t->block);
  const u32 pc = site_pc(s);
  if (!t->cluster_arrived)
    misuse(" waits at the cluster's barrier without an arrival: ", s);
  t->cluster_arrived = false;
  while (b.generation == t->cluster_ticket) {
    b.waiting.push_back(t);
    park(pc, "cluster barrier (%d of %d threads there)", b.arrived, cluster_live(t->block));
  }
  t->c.join(b.done);
}
u32 cluster_rank() { return u32(current->block->rank); }

// ---- warp collectives ----
static std::string text_of(Lanes mask) {
  return settings.lanes == 64 ? format("%016llx", (unsigned long long)mask)
                              : format("%08x", u32(mask));
}
void meet_warp(const char *what, Lanes mask, Site s, void *arg, void (*run)(Meeting &)) {
  Thread *t = current;
  Warp &w = t->block->warps[size_t(t->warp)];
  const Lanes bit = lane_bit(t->lane);
  const u32 pc = site_pc(s);
  if (!(mask & bit)) {
    report("collective",
           format("%s: lane %d is not in its own mask ", what, t->lane) + text_of(mask) + ": " +
               where(pc),
           pc);
    abandon();
  }
  Meeting *m = nullptr;
  for (auto &p : w.meetings)
    if (p->mask & mask)
      m = p.get();
  if (m && (m->mask != mask || std::strcmp(m->what, what) || !same(m->site, s))) {
    report("collective",
           format("unequal rendezvous in warp %d: %s (mask ", t->warp, what) + text_of(mask) +
               ") at " + where(pc) + format(" meets %s (mask ", m->what) + text_of(m->mask) +
               ") at " + at(m->site),
           pc, site_pc(m->site));
    abandon();
  }
  if (!m) {
    w.meetings.push_back(std::make_unique<Meeting>());
    m = w.meetings.back().get();
    m->what = what, m->mask = mask, m->site = s;
  }
  m->args[t->lane] = arg, m->threads[t->lane] = t, m->arrived |= bit;
  if ((m->arrived & mask) == (mask & live_lanes(*t->block, t->warp))) {
    run(*m);
    if (mask == whole_warp())
      settle_requests(w);
    for (int l = 0; l < kLanes; ++l)
      if ((m->arrived & lane_bit(l)) && m->threads[l] != t)
        wake(m->threads[l]);
    w.meetings.erase(
        std::find_if(w.meetings.begin(), w.meetings.end(), [&](auto &p) { return p.get() == m; }));
    return;
  }
  park(pc, "warp collective in warp %d (%d of %d lanes there)", t->warp,
       __builtin_popcountll(m->arrived), __builtin_popcountll(mask));
}

int lanes_of_warp() { return settings.lanes; }
void warp_sync(Lanes mask, Site s) {
  meet_warp("syncwarp", mask, s, nullptr, [](Meeting &m) {
    Clocks all;
    for (int l = 0; l < kLanes; ++l)
      if (m.arrived & lane_bit(l))
        all.join(m.threads[l]->c);
    for (int l = 0; l < kLanes; ++l)
      if (m.arrived & lane_bit(l))
        m.threads[l]->c.join(all), m.threads[l]->tick();
  });
}
struct Shuffle {
  u64 in, out;
  int how, lane, width;
};
static int source_lane(const Shuffle &x, int l) {
  const int base = l / x.width * x.width, end = base + x.width;
  switch (x.how) {
  case kIndex:
    return base + (x.lane & (x.width - 1));
  case kXor:
    return (l ^ x.lane) < end ? l ^ x.lane : l;
  case kUp:
    return l - x.lane >= base ? l - x.lane : l;
  default:
    return l + x.lane < end ? l + x.lane : l;
  }
}
u64 shuffle(Lanes mask, u64 bits, int how, int lane, int width, Site s) {
  Shuffle x{bits, bits, how, lane, width};
  meet_warp("shuffle", mask, s, &x, [](Meeting &m) {
    m.each<Shuffle>([&](int l, Shuffle &x) {
      const int from = source_lane(x, l);
      if (from != l && !(m.arrived & lane_bit(from)))
        report("collective",
               format("shuffle reads lane %d, which takes no part: ", from) + at(m.site),
               site_pc(m.site));
      else
        x.out = static_cast<Shuffle *>(m.args[from])->in;
    });
  });
  return x.out;
}
u64 ballot(Lanes mask, bool p, Site s) {
  u64 x = p;
  meet_warp("vote", mask, s, &x, [](Meeting &m) {
    u64 all = 0;
    m.each<u64>([&](int l, u64 &x) { all |= x ? lane_bit(l) : 0; });
    m.each<u64>([&](int, u64 &x) { x = all; });
  });
  return x;
}
struct Match {
  u64 value;
  Lanes mask;
};
u64 match_any(Lanes mask, u64 bits, Site s) {
  Match x{bits, 0};
  meet_warp("match", mask, s, &x, [](Meeting &m) {
    m.each<Match>([&](int, Match &x) {
      m.each<Match>([&](int o, Match &y) { x.mask |= x.value == y.value ? lane_bit(o) : 0; });
    });
  });
  return x.mask;
}
u64 active_mask() { return lane_bit(current->lane); }
bool elect(Lanes mask, Site s) {
  bool leader = false;
  meet_warp("elect", mask, s, &leader,
            [](Meeting &m) { *static_cast<bool *>(m.args[__builtin_ctzll(m.arrived)]) = true; });
  return leader;
}

// ---- atomics and fences: edges only where release meets acquire, at a scope that covers both ----
struct Released {
  Clocks clocks;
  u32 realm = 0;
  Block *block = nullptr;
  bool on = false;
};
static std::unordered_map<Address, std::array<Released, 3>> released; // by scope
static void learn(Clocks &c, const Clocks &o, u32 from, u32 own) {
  c.g.learn(o.g, from, own), c.v.learn(o.v, from, own), c.u.learn(o.u, from, own);
}

void atomic_begin(const void *p, size_t bytes, bool write, bool load, Order, Scope scope, Site s) {
  const Address a = Address(p);
  const u32 pc = site_pc(s);
  if (a % bytes)
    report("misaligned",
           format("atomic of %zu bytes at %s: ", bytes, describe(a).c_str()) + where(pc), pc);
  if (!device_address(a)) {
    report("out-of-bounds", "atomic outside device memory: " + where(pc), pc);
    abandon();
  }
  if (load && !write)
    yield_spinning(pc);
  access_atomic(a, bytes, write, load, scope, pc);
}
static void acquire(Thread *t, Address a, Order o, Scope scope) {
  const u32 own = t->block->realm->id;
  const auto it = released.find(home(a));
  if (it == released.end())
    return;
  for (int sc = 0; sc < 3; ++sc) {
    const Released &r = it->second[size_t(sc)];
    if (!r.on)
      continue;
    const bool covers =
        sc == kGpu ||
        (r.realm == own &&
         (r.block == t->block || (sc == kCluster && r.block->cluster == t->block->cluster)));
    const bool hears = scope == kGpu || r.realm == own;
    if (!covers || !hears)
      continue;
    if (o == kAcquire || o == kAcqRel)
      learn(t->c, r.clocks, r.realm, own);
    else
      learn(t->heard[scope], r.clocks, r.realm, own), t->has_heard[scope] = true;
  }
}
static void release(Thread *t, Address a, Order o, Scope scope) {
  const u32 own = t->block->realm->id;
  auto &slots = released[home(a)];
  for (int sc = 0; sc < 3; ++sc) {
    const Clocks *c = nullptr;
    int reach = sc;
    if ((o == kRelease || o == kAcqRel) && sc == scope)
      c = &t->c;
    else if (t->fenced[sc])
      c = &t->fence[sc], reach = std::min(sc, int(scope));
    if (!c)
      continue;
    Released &r = slots[size_t(reach)];
    if (r.on && r.realm != own) { // a release sequence across blocks keeps the earlier part
      Clocks mine = *c;
      learn(mine, r.clocks, r.realm, own);
      r.clocks = mine;
    } else {
      r.clocks.join(*c);
    }
    r.on = true, r.realm = own, r.block = t->block;
  }
}
void atomic_end(const void *p, size_t, bool write, bool load, Order o, Scope scope) {
  Thread *t = current;
  const Address a = Address(p);
  if (load)
    acquire(t, a, o, scope);
  if (!write)
    return;
  if (!load) // who reads this value hears nothing of what was released before
    released.erase(home(a));
  release(t, a, o, scope);
  t->tick();
}
void fence(Scope scope) {
  Thread *t = current;
  for (int sc = 0; sc <= scope; ++sc) {
    if (t->has_heard[sc])
      t->c.join(t->heard[sc]);
    t->fence[sc] = t->c, t->fenced[sc] = true;
  }
  t->tick();
}
void nanosleep() { yield_spinning(0); }
void poll(Site s) { yield_spinning(site_pc(s)); }
void assume(bool fact, Site s) {
  if (fact)
    return;
  const u32 pc = site_pc(s);
  report("assumption", "the compiler was told what does not hold: " + where(pc), pc);
}
void trap(Site s) {
  const u32 pc = site_pc(s);
  report("trap", describe(current) + " ends the launch: " + where(pc), pc);
  abandon();
}
void forget_releases() { released.clear(); }

// ---- exit ----
void thread_exit(Thread *t) {
  Block &b = *t->block;
  if (!t->flights.empty() || t->commits != t->waited)
    report("exit",
           describe(t) + " ends while its wgmma is in flight, issued at " +
               where(t->flights.empty() ? 0 : t->flights[0].pc),
           0);
  if (t->bulk.slot && (t->bulk.open || t->bulk.waited_read < t->bulk.commits))
    report("exit",
           describe(t) + " ends while its bulk store may still read shared memory, issued at " +
               where(t->bulk.pc),
           t->bulk.pc);
  leave_early(t);
  t->done = true;
  --b.live;
  Warp &w = b.warps[size_t(t->warp)];
  // A lane that ends leaves the masks, as on hardware; but who already waits for it was promised
  // it.
  for (auto &m : w.meetings)
    if ((m->mask & lane_bit(t->lane)) && m->arrived)
      report("collective",
             format("%s at ", m->what) + at(m->site) +
                 format(" waits for lane %d, which has ended", t->lane),
             site_pc(m->site));
  BlockBarrier &bar = b.barriers[0];
  if (bar.whole && bar.arrived)
    bar.expected = b.live;
  if (w.gather.mask && w.gather.mask == live_lanes(b, t->warp))
    warp_arrives(b, t->warp);
  if (bar.whole && bar.arrived && bar.arrived >= b.live)
    release_barrier(bar);
  ClusterBarrier &cb = cluster_barrier(&b);
  cb.now.join(t->c);
  if (cb.arrived && cb.arrived >= cluster_live(&b))
    finish_cluster(cb);
  if (b.live == 0) { // may others still reach into this block?
    b.exited = true;
    Clock all;
    for (Thread *o : b.threads)
      all.join(o->c.g);
    for (auto &[slot, last] : b.remote)
      if (all.get(slot) < last.first)
        report("exit",
               format("block (%u,%u,%u) may end before a peer reaches its shared memory at ",
                      b.index.x, b.index.y, b.index.z) +
                   where(last.second),
               last.second);
  }
}
void note_remote(Block *owner, u32 slot, u32 time, u32 pc) {
  if (owner->exited)
    report("exit",
           format("shared memory of block (%u,%u,%u) used after that block ended: ", owner->index.x,
                  owner->index.y, owner->index.z) +
               where(pc),
           pc);
  auto &last = owner->remote[slot];
  if (last.first < time)
    last = {time, pc};
}

std::string deadlock_text(Group &g) {
  std::map<std::pair<std::string, u32>, std::vector<Thread *>>
      by; // whoever waits at one line for one thing
  for (auto &t : g.threads)
    if (!t->done)
      by[{t->spinning     ? ""
          : t->waiting_at ? describe(t->waiting_at)
                          : format("%d", t->waiting_for[0]),
          t->waiting_pc}]
          .push_back(t.get());
  std::string s = format("no thread of %zu block(s) can go on:", g.blocks.size());
  for (auto &[why, ts] : by) {
    const Thread &t = *ts.back(); // the last to come knows the most
    const std::string what =
        t.spinning  ? "polls memory that nobody writes"
        : t.waiting ? format(t.waiting, t.waiting_for[0], t.waiting_for[1], t.waiting_for[2])
                    : "?";
    s += format("\n      %zu thread(s), first %s: %s%s at ", ts.size(), describe(ts[0]).c_str(),
                what.c_str(), t.waiting_at ? (" of " + describe(t.waiting_at)).c_str() : "") +
         where(why.second);
  }
  for (auto &b : g.blocks)
    for (int i = 0; i < 16; ++i)
      if (b->barriers[i].arrived)
        s += format("\n      barrier %d: %d of %d threads there, first at ", i,
                    b->barriers[i].arrived, b->barriers[i].expected) +
             at(b->barriers[i].first);
  for (auto &b : g.blocks)
    for (auto &[a, m] : b->mbarriers)
      if (!m->waiting.empty())
        s += format("\n      mbarrier %s: phase %lld, %d of %d arrivals pending, %lld bytes "
                    "pending, last expect at ",
                    describe(a).c_str(), (long long)m->phase, m->pending, m->count,
                    (long long)m->tx) +
             where(m->expect_pc);
  return s;
}
} // namespace emu
