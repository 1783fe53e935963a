// Instruction layouts against the formulas of the instruction sets, and the swizzles derived for
// them.
#include "Execute.h"
#include "Instructions.h"
#include "RandomLayouts.h"

#include <cctype>
#include <numeric>
#include <tuple>

namespace tlc::test {

/// A table against the formula of the instruction's manual.
void checkFormula(const Layout &l, const std::function<Point(Index reg, Index thread)> &f) {
  all(l, [&](const Point &p, const Point &v) { EXPECT(v == f(p[0], p[1])); });
  Index elements = 1;
  for (auto &[name, size] : l.outputSizes())
    elements *= size;
  std::map<Point, int> holders;
  all(l, [&](const Point &, const Point &v) { ++holders[v]; });
  EXPECT(static_cast<Index>(holders.size()) == elements);
  EXPECT(invert(l).has_value());
  checkExpressions(l);
}

TEST_CASE("instruction layouts") {
  checkFormula(mmaC(), [](Index r, Index t) {
    return Point{t / 4 + 8 * (r / 2), t % 4 * 2 + r % 2};
  });
  checkFormula(mmaA(), [](Index r, Index t) {
    return Point{t / 4 + 8 * (r / 2 % 2), t % 4 * 2 + r % 2 + 8 * (r / 4)};
  });
  checkFormula(mmaB(), [](Index r, Index t) {
    return Point{t / 4, t % 4 * 2 + r % 2 + 8 * (r / 2)};
  });
  for (Index n : {8, 24, 64, 96, 128, 176, 192, 256})
    checkFormula(wgmmaC(n), [](Index r, Index t) {
      return Point{16 * (t / 32) + t % 32 / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2};
    });
  checkFormula(wgmmaA(), [](Index r, Index t) {
    return Point{16 * (t / 32) + t % 32 / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)};
  });
  checkFormula(mfma16A(), [](Index r, Index t) { return Point{t % 16, 4 * (t / 16) + r}; });
  checkFormula(mfma16C(), [](Index r, Index t) { return Point{4 * (t / 16) + r, t % 16}; });
  checkFormula(mfma32A(), [](Index r, Index t) { return Point{t % 32, 4 * (t / 32) + r}; });
  checkFormula(mfma32C(), [](Index r, Index t) {
    return Point{8 * (r / 4) + 4 * (t / 32) + r % 4, t % 32};
  });
  checkFormula(wmma11A(), [](Index r, Index t) { return Point{t % 16, r}; });
  checkFormula(wmma11C(), [](Index r, Index t) { return Point{2 * r + t / 16, t % 16}; });
  checkFormula(wmma12A(), [](Index r, Index t) { return Point{t % 16, r + 8 * (t / 16)}; });
  checkFormula(wmma12C(), [](Index r, Index t) { return Point{r + 8 * (t / 16), t % 16}; });

  // ldmatrix.x4 gives exactly A; .trans of the transposed tile gives B from an n-contiguous tile.
  Layout four = repeat(matrix8(), {{"reg", {{2, "r"}, {2, "c"}}}}, {{"r", 2}, {"c", 2}});
  EXPECT(equal(permuteOutputs(four, {{"r", "m"}, {"c", "k"}}), mmaA()));
  EXPECT(
      divideModulo(permuteOutputs(blockA(2, 2, 2, 4), {{"m", "r"}, {"k", "c"}}), matrix8(), "reg")
          .has_value());
  EXPECT(divideModulo(permuteOutputs(mmaB(), {{"k", "r"}, {"n", "c"}}), matrix8(true), "reg")
             .has_value());
  EXPECT(!divideModulo(permuteOutputs(mmaB(), {{"k", "r"}, {"n", "c"}}), matrix8(), "reg")
              .has_value());
  // stmatrix stores accumulators packed to 16 bits.
  EXPECT(divideModulo(permuteOutputs(wgmmaC(128), {{"m", "r"}, {"n", "c"}}), matrix8(), "reg")
             .has_value());

  // wgmma divides into warps of mma accumulators; a block divides by its atom and the remainder is
  // the warp grid.
  for (Index n : {64, 96, 176, 256}) {
    auto rest = divide(wgmmaC(n), mmaC());
    EXPECT(rest && equal(*rest, Layout::make({{"reg", {{n / 8, "n"}}}, {"thread", {{4, "m"}}}},
                                             {{"m", 4}, {"n", n / 8}})));
  }
  Layout c = blockC(3, 2, 2, 6); // 96 x 96 on 192 threads
  EXPECT(c.outputSizes() == (Sizes{{"m", 96}, {"n", 96}}) && c.input("thread").size() == 192);
  EXPECT(divide(c, mmaC()).has_value() && !divide(c, mfma16C()));

