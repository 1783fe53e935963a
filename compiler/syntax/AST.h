// The abstract syntax tree: all of Python 3.11, plain structs with source ranges. Names follow
// Python's `ast` module.
//
//   switch (expr.kind) {
//   case ExprKind::Call: return call(*expr.as<Call>());
//   ...
//
// Nodes live in their Module and are referred to by plain pointers; a pointer that may be null says
// so. Ranges are those of Python's `ast`: without enclosing parentheses, without the line end, in
// bytes of the file.
#pragma once

#include "support/SourceRange.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::ast {

using Int128 = __int128;

enum class ExprKind : std::uint8_t {
  Name,
  Constant,
  JoinedStr,
  FormattedValue,
  Attribute,
  Subscript,
  Slice,
  Starred,
  Call,
  UnaryOp,
  BinOp,
  BoolOp,
  Compare,
  IfExp,
  Lambda,
  NamedExpr,
  Tuple,
  List,
  Set,
  Dict,
  ListComp,
  SetComp,
  DictComp,
  GeneratorExp,
  Await,
  Yield,
  YieldFrom
};

enum class StmtKind : std::uint8_t {
  FunctionDef,
  ClassDef,
  Return,
  Delete,
  Assign,
  AugAssign,
  AnnAssign,
  For,
  While,
  If,
  With,
  Raise,
  Try,
  Assert,
  Import,
  ImportFrom,
  Global,
  Nonlocal,
  ExprStmt,
  Pass,
  Break,
  Continue,
  Match
};

enum class PatternKind : std::uint8_t {
  MatchValue,
  MatchSingleton,
  MatchSequence,
  MatchMapping,
  MatchClass,
  MatchStar,
  MatchAs,
  MatchOr
};

enum class BinaryOperator : std::uint8_t {
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  FloorDiv,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd
};
enum class UnaryOperator : std::uint8_t { Invert, Not, UAdd, USub };
enum class BoolOperator : std::uint8_t { And, Or };
enum class CompareOperator : std::uint8_t { Eq, NotEq, Lt, LtE, Gt, GtE, Is, IsNot, In, NotIn };

struct Node {
  SourceRange range;
  virtual ~Node() = default;
};

/// as<T>() gives null for another kind; T::Kind is the kind of T.
struct Expr : Node {
  const ExprKind kind;

  template <class T> bool is() const { return kind == T::Kind; }
  template <class T> const T *as() const {
    return is<T>() ? static_cast<const T *>(this) : nullptr;
  }
  template <class T> T *as() { return is<T>() ? static_cast<T *>(this) : nullptr; }

protected:
  explicit Expr(ExprKind kind) : kind(kind) {}
};

struct Stmt : Node {
  const StmtKind kind;

  template <class T> bool is() const { return kind == T::Kind; }
  template <class T> const T *as() const {
    return is<T>() ? static_cast<const T *>(this) : nullptr;
  }
  template <class T> T *as() { return is<T>() ? static_cast<T *>(this) : nullptr; }

protected:
  explicit Stmt(StmtKind kind) : kind(kind) {}
};

struct Pattern : Node {
  const PatternKind kind;

  template <class T> bool is() const { return kind == T::Kind; }
  template <class T> const T *as() const {
    return is<T>() ? static_cast<const T *>(this) : nullptr;
  }

protected:
  explicit Pattern(PatternKind kind) : kind(kind) {}
};

/// Gives each node struct its kind: `struct Name : OfKind<Expr, ExprKind::Name> {...}`.
template <class Base, auto K> struct OfKind : Base {
  static constexpr auto Kind = K;
  OfKind() : Base(K) {}
};

template <ExprKind K> using ExprNode = OfKind<Expr, K>;
template <StmtKind K> using StmtNode = OfKind<Stmt, K>;
template <PatternKind K> using PatternNode = OfKind<Pattern, K>;

using ExprList = std::vector<Expr *>;
using Block = std::vector<Stmt *>;

