#include "ir/PrintExpr.h"

#include "ir/Print.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace tlc::ir {

std::string shortName(DType dtype) {
  std::string name;
  switch (dtype.scalar) {
  case Scalar::Bool:
    name = "bool";
    break;
  case Scalar::BFloat16:
    name = "bf16";
    break;
  case Scalar::TFloat32:
    name = "tf32";
    break;
  case Scalar::Float8E4M3FN:
    name = "f8e4m3";
    break;
  case Scalar::Float8E4M3FNUZ:
    name = "f8e4m3fnuz";
    break;
  case Scalar::Float8E5M2:
    name = "f8e5m2";
    break;
  case Scalar::Float8E5M2FNUZ:
    name = "f8e5m2fnuz";
    break;
  case Scalar::Float8E8M0FNU:
    name = "f8e8m0";
    break;
  case Scalar::Float6E2M3FN:
    name = "f6e2m3";
    break;
  case Scalar::Float6E3M2FN:
    name = "f6e3m2";
    break;
  case Scalar::Float4E2M1FN:
    name = "f4e2m1";
    break;
  default:
    name = (dtype.isFloat() ? "f" : dtype.isUInt() ? "u" : "i") + std::to_string(dtype.bits());
  }
  return dtype.isVector() ? name + "x" + std::to_string(dtype.lanes) : name;
}

} // namespace tlc::ir

namespace tlc::ir::text {

std::string NameTable::unique(std::string_view hint) {
  std::string base;
  for (char c : hint)
    base += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])))
    base = "v" + base;
  std::string name = base;
  while (!used.insert(name).second)
    name = base + "_" + std::to_string(++next[base]);
  return name;
}

const std::string &NameTable::of(Expr var) {
  auto [at, isNew] = names.try_emplace(var.get());
  if (isNew)
    at->second = unique(var->name);
  return at->second;
}

const std::string &NameTable::of(const Buffer *buffer) {
  auto [at, isNew] = names.try_emplace(buffer);
  if (isNew)
    at->second = unique(buffer ? buffer->name : "null");
  return at->second;
}

namespace {

enum : int {
  Lowest,
  OrLevel,
  AndLevel,
  NotLevel,
  CompareLevel,
  BitOr,
  BitXor,
  BitAnd,
  ShiftLevel,
  Sum,
  Product,
  Prefix,
  Atomic
};

/// 0 for operations that are written as calls.
int levelOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::LogicalOr:
    return OrLevel;
  case BinaryOp::LogicalAnd:
    return AndLevel;
  case BinaryOp::Or:
    return BitOr;
  case BinaryOp::Xor:
    return BitXor;
  case BinaryOp::And:
    return BitAnd;
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return ShiftLevel;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return Sum;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod:
    return Product;
  default:
    return isComparison(op) ? CompareLevel : 0;
  }
}

std::string shortest(double value, DType dtype) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  if (dtype.bits() <= 32) { // fewer digits are enough for a narrow value
    auto narrow =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(value));
    double back = 0;
    std::from_chars(buffer.data(), narrow.ptr, back);
    end = narrow.ptr;
    if (roundFloat(dtype, back) != value)
      end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  }
  std::string text(buffer.data(), end);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string inParentheses(std::string text, bool needed) {
  return needed ? "(" + text + ")" : text;
}

} // namespace

std::string ExprPrinter::literal(Expr e, std::optional<DType> like) {
  DType dtype = e.dtype();
  if (dtype.isBool())
    return e->integer ? "true" : "false";
  std::string text = e.isFloat() ? shortest(e->real, dtype)
                     : dtype.scalar == Scalar::UInt64
                         ? std::to_string(static_cast<std::uint64_t>(e->integer))
                         : std::to_string(e->integer);
  DType implied = like ? *like : DType(e.isFloat() ? Scalar::Float32 : Scalar::Int32);
  return dtype == implied ? text : text + ":" + shortName(dtype);
}

std::string ExprPrinter::call(std::string name, Expr e) {
  name += "(";
  for (std::size_t i = 0; i < e->operands.size(); ++i)
    name += (i ? ", " : "") + print(e->operands[i]);
  return name + ")";
}

std::string ExprPrinter::binary(Expr e, int precedence) {
  Expr a = e->operands[0], b = e->operands[1];
  BinaryOp op = e->binaryOp();
  // A literal beside something else needs no dtype of its own.
  std::optional<DType> likeA, likeB;
  if (!a.isConstant() && b.isConstant())
    likeB = a.dtype();
  if (a.isConstant() && !b.isConstant())
    likeA = b.dtype();
  int level = levelOf(op);
  if (level == 0)
    return std::string(spelling(op)) + "(" + print(a, likeA) + ", " + print(b, likeB) + ")";
  bool isMinus = op == BinaryOp::Add && b.isInt() && b.dtype().isInt() && b->integer < 0 &&
                 b->integer != minInteger(b.dtype());
  int left = level == CompareLevel ? level + 1 : level;
  std::string right = isMinus ? print(e.context().integer(b.dtype(), -b->integer), Prefix, likeB)
                              : print(b, level + 1, likeB);
  return inParentheses(print(a, left, likeA) + " " + (isMinus ? "-" : spelling(op)) + " " + right,
                       level < precedence);
}

std::string ExprPrinter::print(Expr e, std::optional<DType> like) { return print(e, Lowest, like); }

std::string ExprPrinter::print(Expr e, int precedence, std::optional<DType> like) {
  if (!e)
    return "<null>";
  switch (e.kind()) {
  case ExprKind::Int:
  case ExprKind::Float:
    return literal(e, like);
  case ExprKind::Var:
    return "%" + names.of(e);
  case ExprKind::Unary: {
    Expr a = e->operands[0];
    if (e->unaryOp() == UnaryOp::Not)
      return inParentheses("not " + print(a, NotLevel, {}), NotLevel < precedence);
    // A sign before digits would be part of the literal.
    std::string inner = a.isConstant() ? "(" + print(a) + ")" : print(a, Prefix, {});
    return inParentheses(spelling(e->unaryOp()) + inner, Prefix < precedence);
  }
  case ExprKind::Binary:
    return binary(e, precedence);
  case ExprKind::Select:
    return call("select", e);
  case ExprKind::Cast: {
    DType to = e.dtype();
    bool usual = to.isFloat() && to.bits() <= 8;
    return call(shortName(to) + (e->saturates() == usual ? ""
                                 : e->saturates()        ? ".sat"
                                                         : ".inf"),
                e);
  }
  case ExprKind::Bitcast:
    return call("bitcast." + shortName(e.dtype()), e);
  case ExprKind::Math:
    return call(mathName(e->mathFn()), e);
  case ExprKind::Vector:
    if (std::all_of(e->operands.begin(), e->operands.end(),
                    [&](Expr lane) { return lane == e->operands[0]; }))
      return "broadcast(" + print(e->operands[0]) + ", " + std::to_string(e->operands.size()) + ")";
    return call("vector", e);
  case ExprKind::Extract:
    return "extract(" + print(e->operands[0]) + ", " + std::to_string(e->integer) + ")";
  }
  return {};
}

std::string quoted(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (u < 32 || u == 127)
      (((out += "\\x") += digits[u >> 4]) += digits[u & 15]);
    else
      out += c;
  }
  return out + "\"";
}

} // namespace tlc::ir::text
