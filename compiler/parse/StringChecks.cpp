#include "parse/StringChecks.h"

#include "parse/ParseTree.h"
#include "parse/PostChecks.h"

#include <cctype>
#include <cstring>

namespace tlc::parsing {
namespace {

class StringCheck {
public:
  StringCheck(Parse &parse, const antlr4::Token &token)
      : parse(parse), text(parse.source.text), token(token), parts(token, text), end(parts.end) {}

  void run() {
    try {
      if (parts.format) {
        size_t at = parts.begin;
        parse.formatted[token.getStartIndex()] = formatted(at, 0);
      } else {
        literal(parts.begin, end);
      }
    } catch (SyntaxError &error) {
      parse.errors.push_back(std::move(error));
    }
  }

private:
  [[noreturn]] static void fail(diag::Id id, size_t begin, size_t end, std::string message = {}) {
    throw SyntaxError{id, begin, end, {std::move(message)}};
  }

  size_t hexDigits(size_t at, size_t limit, size_t most) const {
    size_t n = 0;
    while (n < most && at + n < limit && isxdigit(static_cast<unsigned char>(text[at + n])))
      ++n;
    return n;
  }

  void literal(size_t from, size_t to) const {
    for (size_t i = from; parts.bytes && i < to; ++i)
      if (static_cast<unsigned char>(text[i]) >= 0x80)
        fail(diag::BytesNotAscii, i, i + 1);
    if (!parts.raw)
      escapes(from, to);
  }

  void escapes(size_t from, size_t to) const {
    for (size_t i = text.find('\\', from); i < to; i = text.find('\\', i)) {
      char kind = i + 1 < to ? text[i + 1] : ' ';
      size_t wanted = kind == 'x' ? 2 : parts.bytes ? 0 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
      size_t got = hexDigits(i + 2, to, wanted);
      if (got < wanted)
        fail(diag::BadEscape, i, i + 2 + got,
             std::string("the escape \\") + kind + " needs " + std::to_string(wanted) +
                 " hexadecimal digits");
      if (kind == 'U' && !parts.bytes &&
          std::stoul(std::string(text.substr(i + 2, 8)), nullptr, 16) > 0x10FFFF)
        fail(diag::BadEscape, i, i + 10, "there is no such character");
      if (kind == 'N' && !parts.bytes) {
        size_t close = text.find('}', i);
        if (i + 2 >= to || text[i + 2] != '{' || close >= to || close == i + 3)
          fail(diag::BadEscape, i, i + 2, "the escape \\N needs the name of a character in braces");
      }
      i += 2;
    }
  }

  // The text from `at` to the end of the string, or of the format of an outer field: literals and
  // fields.
  std::vector<FormatPiece> formatted(size_t &at, int level) {
    std::vector<FormatPiece> pieces;
    for (;;) {
      size_t from = at;
      skipLiteral(at, level);
      literal(from, at);
      if (at > from) {
        FormatPiece &piece = pieces.emplace_back();
        piece.begin = from;
        piece.end = at;
      }
      if (at >= end)
        return pieces;
      if (text[at] == '}') {
        if (level == 0)
          fail(diag::FStringBrace, at, at + 1,
               "a single `}` in an f-string; `}}` stands for the character");
        return pieces;
      }
      pieces.push_back(field(at, level));
    }
  }

  void skipLiteral(size_t &at, int level) const {
    for (; at < end; ++at) {
      char c = text[at];
      if (!parts.raw && c == '\\' && at + 1 < end) {
        c = text[++at];
        if (c == 'N' && at + 1 < end && text[at + 1] == '{')
          at = std::min(text.find('}', at), end - 1);
        if (c != '{' && c != '}')
          continue;
      }
      if (c != '{' && c != '}')
        continue;
      bool doubled = level == 0 && at + 1 < end && text[at + 1] == c;
      if (!doubled)
        return;
      ++at;
    }
  }

