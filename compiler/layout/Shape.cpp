// Shape changes and blocked distributions. See Shape.h.
#include "layout/Shape.h"
#include "layout/Algebra.h"
#include "layout/Digits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tlc {

std::string dimName(std::size_t dim) { return "d" + std::to_string(dim); }

Sizes dimSizes(std::span<const Index> shape) {
  Sizes sizes;
  for (std::size_t d = 0; d < shape.size(); ++d)
    sizes.emplace_back(dimName(d), shape[d]);
  return sizes;
}

using namespace detail;

std::optional<Layout> reshapeInputs(const Layout &l, const Sizes &shape) {
  auto back = compose(Layout::unflatten("flat", l.inputSizes()), Layout::rowMajor(shape, "flat"));
  return back ? compose(l, *back) : std::nullopt;
}

std::optional<Layout> reshapeOutputs(const Layout &l, const Sizes &shape) {
  auto flat = compose(Layout::rowMajor(l.outputSizes(), "flat"), l);
  return flat ? compose(Layout::unflatten("flat", shape), *flat) : std::nullopt;
}

Layout permuteInputs(const Layout &l,
                     const std::vector<std::pair<std::string, std::string>> &names) {
  std::vector<std::pair<std::string, std::vector<Digit>>> axes;
  for (auto &[from, to] : names)
    axes.push_back({to, {{l.input(from).size(), from}}});
  if (names.size() != l.inputs.size())
    throw LayoutError("permuteInputs: name every axis");
  return compose(l, Layout::make(axes, l.inputSizes())).value();
}

Layout permuteOutputs(const Layout &l,
                      const std::vector<std::pair<std::string, std::string>> &names) {
  Layout out{l.inputs, {}};
  if (names.size() != l.outputs.size())
    throw LayoutError("permuteOutputs: name every axis");
  for (auto &[from, to] : names) {
    out.outputs.push_back(l.output(from));
    out.outputs.back().name = to;
  }
  return out;
}

std::optional<Layout> sliceInput(const Layout &l, const std::string &axis, Index start,
                                 Index size) {
  Sizes box = l.inputSizes();
  for (auto &[name, n] : box)
    if (name == axis) {
      if (start < 0 || size < 1 || start + size > n)
        throw LayoutError("slice outside " + axis);
      n = size;
    }
  Layout embed = Layout::identity(box);
  for (OutputAxis &o : embed.outputs)
    if (o.name == axis)
      o.base = start, o.size += start;
  return compose(l, embed);
}

Layout sliceToAxis(const Layout &l, const std::string &axis) {
  Layout out = l;
  DigitSet others = 0;
  int kept = inputIndex(out, axis);
  for (std::size_t a = 0; a < out.inputs.size(); ++a)
    if (static_cast<int>(a) != kept)
      others |= digitsOf(out, static_cast<int>(a));
  fixToZero(out, others);
  out.inputs = {out.inputs[static_cast<std::size_t>(kept)]};
  out.normalize();
  return out;
}

