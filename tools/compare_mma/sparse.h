// Metadata for products whose A has zeros, by the PTX manual.
#pragma once

#include "elements.h"

/// Which elements of each row of A are kept, as random numbers decide: of four neighbours two, of
/// two tfloat32 one.
struct Pattern {
  Element type;
  int rows, kept; ///< along k
  std::vector<int> places;
  Pattern(Element e, int rows, int k, Random &random)
      : type(e), rows(rows), kept(k / 2), places(std::size_t(rows * k / 2)) {
    static constexpr int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    for (int i = 0; i < rows * kept; ++i)
      if (type == Element::tf32)
        places[std::size_t(i)] = i % kept * 2 + random.below(2);
      else if (i % 2 == 0) {
        const int *pair = pairs[random.below(6)], at = i % kept / 2 * 4;
        places[std::size_t(i)] = at + pair[0], places[std::size_t(i + 1)] = at + pair[1];
      }
  }
  int place(int row, int i) const { return places[std::size_t(row * kept + i)]; }

  /// 2 bits for each kept element of a row; a tfloat32 has 4, as its halves would.
  std::uint64_t indices(int row) const {
    std::uint64_t out = 0;
    for (int i = 0; i < kept; ++i)
      if (type == Element::tf32)
        out |= std::uint64_t(place(row, i) % 2 ? 0xe : 0x4) << 4 * i;
      else
        out |= std::uint64_t(place(row, i) % 4) << 2 * i;
    return out;
  }
  /// The word of a lane of the warp that has 16 rows from `first` on; of the lanes that are not
  /// asked any word.
  std::uint32_t word(int lane, int first, int selector) const {
    const int row = first + lane / 4, in = lane % 4;
    if (formatOf(type).bits == 8)
      return std::uint32_t(indices(row + in % 2 * 8) >> in / 2 * 32);
    if (in / 2 != selector)
      return 0xffffffff;
    return std::uint32_t((indices(row) >> in % 2 * 16 & 0xffff) |
                         (indices(row + 8) >> in % 2 * 16 & 0xffff) << 16);
  }
};
