// The algebra: equality, composition, inversion, products. See Algebra.h.
#include "layout/Algebra.h"
#include "layout/Digits.h"
#include "layout/Shape.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tlc {

using namespace detail;

namespace {

constexpr Index enumerationLimit = Index{1} << 22;

} // namespace

namespace {

bool sameInputs(const Layout &a, const Layout &b) {
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](const InputAxis &x, const InputAxis &y) {
                      return x.name == y.name && x.size() == y.size();
                    });
}

/// Output `o` where input `axis` is `value` and the others are 0.
Index valueAt(const Layout &l, std::size_t o, std::size_t axis, Index value) {
  llvm::SmallVector<Index, 16> digits;
  for (Index r : l.inputs[axis].radices)
    digits.push_back(value % r), value /= r;
  int first = std::countr_zero(digitsOf(l, static_cast<int>(axis)));
  Index sum = l.outputs[o].base;
  for (const Term &t : l.outputs[o].terms) {
    Index x = 0;
    for (std::size_t d = 0; d < digits.size(); ++d)
      if (t.digits & bit(first + static_cast<int>(d)))
        x ^= digits[d];
    sum += t.weight * (t.flip ? 1 - x : x);
  }
  return sum;
}

/// Output `o` where the input digit `one` is 1 and all others are 0; 0: all are 0.
Index valueAtDigit(const OutputAxis &o, DigitSet one) {
  Index sum = o.base;
  for (const Term &t : o.terms) {
    bool on = t.digits & one;
    sum += on != t.flip ? t.weight : 0;
  }
  return sum;
}

/// differSomewhere along an axis that both cut alike.
bool differAlong(const Layout &a, const Layout &b, std::size_t axis) {
  int firstA = std::countr_zero(digitsOf(a, static_cast<int>(axis)));
  int firstB = std::countr_zero(digitsOf(b, static_cast<int>(axis)));
  const auto &radices = a.inputs[axis].radices;
  for (std::size_t o = 0; o < a.outputs.size(); ++o) {
    if (valueAtDigit(a.outputs[o], 0) != valueAtDigit(b.outputs[o], 0))
      return true;
    for (std::size_t d = 0; d < radices.size(); ++d)
      if (radices[d] > 1 && valueAtDigit(a.outputs[o], bit(firstA + static_cast<int>(d))) !=
                                valueAtDigit(b.outputs[o], bit(firstB + static_cast<int>(d))))
        return true;
  }
  return false;
}

/// Whether the two, of the same inputs, differ at 0 or where a digit of one of them is 1 and all
/// others are 0; the cheapest way to see that most different layouts are different.
bool differSomewhere(const Layout &a, const Layout &b) {
  auto differAt = [&](std::size_t axis, Index value) {
    for (std::size_t o = 0; o < a.outputs.size(); ++o)
      if (valueAt(a, o, axis, value) != valueAt(b, o, axis, value))
        return true;
    return false;
  };
  for (const Layout *l : {&a, &b})
    for (std::size_t axis = 0; axis < l->inputs.size(); ++axis) {
      if (l->inputs[axis].radices.empty())
        continue;
      if (a.inputs[axis].radices == b.inputs[axis].radices) {
        if (l == &a && differAlong(a, b, axis))
          return true;
        continue;
      }
      if (differAt(axis, 0))
        return true;
      Index place = 1;
      for (Index r : l->inputs[axis].radices) {
        if (r > 1 && differAt(axis, place))
          return true;
        place *= r;
      }
    }
  return false;
}

} // namespace

