// A source text ready to be parsed, and the errors found in it.
#pragma once

#include "support/Diagnostics.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::parsing {

/// A range of bytes in the text, and what is wrong with it. Becomes a diagnostic once all are found
/// and sorted.
struct SyntaxError {
  struct Label {
    size_t begin, end;
    std::string text;
  };

  diag::Id id;
  size_t begin, end;
  std::vector<std::string> args = {};
  std::vector<Label> labels = {};
  std::string help = {};
};

struct Source {
  std::string text; // UTF-8; a lone carriage return is already a newline
  size_t begin = 0; // 3 after a byte order mark
  std::vector<SyntaxError> errors;
};

/// Bytes of a file to text: byte order mark, encoding comment, Latin-1, lone carriage returns.
Source decode(std::string bytes);
/// The same for text that went through decode before.
Source decoded(std::string text);

bool mayStartName(char32_t c);
bool mayContinueName(char32_t c);

/// The beginning of a text that is too long for a message.
std::string shortened(std::string_view text);
/// `text` as code in a message, shortened.
std::string inTicks(std::string_view text);

} // namespace tlc::parsing
