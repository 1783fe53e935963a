// Names, expressions, elements and regions of the text form; for Parse.cpp only.
#pragma once

#include "ir/Function.h"
#include "ir/Lexer.h"
#include "support/Diagnostics.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tlc::ir::text {

/// Thrown after the error was reported; caught in parse().
struct ParseStopped {};

class ExprParser {
public:
  ExprParser(Context &context, std::string_view source, DiagnosticEngine &diagnostics,
             std::uint32_t file)
      : lexer(source), context(context), diagnostics(diagnostics), file(file) {}

  // ---- Tokens
  bool at(std::string_view t) const { return lexer.peek().is(t); }
  bool at(TokenKind kind) const { return lexer.peek().kind == kind; }
  bool take(std::string_view t);
  void expect(std::string_view t);
  /// Takes a token of this kind or reports that `what` was expected.
  Token expect(TokenKind kind, std::string_view what);
  /// A number with an optional minus.
  std::int64_t expectNumber();
  DType expectDType();
  [[noreturn]] void expected(std::string_view what);
  [[noreturn]] void malformed(SourceRange range, std::string_view message);
  SourceRange range(const Token &t) const { return {file, t.begin, t.end}; }
  SourceRange here() const { return range(lexer.peek()); }

  // ---- Names
  struct Entry {
    Expr var;
    Buffer *buffer = nullptr;
  };
  void enterScope() { scopes.push_back(undo.size()); }
  void leaveScope();
  void define(const Token &name, Entry entry);
  Entry lookUp(const Token &name);

  // ---- Expressions. `like`: the dtype of a literal that does not say its own.
  Expr parseExpr(std::optional<DType> like = {});
  Buffer *parseBuffer();
  Element parseElement();
  Region parseRegion();

  Lexer lexer;
  Context &context;

private:
  /// An expression, or a literal whose dtype is not decided yet.
  struct Operand {
    Expr e;
    bool isBare = false, isReal = false;
    __int128 integer = 0;
    double real = 0;
    SourceRange where;
  };
  Expr settle(const Operand &o, std::optional<DType> like);
  Expr combine(BinaryOp op, const Operand &a, const Operand &b);
  template <class F> Expr make(SourceRange where, F f);
  Operand parseLevel(unsigned level);
  Operand parsePrefix();
  Operand parsePrimary();
  Operand parseLiteral(bool isNegative);
  Operand parseCall(const Token &name);
  Expr parseCast(std::string_view name, SourceRange where, bool &known);
  std::vector<Operand> parseOperands();
  Expr parseVersion();

  DiagnosticEngine &diagnostics;
  std::uint32_t file;
  std::unordered_map<std::string, Entry> known;
  std::vector<std::string> undo;
  std::vector<std::size_t> scopes;
};

} // namespace tlc::ir::text
