#include "parse/ParseTree.h"

#include "parse/ErrorWording.h"
#include "parse/PostChecks.h"

#include <algorithm>

namespace tlc::parsing {
namespace {

constexpr size_t maxDepth = 6000; // rules inside each other

bool onOneLine(std::string_view text, size_t a, size_t b) {
  if (a > b)
    std::swap(a, b);
  return text.substr(a, b - a).find('\n') == text.npos;
}

} // namespace

void DepthLimitedParser::enterRule(antlr4::ParserRuleContext *context, size_t state, size_t rule) {
  TlParser::enterRule(context, state, rule);
  while (!open.empty() && open.back() != context->parent)
    open.pop_back();
  open.push_back(context);
  if (open.size() > maxDepth)
    throw TooDeep{getCurrentToken()->getStartIndex()};
}

static TlLexer &startAt(TlLexer &lexer, size_t line, size_t column) {
  lexer.setLine(line);
  lexer.setCharPositionInLine(column);
  return lexer;
}

Parsed::Parsed(const Source &source, size_t begin, size_t end, IndentTokens::Part part, size_t line,
               size_t column)
    : bytes(source.text, begin, end), lexer(&bytes),
      indented(startAt(lexer, line, column), bytes, part), tokens(indented), parser(&tokens) {
  parser.removeErrorListeners();
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::SLL);
}

bool Parse::run(Parsed &it, antlr4::ParserRuleContext *(*rule)(TlParser &)) {
  const size_t before = errors.size();
  errors.insert(errors.end(), it.indented.errors().begin(), it.indented.errors().end());
  std::vector<SyntaxError> syntax;
  try {
    try {
      it.parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
      it.tree = rule(it.parser);
    } catch (antlr4::ParseCancellationException &) {
      it.tokens.seek(0);
      it.parser.reset();
      it.parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
          antlr4::atn::PredictionMode::LL);
      it.parser.setErrorHandler(std::make_shared<ErrorWording>(syntax));
      it.tree = rule(it.parser);
      // What can start no statement (an indented line, an `else`) ends the rule; go on behind it.
      for (size_t at = it.tokens.index(); it.tokens.LA(1) != antlr4::Token::EOF;
           at = it.tokens.index()) {
        rule(it.parser);
        if (it.tokens.index() == at)
          it.tokens.consume();
      }
    }
  } catch (const DepthLimitedParser::TooDeep &deep) {
    syntax.push_back(
        {diag::NestedTooDeeply, deep.offset, deep.offset + 1, {"this is nested too deeply"}});
    it.tree = nullptr;
  }
  for (SyntaxError &error : syntax) {
    bool same = error.begin >= it.indented.fatalAt(); // the cause is reported already
    for (const SyntaxError &other : it.indented.errors())
      same |= onOneLine(source.text, other.begin, error.begin);
    if (!same)
      errors.push_back(std::move(error));
  }
  return errors.size() == before;
}

bool Parse::whole(IndentTokens::Part part, antlr4::ParserRuleContext *(*rule)(TlParser &)) {
  errors = source.errors;
  if (!errors.empty())
    return false;
  parsed.emplace_back(source, source.begin, source.text.size(), part, size_t(1), size_t(0));
  if (run(parsed.back(), rule))
    checkTree(*this, *parsed.front().tree);
  std::stable_sort(errors.begin(), errors.end(),
                   [](const SyntaxError &a, const SyntaxError &b) { return a.begin < b.begin; });
  return errors.empty();
}

bool Parse::module() {
  return whole(IndentTokens::Part::Module,
               [](TlParser &parser) -> antlr4::ParserRuleContext * { return parser.module(); });
}

bool Parse::expression() {
  return whole(IndentTokens::Part::Field, [](TlParser &parser) -> antlr4::ParserRuleContext * {
    return parser.expression_input();
  });
}

antlr4::ParserRuleContext *Parse::field(size_t begin, size_t end, size_t line, size_t column) {
  parsed.emplace_back(source, begin, end, IndentTokens::Part::Field, line, column);
  Parsed &it = parsed.back();
  bool ok = run(it, [](TlParser &parser) -> antlr4::ParserRuleContext * {
    return parser.replacement_field();
  });
  return ok ? it.tree : nullptr;
}

} // namespace tlc::parsing
