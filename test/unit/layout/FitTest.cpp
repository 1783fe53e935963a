// Fitting sampled functions, and expressions evaluated again.
#include "Execute.h"
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

TEST_CASE("fit") {
  int fitted = 0, total = 0;
  for (int i = 0; i < 300; ++i) {
    Layout l = randomLayout({"x", "y"}, {"u", "v"}, {coin(), true, coin(30), coin(30)});
    bool oddXor = false; // XORs at weights that are no powers of two are not looked for
    for (const OutputAxis &o : l.outputs)
      for (const Term &t : o.terms)
        oddXor = oddXor || (std::popcount(t.digits) > 1 &&
                            !std::has_single_bit(static_cast<std::uint64_t>(t.weight)));
    if (oddXor)
      continue;
    if (coin(30)) { // a constant
      for (OutputAxis &o : l.outputs)
        for (Term &t : o.terms)
          if (l.radix(std::countr_zero(t.digits)) == 2 && coin(30))
            t.flip = true;
    }
    ++total;
    auto found = fit(l.inputSizes(), l.outputSizes(), [&](const Point &p) { return l(p); });
    if (auto *f = std::get_if<Layout>(&found)) {
      ++fitted;
      EXPECT(sameFunction(*f, l));
      checkExpressions(*f);
    } else {
      EXPECT(false && "not fitted");
    }
    // One wrong value is found at its point, and nowhere else.
    Point bad;
    for (auto &[name, size] : l.inputSizes())
      bad.push_back(pick(0, size - 1));
    if (l.domainSize() < 16)
      continue;
    auto broken = fit(l.inputSizes(), l.outputSizes(), [&](const Point &p) {
      Point v = l(p);
      if (p == bad)
        v[0] = (v[0] + 1) % l.outputs[0].size;
      return v;
    });
    if (l.outputs[0].size > 1) {
      if (auto *m = std::get_if<Misfit>(&broken))
        EXPECT(m->expected != m->fitted);
      else
        EXPECT(std::get<Layout>(broken)(bad) != l(bad)); // the change happened to be a layout too
    }
  }
  auto layoutOf = [](auto v) {
    return std::holds_alternative<Layout>(v) ? std::optional(std::get<Layout>(v)) : std::nullopt;
  };
  // User lambdas as they are written.
  auto swizzle = layoutOf(fit({{"r", 64}, {"c", 64}}, {{"offset", 4096}}, [](const Point &p) {
    return Point{p[0] * 64 + ((p[1] / 8) ^ (p[0] % 8)) * 8 + p[1] % 8};
  }));
  EXPECT(swizzle && equal(*swizzle, swizzledTile(3, 2, 64, 64)));
  auto flat = layoutOf(fit({{"i", 4096}}, {{"offset", 4096}},
                           [](const Point &p) { return Point{p[0] ^ ((p[0] >> 6 & 7) << 3)}; }));
  EXPECT(flat.has_value());
  auto padded = layoutOf(fit({{"r", 96}, {"c", 80}}, {{"offset", 96 * 88}}, [](const Point &p) {
    return Point{p[0] * 88 + (p[1] ^ (p[0] & 4) * 2)};
  }));
  EXPECT(padded.has_value());
  auto reversed =
      layoutOf(fit({{"i", 16}}, {{"offset", 16}}, [](const Point &p) { return Point{15 - p[0]}; }));
  EXPECT(reversed.has_value());
  auto frag =
      layoutOf(fit({{"m", 96}, {"n", 96}}, {{"thread", 192}, {"reg", 48}}, [](const Point &p) {
        Index warp = p[0] / 32 + 3 * (p[1] / 48), lane = p[0] % 8 * 4 + p[1] % 8 / 2;
        return Point{warp * 32 + lane,
                     p[1] % 2 + 2 * (p[0] % 16 / 8) + 4 * (p[1] % 48 / 8) + 24 * (p[0] % 32 / 16)};
      }));
  EXPECT(frag && invert(*frag));
  // Refused, with the point.
  for (auto f : std::vector<std::function<Point(const Point &)>>{
           [](const Point &p) { return Point{p[0] * p[0] % 64}; },
           [](const Point &p) { return Point{(p[0] * 5 + 3) % 61}; },
           [](const Point &p) { return Point{p[0] < 17 ? p[0] : p[0] + 1}; },
           [](const Point &p) { return Point{(p[0] * 3) & 63}; }}) {
    auto v = fit({{"i", 60}}, {{"offset", 64}}, f);
    EXPECT(std::holds_alternative<Misfit>(v));
    if (auto *m = std::get_if<Misfit>(&v))
      EXPECT(f(m->at) == m->expected && m->fitted != m->expected);
  }
  auto outside = fit({{"i", 8}}, {{"offset", 8}}, [](const Point &p) { return Point{p[0] + 1}; });
  EXPECT(std::holds_alternative<Misfit>(outside) && std::get<Misfit>(outside).at == Point{7});
}

TEST_CASE("expressions") {
  for (int i = 0; i < 150; ++i) {
    Layout l = randomLayout({"x", "y"}, {"u", "v"}, {true, true, coin(), coin(), 200});
    checkExpressions(l);
    l.normalize();
    checkExpressions(l);
  }
  Layout s = swizzledTile(3, 2, 64, 128);
  std::string text = expression(s, s.outputs[0]);
  EXPECT(text == "(c >> 6) * 4096 + r * 64 + ((r ^ (c >> 3)) & 7) * 8 + (c & 7)");
  Layout c = wgmmaC(96);
  EXPECT(expression(c, c.output("m")) ==
         "(thread >> 5) * 16 + ((reg >> 1) & 1) * 8 + ((thread >> 2) & 7)");
  EXPECT(expression(c, c.output("n")) == "(reg >> 2) * 8 + (thread & 3) * 2 + (reg & 1)");
  checkExpressions(c);
}

} // namespace tlc::test
