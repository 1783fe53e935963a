// Normal form, composition, inversion, products: each operation against its definition, point by
// point.
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

TEST_CASE("normal form and equality") {
  for (int i = 0; i < 300; ++i) {
    Layout l = randomLayout({"x", "y"}, {"u", "v"}, {true, true, coin(), coin()});
    Layout n = l;
    n.normalize();
    EXPECT(sameFunction(l, n));
    EXPECT(equal(l, n));
    EXPECT(n.digitCount() <= l.digitCount());
    Layout again = n;
    again.normalize();
    EXPECT(again.str() == n.str());
    Layout other = randomLayout({"x", "y"}, {"u", "v"}, {true, true, coin(), coin(), 40});
    EXPECT(equal(l, other) == sameFunction(l, other));
    Layout twin = l; // one term changed, if it stays legal
    if (!twin.outputs[0].terms.empty() && twin.outputs[0].terms[0].weight > 1) {
      twin.outputs[0].terms[0].weight -= 1;
      EXPECT(equal(l, twin) == sameFunction(l, twin));
    }
  }
  Layout odd = Layout::make({{"x", {{3, "y"}, {32, "y", 3}}}}, {{"y", 96}});
  EXPECT(equal(odd, Layout::identity({{"x", 96}})) == false); // the output axis is y, not x
  EXPECT(equal(odd, Layout::make({{"x", {{32, "y"}, {3, "y", 32}}}}, {{"y", 96}})));
  EXPECT(odd.str() == "x(96:y) -> y<96");
  bool thrown = false;
  try {
    Layout::make({{"x", {{4, "y", 3}}}}, {{"y", 8}});
  } catch (const LayoutError &) {
    thrown = true;
  }
  EXPECT(thrown);
}

TEST_CASE("compose") {
  int made = 0, refused = 0;
  for (int i = 0; i < 800; ++i) {
    Options o{true, true, coin(), false};
    std::vector<Index> digits = randomDigits(o);
    Layout f = randomLayout({"x", "y"}, {"u", "v"}, o, digits);
    Layout g;
    if (coin(30)) {
      g = Layout::strided(f.outputSizes(), {pick(1, 9), pick(1, 90)}, "z");
    } else if (coin(60)) { // g's digits follow f's output digits
      g.inputs = {{"u", {}}, {"v", {}}};
      g.outputs = {{"z", 1, 0, {}}};
      int d = 0;
      std::vector<std::pair<int, Index>> ids;
      for (int a = 0; a < 2; ++a) {
        auto terms = f.outputs[a].terms;
        std::sort(terms.begin(), terms.end(), [](auto &p, auto &q) { return p.weight < q.weight; });
        for (const Term &t : terms) {
          Index r = std::has_single_bit(t.digits) ? f.radix(std::countr_zero(t.digits)) : 2;
          g.inputs[a].radices.push_back(r);
          ids.emplace_back(d++, r);
        }
      }
      std::shuffle(ids.begin(), ids.end(), rng);
      OutputAxis &z = g.outputs[0];
      for (auto [id, r] : ids)
        z.terms.push_back({DigitSet{1} << id, z.size, false}),
            z.size = z.size * r + (coin(20) ? pick(1, 5) : 0);
      for (Term &t : z.terms)
        for (const Term &s : z.terms)
          if (coin(20) && &s != &t && g.radix(std::countr_zero(s.digits)) == 2 &&
              g.radix(std::countr_zero(t.digits)) == 2 && std::has_single_bit(s.digits))
            t.digits |= s.digits;
      g.check();
    } else {
      std::vector<Index> shuffled = digits;
      g = randomLayout({"u", "v"}, {"z"}, o, shuffled);
      if (g.inputSizes() != f.outputSizes())
        continue;
    }
    auto h = compose(g, f);
    ++(h ? made : refused);
    if (!h)
      continue;
    all(f, [&](const Point &p, const Point &v) { EXPECT((*h)(p) == g(v)); });
    bool threw = false;
    try {
      h->check();
    } catch (const LayoutError &) {
      threw = true;
    }
    EXPECT(!threw);
  }
  EXPECT(made > refused);
  made = refused = 0;
  for (int i = 0; i < 600; ++i) { // one middle axis, its digits in independent orders
    Options o{coin(), true, coin(30), false};
    std::vector<Index> digits = randomDigits(o);
    Layout f = randomLayout({"x", "y"}, {"u"}, o, digits),
           g = randomLayout({"u"}, {"z", "w"}, {coin(), true, false, false}, digits);
    auto h = compose(g, f);
    ++(h ? made : refused);
    if (h)
      all(f, [&](const Point &p, const Point &v) { EXPECT((*h)(p) == g(v)); });
    else
      EXPECT(std::holds_alternative<Misfit>(
          fit(f.inputSizes(), g.outputSizes(), [&](const Point &p) { return g(f(p)); })));
  }
  // A plain axis takes any digits, an XORed one only those that respect its bits.
  Layout three = Layout::make({{"x", {{3, "y"}, {32, "y", 3}}}}, {{"y", 96}});
  EXPECT(compose(Layout::strided({{"y", 96}}, {5}, "z"), three).has_value());
  Layout bits = Layout::identity({{"y", 96}});
  bits.xorInto("y", 1, "y", 8);
  EXPECT(compose(bits, Layout::make({{"x", {{32, "y"}, {3, "y", 32}}}}, {{"y", 96}})).has_value());
  Layout skew = Layout::make({{"x", {{3, "y"}}}, {"w", {{32, "y", 3}}}}, {{"y", 96}});
  EXPECT(!compose(bits, skew));
}

