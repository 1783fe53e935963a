// setmaxnreg: the registers that the launch gave the block are passed on between its warps.
#include <algorithm>

#include "engine.h"

namespace emu {
// ---- What the launch gave every lane: 65536 registers shared out, in steps of 8.
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
