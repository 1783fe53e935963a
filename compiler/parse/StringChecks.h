// The inside of string literals: escapes, and the replacement fields of f-strings.
#pragma once

#include <antlr4-runtime.h>
#include <string_view>

namespace tlc::parsing {

class Parse;

/// A literal's prefix, and the range of what stands between its quotation marks.
struct StringToken {
  StringToken(const antlr4::Token &token, std::string_view text);

  size_t begin, end;
  bool raw = false, bytes = false, format = false;
};

/// Checks one literal; parses and checks its replacement fields, and notes its pieces in
/// Parse::formatted.
void checkString(Parse &parse, const antlr4::Token &string);

} // namespace tlc::parsing