TEST_CASE("invert") {
  int made = 0, refused = 0;
  for (int i = 0; i < 600; ++i) {
    Layout l = randomLayout({"reg", "thread"}, {"u", "v"}, {true, true, coin(), coin(40)});
    auto inverse = invert(l);
    ++(inverse ? made : refused);
    if (!inverse)
      continue;
    all(l, [&](const Point &, const Point &v) { EXPECT(l((*inverse)(v)) == v); });
    Index range = 1;
    for (auto &[name, size] : l.outputSizes())
      range *= size;
    if (range == l.domainSize()) {
      bool injective = true;
      std::set<Point> seen;
      all(l,
          [&](const Point &, const Point &v) { injective = seen.insert(v).second && injective; });
      if (injective)
        all(l, [&](const Point &p, const Point &v) { EXPECT((*inverse)(v) == p); });
    }
  }
  EXPECT(made > 5 * refused);
  Layout padded = Layout::rowMajor({{"r", 64}, {"c", 64}}, "offset", 8);
  auto back = invert(padded);
  EXPECT(back.has_value());
  if (back)
    all(padded, [&](const Point &p, const Point &v) { EXPECT((*back)(v) == p); });
  int padFree = 0, padRefused = 0;
  for (int i = 0; i < 200; ++i) { // any pitches
    Index a = pick(1, 12), b = pick(1, 12), c = pick(1, 12), pitch = c + pick(0, 5),
          plane = b * pitch + pick(0, 9);
    Layout l = Layout::strided({{"x", a}, {"y", b}, {"z", c}}, {plane, pitch, 1}, "offset",
                               a * plane + pick(0, 9));
    auto inverse = invert(l);
    ++(inverse ? padFree : padRefused);
    if (inverse)
      all(l, [&](const Point &p, const Point &v) { EXPECT((*inverse)(v) == p); });
  }
  Layout shifted = Layout::identity({{"x", 8}});
  shifted.outputs[0].base = 1, shifted.outputs[0].size = 9;
  EXPECT(!invert(shifted));
}

TEST_CASE("product and divide") {
  int divided = 0, refusedRandom = 0;
  for (int i = 0; i < 400; ++i) {
    Layout a = randomLayout({"reg", "thread"}, {"m", "n"}, {true, true, false, false, 32});
    Layout b = randomLayout(coin() ? std::vector<std::string>{"reg", "thread"}
                                   : std::vector<std::string>{"thread", "warp"},
                            {"m", "n"}, {true, true, coin(), false, 32});
    Layout p = product(a, b);
    Sizes units = a.outputSizes();
    all(p, [&](const Point &x, const Point &v) {
      Point low, high;
      for (auto &axis : a.inputs)
        low.push_back(x[&p.input(axis.name) - p.inputs.data()] % axis.size());
      for (auto &axis : b.inputs)
        high.push_back(x[&p.input(axis.name) - p.inputs.data()] /
                       (a.hasInput(axis.name) ? a.input(axis.name).size() : 1));
      Point va = a(low), vb = b(high);
      EXPECT(v[0] == va[0] + units[0].second * vb[0] && v[1] == va[1] + units[1].second * vb[1]);
    });
    auto rest = divide(p, a);
    EXPECT(rest.has_value());
    divided += rest.has_value();
    if (rest)
      EXPECT(sameFunction(product(a, *rest), p));
    Layout other = randomLayout({"reg", "thread"}, {"m", "n"}, {true, true, false, false, 32});
    auto wrong = divide(p, other);
    if (wrong)
      EXPECT(sameFunction(product(other, *wrong), p));
    else
      ++refusedRandom;
    // Renumbered registers.
    Layout lone = randomLayout({"reg", "thread"}, {"m", "n"}, {false, true, false, false, 32});
    Layout q = product(
        lone, randomLayout({"reg", "thread"}, {"m", "n"}, {false, true, coin(), false, 32}));
    std::vector<Digit> digits;
    std::vector<std::pair<Index, Index>> order;
    Index at = 1;
    for (Index n = q.input("reg").size(), r = 2; n > 1;)
      if (n % r == 0)
        order.emplace_back(r, at), at *= r, n /= r;
      else
        ++r;
    std::shuffle(order.begin(), order.end(), rng);
    for (auto [r, place] : order)
      digits.push_back({r, "reg", place});
    Layout renumber =
        Layout::make({{"reg", digits}, {"thread", {{q.input("thread").size(), "thread"}}}},
                     {{"reg", q.input("reg").size()}, {"thread", q.input("thread").size()}});
    auto renumbered = compose(q, renumber);
    if (!renumbered)
      continue;
    auto division = divideModulo(*renumbered, lone, "reg");
    if (division) {
      Layout whole = product(lone, division->rest);
      all(whole, [&](const Point &x, const Point &v) {
        EXPECT((*renumbered)({division->order({x[0]})[0], x[1]}) == v);
      });
    } else {
      EXPECT(!divide(*renumbered, lone));
    }
  }
}

} // namespace tlc::test
