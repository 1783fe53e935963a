// Expressions of the tile IR: immutable, uniqued, folded on creation, and pure: never a load, never
// an effect.
//
// A Context owns them. Two expressions of one context are structurally equal iff their handles are
// equal (variables are equal only to themselves). What reads memory is a statement that binds a
// variable (Stmt.h: Load, Atomic, Call).
#pragma once

#include "support/DType.h"

#include <llvm/ADT/SmallVector.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::ir {

class Context;
struct ExprNode;

enum class ExprKind : std::uint8_t {
  Int,
  Float,
  Var,
  Unary,
  Binary,
  Select,
  Cast,
  Bitcast,
  Math,
  Vector,
  Extract
};

enum class UnaryOp : std::uint8_t {
  Neg,
  Not,    // logical, on bool
  BitNot, // on integers
};

enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div, // floats only
  FloorDiv,
  FloorMod, // integers; floor towards minus infinity, the modulus has the divisor's sign
  TruncDiv,
  TruncMod, // integers; C's
  Min,
  Max, // of floats: the other operand if one is NaN
  And,
  Or,
  Xor,
  Shl,
  Shr, // integers; Shr is arithmetic on int, logical on uint
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge, // give bool
  LogicalAnd,
  LogicalOr, // on bool, lazy: the right side has no meaning where the left decides
};

enum class MathFn : std::uint8_t {
#define TLC_MATH(NAME, TEXT, ARITY) NAME,
#include "ir/MathFn.def"
};
const char *mathName(MathFn fn);
unsigned mathArity(MathFn fn);
std::optional<MathFn> mathByName(std::string_view name);

const char *spelling(UnaryOp op);
const char *spelling(BinaryOp op); // "+", "//", "%", "/", "truncdiv", "min", "<=", "and" …
bool isComparison(BinaryOp op);

/// A handle; null when default-constructed. Cheap to copy and compare.
class Expr {
public:
  Expr() = default;
  explicit Expr(const ExprNode *node) : node(node) {}

  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Expr &) const = default;
  const ExprNode *operator->() const { return node; }
  const ExprNode *get() const { return node; }

  ExprKind kind() const;
  DType dtype() const;
  Context &context() const;

  bool isInt() const { return kind() == ExprKind::Int; } ///< an integer or bool constant
  bool isFloat() const { return kind() == ExprKind::Float; }
  bool isConstant() const { return isInt() || isFloat(); }
  bool isVar() const { return kind() == ExprKind::Var; }
  /// The value of an integer constant, if it is one.
  std::optional<std::int64_t> constant() const;
  bool isConstant(std::int64_t value) const { return constant() == value; }
  bool isTrue() const { return isConstant(1) && dtype().isBool(); }
  bool isFalse() const { return isConstant(0) && dtype().isBool(); }

private:
  const ExprNode *node = nullptr;
};

/// What is kept of any node; which fields mean something depends on the kind.
struct ExprNode {
  ExprKind kind;
  std::uint8_t op =
      0; ///< UnaryOp, BinaryOp or MathFn; for Cast: 1 = saturate (float to float only)
  DType dtype;
  Context *context = nullptr;
  std::uint32_t id = 0;     ///< creation order; for Var: unique
  std::int64_t integer = 0; ///< Int: value (uint64 as its two's complement); Extract: the lane
  double real = 0;          ///< Float: the value, exactly representable in dtype
  std::string name;         ///< Var: a hint; printers make it unique
  llvm::SmallVector<Expr, 3> operands; ///< Select: condition, then, else
  /// What variablesOf found; null as long as nobody asked.
  mutable std::unique_ptr<const std::vector<Expr>> variables;

  UnaryOp unaryOp() const { return static_cast<UnaryOp>(op); }
  BinaryOp binaryOp() const { return static_cast<BinaryOp>(op); }
  MathFn mathFn() const { return static_cast<MathFn>(op); }
  bool saturates() const { return op != 0; }
};

