// Composition, inversion, products and division of layouts. None where the result has no such form.
#pragma once

#include "layout/Layout.h"

namespace tlc {

/// Same function on the same box (checked at each point if the forms differ).
bool equal(const Layout &a, const Layout &b);
/// outer(inner(x)). Inner's outputs are matched to outer's inputs by name.
/// None if a carry or a ragged size keeps the digits of the middle coordinates from being digits of
/// x.
std::optional<Layout> compose(const Layout &outer, const Layout &inner);
/// A right inverse on the image: l(inverse(y)) == y for each y that l reaches; free digits become
/// 0. A true inverse if l is a bijection. Redundant digits are kept on the axes that come first, so
/// list registers before threads. With padding the inverse's input may be a little larger than l's
/// output.
std::optional<Layout> invert(const Layout &l);
/// Kronecker product: `inner` repeated over the grid `outer`. Digits of outer follow inner's on the
/// axis of the same name; outer's outputs count in units of inner's sizes.
Layout product(const Layout &inner, const Layout &outer);
/// x -> a(x) + b(x), output by output, for layouts of one box. None if their digits do not fit or
/// an output of both has XORs that a sum would have to carry into (weights are simply added, so
/// each output's size is what the sums need).
std::optional<Layout> addLayouts(const Layout &a, const Layout &b);
/// The `rest` with product(atom, rest) == l, if there is one.
std::optional<Layout> divide(const Layout &l, const Layout &atom);
/// As `divide`, but the digits of input axis `axis` (the registers) may be renumbered first: l ==
/// compose(divided, order).
struct Division {
  Layout rest;
  Layout order;
};
std::optional<Division> divideModulo(const Layout &l, const Layout &atom, const std::string &axis);

} // namespace tlc
