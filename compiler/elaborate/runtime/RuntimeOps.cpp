// Conversions of values to expressions, and the operators.
#include "elaborate/runtime/RuntimeOps.h"

#include "ir/Print.h"
#include "ir/Size.h"

#include <cmath>

namespace tlc::elaborate {

using ir::BinaryOp;
using ir::Expr;
using ir::MathFn;

bool isScalar(const Value &value) {
  if (value.isNumber() || value.isExpr() || value.isCell())
    return true;
  return value.native<ElementValue>() || value.native<ScalarValue>();
}

std::string text(Expr e) { return ir::print(e); }

// ---- To expressions

Expr literal(Elaborator &e, const Value &value, DType dtype, SourceRange range) {
  ir::Context &c = e.context;
  DType element = dtype.element();
  Expr result;
  if (element.isFloat()) {
    result = c.real(element, value.asDouble());
  } else if (element.isBool()) {
    result = c.boolean(value.isFloat() ? value.asDouble() != 0 : value.asInt() != 0);
  } else if (value.isFloat()) {
    double d = std::trunc(value.asDouble());
    if (!(std::abs(d) <= 9.2e18)) {
      e.report(diag::LiteralOutOfRange, range, repr(value), dtype.str(),
               std::to_string(minInteger(element)), std::to_string(maxInteger(element)));
      return {};
    }
    return literal(e, Value::integer(static_cast<Int>(d)), dtype, range);
  } else {
    Int v = value.asInt();
    Int high = element.scalar == Scalar::UInt64 ? (Int(1) << 64) - 1 : Int(maxInteger(element));
    if (v < Int(minInteger(element)) || v > high) {
      e.report(diag::LiteralOutOfRange, range, decimal(v), dtype.str(),
               std::to_string(minInteger(element)), decimal(high));
      return {};
    }
    result = c.integer(element, static_cast<std::int64_t>(v));
  }
  return dtype.isVector() ? c.broadcast(result, dtype.lanes) : result;
}

Expr toExpr(Elaborator &e, const Value &value, SourceRange range) {
  switch (value.kind()) {
  case ValueKind::Error:
    return {};
  case ValueKind::Bool:
    return e.context.boolean(value.asBool());
  case ValueKind::Int:
    if (std::optional<DType> type = literalType(value.asInt()))
      return e.context.integer(*type, static_cast<std::int64_t>(value.asInt()));
    e.report(diag::LiteralOutOfRange, range, decimal(value.asInt()), "int64",
             std::to_string(minInteger(Scalar::Int64)), std::to_string(maxInteger(Scalar::Int64)));
    return {};
  case ValueKind::Float:
    return e.context.real(Scalar::Float32, value.asDouble());
  case ValueKind::Expr:
    return value.asExpr();
  case ValueKind::Cell: {
    if (!requireLaunch(e, range, "a variable of T.alloc_var is read"))
      return {};
    return load(e, {value.asBuffer(), {}, {}}, 1, range);
  }
  case ValueKind::Poison:
    e.poisonError(value, range, "it cannot be used as a run-time value");
    return {};
  default:
    break;
  }
  if (ElementValue *element = value.native<ElementValue>())
    return load(e, element->element, element->lanes, range);
  if (ScalarValue *scalar = value.native<ScalarValue>())
    return scalar->scalar(e, range);
  if (RegionValue *region = value.native<RegionValue>()) {
    e.report(diag::RegionAsScalar, range, region->region.buffer->name)
        .help("index it with one number per dimension, or use a tile op: T.copy, T.fill, T.reduce");
    return {};
  }
  if (value.isBuffer()) {
    e.report(diag::RegionAsScalar, range, value.asBuffer()->name)
        .help("index it: `" + value.asBuffer()->name + "[i]`, or use a tile op");
    return {};
  }
  e.report(diag::NotAScalar, range, typeNameWithArticle(value));
  return {};
}

Expr convert(Elaborator &e, Expr x, DType dtype) {
  ir::Context &c = e.context;
  if (x.dtype() == dtype)
    return x;
  if (dtype.isVector() && !x.dtype().isVector())
    return c.broadcast(convert(e, x, dtype.element()), dtype.lanes);
  if (dtype.isBool() && !x.dtype().isBool())
    return c.binary(BinaryOp::Ne, x, c.zero(x.dtype()));
  return c.cast(dtype, x);
}

Expr toExpr(Elaborator &e, const Value &value, DType dtype, SourceRange range) {
  if (value.isNumber())
    return literal(e, value, dtype, range);
  Expr x = toExpr(e, value, range);
  if (!x)
    return {};
  if (x.dtype().lanes != dtype.lanes && x.dtype().isVector()) {
    e.report(diag::OperandTypes, range, "=", dtype.str(), x.dtype().str(), "vectors of one length");
    return {};
  }
  return convert(e, x, dtype);
}

Expr toCondition(Elaborator &e, Expr value) {
  return value ? convert(e, value, DType(Scalar::Bool, value.dtype().lanes)) : value;
}

Expr toCondition(Elaborator &e, const Value &value, SourceRange range) {
  Expr x = toCondition(e, toExpr(e, value, range));
  if (x && x.dtype().isVector()) {
    e.report(diag::NotAScalar, range, "a vector of type " + x.dtype().str());
    return {};
  }
  return x;
}

Expr toIndex(Elaborator &e, const Value &value, SourceRange range, std::string_view what) {
  if (value.isError())
    return {};
  Expr x = toExpr(e, value, range);
  if (!x)
    return {};
  DType t = x.dtype();
  if (t.isFloat() || t.isVector()) {
    e.report(diag::NotAnIndex, range, what, t.str());
    return {};
  }
  bool wide = t.bits() > 32 || (t.isUInt() && t.bits() == 32);
  return convert(e, x, wide ? Scalar::Int64 : Scalar::Int32);
}

void unifyIndices(Elaborator &e, Expr &a, Expr &b) {
  if (!a || !b || a.dtype() == b.dtype())
    return;
  a = convert(e, a, Scalar::Int64);
  b = convert(e, b, Scalar::Int64);
}

/// Operations of an index expression that a name stands for wherever it is used.
static constexpr unsigned longestOpen = 200;

Value pin(Elaborator &e, const Value &value, std::string_view hint, SourceRange range) {
  if (value.isCell() || value.native<ElementValue>()) {
    Expr x;
    if (value.isCell()) {
      if (!requireLaunch(e, range, "a variable of T.alloc_var is read"))
        return Value::error();
      x = load(e, {value.asBuffer(), {}, {}}, 1, range, hint);
    } else {
      ElementValue *element = value.native<ElementValue>();
      x = load(e, element->element, element->lanes, range, hint);
    }
    return x ? Value::expr(x) : Value::error();
  }
  if (ScalarValue *scalar = value.native<ScalarValue>()) {
    Expr x = scalar->scalar(e, range);
    return x ? Value::expr(x) : Value::error();
  }
  if (value.isBuffer() && value.asBuffer()->name.empty() && !hint.empty())
    value.asBuffer()->name = hint;
  // Index arithmetic stays open to analysis as long as it is short: values made of each other twice
  // would double in length each time. What is computed is computed once, under its name.
  if (value.isExpr() && !hint.empty() && e.kernel && e.kernel->launch) {
    Expr x = value.asExpr();
    bool computed = x.dtype().isFloat() && !x.isVar() && !x.isConstant();
    if (computed || ir::exprSize(x, longestOpen) == longestOpen)
      return Value::expr(e.builder().let(hint, x));
  }
  return value;
}

// ---- Binary operators

namespace {

OperatorClass classOf(ast::BinaryOperator op) {
  switch (op) {
  case ast::BinaryOperator::Div:
    return OperatorClass::Division;
  case ast::BinaryOperator::BitAnd:
  case ast::BinaryOperator::BitOr:
  case ast::BinaryOperator::BitXor:
    return OperatorClass::Bitwise;
  case ast::BinaryOperator::LShift:
  case ast::BinaryOperator::RShift:
    return OperatorClass::Shift;
  default:
    return OperatorClass::Arithmetic;
  }
}

BinaryOp irOperator(ast::BinaryOperator op) {
  switch (op) {
  case ast::BinaryOperator::Add:
    return BinaryOp::Add;
  case ast::BinaryOperator::Sub:
    return BinaryOp::Sub;
  case ast::BinaryOperator::Mult:
    return BinaryOp::Mul;
  case ast::BinaryOperator::Div:
    return BinaryOp::Div;
  case ast::BinaryOperator::FloorDiv:
    return BinaryOp::FloorDiv;
  case ast::BinaryOperator::Mod:
    return BinaryOp::FloorMod;
  case ast::BinaryOperator::LShift:
    return BinaryOp::Shl;
  case ast::BinaryOperator::RShift:
    return BinaryOp::Shr;
  case ast::BinaryOperator::BitAnd:
    return BinaryOp::And;
  case ast::BinaryOperator::BitOr:
    return BinaryOp::Or;
  default:
    return BinaryOp::Xor;
  }
}

Expr ofBools(Elaborator &e, BinaryOp op, Expr a, Expr b) {
  ir::Context &c = e.context;
  if (op == BinaryOp::And)
    return c.binary(BinaryOp::LogicalAnd, a, b);
  if (op == BinaryOp::Or)
    return c.binary(BinaryOp::LogicalOr, a, b);
  return c.binary(BinaryOp::Ne, a, b);
}

/// floor(a / b) and what is left, of floats.
Expr floatDivision(Elaborator &e, BinaryOp op, Expr a, Expr b) {
  ir::Context &c = e.context;
  Expr quotient = c.math(MathFn::Floor, {c.binary(BinaryOp::Div, a, b)});
  if (op == BinaryOp::FloorDiv)
    return quotient;
  return c.binary(BinaryOp::Sub, a, c.binary(BinaryOp::Mul, quotient, b));
}

bool legalOperands(Elaborator &e, BinaryOp op, Expr a, Expr b, SourceRange bRange) {
  std::optional<std::int64_t> right = b.constant();
  if (!right || a.dtype().isFloat())
    return true;
  bool divides = op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod;
  if (divides && *right == 0) {
    e.report(diag::DivisionByZero, bRange);
    return false;
  }
  bool shifts = op == BinaryOp::Shl || op == BinaryOp::Shr;
  if (shifts && (*right < 0 || *right >= static_cast<std::int64_t>(a.dtype().bits()))) {
    e.report(diag::ShiftOutOfRange, bRange, *right, a.dtype().str(), a.dtype().bits() - 1);
    return false;
  }
  return true;
}

} // namespace

bool unify(Elaborator &e, OperatorClass op, std::string_view spelling, const Value &a,
           const Value &b, SourceRange aRange, SourceRange bRange, SourceRange range, Expr &x,
           Expr &y) {
  x = toExpr(e, a, aRange);
  y = toExpr(e, b, bRange);
  if (!x || !y)
    return false;
  std::optional<DType> type = commonType(op, x.dtype(), y.dtype());
  if (!type) {
    auto report = e.report(diag::OperandTypes, range, spelling, x.dtype().str(), y.dtype().str(),
                           operandsWanted(op));
    report.label(aRange, "this is " + x.dtype().str()).label(bRange, "this is " + y.dtype().str());
    if (x.dtype().isFloat() && y.dtype().isFloat())
      report.help("convert one of them: T.cast(value, T.float32)");
    return false;
  }
  // A compile-time float is a double: it meets a float64 without having been rounded to float32.
  x = a.isNumber() && type->isFloat() ? literal(e, a, *type, aRange) : convert(e, x, *type);
  y = b.isNumber() && type->isFloat() ? literal(e, b, *type, bRange) : convert(e, y, *type);
  return x && y;
}

Value runtimeBinary(Elaborator &e, ast::BinaryOperator op, const Value &a, const Value &b,
                    SourceRange aRange, SourceRange bRange, SourceRange range) {
  if (op == ast::BinaryOperator::Pow)
    return power(e, a, b, aRange, bRange, range);
  if (op == ast::BinaryOperator::MatMult) {
    e.report(diag::OperatorOnTiles, range, "@").help("use T.gemm");
    return Value::error();
  }
  Expr x, y;
  if (!unify(e, classOf(op), ast::spelling(op), a, b, aRange, bRange, range, x, y))
    return Value::error();
  BinaryOp irOp = irOperator(op);
  if (!legalOperands(e, irOp, x, y, bRange))
    return Value::error();
  if (x.dtype().isBool())
    return Value::expr(ofBools(e, irOp, x, y));
  if (x.dtype().isFloat() && (irOp == BinaryOp::FloorDiv || irOp == BinaryOp::FloorMod))
    return Value::expr(floatDivision(e, irOp, x, y));
  return Value::expr(e.context.binary(irOp, x, y));
}

Value runtimeUnary(Elaborator &e, ast::UnaryOperator op, const Value &a, SourceRange range) {
  Expr x = toExpr(e, a, range);
  if (!x)
    return Value::error();
  ir::Context &c = e.context;
  if (op == ast::UnaryOperator::Not)
    return Value::expr(c.unary(ir::UnaryOp::Not, toCondition(e, x)));
  if (x.dtype().isBool()) {
    if (op == ast::UnaryOperator::Invert)
      return Value::expr(c.unary(ir::UnaryOp::Not, x));
    x = convert(e, x, DType(Scalar::Int32, x.dtype().lanes));
  }
  if (op == ast::UnaryOperator::UAdd)
    return Value::expr(x);
  if (op == ast::UnaryOperator::USub)
    return Value::expr(c.unary(ir::UnaryOp::Neg, x));
  if (x.dtype().isFloat()) {
    e.report(diag::OperandTypes, range, "~", x.dtype().str(), x.dtype().str(), "integers");
    return Value::error();
  }
  return Value::expr(c.unary(ir::UnaryOp::BitNot, x));
}

Value runtimeCompare(Elaborator &e, ast::CompareOperator op, const Value &a, const Value &b,
                     SourceRange range) {
  bool equality = op == ast::CompareOperator::Eq || op == ast::CompareOperator::NotEq;
  if (equality && (!isScalar(a) || !isScalar(b)))
    return Value::boolean(a.identical(b) == (op == ast::CompareOperator::Eq));
  Expr x, y;
  if (!unify(e, equality ? OperatorClass::Equality : OperatorClass::Order, ast::spelling(op), a, b,
             range, range, range, x, y))
    return Value::error();
  static constexpr BinaryOp ops[] = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                     BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
  return Value::expr(e.context.binary(ops[static_cast<unsigned>(op)], x, y));
}

Value power(Elaborator &e, const Value &x, const Value &y, SourceRange xRange, SourceRange yRange,
            SourceRange range) {
  // A small whole exponent is a product, exact for integers.
  if (y.isInt() && y.asInt() >= 0 && y.asInt() <= 16) {
    Expr base = toExpr(e, x, xRange);
    if (!base)
      return Value::error();
    Expr result;
    for (Int n = y.asInt(); n > 0; n >>= 1) {
      if (n & 1)
        result = result ? e.context.binary(BinaryOp::Mul, result, base) : base;
      if (n > 1)
        base = e.context.binary(BinaryOp::Mul, base, base);
    }
    if (!result)
      return Value::expr(literal(e, Value::integer(1), base.dtype(), xRange));
    return Value::expr(result);
  }
  Expr a, b;
  if (!unify(e, OperatorClass::Arithmetic, "**", x, y, xRange, yRange, range, a, b))
    return Value::error();
  DType type = mathType(a.dtype());
  return Value::expr(e.context.math(MathFn::Pow, {convert(e, a, type), convert(e, b, type)}));
}

Value minMax(Elaborator &e, MinMax which, const Value &a, const Value &b, SourceRange aRange,
             SourceRange bRange, SourceRange range) {
  bool isMin = which == MinMax::Min;
  if (a.isNumber() && b.isNumber()) {
    bool less = a.isFloat() || b.isFloat() ? a.asDouble() < b.asDouble() : a.asInt() < b.asInt();
    return less == isMin ? a : b;
  }
  Expr x, y;
  if (!unify(e, OperatorClass::Arithmetic, isMin ? "min" : "max", a, b, aRange, bRange, range, x,
             y))
    return Value::error();
  return Value::expr(e.context.binary(isMin ? BinaryOp::Min : BinaryOp::Max, x, y));
}

Value absolute(Elaborator &e, const Value &x, SourceRange range) {
  if (x.isFloat())
    return Value::real(std::abs(x.asDouble()));
  if (x.isIntegral())
    return Value::integer(x.asInt() < 0 ? -x.asInt() : x.asInt());
  Expr a = toExpr(e, x, range);
  if (!a)
    return Value::error();
  if (a.dtype().isBool())
    a = convert(e, a, DType(Scalar::Int32, a.dtype().lanes));
  return Value::expr(a.dtype().isUInt() ? a : e.context.math(MathFn::Abs, {a}));
}

Value mathCall(Elaborator &e, MathFn fn, const std::vector<CallArg> &args, SourceRange range) {
  std::vector<Expr> operands;
  for (const CallArg &arg : args)
    if (Expr x = toExpr(e, arg.value, arg.range))
      operands.push_back(x);
    else
      return Value::error();
  DType type = operands[0].dtype();
  for (const Expr &x : operands) {
    std::optional<DType> both = commonType(OperatorClass::Arithmetic, type, x.dtype());
    if (!both) {
      e.report(diag::OperandTypes, range, ir::mathName(fn), type.str(), x.dtype().str(),
               operandsWanted(OperatorClass::Arithmetic));
      return Value::error();
    }
    type = *both;
  }
  type = mathType(type);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] = args[i].value.isNumber() ? literal(e, args[i].value, type, args[i].range)
                                           : convert(e, operands[i], type);
    if (!operands[i])
      return Value::error();
  }
  return Value::expr(e.context.math(fn, operands));
}

} // namespace tlc::elaborate