bool equal(const Layout &a, const Layout &b) {
  if (!sameInputs(a, b) || a.outputs.size() != b.outputs.size() || differSomewhere(a, b))
    return false;
  Layout x = a, y = b;
  bool comparable = true; // cut both alike; then the weights of each digit and of each XOR decide
                          // (they are independent)
  for (int round = 0; round < 2; ++round, std::swap(x, y))
    for (int d = 0; d < x.digitCount(); ++d) {
      auto [axis, p] = x.place(d);
      comparable = comparable && y.cut(axis, p);
    }
  if (!comparable || x.digitCount() != y.digitCount()) {
    if (a.domainSize() > enumerationLimit)
      return false;
    bool same = true;
    forEachPoint(a, [&](const Point &p) { same = same && a(p) == b(p); });
    return same;
  }
  for (std::size_t i = 0; i < x.outputs.size(); ++i) {
    if (x.outputs[i].name != y.outputs[i].name)
      return false;
    std::map<DigitSet, Index> weights;
    Index base = x.outputs[i].base - y.outputs[i].base;
    for (int sign : {1, -1})
      for (const Term &t : (sign > 0 ? x : y).outputs[i].terms) {
        if (t.flip)
          base += sign * t.weight;
        weights[t.digits] += (t.flip ? -sign : sign) * t.weight;
      }
    if (base != 0 ||
        std::any_of(weights.begin(), weights.end(), [](auto &w) { return w.second != 0; }))
      return false;
  }
  return true;
}

std::optional<Layout> compose(const Layout &outer, const Layout &inner) {
  Layout g = normalized(outer), f = normalized(inner);
  // Cut f's digits until each of its terms lies inside one digit of g.
  for (std::size_t a = 0; a < g.inputs.size(); ++a) {
    const OutputAxis &middle = f.output(g.inputs[a].name);
    for (std::size_t i = 0; i < middle.terms.size(); ++i) {
      Term t = middle.terms[i];
      if (!isDigit(t))
        continue;
      Index reach = t.weight * (f.radix(std::countr_zero(t.digits)) - 1);
      Index edge = 1;
      for (std::size_t j = 0; j + 1 < g.inputs[a].radices.size() && edge <= t.weight; ++j)
        edge *= g.inputs[a].radices[j];
      if (edge <= t.weight || edge > reach)
        continue;
      if (edge % t.weight || !split(f, std::countr_zero(t.digits), edge / t.weight))
        return std::nullopt;
      i = static_cast<std::size_t>(-1);
    }
  }
  // Read each digit of g as a sum of f's terms that cannot carry.
  struct Part {
    Few<Term, 8> terms;
    Index constant = 0;
  };
  llvm::SmallVector<Part, 8> parts;
  for (const InputAxis &axis : g.inputs) {
    const OutputAxis &middle = f.output(axis.name);
    Index p = 1;
    for (std::size_t j = 0; j < axis.radices.size(); ++j) {
      Index r = axis.radices[j], next = p * r;
      bool last = j + 1 == axis.radices.size();
      Part part{{}, last ? middle.base / p : middle.base / p % r};
      Index most = part.constant;
      for (const Term &t : middle.terms) {
        if (t.weight < p || (t.weight >= next && !last))
          continue;
        if (t.weight % p)
          return std::nullopt;
        part.terms.push_back({t.digits, t.weight / p, t.flip});
        most +=
            part.terms.back().weight * (isDigit(t) ? f.radix(std::countr_zero(t.digits)) - 1 : 1);
      }
      if (most >= r)
        return std::nullopt;
      parts.push_back(std::move(part));
      p = next;
    }
    if (axis.radices.empty() && (middle.base || !middle.terms.empty()))
      return std::nullopt;
  }
  Layout out{std::move(f.inputs), {}};
  for (OutputAxis &o : g.outputs) {
    OutputAxis result{std::move(o.name), o.size, o.base, {}};
    for (const Term &t : o.terms) {
      if (isDigit(t) && !t.flip) {
        const Part &part = parts[std::countr_zero(t.digits)];
        result.base += t.weight * part.constant;
        for (const Term &u : part.terms)
          result.terms.push_back({u.digits, u.weight * t.weight, u.flip});
        continue;
      }
      Term sum{0, t.weight, t.flip};
      for (DigitSet s = t.digits; s; s &= s - 1) {
        const Part &part = parts[std::countr_zero(s)];
        sum.flip ^= part.constant != 0;
        for (const Term &u : part.terms)
          sum.digits ^= u.digits, sum.flip ^= u.flip;
      }
      result.terms.push_back(sum);
    }
    out.outputs.push_back(std::move(result));
  }
  out.normalize();
  return out;
}

