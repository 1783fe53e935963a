// Names: suggestions for misspelt ones, and unique spellings for emitted ones.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tlc {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; more than
/// `limit` gives limit+1.
std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit);

/// The candidate nearest to `name` if it is near enough to be a slip of the pen (a third of the
/// letters, at least one; differences in case or underscores only always count); empty otherwise.
/// The first of equally near ones wins.
std::string_view didYouMean(std::string_view name, const std::vector<std::string_view> &candidates);

/// ", did you mean `x`?" or "".
std::string didYouMeanText(std::string_view name, const std::vector<std::string_view> &candidates);

/// True for keywords of C, C++, CUDA and HIP, their predefined variables (threadIdx), macros of the
/// headers that emitted files include, and what the emitted prologue reserves (tlc_...). An emitted
/// entity may not have such a name.
bool isReservedName(std::string_view name);
/// The same for a function at namespace scope, where what the C library and CUDA declare is taken
/// as well (index, time, y0, cudaMalloc).
bool isReservedGlobalName(std::string_view name);

/// `wanted` made valid (other characters become _, a leading digit gets a v in front), then itself
/// if it is neither reserved nor taken, else with _1, _2, ... behind. A name that ends in a digit
/// gets _1 too ("x1" -> "x1_1").
std::string freeName(std::string_view wanted,
                     const std::function<bool(const std::string &)> &isTaken);

/// Hands out free names, each once. Deterministic.
class NameAllocator {
public:
  std::string unique(std::string_view wanted);
  /// Takes a name without asking; false if it was taken.
  bool reserve(std::string_view name);
  bool taken(std::string_view name) const;

private:
  std::unordered_set<std::string> used;
};

/// `text` as a C identifier: ASCII letters, digits, underscores. Never empty, never starts with a
/// digit.
std::string identifierFrom(std::string_view text);

} // namespace tlc
