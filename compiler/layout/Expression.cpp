// Layouts as expressions. See Expression.h.
#include "layout/Expression.h"
#include "layout/F2.h"

#include <algorithm>

namespace tlc {

using namespace detail;

std::vector<Summand> summands(const Layout &layout, const OutputAxis &output) {
  std::vector<Summand> out;
  auto field = [&](int d, Index modulus) {
    auto [axis, p] = layout.place(d);
    return Field{axis, p, p * modulus == layout.inputs[axis].size() ? 0 : modulus};
  };
  auto follows = [&](int d) {
    return d + 1 < layout.digitCount() && layout.place(d).first == layout.place(d + 1).first;
  };
  auto terms = output.terms;
  auto take = [&](const Term &t) {
    auto at = std::find(terms.begin(), terms.end(), t);
    if (at == terms.end())
      return false;
    terms.erase(at);
    return true;
  };
  std::sort(terms.begin(), terms.end(), [](auto &a, auto &b) {
    return std::tuple(a.digits, a.weight) < std::tuple(b.digits, b.weight);
  });
  while (!terms.empty()) {
    Term t = terms.front();
    terms.erase(terms.begin());
    if (isDigit(t) && !t.flip) { // a run of digits with matching weights
      int first = std::countr_zero(t.digits), d = first;
      Index modulus = layout.radix(d);
      while (follows(d) && take({bit(d + 1), t.weight * modulus, false}))
        modulus *= layout.radix(++d);
      out.push_back({t.weight, {field(first, modulus)}, 0});
      continue;
    }
    Summand s{t.weight, {}, t.flip};
    Index width = 1;
    DigitSet digits = t.digits;
    auto extends = [&] {
      for (DigitSet x = digits; x; x &= x - 1)
        if (!follows(std::countr_zero(x)) || layout.radix(std::countr_zero(x) + 1) != 2)
          return false;
      for (bool flip : {false, true})
        if (take({digits << 1, t.weight << width, flip}))
          return s.constant |= Index{flip} << width, true;
      return false;
    };
    while (extends())
      digits <<= 1, ++width;
    for (DigitSet x = t.digits; x; x &= x - 1)
      s.fields.push_back(field(std::countr_zero(x), Index{1} << width));
    out.push_back(s);
  }
  std::sort(out.begin(), out.end(), [](auto &a, auto &b) { return a.weight > b.weight; });
  return out;
}

std::string expression(const Layout &l, const OutputAxis &output) {
  auto power = [](Index n) { return isPowerOfTwo(n); };
  std::string text;
  for (const Summand &s : summands(l, output)) {
    bool masked = s.fields.size() > 1 &&
                  std::all_of(s.fields.begin(), s.fields.end(),
                              [&](auto &f) { return f.modulus == 0 || power(f.modulus); });
    Index common = 0;
    if (masked)
      for (const Field &f : s.fields)
        common = std::max(common, f.modulus);
    std::string value;
    for (const Field &f : s.fields) {
      std::string v = l.inputs[f.axis].name;
      if (f.divisor > 1)
        v += power(f.divisor) ? " >> " + std::to_string(log2(f.divisor))
                              : " / " + std::to_string(f.divisor);
      if (f.modulus && !masked) {
        if (f.divisor > 1)
          v = "(" + v + ")";
        v += power(f.modulus) ? " & " + std::to_string(f.modulus - 1)
                              : " % " + std::to_string(f.modulus);
      }
      bool atom = v == l.inputs[f.axis].name;
      value += (value.empty() ? "" : " ^ ") + (atom ? v : "(" + v + ")");
    }
    if (s.constant)
      value += " ^ " + std::to_string(s.constant);
    if (s.fields.size() > 1 || s.constant)
      value = "(" + value + ")";
    if (masked && common)
      value = "(" + value + " & " + std::to_string(common - 1) + ")";
    if (s.weight != 1)
      value += " * " + std::to_string(s.weight);
    text += (text.empty() ? "" : " + ") + value;
  }
  if (output.base || text.empty())
    text += (text.empty() ? "" : " + ") + std::to_string(output.base);
  return text;
}

Separation separation(const Layout &l, const OutputAxis &o, const std::string &axis) {
  DigitSet mine = digitsOf(l, inputIndex(l, axis));
  bool add = true, disjoint = o.base == 0;
  Word taken = 0;
  for (const Term &t : o.terms) {
    add = add && ((t.digits & mine) == 0 || (t.digits & ~mine) == 0);
    Index most = isDigit(t) ? l.radix(std::countr_zero(t.digits)) - 1 : 1;
    Word range = (std::bit_ceil(static_cast<Word>(most) + 1) - 1) * static_cast<Word>(t.weight);
    disjoint = disjoint && isPowerOfTwo(t.weight) && !(taken & range);
    taken |= range;
  }
  return add ? Separation::Add : disjoint ? Separation::Xor : Separation::None;
}

} // namespace tlc
