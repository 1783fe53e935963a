// Panels, the form of tiles that are addressed by descriptor, against the rule in words.
#include "Instructions.h"

#include "layout/SharedTile.h"

namespace tlc::test {

namespace {

/// Byte offset of an element: panels of `width` bytes, rows in them, 16-byte units exchanged.
Index panelByte(Index lead, Index row, Index column, Index rows, Index columns, Index bytes,
                Index swizzle) {
  Index width = swizzle ? swizzle : 16, at = column * bytes;
  Index unit = at % width / 16;
  unit ^= swizzle == 128 ? row % 8 : swizzle == 64 ? row / 2 % 4 : swizzle == 32 ? row / 4 % 2 : 0;
  return lead * rows * columns * bytes + at / width * rows * width + row * width + unit * 16 +
         at % 16;
}

Sizes tileOf(Index rows, Index columns) { return {{"d0", rows}, {"d1", columns}}; }

} // namespace

TEST_CASE("swizzled panels") {
  for (Index swizzle : {128, 64, 32, 0})
    for (unsigned bits : {8u, 16u, 32u})
      for (auto [rows, panels] :
           {std::pair<Index, Index>{8, 1}, {8, 3}, {24, 2}, {64, 1}, {64, 4}}) {
        Index bytes = bits / 8, columns = panels * (swizzle ? swizzle : 16) / bytes;
        Layout l = swizzledPanels(tileOf(rows, columns), bits, swizzle);
        l.check();
        CHECK(l.outputs[0].size == rows * columns);
        bool right = true;
        for (Index r = 0; r < rows; ++r)
          for (Index c = 0; c < columns; ++c)
            right =
                right && l({r, c})[0] * bytes == panelByte(0, r, c, rows, columns, bytes, swizzle);
        CHECK(right);
        CHECK(panelSwizzle(l, tileOf(rows, columns), bits) == swizzle);
      }
}

TEST_CASE("leading axes of panels are outermost") {
  Sizes shape{{"d0", 3}, {"d1", 2}, {"d2", 16}, {"d3", 128}};
  Layout l = swizzledPanels(shape, 16, 128);
  bool right = true;
  for (Index a = 0; a < 3; ++a)
    for (Index b = 0; b < 2; ++b)
      for (Index r = 0; r < 16; ++r)
        for (Index c = 0; c < 128; ++c)
          right = right && l({a, b, r, c})[0] * 2 == panelByte(a * 2 + b, r, c, 16, 128, 2, 128);
  CHECK(right);
  CHECK(panelSwizzle(l, shape, 16) == 128);
}

TEST_CASE("which panels a tile can have") {
  CHECK(widestPanels(tileOf(64, 64), 16) == 128);
  CHECK(widestPanels(tileOf(64, 32), 16) == 64);
  CHECK(widestPanels(tileOf(64, 96), 16) == 64);
  CHECK(widestPanels(tileOf(64, 16), 16) == 32);
  CHECK(widestPanels(tileOf(64, 8), 16) == 0);
  CHECK(widestPanels(tileOf(64, 40), 16) == 0);
  CHECK(widestPanels(tileOf(64, 128), 8) == 128);
  CHECK(widestPanels(tileOf(12, 64), 16) == 0); // a swizzle would not begin anew with each panel
  CHECK_FALSE(widestPanels(tileOf(64, 12), 16));
  CHECK_THROWS_AS(swizzledPanels(tileOf(64, 96), 16, 128), LayoutError);
  CHECK_THROWS_AS(swizzledPanels(tileOf(12, 64), 16, 128), LayoutError);
  // Other layouts are none: plain rows, another swizzle, padding.
  CHECK_FALSE(panelSwizzle(Layout::rowMajor(tileOf(64, 64)), tileOf(64, 64), 16));
  CHECK_FALSE(panelSwizzle(Layout::rowMajor(tileOf(64, 64), "offset", 8), tileOf(64, 64), 16));
  Layout other = Layout::rowMajor(tileOf(64, 64));
  other.xorInto("offset", 8, "d0", 2);
  other.normalize();
  CHECK_FALSE(panelSwizzle(other, tileOf(64, 64), 16));
  // Rows of 16 bytes are panels as they are.
  CHECK(panelSwizzle(Layout::rowMajor(tileOf(64, 8)), tileOf(64, 8), 16) == 0);
}

TEST_CASE("rows of 16 bytes go to panels without bank conflicts, and ldmatrix reads them so") {
  for (Index swizzle : {128, 64, 32}) {
    Index columns = swizzle / 2, units = columns / 8;
    Layout memory = swizzledPanels(tileOf(64, columns), 16, swizzle);
    Layout writes = fragment({{8, "d1"}}, {{units, "d1", 8}, {32 / units, "d0"}},
                             {{"d0", 64}, {"d1", columns}});
    Layout reads = fragment({{8, "d1"}}, {{8, "d0"}, {4, "d0", 8}}, {{"d0", 64}, {"d1", columns}});
    for (const Layout &access : {writes, reads}) {
      auto offsets = compose(memory, access);
      REQUIRE(offsets);
      CHECK(vectorWidth(*offsets, 8) == 8);
      CHECK(bankConflicts(*offsets, 8, 2).conflictFree());
    }
  }
}

} // namespace tlc::test
