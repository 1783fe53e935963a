#include "support/TextWriter.h"

namespace tlc {

TextWriter &TextWriter::operator<<(std::string_view part) {
  while (!part.empty()) {
    size_t end = part.find('\n');
    std::string_view piece = part.substr(0, end);
    if (!piece.empty()) {
      if (text.empty() || text.back() == '\n')
        text.append(static_cast<size_t>(width) * level, ' ');
      text += piece;
    }
    if (end == part.npos)
      break;
    text += '\n';
    part.remove_prefix(end + 1);
  }
  return *this;
}

std::size_t TextWriter::column() const {
  size_t newline = text.rfind('\n');
  return text.size() - (newline == text.npos ? 0 : newline + 1);
}

} // namespace tlc