namespace detail {

namespace {

/// A digit of an inverse's input: the bits of the layout that it stands for (none: a gap that the
/// layout never reaches), and whether it has more than two values.
struct Slot {
  DigitSet digits;
  bool wide;
};

/// The input axis of the inverse that is output `o` of `l`, digit by digit; false if `l` has no
/// inverse there.
bool addSlots(const Layout &l, const OutputAxis &o, Layout &out, std::vector<Slot> &slots) {
  if (o.base)
    return false;
  auto terms = o.terms;
  std::sort(terms.begin(), terms.end(), [](auto &a, auto &b) { return a.weight < b.weight; });
  out.inputs.push_back({o.name, {}});
  auto &radices = out.inputs.back().radices;
  Index from = 1, end = 1; // the last slot spans [from, end)
  auto gap = [&](Index size) {
    if (size > 1)
      radices.push_back(size), slots.push_back({0, true});
  };
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Index next = terms[i].weight;
    if (next < end || terms[i].flip)
      return false;
    if (next % end == 0) {
      gap(next / end); // never reached
    } else {           // padding: stretch the digit below
      if (i == 0 || next % from || !isDigit(terms[i - 1]))
        return false;
      radices.back() = next / from;
      slots.back().wide = true;
    }
    Index r = isDigit(terms[i]) ? l.radix(std::countr_zero(terms[i].digits)) : 2;
    radices.push_back(r);
    slots.push_back({terms[i].digits, r > 2});
    from = next, end = next * r;
  }
  gap((o.size + end - 1) / end);
  return true;
}

/// What each digit of a layout is in terms of slots: wide ones are copied, bits are solved for by
/// elimination, lowest digit first. The second part tells which digits have a value; none if there
/// is no solution.
std::optional<std::pair<std::vector<Term>, DigitSet>> solve(int digitCount,
                                                            const std::vector<Slot> &slots) {
  std::vector<Term> value(digitCount, Term{0, 1, false});
  DigitSet solved = 0;
  for (std::size_t s = 0; s < slots.size(); ++s)
    if (slots[s].wide && slots[s].digits && !(solved & slots[s].digits)) {
      value[std::countr_zero(slots[s].digits)].digits = bit(static_cast<int>(s));
      solved |= slots[s].digits;
    }
  struct Row {
    DigitSet left, right;
    bool used = false;
  };
  std::vector<Row> rows;
  for (std::size_t s = 0; s < slots.size(); ++s)
    if (!slots[s].wide) {
      if (slots[s].digits & solved)
        return std::nullopt;
      rows.push_back({slots[s].digits, bit(static_cast<int>(s))});
    }
  for (int d = 0; d < digitCount; ++d) {
    auto pivot = std::find_if(rows.begin(), rows.end(),
                              [&](Row &r) { return !r.used && (r.left & bit(d)); });
    if (pivot == rows.end())
      continue;
    pivot->used = true;
    for (Row &r : rows)
      if (&r != &*pivot && (r.left & bit(d)))
        r.left ^= pivot->left, r.right ^= pivot->right;
    solved |= bit(d);
  }
  for (const Row &r : rows)
    if (r.used)
      value[std::countr_zero(r.left)].digits = r.right;
  return std::pair(std::move(value), solved);
}

} // namespace

std::optional<Inverse> invertWithFree(const Layout &l) {
  Layout out;
  std::vector<Slot> slots; // one per digit of the inverse
  for (const OutputAxis &o : l.outputs)
    if (!addSlots(l, o, out, slots))
      return std::nullopt;
  auto solution = solve(l.digitCount(), slots);
  if (!solution)
    return std::nullopt;
  const auto &[value, solved] = *solution;
  int d = 0;
  for (const InputAxis &a : l.inputs) {
    out.outputs.push_back({a.name, a.size(), 0, {}});
    Index p = 1;
    for (Index r : a.radices) {
      if (value[d].digits)
        out.outputs.back().terms.push_back({value[d].digits, p, false});
      p *= r, ++d;
    }
  }
  out.normalize();
  return Inverse{out, ((DigitSet{1} << l.digitCount()) - 1) & ~solved};
}

} // namespace detail

