#include "parse/IndentTokens.h"

#include "support/Unicode.h"

#include <TlLexer.h>
#include <array>

namespace tlc::parsing {
namespace {

constexpr size_t maxBrackets = 200, maxBlocks = 100; // CPython's limits
constexpr size_t maxDigits = 4300;
constexpr size_t maxErrors = 50;

// What the lexer sees for each byte.
constexpr std::array<unsigned char, 256> symbols = [] {
  std::array<unsigned char, 256> table{};
  for (unsigned i = 0; i < 256; ++i)
    table[i] = static_cast<unsigned char>(i < 0x7F ? i : i == 0x7F ? 1 : 0x7F);
  return table;
}();

bool isNameByte(unsigned char c) { return isalnum(c) || c == '_' || c >= 0x80; }

size_t closerOf(size_t opener) {
  return opener == TlLexer::OPEN_PAREN     ? TlLexer::CLOSE_PAREN
         : opener == TlLexer::OPEN_BRACKET ? TlLexer::CLOSE_BRACKET
                                           : TlLexer::CLOSE_BRACE;
}

// After a comma, these end the list that the comma is in. For ':' it depends, see push.
bool endsList(size_t type) {
  switch (type) {
  case TlLexer::CLOSE_PAREN:
  case TlLexer::CLOSE_BRACKET:
  case TlLexer::CLOSE_BRACE:
  case TlLexer::NEWLINE:
  case TlLexer::ASSIGN:
  case TlLexer::SEMICOLON:
  case TlLexer::IN:
  case TlLexer::IF:
  case antlr4::Token::EOF:
    return true;
  default:
    return false;
  }
}

std::string codePoint(char32_t c) {
  char buffer[16];
  snprintf(buffer, sizeof buffer, "U+%04X", static_cast<unsigned>(c));
  return buffer;
}

} // namespace

size_t ByteStream::LA(ssize_t i) {
  size_t at = next + static_cast<size_t>(i > 0 ? i - 1 : i);
  return at < last ? symbols[static_cast<unsigned char>(text[at])] : IntStream::EOF;
}

std::string ByteStream::getText(const antlr4::misc::Interval &interval) {
  size_t begin = static_cast<size_t>(interval.a),
         end = std::min(static_cast<size_t>(interval.b) + 1, last);
  return begin < end ? std::string(text.substr(begin, end - begin)) : "";
}

IndentTokens::IndentTokens(antlr4::TokenSource &lexer, ByteStream &input, Part part)
    : lexer(lexer), input(input), part(part), lineStart(input.index()) {
  tokens.reserve((input.size() - input.index()) / 4 + 8);
  readAll();
}

std::unique_ptr<antlr4::Token> IndentTokens::nextToken() { return std::move(tokens[given++]); }

std::string_view IndentTokens::text(const antlr4::CommonToken &token) const {
  return input.text.substr(token.getStartIndex(), token.getStopIndex() + 1 - token.getStartIndex());
}

void IndentTokens::error(SyntaxError error, bool isFatal) {
  if (fatal != SIZE_MAX || found.size() == maxErrors)
    return;
  if (isFatal)
    fatal = error.begin;
  found.push_back(std::move(error));
}

void IndentTokens::readAll() {
  for (;;) {
    Token token(static_cast<antlr4::CommonToken *>(lexer.nextToken().release()));
    if (token->getType() == antlr4::Token::EOF)
      return finish(std::move(token));
    if (token->getStartIndex() >= skipTo)
      take(std::move(token));
  }
}

void IndentTokens::take(Token token) {
  size_t begin = token->getStartIndex(), end = token->getStopIndex() + 1;
  switch (token->getType()) {
  case TlLexer::NEWLINE:
    if (part == Part::Module && brackets.empty())
      endLine(std::move(token));
    return;
  case TlLexer::LINE_JOIN:
    if (end >= input.size())
      error({diag::LineContinuation,
             begin,
             begin + 1,
             {"the file ends after a line continuation `\\`"}},
            true);
    return;
  case TlLexer::STRAY_CHARACTER:
    strayCharacter(*token);
    return;
  case TlLexer::NAME:
    checkName(*token);
    break;
  case TlLexer::NUMBER:
    checkNumber(*token);
    break;
  case TlLexer::UNTERMINATED_STRING:
    unterminated(*token);
    break;
  default:
    break;
  }
  push(std::move(token));
}

size_t IndentTokens::typeBefore(size_t back) const {
  return tokens.size() >= back ? tokens[tokens.size() - back]->getType()
                               : static_cast<size_t>(TlLexer::NEWLINE);
}

void IndentTokens::push(Token token) {
  if (lineEmpty && part == Part::Module)
    startLine(*token);
  size_t type = token->getType(), previous = typeBefore(1);
  unsigned &lambdas = brackets.empty() ? lineLambdas : brackets.back().lambdas;
  if (previous == TlLexer::COMMA) {
    bool slice = type == TlLexer::COLON && !brackets.empty() &&
                 brackets.back().type == TlLexer::OPEN_BRACKET && lambdas == 0;
    if (endsList(type) || (type == TlLexer::COLON && !slice))
      tokens.back()->setType(TlLexer::TRAILING_COMMA);
  }
  switch (type) {
  case TlLexer::OPEN_PAREN:
  case TlLexer::OPEN_BRACKET:
  case TlLexer::OPEN_BRACE:
    if (brackets.size() == maxBrackets)
      error({diag::NestedTooDeeply,
             token->getStartIndex(),
             token->getStartIndex() + 1,
             {"more than 200 brackets inside each other"}},
            true);
    brackets.push_back({type, tokens.size(), token->getStartIndex()});
    break;
  case TlLexer::CLOSE_PAREN:
  case TlLexer::CLOSE_BRACKET:
  case TlLexer::CLOSE_BRACE:
    closeBracket(*token);
    break;
  case TlLexer::LAMBDA:
    ++lambdas;
    break;
  case TlLexer::COLON:
    if (lambdas > 0)
      --lambdas;
    if (withOpener != SIZE_MAX)
      tokens[withOpener]->setType(TlLexer::WITH_OPEN);
    break;
  default:
    break;
  }
  if (type != TlLexer::CLOSE_PAREN)
    withOpener = SIZE_MAX;
  tokens.push_back(std::move(token));
}

void IndentTokens::closeBracket(antlr4::CommonToken &token) {
  withOpener = SIZE_MAX;
  size_t begin = token.getStartIndex();
  if (brackets.empty())
    return error({diag::UnmatchedCloser, begin, begin + 1, {std::string(text(token))}}, true);
  Bracket open = brackets.back();
  brackets.pop_back();
  if (closerOf(open.type) != token.getType()) {
    std::string opener(1, input.text[open.offset]);
    error({diag::MismatchedBracket,
           begin,
           begin + 1,
           {std::string(text(token)), opener},
           {{open.offset, open.offset + 1, "opened here"}}},
          true);
  }
  if (open.token > 0 && tokens[open.token - 1]->getType() == TlLexer::WITH)
    withOpener = open.token;
}

// Finds the indentation of the line that starts with `first` and opens or closes blocks
// accordingly.
void IndentTokens::startLine(antlr4::CommonToken &first) {
  lineEmpty = false;
  lineLambdas = 0;
  int column = 0, alternate = 0, joined = 0;
  for (size_t i = lineStart; i < first.getStartIndex(); ++i) {
    switch (input.text[i]) {
    case ' ':
      ++column, ++alternate;
      break;
    case '\t':
      column = (column / 8 + 1) * 8, ++alternate;
      break;
    case '\f':
      column = alternate = 0;
      break;
    case '\\':
      joined = joined ? joined : column;
      break; // the first line with a '\' decides
    case '\n':
      column = alternate = 0;
      break;
    default:
      break;
    }
  }
  if (joined)
    column = alternate = joined;
  openBlock({column, alternate, false}, first);
  lineToken = tokens.size();
  if (blocks.back().match && text(first) == "case")
    first.setType(TlLexer::CASE);
}

void IndentTokens::openBlock(Block block, const antlr4::CommonToken &first) {
  size_t at = first.getStartIndex();
  bool mixed = false;
  if (block.column > blocks.back().column) {
    mixed = block.alternateColumn <= blocks.back().alternateColumn;
    if (blocks.size() == maxBlocks)
      error({diag::NestedTooDeeply, at, at + 1, {"more than 99 blocks inside each other"}}, true);
    block.match = matchOpens;
    blocks.push_back(block);
    tokens.push_back(make(TlLexer::INDENT, lineStart, at, first));
  } else {
    const std::vector<Block> before = blocks;
    while (block.column < blocks.back().column) {
      blocks.pop_back();
      tokens.push_back(make(TlLexer::DEDENT, at, at, first));
    }
    if (block.column != blocks.back().column) {
      std::string open;
      for (const Block &outer : before)
        open += (open.empty() ? "" : ", ") + std::to_string(outer.column);
      error({diag::InconsistentDedent, lineStart, at, {std::to_string(block.column), open}}, true);
    }
    mixed = block.alternateColumn != blocks.back().alternateColumn;
  }
  matchOpens = false;
  if (mixed)
    error({diag::MixedTabs, lineStart, at}, true);
}

void IndentTokens::endLine(Token newline) {
  lineStart = newline->getStopIndex() + 1;
  if (lineEmpty)
    return;
  lineEmpty = true;
  if (typeBefore(1) == TlLexer::SEMICOLON)
    tokens.back()->setType(TlLexer::TRAILING_SEMICOLON);
  if (typeBefore(1) == TlLexer::COMMA)
    tokens.back()->setType(TlLexer::TRAILING_COMMA);
  // No simple statement ends in ':', so a line that starts with `match` and does is a match
  // statement.
  auto &first = *tokens[lineToken];
  if (typeBefore(1) == TlLexer::COLON && first.getType() == TlLexer::NAME &&
      tokens.size() > lineToken + 2 && text(first) == "match") {
    first.setType(TlLexer::MATCH);
    matchOpens = true;
  }
  withOpener = SIZE_MAX;
  tokens.push_back(std::move(newline));
}

void IndentTokens::finish(Token endOfFile) {
  size_t end = input.size();
  if (!brackets.empty() && fatal == SIZE_MAX)
    error({diag::UnclosedBracket,
           brackets.back().offset,
           brackets.back().offset + 1,
           {std::string(1, input.text[brackets.back().offset])}},
          true);
  if (part == Part::Module) {
    if (!lineEmpty)
      endLine(make(TlLexer::NEWLINE, end, end, *endOfFile));
    for (; blocks.size() > 1; blocks.pop_back())
      tokens.push_back(make(TlLexer::DEDENT, end, end, *endOfFile));
  } else if (typeBefore(1) == TlLexer::COMMA && !tokens.empty()) {
    tokens.back()->setType(TlLexer::TRAILING_COMMA);
  }
  tokens.push_back(std::move(endOfFile));
}

IndentTokens::Token IndentTokens::make(size_t type, size_t begin, size_t end,
                                       const antlr4::CommonToken &at) const {
  auto token = std::make_unique<antlr4::CommonToken>(
      std::make_pair(&lexer, static_cast<antlr4::CharStream *>(&input)), type,
      antlr4::Token::DEFAULT_CHANNEL, begin, end - 1);
  token->setLine(at.getLine());
  token->setCharPositionInLine(at.getCharPositionInLine());
  return token;
}

void IndentTokens::strayCharacter(const antlr4::CommonToken &token) {
  size_t begin = token.getStartIndex(), end = token.getStopIndex() + 1;
  std::string_view it = text(token);
  if (it == "\\")
    return error({diag::LineContinuation,
                  begin,
                  end,
                  {"nothing but a line end may follow a line continuation `\\`"}});
  auto byte = static_cast<unsigned char>(it[0]);
  SyntaxError error{diag::StrayCharacter,
                    begin,
                    end,
                    {isprint(byte) ? inTicks(it) : "the character " + codePoint(byte)}};
  if (it == "!")
    error.help = "write `not`; different is `!=`";
  else if (it == "?")
    error.help = "the conditional expression is `a if condition else b`";
  this->error(std::move(error));
}

void IndentTokens::checkName(const antlr4::CommonToken &token) {
  std::string_view name = text(token);
  size_t i = 0;
  while (i < name.size() && static_cast<unsigned char>(name[i]) < 0x80)
    ++i;
  while (i < name.size()) {
    size_t at = i;
    char32_t c = nextCharacter(name, i);
    if (c >= 0x80 && !(at == 0 ? mayStartName(c) : mayContinueName(c)))
      return error({diag::InvalidNameCharacter,
                    token.getStartIndex() + at,
                    token.getStartIndex() + i,
                    {std::string(name.substr(at, i - at)), codePoint(c)}});
  }
}

void IndentTokens::checkNumber(const antlr4::CommonToken &token) {
  std::string_view number = text(token), after = input.text.substr(token.getStopIndex() + 1);
  size_t begin = token.getStartIndex(), end = token.getStopIndex() + 1;
  after = after.substr(0, input.size() - end);
  if (!after.empty() && isNameByte(static_cast<unsigned char>(after[0]))) {
    bool keyword = false; // Python still allows `1if x else 2`
    for (std::string_view allowed : {"and", "else", "for", "if", "in", "is", "or", "not"})
      keyword |= after.substr(0, allowed.size()) == allowed;
    if (!keyword) {
      size_t stop = 0;
      while (stop < after.size() && isNameByte(static_cast<unsigned char>(after[stop])))
        ++stop;
      return error({diag::InvalidNumber,
                    begin,
                    end + stop,
                    {shortened(input.text.substr(begin, end + stop - begin))}});
    }
  }
  bool decimal = number.find_first_not_of("0123456789_") == number.npos;
  if (decimal && number[0] == '0' && number.find_first_not_of("0_") != number.npos)
    error({diag::LeadingZero, begin, end});
  size_t digits =
      number.size() - static_cast<size_t>(std::count(number.begin(), number.end(), '_'));
  if (decimal && digits > maxDigits)
    error({diag::NumberTooLong, begin, end, {std::to_string(digits), std::to_string(maxDigits)}});
}

void IndentTokens::unterminated(antlr4::CommonToken &token) {
  size_t begin = token.getStartIndex(), end = token.getStopIndex() + 1;
  std::string_view opening = text(token);
  bool triple = opening.size() >= 3 && opening[opening.size() - 2] == opening.back();
  error({triple ? diag::UnclosedLongString : diag::UnclosedString, begin, end}, triple);
  size_t stop = triple ? input.size() : std::min(input.text.find('\n', end), input.size());
  token.setType(TlLexer::STRING);
  token.setStopIndex(stop - 1);
  skipTo = stop;
}

TokenList::TokenList(IndentTokens &source) : source(source) {
  tokens.reserve(source.count());
  do {
    tokens.push_back(source.nextToken());
    static_cast<antlr4::CommonToken &>(*tokens.back()).setTokenIndex(tokens.size() - 1);
  } while (tokens.back()->getType() != antlr4::Token::EOF);
}

antlr4::Token *TokenList::LT(ssize_t k) {
  if (k < 0)
    return next >= static_cast<size_t>(-k) ? tokens[next - static_cast<size_t>(-k)].get() : nullptr;
  return tokens[std::min(next + static_cast<size_t>(k) - 1, tokens.size() - 1)].get();
}

std::string TokenList::getText(const antlr4::misc::Interval &interval) {
  if (interval.b < interval.a || static_cast<size_t>(interval.b) >= tokens.size())
    return "";
  return getText(tokens[static_cast<size_t>(interval.a)].get(),
                 tokens[static_cast<size_t>(interval.b)].get());
}

std::string TokenList::getText(antlr4::Token *start, antlr4::Token *stop) {
  return source.getInputStream()->getText(
      antlr4::misc::Interval(start->getStartIndex(), stop->getStopIndex()));
}

} // namespace tlc::parsing
