// Random layouts and brute force, for tests that check each operation against its definition.
#pragma once

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Conversion.h"
#include "layout/Expression.h"
#include "layout/Fit.h"
#include "layout/Layout.h"
#include "layout/Shape.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tlc::test {

/// A check that is cheap to pass: the tests make millions.
#define EXPECT(...)                                                                                \
  do {                                                                                             \
    if (!(__VA_ARGS__))                                                                            \
      FAIL_CHECK(#__VA_ARGS__);                                                                    \
  } while (0)

inline std::mt19937 rng(12345);

inline Index pick(Index low, Index high) {
  return std::uniform_int_distribution<Index>(low, high)(rng);
}
inline bool coin(int percent = 50) { return pick(0, 99) < percent; }

template <class F> void all(const Layout &l, F f) {
  forEachPoint(l, [&](const Point &p) { f(p, l(p)); });
}

/// Inputs and outputs that agree on every point.
inline bool sameFunction(const Layout &a, const Layout &b) {
  if (a.inputSizes() != b.inputSizes() || a.outputs.size() != b.outputs.size())
    return false;
  bool same = true;
  all(a, [&](const Point &p, const Point &v) { same = same && b(p) == v; });
  return same;
}

struct Options {
  bool xors = true, odd = true, replicate = false, pad = false;
  Index limit = 400;
};

inline std::vector<Index> randomDigits(const Options &o) {
  std::vector<Index> digits;
  for (Index n = 1;;) {
    Index r = o.odd && coin(25) ? (coin() ? 3 : 5) : 2;
    if (n * r > o.limit || (n > 16 && coin(10)))
      break;
    digits.push_back(r), n *= r;
  }
  return digits;
}

/// Digits dealt to input axes and, in another order, to output axes; rows of the bit part are mixed
/// by XOR.
inline Layout randomLayout(const std::vector<std::string> &inputs,
                           const std::vector<std::string> &outputs, const Options &o,
                           std::vector<Index> digits = {}) {
  if (digits.empty())
    digits = randomDigits(o);
  Layout l;
  for (auto &n : inputs)
    l.inputs.push_back({n, {}});
  for (auto &n : outputs)
    l.outputs.push_back({n, 1, 0, {}});
  std::vector<std::pair<std::size_t, Index>> dealt; // input axis, radix; negative radix: free
  for (Index r : digits)
    dealt.emplace_back(pick(0, inputs.size() - 1), r);
  if (o.replicate)
    for (Index n = pick(0, 2); n-- > 0;)
      dealt.emplace_back(pick(0, inputs.size() - 1), coin(80) ? -2 : -3);
  std::shuffle(dealt.begin(), dealt.end(), rng);
  std::vector<std::pair<int, Index>> real;
  int id = 0;
  for (std::size_t a = 0; a < inputs.size(); ++a)
    for (auto [axis, r] : dealt)
      if (axis == a) {
        l.inputs[a].radices.push_back(std::abs(r));
        if (r > 0)
          real.emplace_back(id, r);
        ++id;
      }
  std::shuffle(real.begin(), real.end(), rng);
  for (auto [digit, r] : real) {
    OutputAxis &out = l.outputs[pick(0, outputs.size() - 1)];
    if (o.pad && coin(25))
      out.size += out.size * pick(1, 2);
    out.terms.push_back({DigitSet{1} << digit, out.size, false});
    out.size *= r;
  }
  if (o.xors) {
    std::vector<Term *> bits;
    for (OutputAxis &out : l.outputs)
      for (Term &t : out.terms)
        if (l.radix(std::countr_zero(t.digits)) == 2)
          bits.push_back(&t);
    for (int n = bits.size() > 1 ? static_cast<int>(pick(0, 4)) : 0; n-- > 0;) {
      Term *a = bits[pick(0, bits.size() - 1)], *b = bits[pick(0, bits.size() - 1)];
      if (a != b)
        a->digits ^= b->digits;
    }
  }
  l.check();
  return l;
}

} // namespace tlc::test
