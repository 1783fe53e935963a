#include "parse/ErrorWording.h"

#include "support/Names.h"

#include <TlParser.h>
#include <optional>

namespace tlc::parsing {
namespace {

using antlr4::ParserRuleContext;
using antlr4::Token;
using antlr4::misc::IntervalSet;

constexpr size_t maxErrors = 50;

// A token type as it is written, or in words.
std::string inWords(const antlr4::dfa::Vocabulary &vocabulary, size_t type) {
  switch (type) {
  case TlParser::NAME:
    return "a name";
  case TlParser::NUMBER:
    return "a number";
  case TlParser::STRING:
    return "a string";
  case TlParser::NEWLINE:
    return "the end of the line";
  case TlParser::INDENT:
    return "an indented block";
  case TlParser::DEDENT:
    return "the end of the block";
  case Token::EOF:
    return "the end";
  case TlParser::AUGMENTED_ASSIGN:
    return "`+=` or the like";
  case TlParser::MATCH:
    return "`match`";
  case TlParser::CASE:
    return "`case`";
  case TlParser::WITH_OPEN:
    return "`(`";
  case TlParser::TRAILING_COMMA:
    return "`,`";
  case TlParser::TRAILING_SEMICOLON:
    return "`;`";
  default: {
    std::string literal = vocabulary.getLiteralName(type); // "'=='"
    return literal.size() > 2 ? inTicks(literal.substr(1, literal.size() - 2))
                              : vocabulary.getSymbolicName(type);
  }
  }
}

std::string inWords(const Token &token, const antlr4::dfa::Vocabulary &vocabulary) {
  switch (token.getType()) {
  case TlParser::NAME:
  case TlParser::NUMBER:
    return inTicks(token.getText());
  case TlParser::AUGMENTED_ASSIGN:
    return inTicks(token.getText());
  case TlParser::INDENT:
    return "an indented line";
  default:
    return inWords(vocabulary, token.getType());
  }
}

bool isKeyword(size_t type) { return type >= TlParser::AND && type <= TlParser::YIELD; }

bool startsExpression(const IntervalSet &set) {
  return set.contains(size_t(TlParser::NAME)) && set.contains(size_t(TlParser::NUMBER)) &&
         set.contains(size_t(TlParser::OPEN_PAREN));
}

bool startsExpression(size_t type) {
  switch (type) {
  case TlParser::NAME:
  case TlParser::NUMBER:
  case TlParser::STRING:
  case TlParser::OPEN_PAREN:
  case TlParser::OPEN_BRACKET:
  case TlParser::OPEN_BRACE:
  case TlParser::TRUE:
  case TlParser::FALSE:
  case TlParser::NONE:
  case TlParser::LAMBDA:
  case TlParser::AWAIT:
  case TlParser::ELLIPSIS:
  case TlParser::TILDE:
    return true;
  default:
    return false;
  }
}

// `if`, `for`, ...: the word that opens the statement around `context`, with its line.
const Token *headerOf(const ParserRuleContext *context) {
  for (; context; context = static_cast<const ParserRuleContext *>(context->parent)) {
    switch (context->getRuleIndex()) {
    case TlParser::RuleIf_stmt:
    case TlParser::RuleElif_clause:
    case TlParser::RuleElse_clause:
    case TlParser::RuleWhile_stmt:
    case TlParser::RuleFor_stmt:
    case TlParser::RuleTry_stmt:
    case TlParser::RuleExcept_clause:
    case TlParser::RuleFinally_clause:
    case TlParser::RuleWith_stmt:
    case TlParser::RuleFunction_def:
    case TlParser::RuleClass_def:
    case TlParser::RuleMatch_stmt:
    case TlParser::RuleCase_clause:
      return context->start;
    case TlParser::RuleStatement:
      return nullptr;
    }
  }
  return nullptr;
}

// The opening bracket of the construct that waits for its closing one.
const Token *openerOf(const ParserRuleContext *context) {
  for (; context; context = static_cast<const ParserRuleContext *>(context->parent)) {
    for (auto *child : context->children) {
      auto *leaf = dynamic_cast<antlr4::tree::TerminalNode *>(child);
      if (!leaf)
        continue;
      size_t type = leaf->getSymbol()->getType();
      if (type == TlParser::OPEN_PAREN || type == TlParser::OPEN_BRACKET ||
          type == TlParser::OPEN_BRACE || type == TlParser::WITH_OPEN)
        return leaf->getSymbol();
    }
    if (context->getRuleIndex() == TlParser::RuleStatement)
      break;
  }
  return nullptr;
}

std::string list(const IntervalSet &expected, const antlr4::dfa::Vocabulary &vocabulary) {
  std::vector<std::string> words;
  bool expression = startsExpression(expected);
  if (expression)
    words.push_back("an expression");
  for (ssize_t type : expected.toList()) {
    size_t t = static_cast<size_t>(type);
    bool opensExpression = startsExpression(t) || t == TlParser::NOT || t == TlParser::MINUS ||
                           t == TlParser::PLUS || t == TlParser::STAR || t == TlParser::YIELD;
    if (!(expression && opensExpression))
      words.push_back(inWords(vocabulary, t));
  }
  std::string text;
  for (size_t i = 0; i < words.size() && i < 6; ++i)
    text += (i == 0                            ? ""
             : i + 1 == words.size() || i == 5 ? " or "
                                               : ", ") +
            (i == 5 ? "the like" : words[i]);
  return text;
}

// Says what is wrong at `found`, in the order in which an explanation is worth giving.
class Describe {
public:
  Describe(antlr4::Parser &parser, const Token &found, const IntervalSet &expected)
      : found(found), expected(expected), vocabulary(parser.getVocabulary()),
        context(parser.getContext()), before(parser.getTokenStream()->LT(-1)),
        twoBefore(before ? parser.getTokenStream()->LT(-2) : nullptr), type(found.getType()),
        rule(context->getRuleIndex()), header(headerOf(context)), it(inWords(found, vocabulary)) {}

