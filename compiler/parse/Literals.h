// The values of numbers, strings and names.
#pragma once

#include "syntax/AST.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tlc::parsing {

/// Fills type and value from the text of a NUMBER token.
void setNumber(ast::Constant &constant, std::string_view text);

struct LiteralStyle {
  bool raw = false;
  bool bytes = false;
  bool doubledBraces = false; // in an f-string, outside of formats: {{ means {
};

/// The characters that the checked literal text stands for; `\r\n` counts as `\n`. False, with the
/// offset and length of the escape in `badBegin`, `badEnd`, if a \N{...} names no character.
bool decodeLiteral(std::string_view text, LiteralStyle style, std::string &out,
                   std::size_t &badBegin, std::size_t &badEnd);

} // namespace tlc::parsing
