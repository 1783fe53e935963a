// Construction, evaluation and the normal form of layouts. See Layout.h.
#include "layout/Layout.h"
#include "layout/Digits.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace tlc {

using namespace detail;

namespace {

/// The digit set with room for a new digit just above `d`.
DigitSet openAbove(DigitSet s, int d) {
  DigitSet low = s & ((bit(d) << 1) - 1);
  return low | (s & ~low) << 1;
}

DigitSet close(DigitSet s, int d) {
  DigitSet low = bit(d) - 1;
  return (s & low) | (s >> 1 & ~low);
}

} // namespace

namespace detail {

bool split(Layout &l, int d, Index low) {
  if (l.digitCount() >= 63)
    throw LayoutError("layout has too many digits");
  for (const OutputAxis &o : l.outputs)
    for (const Term &t : o.terms)
      if ((t.digits & bit(d)) && (!isDigit(t) || t.flip))
        return false;
  auto [axis, position] = locate(l, d);
  Index &r = l.inputs[axis].radices[position];
  if (r % low != 0)
    return false;
  Index high = r / low;
  r = low;
  l.inputs[axis].radices.insert(l.inputs[axis].radices.begin() + position + 1, high);
  for (OutputAxis &o : l.outputs) {
    std::size_t n = o.terms.size();
    for (std::size_t i = 0; i < n; ++i) {
      bool here = o.terms[i].digits == bit(d);
      o.terms[i].digits = openAbove(o.terms[i].digits, d);
      if (here)
        o.terms.push_back({bit(d + 1), o.terms[i].weight * low, false});
    }
  }
  return true;
}

int axisIndex(const Layout &l, std::string_view name) {
  for (std::size_t i = 0; i < l.inputs.size(); ++i)
    if (l.inputs[i].name == name)
      return static_cast<int>(i);
  return -1;
}

DigitSet renumber(DigitSet s, const std::vector<int> &to) {
  DigitSet out = 0;
  for (; s; s &= s - 1)
    out |= bit(to[std::countr_zero(s)]);
  return out;
}

Layout normalized(Layout l) {
  l.normalize();
  return l;
}

int inputIndex(const Layout &l, const std::string &name) {
  return static_cast<int>(&l.input(name) - l.inputs.data());
}

std::pair<int, int> locate(const Layout &l, int digit) {
  for (std::size_t a = 0; a < l.inputs.size(); ++a) {
    int n = static_cast<int>(l.inputs[a].radices.size());
    if (digit < n)
      return {static_cast<int>(a), digit};
    digit -= n;
  }
  throw LayoutError("no such digit");
}

DigitSet digitsOf(const Layout &l, int axis) {
  int first = 0;
  for (int a = 0; a < axis; ++a)
    first += static_cast<int>(l.inputs[a].radices.size());
  return ((DigitSet{1} << l.inputs[axis].radices.size()) - 1) << first;
}

OutputAxis &outputOf(Layout &l, std::string_view name) {
  for (OutputAxis &o : l.outputs)
    if (o.name == name)
      return o;
  throw LayoutError("no output axis " + std::string(name));
}

void fixToZero(Layout &l, DigitSet digits) {
  while (digits) {
    int d = static_cast<int>(std::bit_width(digits)) - 1; // the last one first: the others keep
    digits &= ~bit(d);                                    // their numbers
    auto [axis, position] = locate(l, d);
    l.inputs[axis].radices.erase(l.inputs[axis].radices.begin() + position);
    for (OutputAxis &o : l.outputs) {
      for (Term &t : o.terms)
        t.digits = close(t.digits & ~bit(d), d);
      o.terms.eraseIf([&](Term &t) {
        if (t.digits == 0 && t.flip)
          o.base += t.weight;
        return t.digits == 0;
      });
    }
  }
}

void splitBits(Layout &l) {
  for (int d = 0; d < l.digitCount(); ++d)
    if (l.radix(d) > 2 && l.radix(d) % 2 == 0)
      split(l, d, 2);
}

} // namespace detail

