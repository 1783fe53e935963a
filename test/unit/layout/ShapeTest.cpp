// Shape changes and blocked distributions.
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

TEST_CASE("shape changes") {
  int reshaped = 0, impossible = 0;
  for (int i = 0; i < 300; ++i) {
    Layout l = randomLayout({"x", "y"}, {"m", "n"}, {true, true, coin(), false});
    Sizes in = l.inputSizes(), out = l.outputSizes();
    auto split = [](Index n) {
      Index d = 1;
      for (Index k = 2; k <= n; ++k)
        if (n % k == 0 && coin(40)) {
          d = k;
          break;
        }
      return std::pair{n / d, d};
    };
    Index all_in = in[0].second * in[1].second, all_out = out[0].second * out[1].second;
    Index a0, a1, b0, b1;
    std::tie(a0, a1) = split(all_in);
    std::tie(b0, b1) = split(all_out);
    if (auto v = reshapeInputs(l, {{"p", a0}, {"q", a1}})) {
      ++reshaped;
      all(*v, [&](const Point &p, const Point &r) {
        Index f = p[0] * a1 + p[1];
        EXPECT(r == l({f / in[1].second, f % in[1].second}));
      });
    } else {
      impossible +=
          std::holds_alternative<Misfit>(fit({{"p", a0}, {"q", a1}}, out, [&](const Point &p) {
            Index f = p[0] * a1 + p[1];
            return l({f / in[1].second, f % in[1].second});
          }));
    }
    if (auto v = reshapeOutputs(l, {{"p", b0}, {"q", b1}})) {
      ++reshaped;
      all(*v, [&](const Point &p, const Point &r) {
        Point o = l(p);
        EXPECT(r[0] * b1 + r[1] == o[0] * out[1].second + o[1]);
      });
    } else {
      impossible +=
          std::holds_alternative<Misfit>(fit(in, {{"p", b0}, {"q", b1}}, [&](const Point &p) {
            Point o = l(p);
            Index f = o[0] * out[1].second + o[1];
            return Point{f / b1, f % b1};
          }));
    }
    Layout t = permuteInputs(l, {{"y", "a"}, {"x", "b"}});
    all(t, [&](const Point &p, const Point &v) { EXPECT(v == l({p[1], p[0]})); });
    Layout u = permuteOutputs(l, {{"n", "a"}, {"m", "b"}});
    all(u, [&](const Point &p, const Point &v) {
      Point o = l(p);
      EXPECT(v[0] == o[1] && v[1] == o[0]);
    });
    // slices of an input
    Index size = 1;
    for (Index r : l.inputs[0].radices)
      if (coin(60))
        size *= r;
      else
        break;
    Index start = size * pick(0, in[0].second / size - 1);
    if (auto s = sliceInput(l, "x", start, size))
      all(*s, [&](const Point &p, const Point &v) { EXPECT(v == l({p[0] + start, p[1]})); });
    else
      EXPECT(false && "aligned slice refused");
    if (auto s = sliceInput(l, "x", pick(0, in[0].second - 1), 1))
      EXPECT(s->domainSize() == in[1].second);
    // reduction and broadcast
    Layout f = randomLayout({"reg", "thread"}, {"m", "n"}, {coin(), true, coin(), false});
    Layout r = reduceOutput(f, "n");
    std::map<Index, std::set<Index>> before, after;
    all(f, [&](const Point &p, const Point &v) { before[p[1]].insert(v[0]); });
    all(r, [&](const Point &p, const Point &v) { after[p[1]].insert(v[0]); });
    EXPECT(before == after);
    EXPECT(r.input("reg").size() <= f.input("reg").size());
    Layout b = broadcast(r, "n", 3);
    all(b, [&](const Point &p, const Point &v) {
      Index regs = r.input("reg").size();
      EXPECT(v[0] == r({p[0] % regs, p[1]})[0] && v[1] == p[0] / regs);
    });
    // continued beyond the end
    Layout memory = randomLayout({"x", "y"}, {"m"}, {coin(), true, false, coin()});
    Layout longer = extendInput(memory, "x", memory.input("x").size() + pick(0, 9));
    all(memory, [&](const Point &p, const Point &v) { EXPECT(longer(p) == v); });
    bool legal = true;
    try {
      longer.check();
    } catch (const LayoutError &) {
      legal = false;
    }
    EXPECT(legal);
    // slices of a fragment
    Index n = f.output("m").size;
    for (Index len = 1; len <= n; ++len) {
      if (n % len)
        continue;
      Index first = len * pick(0, n / len - 1);
      auto s = sliceOutput(f, "m", first, len);
      if (!s)
        continue;
      std::map<Index, std::set<Point>> want, have;
      all(f, [&](const Point &p, const Point &v) {
        if (v[0] >= first && v[0] < first + len)
          want[p[1]].insert({v[0] - first, v[1]});
      });
      all(s->part, [&](const Point &p, const Point &v) {
        have[p[1]].insert(v);
        Point whole = f({s->registers({p[0]})[0], p[1]});
        EXPECT(whole[0] == v[0] + first && whole[1] == v[1]);
      });
      EXPECT(want == have);
    }
  }
  // A slice that must be refused: half of the columns of an accumulator lies in other threads.
  EXPECT(!sliceOutput(mmaC(), "n", 0, 4));
  EXPECT(sliceOutput(mmaC(), "m", 8, 8).has_value());
  // f32 -> 2 x f16 view: registers double, columns double.
  Layout view = product(Layout::make({{"reg", {{2, "n"}}}}, {{"m", 1}, {"n", 2}}), mmaC());
  all(view, [&](const Point &p, const Point &v) {
    Point o = mmaC()({p[0] / 2, p[1]});
    EXPECT(v[0] == o[0] && v[1] == 2 * o[1] + p[0] % 2);
  });
}

TEST_CASE("blocked") {
  for (Index threads : {32, 64, 96, 128, 192, 256, 384})
    for (Sizes tile : std::vector<Sizes>{{{"r", 64}, {"c", 64}},
                                         {{"r", 128}, {"c", 96}},
                                         {{"r", 80}, {"c", 80}},
                                         {{"r", 64}, {"c", 576}},
                                         {{"r", 192}, {"c", 32}},
                                         {{"r", 1}, {"c", 229}},
                                         {{"r", 4}, {"c", 229}},
                                         {{"r", 3}, {"c", 8}}})
      for (Index vector : {1, 4, 8}) {
        if (tile[1].second % vector)
          continue;
        Layout l = blocked(tile, threads, vector);
        EXPECT(l.input("thread").size() == threads);
        std::set<Point> covered;
        all(l, [&](const Point &, const Point &v) { covered.insert(v); });
        bool complete = true;
        for (Index r = 0; r < tile[0].second; ++r)
          for (Index c = 0; c < tile[1].second; ++c)
            complete = complete && covered.count({r, c});
        EXPECT(complete);
        EXPECT(vectorWidth(*compose(Layout::rowMajor(l.outputSizes()), l), vector) == vector);
      }
  EXPECT(blocked({{"r", 64}, {"c", 576}}, 384, 8).outputSizes() == (Sizes{{"r", 64}, {"c", 576}}));
  EXPECT(blocked({{"r", 128}, {"c", 96}}, 192, 8).outputSizes() == (Sizes{{"r", 128}, {"c", 96}}));
}

} // namespace tlc::test
