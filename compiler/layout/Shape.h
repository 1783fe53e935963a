// Other views of a layout: reshaped, transposed, sliced, reduced, broadcast; and blocked
// distributions of a tile.
#pragma once

#include "layout/Layout.h"

#include <span>

namespace tlc {

/// "d0", "d1" …: how coordinates of tiles are called.
std::string dimName(std::size_t dim);
/// {{"d0", shape[0]}, …}.
Sizes dimSizes(std::span<const Index> shape);

/// The values of each output at all points, the first input fastest.
std::vector<std::vector<Index>> tabulate(const Layout &l);

/// Views the inputs (outputs) as another shape with as many elements, row-major.
std::optional<Layout> reshapeInputs(const Layout &l, const Sizes &shape);
std::optional<Layout> reshapeOutputs(const Layout &l, const Sizes &shape);
/// Reorders and renames: `names[i] = {old, new}`. A transpose is a renaming.
Layout permuteInputs(const Layout &l,
                     const std::vector<std::pair<std::string, std::string>> &names);
Layout permuteOutputs(const Layout &l,
                      const std::vector<std::pair<std::string, std::string>> &names);
/// Restricts input `axis` to [start, start + size).
std::optional<Layout> sliceInput(const Layout &l, const std::string &axis, Index start, Index size);
/// The dependence on one input axis alone: the others are 0, and gone.
Layout sliceToAxis(const Layout &l, const std::string &axis);
/// The part of a fragment with output `axis` in [start, start + size), if whole registers hold it
/// in each thread. `registers` maps the register of the part to the register of the whole.
struct FragmentSlice {
  Layout part;
  Layout registers;
};
std::optional<FragmentSlice> sliceOutput(const Layout &l, const std::string &axis, Index start,
                                         Index size, const std::string &reg = "reg");
/// Forgets output `axis` and then drops the free digits of `reg`: the layout of a reduction's
/// result.
Layout reduceOutput(const Layout &l, const std::string &axis, const std::string &reg = "reg");
/// Each thread holds all `size` values of the new output axis, in new registers.
Layout broadcast(const Layout &l, const std::string &axis, Index size,
                 const std::string &reg = "reg");
/// One layout with the outputs of all, which are functions on one box (equal inputSizes). None if
/// their digits do not fit.
std::optional<Layout> joinOutputs(const std::vector<Layout> &layouts);
/// Drops free digits of one input axis.
Layout dropFree(const Layout &l, const std::string &axis);
/// Continues input `axis` beyond its end to at least `size`, for addresses that a guard keeps from
/// being used.
Layout extendInput(const Layout &l, const std::string &axis, Index size);

/// A tile for vectorised copies: `vector` elements of the last axis per thread, then `along[i]`
/// threads on axis i (the last axis fastest), then registers; `copies` threads hold the same.
/// Covers the tile; an axis may come out rounded up (guard it).
Layout blocked(const Sizes &tile, const std::vector<Index> &along, Index vector, Index copies = 1);
/// The grid of `threads` that needs the fewest registers and, among those, has the longest rows.
Layout blocked(const Sizes &tile, Index threads, Index vector);

} // namespace tlc
