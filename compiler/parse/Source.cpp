#include "parse/Source.h"

#include "support/Unicode.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace tlc::parsing {
namespace {

struct CodeRange {
  uint32_t first, last;
};
#include "parse/XidRanges.inc"

template <size_t N> bool contains(const CodeRange (&ranges)[N], char32_t c) {
  auto it =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t value, const CodeRange &range) { return value < range.first; });
  return it != std::begin(ranges) && c <= std::prev(it)->last;
}

// The encoding that a comment in the first two lines names, in lower case with '-' for '_', and
// where it is named; empty without one.
std::string declaredEncoding(std::string_view text, std::string_view &where) {
  for (int line = 0; line < 2 && !text.empty(); ++line) {
    std::string_view first = text.substr(0, text.find_first_of("\r\n"));
    text.remove_prefix(std::min(text.size(), first.size() + 1));
    if (!text.empty() && text[0] == '\n' && line == 0 && first.size())
      text.remove_prefix(1);
    size_t blank = first.find_first_not_of(" \t\f");
    if (blank != first.npos && first[blank] != '#')
      return "";
    for (size_t at = first.find("coding"); at != first.npos; at = first.find("coding", at + 1)) {
      size_t i = at + 6;
      if (i >= first.size() || (first[i] != ':' && first[i] != '='))
        continue;
      do
        ++i;
      while (i < first.size() && (first[i] == ' ' || first[i] == '\t'));
      std::string name;
      const size_t begin = i;
      for (; i < first.size() &&
             (isalnum(static_cast<unsigned char>(first[i])) || strchr("-_.", first[i]));
           ++i)
        name += first[i] == '_' ? '-' : static_cast<char>(tolower(first[i]));
      where = first.substr(begin, i - begin);
      if (!name.empty())
        return name;
    }
  }
  return "";
}

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

void latin1ToUtf8(std::string &text) {
  std::string out;
  for (unsigned char c : text) {
    if (c < 0x80)
      out += static_cast<char>(c);
    else {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  text = std::move(out);
}

} // namespace

bool mayStartName(char32_t c) { return contains(nameStart, c); }
bool mayContinueName(char32_t c) { return contains(nameContinue, c); }

Source decode(std::string bytes) {
  Source source{std::move(bytes), 0, {}};
  std::string &text = source.text;
  if (startsWith(text, "\xEF\xBB\xBF"))
    source.begin = 3;
  std::string_view where;
  std::string encoding = declaredEncoding(std::string_view(text).substr(source.begin), where);
  bool utf8 = encoding.empty() || startsWith(encoding, "utf-8") || encoding == "utf8" ||
              encoding == "ascii" || encoding == "us-ascii";
  bool latin1 = encoding == "latin-1" || encoding == "iso-8859-1" || encoding == "iso-latin-1" ||
                startsWith(encoding, "latin-1-") || startsWith(encoding, "iso-8859-1-") ||
                encoding == "latin1";
  if (source.begin > 0)
    utf8 = encoding.empty() || startsWith(encoding, "utf-8");
  if (latin1 && source.begin == 0)
    latin1ToUtf8(text);
  else if (!utf8) {
    auto begin = static_cast<size_t>(where.data() - text.data());
    source.errors.push_back(
        {diag::UnsupportedEncoding,
         begin,
         begin + where.size(),
         {source.begin ? "the file starts with a UTF-8 mark but says it is " + encoding
                       : "the encoding " + inTicks(encoding) +
                             " is not supported; save the file as UTF-8"}});
    return source;
  }
  for (size_t i = source.begin; i < text.size();) {
    size_t at = i;
    unsigned char byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) {
      source.errors.push_back({diag::NullByte, i, i + 1});
      return source;
    }
    if (byte < 0x80) {
      if (byte == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))
        text[i] = '\n';
      ++i;
    } else if (nextCharacter(text, i) == 0xFFFD && i == at + 1) {
      source.errors.push_back({diag::InvalidUtf8, at, i});
      return source;
    }
  }
  return source;
}

Source decoded(std::string text) {
  Source source{std::move(text), 0, {}};
  source.begin = startsWith(source.text, "\xEF\xBB\xBF") ? 3 : 0;
  return source;
}

std::string shortened(std::string_view text) {
  constexpr size_t most = 60;
  if (text.size() <= most)
    return std::string(text);
  size_t end = most / 2;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string inTicks(std::string_view text) { return "`" + shortened(text) + "`"; }

} // namespace tlc::parsing