  // Swizzles: formulas on byte addresses; a TMA box of 96, 192 or 576 columns is panels of the
  // atom.
  for (int bits : {0, 1, 2, 3})
    for (Index bytes : {1, 2, 4})
      for (Index columns : {96, 192, 576}) {
        Index width = (Index{16} << bits) / bytes;
        if (columns % width)
          continue;
        Layout s = swizzledTile(bits, bytes, 64, columns);
        all(s, [&](const Point &p, const Point &v) {
          Index address = (p[1] / width * 64 * width + p[0] * width + p[1] % width) * bytes;
          EXPECT(v[0] * bytes == (address ^ ((address >> 7 & ((1 << bits) - 1)) << 4)));
        });
        auto rest =
            divide(s, swizzleAtom(bits, bytes)); // the remainder holds the descriptor strides
        EXPECT(rest.has_value());
        if (rest && columns > width)
          EXPECT(rest->outputs[0].terms.size() == 2 || (*rest)({0, 1})[0] == 8);
        if (rest)
          EXPECT((*rest)({1, 0})[0] * swizzleAtom(bits, bytes).outputs[0].size * bytes ==
                 (Index{128} << bits));
        for (int other : {1, 2, 3})
          if (other != bits && (bits || columns % ((16 / bytes) << other) == 0))
            EXPECT(!divide(s, swizzleAtom(other, bytes)));
        EXPECT(invert(s).has_value());
        EXPECT(contiguity(s, "c") == (bits ? 16 / bytes : width));
      }
  // MN-major: the same atom with the roles swapped.
  Layout mn =
      product(swizzleAtom(3, 2, "k", "m"), Layout::strided({{"k", 8}, {"m", 2}}, {1, 8}, "offset"));
  EXPECT(mn.input("m").size() == 128 && mn.input("k").size() == 64);
  EXPECT(divide(mn, swizzleAtom(3, 2, "k", "m")).has_value() &&
         !divide(mn, swizzleAtom(3, 2, "m", "k")));

  // ldmatrix on swizzled tiles is conflict-free; on plain 64-wide rows it is 8-way; padding by 8
  // also works.
  for (int bits : {1, 2, 3}) {
    Layout tile = swizzledTile(bits, 2, 64, 64);
    auto part = compose(
        tile, repeat(ldmatrixRows(2, 2), {{"reg", {{4, "r"}, {4, "c"}}}}, {{"r", 4}, {"c", 4}}));
    EXPECT(part && vectorWidth(*part, 8) == 8 && bankConflicts(*part, 8, 2).conflictFree());
  }
  Layout rows = repeat(ldmatrixRows(2, 2), {{"reg", {{4, "r"}, {4, "c"}}}}, {{"r", 4}, {"c", 4}});
  AccessCost plain = bankConflicts(*compose(Layout::rowMajor({{"r", 64}, {"c", 64}}), rows), 8, 2);
  EXPECT(plain.wavefronts == 8 * plain.ideal);
  EXPECT(bankConflicts(*compose(Layout::rowMajor({{"r", 64}, {"c", 64}}, "offset", 8), rows), 8, 2)
             .conflictFree());
}

