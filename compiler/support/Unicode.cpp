#include "support/Unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tlc {
namespace {

struct WidthRange {
  char32_t first, last;
};

// East Asian wide and full-width characters and emoji, and the marks that combine with the
// character before.
constexpr WidthRange wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                               {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                               {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                               {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                               {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr WidthRange narrow[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},
                                 {0x064B, 0x065F}, {0x200B, 0x200F}, {0x202A, 0x202E},
                                 {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                 {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};

template <std::size_t N> bool contains(const WidthRange (&ranges)[N], char32_t c) {
  auto it =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t value, const WidthRange &range) { return value < range.first; });
  return it != std::begin(ranges) && c <= std::prev(it)->last;
}

} // namespace

char32_t nextCharacter(std::string_view text, std::size_t &at) {
  auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  std::uint32_t first = byte(at);
  std::size_t length = first < 0x80                    ? 1
                       : first >= 0xC2 && first < 0xE0 ? 2
                       : first >= 0xE0 && first < 0xF0 ? 3
                       : first >= 0xF0 && first < 0xF5 ? 4
                                                       : 0;
  char32_t code = length == 1 ? first : length == 0 ? 0 : first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) {
      length = 0;
      break;
    }
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (length == 0 || overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    ++at;
    return 0xFFFD;
  }
  at += length;
  return code;
}

void appendCharacter(std::string &text, char32_t c) {
  auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

unsigned displayWidth(char32_t c) { return contains(narrow, c) ? 0 : contains(wide, c) ? 2 : 1; }

} // namespace tlc
