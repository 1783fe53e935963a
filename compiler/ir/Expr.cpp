#include "ir/Expr.h"

#include "ir/Fold.h"
#include "ir/Size.h"
#include "ir/Substitute.h"
#include "support/Check.h"

#include <llvm/ADT/SmallPtrSet.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <unordered_set>

namespace tlc::ir {
namespace {

struct MathRow {
  const char *name;
  unsigned arity;
};
constexpr MathRow mathRows[] = {
#define TLC_MATH(NAME, TEXT, ARITY) {TEXT, ARITY},
#include "ir/MathFn.def"
#include "ir/Size.h"
};

std::size_t mix(std::size_t seed, std::uint64_t value) {
  return seed ^ (value * 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

struct NodeHash {
  std::size_t operator()(const ExprNode *n) const {
    std::size_t h = static_cast<std::size_t>(n->kind) * 131 + n->op;
    h = mix(h, static_cast<std::uint64_t>(n->dtype.scalar) << 16 | n->dtype.lanes);
    h = mix(h, static_cast<std::uint64_t>(n->integer));
    h = mix(h, std::bit_cast<std::uint64_t>(n->real));
    for (Expr operand : n->operands)
      h = mix(h, operand->id);
    return h;
  }
};

struct NodeEqual {
  bool operator()(const ExprNode *a, const ExprNode *b) const {
    return a->kind == b->kind && a->op == b->op && a->dtype == b->dtype &&
           a->integer == b->integer &&
           std::bit_cast<std::uint64_t>(a->real) == std::bit_cast<std::uint64_t>(b->real) &&
           a->operands == b->operands;
  }
};

DType mathResult(MathFn fn, DType argument) {
  switch (fn) {
  case MathFn::IsNan:
  case MathFn::IsInf:
  case MathFn::IsFinite:
    return DType(Scalar::Bool, argument.lanes);
  case MathFn::Popcount:
  case MathFn::Clz:
  case MathFn::Ffs:
    return DType(Scalar::Int32, argument.lanes);
  default:
    return argument;
  }
}

} // namespace

const char *mathName(MathFn fn) { return mathRows[static_cast<unsigned>(fn)].name; }
unsigned mathArity(MathFn fn) { return mathRows[static_cast<unsigned>(fn)].arity; }

std::optional<MathFn> mathByName(std::string_view name) {
  for (unsigned i = 0; i < std::size(mathRows); ++i)
    if (mathRows[i].name == name)
      return static_cast<MathFn>(i);
  return std::nullopt;
}

const char *spelling(UnaryOp op) {
  constexpr const char *names[] = {"-", "not", "~"};
  return names[static_cast<unsigned>(op)];
}

const char *spelling(BinaryOp op) {
  constexpr const char *names[] = {
      "+", "-",  "*",  "/",  "//", "%", "truncdiv", "truncmod", "min", "max", "&", "|",
      "^", "<<", ">>", "==", "!=", "<", "<=",       ">",        ">=",  "and", "or"};
  return names[static_cast<unsigned>(op)];
}

bool isComparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }

ExprKind Expr::kind() const { return node->kind; }
DType Expr::dtype() const { return node->dtype; }
Context &Expr::context() const { return *node->context; }

std::optional<std::int64_t> Expr::constant() const {
  if (!node || node->kind != ExprKind::Int)
    return std::nullopt;
  return node->integer;
}

struct Context::Impl {
  std::deque<ExprNode> nodes; // stable addresses
  std::unordered_set<const ExprNode *, NodeHash, NodeEqual> unique;
};

Context::Context() : impl(std::make_unique<Impl>()) {}
Context::~Context() = default;

Expr Context::intern(ExprNode node) {
  node.context = this;
  if (auto found = impl->unique.find(&node); found != impl->unique.end())
    return Expr(*found);
  node.id = static_cast<std::uint32_t>(impl->nodes.size());
  const ExprNode *stored = &impl->nodes.emplace_back(std::move(node));
  impl->unique.insert(stored);
  return Expr(stored);
}

Expr Context::var(std::string_view name, DType dtype) {
  ExprNode node;
  node.kind = ExprKind::Var;
  node.dtype = dtype;
  node.name = name;
  node.context = this;
  node.id = static_cast<std::uint32_t>(impl->nodes.size());
  return Expr(&impl->nodes.emplace_back(std::move(node))); // equal only to itself: not interned
}

Expr Context::integer(DType dtype, std::int64_t value) {
  TLC_CHECK(!dtype.isFloat(), "integer constant of a float type");
  if (dtype.isVector())
    return broadcast(integer(dtype.element(), value), dtype.lanes);
  ExprNode node;
  node.kind = ExprKind::Int;
  node.dtype = dtype;
  node.integer = wrapInteger(dtype, value);
  return intern(std::move(node));
}

Expr Context::real(DType dtype, double value) {
  TLC_CHECK(dtype.isFloat(), "float constant of an integer type");
  if (dtype.isVector())
    return broadcast(real(dtype.element(), value), dtype.lanes);
  ExprNode node;
  node.kind = ExprKind::Float;
  node.dtype = dtype;
  // An infinity that the format has is a value of it, whatever its conversions do by default.
  node.real = std::isinf(value) ? roundFloat(dtype, value, false) : roundFloat(dtype, value);
  return intern(std::move(node));
}

Expr Context::zero(DType dtype) { return dtype.isFloat() ? real(dtype, 0) : integer(dtype, 0); }

Expr Context::unary(UnaryOp op, Expr a) {
  TLC_CHECK(op != UnaryOp::Not || a.dtype().isBool(), "logical not of a non-bool");
  TLC_CHECK(op != UnaryOp::BitNot || a.dtype().isInteger(), "bitwise not of a non-integer");
  if (Expr folded = foldUnary(*this, op, a))
    return folded;
  ExprNode node;
  node.kind = ExprKind::Unary;
  node.op = static_cast<std::uint8_t>(op);
  node.dtype = a.dtype();
  node.operands = {a};
  return intern(std::move(node));
}

Expr Context::binary(BinaryOp op, Expr a, Expr b) {
  TLC_CHECK(a.dtype() == b.dtype(),
            "operands of a binary operation differ in type: " + a.dtype().str() + " " +
                spelling(op) + " " + b.dtype().str());
  if (Expr folded = foldBinary(*this, op, a, b))
    return folded;
  // Constants stand on the right of what commutes, so that x + 1 is one expression.
  bool commutes = op == BinaryOp::Add || op == BinaryOp::Mul || op == BinaryOp::Min ||
                  op == BinaryOp::Max || op == BinaryOp::And || op == BinaryOp::Or ||
                  op == BinaryOp::Xor || op == BinaryOp::Eq || op == BinaryOp::Ne;
  if (commutes && a.isInt() && !b.isInt())
    return binary(op, b, a);
  ExprNode node;
  node.kind = ExprKind::Binary;
  node.op = static_cast<std::uint8_t>(op);
  node.dtype = isComparison(op) ? DType(Scalar::Bool, a.dtype().lanes) : a.dtype();
  node.operands = {a, b};
  return intern(std::move(node));
}

Expr Context::select(Expr condition, Expr then, Expr otherwise) {
  TLC_CHECK(condition.dtype().isBool() && then.dtype() == otherwise.dtype(),
            "malformed select: " + then.dtype().str() + " or " + otherwise.dtype().str());
  if (Expr folded = foldSelect(*this, condition, then, otherwise))
    return folded;
  ExprNode node;
  node.kind = ExprKind::Select;
  node.dtype = then.dtype();
  node.operands = {condition, then, otherwise};
  return intern(std::move(node));
}

Expr Context::cast(DType dtype, Expr a) {
  return cast(dtype, a, dtype.isFloat() && dtype.bits() <= 8);
}

Expr Context::cast(DType dtype, Expr a, bool saturate) {
  TLC_CHECK(dtype.lanes == a.dtype().lanes, "cast changes the number of lanes");
  if (Expr folded = foldCast(*this, dtype, a, saturate))
    return folded;
  ExprNode node;
  node.kind = ExprKind::Cast;
  node.op = saturate;
  node.dtype = dtype;
  node.operands = {a};
  return intern(std::move(node));
}

Expr Context::bitcast(DType dtype, Expr a) {
  TLC_CHECK(dtype.bits() * dtype.lanes == a.dtype().bits() * a.dtype().lanes,
            "bitcast between types of different size: " + a.dtype().str() + " to " + dtype.str());
  if (dtype == a.dtype())
    return a;
  if (a.kind() == ExprKind::Bitcast)
    return bitcast(dtype, a->operands[0]);
  ExprNode node;
  node.kind = ExprKind::Bitcast;
  node.dtype = dtype;
  node.operands = {a};
  return intern(std::move(node));
}

Expr Context::math(MathFn fn, std::span<const Expr> args) {
  TLC_CHECK(args.size() == mathArity(fn),
            std::string("wrong number of arguments to ") + mathName(fn));
  if (Expr folded = foldMath(*this, fn, args))
    return folded;
  ExprNode node;
  node.kind = ExprKind::Math;
  node.op = static_cast<std::uint8_t>(fn);
  node.dtype = mathResult(fn, args[0].dtype());
  node.operands.assign(args.begin(), args.end());
  return intern(std::move(node));
}

Expr Context::vector(std::span<const Expr> lanes) {
  TLC_CHECK(!lanes.empty(), "empty vector");
  if (lanes.size() == 1)
    return lanes[0];
  ExprNode node;
  node.kind = ExprKind::Vector;
  node.dtype = lanes[0].dtype().withLanes(static_cast<unsigned>(lanes.size()));
  node.operands.assign(lanes.begin(), lanes.end());
  return intern(std::move(node));
}

Expr Context::broadcast(Expr scalar, unsigned lanes) {
  return vector(std::vector<Expr>(lanes, scalar));
}

Expr Context::extract(Expr vector, unsigned lane) {
  if (!vector.dtype().isVector())
    return vector;
  TLC_CHECK(lane < vector.dtype().lanes, "lane out of range");
  if (vector.kind() == ExprKind::Vector)
    return vector->operands[lane];
  ExprNode node;
  node.kind = ExprKind::Extract;
  node.dtype = vector.dtype().element();
  node.integer = lane;
  node.operands = {vector};
  return intern(std::move(node));
}

namespace {

bool mixedWidth(Expr a, Expr b) {
  return a.dtype() != b.dtype() && a.dtype().isInt() && b.dtype().isInt();
}

/// Signed integers of two widths meet in the wider one: addresses are int64, indices int32.
Expr combine(BinaryOp op, Expr a, Expr b) {
  Context &context = a.context();
  if (mixedWidth(a, b)) {
    DType wide = a.dtype().bits() > b.dtype().bits() ? a.dtype() : b.dtype();
    a = context.cast(wide, a);
    b = context.cast(wide, b);
  }
  return context.binary(op, a, b);
}

Expr like(Expr a, std::int64_t value) {
  return a.dtype().isFloat() ? a.context().real(a.dtype(), static_cast<double>(value))
                             : a.context().integer(a.dtype(), value);
}

} // namespace

Expr operator+(Expr a, Expr b) { return combine(BinaryOp::Add, a, b); }
Expr operator-(Expr a, Expr b) { return combine(BinaryOp::Sub, a, b); }
Expr operator*(Expr a, Expr b) { return combine(BinaryOp::Mul, a, b); }
Expr operator+(Expr a, std::int64_t b) { return a + like(a, b); }
Expr operator-(Expr a, std::int64_t b) { return a - like(a, b); }
Expr operator*(Expr a, std::int64_t b) { return a * like(a, b); }
Expr operator-(Expr a) { return a.context().unary(UnaryOp::Neg, a); }
Expr floorDiv(Expr a, Expr b) { return combine(BinaryOp::FloorDiv, a, b); }
Expr floorDiv(Expr a, std::int64_t b) { return floorDiv(a, like(a, b)); }
Expr floorMod(Expr a, Expr b) { return combine(BinaryOp::FloorMod, a, b); }
Expr floorMod(Expr a, std::int64_t b) { return floorMod(a, like(a, b)); }
Expr ceilDiv(Expr a, Expr b) { return floorDiv(a + (b - 1), b); }
Expr ceilDiv(Expr a, std::int64_t b) { return floorDiv(a + (b - 1), b); }
Expr minimum(Expr a, Expr b) { return combine(BinaryOp::Min, a, b); }
Expr maximum(Expr a, Expr b) { return combine(BinaryOp::Max, a, b); }
Expr lessThan(Expr a, Expr b) { return combine(BinaryOp::Lt, a, b); }
Expr lessThan(Expr a, std::int64_t b) { return lessThan(a, like(a, b)); }
Expr lessEqual(Expr a, Expr b) { return combine(BinaryOp::Le, a, b); }
Expr equals(Expr a, Expr b) { return combine(BinaryOp::Eq, a, b); }
Expr equals(Expr a, std::int64_t b) { return equals(a, like(a, b)); }
Expr logicalAnd(Expr a, Expr b) {
  return !a ? b : !b ? a : a.context().binary(BinaryOp::LogicalAnd, a, b);
}
Expr logicalOr(Expr a, Expr b) { return a.context().binary(BinaryOp::LogicalOr, a, b); }
Expr logicalNot(Expr a) { return a.context().unary(UnaryOp::Not, a); }

Expr rebuild(Expr e, std::span<const Expr> ops) {
  Context &context = e.context();
  switch (e.kind()) {
  case ExprKind::Int:
  case ExprKind::Float:
  case ExprKind::Var:
    return e;
  case ExprKind::Unary:
    return context.unary(e->unaryOp(), ops[0]);
  case ExprKind::Binary:
    return context.binary(e->binaryOp(), ops[0], ops[1]);
  case ExprKind::Select:
    return context.select(ops[0], ops[1], ops[2]);
  case ExprKind::Cast:
    return context.cast(e.dtype(), ops[0], e->saturates());
  case ExprKind::Bitcast:
    return context.bitcast(e.dtype(), ops[0]);
  case ExprKind::Math:
    return context.math(e->mathFn(), ops);
  case ExprKind::Vector:
    return context.vector(ops);
  case ExprKind::Extract:
    return context.extract(ops[0], static_cast<unsigned>(e->integer));
  }
  return e;
}

namespace {

using Seen = llvm::SmallPtrSet<const ExprNode *, 16>;

/// A node is older than what was made of it.
bool occurs(Expr variable, Expr e, Seen &seen) {
  if (e == variable)
    return true;
  if (e->id < variable->id || e->operands.empty() || !seen.insert(e.get()).second)
    return false;
  return std::any_of(e->operands.begin(), e->operands.end(),
                     [&](Expr operand) { return occurs(variable, operand, seen); });
}

} // namespace

Substituter::Substituter(const Substitution &map) {
  for (const auto &[variable, value] : map)
    add(variable, value);
}

void Substituter::add(Expr variable, Expr value) {
  replaced.try_emplace(variable.get(), value ? value : variable);
}

Expr Substituter::operator()(Expr e) {
  if (!e || e.isConstant())
    return e;
  if (auto found = replaced.find(e.get()); found != replaced.end())
    return found->second;
  if (e->operands.empty())
    return e;
  llvm::SmallVector<Expr, 4> operands;
  bool changed = false;
  for (Expr operand : e->operands) {
    operands.push_back((*this)(operand));
    changed |= operands.back() != operand;
  }
  Expr result = changed ? rebuild(e, operands) : e;
  replaced.try_emplace(e.get(), result);
  return result;
}

Expr substitute(Expr e, const Substitution &map) { return map.empty() ? e : Substituter(map)(e); }

const std::vector<Expr> &variablesOf(Expr e) {
  static const std::vector<Expr> none;
  if (!e || e.isConstant())
    return none;
  if (e->variables)
    return *e->variables;
  std::vector<Expr> found;
  if (e.isVar())
    found.push_back(e);
  for (Expr operand : e->operands)
    for (Expr var : variablesOf(operand))
      if (std::find(found.begin(), found.end(), var) == found.end())
        found.push_back(var);
  e->variables = std::make_unique<const std::vector<Expr>>(std::move(found));
  return *e->variables;
}

void collectVars(Expr e, std::vector<Expr> &vars) {
  for (Expr var : variablesOf(e))
    if (std::find(vars.begin(), vars.end(), var) == vars.end())
      vars.push_back(var);
}

unsigned exprSize(Expr e, unsigned limit) {
  unsigned size = 1;
  for (Expr operand : e->operands) {
    if (size >= limit)
      break;
    size += exprSize(operand, limit - size);
  }
  return size;
}

bool uses(Expr e, Expr variable) {
  if (!e || !variable)
    return false;
  if (variable.isVar()) {
    const std::vector<Expr> &vars = variablesOf(e);
    return std::find(vars.begin(), vars.end(), variable) != vars.end();
  }
  Seen seen;
  return occurs(variable, e, seen);
}

} // namespace tlc::ir
