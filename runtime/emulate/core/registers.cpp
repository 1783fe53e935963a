// Registers: what becomes of each thread's, and how many a warp has.
#include <algorithm>

#include "engine.h"

// Whether the compiler tells of all accesses to arrays whose address is given away: g++ does.
// tools/emulate.sh links another definition for clang++.
extern "C" {
__attribute__((weak)) int emu_sees_registers = 1;
}

namespace emu {
// ---- contents
// Registers are arrays on the fiber's stack, as far as their address is given to somebody; the
// compiler tells of no others. A touch while an asynchronous product uses them is an error at once;
// otherwise it is dated, so that the next product can ask for its fence.
void check_flights(const void *p, size_t bytes, u32 pc, const char *how) {
  Thread *t = current;
  const Address at = Address(p);
  if (at >= t->flight_hi || at + bytes <= t->flight_lo)
    return;
  for (const Flight &f : t->flights)
    if (at < f.hi && at + bytes > f.lo) {
      report("in-flight",
             format("%s of a register of %s at ", how, describe(t).c_str()) + where(pc) +
                 " while the wgmma issued at " + where(f.pc) + " may still use it",
             pc, f.pc);
      return;
    }
}
void touch_registers(const void *p, size_t bytes, u32 pc, const char *how) {
  const Thread *t = current;
  const Address at = Address(p);
  if (!t->fences)
    return;
  check_flights(p, bytes, pc, how);
  u32 *touched = reinterpret_cast<u32 *>(kTouchBase + ((at - kStackBase) & ~Address(3)));
  for (size_t i = 0; i < (bytes + 3) / 4; ++i)
    touched[i] = t->fence_epoch;
}
static u8 *written_at(Address at) {
  return reinterpret_cast<u8 *>(kWrittenBase) + (at - kStackBase) / 4;
}
static Address &lowest_written(Address stack) { // what has to be forgotten reaches down to it
  static std::vector<Address> lowest(kStacks, ~Address(0));
  return lowest[(stack - kStackBase) / kStackBytes];
}
static bool is_register(const void *p, size_t bytes) {
  return current && settings.checks && Address(p) - current->stack < kStackBytes &&
         Address(p) + bytes <= current->stack + kStackBytes;
}
void mark_written(const void *p, size_t bytes) {
  if (!is_register(p, bytes))
    return;
  const Address at = Address(p);
  Address &lowest = lowest_written(current->stack);
  lowest = std::min(lowest, at);
  if (at % 4 == 0 && bytes % 4 == 0)
    std::memset(written_at(at), 15, bytes / 4);
  else
    for (Address b = at; b < at + bytes; ++b)
      *written_at(b) |= u8(1 << b % 4);
}
void leave_kernel() { current->in_kernel = false; }
void enter_kernel(size_t bytes) {
  current->in_kernel = true;
  if (!bytes)
    return;
  // They lie below what the caller's stack pointer was at this call; a few bytes more for
  // alignment.
  const Address caller = Address(__builtin_frame_address(0)) + 16;
  mark_written(reinterpret_cast<const void *>((caller - bytes - 64) & ~Address(3)), bytes + 64);
}
static bool in_registers(const void *p) { // of any thread
  return settings.checks && is_fiber_stack(Address(p));
}
bool all_written(const void *p, size_t bytes) {
  if (!emu_sees_registers || !in_registers(p))
    return true;
  const Address at = Address(p);
  for (Address b = at; b < at + bytes; ++b)
    if (!(*written_at(b) >> b % 4 & 1))
      return false;
  return true;
}
void mark_unwritten(const void *p, size_t bytes) {
  if (!in_registers(p))
    return;
  for (Address b = Address(p); b < Address(p) + bytes; ++b)
    *written_at(b) &= u8(~(1 << b % 4));
}
void check_written(const void *p, size_t bytes, u32 pc) {
  if (!emu_sees_registers || !is_register(p, bytes))
    return;
  for (Address b = Address(p); b < Address(p) + bytes; ++b)
    if (!(*written_at(b) >> b % 4 & 1)) {
      report("uninitialised",
             describe(current) + " reads a register that nothing has set: " + where(pc), pc);
      return mark_written(p, bytes); // told once
    }
}
void forget_registers(Address stack) {
  Address &lowest = lowest_written(stack);
  if (lowest < stack + kStackBytes)
    std::memset(written_at(lowest), 0, (stack + kStackBytes - lowest + 3) / 4);
  lowest = ~Address(0);
}
void write_registers(const void *p, size_t bytes, u32 pc) {
  if (!is_register(p, bytes))
    return;
  touch_registers(p, bytes, pc, "write");
  mark_written(p, bytes);
}
void read_registers(const void *p, size_t bytes, u32 pc) {
  if (!is_register(p, bytes))
    return;
  touch_registers(p, bytes, pc, "read");
  check_written(p, bytes, pc);
}

// ---- arrays that are too short for what an instruction takes of them
void no_room(size_t room, size_t bytes, Site s) {
  const u32 pc = site_pc(s);
  report("out-of-bounds",
         format("%zu bytes of an array that has %zu from there on, by %s: ", bytes, room,
                describe(current).c_str()) +
             where(pc),
         pc);
  abandon(); // what lies behind is another variable
}
void check_rooms(const Room &room, size_t c, size_t a, size_t b, Site s) {
  check_room(room.c, c, s), check_room(room.a, a, s), check_room(room.b, b, s);
}

// ---- setmaxnreg: what the launch gave the block is passed on between its warps
// What the launch gave every lane: 65536 registers shared out, in steps of 8.
static int given_registers(const Block &b) {
  return std::min(65536 / (int(b.warps.size()) * 32) / 8 * 8, 255);
}
static int held_registers(const Block &b) { // by a lane of each warp, in all
  int sum = 0;
  for (const Warp &w : b.warps)
    sum += w.registers ? w.registers : given_registers(b);
  return sum;
}
static void check_registers(Block &b, Warp &w, int count, bool up, u32 pc) {
  const int had = w.registers ? w.registers : given_registers(b);
  if (up ? count < had : count > had)
    report("registers",
           format("setmaxnreg.%s to %d, but the warp has %d: ", up ? "inc" : "dec", count, had) +
               where(pc),
           pc);
  w.registers_asked = count, w.registers_pc = pc;
  int sum = 0, known = 0;
  for (const Warp &o : b.warps)
    sum += o.registers_asked, known += o.registers_asked != 0;
  const int total = given_registers(b) * int(b.warps.size());
  if (known < int(b.warps.size()) || sum <= total)
    return;
  report("registers",
         format("setmaxnreg: the warps ask for %d registers a lane in all, the launch gave %d: ",
                sum, total) +
             where(pc),
         pc);
  abandon();
}
struct Registers {
  int count;
  bool up;
};
void set_max_registers(int count, bool up, Site s) {
  require_architecture(90, "setmaxnreg", s);
  Registers r{count, up};
  Thread *t = current;
  Block &b = *t->block;
  Warp &w = b.warps[size_t(t->warp)];
  const u32 pc = site_pc(s);
  if (count % 8 || count < 24 || count > 256)
    report("registers",
           format("setmaxnreg of %d, not a multiple of 8 in 24..256: ", count) + where(pc), pc);
  meet_warp("setmaxnreg", whole_warp(), s, &r, [](Meeting &m) {
    const int l = __builtin_ctzll(m.arrived);
    auto *r = static_cast<Registers *>(m.args[l]);
    Block &b = *m.threads[l]->block;
    Warp &w = b.warps[size_t(m.threads[l]->warp)];
    check_registers(b, w, r->count, r->up, site_pc(m.site));
    if (r->up)
      return;
    w.registers = r->count;
    for (Thread *o : b.waiting_for_registers)
      wake(o);
    b.waiting_for_registers.clear();
  });
  const int total = given_registers(b) * int(b.warps.size());
  while (w.registers != count) {
    const int had = w.registers ? w.registers : given_registers(b);
    if (held_registers(b) - had + count <= total) {
      w.registers = count;
      return;
    }
    b.waiting_for_registers.push_back(t);
    park(pc, "setmaxnreg: %d more registers a lane, %d of %d are taken", count - had,
         held_registers(b), total);
  }
}
void register_checks(Block &b) {
  for (size_t first = 0; first < b.warps.size(); first += 4)
    for (size_t i = first; i < std::min(first + 4, b.warps.size()); ++i)
      if (b.warps[i].registers_asked != b.warps[first].registers_asked) {
        const u32 pc = b.warps[b.warps[i].registers_asked ? i : first].registers_pc;
        report("registers",
               format("setmaxnreg by only some warps of warpgroup %zu: ", first / 4) + where(pc),
               pc);
        break;
      }
}
} // namespace emu