/// A name where it stands: `id` in the form that Python compares (NFKC, see parse/Normalize.h),
/// `range` of its letters.
struct Identifier {
  std::string id;
  SourceRange range;

  bool empty() const { return id.empty(); }
};

// ---- Expressions
// -----------------------------------------------------------------------------------------------------

struct Name : ExprNode<ExprKind::Name> {
  std::string id;
};

enum class ConstantType : std::uint8_t { None, Bool, Ellipsis, Int, Float, Complex, Str, Bytes };

struct Constant : ExprNode<ExprKind::Constant> {
  ConstantType type = ConstantType::None;
  bool boolValue = false;
  /// Int: its value if it fits into 128 bits, else `overflow` is set and only the text in the
  /// source says what it is.
  bool overflow = false;
  Int128 intValue = 0;
  /// Float: its value. Complex: the imaginary part (the real one is 0).
  double floatValue = 0;
  /// Str: the characters in UTF-8 (a lone surrogate written as \ud800 keeps its three-byte form);
  /// Bytes: the bytes.
  std::string text;
};

/// An f-string; `values` are Str constants and FormattedValues. Adjacent literals are one
/// JoinedStr.
struct JoinedStr : ExprNode<ExprKind::JoinedStr> {
  ExprList values;
};

struct FormattedValue : ExprNode<ExprKind::FormattedValue> {
  Expr *value = nullptr;
  char conversion = 0;             // 's', 'r', 'a', or 0
  JoinedStr *formatSpec = nullptr; // may be null
};

struct Attribute : ExprNode<ExprKind::Attribute> {
  Expr *value = nullptr;
  Identifier attr;
};

/// `a[i]`, `a[i, j]` (slice is a Tuple), `a[i:j]` (slice is a Slice).
struct Subscript : ExprNode<ExprKind::Subscript> {
  Expr *value = nullptr;
  Expr *slice = nullptr;
};

struct Slice : ExprNode<ExprKind::Slice> {
  Expr *lower = nullptr, *upper = nullptr, *step = nullptr; // each may be null
};

struct Starred : ExprNode<ExprKind::Starred> {
  Expr *value = nullptr;
};

/// `name=value`, or `**value` with an empty name.
struct Keyword {
  SourceRange range;
  Identifier name;
  Expr *value = nullptr;
};

struct Call : ExprNode<ExprKind::Call> {
  Expr *func = nullptr;
  ExprList args; // `*x` is a Starred
  std::vector<Keyword> keywords;
};

struct UnaryOp : ExprNode<ExprKind::UnaryOp> {
  UnaryOperator op = UnaryOperator::Not;
  Expr *operand = nullptr;
};

struct BinOp : ExprNode<ExprKind::BinOp> {
  BinaryOperator op = BinaryOperator::Add;
  SourceRange opRange;
  Expr *left = nullptr, *right = nullptr;
};

/// `a and b and c` has three values.
struct BoolOp : ExprNode<ExprKind::BoolOp> {
  BoolOperator op = BoolOperator::And;
  ExprList values;
};

/// `left ops[0] comparators[0] ops[1] comparators[1] ...`
struct Compare : ExprNode<ExprKind::Compare> {
  Expr *left = nullptr;
  std::vector<CompareOperator> ops;
  ExprList comparators;
};

/// `body if test else orelse`
struct IfExp : ExprNode<ExprKind::IfExp> {
  Expr *test = nullptr, *body = nullptr, *orelse = nullptr;
};

struct Arg {
  SourceRange range; // name and annotation
  Identifier name;
  Expr *annotation = nullptr;   // may be null
  Expr *defaultValue = nullptr; // may be null
};

struct Arguments {
  SourceRange range;
  std::vector<Arg> posOnly, args, kwOnly;
  std::optional<Arg> vararg, kwarg; // *args, **kwargs

  bool empty() const {
    return posOnly.empty() && args.empty() && kwOnly.empty() && !vararg && !kwarg;
  }
};

