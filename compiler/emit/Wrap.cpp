#include "emit/Wrap.h"

#include <string_view>
#include <utility>

namespace tlc::emit {

namespace {

constexpr std::size_t width = 100;

constexpr int separator = 0, levels = 8; ///< ranks of places on one level of brackets

/// How loosely the operator binds that begins here, or the part of a conditional: the looser, the
/// better to break before it. `levels` if there is none.
int rankOfOperator(std::string_view rest) {
  constexpr std::pair<std::string_view, int> operators[] = {
      {"? ", 1},  {": ", 1},  {"|| ", 2}, {"&& ", 3}, {"< ", 4},  {"<= ", 4}, {"> ", 4},
      {">= ", 4}, {"== ", 4}, {"!= ", 4}, {"+ ", 5},  {"- ", 5},  {"* ", 6},  {"/ ", 6},
      {"% ", 6},  {"& ", 7},  {"| ", 7},  {"^ ", 7},  {">> ", 7}, {"<< ", 7}};
  for (const auto &[op, rank] : operators)
    if (rest.starts_with(op))
      return rank;
  return levels;
}

/// Where to cut so that at most `room` characters stay on the line: in the least nested place,
/// after a comma rather than before an operator, before one that binds loosely rather than tightly,
/// as late as possible. npos if there is none.
std::size_t cut(std::string_view text, std::size_t room) {
  std::size_t best = text.npos;
  int depth = 0, bestRank = 1 << 20;
  bool inString = false;
  for (std::size_t i = 0; i < text.size() && i <= room; ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
      continue;
    }
    if (c == '"')
      inString = true;
    else if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '}')
      --depth;
    if (c != ' ' || i < room / 4)
      continue;
    bool assigns =
        i > 1 && text[i - 1] == '=' && std::string_view(" +-*").find(text[i - 2]) != text.npos;
    bool comma = text[i - 1] == ',' || text[i - 1] == ';' || assigns;
    int rank = comma ? separator : rankOfOperator(text.substr(i + 1));
    if (rank == levels)
      continue;
    rank += levels * depth;
    if (rank <= bestRank) {
      best = i;
      bestRank = rank;
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
