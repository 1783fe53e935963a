// Fibers, scheduling and launches.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"
#include "engine.h"

// What the emitted file was compiled for: tools/emulate.sh links a definition that says it.
extern "C" {
__attribute__((weak)) const char *emu_device = "90";
}

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emu {
Settings settings;
Thread *current = nullptr;
Group *running = nullptr;
u32 fence_counter = 0;
static const std::function<void()> *launch_body;
static Launch launch_now;
static u32 realm_counter = 0;
// Launches are done one after the other, but one may be allowed to begin before those before it
// have ended. Realms up to `ended` have all the same.
static struct {
  u32 ended = 0, first = 0; // before, and of this launch
  bool waited = false;      // a thread had waited for earlier ones before the next one could begin
} launches;
static u64 random_state = 1;
static void *scheduler_sp;

u64 random_number() {
  random_state ^= random_state << 13, random_state ^= random_state >> 7,
      random_state ^= random_state << 17;
  return random_state;
}

#if defined(__x86_64__)
// Saves the callee-saved registers on the stack, stores the stack pointer, takes the other one.
extern "C" void emu_switch(void **save, void *to);
asm(R"(
.text
.globl emu_switch
.type emu_switch, @function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch, .-emu_switch
.section .note.GNU-stack,"",@progbits
.text
)");
#else
#error "only x86-64 so far: add emu_switch for this processor"
#endif

static void leave() { emu_switch(&current->sp, scheduler_sp); }

static void fiber_main() {
  (*launch_body)();
  Thread *t = current;
  thread_exit(t);
  t->done = true;
  leave();
  __builtin_unreachable();
}

void park(u32 pc, const char *why, int a, int b, int c, Address at) {
  Thread *t = current;
  t->waiting = why, t->waiting_for[0] = a, t->waiting_for[1] = b, t->waiting_for[2] = c;
  t->waiting_at = at, t->waiting_pc = pc;
  leave();
}
void wake(Thread *t) {
  if (t->ready || t->done)
    return;
  t->ready = true;
  running->working += !t->spinning;
  running->ready.push_back(t);
}
void abandon() {
  running->abandoned = true;
  leave();
  __builtin_unreachable();
}
void yield_spinning(u32 pc) {
  current->spinning = true;
  current->waiting_pc = pc;
  wake(current);
  leave();
  current->spinning = false;
}
void post(std::function<void()> run) {
  if (settings.mode == kEarly)
    return run();
  running->pending.push_back({std::move(run)});
}
static bool run_pending() {
  auto &q = running->pending;
  if (q.empty())
    return false;
  const size_t i = settings.mode == kRandom ? random_number() % q.size() : 0;
  auto run = std::move(q[i].run);
  q.erase(q.begin() + i);
  run();
  return true;
}

static void run_group(Group &g) {
  running = &g;
  size_t idle_spins = 0;
  u64 seen_stores = stores;
  while (g.live > 0 && !g.abandoned) {
    if (settings.mode == kRandom && random_number() % 8 == 0)
      run_pending();
    if (g.working == 0) { // nobody can run, or only threads that poll
      if (run_pending())
        continue;
      if (stores != seen_stores)
        idle_spins = 0, seen_stores = stores;
      // Atomics that change nothing look like polls: only very many of them are a deadlock.
      if (g.ready.empty() || ++idle_spins > 20000 + 64 * g.threads.size()) {
        report("deadlock", deadlock_text(g), 0);
        g.abandoned = true;
        break;
      }
    } else {
      idle_spins = 0;
    }
    size_t i = 0;
    if (settings.mode == kRandom)
      i = random_number() % g.ready.size();
    Thread *t = g.ready[i];
    g.ready.erase(g.ready.begin() + i);
    t->ready = false;
    g.working -= !t->spinning;
    current = t;
    threadIdx = {t->index.x, t->index.y, t->index.z};
    blockIdx = {t->block->index.x, t->block->index.y, t->block->index.z};
    emu_switch(&scheduler_sp, t->sp);
    settle_equal_store();
    current = nullptr;
    if (t->done)
      --g.live;
  }
  while (!g.abandoned && run_pending()) {
  }
  if (!g.abandoned)
    for (auto &b : g.blocks)
      exit_checks(*b);
  for (auto &b : g.blocks) {
    for (Warp &w : b->warps)
      settle_requests(w);
    reset_shared(*b);
  }
  running = nullptr;
}

static void map_at(Address base, size_t bytes) {
  void *p = mmap(reinterpret_cast<void *>(base), bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (p != reinterpret_cast<void *>(base)) {
    std::fprintf(stderr, "emu: cannot reserve the address range at %zx\n", size_t(base));
    std::exit(3);
  }
}
// A wild access that reached no hook, or lies outside every range the emulator knows.
static void on_fault(int signal, siginfo_t *info, void *context) {
#if defined(__x86_64__)
  const auto pc = code_pc(reinterpret_cast<void *>(
                      static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP])) +
                  1;
  if (current && signal == SIGFPE) // a GPU goes on with a number that means nothing
    report("division", "of a whole number by zero, by " + describe(current) + ": " + where(pc), pc);
  else if (current)
    report("wild",
           format("access to %p by %s: ", info->si_addr, describe(current).c_str()) + where(pc),
           pc);
#endif
  flush_reports(code_pc(launch_now.kernel) + 1);
  std::fflush(nullptr);
  _exit(139);
}
struct Maps {
  Maps() {
    static char alternate[65536];
    stack_t stack{};
    stack.ss_sp = alternate, stack.ss_size = sizeof alternate;
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_fault, action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    sigaction(SIGFPE, &action, nullptr);
    map_at(kGlobalBase, kGlobalSize);
    ensure_windows(1);
    map_at(kStackBase, kStackBytes * kStacks);
    map_at(kTouchBase, kStackBytes * kStacks);
    map_at(kWrittenBase, kStackBytes * kStacks / 4);
    map_at(kCellBase, kDeviceSize / 4 * sizeof(Cell));
    map_at(kStateBase, kDeviceSize / 4);
    map_at(kOwnerBase, kWindowBytes / 4 * sizeof(u16));
    const char *mode = std::getenv("EMU_MODE");
    const char *seed = std::getenv("EMU_SEED");
    const char *checks = std::getenv("EMU_CHECKS");
    const char *sms = std::getenv("EMU_SMS");
    const char *keep_going = std::getenv("EMU_KEEP_GOING");
    const char *device = std::getenv("EMU_ARCH");
    if (const char *counts = std::getenv("EMU_COUNTS"); counts && *counts)
      start_counting(counts);
    if (mode)
      settings.mode = *mode == 'l' ? kLate : *mode == 'r' ? kRandom : kEarly;
    if (seed)
      settings.seed = std::strtoull(seed, nullptr, 10);
    if (checks)
      settings.checks = *checks != '0';
    choose_device(device && *device ? device : emu_device);
    if (keep_going)
      settings.keep_going = *keep_going && *keep_going != '0';
    if (sms)
      settings.sms = std::atoi(sms);
  }

private:
  /// "80", or "gfx942": waves of AMD's compute devices have 64 lanes, of its graphics devices 32.
  static void choose_device(const char *name) {
    const bool amd = !std::strncmp(name, "gfx", 3);
    settings.gfx = amd ? u32(std::strtoul(name + 3, nullptr, 16)) : 0;
    settings.architecture = amd ? 0 : std::atoi(name);
    settings.lanes = amd && settings.gfx < 0x1000 ? 64 : 32;
    if (amd)
      settings.sms = settings.gfx == 0x908                             ? 120
                     : settings.gfx == 0x90a                           ? 104
                     : settings.gfx == 0x942                           ? 304
                     : settings.gfx == 0x950                           ? 256
                     : settings.gfx >= 0x1100 && settings.gfx < 0x1200 ? 48
                                                                       : 32;
    else
      settings.sms = settings.architecture >= 90 ? 132 : settings.architecture == 80 ? 108 : 72;
  }
};
static Maps &maps() {
  static Maps m;
  return m;
}
void ensure_maps() { maps(); }

// ---- launches that overlap
u32 earlier_slot() {
  return launch_now.cluster.x * launch_now.cluster.y * launch_now.cluster.z * launch_now.block.x *
         launch_now.block.y * launch_now.block.z;
}
Earlier earlier_launch(u32 realm) {
  return realm >= launches.first   ? Earlier::no
         : realm <= launches.ended ? Earlier::ended
                                   : Earlier::mayRun;
}
void grid_dependency_wait() {
  current->c.g.raise(earlier_slot(), 1);
  current->tick();
}
void leave_early(Thread *t) { launches.waited |= !t->triggered && knows_earlier(t->c.g); }
void grid_dependency_launch() {
  leave_early(current);
  current->triggered = true;
}
void finish_launches() {
  reset_global();
  realm_counter = 0;
  launches = {};
}
static void begin_launch(const Launch &l) {
  const u32 clusters = l.grid.x * l.grid.y * l.grid.z / (l.cluster.x * l.cluster.y * l.cluster.z);
  if (!l.dependent || realm_counter + clusters >= kGroupMarks)
    finish_launches();
  else if (launches.waited)
    launches.ended = launches.first - 1;
  launches.first = realm_counter + 1, launches.waited = false;
}

static dim3_t unlinear(u32 i, dim3_t d) { return {i % d.x, i / d.x % d.y, i / d.x / d.y}; }

static void run_blocks(const std::vector<u32> &indices, u32 per_cluster) {
  Group g;
  g.cooperative = launch_now.cooperative;
  const u32 threads = launch_now.block.x * launch_now.block.y * launch_now.block.z;
  const u32 lanes = u32(settings.lanes);
  for (u32 i = 0; i < indices.size(); ++i) {
    auto b = std::make_unique<Block>();
    b->group = &g;
    b->index = unlinear(indices[i], launch_now.grid);
    b->arena = int(i);
    b->rank = int(i % per_cluster);
    b->live = int(threads);
    b->shared_bytes = u32(launch_now.shared);
    b->warps.resize((threads + lanes - 1) / lanes);
    b->warpgroups.resize((threads + 127) / 128);
    g.blocks.push_back(std::move(b));
  }
  g.clusters.resize(indices.size() / per_cluster);
  g.realms.resize(g.clusters.size());
  for (Realm &r : g.realms)
    r.id = ++realm_counter;
  g.cluster_barriers.resize(g.clusters.size());
  for (u32 i = 0; i < indices.size(); ++i) {
    g.clusters[i / per_cluster].push_back(g.blocks[i].get());
    g.blocks[i]->cluster = &g.clusters[i / per_cluster];
    g.blocks[i]->realm = &g.realms[i / per_cluster];
  }
  for (auto &b : g.blocks)
    for (u32 i = 0; i < threads; ++i) {
      auto t = std::make_unique<Thread>();
      t->block = b.get();
      t->index = unlinear(i, launch_now.block);
      t->linear = int(i), t->lane = int(i % lanes), t->warp = int(i / lanes);
      t->slot = b->realm->new_slot(kThread);
      b->realm->threads.push_back(t.get());
      t->c.g.at.assign(per_cluster * threads, 0);
      t->c.v.at.assign(per_cluster * threads, 0);
      t->c.g.at[t->slot] = 1;
      t->stack = kStackBase + g.threads.size() * kStackBytes;
      forget_registers(t->stack);
      auto *top = reinterpret_cast<void **>(t->stack + kStackBytes - 64);
      *--top = nullptr; // keeps the stack aligned as after a call
      *--top = reinterpret_cast<void *>(fiber_main);
      for (int r = 0; r < 6; ++r)
        *--top = nullptr;
      t->sp = top;
      b->threads.push_back(t.get());
      t->ready = true;
      ++g.working;
      g.ready.push_back(t.get());
      g.threads.push_back(std::move(t));
    }
  for (Realm &r : g.realms)
    r.new_slot(kThread); // earlier_slot()
  g.live = int(g.threads.size());
  run_group(g);
}

int launch(const Launch &l, const std::function<void()> &body) {
  maps();
  forget_tiles();
  launch_now = l;
  gridDim = {l.grid.x, l.grid.y, l.grid.z}, blockDim = {l.block.x, l.block.y, l.block.z};
  launch_body = &body;
  random_state = settings.seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
  const u32 blocks = l.grid.x * l.grid.y * l.grid.z, threads = l.block.x * l.block.y * l.block.z;
  const u32 per_cluster = l.cluster.x * l.cluster.y * l.cluster.z;
  const u32 together = l.cooperative ? blocks : per_cluster;
  const dim3_t clusters = {l.grid.x / l.cluster.x, l.grid.y / l.cluster.y, l.grid.z / l.cluster.z};
  if (threads == 0 || threads > 1024 || l.shared + kReserved > kArena - 16 * kReserved ||
      l.grid.x % l.cluster.x || l.grid.y % l.cluster.y || l.grid.z % l.cluster.z ||
      per_cluster > 16 || together > u32(kArenas) || u64(together) * threads > u64(kStacks) ||
      blocks / per_cluster >= kGroupMarks)
    return 1;
  begin_launch(l);
  std::vector<u32> order(blocks / together);
  for (u32 i = 0; i < order.size(); ++i)
    order[i] = i;
  if (settings.mode == kRandom)
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random_number() % i]);
  const int before = report_events();
  for (u32 o : order) {
    std::vector<u32> indices(together);
    for (u32 i = 0; i < together; ++i) { // clusters one after the other
      const dim3_t c = unlinear((o * together + i) / per_cluster, clusters),
                   b = unlinear(i % per_cluster, l.cluster);
      indices[i] = (c.x * l.cluster.x + b.x) +
                   l.grid.x * ((c.y * l.cluster.y + b.y) + l.grid.y * (c.z * l.cluster.z + b.z));
    }
    run_blocks(indices, per_cluster);
    if (report_events() > before && !settings.keep_going)
      break;
  }
  forget_releases();
  flush_reports(code_pc(l.kernel) + 1);
  return report_events() > before ? 719 : 0;
}

void set_mode(int mode, u64 seed, bool checks) {
  maps();
  settings.mode = Mode(mode), settings.seed = seed, settings.checks = checks;
}
void *shared_arena(size_t align) {
  // What is not asked for is not given: an arena that declares less alignment gets just that.
  Block *b = current->block;
  b->shared_lo = kReserved + u32(align >= 1024 ? 0 : align < 16 ? 16 : align);
  return reinterpret_cast<void *>(b->base() + b->shared_lo);
}
} // namespace emu
