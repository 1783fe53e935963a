#include "emit/PrintExpr.h"

#include "support/Check.h"

#include <charconv>
#include <cmath>

namespace tlc::emit {

using ir::BinaryOp;
using ir::Expr;
using ir::ExprKind;
using ir::UnaryOp;

std::string floatLiteral(double value, bool isDouble) {
  if (std::isnan(value))
    return isDouble ? "double(NAN)" : "NAN";
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") + (isDouble ? "double(INFINITY)" : "INFINITY");
  char buffer[64];
  auto end = isDouble
                 ? std::to_chars(buffer, buffer + sizeof buffer, value).ptr
                 : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == text.npos)
    text += ".0";
  return isDouble ? text : text + "f";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      // Octal, always three digits: no following character can become part of it.
      out += '\\';
      out += static_cast<char>('0' + (byte >> 6));
      out += static_cast<char>('0' + (byte >> 3 & 7));
      out += static_cast<char>('0' + (byte & 7));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string ExprPrinter::enclose(Text text, Precedence context) {
  return text.precedence < context ? "(" + text.text + ")" : text.text;
}

std::string ExprPrinter::runtimeName(std::string_view name) {
  runtime.use(name);
  return "tlc::" + std::string(name);
}

std::string ExprPrinter::storageOf(DType dtype) {
  if (!isPacked(dtype) && isSmallFloat(dtype))
    runtime.use(smallFloatName(dtype));
  if (isHalf(dtype))
    runtime.use(halfName(dtype));
  return storageType(dialect, dtype);
}

std::string ExprPrinter::typeOf(DType dtype) {
  storageOf(dtype);
  if (isSmallFloat(dtype))
    runtime.use(smallFloatName(dtype));
  if (dtype.isVector())
    runtime.use("vec");
  return valueType(dialect, dtype);
}

std::string ExprPrinter::print(Expr e, Precedence context) {
  return enclose(e.dtype().isVector() ? whole(e) : scalar(e, 0), context);
}

std::string ExprPrinter::printLane(Expr e, unsigned lane, Precedence context) {
  return enclose(scalar(e, lane), context);
}

std::string ExprPrinter::zero(DType dtype) {
  if (dtype.isVector())
    return typeOf(dtype) + "{}";
  if (dtype.isBool())
    return "false";
  if (isHalf(dtype) || isSmallFloat(dtype))
    return typeOf(dtype) + "{}";
  return dtype.isFloat() ? floatLiteral(0, dtype.bits() == 64) : "0";
}

ExprPrinter::Text ExprPrinter::scalar(Expr e, unsigned lane) {
  switch (e.kind()) {
  case ExprKind::Int:
    return integer(e);
  case ExprKind::Float:
    return real(e);
  case ExprKind::Var:
    return varLane(e, lane);
  case ExprKind::Unary:
    return unary(e, lane);
  case ExprKind::Binary:
    return binary(e, lane);
  case ExprKind::Select:
    return select(e, lane);
  case ExprKind::Cast:
    return cast(e, lane);
  case ExprKind::Bitcast:
    return bitcast(e, lane);
  case ExprKind::Math:
    return math(e, lane);
  case ExprKind::Vector:
    return scalar(e->operands[e->operands.size() == 1 ? 0 : lane], 0);
  case ExprKind::Extract:
    return scalar(e->operands[0], static_cast<unsigned>(e->integer));
  }
  TLC_UNREACHABLE("an expression of no kind");
}

ExprPrinter::Text ExprPrinter::whole(Expr e) {
  if (e.isVar())
    return {names.of(e)};
  if (e.kind() == ExprKind::Bitcast)
    return {runtimeName("bit_cast") + "<" + typeOf(e.dtype()) + ">(" + print(e->operands[0]) + ")"};
  if (isPacked(e.dtype()))
    return packedVector(e);
  bool same = e.kind() == ExprKind::Vector;
  for (Expr operand : e->operands)
    same &= operand == e->operands[0];
  if (same)
    return {runtimeName("splat") + "<" + std::to_string(e.dtype().lanes) + ">(" +
            argument(e->operands[0], 0) + ")"};
  std::string lanes;
  for (unsigned i = 0; i < e.dtype().lanes; ++i)
    lanes += (i ? ", " : "") + argument(e, i);
  return {typeOf(e.dtype()) + "{{" + lanes + "}}"};
}

ExprPrinter::Text ExprPrinter::packedVector(Expr e) {
  std::string bytes;
  auto pattern = [&](unsigned lane) {
    std::string text = printLane(e, lane, Precedence::Primary);
    return isSmallFloat(e.dtype()) ? text + ".bits" : text;
  };
  for (unsigned i = 0; i < e.dtype().lanes; i += 2)
    bytes +=
        (i ? ", " : "") + ("uint8_t((" + pattern(i) + " & 15) | (" + pattern(i + 1)) + " << 4))";
  return {typeOf(e.dtype()) + "{{" + bytes + "}}"};
}

ExprPrinter::Text ExprPrinter::varLane(Expr e, unsigned lane) {
  const std::string &name = names.of(e);
  if (!e.dtype().isVector())
    return {name};
  if (!isPacked(e.dtype()))
    return {name + "[" + std::to_string(lane) + "]"};
  std::string element = runtimeName(e.dtype().isInt() ? "get_int4" : "get_uint4") + "(" + name +
                        ".lane, " + std::to_string(lane) + ")";
  return {isSmallFloat(e.dtype()) ? typeOf(e.dtype().element()) + "{" + element + "}" : element};
}

ExprPrinter::Text ExprPrinter::integer(Expr e) {
  std::int64_t value = e->integer;
  if (e.dtype().isBool())
    return {value ? "true" : "false"};
  if (e.dtype().isUInt())
    return {std::to_string(static_cast<std::uint64_t>(value)) + "u"};
  if (value == INT32_MIN)
    return {"INT32_MIN"};
  if (value == INT64_MIN)
    return {"INT64_MIN"};
  return {std::to_string(value), value < 0 ? Precedence::Unary : Precedence::Primary};
}

ExprPrinter::Text ExprPrinter::real(Expr e) {
  DType dtype = e.dtype().element();
  double value = e->real;
  if (isHalf(dtype) || isSmallFloat(dtype)) {
    if (value == 0 && !std::signbit(value))
      return {zero(dtype)};
    return {fromFloat(dtype, floatLiteral(value, false), dtype.bits() <= 8)};
  }
  std::string text = floatLiteral(value, dtype.bits() == 64);
  return {text, text[0] == '-' ? Precedence::Unary : Precedence::Primary};
}

std::string ExprPrinter::argument(Expr e, unsigned lane) {
  Expr element = e;
  if (e.kind() == ExprKind::Vector)
    element = e->operands[e->operands.size() == 1 ? 0 : lane];
  std::string text = printLane(e, lane);
  DType dtype = e.dtype().element();
  bool plain = dtype == DType(Scalar::Int32) || dtype.isBool() || dtype.isFloat();
  if (onHost && dtype.isInteger())
    return text; // the call names its type
  return element.isInt() && !plain ? typeOf(dtype) + "(" + text + ")" : text;
}

std::string ExprPrinter::callRuntime(std::string_view name, Expr e, unsigned lane) {
  DType of = e->operands[0].dtype();
  std::string text = "tlc::" + std::string(name);
  if (isHalf(of) && name != "min" && name != "max" && name != "abs")
    runtime.use(std::string(name) + "_" + std::string(halfName(of)));
  else
    runtime.use(name);
  storageOf(of); // overloads come with their type
  if (onHost && e->operands[0].dtype().isInteger())
    text += "<int64_t>";
  text += "(";
  for (std::size_t i = 0; i < e->operands.size(); ++i)
    text += (i ? ", " : "") + argument(e->operands[i], lane);
  return text + ")";
}

ExprPrinter::Text ExprPrinter::wrapped(DType dtype, Text text) {
  if (onHost || !dtype.isInteger() || dtype.bits() >= 32)
    return text;
  if (isPacked(dtype))
    return {runtimeName(dtype.isInt() ? "wrap_int4" : "wrap_uint4") + "(" + text.text + ")"};
  return {typeOf(dtype.element()) + "(" + text.text + ")"};
}

ExprPrinter::Text ExprPrinter::unary(Expr e, unsigned lane) {
  Expr operand = e->operands[0];
  DType dtype = e.dtype().element();
  switch (e->unaryOp()) {
  case UnaryOp::Neg: {
    if (isHalf(dtype))
      return {callRuntime("neg", e, lane)};
    if (isSmallFloat(dtype))
      return {fromFloat(dtype, "-" + toFloat(dtype, printLane(operand, lane)), true)};
    std::string inner = printLane(operand, lane, Precedence::Unary);
    // --x would decrement.
    return wrapped(dtype, {"-" + (inner[0] == '-' ? "(" + inner + ")" : inner), Precedence::Unary});
  }
  case UnaryOp::Not:
    return {"!" + printLane(operand, lane, Precedence::Unary), Precedence::Unary};
  case UnaryOp::BitNot:
    return wrapped(dtype, {"~" + printLane(operand, lane, Precedence::Unary), Precedence::Unary});
  }
  TLC_UNREACHABLE("a unary operation of no kind");
}

ExprPrinter::Text ExprPrinter::infix(Expr e, unsigned lane, std::string_view symbol,
                                     Precedence level, bool grouped) {
  // `grouped`: compilers warn, and readers stumble, where operators of these kinds mix bare.
  Precedence left = level, right = static_cast<Precedence>(static_cast<int>(level) + 1);
  auto side = [&](Expr operand, Precedence context) {
    if (grouped) {
      bool same = operand.kind() == ExprKind::Binary && operand->op == e->op;
      context = same && context == left ? left : Precedence::Unary;
    }
    return printLane(operand, lane, context);
  };
  return wrapped(e.dtype().element(), {side(e->operands[0], left) + " " + std::string(symbol) +
                                           " " + side(e->operands[1], right),
                                       level});
}

namespace {

/// 8 for -8, x * 8 for x * -8; null for what is not written with a minus.
Expr withoutMinus(Expr e) {
  if (!e.dtype().isInt() || e.dtype().isVector())
    return {};
  ir::Context &context = e.context();
  if (e.isInt())
    return e->integer < 0 && e->integer != minInteger(e.dtype())
               ? context.integer(e.dtype(), -e->integer)
               : Expr();
  if (e.kind() != ExprKind::Binary || e->binaryOp() != BinaryOp::Mul || !e->operands[1].isInt())
    return {};
  Expr factor = withoutMinus(e->operands[1]);
  return factor ? context.binary(BinaryOp::Mul, e->operands[0], factor) : Expr();
}

} // namespace

ExprPrinter::Text ExprPrinter::sum(Expr e, unsigned lane) {
  if (Expr taken = withoutMinus(e->operands[1]))
    return wrapped(e.dtype().element(), {printLane(e->operands[0], lane, Precedence::Sum) + " - " +
                                             printLane(taken, lane, Precedence::Product),
                                         Precedence::Sum});
  return infix(e, lane, "+", Precedence::Sum, false);
}

ExprPrinter::Text ExprPrinter::comparison(Expr e, unsigned lane, std::string_view symbol,
                                          Precedence level) {
  DType dtype = e->operands[0].dtype().element();
  auto side = [&](Expr operand) {
    if (isHalf(dtype) || isSmallFloat(dtype))
      return operand.isFloat() ? floatLiteral(operand->real, false)
                               : toFloat(dtype, printLane(operand, lane));
    return printLane(operand, lane, Precedence::Shift);
  };
  return {side(e->operands[0]) + " " + std::string(symbol) + " " + side(e->operands[1]), level};
}

namespace {

/// log2 of a positive power of two, else none.
std::optional<int> exponentOfTwo(Expr e) {
  auto value = e.constant();
  if (!value || *value <= 0 || (*value & (*value - 1)) != 0)
    return std::nullopt;
  return __builtin_ctzll(static_cast<unsigned long long>(*value));
}

} // namespace

ExprPrinter::Text ExprPrinter::division(Expr e, unsigned lane) {
  bool quotient = e->binaryOp() == BinaryOp::FloorDiv;
  Expr divisor = e->operands[1];
  if (e.dtype().isUInt())
    return infix(e, lane, quotient ? "/" : "%", Precedence::Product, false);
  // The same for negative numbers too, and one instruction.
  if (auto shift = exponentOfTwo(divisor)) {
    std::string left = printLane(e->operands[0], lane, Precedence::Unary);
    if (quotient)
      return {left + " >> " + std::to_string(*shift), Precedence::Shift};
    return {left + " & " + std::to_string((std::int64_t{1} << *shift) - 1), Precedence::BitAnd};
  }
  return wrapped(e.dtype().element(), {callRuntime(quotient ? "floor_div" : "floor_mod", e, lane)});
}

ExprPrinter::Text ExprPrinter::quotient(Expr e, unsigned lane) {
  // By a constant the downstream compiler divides well.
  if (onHost || !repeated || e->operands[1].isConstant() || dialect.divide.empty() ||
      e.dtype().element() != DType(Scalar::Float32))
    return infix(e, lane, "/", Precedence::Product, false);
  return {callRuntime(dialect.divide, e, lane)};
}

ExprPrinter::Text ExprPrinter::extremum(Expr e, unsigned lane, std::string_view name) {
  return {callRuntime(name, e, lane)};
}

ExprPrinter::Text ExprPrinter::narrowBinary(Expr e, unsigned lane) {
  DType dtype = e.dtype().element();
  auto side = [&](Expr operand) { return toFloat(dtype, printLane(operand, lane)); };
  std::string a = side(e->operands[0]), b = side(e->operands[1]);
  switch (e->binaryOp()) {
  case BinaryOp::Min:
  case BinaryOp::Max: {
    std::string_view name = e->binaryOp() == BinaryOp::Min ? "min" : "max";
    return {fromFloat(dtype, runtimeName(name) + "(" + a + ", " + b + ")", true)};
  }
  default:
    return {fromFloat(dtype, a + " " + ir::spelling(e->binaryOp()) + " " + b, true)};
  }
}

ExprPrinter::Text ExprPrinter::binary(Expr e, unsigned lane) {
  DType dtype = e.dtype().element();
  bool half = isHalf(dtype);
  BinaryOp op = e->binaryOp();
  if (isSmallFloat(dtype) && !ir::isComparison(op))
    return narrowBinary(e, lane);
  switch (op) {
  case BinaryOp::Add:
    return half ? Text{callRuntime("add", e, lane)} : sum(e, lane);
  case BinaryOp::Sub:
    return half ? Text{callRuntime("sub", e, lane)} : infix(e, lane, "-", Precedence::Sum, false);
  case BinaryOp::Mul:
    return half ? Text{callRuntime("mul", e, lane)}
                : infix(e, lane, "*", Precedence::Product, false);
  case BinaryOp::Div:
    return half ? Text{callRuntime("div", e, lane)} : quotient(e, lane);
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod:
    return division(e, lane);
  case BinaryOp::TruncDiv:
    return infix(e, lane, "/", Precedence::Product, false);
  case BinaryOp::TruncMod:
    return infix(e, lane, "%", Precedence::Product, false);
  case BinaryOp::Min:
    return extremum(e, lane, "min");
  case BinaryOp::Max:
    return extremum(e, lane, "max");
  case BinaryOp::And:
    return infix(e, lane, "&", Precedence::BitAnd, true);
  case BinaryOp::Or:
    return infix(e, lane, "|", Precedence::BitOr, true);
  case BinaryOp::Xor:
    return infix(e, lane, "^", Precedence::BitXor, true);
  case BinaryOp::Shl:
    return infix(e, lane, "<<", Precedence::Shift, true);
  case BinaryOp::Shr:
    return infix(e, lane, ">>", Precedence::Shift, true);
  case BinaryOp::Eq:
    return comparison(e, lane, "==", Precedence::Equality);
  case BinaryOp::Ne:
    return comparison(e, lane, "!=", Precedence::Equality);
  case BinaryOp::Lt:
    return comparison(e, lane, "<", Precedence::Relation);
  case BinaryOp::Le:
    return comparison(e, lane, "<=", Precedence::Relation);
  case BinaryOp::Gt:
    return comparison(e, lane, ">", Precedence::Relation);
  case BinaryOp::Ge:
    return comparison(e, lane, ">=", Precedence::Relation);
  case BinaryOp::LogicalAnd:
    return infix(e, lane, "&&", Precedence::And, false);
  case BinaryOp::LogicalOr: {
    // && within || draws a warning unless it stands in parentheses.
    Text text = infix(e, lane, "||", Precedence::Or, false);
    auto side = [&](Expr operand) {
      bool conjunction =
          operand.kind() == ExprKind::Binary && operand->binaryOp() == BinaryOp::LogicalAnd;
      return printLane(operand, lane, conjunction ? Precedence::Unary : Precedence::Or);
    };
    text.text = side(e->operands[0]) + " || " + side(e->operands[1]);
    return text;
  }
  }
  TLC_UNREACHABLE("a binary operation of no kind");
}

ExprPrinter::Text ExprPrinter::select(Expr e, unsigned lane) {
  Expr condition = e->operands[0], then = e->operands[1], otherwise = e->operands[2];
  auto constantLane = [&](Expr x) {
    return x.isInt() || (x.kind() == ExprKind::Vector && x->operands[0].isInt());
  };
  // Of two constants the first one says the type; of one, the other arm does.
  std::string first = constantLane(then) && constantLane(otherwise)
                          ? argument(then, lane)
                          : printLane(then, lane, Precedence::Select);
  return {printLane(condition, condition.dtype().isVector() ? lane : 0, Precedence::Or) + " ? " +
              first + " : " + printLane(otherwise, lane, Precedence::Select),
          Precedence::Select};
}

} // namespace tlc::emit