  SyntaxError run() const {
    if (auto error = block())
      return *error;
    if (wants(TlParser::COLON) && expected.size() == 1)
      return colon();
    bool inBrackets = wants(TlParser::CLOSE_PAREN) || wants(TlParser::CLOSE_BRACKET) ||
                      wants(TlParser::CLOSE_BRACE);
    if (type == TlParser::ASSIGN && before && (before->getType() != TlParser::NAME || inBrackets))
      return at(diag::AssignmentInExpression);
    if (wants(TlParser::NAME) && isKeyword(type) && !startsExpression(expected))
      return at(diag::KeywordAsName, {it});
    if (type == TlParser::TRAILING_COMMA && !startsExpression(expected))
      return at(diag::MisplacedComma);
    if (startsExpression(expected))
      return expression();
    if (auto error = closer())
      return *error;
    if (wants(TlParser::NEWLINE))
      return statementEnd();
    for (auto *outer = context; outer; outer = static_cast<ParserRuleContext *>(outer->parent))
      if (outer->getRuleIndex() == TlParser::RuleReplacement_field && before)
        return at(diag::BadReplacementField, {"expected this replacement field to end after " +
                                              inWords(*before, vocabulary) + ", found " + it});
    if (rule == TlParser::RuleDecorated)
      return at(diag::DecoratorAlone, {it});
    std::string wanted = list(expected, vocabulary);
    return at(diag::UnexpectedToken,
              {wanted.empty() ? "unexpected " + it : "expected " + wanted + ", found " + it});
  }

private:
  bool wants(size_t t) const { return expected.contains(t); }

  SyntaxError at(diag::Id id, std::vector<std::string> args = {}) const {
    size_t begin = found.getStartIndex(), end = found.getStopIndex() + 1;
    if (type == TlParser::NEWLINE && before) { // not behind the comment
      begin = before->getStopIndex() + 1;
      end = begin + 1;
    }
    return {id, begin, std::max(end, begin + 1), std::move(args)};
  }

  static void suggest(SyntaxError &error, std::string_view word,
                      const std::vector<std::string_view> &keywords) {
    if (std::string_view meant = didYouMean(word, keywords); !meant.empty())
      error.help = "did you mean `" + std::string(meant) + "`?";
  }

  static void label(SyntaxError &error, const Token &token, std::string text) {
    error.labels.push_back({token.getStartIndex(), token.getStopIndex() + 1, std::move(text)});
  }

  std::optional<SyntaxError> block() const {
    if (wants(TlParser::INDENT)) {
      SyntaxError error = at(diag::ExpectedBlock, {header ? inTicks(header->getText()) : "`:`"});
      if (header)
        label(error, *header, "this needs a block");
      return error;
    }
    if (type == TlParser::INDENT)
      return at(diag::UnexpectedIndent);
    if (wants(TlParser::EXCEPT) && wants(TlParser::FINALLY)) {
      SyntaxError error = at(diag::TryWithoutHandler);
      label(error, found, "expected `except` or `finally` here");
      error.begin = context->start->getStartIndex();
      error.end = context->start->getStopIndex() + 1;
      return error;
    }
    bool clause = type == TlParser::ELSE || type == TlParser::ELIF || type == TlParser::EXCEPT ||
                  type == TlParser::FINALLY;
    if (clause && (rule == TlParser::RuleStatement || rule == TlParser::RuleBlock ||
                   rule == TlParser::RuleModule || rule == TlParser::RuleSimple_statement))
      return at(diag::StrayClause, {it});
    return std::nullopt;
  }

  SyntaxError colon() const {
    if (type == TlParser::ASSIGN)
      return at(diag::AssignmentInExpression);
    if (rule == TlParser::RuleLambda_expr)
      return at(diag::ExpectedColon, {" or `,` in this `lambda`", it});
    SyntaxError error =
        at(diag::ExpectedColon,
           {header ? " to end the " + inTicks(header->getText()) + " line" : "", it});
    if (header)
      label(error, *header, "this line");
    return error;
  }

