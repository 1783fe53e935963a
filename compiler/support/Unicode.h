// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tlc {

/// Reads the character at `at` and moves `at` behind it; U+FFFD and one byte where the text is not
/// UTF-8.
char32_t nextCharacter(std::string_view text, std::size_t &at);

/// Appends `c` as UTF-8 (surrogates in the three-byte form they would have).
void appendCharacter(std::string &text, char32_t c);

/// Columns that a terminal gives the character: 0, 1 or 2.
unsigned displayWidth(char32_t c);

} // namespace tlc