TEST_CASE("derived swizzles") {
  // 16-byte row-major copies in, ldmatrix out, 16-bit: the 128-byte swizzle comes out by itself.
  int odd = 0, oddFree = 0;
  for (Index threads : {128, 192, 256})
    for (auto [rows, columns] : std::vector<std::pair<Index, Index>>{{64, 32},
                                                                     {64, 64},
                                                                     {128, 64},
                                                                     {96, 64},
                                                                     {64, 128},
                                                                     {128, 96},
                                                                     {96, 96},
                                                                     {64, 80},
                                                                     {64, 192},
                                                                     {64, 576},
                                                                     {192, 64}}) {
      Layout in = blocked({{"r", rows}, {"c", columns}}, threads, 8);
      Layout out = repeat(ldmatrixRows(2, 2), {{"reg", {{rows / 16, "r"}, {columns / 16, "c"}}}},
                          {{"r", rows / 16}, {"c", columns / 16}});
      SharedPlan plan = deriveShared(in, out, 2, {}, {{"r", rows}, {"c", columns}});
      EXPECT(plan.memory.input("r").size() >= rows && plan.memory.input("c").size() >= columns &&
             plan.memory.input("c").size() < columns + 64);
      std::set<Index> distinct;
      all(plan.memory, [&](const Point &, const Point &v) { distinct.insert(v[0]); });
      EXPECT(static_cast<Index>(distinct.size()) ==
             plan.memory.domainSize()); // no two elements share an address
      EXPECT(plan.storeVector == 8 && plan.loadVector == 8);
      // 80 = 5 * 16 columns: five register steps of 16 do not respect a 2-bit XOR; one bit leaves
      // 2-way conflicts in one case.
      EXPECT(columns == 80 ? plan.load.wavefronts <= 2 * plan.load.ideal
                           : plan.load.conflictFree());
      EXPECT(plan.store.conflictFree());
      odd += !std::has_single_bit(static_cast<std::uint64_t>(columns));
      oddFree +=
          !std::has_single_bit(static_cast<std::uint64_t>(columns)) && plan.store.conflictFree();
      if (rows == 64 && columns == 64)
        EXPECT(equal(plan.memory, swizzledTile(3, 2, 64, 64)));
      if (rows == 64 && columns == 32 && threads != 192)
        EXPECT(equal(plan.memory, swizzledTile(2, 2, 64, 32)));
      if (rows == 64 && columns == 576)
        EXPECT(equal(plan.memory, swizzledTile(3, 2, 64, 576)));
      if (columns ==
          80) { // with the load covering 96 columns (guarded) both sides are free of conflicts
        Layout six = repeat(ldmatrixRows(2, 2), {{"reg", {{rows / 16, "r"}, {6, "c"}}}},
                            {{"r", rows / 16}, {"c", 6}});
        SharedPlan guarded = deriveShared(in, six, 2, {}, {{"r", rows}, {"c", columns}});
        EXPECT(guarded.store.conflictFree() && guarded.load.conflictFree() &&
               guarded.storeVector == 8 && guarded.loadVector == 8);
      }
    }
  // Transpose through shared memory, several element sizes.
  for (Index bytes : {1, 2, 4, 8})
    for (Index n : {32, 64, 128}) {
      Layout in = blocked({{"r", n}, {"c", n}}, 128, std::min<Index>(16 / bytes, n));
      Layout turned = blocked({{"c", n}, {"r", n}}, 128, std::min<Index>(16 / bytes, n));
      SharedPlan plan = deriveShared(in, permuteOutputs(turned, {{"r", "r"}, {"c", "c"}}), bytes);
      EXPECT(plan.store.conflictFree() && plan.load.conflictFree());
    }
  // Accumulators out through shared memory to 16-byte rows: f32 and f16, mma, wgmma, MFMA on CDNA's
  // lane order.
  SharedMemory cdna;
  cdna.laneBasis = {1, 2, 20, 4, 8, 32};
  for (Index bytes : {2, 4}) {
    for (Index n : {64, 96, 128, 192, 256}) {
      SharedPlan plan = deriveShared(wgmmaC(n), blocked({{"m", 64}, {"n", n}}, 128, 16 / bytes),
                                     bytes, {}, {{"m", 64}, {"n", n}});
      EXPECT(plan.store.conflictFree() && plan.load.conflictFree());
      EXPECT(std::max(plan.storeVector, plan.loadVector) == 16 / bytes);
      // Through stmatrix both sides use 16 bytes: its rows are the store.
      if (bytes == 2) {
        Layout rows = repeat(ldmatrixRows(2, 2), {{"reg", {{n / 16, "c"}}}, {"thread", {{4, "r"}}}},
                             {{"r", 4}, {"c", n / 16}});
        SharedPlan matrix = deriveShared(rows, blocked({{"r", 64}, {"c", n}}, 128, 8), 2, {},
                                         {{"r", 64}, {"c", n}});
        EXPECT(matrix.store.conflictFree() && matrix.load.conflictFree() &&
               matrix.storeVector == 8 && matrix.loadVector == 8);
      }
    }
    SharedPlan mfma =
        deriveShared(mfma32C(), blocked({{"m", 32}, {"n", 32}}, 64, 16 / bytes), bytes, cdna);
    EXPECT(mfma.store.conflictFree() && mfma.load.conflictFree());
    Layout loads = repeat(mfma16A(), {{"reg", {{2, "k"}, {4, "m"}}}}, {{"m", 4}, {"k", 2}});
    SharedPlan operand =
        deriveShared(blocked({{"m", 64}, {"k", 32}}, 64, 16 / bytes), loads, bytes, cdna);
    EXPECT(operand.store.conflictFree() && operand.load.conflictFree());
  }
}

} // namespace tlc::test
