// Conversions, executed on simulated threads.
#include "Execute.h"
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

TEST_CASE("conversions") {
  std::map<ConversionKind, int> kinds, replicated;
  for (int i = 0; i < 500; ++i) {
    // Two fragments of one tile: thread and register digits dealt at random.
    int lanes = 5, warps = static_cast<int>(pick(0, 2)), regs = static_cast<int>(pick(1, 4));
    bool warpsMove = coin(20), odd = coin(30);
    auto deal = [&](std::vector<int> order) {
      Layout l{{{"reg", {}}, {"thread", {}}}, {{"m", 1, 0, {}}}};
      int n = lanes + warps + regs;
      for (int r = 0; r < regs; ++r)
        l.inputs[0].radices.push_back(2);
      if (odd)
        l.inputs[0].radices.push_back(3);
      for (int t = 0; t < lanes + warps; ++t)
        l.inputs[1].radices.push_back(2);
      for (int k = 0; k < n; ++k) {
        int d = order[k] + (odd && order[k] >= regs ? 1 : 0);
        l.outputs[0].terms.push_back({DigitSet{1} << d, Index{1} << k, false});
      }
      l.outputs[0].size = Index{1} << n;
      if (odd)
        l.outputs[0].terms.push_back({DigitSet{1} << regs, Index{1} << n, false}),
            l.outputs[0].size *= 3;
      l.check();
      return l;
    };
    std::vector<int> a(lanes + warps + regs), b;
    std::iota(a.begin(), a.end(), 0);
    std::shuffle(a.begin(), a.end(), rng);
    b = a;
    std::vector<int> movable;
    for (int k = 0; k < static_cast<int>(b.size()); ++k)
      if (warpsMove || b[k] < regs + lanes)
        movable.push_back(k);
    for (int s = static_cast<int>(pick(0, 4)); s-- > 0;)
      std::swap(b[movable[pick(0, movable.size() - 1)]], b[movable[pick(0, movable.size() - 1)]]);
    Layout from = deal(a), to = deal(b);
    if (coin(30)) { // mix lanes
      auto &terms = to.outputs[0].terms;
      auto &x = terms[pick(0, a.size() - 1)], &y = terms[pick(0, a.size() - 1)];
      bool ok = &x != &y && !(odd && ((x.digits | y.digits) >> regs & 1));
      if (ok && !warpsMove) {
        DigitSet warpDigits = ~((DigitSet{1} << (regs + lanes + odd)) - 1);
        ok = !((x.digits | y.digits) & warpDigits);
      }
      if (ok)
        x.digits ^= y.digits;
    }
    Index bytes = Index{1} << pick(0, 3);
    Conversion c = planConversion(from, to, bytes);
    ++kinds[c.kind];
    EXPECT(simulate(c, from, to, bytes));
    EXPECT((c.kind <= ConversionKind::Registers) == needsNoThread(from, to));
    if (!warpsMove && (!c.shared || to.input("reg").size() * bytes <= 128))
      EXPECT(c.kind != ConversionKind::Shared);
    // The same through shared memory: never a conflict when all digits are bits.
    SharedPlan plan = deriveShared(from, to, bytes);
    Conversion forced;
    forced.kind = ConversionKind::Shared, forced.shared = plan;
    EXPECT(simulate(forced, from, to, bytes));
    EXPECT(plan.store.conflictFree() && plan.load.conflictFree());
  }
  for (auto kind : {ConversionKind::Registers, ConversionKind::Shuffle, ConversionKind::Shared})
    EXPECT(kinds[kind] > 0); // each kind was exercised
  // Replication on either side.
  for (int i = 0; i < 300; ++i) {
    Options o{coin(), true, true, false, 64};
    std::vector<Index> digits = randomDigits(o);
    auto make = [&] {
      Layout l = randomLayout({"reg", "thread"}, {"m"}, o, digits);
      Index t = l.input("thread").size();
      Layout pad = Layout::make({{"thread", {{std::max<Index>(1, 64 / t)}}}}, {});
      return t < 64 && 64 % t == 0 ? product(l, pad) : l;
    };
    Layout from = make(), to = make();
    if (from.input("thread").size() != to.input("thread").size() ||
        from.outputSizes() != to.outputSizes())
      continue;
    Conversion c = planConversion(from, to, 2);
    EXPECT(simulate(c, from, to, 2));
    EXPECT((c.kind <= ConversionKind::Registers) == needsNoThread(from, to));
    ++replicated[c.kind];
    EXPECT(sameHolders(from, to) == (needsNoThread(from, to) && needsNoThread(to, from)));
    EXPECT(sameHolders(from, broadcast(from, "m", 1)));
    EXPECT(planConversion(from, from, 2).kind == ConversionKind::None);
  }
  // Incompatible digits (96 = 3 * 32 against 32 * 3) go through shared memory; a guarded tile
  // ignores what lies outside.
  Layout minor3 = Layout::make({{"reg", {{3, "m"}}}, {"thread", {{32, "m", 3}}}}, {{"m", 96}}),
         major3 = Layout::make({{"reg", {{3, "m", 32}}}, {"thread", {{32, "m"}}}}, {{"m", 96}});
  Conversion stuck = planConversion(minor3, major3, 4);
  EXPECT(stuck.kind == ConversionKind::Shared && simulate(stuck, minor3, major3, 4) &&
         stuck.shared->store.conflictFree() && stuck.shared->load.conflictFree());
  Layout guardedRows = blocked({{"r", 64}, {"c", 64}}, 192, 8);
  Conversion guarded = planConversion(
      guardedRows,
      permuteOutputs(blocked({{"c", 64}, {"r", 64}}, 192, 8), {{"r", "r"}, {"c", "c"}}), 2, {},
      {{"r", 64}, {"c", 64}});
  EXPECT(guarded.kind == ConversionKind::Shared);
}

} // namespace tlc::test