namespace {

/// Whether digits d and d + 1, d with `radix` values, act as one digit on an output.
bool actAsOne(const OutputAxis &o, int d, Index radix) {
  llvm::SmallVector<Index, 4> low, high;
  for (const Term &t : o.terms) {
    if (!(t.digits & (bit(d) | bit(d + 1))))
      continue;
    if (!isDigit(t) || t.flip)
      return false;
    if (t.digits == bit(d))
      low.push_back(t.weight * radix);
    else
      high.push_back(t.weight);
  }
  if (low.size() != high.size())
    return false;
  if (low.size() > 1) {
    std::sort(low.begin(), low.end());
    std::sort(high.begin(), high.end());
  }
  return low == high;
}

/// Merges digit d + 1 into d, which is at `position` of its axis, if they act as one digit on each
/// output.
bool mergeWithNext(Layout &l, InputAxis &axis, std::size_t position, int d) {
  Index radix = axis.radices[position];
  for (const OutputAxis &o : l.outputs)
    if (!actAsOne(o, d, radix))
      return false;
  Index next = axis.radices[position + 1];
  fixToZero(l, bit(d + 1));
  axis.radices[position] = radix * next;
  return true;
}

} // namespace

// ---------------------------------------------------------------------------------------------------

Index InputAxis::size() const {
  Index n = 1;
  for (Index r : radices)
    n *= r;
  return n;
}

Layout Layout::make(const std::vector<std::pair<std::string, std::vector<Digit>>> &inputs,
                    const Sizes &outputs) {
  Layout l;
  for (auto &[name, size] : outputs)
    l.outputs.push_back({name, size, 0, {}});
  int d = 0;
  for (auto &[name, digits] : inputs) {
    l.inputs.push_back({name, {}});
    for (const Digit &digit : digits) {
      l.inputs.back().radices.push_back(digit.radix);
      if (!digit.output.empty())
        outputOf(l, digit.output).terms.push_back({bit(d), digit.weight, false});
      ++d;
    }
  }
  l.check();
  l.normalize();
  return l;
}

Layout Layout::identity(const Sizes &axes) {
  std::vector<std::pair<std::string, std::vector<Digit>>> inputs;
  for (auto &[name, size] : axes)
    inputs.push_back({name, {{size, name}}});
  return make(inputs, axes);
}

Layout Layout::strided(const Sizes &axes, const std::vector<Index> &strides,
                       const std::string &output, Index span) {
  std::vector<std::pair<std::string, std::vector<Digit>>> inputs;
  Index last = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inputs.push_back({axes[i].first, {{axes[i].second, strides[i] ? output : "", strides[i]}}});
    last += (axes[i].second - 1) * strides[i];
  }
  return make(inputs, {{output, std::max(span, last + 1)}});
}

Layout Layout::rowMajor(const Sizes &axes, const std::string &output, Index pad) {
  std::vector<Index> strides(axes.size(), 1);
  Index pitch = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    strides[i] = pitch;
    pitch = pitch * axes[i].second + (i + 1 == axes.size() ? pad : 0);
  }
  return strided(axes, strides, output, pitch);
}

Layout Layout::unflatten(const std::string &input, const Sizes &axes) {
  std::vector<Digit> digits;
  for (std::size_t i = axes.size(); i-- > 0;)
    digits.push_back({axes[i].second, axes[i].first});
  return make({{input, digits}}, axes);
}

