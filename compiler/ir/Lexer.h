// Tokens of the text form, for the parser only.
#pragma once

#include "support/DType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tlc::ir::text {

enum class TokenKind : std::uint8_t {
  End,
  Word,   ///< word, f8e4m3.sat
  Name,   ///< %name; `text` without the %
  Symbol, ///< @name or @"any name"; `text` without the @
  Int,
  Float,
  String, ///< `text` is what it stands for
  Punct,
  Bad, ///< `text` says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  std::uint32_t begin = 0, end = 0;
  bool startsLine = false;
  __int128 integer = 0;
  double real = 0;
  std::optional<DType> dtype; ///< of Int and Float, if said

  bool is(std::string_view t) const {
    return (kind == TokenKind::Word || kind == TokenKind::Punct) && text == t;
  }
};

/// Reads tokens on demand; copy it to come back to a place.
class Lexer {
public:
  explicit Lexer(std::string_view source) : source(source) { advance(); }

  const Token &peek() const { return token; }
  Token next() {
    Token current = token;
    advance();
    return current;
  }
  /// The text from behind the current token, which is "(", up to its ")"; the current token is then
  /// that ")". None if there is no such ")".
  std::optional<std::string_view> rawParentheses();
  /// End of the last token taken.
  std::uint32_t lastEnd() const { return previousEnd; }

private:
  void advance();
  void number();
  void word();
  void string();
  void suffix();

  std::string_view source;
  std::uint32_t at = 0, previousEnd = 0;
  Token token;
};

} // namespace tlc::ir::text
