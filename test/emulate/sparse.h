// Which elements of an A with zeros the tests keep.
#pragma once

/// Which of its neighbours the i-th kept element of a row is: of four two, of two tfloat32 (`isWide`) one.
inline int keptOf(int row, int i, bool isWide) {
  static constexpr int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  return isWide ? (row * 5 + i * 3) / 2 % 2 : pairs[(row * 7 + i / 2 * 5) % 6][i % 2];
}
/// Where it lies along k.
inline int placeOf(int row, int i, bool isWide) {
  return (isWide ? i * 2 : i / 2 * 4) + keptOf(row, i, isWide);
}
