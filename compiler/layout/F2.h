// Linear algebra over bits: a vector is a word, a basis a list of words.
#pragma once

#include "layout/Digits.h"

#include <vector>

namespace tlc::detail {

using Word = std::uint64_t;

/// An echelon basis that remembers how each vector was combined from those inserted.
class Span {
public:
  /// Reduces v; the remainder is 0 iff v is in the span. `combination` collects the inserted
  /// vectors used (by number).
  Word reduce(Word v, Word *combination = nullptr) const {
    for (const auto &[vector, made] : rows_)
      if (v & std::bit_floor(vector)) {
        v ^= vector;
        if (combination)
          *combination ^= made;
      }
    return v;
  }
  /// Inserts v as vector number `id`; false if it was in the span already.
  bool insert(Word v, int id = 0) {
    Word made = bit(id);
    v = reduce(v, &made);
    if (!v)
      return false;
    for (auto &[vector, m] : rows_)
      if (vector & std::bit_floor(v))
        vector ^= v, m ^= made;
    rows_.push_back({v, made});
    return true;
  }
  bool contains(Word v) const { return reduce(v) == 0; }
  std::size_t size() const { return rows_.size(); }
  const std::vector<std::pair<Word, Word>> &rows() const { return rows_; }

private:
  std::vector<std::pair<Word, Word>> rows_;
};

inline Word combine(const std::vector<Word> &columns, Word v) {
  Word out = 0;
  for (; v; v &= v - 1)
    out ^= columns[std::countr_zero(v)];
  return out;
}

inline bool isPowerOfTwo(Index n) { return n > 0 && std::has_single_bit(static_cast<Word>(n)); }
inline int log2(Index n) { return std::countr_zero(static_cast<Word>(n)); }

} // namespace tlc::detail