struct Lambda : ExprNode<ExprKind::Lambda> {
  Arguments args;
  Expr *body = nullptr;
};

/// `target := value`; the target is a Name.
struct NamedExpr : ExprNode<ExprKind::NamedExpr> {
  Name *target = nullptr;
  Expr *value = nullptr;
};

struct Tuple : ExprNode<ExprKind::Tuple> {
  ExprList elements;
};
struct List : ExprNode<ExprKind::List> {
  ExprList elements;
};
struct Set : ExprNode<ExprKind::Set> {
  ExprList elements;
};

/// A null key stands for `**value`.
struct Dict : ExprNode<ExprKind::Dict> {
  ExprList keys, values;
};

struct Comprehension {
  SourceRange range;
  Expr *target = nullptr, *iter = nullptr;
  ExprList ifs;
  bool isAsync = false;
};

struct ListComp : ExprNode<ExprKind::ListComp> {
  Expr *element = nullptr;
  std::vector<Comprehension> generators;
};
struct SetComp : ExprNode<ExprKind::SetComp> {
  Expr *element = nullptr;
  std::vector<Comprehension> generators;
};
struct GeneratorExp : ExprNode<ExprKind::GeneratorExp> {
  Expr *element = nullptr;
  std::vector<Comprehension> generators;
};
struct DictComp : ExprNode<ExprKind::DictComp> {
  Expr *key = nullptr, *value = nullptr;
  std::vector<Comprehension> generators;
};

struct Await : ExprNode<ExprKind::Await> {
  Expr *value = nullptr;
};
struct Yield : ExprNode<ExprKind::Yield> {
  Expr *value = nullptr; // may be null
};
struct YieldFrom : ExprNode<ExprKind::YieldFrom> {
  Expr *value = nullptr;
};

// ---- Patterns of match statements
// ------------------------------------------------------------------------------------

struct MatchValue : PatternNode<PatternKind::MatchValue> {
  Expr *value = nullptr;
};
struct MatchSingleton : PatternNode<PatternKind::MatchSingleton> {
  Constant *value = nullptr; // None, True, False
};
struct MatchSequence : PatternNode<PatternKind::MatchSequence> {
  std::vector<Pattern *> patterns;
};
struct MatchMapping : PatternNode<PatternKind::MatchMapping> {
  ExprList keys;
  std::vector<Pattern *> patterns;
  Identifier rest; // may be empty
};
struct MatchClass : PatternNode<PatternKind::MatchClass> {
  Expr *cls = nullptr;
  std::vector<Pattern *> patterns;
  std::vector<Identifier> keywordNames;
  std::vector<Pattern *> keywordPatterns;
};
struct MatchStar : PatternNode<PatternKind::MatchStar> {
  Identifier name; // empty: `*_`
};
struct MatchAs : PatternNode<PatternKind::MatchAs> {
  Pattern *pattern = nullptr; // may be null
  Identifier name;            // empty: the wildcard `_`
};
struct MatchOr : PatternNode<PatternKind::MatchOr> {
  std::vector<Pattern *> patterns;
};

// ---- Statements
// ------------------------------------------------------------------------------------------------------

struct FunctionDef : StmtNode<StmtKind::FunctionDef> {
  Identifier name;
  Arguments args;
  Expr *returns = nullptr; // may be null
  Block body;
  ExprList decorators;
  bool isAsync = false;
};

struct ClassDef : StmtNode<StmtKind::ClassDef> {
  Identifier name;
  ExprList bases;
  std::vector<Keyword> keywords;
  Block body;
  ExprList decorators;
};

struct Return : StmtNode<StmtKind::Return> {
  Expr *value = nullptr; // may be null
};
struct Delete : StmtNode<StmtKind::Delete> {
  ExprList targets;
};

/// `targets[0] = targets[1] = ... = value`
struct Assign : StmtNode<StmtKind::Assign> {
  ExprList targets;
  Expr *value = nullptr;
};

