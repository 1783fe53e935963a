// Fitting a layout to a sampled function. See Fit.h.
#include "layout/Fit.h"
#include "layout/Digits.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tlc {

using namespace detail;

namespace {

struct Sampler {
  const Sizes &inputs;
  const std::function<Point(const Point &)> &f;
  struct Unit {
    std::size_t axis;
    Index place, radix;
  };
  std::vector<Unit> units;

  Point at(std::initializer_list<std::pair<std::size_t, Index>> coordinates) const {
    Point p(inputs.size(), 0);
    for (auto [axis, value] : coordinates)
      p[axis] += value;
    return f(p);
  }
  /// Finds runs along each axis over which the function is linear.
  void findDigits() {
    const Point origin = at({});
    for (std::size_t a = 0; a < inputs.size(); ++a)
      for (Index place = 1, size = inputs[a].second; place < size;) {
        const Point unit = at({{a, place}});
        Index most = size / place, r = 1;
        auto linear = [&](Index k) {
          Point v = at({{a, k * place}});
          for (std::size_t o = 0; o < v.size(); ++o)
            if (v[o] != origin[o] + k * (unit[o] - origin[o]))
              return false;
          return true;
        };
        while (r < most && linear(r))
          ++r;
        while (r > 1 && most % r)
          --r;
        if (r == 1)
          for (r = 2; most % r; ++r) {
          }
        for (; r % 2 == 0; r /= 2, place *= 2)
          units.push_back({a, place, 2});
        if (r > 1)
          units.push_back({a, place, r}), place *= r;
      }
  }
  Layout frame(const Sizes &outputs) const {
    Layout l;
    for (auto &[name, size] : inputs)
      l.inputs.push_back({name, {}});
    for (const Unit &u : units)
      l.inputs[u.axis].radices.push_back(u.radix);
    for (auto &[name, size] : outputs)
      l.outputs.push_back({name, size, 0, {}});
    return l;
  }
  /// Weights add; XORs show where two bits together give less than their sum.
  Layout additive(const Sizes &outputs) const {
    Layout l = frame(outputs);
    const Point origin = at({});
    std::size_t n = units.size();
    std::vector<Point> one(n);
    for (std::size_t d = 0; d < n; ++d)
      one[d] = at({{units[d].axis, units[d].place}});
    std::vector<std::vector<Point>> two(n, std::vector<Point>(n));
    for (std::size_t d = 0; d < n; ++d)
      for (std::size_t e = d + 1; e < n; ++e)
        if (units[d].radix == 2 && units[e].radix == 2)
          two[d][e] = two[e][d] =
              at({{units[d].axis, units[d].place}, {units[e].axis, units[e].place}});
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      OutputAxis &out = l.outputs[o];
      out.base = origin[o];
      std::map<std::pair<Index, bool>, std::vector<DigitSet>>
          groups; // by weight and flip: sets of digits that are XORed
      for (std::size_t d = 0; d < n; ++d)
        for (std::size_t e = d + 1; e < n; ++e) {
          if (two[d][e].empty())
            continue;
          Index overlap = (one[d][o] + one[e][o] - origin[o] - two[d][e][o]) / 2;
          for (Index w = 1; w <= std::abs(overlap); w *= 2) {
            if (!(std::abs(overlap) & w))
              continue;
            DigitSet joined = bit(static_cast<int>(d)) | bit(static_cast<int>(e));
            auto &sets = groups[{w, overlap < 0}];
            std::erase_if(sets,
                          [&](DigitSet g) { return (g & joined) ? (joined |= g, true) : false; });
            sets.push_back(joined);
          }
        }
      std::vector<Index> rest(n);
      for (std::size_t d = 0; d < n; ++d)
        rest[d] = one[d][o] - origin[o];
      for (auto &[key, sets] : groups)
        for (DigitSet s : sets) {
          auto [w, flip] = key;
          out.terms.push_back({s, w, flip});
          if (flip)
            out.base -= w;
          for (; s; s &= s - 1)
            rest[std::countr_zero(s)] -= flip ? -w : w;
        }
      for (std::size_t d = 0; d < n; ++d) {
        Term t{bit(static_cast<int>(d)), rest[d], false};
        if (t.weight < 0 && units[d].radix == 2)
          out.base += t.weight, t.weight = -t.weight, t.flip = true;
        if (t.weight)
          out.terms.push_back(t);
      }
    }
    return l;
  }
  /// Each output bit is an XOR of input bits; odd digits add.
  Layout affine(const Sizes &outputs) const {
    Layout l = frame(outputs);
    const Point origin = at({});
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      std::map<Index, Term> perBit;
      for (Index w = 1; w < outputs[o].second; w *= 2)
        if (origin[o] & w)
          perBit[w].flip = true;
      for (std::size_t d = 0; d < units.size(); ++d) {
        Index v = at({{units[d].axis, units[d].place}})[o];
        if (units[d].radix > 2) {
          if (v > origin[o])
            l.outputs[o].terms.push_back({bit(static_cast<int>(d)), v - origin[o], false});
          continue;
        }
        for (Index w = 1; w <= (v ^ origin[o]); w *= 2)
          if ((v ^ origin[o]) & w)
            perBit[w].digits |= bit(static_cast<int>(d));
      }
      for (auto &[w, t] : perBit)
        l.outputs[o].terms.push_back({t.digits, w, t.flip});
    }
    return l;
  }
};

} // namespace

std::variant<Layout, Misfit> fit(const Sizes &inputs, const Sizes &outputs,
                                 const std::function<Point(const Point &)> &f) {
  Layout box;
  for (auto &[name, size] : inputs)
    box.inputs.push_back({name, {size}});
  std::optional<Misfit> bad; // values out of range first
  forEachPoint(box, [&](const Point &p) {
    Point v = bad ? Point{} : f(p);
    for (std::size_t o = 0; o < v.size() && !bad; ++o)
      if (v[o] < 0 || v[o] >= outputs[o].second)
        bad = Misfit{p, v, {}};
  });
  if (bad)
    return *bad;
  Sampler sampler{inputs, f, {}};
  sampler.findDigits();
  // By output: the first point that a form gets wrong.
  auto misfits = [&](const Layout &form) {
    std::vector<std::optional<Misfit>> first(outputs.size());
    forEachPoint(form, [&](const Point &p) {
      Point want = f(p), have = form(p);
      for (std::size_t o = 0; o < want.size(); ++o)
        if (!first[o] && want[o] != have[o])
          first[o] = Misfit{p, want, have};
    });
    return first;
  };
  Layout result = sampler.additive(outputs);
  auto wrong = misfits(result);
  if (std::any_of(wrong.begin(), wrong.end(), [](const auto &m) { return m.has_value(); })) {
    Layout other = sampler.affine(outputs); // each output takes what fits it
    auto alsoWrong = misfits(other);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (!wrong[o])
        continue;
      if (alsoWrong[o])
        return *wrong[o];
      result.outputs[o] = other.outputs[o];
    }
  }
  result.normalize();
  try {
    result.check();
  } catch (const LayoutError &) { // a negative weight on an odd digit
    return Misfit{Point(inputs.size(), 0), f(Point(inputs.size(), 0)), {}};
  }
  return result;
}

} // namespace tlc