  SyntaxError expression() const {
    std::string after;
    if (before && before->getType() != TlParser::NEWLINE && before->getType() != TlParser::INDENT &&
        before->getType() != TlParser::DEDENT)
      after = " after " + inWords(*before, vocabulary);
    SyntaxError error =
        at(diag::ExpectedExpression,
           {after, type == TlParser::NEWLINE ? "but the line ends" : "found " + it});
    // `a && b`, `x++`: what is written is two operators, what is meant comes from C.
    if (before && before->getText() == "&" && found.getText() == "&")
      error.help = "write `and`";
    else if (before && before->getText() == "|" && found.getText() == "|")
      error.help = "write `or`";
    else if (twoBefore && twoBefore->getType() == TlParser::NAME &&
             before->getType() == TlParser::COLON && type == TlParser::NEWLINE)
      suggest(error, twoBefore->getText(), {"else", "try", "finally", "except"});
    else if (twoBefore && type == TlParser::NEWLINE && twoBefore->getText() == before->getText() &&
             (before->getText() == "+" || before->getText() == "-"))
      error.help = "to count up or down write `+= 1` or `-= 1`";
    return error;
  }

  std::optional<SyntaxError> closer() const {
    const Token *opener = openerOf(context);
    size_t closer = wants(TlParser::CLOSE_PAREN)     ? TlParser::CLOSE_PAREN
                    : wants(TlParser::CLOSE_BRACKET) ? TlParser::CLOSE_BRACKET
                    : wants(TlParser::CLOSE_BRACE)   ? TlParser::CLOSE_BRACE
                                                     : 0;
    if (!closer || !opener)
      return std::nullopt;
    std::string wanted = inWords(vocabulary, closer);
    SyntaxError error =
        at(diag::ExpectedCloser, {startsExpression(type) ? "`,` or " + wanted : wanted, it});
    label(error, *opener, "opened here");
    return error;
  }

  SyntaxError statementEnd() const {
    if (!before)
      return at(diag::UnexpectedToken, {"unexpected " + it});
    std::string word = before->getText();
    if (before->getType() == TlParser::NAME && (word == "print" || word == "exec"))
      return at(diag::PrintStatement, {word});
    SyntaxError error = at(diag::StatementContinues, {inWords(*before, vocabulary), it});
    if (before->getType() == TlParser::NAME && context->start == before) {
      suggest(error, word, {"if",       "elif",    "else",   "for",   "while",    "with",  "def",
                            "class",    "return",  "import", "from",  "assert",   "raise", "try",
                            "except",   "finally", "pass",   "break", "continue", "del",   "global",
                            "nonlocal", "lambda",  "async",  "match"});
    }
    return error;
  }

  const Token &found;
  const IntervalSet &expected;
  const antlr4::dfa::Vocabulary &vocabulary;
  ParserRuleContext *context;
  const Token *before, *twoBefore;
  size_t type, rule;
  const Token *header;
  std::string it;
};

} // namespace

void ErrorWording::reportError(antlr4::Parser *parser, const antlr4::RecognitionException &e) {
  if (inErrorRecoveryMode(parser))
    return;
  beginErrorCondition(parser);
  if (errors.size() == maxErrors)
    return;
  const Token *found = e.getOffendingToken() ? e.getOffendingToken() : parser->getCurrentToken();
  errors.push_back(Describe(*parser, *found, parser->getExpectedTokens()).run());
}

// Only a whole statement is given up; inside one, the error travels outwards.
void ErrorWording::recover(antlr4::Parser *parser, std::exception_ptr e) {
  ParserRuleContext *context = parser->getContext();
  size_t rule = context->getRuleIndex();
  if (rule != TlParser::RuleStatement && context->parent)
    std::rethrow_exception(e);
  int depth = 0;
  antlr4::TokenStream &tokens = *parser->getTokenStream();
  for (size_t type = tokens.LA(1); type != Token::EOF; type = tokens.LA(1)) {
    if (type == TlParser::DEDENT && depth == 0)
      break;
    tokens.consume();
    depth += type == TlParser::INDENT ? 1 : type == TlParser::DEDENT ? -1 : 0;
    size_t following = tokens.LA(1);
    if ((type == TlParser::NEWLINE || type == TlParser::DEDENT) && depth == 0 &&
        following != TlParser::INDENT && following != TlParser::ELSE &&
        following != TlParser::ELIF && following != TlParser::EXCEPT &&
        following != TlParser::FINALLY)
      break;
  }
  endErrorCondition(parser);
}

antlr4::Token *ErrorWording::recoverInline(antlr4::Parser *parser) {
  throw antlr4::InputMismatchException(parser);
}

} // namespace tlc::parsing
