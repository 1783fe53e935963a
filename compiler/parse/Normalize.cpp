// NFKC of names: take every character apart, order the marks, join what belongs together.
//   ﬁle -> file     e + U+0301 -> é     𝐍 -> N
#include "parse/Normalize.h"

#include "support/Unicode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace tlc::parsing {
namespace {

#include "parse/NfkcJoined.inc"
#include "parse/NfkcReplaced.inc"

// Korean syllables are a first letter, a vowel and perhaps a last letter, numbered in that order.
namespace korean {
constexpr char32_t firstLetter = 0x1100, vowel = 0x1161, beforeLast = 0x11A7, syllable = 0xAC00;
constexpr char32_t firsts = 19, vowels = 21, lasts = 28;
constexpr char32_t syllables = firsts * vowels * lasts;
} // namespace korean

unsigned markOrder(char32_t c) {
  auto it = std::upper_bound(std::begin(markClasses), std::end(markClasses), c,
                             [](char32_t value, const MarkClass &m) { return value < m.first; });
  return it != std::begin(markClasses) && c <= std::prev(it)->last ? std::prev(it)->order : 0;
}

/// The pairs by what they become.
const std::vector<Joined> &byJoined() {
  static const std::vector<Joined> list = [] {
    std::vector<Joined> pairs(std::begin(joinedPairs), std::end(joinedPairs));
    std::sort(pairs.begin(), pairs.end(),
              [](const Joined &a, const Joined &b) { return a.joined < b.joined; });
    return pairs;
  }();
  return list;
}

/// What a character that is not Korean becomes in one step; empty if it stays.
std::u32string replacement(char32_t c) {
  constexpr std::size_t runs = std::size(replacedRuns) / 3;
  std::size_t low = 0, high = runs; // runs before `low` begin at or before c
  while (low < high) {
    std::size_t middle = (low + high) / 2;
    replacedRuns[middle * 3] <= c ? low = middle + 1 : high = middle;
  }
  if (low > 0) {
    const uint32_t *run = &replacedRuns[(low - 1) * 3];
    if (c - run[0] < run[1])
      return {static_cast<char32_t>(run[2] + (c - run[0]))};
  }
  auto several =
      std::lower_bound(std::begin(replacedBySeveral), std::end(replacedBySeveral), c,
                       [](const ReplacedBySeveral &r, char32_t value) { return r.from < value; });
  if (several != std::end(replacedBySeveral) && several->from == c)
    return {&several->to[0], std::find(&several->to[0], &several->to[0] + 4, U'\0')};
  auto pair = std::lower_bound(byJoined().begin(), byJoined().end(), c,
                               [](const Joined &j, char32_t value) { return j.joined < value; });
  if (pair != byJoined().end() && pair->joined == c)
    return {static_cast<char32_t>(pair->first), static_cast<char32_t>(pair->second)};
  return {};
}

void takeApart(char32_t c, std::u32string &out) {
  using namespace korean;
  if (c >= syllable && c < syllable + syllables) {
    char32_t n = c - syllable;
    out += firstLetter + n / (vowels * lasts);
    out += vowel + n / lasts % vowels;
    if (n % lasts)
      out += beforeLast + n % lasts;
    return;
  }
  std::u32string parts = c < 0x80 ? std::u32string() : replacement(c);
  if (parts.empty())
    out += c;
  for (char32_t part : parts)
    takeApart(part, out);
}

/// Marks in a row by their class, those of one class as they stood.
void orderMarks(std::u32string &text) {
  auto isMark = [](char32_t c) { return markOrder(c) != 0; };
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), isMark);
    auto end = std::find_if_not(begin, text.end(), isMark);
    std::stable_sort(begin, end,
                     [](char32_t a, char32_t b) { return markOrder(a) < markOrder(b); });
    begin = end;
  }
}

std::optional<char32_t> joined(char32_t first, char32_t second) {
  using namespace korean;
  if (first >= firstLetter && first < firstLetter + firsts && second >= vowel &&
      second < vowel + vowels)
    return syllable + ((first - firstLetter) * vowels + (second - vowel)) * lasts;
  if (first >= syllable && first < syllable + syllables && (first - syllable) % lasts == 0 &&
      second > beforeLast && second < beforeLast + lasts)
    return first + (second - beforeLast);
  auto it = std::lower_bound(std::begin(joinedPairs), std::end(joinedPairs),
                             std::pair<uint32_t, uint32_t>(first, second),
                             [](const Joined &pair, const std::pair<uint32_t, uint32_t> &wanted) {
                               return std::pair(pair.first, pair.second) < wanted;
                             });
  if (it == std::end(joinedPairs) || it->first != first || it->second != second)
    return std::nullopt;
  return it->joined;
}

/// A mark joins the last character that is none, unless a mark of its own class or a higher one
/// stands between them.
std::u32string join(const std::u32string &text) {
  std::u32string out;
  std::optional<std::size_t> starter;
  unsigned before = 0; // class of the last character kept behind the starter
  for (char32_t c : text) {
    unsigned order = markOrder(c);
    bool adjacent = starter && *starter + 1 == out.size();
    if (starter && (adjacent || (before < order && before != 0)))
      if (auto whole = joined(out[*starter], c)) {
        out[*starter] = *whole;
        continue;
      }
    if (order == 0)
      starter = out.size();
    before = order;
    out += c;
  }
  return out;
}

} // namespace

std::string normalized(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; }))
    return std::string(name);
  std::u32string text;
  for (std::size_t i = 0; i < name.size();)
    takeApart(nextCharacter(name, i), text);
  orderMarks(text);
  std::string out;
  for (char32_t c : join(text))
    appendCharacter(out, c);
  return out;
}

} // namespace tlc::parsing
