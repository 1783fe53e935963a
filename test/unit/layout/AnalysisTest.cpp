// Vector widths, bank conflicts and sectors against counting.
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

TEST_CASE("tables of values") {
  for (int i = 0; i < 300; ++i) {
    Layout l = randomLayout({"a", "b"}, {"x", "y"}, {coin(), coin(), coin(30), coin(30), 256});
    for (OutputAxis &o : l.outputs) {
      Index base = coin() ? pick(1, 3) : 0;
      o.base += base;
      o.size += base;
      for (Term &t : o.terms)
        t.flip = l.radix(std::countr_zero(t.digits)) == 2 && coin(20);
    }
    const auto table = tabulate(l);
    REQUIRE(table.size() == 2);
    std::size_t at = 0;
    all(l, [&](const Point &, const Point &v) {
      EXPECT(table[0].at(at) == v[0] && table[1].at(at) == v[1]);
      ++at;
    });
    EXPECT(table[0].size() == at);
  }
}

TEST_CASE("access analysis") {
  for (int i = 0; i < 300; ++i) {
    Layout l = randomLayout({"reg", "thread"}, {"offset"}, {coin(), true, coin(30), coin(30), 256});
    Index v = vectorWidth(l, 16);
    Layout n = l;
    // Brute force: registers fall into the same groups of v for each thread, each group an aligned
    // run.
    auto grouped = [&](Index width) {
      std::map<Index, std::vector<Index>> first;
      Index threads = l.input("thread").size(), registers = l.input("reg").size();
      std::vector<std::pair<Index, Index>> position; // group leader, position in run; from thread 0
      for (Index t = 0; t < threads; ++t) {
        std::map<std::pair<Index, Index>, Index>
            by; // (run, position) -> register; a run can be held twice
        std::map<Index, std::vector<Index>> runs;
        for (Index r = 0; r < registers; ++r)
          runs[l({r, t})[0] / width].push_back(r);
        for (auto &[run, regs] : runs) {
          std::map<Index, Index> count;
          for (Index r : regs)
            ++count[l({r, t})[0] % width];
          if (static_cast<Index>(count.size()) != width)
            return false;
        }
        if (t == 0)
          for (Index r = 0; r < registers; ++r)
            position.emplace_back(l({r, 0})[0] / width, l({r, 0})[0] % width);
        for (Index r = 0; r < registers; ++r)
          for (Index s = 0; s < registers; ++s)
            if (position[r].first == position[s].first &&
                l({r, t})[0] / width != l({s, t})[0] / width)
              return false;
        for (Index r = 0; r < registers; ++r)
          if (l({r, t})[0] % width != position[r].second)
            return false;
      }
      return true;
    };
    EXPECT(grouped(v));
    bool plainBits = true; // complete where registers are bits that no XOR mixes; sound always
    for (int d = 0; d < l.digitCount(); ++d)
      plainBits = plainBits && l.radix(d) == 2;
    for (const Term &t : l.outputs[0].terms)
      plainBits = plainBits && std::popcount(t.digits) == 1;
    if (v < 16 && plainBits)
      EXPECT(!grouped(2 * v));
    // Bank conflicts against a direct count.
    for (Index bytes : {1, 2, 4, 8}) {
      if (v * bytes > 16)
        continue;
      for (bool cdna : {false, true}) {
        SharedMemory m;
        if (cdna)
          m.laneBasis = {1, 2, 20, 4, 8, 32};
        AccessCost cost = bankConflicts(l, v, bytes, m);
        Index warp = m.warp(), threads = l.input("thread").size(), instructions = 0, worstTotal = 0;
        Index lanes = std::min<Index>(warp, 128 / std::max<Index>(4, v * bytes));
        for (Index w = 0; w < threads; w += warp)
          for (Index r = 0; r < l.input("reg").size(); ++r) {
            bool leader = true;
            for (Index t = 0; t < threads; ++t)
              leader = leader && l({r, t})[0] % v == 0;
            if (!leader)
              continue;
            ++instructions;
            for (Index phase = 0; phase < warp; phase += lanes) {
              std::map<Index, std::set<Index>> banks;
              bool any = false;
              for (Index k = phase; k < phase + lanes; ++k) {
                Index lane = cdna ? (k & 3) | (k & 4 ? 20 : 0) : k;
                if (cdna)
                  lane ^= (k & 8 ? 4 : 0) ^ (k & 16 ? 8 : 0) ^ (k & 32);
                if (w + lane >= threads)
                  continue;
                any = true;
                for (Index b = 0; b < v * bytes; ++b) {
                  Index word = (l({r, w + lane})[0] * bytes + b) / 4;
                  banks[word % 32].insert(word);
                }
              }
              std::size_t worst = 0;
              for (auto &[bank, words] : banks)
                worst = std::max(worst, words.size());
              if (any)
                worstTotal += static_cast<Index>(worst);
            }
          }
        if (threads % warp == 0)
          EXPECT(cost.wavefronts == worstTotal && cost.instructions == instructions);
        EXPECT(cost.ideal <= cost.wavefronts);
      }
      AccessCost global = sectors(l, v, bytes);
      Index total = 0;
      for (Index w = 0; w < l.input("thread").size(); w += 32)
        for (Index r = 0; r < l.input("reg").size(); ++r) {
          bool leader = true;
          for (Index t = 0; t < l.input("thread").size(); ++t)
            leader = leader && l({r, t})[0] % v == 0;
          if (!leader)
            continue;
          std::set<Index> touched;
          for (Index t = w; t < std::min(w + 32, l.input("thread").size()); ++t)
            for (Index b = 0; b < v * bytes; ++b)
              touched.insert((l({r, t})[0] * bytes + b) / 32);
          total += static_cast<Index>(touched.size());
        }
      EXPECT(global.wavefronts == total);
    }
    Layout memory = randomLayout({"r", "c"}, {"offset"}, {coin(30), true, false, coin(30), 256});
    for (auto &axis : memory.inputs) {
      Index run = contiguity(memory, axis.name), a = &axis - memory.inputs.data();
      bool good = true;
      all(memory, [&](const Point &p, const Point &value) {
        if (p[a] % run == run - 1)
          return;
        Point next = p;
        ++next[a];
        good = good && memory(next)[0] == value[0] + 1;
      });
      EXPECT(good);
    }
    Separation s = separation(l, l.outputs[0], "reg");
    bool adds = true, xors = true;
    Index zero = l(Point(2, 0))[0];
    all(l, [&](const Point &p, const Point &value) {
      Index a = l({p[0], 0})[0], b = l({0, p[1]})[0];
      adds = adds && value[0] == a + b - zero;
      xors = xors && value[0] == (a ^ b ^ zero);
    });
    if (s == Separation::Add)
      EXPECT(adds);
    if (s == Separation::Xor)
      EXPECT(xors);
    if (s == Separation::None)
      EXPECT(!adds);
  }
}
} // namespace tlc::test