Layout &Layout::xorInto(const std::string &outputName, Index weight, const std::string &axis,
                        Index place) {
  int a = axisIndex(*this, axis);
  if (a < 0 || !cut(a, place) || !cut(a, place * 2))
    throw LayoutError("xorInto: no bit at " + axis + "/" + std::to_string(place));
  OutputAxis &o = outputOf(*this, outputName);
  for (std::size_t i = 0; i < o.terms.size(); ++i) {
    const Term t = o.terms[i];
    if (t.weight > weight || weight % t.weight)
      continue;
    if (isDigit(t)) { // isolate the bit of this weight
      int d = std::countr_zero(t.digits);
      Index low = weight / t.weight;
      if (low >= radix(d))
        continue;
      if (low > 1) {
        if (!split(*this, d, low))
          continue;
        i = static_cast<std::size_t>(-1); // ids changed: look again
        continue;
      }
      if (radix(d) > 2 && !split(*this, d, 2))
        continue;
    } else if (t.weight != weight) {
      continue;
    }
    for (int d = 0; d < digitCount(); ++d)
      if (this->place(d) == std::pair{a, place} && radix(d) == 2) {
        o.terms[i].digits ^= bit(d);
        check();
        return *this;
      }
  }
  throw LayoutError("xorInto: no bit of weight " + std::to_string(weight) + " in " + outputName);
}

// ---------------------------------------------------------------------------------------------------------

Point Layout::operator()(std::span<const Index> point) const {
  if (point.size() != inputs.size())
    throw LayoutError("wrong number of coordinates");
  Index digit[64];
  int n = 0;
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    Index x = point[a];
    if (x < 0)
      throw LayoutError("coordinate below 0 on " + inputs[a].name);
    for (Index r : inputs[a].radices)
      digit[n++] = x % r, x /= r;
    if (x)
      throw LayoutError("coordinate too large on " + inputs[a].name);
  }
  Point out;
  out.reserve(outputs.size());
  for (const OutputAxis &o : outputs) {
    Index v = o.base;
    for (const Term &t : o.terms) {
      Index x = 0;
      for (DigitSet s = t.digits; s; s &= s - 1)
        x ^= digit[std::countr_zero(s)];
      v += t.weight * (t.flip ? 1 - x : x);
    }
    out.push_back(v);
  }
  return out;
}

const InputAxis &Layout::input(std::string_view name) const {
  int a = axisIndex(*this, name);
  if (a < 0)
    throw LayoutError("no input axis " + std::string(name));
  return inputs[a];
}

const OutputAxis &Layout::output(std::string_view name) const {
  for (const OutputAxis &o : outputs)
    if (o.name == name)
      return o;
  throw LayoutError("no output axis " + std::string(name));
}

bool Layout::hasInput(std::string_view name) const { return axisIndex(*this, name) >= 0; }

Sizes Layout::inputSizes() const {
  Sizes s;
  for (const InputAxis &a : inputs)
    s.emplace_back(a.name, a.size());
  return s;
}

Sizes Layout::outputSizes() const {
  Sizes s;
  for (const OutputAxis &o : outputs)
    s.emplace_back(o.name, o.size);
  return s;
}

Index Layout::domainSize() const {
  Index n = 1;
  for (const InputAxis &a : inputs)
    n *= a.size();
  return n;
}

int Layout::digitCount() const {
  std::size_t n = 0;
  for (const InputAxis &a : inputs)
    n += a.radices.size();
  return static_cast<int>(n);
}

Index Layout::radix(int digit) const {
  auto [axis, position] = locate(*this, digit);
  return inputs[axis].radices[position];
}

std::pair<int, Index> Layout::place(int digit) const {
  auto [axis, position] = locate(*this, digit);
  Index p = 1;
  for (int i = 0; i < position; ++i)
    p *= inputs[axis].radices[i];
  return {axis, p};
}

bool Layout::cut(int axis, Index at) {
  const auto &radices = inputs[static_cast<std::size_t>(axis)].radices;
  Index p = 1;
  for (std::size_t i = 0; i < radices.size() && p < at; p *= radices[i], ++i)
    if (at < p * radices[i])
      return at % p == 0 &&
             split(*this, std::countr_zero(digitsOf(*this, axis)) + static_cast<int>(i), at / p);
  return true;
}

