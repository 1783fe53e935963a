// The layouts of real instructions, and tiles of them.
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

inline Layout fragment(std::vector<Digit> reg, std::vector<Digit> thread, const Sizes &tile) {
  return Layout::make({{"reg", std::move(reg)}, {"thread", std::move(thread)}}, tile);
}
/// mma.sync m16n8k16, 16-bit operands.
inline Layout mmaC() {
  return fragment({{2, "n"}, {2, "m", 8}}, {{4, "n", 2}, {8, "m"}}, {{"m", 16}, {"n", 8}});
}
inline Layout mmaA() {
  return fragment({{2, "k"}, {2, "m", 8}, {2, "k", 8}}, {{4, "k", 2}, {8, "m"}},
                  {{"m", 16}, {"k", 16}});
}
inline Layout mmaB() {
  return fragment({{2, "k"}, {2, "k", 8}}, {{4, "k", 2}, {8, "n"}}, {{"n", 8}, {"k", 16}});
}
/// wgmma m64nN accumulator, and 16-bit register A m64k16.
inline Layout wgmmaC(Index n) {
  return fragment({{2, "n"}, {2, "m", 8}, {n / 8, "n", 8}}, {{4, "n", 2}, {8, "m"}, {4, "m", 16}},
                  {{"m", 64}, {"n", n}});
}
inline Layout wgmmaA() {
  return fragment({{2, "k"}, {2, "m", 8}, {2, "k", 8}}, {{4, "k", 2}, {8, "m"}, {4, "m", 16}},
                  {{"m", 64}, {"k", 16}});
}
inline Layout mfma16A() {
  return fragment({{4, "k"}}, {{16, "m"}, {4, "k", 4}}, {{"m", 16}, {"k", 16}});
}
inline Layout mfma16C() {
  return fragment({{4, "m"}}, {{16, "n"}, {4, "m", 4}}, {{"m", 16}, {"n", 16}});
}
inline Layout mfma32A() {
  return fragment({{4, "k"}}, {{32, "m"}, {2, "k", 4}}, {{"m", 32}, {"k", 8}});
}
inline Layout mfma32C() {
  return fragment({{4, "m"}, {4, "m", 8}}, {{32, "n"}, {2, "m", 4}}, {{"m", 32}, {"n", 32}});
}
inline Layout wmma11A() { return fragment({{16, "k"}}, {{16, "m"}, {2}}, {{"m", 16}, {"k", 16}}); }
inline Layout wmma11C() {
  return fragment({{8, "m", 2}}, {{16, "n"}, {2, "m"}}, {{"m", 16}, {"n", 16}});
}
inline Layout wmma12A() {
  return fragment({{8, "k"}}, {{16, "m"}, {2, "k", 8}}, {{"m", 16}, {"k", 16}});
}
inline Layout wmma12C() {
  return fragment({{8, "m"}}, {{16, "n"}, {2, "m", 8}}, {{"m", 16}, {"n", 16}});
}
/// One 8x8 matrix of ldmatrix/stmatrix as it lies in registers, plain and .trans.
inline Layout matrix8(bool transposed = false) {
  Layout l = fragment({{2, "c"}}, {{4, "c", 2}, {8, "r"}}, {{"r", 8}, {"c", 8}});
  return transposed
             ? permuteOutputs(fragment({{2, "r"}}, {{4, "r", 2}, {8, "c"}}, {{"r", 8}, {"c", 8}}),
                              {{"r", "r"}, {"c", "c"}})
             : l;
}
/// ldmatrix.x4 as shared-memory access: lane i supplies row i % 8 of matrix i / 8; the four
/// matrices tile 2 x 2 or 4 x 1.
inline Layout ldmatrixRows(Index down, Index right) {
  return fragment({{8, "c"}}, {{8, "r"}, {down, "r", 8}, {right, "c", 8}},
                  {{"r", 8 * down}, {"c", 8 * right}});
}
/// The 2^bits * 16-byte swizzle atom of TMA and wgmma: 8 rows of 16 * 2^bits bytes.
inline Layout swizzleAtom(int bits, Index elementBytes, const std::string &row = "r",
                          const std::string &column = "c") {
  Index vector = 16 / elementBytes, width = vector << bits;
  Layout l = Layout::rowMajor({{row, 8}, {column, width}});
  for (int b = 0; b < bits; ++b)
    l.xorInto("offset", vector << b, row, Index{8} >> bits << b);
  l.normalize();
  return l;
}
/// A tile in panels of the swizzle atom's width, each panel rows x width: what a TMA box writes.
inline Layout swizzledTile(int bits, Index elementBytes, Index rows, Index columns) {
  Index width = (16 / elementBytes) << bits;
  return product(
      swizzleAtom(bits, elementBytes),
      Layout::strided({{"r", rows / 8}, {"c", columns / width}}, {1, rows / 8}, "offset"));
}
inline Layout repeat(const Layout &atom,
                     const std::vector<std::pair<std::string, std::vector<Digit>>> &grid,
                     const Sizes &sizes) {
  return product(atom, Layout::make(grid, sizes));
}
/// Accumulator of a block: warps (wm x wn), each mi x ni atoms; registers run over n first.
inline Layout blockC(Index wm, Index wn, Index mi, Index ni) {
  return repeat(mmaC(),
                {{"reg", {{ni, "n"}, {mi, "m"}}}, {"thread", {{wm, "m", mi}, {wn, "n", ni}}}},
                {{"m", wm * mi}, {"n", wn * ni}});
}
inline Layout blockA(Index wm, Index wn, Index mi, Index ki) { // replicated over the warps along n
  return repeat(mmaA(), {{"reg", {{ki, "k"}, {mi, "m"}}}, {"thread", {{wm, "m", mi}, {wn}}}},
                {{"m", wm * mi}, {"k", ki}});
}

} // namespace tlc::test