struct AugAssign : StmtNode<StmtKind::AugAssign> {
  Expr *target = nullptr;
  BinaryOperator op = BinaryOperator::Add;
  SourceRange opRange;
  Expr *value = nullptr;
};

struct AnnAssign : StmtNode<StmtKind::AnnAssign> {
  Expr *target = nullptr;
  Expr *annotation = nullptr;
  Expr *value = nullptr; // may be null
  bool simple = false;   // the target is a Name without parentheses
};

struct For : StmtNode<StmtKind::For> {
  Expr *target = nullptr, *iter = nullptr;
  Block body, orelse;
  bool isAsync = false;
};
struct While : StmtNode<StmtKind::While> {
  Expr *test = nullptr;
  Block body, orelse;
};

/// An `elif` is an If with isElif, alone in `orelse`.
struct If : StmtNode<StmtKind::If> {
  Expr *test = nullptr;
  Block body, orelse;
  bool isElif = false;
};

struct WithItem {
  SourceRange range;
  Expr *contextExpr = nullptr;
  Expr *optionalVars = nullptr; // may be null
};
struct With : StmtNode<StmtKind::With> {
  std::vector<WithItem> items;
  Block body;
  bool isAsync = false;
};

struct Raise : StmtNode<StmtKind::Raise> {
  Expr *exc = nullptr, *cause = nullptr; // each may be null
};

struct ExceptHandler {
  SourceRange range;
  Expr *type = nullptr; // may be null
  Identifier name;      // may be empty
  Block body;
};
struct Try : StmtNode<StmtKind::Try> {
  Block body;
  std::vector<ExceptHandler> handlers;
  Block orelse, finalbody;
  bool isStar = false; // except*
};

struct Assert : StmtNode<StmtKind::Assert> {
  Expr *test = nullptr;
  Expr *msg = nullptr; // may be null
};

/// `name as asname`; the name may be dotted. `*` in `from m import *`.
struct Alias {
  SourceRange range;
  Identifier name;
  Identifier asname; // may be empty
};
struct Import : StmtNode<StmtKind::Import> {
  std::vector<Alias> names;
};
struct ImportFrom : StmtNode<StmtKind::ImportFrom> {
  Identifier module;  // may be empty: `from . import x`
  unsigned level = 0; // leading dots
  std::vector<Alias> names;
};

struct Global : StmtNode<StmtKind::Global> {
  std::vector<Identifier> names;
};
struct Nonlocal : StmtNode<StmtKind::Nonlocal> {
  std::vector<Identifier> names;
};
struct ExprStmt : StmtNode<StmtKind::ExprStmt> {
  Expr *value = nullptr;
};
struct Pass : StmtNode<StmtKind::Pass> {};
struct Break : StmtNode<StmtKind::Break> {};
struct Continue : StmtNode<StmtKind::Continue> {};

struct MatchCase {
  SourceRange range;
  Pattern *pattern = nullptr;
  Expr *guard = nullptr; // may be null
  Block body;
};
struct Match : StmtNode<StmtKind::Match> {
  Expr *subject = nullptr;
  std::vector<MatchCase> cases;
};

/// One file. Owns every node of its tree.
struct Module {
  std::uint32_t file = 0;
  SourceRange range;
  Block body;

  template <class T> T *make(SourceRange range) {
    auto node = std::make_unique<T>();
    node->range = range;
    T *raw = node.get();
    nodes.push_back(std::move(node));
    return raw;
  }

private:
  std::vector<std::unique_ptr<Node>> nodes;
};

/// "BinOp"
std::string_view className(ExprKind kind);
std::string_view className(StmtKind kind);
std::string_view className(PatternKind kind);
/// In words, for messages: "a lambda", "an f-string", "a `with` statement".
std::string_view describe(ExprKind kind);
std::string_view describe(StmtKind kind);
/// As written: "+", "not in".
std::string_view spelling(BinaryOperator op);
std::string_view spelling(UnaryOperator op);
std::string_view spelling(BoolOperator op);
std::string_view spelling(CompareOperator op);

} // namespace tlc::ast
