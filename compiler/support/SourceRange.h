// Where something stands in the user's text.
#pragma once

#include <cstdint>

namespace tlc {

/// A half-open byte range [begin, end) of one loaded file. `file` indexes SourceManager's table; 0
/// means "nowhere" (compiler-made), so a default-constructed range is invalid and prints without a
/// location.
struct SourceRange {
  std::uint32_t file = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool valid() const { return file != 0; }
  bool operator==(const SourceRange &) const = default;
};

/// The smallest range that covers both; the valid one if only one is.
inline SourceRange join(SourceRange a, SourceRange b) {
  if (!a.valid() || (b.valid() && a.file != b.file))
    return b.valid() && !a.valid() ? b : a;
  if (!b.valid())
    return a;
  return {a.file, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

} // namespace tlc