  FormatPiece field(size_t &at, int level) {
    FormatPiece piece;
    piece.isField = true;
    piece.open = at;
    if (level >= 2)
      fail(diag::BadReplacementField, at, at + 1,
           "replacement fields can be nested two levels deep only");
    piece.begin = ++at;
    skipExpression(at);
    piece.end = at;
    if (text.substr(piece.begin, at - piece.begin).find_first_not_of(" \t\n\f\r") == text.npos ||
        piece.begin == at)
      fail(diag::BadReplacementField, piece.open, at + 1,
           "a replacement field needs an expression");
    parseField(piece);
    if (at < end && text[at] == '=') {
      do
        ++at;
      while (at < end && isspace(static_cast<unsigned char>(text[at])));
      piece.equalsEnd = at;
    }
    if (at < end && text[at] == '!')
      conversion(at, piece);
    if (at < end && text[at] == ':') {
      piece.hasSpec = true;
      piece.specBegin = ++at;
      piece.spec = formatted(at, level + 1);
      piece.specEnd = at;
    }
    if (at >= end || text[at] != '}')
      fail(diag::FStringBrace, piece.open, piece.open + 1,
           "this `{` in an f-string is never closed; `{{` stands for the character");
    piece.close = at++;
    return piece;
  }

  void conversion(size_t &at, FormatPiece &piece) const {
    size_t begin = ++at;
    while (at < end && text[at] != '}' && text[at] != ':')
      ++at;
    if (at - begin != 1 || !strchr("sra", text[begin]))
      fail(diag::BadReplacementField, begin, at, "after `!` there must be `s`, `r` or `a`");
    piece.conversion = text[begin];
  }

  // Moves `at` to what ends the expression: '}', ':', '!' or '=' outside brackets and strings.
  void skipExpression(size_t &at) const {
    std::string open;
    char quote = 0;
    bool triple = false;
    for (; at < end; ++at) {
      char c = text[at];
      bool tripled = at + 2 < end && text[at + 1] == c && text[at + 2] == c;
      if (c == '\\')
        fail(diag::BadReplacementField, at, at + 1,
             "a replacement field cannot contain a backslash");
      if (quote) {
        if (c == quote && (!triple || tripled)) {
          at += triple ? 2 : 0;
          quote = 0;
        }
        continue;
      }
      if (c == '\'' || c == '"') {
        quote = c;
        triple = tripled;
        at += triple ? 2 : 0;
      } else if (endsExpression(at, open)) {
        return;
      }
    }
    if (quote)
      fail(diag::BadReplacementField, end, end + 1,
           "a string inside this replacement field is not closed");
    if (!open.empty())
      fail(diag::BadReplacementField, end, end + 1,
           std::string("expected `") + open.back() + "` inside this replacement field");
  }

  // Whether the character at `at` ends the expression; keeps track of the closing brackets that are
  // still to come, and steps over the first character of `!=`, `<=` and the like.
  bool endsExpression(size_t &at, std::string &open) const {
    char c = text[at];
    switch (c) {
    case '(':
    case '[':
    case '{':
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
      return false;
    case '#':
      fail(diag::BadReplacementField, at, at + 1, "a replacement field cannot contain a comment");
    case '!':
    case '=':
    case '<':
    case '>':
    case ':':
      if (!open.empty())
        return false;
      if (c != ':' && at + 1 < end && text[at + 1] == '=') {
        ++at;
        return false;
      }
      return c != '<' && c != '>';
    case ')':
    case ']':
    case '}':
      if (open.empty() && c == '}')
        return true;
      if (open.empty() || open.back() != c)
        fail(diag::BadReplacementField, at, at + 1,
             inTicks(std::string(1, c)) + " matches no bracket of this replacement field");
      open.pop_back();
      return false;
    default:
      return false;
    }
  }

  void parseField(FormatPiece &piece) {
    size_t line = token.getLine(), column = token.getCharPositionInLine();
    for (size_t i = token.getStartIndex(); i < piece.begin; ++i)
      if (text[i] == '\n')
        ++line, column = 0;
      else
        ++column;
    piece.tree = parse.field(piece.begin, piece.end, line, column);
    if (piece.tree)
      checkTree(parse, *piece.tree);
  }

  Parse &parse;
  const std::string_view text;
  const antlr4::Token &token;
  const StringToken parts;
  const size_t end;
};

} // namespace

StringToken::StringToken(const antlr4::Token &token, std::string_view text) {
  size_t at = token.getStartIndex();
  for (; text[at] != '\'' && text[at] != '"'; ++at) {
    char c = static_cast<char>(text[at] | 0x20);
    raw |= c == 'r';
    bytes |= c == 'b';
    format |= c == 'f';
  }
  end = token.getStopIndex() + 1;
  size_t quotes = end - at >= 6 && text[at] == text[at + 1] && text[at] == text[at + 2] ? 3 : 1;
  begin = at + quotes;
  end -= quotes;
}

void checkString(Parse &parse, const antlr4::Token &string) { StringCheck(parse, string).run(); }

} // namespace tlc::parsing
