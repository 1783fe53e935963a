// From ANTLR's parse tree to the syntax tree.
#pragma once

#include "parse/ParseTree.h"
#include "syntax/AST.h"

namespace tlc::parsing {

/// Works through one parse tree without errors. Walks by rule index and children: the generated
/// typed accessors search the children with dynamic_cast each time.
class BuildAST {
public:
  using Context = antlr4::ParserRuleContext;
  using Tree = antlr4::tree::ParseTree;
  using Token = antlr4::Token;

  BuildAST(Parse &parse, std::uint32_t file, ast::Module &module)
      : parse(parse), file(file), module(module), tokens(parse.parsed.front().tokens) {}

  /// Each adds to parse.errors what shows only here: unknown character names, too deep nesting.
  void buildModule(const Context &context);
  void buildExpression(const Context &context);

private:
  /// Operations inside each other, so that whoever walks the tree can recurse.
  static constexpr unsigned maxDepth = 1000;

  /// Counts `levels` more levels of nesting while it lives.
  class Deeper {
  public:
    Deeper(BuildAST &build, const Context &where, size_t levels = 1);
    ~Deeper() { build.depth -= levels; }
    Deeper(const Deeper &) = delete;
    Deeper &operator=(const Deeper &) = delete;

  private:
    BuildAST &build;
    unsigned levels;
  };

  // ---- the parse tree ----
  static bool isLeaf(const Tree *tree) { return tree->children.empty(); }
  static const Token &tokenOf(const Tree *tree) {
    return *static_cast<antlr4::tree::TerminalNode *>(const_cast<Tree *>(tree))->getSymbol();
  }
  static bool isToken(const Tree *tree, size_t type) {
    return isLeaf(tree) && tokenOf(tree).getType() == type;
  }
  static const Context &contextOf(const Tree *tree) { return *static_cast<const Context *>(tree); }
  static size_t ruleOf(const Tree *tree) { return contextOf(tree).getRuleIndex(); }
  static bool isRule(const Tree *tree, size_t rule) {
    return !isLeaf(tree) && ruleOf(tree) == rule;
  }

  SourceRange range(const Token &first, const Token &last) const {
    return {file, static_cast<std::uint32_t>(first.getStartIndex()),
            static_cast<std::uint32_t>(last.getStopIndex() + 1)};
  }
  SourceRange range(const Context &context) const { return range(*context.start, *context.stop); }
  SourceRange range(const Tree *tree) const {
    return isLeaf(tree) ? range(tokenOf(tree), tokenOf(tree)) : range(contextOf(tree));
  }
  /// Of a statement with blocks: from `first` to the last token that is neither NEWLINE nor DEDENT.
  SourceRange statementRange(const Token &first, const Context &context) const;
  std::string_view textOf(const Token &token) const;
  ast::Identifier identifier(const Token &token) const;
  ast::Identifier dottedName(const Context &context) const;
  template <class T> T *make(SourceRange range) { return module.make<T>(range); }

  // ---- BuildExprs.cpp ----
  ast::Expr *expression(const Context &context); // any rule of the chain from named_expr to primary
  ast::Expr *expression(const Tree *tree) { return expression(contextOf(tree)); }
  ast::Expr *conditional(const Context &context);
  ast::Expr *lambda(const Context &context);
  ast::Expr *namedExpr(const Context &context);

  // ---- BuildOperators.cpp ----
  ast::Expr *boolExpr(const Context &context);
  ast::Expr *boolChain(const Context &context, size_t &next, size_t op);
  ast::Expr *negation(const Context &context, size_t &next);
  ast::Expr *comparison(const Context &context, size_t &next);
  ast::Expr *binaryExpr(const Context &context);
  ast::Expr *binaryChain(const Context &context, size_t &next, int weakest);
  ast::Expr *unaryExpr(const Context &context);

