// Digits and terms, for the implementation of the algebra only.
#pragma once

#include "layout/Layout.h"

#include <bit>
#include <tuple>

namespace tlc::detail {

inline DigitSet bit(int d) { return DigitSet{1} << d; }
/// A term that is one digit, not an XOR.
inline bool isDigit(const Term &t) { return t.digits && !(t.digits & (t.digits - 1)); }

/// (input axis, position on it) of a digit.
std::pair<int, int> locate(const Layout &l, int digit);
DigitSet digitsOf(const Layout &l, int axis);
OutputAxis &outputOf(Layout &l, std::string_view name);
/// Index of an input axis, -1 if there is none of this name.
int axisIndex(const Layout &l, std::string_view name);
/// As axisIndex, for an axis that must exist.
int inputIndex(const Layout &l, const std::string &name);
DigitSet renumber(DigitSet s, const std::vector<int> &to);
Layout normalized(Layout l);
/// Splits digit `d` into `low` (less significant) and the rest. Fails where d is part of an XOR.
bool split(Layout &l, int d, Index low);
/// Removes digits from the domain by fixing them to 0.
void fixToZero(Layout &l, DigitSet digits);
/// Splits digits into bits below an odd digit, where they are not in an XOR.
void splitBits(Layout &l);
/// Largest value of an output above its base.
inline Index spread(const Layout &l, const OutputAxis &o) {
  Index most = 0;
  for (const Term &t : o.terms)
    most += t.weight * (isDigit(t) ? l.radix(std::countr_zero(t.digits)) - 1 : 1);
  return most;
}

/// The pseudo-inverse of a normalized layout, and the digits that it leaves 0 because they are
/// redundant.
struct Inverse {
  Layout layout;
  DigitSet free;
};
std::optional<Inverse> invertWithFree(const Layout &l);

} // namespace tlc::detail