std::optional<FragmentSlice> sliceOutput(const Layout &l, const std::string &axis, Index start,
                                         Index size, const std::string &reg) {
  Layout part = l;
  int r = axisIndex(part, reg);
  // Cut the axis at `size`, then choose the digits above the cut so that they add up to `start`.
  for (std::size_t i = 0; i < part.output(axis).terms.size(); ++i) {
    Term t = part.output(axis).terms[i];
    if (!isDigit(t) || t.weight >= size ||
        t.weight * part.radix(std::countr_zero(t.digits)) <= size)
      continue;
    if (size % t.weight || !split(part, std::countr_zero(t.digits), size / t.weight))
      return std::nullopt;
    i = static_cast<std::size_t>(-1);
  }
  OutputAxis &o = outputOf(part, axis);
  if (r < 0 || o.base)
    return std::nullopt;
  std::vector<Term> high;
  Index low = 0;
  for (const Term &t : o.terms) {
    if (t.weight >= size)
      high.push_back(t);
    else
      low += t.weight * (isDigit(t) ? part.radix(std::countr_zero(t.digits)) - 1 : 1);
  }
  if (low >= size)
    return std::nullopt;
  std::sort(high.begin(), high.end(), [](auto &a, auto &b) { return a.weight > b.weight; });
  DigitSet fixed = 0;
  Index left = start, base = 0;
  for (const Term &t : high) {
    if (!isDigit(t) || t.flip || (fixed & t.digits) || !(t.digits & digitsOf(part, r)))
      return std::nullopt;
    int d = std::countr_zero(t.digits);
    Index v = std::min(left / t.weight, part.radix(d) - 1);
    for (const OutputAxis &other : part.outputs)
      for (const Term &u : other.terms)
        if (!(u == t && &other == &o) && (u.digits & t.digits))
          return std::nullopt;
    left -= v * t.weight;
    base += v * part.place(d).second;
    fixed |= t.digits;
  }
  if (left)
    return std::nullopt;
  std::vector<Digit> kept;
  int first = std::countr_zero(digitsOf(part, r));
  for (std::size_t i = 0; i < part.inputs[r].radices.size(); ++i)
    if (int d = first + static_cast<int>(i); !(fixed & bit(d)))
      kept.push_back({part.radix(d), reg, part.place(d).second});
  Layout registers = Layout::make({{reg, kept}}, {{reg, l.input(reg).size()}});
  registers.outputs[0].base = base;
  fixToZero(part, fixed);
  o.size = size;
  part.normalize();
  return FragmentSlice{part, registers};
}

std::optional<Layout> joinOutputs(const std::vector<Layout> &layouts) {
  if (layouts.empty())
    return std::nullopt;
  std::vector<Layout> parts = layouts;
  for (Layout &l : parts)
    l.normalize();
  for (std::size_t a = 0; a < parts[0].inputs.size(); ++a) {
    std::set<Index> cuts;
    for (const Layout &l : parts) {
      if (l.inputSizes() != parts[0].inputSizes())
        throw LayoutError("joinOutputs: different boxes");
      Index place = 1;
      for (Index r : l.inputs[a].radices)
        cuts.insert(place *= r);
    }
    for (Layout &l : parts)
      for (Index place : cuts)
        if (!l.cut(static_cast<int>(a), place))
          return std::nullopt;
  }
  Layout out{parts[0].inputs, {}};
  for (Layout &l : parts) {
    if (l.inputs.size() != out.inputs.size())
      return std::nullopt;
    for (std::size_t a = 0; a < out.inputs.size(); ++a)
      if (l.inputs[a].radices != out.inputs[a].radices)
        return std::nullopt; // radix-1 digits somewhere
    out.outputs.insert(out.outputs.end(), l.outputs.begin(), l.outputs.end());
  }
  out.normalize();
  return out;
}

Layout dropFree(const Layout &l, const std::string &axis) {
  Layout out = l;
  DigitSet used = 0;
  for (const OutputAxis &o : out.outputs)
    for (const Term &t : o.terms)
      used |= t.digits;
  if (int a = axisIndex(out, axis); a >= 0)
    fixToZero(out, digitsOf(out, a) & ~used);
  out.normalize();
  return out;
}

Layout reduceOutput(const Layout &l, const std::string &axis, const std::string &reg) {
  Layout out = l;
  out.outputs.eraseIf([&](auto &o) { return o.name == axis; });
  return dropFree(out, reg);
}

Layout extendInput(const Layout &l, const std::string &axis, Index size) {
  Layout out = l;
  int a = axisIndex(out, axis);
  if (a < 0)
    throw LayoutError("no input axis " + axis);
  Index have = out.inputs[a].size();
  if (size <= have)
    return out;
  int top = std::countr_zero(digitsOf(out, a)) + static_cast<int>(out.inputs[a].radices.size()) - 1;
  bool plain = !out.inputs[a].radices.empty();
  for (const OutputAxis &o : out.outputs)
    for (const Term &t : o.terms)
      plain = plain && (!(t.digits & bit(top)) || (isDigit(t) && !t.flip));
  if (plain) {
    Index below = have / out.inputs[a].radices.back();
    out.inputs[a].radices.back() = (size + below - 1) / below;
  } else {
    std::vector<std::pair<std::string, std::vector<Digit>>> more{
        {axis, {{(size + have - 1) / have, out.outputs.at(0).name}}}};
    out = product(out, Layout::make(more, {{out.outputs[0].name, (size + have - 1) / have}}));
  }
  for (OutputAxis &o : out.outputs)
    o.size = std::max(o.size, o.base + spread(out, o) + 1);
  out.normalize();
  return out;
}