/// Owns and makes expressions. The make functions fold constants and apply identities that hold for
/// every value (x + 0, x * 1, (x + 1) + 2, (x * 8) // 4, not not x …); they check dtypes and throw
/// InternalError on a mismatch: operands of Unary/Binary/Select must already have one dtype (shifts
/// too). Elementwise on vectors.
class Context {
public:
  Context();
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  Expr integer(DType dtype, std::int64_t value); ///< wraps to the dtype
  Expr real(DType dtype, double value);          ///< rounds to the dtype
  Expr boolean(bool value) { return integer(DType(Scalar::Bool), value); }
  Expr int32(std::int64_t value) { return integer(DType(Scalar::Int32), value); }
  Expr zero(DType dtype);                       ///< 0, 0.0 or false, also of a vector
  Expr var(std::string_view name, DType dtype); ///< a new variable at each call

  Expr unary(UnaryOp op, Expr a);
  Expr binary(BinaryOp op, Expr a, Expr b);
  Expr select(Expr condition, Expr then, Expr otherwise);
  /// Conversion by value, as semantics.md §1 says; `saturate` clamps floats to the largest finite
  /// value.
  Expr cast(DType dtype, Expr a, bool saturate);
  /// As above; by default fp8 and narrower saturate and wider floats overflow to infinity.
  Expr cast(DType dtype, Expr a);
  Expr bitcast(DType dtype, Expr a); ///< same number of bits in total
  Expr math(MathFn fn, std::span<const Expr> args);
  Expr math(MathFn fn, std::initializer_list<Expr> args) {
    return math(fn, std::span<const Expr>(args.begin(), args.size()));
  }
  Expr
  vector(std::span<const Expr> lanes); ///< one operand per lane; one operand repeated: broadcast
  Expr broadcast(Expr scalar, unsigned lanes);
  Expr extract(Expr vector, unsigned lane);

private:
  friend class Folder;
  Expr intern(ExprNode node);
  struct Impl;
  std::unique_ptr<Impl> impl;
};

// Operators on handles of one dtype. An int operand takes the other's dtype.
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator+(Expr a, std::int64_t b);
Expr operator-(Expr a, std::int64_t b);
Expr operator*(Expr a, std::int64_t b);
Expr operator-(Expr a);
Expr floorDiv(Expr a, Expr b);
Expr floorDiv(Expr a, std::int64_t b);
Expr floorMod(Expr a, Expr b);
Expr floorMod(Expr a, std::int64_t b);
Expr ceilDiv(Expr a, std::int64_t b);
Expr ceilDiv(Expr a, Expr b);
Expr minimum(Expr a, Expr b);
Expr maximum(Expr a, Expr b);
Expr lessThan(Expr a, Expr b);
Expr lessThan(Expr a, std::int64_t b);
Expr lessEqual(Expr a, Expr b);
Expr equals(Expr a, Expr b);
Expr equals(Expr a, std::int64_t b);
Expr logicalAnd(Expr a, Expr b); ///< a null operand counts as true, so guards can be accumulated
Expr logicalOr(Expr a, Expr b);
Expr logicalNot(Expr a);

/// Replaces variables; rebuilds, so the result is folded again. Null entries of the map are left
/// alone.
using Substitution = std::vector<std::pair<Expr, Expr>>;
Expr substitute(Expr e, const Substitution &map);
/// The same operation on other operands, folded again; a leaf is returned as it is.
Expr rebuild(Expr e, std::span<const Expr> operands);
/// Whether `variable` occurs in `e`.
bool uses(Expr e, Expr variable);
/// Every variable of `e`, each once. Found once for each node, and kept.
const std::vector<Expr> &variablesOf(Expr e);
/// Adds those that are not in `vars` yet.
void collectVars(Expr e, std::vector<Expr> &vars);

/// `e` as constant + sum of coefficient * term, where terms are no sums or constant multiples.
/// Integers only.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<Expr, std::int64_t>>
      terms; ///< distinct, in order of id, coefficients not 0
};
Linear linear(Expr e);
Expr fromLinear(Context &context, DType dtype, const Linear &l);
/// a - b if that is a constant for all values of the variables.
std::optional<std::int64_t> constantDifference(Expr a, Expr b);

} // namespace tlc::ir