  // ---- BuildExprs.cpp, continued ----
  ast::Expr *primary(const Context &context);
  ast::Expr *trailer(const Token &first, ast::Expr *value, const Context &context);
  ast::Expr *call(SourceRange range, ast::Expr *function, const Context &context);
  ast::Expr *subscript(SourceRange range, ast::Expr *value, const Context &context);
  ast::Expr *sliceItem(const Context &context);
  ast::Expr *atom(const Tree *tree);
  ast::Expr *constant(const Token &token);
  ast::Expr *paren(const Context &context);
  ast::Expr *parenContent(const Context &content, SourceRange whole);
  ast::Expr *listDisplay(const Context &context);
  ast::Expr *braceDisplay(const Context &context);
  ast::Expr *yieldExpr(const Context &context);
  ast::Expr *starredOr(const Context &context); // starred_or_expression, starred_or_named, target
  ast::Expr *
  listOf(const Context &context); // expression_list, target_list, subject: a Tuple or the only one
  ast::Expr *assignedValue(const Context &context);
  std::vector<ast::Comprehension> comprehensions(const Context &context);
  void arguments(const Context &context, SourceRange parens, ast::ExprList &args,
                 std::vector<ast::Keyword> &keywords);
  ast::Arguments parameters(const Context &context);
  ast::Arg parameter(const Context &context, size_t name);

  // ---- BuildStrings.cpp ----
  ast::Expr *strings(const Context &context);
  void formatPieces(const std::vector<FormatPiece> &pieces, bool raw, bool inSpec,
                    SourceRange where, ast::ExprList &values);
  void formatField(const FormatPiece &piece, bool raw, ast::ExprList &values);
  void appendText(ast::ExprList &values, SourceRange where, std::string text);
  std::string decode(size_t begin, size_t end, bool raw, bool bytes, bool doubledBraces);

  // ---- BuildPatterns.cpp ----
  ast::Pattern *patterns(const Context &context, const SourceRange *whole);
  ast::Pattern *pattern(const Context &context);
  ast::Pattern *asPattern(const Context &context);
  ast::Pattern *closedPattern(const Context &context);
  ast::Pattern *nameOrClass(const Context &context);
  ast::Pattern *mapping(const Context &context);
  ast::Pattern *valuePattern(ast::Expr *value);
  ast::Expr *numberPattern(const Context &context);
  ast::Expr *dottedExpr(const Context &context);
  ast::Expr *mappingKey(const Context &context);
  ast::Identifier capture(const Token &token) const; // empty for `_`

  // ---- BuildStmts.cpp ----
  void statement(const Context &context, ast::Block &into);
  void simpleStatements(const Context &context, ast::Block &into);
  ast::Stmt *simpleStatement(const Context &context);
  ast::Stmt *expressionStmt(const Context &context);
  ast::Stmt *assign(const Context &context, ast::Expr *first, const Context &rest);
  ast::Stmt *annotatedAssign(const Context &context, ast::Expr *target, const Context &rest);
  ast::Stmt *augmentedAssign(const Context &context, ast::Expr *target, const Context &rest);
  ast::Stmt *deleteStmt(const Context &context);
  ast::Stmt *raiseStmt(const Context &context);
  ast::Stmt *assertStmt(const Context &context);
  ast::Stmt *importStmt(const Context &context);
  ast::Stmt *importFrom(const Context &context);
  ast::Block block(const Context &context);
  ast::Block elseBlock(const Context &context);
  ast::Stmt *ifStmt(const Context &context);
  ast::Stmt *whileStmt(const Context &context);
  ast::Stmt *forStmt(const Context &context, const Token &first, bool isAsync);
  ast::Stmt *tryStmt(const Context &context);
  ast::ExceptHandler exceptClause(const Context &context);
  ast::Stmt *withStmt(const Context &context, const Token &first, bool isAsync);
  ast::WithItem withItem(const Context &context);
  void withGroup(const Context &context, std::vector<ast::WithItem> &items);
  ast::FunctionDef *functionDef(const Context &context, const Token &first, bool isAsync);
  ast::ClassDef *classDef(const Context &context);
  ast::Stmt *asyncStmt(const Context &context);
  ast::Stmt *decorated(const Context &context);
  ast::Stmt *matchStmt(const Context &context);
  std::vector<ast::Identifier> names(const Context &context);

  Parse &parse;
  const std::uint32_t file;
  ast::Module &module;
  const TokenList &tokens; // of the module; fields of f-strings hold no statements
  unsigned depth = 0;
};

} // namespace tlc::parsing