Layout broadcast(const Layout &l, const std::string &axis, Index size, const std::string &reg) {
  return product(l, Layout::make({{reg, {{size, axis}}}}, {{axis, size}}));
}

Layout blocked(const Sizes &tile, const std::vector<Index> &along, Index vector, Index copies) {
  if (tile.empty() || along.size() != tile.size() || vector < 1 || tile.back().second % vector)
    throw LayoutError(
        "blocked: one thread count per axis, and a vector that divides the last axis");
  std::vector<Digit> reg{{vector, tile.back().first}}, thread;
  Sizes cover = tile;
  for (std::size_t i = tile.size(); i-- > 0;) {
    Index unit = i + 1 == tile.size() ? vector : 1, chunk = unit * along[i],
          rest = (tile[i].second + chunk - 1) / chunk;
    thread.push_back({along[i], tile[i].first, unit});
    reg.push_back({rest, tile[i].first, chunk});
    cover[i].second = chunk * rest;
  }
  thread.push_back({copies});
  return Layout::make({{"reg", reg}, {"thread", thread}}, cover);
}

Layout blocked(const Sizes &tile, Index threads, Index vector) {
  std::optional<Layout> best;
  for (Index last = threads; last >= 1; --last) {
    if (threads % last || (last > 1 && last >= 2 * tile.back().second / vector))
      continue;
    std::vector<Index> along(
        tile.size(), 1); // the other axes greedily; what is left rounds axis 0 up, or replicates
    along.back() = last;
    Index left = threads / last;
    for (std::size_t i = tile.size() - 1; i-- > 0;)
      along[i] = std::gcd(left, tile[i].second), left /= along[i];
    if (left > 1 && tile.size() > 1 && tile[0].second > along[0])
      along[0] *= left, left = 1;
    Layout l = blocked(tile, along, vector, left);
    if (!best || l.input("reg").size() < best->input("reg").size())
      best = std::move(l);
  }
  return *best;
}

namespace {

/// Digit by digit: what the digits so far make up is repeated for each value of the next one. XORs
/// are parities until all of their bits are there.
std::vector<Index> valuesOf(const Layout &l, const OutputAxis &o) {
  llvm::SmallVector<Term, 16> xors;
  DigitSet flipped = 0;
  for (const Term &t : o.terms)
    if (!isDigit(t) || t.flip) {
      flipped |= t.flip ? bit(static_cast<int>(xors.size())) : 0;
      xors.push_back(t);
    }
  std::vector<Index> sums{o.base};
  std::vector<DigitSet> parities{flipped}; // bit i: of XOR i
  for (int d = 0; d < l.digitCount(); ++d) {
    Index radix = l.radix(d), worth = 0;
    for (const Term &t : o.terms)
      worth += t.digits == bit(d) && !t.flip ? t.weight : 0;
    DigitSet turned = 0;
    for (std::size_t i = 0; i < xors.size(); ++i)
      turned |= xors[i].digits & bit(d) ? bit(static_cast<int>(i)) : 0;
    std::size_t below = sums.size();
    sums.reserve(below * static_cast<std::size_t>(radix));
    parities.reserve(below * static_cast<std::size_t>(radix));
    for (Index value = 1; value < radix; ++value)
      for (std::size_t x = 0; x < below; ++x) {
        sums.push_back(sums[x] + worth * value);
        parities.push_back(parities[x] ^ turned);
      }
  }
  for (std::size_t x = 0; x < sums.size(); ++x)
    for (DigitSet set = parities[x]; set; set &= set - 1)
      sums[x] += xors[static_cast<std::size_t>(std::countr_zero(set))].weight;
  return sums;
}

} // namespace

std::vector<std::vector<Index>> tabulate(const Layout &l) {
  std::vector<std::vector<Index>> all;
  for (const OutputAxis &o : l.outputs)
    all.push_back(valuesOf(l, o));
  return all;
}

} // namespace tlc