void Layout::normalize() {
  for (OutputAxis &o : outputs)
    o.terms.eraseIf([&](Term &t) {
      if (t.digits == 0 && t.flip)
        o.base += t.weight;
      return t.digits == 0 || t.weight == 0;
    });
  int d = 0;
  for (InputAxis &axis : inputs)
    for (std::size_t i = 0; i < axis.radices.size();) {
      if (axis.radices[i] == 1)
        fixToZero(*this, bit(d));
      else
        ++i, ++d;
    }
  d = 0;
  for (InputAxis &axis : inputs) {
    for (std::size_t i = 0; i + 1 < axis.radices.size();)
      if (!mergeWithNext(*this, axis, i, d + static_cast<int>(i)))
        ++i;
    d += static_cast<int>(axis.radices.size());
  }
  for (OutputAxis &o : outputs)
    std::sort(o.terms.begin(), o.terms.end(), [](const Term &a, const Term &b) {
      return std::tuple(a.weight, a.digits, a.flip) < std::tuple(b.weight, b.digits, b.flip);
    });
}

void Layout::check() const {
  if (digitCount() > 63)
    throw LayoutError("layout has too many digits");
  DigitSet all = (DigitSet{1} << digitCount()) - 1;
  for (const InputAxis &a : inputs)
    for (Index r : a.radices)
      if (r < 1)
        throw LayoutError("radix below 1 on " + a.name);
  for (const OutputAxis &o : outputs) {
    for (const Term &t : o.terms) {
      if (t.digits & ~all)
        throw LayoutError("term of " + o.name + " names a digit that does not exist");
      if (t.weight < 0)
        throw LayoutError("negative weight on " + o.name);
      if (!isDigit(t) || t.flip)
        for (DigitSet s = t.digits; s; s &= s - 1)
          if (radix(std::countr_zero(s)) > 2)
            throw LayoutError("XOR of a digit that is no bit on " + o.name);
    }
    if (o.base < 0 || o.base + spread(*this, o) >= o.size)
      throw LayoutError("values of " + o.name + " leave [0, size)");
  }
}

std::string Layout::str() const {
  std::string text;
  auto separate = [&] {
    if (!text.empty() && text.back() != '(')
      text += ' ';
  };
  for (std::size_t a = 0, d = 0; a < inputs.size(); ++a) {
    separate();
    text += inputs[a].name + "(";
    for (Index r : inputs[a].radices) {
      separate();
      text += std::to_string(r);
      for (const OutputAxis &o : outputs)
        for (const Term &t : o.terms)
          if (t.digits == bit(static_cast<int>(d)) && !t.flip)
            text += ":" + o.name + (t.weight == 1 ? "" : "*" + std::to_string(t.weight));
      ++d;
    }
    text += ")";
  }
  text += " ->";
  for (const OutputAxis &o : outputs) {
    text += " " + o.name + "<" + std::to_string(o.size);
    if (o.base)
      text += "+" + std::to_string(o.base);
  }
  for (const OutputAxis &o : outputs)
    for (const Term &t : o.terms) {
      if (isDigit(t) && !t.flip)
        continue;
      text += " " + o.name + "*" + std::to_string(t.weight) + "=" + (t.flip ? "1" : "");
      for (DigitSet s = t.digits; s; s &= s - 1) {
        auto [a, p] = place(std::countr_zero(s));
        text += (text.back() == '=' ? "" : "^") + inputs[a].name + "/" + std::to_string(p);
      }
    }
  return text;
}

void forEachPoint(const Layout &l, const std::function<void(const Point &)> &f) {
  Point p(l.inputs.size(), 0);
  for (Index n = l.domainSize(); n-- > 0;) {
    f(p);
    for (std::size_t a = 0; a < p.size() && ++p[a] == l.inputs[a].size(); ++a)
      p[a] = 0;
  }
}

} // namespace tlc
