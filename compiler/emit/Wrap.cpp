#include "emit/Wrap.h"

#include <string_view>

namespace tlc::emit {

namespace {

constexpr std::size_t width = 100;

/// Where to cut so that at most `room` characters stay on the line: the last of the least nested
/// places. npos if there is none.
std::size_t cut(std::string_view text, std::size_t room) {
  std::size_t best = text.npos, first = text.find_first_not_of(' ');
  int depth = 0, bestDepth = 1 << 20;
  bool quoted = false;
  for (std::size_t i = first; i < text.size() && i <= room; ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"')
      quoted = true;
    else if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '}')
      --depth;
    if (c != ' ' || i < first + 8)
      continue;
    bool afterComma = text[i - 1] == ',' || text[i - 1] == ';';
    std::string_view rest = text.substr(i + 1);
    bool operators = false;
    for (std::string_view op :
         {"+ ", "- ", "* ", "/ ", "% ", "&& ", "|| ", "? ", ": ", "< ", "== "})
      operators |= rest.starts_with(op);
    if ((afterComma || operators || text[i - 1] == '=') && depth <= bestDepth) {
      best = i;
      bestDepth = depth;
    }
  }
  return best;
}

} // namespace

void writeWrapped(TextWriter &out, const std::string &text) {
  std::string_view rest = text;
  if (rest.starts_with('#') || rest.starts_with("//")) {
    out.line(rest);
    return;
  }
  for (bool first = true;; first = false) {
    std::size_t used = out.indentation() + (first ? 0 : 4);
    std::size_t room = width > used + 20 ? width - used : 20;
    std::size_t at = rest.size() > room ? cut(rest, room) : rest.npos;
    out.line((first ? "" : "    ") + std::string(rest.substr(0, at)));
    if (at == rest.npos)
      return;
    rest = rest.substr(at + 1);
  }
}

} // namespace tlc::emit
