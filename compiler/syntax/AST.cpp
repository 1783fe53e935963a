#include "syntax/AST.h"

namespace tlc::ast {

std::string_view className(ExprKind kind) {
  static constexpr std::string_view names[] = {
      "Name",    "Constant", "JoinedStr", "FormattedValue", "Attribute", "Subscript",
      "Slice",   "Starred",  "Call",      "UnaryOp",        "BinOp",     "BoolOp",
      "Compare", "IfExp",    "Lambda",    "NamedExpr",      "Tuple",     "List",
      "Set",     "Dict",     "ListComp",  "SetComp",        "DictComp",  "GeneratorExp",
      "Await",   "Yield",    "YieldFrom"};
  return names[static_cast<unsigned>(kind)];
}

std::string_view className(StmtKind kind) {
  static constexpr std::string_view names[] = {
      "FunctionDef", "ClassDef", "Return", "Delete",     "Assign", "AugAssign",
      "AnnAssign",   "For",      "While",  "If",         "With",   "Raise",
      "Try",         "Assert",   "Import", "ImportFrom", "Global", "Nonlocal",
      "Expr",        "Pass",     "Break",  "Continue",   "Match"};
  return names[static_cast<unsigned>(kind)];
}

std::string_view className(PatternKind kind) {
  static constexpr std::string_view names[] = {"MatchValue",   "MatchSingleton", "MatchSequence",
                                               "MatchMapping", "MatchClass",     "MatchStar",
                                               "MatchAs",      "MatchOr"};
  return names[static_cast<unsigned>(kind)];
}

std::string_view describe(ExprKind kind) {
  static constexpr std::string_view words[] = {"a name",
                                               "a constant",
                                               "an f-string",
                                               "a replacement field",
                                               "an attribute",
                                               "a subscript",
                                               "a slice",
                                               "a starred expression",
                                               "a call",
                                               "a unary operation",
                                               "an arithmetic operation",
                                               "an `and` or `or`",
                                               "a comparison",
                                               "a conditional expression",
                                               "a lambda",
                                               "an assignment expression",
                                               "a tuple",
                                               "a list",
                                               "a set",
                                               "a dict",
                                               "a list comprehension",
                                               "a set comprehension",
                                               "a dict comprehension",
                                               "a generator expression",
                                               "an `await`",
                                               "a `yield`",
                                               "a `yield from`"};
  return words[static_cast<unsigned>(kind)];
}

std::string_view describe(StmtKind kind) {
  static constexpr std::string_view words[] = {"a function definition",
                                               "a class definition",
                                               "a `return`",
                                               "a `del`",
                                               "an assignment",
                                               "an augmented assignment",
                                               "an annotated assignment",
                                               "a `for` loop",
                                               "a `while` loop",
                                               "an `if`",
                                               "a `with` statement",
                                               "a `raise`",
                                               "a `try`",
                                               "an `assert`",
                                               "an import",
                                               "an import",
                                               "a `global` statement",
                                               "a `nonlocal` statement",
                                               "an expression statement",
                                               "a `pass`",
                                               "a `break`",
                                               "a `continue`",
                                               "a `match` statement"};
  return words[static_cast<unsigned>(kind)];
}

std::string_view spelling(BinaryOperator op) {
  static constexpr std::string_view text[] = {"+",  "-",  "*",  "@", "/", "//", "%",
                                              "**", "<<", ">>", "|", "^", "&"};
  return text[static_cast<unsigned>(op)];
}

std::string_view spelling(UnaryOperator op) {
  static constexpr std::string_view text[] = {"~", "not", "+", "-"};
  return text[static_cast<unsigned>(op)];
}

std::string_view spelling(BoolOperator op) { return op == BoolOperator::And ? "and" : "or"; }

std::string_view spelling(CompareOperator op) {
  static constexpr std::string_view text[] = {"==", "!=", "<",      "<=", ">",
                                              ">=", "is", "is not", "in", "not in"};
  return text[static_cast<unsigned>(op)];
}

} // namespace tlc::ast
