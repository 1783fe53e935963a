// From bytes to the tokens that TlParser wants.
//
//   ByteStream    the source text as ANTLR's lexer reads it
//   IndentTokens  NEWLINE, INDENT and DEDENT; brackets; and the decisions that need more than one
//   token of lookahead TokenList     all tokens of a text in a vector, as ANTLR's parser reads them
#pragma once
#include "parse/Source.h"

#include <antlr4-runtime.h>

namespace tlc::parsing {

// The bytes [begin, end) of a text. Offsets stay those of the whole text, so a replacement field
// inside an f-string gets tokens with true positions. All bytes of non-ASCII characters read as
// U+007F, see TlLexer.g4.
class ByteStream final : public antlr4::CharStream {
public:
  ByteStream(std::string_view text, size_t begin, size_t end)
      : text(text), next(begin), last(end) {}

  void consume() override { ++next; }
  size_t LA(ssize_t i) override;
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return next; }
  void seek(size_t index) override { next = index; }
  size_t size() override { return last; }
  std::string getSourceName() const override { return ""; }
  std::string getText(const antlr4::misc::Interval &interval) override;
  std::string toString() const override { return std::string(text); }

  const std::string_view text;

private:
  size_t next;
  const size_t last;
};

class IndentTokens final : public antlr4::TokenSource {
public:
  enum class Part { Module, Field }; // in a Field (of an f-string) line ends mean nothing

  IndentTokens(antlr4::TokenSource &lexer, ByteStream &input, Part part);
  std::unique_ptr<antlr4::Token> nextToken() override;

  // Errors in the order of the text. After one with `fatal` set, what the parser has to say is of
  // no use.
  const std::vector<SyntaxError> &errors() const { return found; }
  size_t fatalAt() const { return fatal; }
  size_t count() const { return tokens.size(); }

  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream *getInputStream() override { return &input; }
  std::string getSourceName() override { return ""; }
  antlr4::TokenFactory<antlr4::CommonToken> *getTokenFactory() override {
    return lexer.getTokenFactory();
  }

private:
  using Token = std::unique_ptr<antlr4::CommonToken>;
  struct Bracket {
    size_t type, token, offset;
    unsigned lambdas = 0; // lambdas directly inside whose ':' has not come yet
  };
  struct Block {
    int column, alternateColumn; // with tabs to multiples of 8, and with tabs as wide as a space
    bool match;                  // the block of a match statement: its lines start with `case`
  };

  void readAll();
  void take(Token token);
  void push(Token token);
  void startLine(antlr4::CommonToken &first);
  void endLine(Token newline);
  void openBlock(Block block, const antlr4::CommonToken &first);
  void closeBracket(antlr4::CommonToken &token);
  void finish(Token endOfFile);
  void strayCharacter(const antlr4::CommonToken &token);
  void checkName(const antlr4::CommonToken &token);
  void checkNumber(const antlr4::CommonToken &token);
  void unterminated(antlr4::CommonToken &token);
  Token make(size_t type, size_t begin, size_t end, const antlr4::CommonToken &at) const;
  std::string_view text(const antlr4::CommonToken &token) const;
  size_t typeBefore(size_t back) const;
  void error(SyntaxError error, bool isFatal = false);

  antlr4::TokenSource &lexer;
  ByteStream &input;
  const Part part;
  std::vector<Token> tokens;
  size_t given = 0;
  std::vector<Bracket> brackets;
  std::vector<Block> blocks{{0, 0, false}};
  size_t lineStart;     // offset of the logical line
  size_t lineToken = 0; // its first token
  bool lineEmpty = true;
  bool matchOpens = false;      // the next INDENT opens the block of a match statement
  size_t withOpener = SIZE_MAX; // the '(' after `with` whose ')' was the last token
  unsigned lineLambdas = 0;
  size_t skipTo = 0; // tokens before this offset are part of an unterminated string
  std::vector<SyntaxError> found;
  size_t fatal = SIZE_MAX;
};

class TokenList final : public antlr4::TokenStream {
public:
  explicit TokenList(IndentTokens &source);

  antlr4::Token *LT(ssize_t k) override;
  antlr4::Token *get(size_t index) const override { return tokens[index].get(); }
  antlr4::TokenSource *getTokenSource() const override { return &source; }
  std::string getText(const antlr4::misc::Interval &interval) override;
  std::string getText() override {
    return getText(antlr4::misc::Interval(size_t(0), tokens.size() - 1));
  }
  std::string getText(antlr4::RuleContext *context) override {
    return getText(context->getSourceInterval());
  }
  std::string getText(antlr4::Token *start, antlr4::Token *stop) override;

  void consume() override { next += next + 1 < tokens.size(); }
  size_t LA(ssize_t i) override { return LT(i)->getType(); }
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return next; }
  void seek(size_t index) override { next = std::min(index, tokens.size() - 1); }
  size_t size() override { return tokens.size(); }
  std::string getSourceName() const override { return ""; }

private:
  IndentTokens &source;
  std::vector<std::unique_ptr<antlr4::Token>> tokens;
  size_t next = 0;
};

} // namespace tlc::parsing
