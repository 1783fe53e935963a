// The part of the expression printer that changes types: casts, bit casts, math functions (which
// compute narrow floats in float).
#include "emit/PrintExpr.h"

#include "support/Check.h"

namespace tlc::emit {

using ir::Expr;
using ir::ExprKind;
using ir::MathFn;

std::string ExprPrinter::toFloat(DType dtype, const std::string &text) {
  if (!isHalf(dtype) && !isSmallFloat(dtype))
    return text;
  if (isHalf(dtype)) {
    runtime.use(halfName(dtype));
  } else {
    std::string name(smallFloatName(dtype));
    runtime.use("to_float_" + name.substr(name.find('_') + 1));
  }
  return "tlc::to_float(" + text + ")";
}

std::string ExprPrinter::fromFloat(DType dtype, const std::string &text, bool saturate) {
  switch (dtype.scalar) {
  case Scalar::Float16:
    return runtimeName(saturate ? "to_half_saturate" : "to_half") + "(" + text + ")";
  case Scalar::BFloat16:
    return runtimeName(saturate ? "to_bfloat16_saturate" : "to_bfloat16") + "(" + text + ")";
  case Scalar::TFloat32:
    return runtimeName("to_tfloat32") + "(" + text + ")";
  case Scalar::Float8E5M2:
    return runtimeName(saturate ? "to_float8_e5m2" : "to_float8_e5m2_infinite") + "(" + text + ")";
  default:
    return runtimeName("to_" + std::string(smallFloatName(dtype))) + "(" + text + ")";
  }
}

ExprPrinter::Text ExprPrinter::castToInteger(DType to, DType from, const std::string &operand) {
  if (to.isBool())
    return {operand + " != " + (from.isFloat() ? floatLiteral(0, from.bits() == 64) : "0"),
            Precedence::Equality};
  if (from.isFloat()) {
    if (isPacked(to))
      return {runtimeName(to.isInt() ? "float_to_int4" : "float_to_uint4") + "(" + operand + ")"};
    return {runtimeName("float_to_int") + "<" + typeOf(to) + ">(" + operand + ")"};
  }
  if (isPacked(to))
    return {runtimeName(to.isInt() ? "wrap_int4" : "wrap_uint4") + "(int(" + operand + "))"};
  return {(onHost ? "int64_t" : typeOf(to)) + "(" + operand + ")"};
}

ExprPrinter::Text ExprPrinter::cast(Expr e, unsigned lane) {
  Expr operand = e->operands[0];
  DType to = e.dtype().element(), from = operand.dtype().element();
  if (from.scalar == Scalar::TFloat32 && to.scalar == Scalar::Float32)
    return scalar(operand, lane);
  bool fromNarrow = isHalf(from) || isSmallFloat(from);
  if (!to.isFloat()) {
    std::string text = printLane(operand, lane, Precedence::Shift);
    return castToInteger(to, from, fromNarrow ? toFloat(from, printLane(operand, lane)) : text);
  }
  std::string value = printLane(operand, lane);
  if (to.scalar == Scalar::Float32)
    return {fromNarrow ? toFloat(from, value) : "float(" + value + ")"};
  if (to.scalar == Scalar::Float64)
    return {"double(" + (fromNarrow ? toFloat(from, value) : value) + ")"};
  // To a narrow float: from float, or from double where the runtime rounds once from there.
  bool fromDouble = from.scalar == Scalar::Float64;
  if (fromNarrow)
    value = toFloat(from, value);
  else if (!from.isFloat() || (fromDouble && (!isHalf(to) || e->saturates())))
    value = "float(" + value + ")";
  else if (fromDouble)
    runtime.use("to_" + std::string(halfName(to)) + "_double");
  return {fromFloat(to, value, e->saturates())};
}

ExprPrinter::Text ExprPrinter::bitcast(Expr e, unsigned lane) {
  std::string text =
      runtimeName("bit_cast") + "<" + typeOf(e.dtype()) + ">(" + argument(e->operands[0], 0) + ")";
  if (e->operands[0].dtype().isVector())
    text = runtimeName("bit_cast") + "<" + typeOf(e.dtype()) + ">(" + print(e->operands[0]) + ")";
  if (e.dtype().isVector())
    text += (isPacked(e.dtype()) ? ".lane[" : "[") + std::to_string(lane) + "]";
  return {text};
}

ExprPrinter::Text ExprPrinter::math(Expr e, unsigned lane) {
  MathFn fn = e->mathFn();
  DType of = e->operands[0].dtype().element(), dtype = e.dtype().element();
  if (fn == MathFn::Abs && (isHalf(of) || of.isInteger()))
    return wrapped(dtype, {callRuntime("abs", e, lane)});
  bool narrow = isHalf(of) || isSmallFloat(of);
  bool bitsOfInteger = fn == MathFn::Popcount || fn == MathFn::Clz || fn == MathFn::Ffs;
  MathSpelling spelling = dialect.math(fn, of.bits() == 64 && of.isFloat());
  std::string text = spelling.ofRuntime ? runtimeName(spelling.name) : std::string(spelling.name);
  text += "(";
  for (std::size_t i = 0; i < e->operands.size(); ++i) {
    Expr operand = e->operands[i];
    std::string value = printLane(operand, lane);
    if (narrow && operand.dtype().isFloat())
      value = operand.isFloat() ? floatLiteral(operand->real, false) : toFloat(of, value);
    if (bitsOfInteger)
      value = (of.bits() == 64   ? "uint64_t("
               : of.bits() == 32 ? "uint32_t("
                                 : "uint32_t(uint" + std::to_string(of.bits()) + "_t(") +
              value + (of.bits() < 32 ? "))" : ")");
    text += (i ? ", " : "") + value;
  }
  text += ")" + std::string(spelling.suffix);
  if (narrow && dtype.isFloat())
    return {fromFloat(dtype, text, dtype.bits() <= 8)};
  return {text};
}

} // namespace tlc::emit