std::optional<Layout> invert(const Layout &l) {
  auto inverse = invertWithFree(normalized(l));
  return inverse ? std::optional(inverse->layout) : std::nullopt;
}

Layout product(const Layout &inner, const Layout &outer) {
  Layout out = inner;
  std::vector<int> innerId(inner.digitCount()), outerId(outer.digitCount());
  for (const InputAxis &a : outer.inputs) {
    int at = axisIndex(out, a.name);
    if (at < 0)
      out.inputs.push_back(a);
    else
      out.inputs[at].radices.insert(out.inputs[at].radices.end(), a.radices.begin(),
                                    a.radices.end());
  }
  int next = 0, in = 0;
  for (const InputAxis &a : out.inputs) {
    if (inner.hasInput(a.name))
      for (std::size_t i = 0; i < inner.input(a.name).radices.size(); ++i)
        innerId[in++] = next++;
    if (int at = axisIndex(outer, a.name); at >= 0) {
      int first = std::countr_zero(digitsOf(outer, at));
      for (std::size_t i = 0; i < outer.inputs[at].radices.size(); ++i)
        outerId[first + i] = next++;
    }
  }
  for (OutputAxis &o : out.outputs)
    for (Term &t : o.terms)
      t.digits = renumber(t.digits, innerId);
  for (const OutputAxis &o : outer.outputs) {
    auto at = std::find_if(out.outputs.begin(), out.outputs.end(),
                           [&](auto &x) { return x.name == o.name; });
    if (at == out.outputs.end())
      at = out.outputs.insert(at, {o.name, 1, 0, {}});
    Index unit = at->size;
    at->size *= o.size;
    at->base += o.base * unit;
    for (const Term &t : o.terms)
      at->terms.push_back({renumber(t.digits, outerId), t.weight * unit, t.flip});
  }
  out.normalize();
  return out;
}

std::optional<Layout> addLayouts(const Layout &a, const Layout &b) {
  // Joined under other names, both have one set of digits.
  Layout second = b;
  for (OutputAxis &o : second.outputs)
    o.name = "+" + o.name;
  auto joined = joinOutputs({a, second});
  if (!joined)
    return std::nullopt;
  Layout out{joined->inputs, {}};
  for (const OutputAxis &o : a.outputs)
    out.outputs.push_back(joined->output(o.name));
  for (const OutputAxis &o : b.outputs) {
    const OutputAxis &more = joined->output("+" + o.name);
    OutputAxis &sum = outputOf(out, o.name);
    sum.base += more.base;
    sum.terms.insert(sum.terms.end(), more.terms.begin(), more.terms.end());
    sum.size = std::max({sum.size, more.size, sum.base + spread(out, sum) + 1});
  }
  out.normalize();
  return out;
}

std::optional<Layout> divide(const Layout &l, const Layout &atom) {
  Layout rest = l;
  for (const InputAxis &a : atom.inputs) {
    int axis = axisIndex(rest, a.name);
    if (axis < 0 || rest.inputs[axis].size() % a.size() || !rest.cut(axis, a.size()))
      return std::nullopt;
  }
  DigitSet low = 0;
  for (int d = 0; d < rest.digitCount(); ++d) {
    auto [axis, p] = rest.place(d);
    if (atom.hasInput(rest.inputs[axis].name) && p < atom.input(rest.inputs[axis].name).size())
      low |= bit(d);
  }
  for (OutputAxis &o : rest.outputs) {
    Index unit = 1, base = 0;
    for (const OutputAxis &u : atom.outputs)
      if (u.name == o.name)
        unit = u.size, base = u.base;
    if (o.size % unit || o.base < base || (o.base - base) % unit)
      return std::nullopt;
    o.size /= unit;
    o.base = (o.base - base) / unit;
    o.terms.eraseIf([&](const Term &t) { return (t.digits & low) == t.digits; });
    for (Term &t : o.terms) {
      if ((t.digits & low) || t.weight % unit)
        return std::nullopt;
      t.weight /= unit;
    }
  }
  fixToZero(rest, low);
  rest.normalize();
  Layout back = product(atom, rest); // in the axis order of l
  std::vector<std::pair<std::string, std::string>> in, out;
  for (const InputAxis &a : l.inputs)
    in.emplace_back(a.name, a.name);
  for (const OutputAxis &o : l.outputs)
    out.emplace_back(o.name, o.name);
  if (back.outputs.size() != out.size() || back.inputs.size() != in.size())
    return std::nullopt;
  if (!equal(permuteOutputs(permuteInputs(back, in), out), l))
    return std::nullopt;
  return rest;
}

