// A source text in, ANTLR's parse tree or errors out.
#pragma once

#include "parse/IndentTokens.h"

#include <TlLexer.h>
#include <TlParser.h>
#include <deque>
#include <unordered_map>

namespace tlc::parsing {

// TlParser with a limit on the nesting of rules, so that no input exhausts the stack.
class DepthLimitedParser final : public TlParser {
public:
  struct TooDeep {
    size_t offset;
  };
  using TlParser::TlParser;
  void enterRule(antlr4::ParserRuleContext *context, size_t state, size_t rule) override;

private:
  std::vector<antlr4::ParserRuleContext *> open;
};

// Everything that must stay alive as long as the tree.
struct Parsed {
  Parsed(const Source &source, size_t begin, size_t end, IndentTokens::Part part, size_t line,
         size_t column);
  ByteStream bytes;
  TlLexer lexer;
  IndentTokens indented;
  TokenList tokens;
  DepthLimitedParser parser;
  antlr4::ParserRuleContext *tree = nullptr;
};

// A piece of an f-string's content: literal text [begin, end), or a replacement field with the
// expression [begin, end).
struct FormatPiece {
  bool isField = false;
  size_t begin = 0, end = 0;
  size_t open = 0, close = 0; // of a field: its braces
  size_t equalsEnd = 0;       // behind the `=` (and blanks) of `{x=}`; 0 without
  char conversion = 0;        // 'r', 's', 'a', or 0
  bool hasSpec = false;
  size_t specBegin = 0, specEnd = 0;
  std::vector<FormatPiece> spec;
  antlr4::ParserRuleContext *tree = nullptr; // of a field: its replacement_field
};

class Parse {
public:
  explicit Parse(const Source &source) : source(source) {}

  // Parses the whole text, then checks what the grammar leaves open; false if there are errors,
  // which are then sorted.
  bool module();
  bool expression();
  // Parses the replacement field [begin, end) of an f-string; nullptr if it has errors.
  antlr4::ParserRuleContext *field(size_t begin, size_t end, size_t line, size_t column);

  const Source &source;
  std::vector<SyntaxError> errors;
  std::deque<Parsed> parsed; // the module, then the fields
  // The content of every f-string, by the offset of its token; filled by the checks.
  std::unordered_map<size_t, std::vector<FormatPiece>> formatted;

private:
  bool whole(IndentTokens::Part part, antlr4::ParserRuleContext *(*rule)(TlParser &));
  bool run(Parsed &it, antlr4::ParserRuleContext *(*rule)(TlParser &));
};

} // namespace tlc::parsing
