#include "ir/Lexer.h"

#include "ir/Parse.h"
#include "ir/Print.h"

#include <cctype>
#include <charconv>
#include <limits>

namespace tlc::ir {

std::optional<DType> parseShortName(std::string_view name) {
  std::string_view base = name;
  unsigned lanes = 1;
  if (std::size_t x = name.rfind('x'); x != name.npos && x + 1 < name.size()) {
    auto [end, error] = std::from_chars(name.data() + x + 1, name.data() + name.size(), lanes);
    if (error == std::errc() && end == name.data() + name.size() && lanes > 1 && lanes <= 65535)
      base = name.substr(0, x);
    else
      lanes = 1;
  }
  constexpr Scalar scalars[] = {
#define TLC_SCALAR(NAME, ...) Scalar::NAME,
#include "support/DType.def"
  };
  for (Scalar s : scalars)
    if (shortName(DType(s)) == base || DType(s).str() == base)
      return DType(s, lanes);
  return std::nullopt;
}

} // namespace tlc::ir

namespace tlc::ir::text {
namespace {

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isWord(char c) { return isWordStart(c) || isDigit(c); }

} // namespace

void Lexer::suffix() {
  if (at + 1 >= source.size() || source[at] != ':' || !isWordStart(source[at + 1]))
    return;
  std::uint32_t end = at + 1;
  while (end < source.size() && isWord(source[end]))
    ++end;
  if (auto dtype = parseShortName(source.substr(at + 1, end - at - 1))) {
    token.dtype = dtype;
    at = end;
  }
}

void Lexer::number() {
  std::uint32_t begin = at;
  while (at < source.size() && isDigit(source[at]))
    ++at;
  bool isReal = false;
  if (at + 1 < source.size() && source[at] == '.' && isDigit(source[at + 1])) {
    isReal = true;
    ++at;
    while (at < source.size() && isDigit(source[at]))
      ++at;
  }
  if (at < source.size() && (source[at] == 'e' || source[at] == 'E')) {
    std::uint32_t sign = at + 1;
    if (sign < source.size() && (source[sign] == '+' || source[sign] == '-'))
      ++sign;
    if (sign < source.size() && isDigit(source[sign])) {
      isReal = true;
      at = sign;
      while (at < source.size() && isDigit(source[at]))
        ++at;
    }
  }
  std::string_view digits = source.substr(begin, at - begin);
  if (isReal) {
    token.kind = TokenKind::Float;
    std::from_chars(digits.data(), digits.data() + digits.size(), token.real);
  } else {
    token.kind = TokenKind::Int;
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) {
      token.kind = TokenKind::Bad;
      token.text = "a number beyond 64 bits";
      return;
    }
    token.integer = value;
  }
  suffix();
}

void Lexer::string() {
  token.kind = TokenKind::String;
  for (++at; at < source.size() && source[at] != '"'; ++at) {
    if (source[at] != '\\' || at + 1 >= source.size()) {
      token.text += source[at];
      continue;
    }
    char c = source[++at];
    if (c == 'n') {
      token.text += '\n';
    } else if (c == 't') {
      token.text += '\t';
    } else if (c == 'x' && at + 2 < source.size()) {
      unsigned value = 0;
      std::from_chars(source.data() + at + 1, source.data() + at + 3, value, 16);
      token.text += static_cast<char>(value);
      at += 2;
    } else {
      token.text += c;
    }
  }
  if (at >= source.size()) {
    token.kind = TokenKind::Bad;
    token.text = "a string without end";
    return;
  }
  ++at;
}

void Lexer::word() {
  std::uint32_t begin = at;
  auto inside = [&](std::uint32_t i) {
    return i < source.size() && (isWord(source[i]) || (source[i] == '.' && i + 1 < source.size() &&
                                                       isWordStart(source[i + 1])));
  };
  while (inside(at))
    ++at;
  token.text = source.substr(begin, at - begin);
  token.kind = TokenKind::Word;
  if (token.text == "inf" || token.text == "nan") {
    token.kind = TokenKind::Float;
    token.real = token.text == "inf" ? std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::quiet_NaN();
    suffix();
  }
}

void Lexer::advance() {
  previousEnd = token.end;
  token = {};
  token.startsLine = at == 0;
  while (at < source.size() &&
         (std::isspace(static_cast<unsigned char>(source[at])) || source[at] == '#')) {
    if (source[at] == '#') {
      while (at < source.size() && source[at] != '\n')
        ++at;
      continue;
    }
    token.startsLine |= source[at] == '\n';
    ++at;
  }
  token.begin = at;
  if (at >= source.size()) {
    token.end = at;
    return;
  }
  char c = source[at], after = at + 1 < source.size() ? source[at + 1] : '\0';
  if (isDigit(c)) {
    number();
  } else if (isWordStart(c)) {
    word();
  } else if (c == '"') {
    string();
  } else if (c == '%' && isWordStart(after)) {
    std::uint32_t begin = ++at;
    while (at < source.size() && isWord(source[at]))
      ++at;
    token.kind = TokenKind::Name;
    token.text = source.substr(begin, at - begin);
  } else if (c == '@' && after == '"') {
    ++at;
    string();
    if (token.kind == TokenKind::String)
      token.kind = TokenKind::Symbol;
  } else if (c == '@' && isWordStart(after)) {
    std::uint32_t begin = ++at;
    while (at < source.size() && (isWord(source[at]) || source[at] == ':' || source[at] == '.'))
      ++at;
    token.kind = TokenKind::Symbol;
    token.text = source.substr(begin, at - begin);
  } else {
    token.kind = TokenKind::Punct;
    constexpr std::string_view pairs[] = {"->", "..", "//", "<<", ">>", "==", "!=", "<=", ">="};
    token.text = c;
    for (std::string_view pair : pairs)
      if (source.substr(at, 2) == pair)
        token.text = pair;
    at += static_cast<std::uint32_t>(token.text.size());
  }
  token.end = at;
}

std::optional<std::string_view> Lexer::rawParentheses() {
  std::uint32_t begin = at;
  for (unsigned depth = 1; at < source.size(); ++at) {
    depth += source[at] == '(';
    depth -= source[at] == ')';
    if (depth == 0) {
      std::string_view raw = source.substr(begin, at - begin);
      advance();
      return raw;
    }
  }
  return std::nullopt;
}

} // namespace tlc::ir::text
