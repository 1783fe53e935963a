// Which elements an A with zeros keeps: the metadata of mma.sp and of sparse wgmma.
#pragma once
#include "elements.h"

namespace emu {
/// The metadata of 16 rows, as a warp's lanes hold it; who holds what: see cuda/sparse.cuh.
struct Kept {
  Element type;
  int selector;
  u32 words[32];

  /// Elements that are kept of a row.
  int count() const { return type == Element::tf32 ? 8 : bits_of(type) == 16 ? 16 : 32; }
  /// Where the i-th of them lies along k.
  int place(int row, int i) const {
    return type == Element::tf32 ? i * 2 + entry(row, i * 2) / 2 : i / 2 * 4 + entry(row, i);
  }
  /// Whether pairs are in ascending order, the halves of a tfloat32 together: the hardware promises
  /// nothing for others.
  bool is_defined(int row) const {
    const int entries = type == Element::tf32 ? 16 : count();
    for (int i = 0; i < entries; i += 2) {
      const int a = entry(row, i), b = entry(row, i + 1);
      if (type == Element::tf32 ? a % 2 != 0 || b != a + 1 : a >= b)
        return false;
    }
    return true;
  }

private:
  /// Kept elements have 2 bits each: which of its four neighbours along k it is. A tfloat32 counts
  /// as two of them.
  int entry(int row, int i) const {
    const bool pairs = bits_of(type) > 8; // two lanes of four hold it
    const int word = i / (pairs ? 8 : 16);
    const int lane = row % 8 * 4 + (pairs ? 2 * selector + word : word * 2 + row / 8);
    const int shift = (pairs ? row / 8 * 16 : 0) + i % (pairs ? 8 : 16) * 2;
    return int(words[lane] >> shift & 3);
  }
};
/// Reports metadata that says nothing.
inline void check_kept(const Kept &kept, const char *what, int first_row, u32 pc) {
  for (int row = 0; row < 16; ++row)
    if (!kept.is_defined(row)) {
      report("metadata",
             format("%s: the metadata of row %d names elements twice or not in ascending order: ",
                    what, first_row + row) +
                 where(pc),
             pc);
      return;
    }
}
} // namespace emu