std::optional<Division> divideModulo(const Layout &l, const Layout &atom,
                                     const std::string &axisName) {
  Layout whole = l;
  int axis = axisIndex(whole, axisName), unitAxis = axisIndex(atom, axisName);
  if (axis < 0)
    return std::nullopt;
  using Signature = std::vector<std::pair<std::string, Index>>;
  auto signature = [](const Layout &x, int d) {
    Signature s;
    for (const OutputAxis &o : x.outputs)
      for (const Term &t : o.terms)
        if (t.digits & bit(d))
          s.emplace_back(o.name, isDigit(t) ? t.weight : -1);
    return s;
  };
  auto first = [&] { return std::countr_zero(digitsOf(whole, axis)); };
  auto count = [&] { return static_cast<int>(whole.inputs[axis].radices.size()); };
  std::vector<Index> order; // place values on the axis: the atom's digits first
  auto isFree = [&](int d) {
    return std::find(order.begin(), order.end(), whole.place(d).second) == order.end();
  };
  /// Finds a digit of `whole` that starts with the atom's digit, cutting as needed; returns how
  /// much of it was matched.
  auto match = [&](const Signature &want, Index r) -> Index {
    for (int d = first(); d < first() + count(); ++d) {
      Signature have = signature(whole, d);
      if (!isFree(d) || have.size() != want.size())
        continue;
      Index low = want.empty() || have[0].second < 1 ? 1 : want[0].second / have[0].second,
            p = whole.place(d).second;
      for (std::size_t i = 0; i < want.size(); ++i)
        if (have[i].first != want[i].first || have[i].second * low != want[i].second)
          low = 0;
      if (low < 1 || low >= whole.radix(d))
        continue;
      if (low > 1) {
        if (whole.cut(axis, p * low))
          --d;
        continue;
      }
      Index part = std::gcd(whole.radix(d), r);
      if (part == 1 || !whole.cut(axis, p * part))
        continue;
      order.push_back(p);
      return part;
    }
    return 0;
  };
  if (unitAxis >= 0)
    for (std::size_t i = 0; i < atom.inputs[unitAxis].radices.size(); ++i) {
      int u = std::countr_zero(digitsOf(atom, unitAxis)) + static_cast<int>(i);
      Signature want = signature(atom, u);
      for (Index r = atom.radix(u), part; r > 1; r /= part) {
        if (part = match(want, r); part == 0)
          return std::nullopt;
        for (auto &w : want)
          w.second *= part;
      }
    }
  for (int d = first(); d < first() + count(); ++d)
    if (isFree(d))
      order.push_back(whole.place(d).second);
  Layout renumbered = whole;
  std::vector<Digit> digits;
  std::vector<int> to(whole.digitCount());
  std::iota(to.begin(), to.end(), 0);
  for (int j = 0; j < count(); ++j) {
    int d = first();
    while (whole.place(d).second != order[j])
      ++d;
    renumbered.inputs[axis].radices[j] = whole.radix(d);
    to[d] = first() + j;
    digits.push_back({whole.radix(d), axisName, order[j]});
  }
  for (OutputAxis &o : renumbered.outputs)
    for (Term &t : o.terms)
      t.digits = renumber(t.digits, to);
  auto rest = divide(normalized(renumbered), atom);
  if (!rest)
    return std::nullopt;
  return Division{*rest,
                  Layout::make({{axisName, digits}}, {{axisName, whole.inputs[axis].size()}})};
}

} // namespace tlc
