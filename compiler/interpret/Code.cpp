#include "interpret/Code.h"

#include "ir/Fold.h"
#include "support/Check.h"

#include <bit>
#include <cmath>

namespace tlc::interpret {
namespace {

using ir::BinaryOp;
using ir::ExprKind;
using ir::MathFn;
using ir::UnaryOp;

/// Applies f(a, b) in each lane, or once if the result is uniform.
template <class F> void apply(const Op &op, Lanes &lanes, F f) {
  Value *to = lanes.at(op.to);
  const Value *a = lanes.at(op.a);
  const Value *b = op.b.isSet() ? lanes.at(op.b) : a;
  if (op.to.isUniform()) {
    *to = f(*a, *b);
    return;
  }
  std::size_t stepA = !op.a.isUniform(), stepB = op.b.isSet() ? !op.b.isUniform() : stepA;
  lanes.each([&](std::uint32_t i) { to[i] = f(a[i * stepA], b[i * stepB]); });
}

template <class T> T typed(Value v) { return static_cast<T>(v.i); }
template <class T> Value wrapped(T v) { return {.i = static_cast<std::int64_t>(v)}; }

template <BinaryOp O, class T> Value integerOp(Value x, Value y) {
  using U = std::make_unsigned_t<T>;
  T a = typed<T>(x), b = typed<T>(y);
  auto ua = static_cast<U>(a), ub = static_cast<U>(b);
  constexpr bool isSigned = std::is_signed_v<T>;
  if constexpr (O == BinaryOp::Add)
    return wrapped(static_cast<T>(ua + ub));
  else if constexpr (O == BinaryOp::Sub)
    return wrapped(static_cast<T>(ua - ub));
  else if constexpr (O == BinaryOp::Mul)
    return wrapped(
        static_cast<T>(static_cast<std::uint64_t>(x.i) * static_cast<std::uint64_t>(y.i)));
  else if constexpr (O == BinaryOp::FloorDiv || O == BinaryOp::TruncDiv ||
                     O == BinaryOp::FloorMod || O == BinaryOp::TruncMod) {
    constexpr bool isDiv = O == BinaryOp::FloorDiv || O == BinaryOp::TruncDiv;
    constexpr bool floors = O == BinaryOp::FloorDiv || O == BinaryOp::FloorMod;
    if (b == 0) // has no meaning; stands beside a condition that excludes it
      return {.i = 0};
    if constexpr (isSigned) {
      if (b == -1)
        return isDiv ? wrapped(static_cast<T>(U{0} - ua)) : Value{.i = 0};
      T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
      if (floors && r != 0 && (r < 0) != (b < 0))
        return wrapped(isDiv ? static_cast<T>(q - 1) : static_cast<T>(r + b));
      return wrapped(isDiv ? q : r);
    } else {
      return wrapped(isDiv ? static_cast<T>(a / b) : static_cast<T>(a % b));
    }
  } else if constexpr (O == BinaryOp::Min)
    return wrapped(a < b ? a : b);
  else if constexpr (O == BinaryOp::Max)
    return wrapped(a > b ? a : b);
  else if constexpr (O == BinaryOp::And)
    return {.i = x.i & y.i};
  else if constexpr (O == BinaryOp::Or)
    return {.i = x.i | y.i};
  else if constexpr (O == BinaryOp::Xor)
    return {.i = x.i ^ y.i};
  else if constexpr (O == BinaryOp::Shl || O == BinaryOp::Shr) {
    if (y.i < 0 || y.i >= static_cast<std::int64_t>(8 * sizeof(T)))
      return {.i = 0};
    return O == BinaryOp::Shl ? wrapped(static_cast<T>(ua << y.i))
                              : wrapped(static_cast<T>(a >> y.i));
  } else if constexpr (O == BinaryOp::Eq)
    return {.i = a == b};
  else if constexpr (O == BinaryOp::Ne)
    return {.i = a != b};
  else if constexpr (O == BinaryOp::Lt)
    return {.i = a < b};
  else if constexpr (O == BinaryOp::Le)
    return {.i = a <= b};
  else if constexpr (O == BinaryOp::Gt)
    return {.i = a > b};
  else
    return {.i = a >= b};
}

template <BinaryOp O, class T> void integerRow(const Op &op, Lanes &lanes) {
  // A lambda, not the function: it is inlined.
  apply(op, lanes, [](Value a, Value b) { return integerOp<O, T>(a, b); });
}

template <class T> using Row = void (*)(const Op &, Lanes &);

template <class T> void (*integerKernel(BinaryOp op))(const Op &, Lanes &) {
  switch (op) {
#define TLC_ROW(O)                                                                                 \
  case BinaryOp::O:                                                                                \
    return integerRow<BinaryOp::O, T>;
    TLC_ROW(Add)
    TLC_ROW(Sub)
    TLC_ROW(Mul)
    TLC_ROW(FloorDiv)
    TLC_ROW(FloorMod)
    TLC_ROW(TruncDiv)
    TLC_ROW(TruncMod)
    TLC_ROW(Min)
    TLC_ROW(Max)
    TLC_ROW(And)
    TLC_ROW(Or)
    TLC_ROW(Xor)
    TLC_ROW(Shl)
    TLC_ROW(Shr)
    TLC_ROW(Eq)
    TLC_ROW(Ne)
    TLC_ROW(Lt)
    TLC_ROW(Le)
    TLC_ROW(Gt)
    TLC_ROW(Ge)
  case BinaryOp::LogicalAnd:
    return integerRow<BinaryOp::And, T>;
  case BinaryOp::LogicalOr:
    return integerRow<BinaryOp::Or, T>;
#undef TLC_ROW
  default:
    TLC_UNREACHABLE("no integer operation");
  }
}

/// 4-bit integers.
void integerSlow(const Op &op, Lanes &lanes) {
  apply(op, lanes, [&](Value a, Value b) {
    return Value{
        .i = ir::evaluateInteger(static_cast<BinaryOp>(op.detail), op.from, a.i, b.i).value_or(0)};
  });
}

template <BinaryOp O> double arithmetic(double a, double b) {
  if constexpr (O == BinaryOp::Add)
    return a + b;
  else if constexpr (O == BinaryOp::Sub)
    return a - b;
  else if constexpr (O == BinaryOp::Mul)
    return a * b;
  else if constexpr (O == BinaryOp::Div)
    return a / b;
  else if constexpr (O == BinaryOp::Min)
    return std::fmin(a, b);
  else
    return std::fmax(a, b);
}

// A double holds every narrower format and rounds innocuously for + - * /, so one rounding follows.
template <BinaryOp O> void floatRow(const Op &op, Lanes &lanes) {
  if constexpr (O == BinaryOp::Min || O == BinaryOp::Max) // one of the operands: nothing to round
    return apply(op, lanes, [](Value a, Value b) { return Value{.f = arithmetic<O>(a.f, b.f)}; });
  switch (op.from.scalar) {
  case Scalar::Float32:
    return apply(op, lanes, [](Value a, Value b) {
      return Value{.f = static_cast<float>(arithmetic<O>(a.f, b.f))};
    });
  case Scalar::Float64:
    return apply(op, lanes, [](Value a, Value b) { return Value{.f = arithmetic<O>(a.f, b.f)}; });
  default:
    return apply(op, lanes, [type = op.from](Value a, Value b) {
      return Value{.f = roundTo(type, arithmetic<O>(a.f, b.f))};
    });
  }
}

template <class F> void compareRow(const Op &op, Lanes &lanes, F f) {
  apply(op, lanes, [f](Value a, Value b) { return Value{.i = f(a.f, b.f)}; });
}

void (*floatKernel(BinaryOp op))(const Op &, Lanes &) {
  using L = Lanes;
  switch (op) {
  case BinaryOp::Add:
    return floatRow<BinaryOp::Add>;
  case BinaryOp::Sub:
    return floatRow<BinaryOp::Sub>;
  case BinaryOp::Mul:
    return floatRow<BinaryOp::Mul>;
  case BinaryOp::Div:
    return floatRow<BinaryOp::Div>;
  case BinaryOp::Min:
    return floatRow<BinaryOp::Min>;
  case BinaryOp::Max:
    return floatRow<BinaryOp::Max>;
  case BinaryOp::Eq:
    return [](const Op &o, L &l) { compareRow(o, l, [](double a, double b) { return a == b; }); };
  case BinaryOp::Ne:
    return [](const Op &o, L &l) { compareRow(o, l, [](double a, double b) { return a != b; }); };
  case BinaryOp::Lt:
    return [](const Op &o, L &l) { compareRow(o, l, [](double a, double b) { return a < b; }); };
  case BinaryOp::Le:
    return [](const Op &o, L &l) { compareRow(o, l, [](double a, double b) { return a <= b; }); };
  case BinaryOp::Gt:
    return [](const Op &o, L &l) { compareRow(o, l, [](double a, double b) { return a > b; }); };
  case BinaryOp::Ge:
    return [](const Op &o, L &l) { compareRow(o, l, [](double a, double b) { return a >= b; }); };
  default:
    TLC_UNREACHABLE("no operation on floats");
  }
}

void (*binaryKernel(BinaryOp op, DType type))(const Op &, Lanes &) {
  switch (type.scalar) {
  case Scalar::Int8:
    return integerKernel<std::int8_t>(op);
  case Scalar::Int16:
    return integerKernel<std::int16_t>(op);
  case Scalar::Int32:
    return integerKernel<std::int32_t>(op);
  case Scalar::Int64:
    return integerKernel<std::int64_t>(op);
  case Scalar::Bool:
  case Scalar::UInt8:
    return integerKernel<std::uint8_t>(op);
  case Scalar::UInt16:
    return integerKernel<std::uint16_t>(op);
  case Scalar::UInt32:
    return integerKernel<std::uint32_t>(op);
  case Scalar::UInt64:
    return integerKernel<std::uint64_t>(op);
  case Scalar::Int4:
  case Scalar::UInt4:
    return integerSlow;
  default:
    return floatKernel(op);
  }
}

void unaryRow(const Op &op, Lanes &lanes) {
  auto which = static_cast<UnaryOp>(op.detail);
  if (which == UnaryOp::Not)
    return apply(op, lanes, [](Value a, Value) { return Value{.i = !a.i}; });
  if (op.type.isFloat())
    return apply(op, lanes, [](Value a, Value) { return Value{.f = -a.f}; });
  apply(op, lanes, [&](Value a, Value) {
    auto bits = static_cast<std::uint64_t>(a.i);
    return Value{.i = wrapInteger(
                     op.type, static_cast<std::int64_t>(which == UnaryOp::Neg ? 0 - bits : ~bits))};
  });
}

void selectRow(const Op &op, Lanes &lanes) {
  const Value *condition = lanes.at(op.c), *a = lanes.at(op.a), *b = lanes.at(op.b);
  Value *to = lanes.at(op.to);
  if (op.to.isUniform()) {
    *to = condition->i ? *a : *b;
    return;
  }
  std::size_t sc = !op.c.isUniform(), sa = !op.a.isUniform(), sb = !op.b.isUniform();
  lanes.each([&](std::uint32_t i) { to[i] = condition[i * sc].i ? a[i * sa] : b[i * sb]; });
}

void castRow(const Op &op, Lanes &lanes) {
  DType from = op.from, to = op.type;
  if (from.isFloat() && to.scalar == Scalar::Float32 && !op.detail)
    return apply(op, lanes, [](Value a, Value) { return Value{.f = static_cast<float>(a.f)}; });
  bool saturate = op.detail;
  apply(op, lanes, [=](Value a, Value) { return convert(from, to, a, saturate); });
}

void copyRow(const Op &op, Lanes &lanes) {
  apply(op, lanes, [](Value a, Value) { return a; });
}

std::uint64_t patternOf(DType dtype, std::int64_t value) {
  std::uint64_t mask = dtype.bits() >= 64 ? ~0ull : (std::uint64_t{1} << dtype.bits()) - 1;
  return static_cast<std::uint64_t>(value) & mask;
}

Value integerMath(MathFn fn, DType dtype, Value a, Value b) {
  std::uint64_t pattern = patternOf(dtype, a.i);
  switch (fn) {
  case MathFn::Abs:
    return {.i = wrapInteger(dtype, dtype.isInt() && a.i < 0 ? -a.i : a.i)};
  case MathFn::Popcount:
    return {.i = std::popcount(pattern)};
  case MathFn::Clz:
    return {.i = std::countl_zero(pattern) - static_cast<int>(64 - dtype.bits())};
  case MathFn::Ffs:
    return {.i = pattern ? std::countr_zero(pattern) + 1 : 0};
  case MathFn::Pow: {
    std::uint64_t result = 1;
    for (std::int64_t i = 0; i < b.i && i < 64; ++i)
      result *= static_cast<std::uint64_t>(a.i);
    return {.i = wrapInteger(dtype, static_cast<std::int64_t>(result))};
  }
  default: {
    double args[] = {static_cast<double>(a.i), static_cast<double>(b.i), 0};
    return {.i = ir::floatToInteger(dtype, ir::evaluateMath(fn, args))};
  }
  }
}

/// The neighbour of a value of a narrow type, by its bit pattern.
double nextAfter(DType dtype, double a, double b) {
  if (dtype.scalar == Scalar::Float64)
    return std::nextafter(a, b);
  if (dtype.scalar == Scalar::Float32)
    return std::nextafterf(static_cast<float>(a), static_cast<float>(b));
  if (std::isnan(a) || std::isnan(b) || a == b)
    return std::isnan(a) ? a : b;
  std::uint64_t sign = std::uint64_t{1} << (dtype.bits() - 1);
  std::uint64_t bits = encodeFloat(dtype, a, false);
  if ((bits & ~sign) == 0)
    return decodeFloat(dtype, b > 0 ? 1 : sign | 1);
  return decodeFloat(dtype, (b > a) == !(bits & sign) ? bits + 1 : bits - 1);
}

void mathRow(const Op &op, Lanes &lanes) {
  auto fn = static_cast<MathFn>(op.detail);
  DType from = op.from, to = op.type;
  if (op.c.isSet()) { // three operands
    const Value *a = lanes.at(op.a), *b = lanes.at(op.b), *c = lanes.at(op.c);
    Value *out = lanes.at(op.to);
    std::size_t sa = !op.a.isUniform(), sb = !op.b.isUniform(), sc = !op.c.isUniform();
    auto one = [&](std::size_t i) {
      Value x = a[i * sa], y = b[i * sb], z = c[i * sc];
      if (!from.isFloat())
        return Value{.i = wrapInteger(from, x.i * y.i + z.i)};
      double args[] = {x.f, y.f, z.f};
      return Value{.f = from.scalar == Scalar::Float32
                            ? std::fmaf(static_cast<float>(x.f), static_cast<float>(y.f),
                                        static_cast<float>(z.f))
                            : roundTo(to, ir::evaluateMath(fn, args))};
    };
    if (op.to.isUniform())
      *out = one(0);
    else
      lanes.each([&](std::uint32_t i) { out[i] = one(i); });
    return;
  }
  apply(op, lanes, [=](Value a, Value b) -> Value {
    if (!from.isFloat())
      return integerMath(fn, from, a, b);
    if (fn == MathFn::NextAfter)
      return {.f = nextAfter(from, a.f, b.f)};
    double args[] = {a.f, fn == MathFn::Ldexp ? static_cast<double>(b.i) : b.f, 0};
    double result = ir::evaluateMath(fn, args);
    if (!to.isFloat())
      return {.i = result != 0};
    return {.f = roundTo(to, result)};
  });
}

/// A second operand of ldexp may be a float as well.
void ldexpRow(const Op &op, Lanes &lanes) {
  apply(op, lanes, [to = op.type](Value a, Value b) {
    return Value{.f = roundTo(to, std::ldexp(a.f, static_cast<int>(b.f)))};
  });
}

std::uint64_t bitsOf(DType dtype, Value v) {
  if (!dtype.isFloat())
    return dtype.isBool() ? v.i != 0 : patternOf(dtype, v.i);
  return encodeFloat(dtype, v.f, false);
}

Value fromBits(DType dtype, std::uint64_t bits) {
  if (dtype.isFloat())
    return {.f = decodeFloat(dtype, bits)};
  return {.i = dtype.isBool() ? bits != 0 : wrapInteger(dtype, static_cast<std::int64_t>(bits))};
}

void bitcastRow(const Op &op, Lanes &lanes) {
  auto one = [&](std::uint32_t lane) {
    unsigned __int128 bits[4] = {};
    unsigned at = 0;
    for (std::size_t k = 0; k < op.list; ++k, at += op.from.bits())
      bits[at / 128] |= static_cast<unsigned __int128>(bitsOf(op.from, lanes.get(op.refs[k], lane)))
                        << at % 128;
    at = 0;
    for (std::size_t k = op.list; k < op.refs.size(); ++k, at += op.type.bits()) {
      Ref r = op.refs[k];
      Value *to = lanes.at(r) + (r.isUniform() ? 0 : lane);
      unsigned __int128 shifted = bits[at / 128] >> at % 128;
      *to = fromBits(op.type, patternOf(op.type, static_cast<std::int64_t>(
                                                     static_cast<std::uint64_t>(shifted))));
    }
  };
  if (op.refs.back().isUniform())
    one(0);
  else
    lanes.each(one);
}

} // namespace

Ref SlotTable::constant(const ir::Expr &e) {
  SlotTable &table = root();
  auto [at, isNew] = table.known.try_emplace(e.get());
  if (isNew) {
    at->second = newUniform();
    table.constants.push_back(
        {at->second, e.isFloat() ? Value{.f = e->real} : Value{.i = e->integer}});
  }
  return at->second;
}

const Refs &SlotTable::lookUp(ir::Expr var) {
  if (auto found = vars.find(var.get()); found != vars.end())
    return found->second;
  TLC_CHECK(outer, "%" + var->name + " is not bound");
  Refs refs;
  for (Ref outside : outer->lookUp(var)) {
    if (outside.isUniform()) {
      refs.push_back(outside);
      continue;
    }
    // At the bottom, where no statement's temporaries are: see CompileMap.
    Ref inside = newVarying();
    captured.push_back({outside, inside, var->name, var.dtype().element()});
    refs.push_back(inside);
  }
  return vars[var.get()] = std::move(refs);
}

Refs ExprCompiler::compile(ir::Expr e) {
  if (e.isConstant())
    return {slots.constant(e)};
  if (e.isVar())
    return slots.lookUp(e);
  if (auto found = done.find(e.get()); found != done.end())
    return found->second;
  return done[e.get()] = make(e);
}

void ExprCompiler::into(ir::Expr e, const Refs &to) {
  Refs from = compile(e);
  for (std::size_t i = 0; i < to.size(); ++i) {
    Op op;
    op.run = copyRow;
    op.to = to[i];
    op.a = from[i];
    code.push_back(op);
  }
}

Ref ExprCompiler::elementwise(ir::Expr e, const std::vector<Refs> &operands, unsigned lane) {
  Op op;
  op.type = e.dtype().element();
  op.from = e->operands[0].dtype().element();
  op.detail = e->op;
  bool isUniform = true;
  for (const Refs &o : operands)
    isUniform &= o[lane < o.size() ? lane : 0].isUniform();
  auto operand = [&](std::size_t i) { return operands[i][lane < operands[i].size() ? lane : 0]; };
  op.a = operand(0);
  if (operands.size() > 1)
    op.b = operand(1);
  switch (e.kind()) {
  case ExprKind::Unary:
    op.run = unaryRow;
    break;
  case ExprKind::Binary:
    op.run = binaryKernel(e->binaryOp(), op.from);
    break;
  case ExprKind::Select:
    op.run = selectRow;
    op.c = operand(0);
    op.a = operand(1);
    op.b = operand(2);
    break;
  case ExprKind::Cast:
    op.run = castRow;
    break;
  default:
    op.run = mathRow;
    if (operands.size() > 2)
      op.c = operand(2);
    if (e->mathFn() == MathFn::Ldexp && e->operands[1].dtype().isFloat())
      op.run = ldexpRow;
  }
  op.to = isUniform ? slots.newUniform() : slots.newVarying();
  code.push_back(op);
  return op.to;
}

Refs ExprCompiler::bitcast(ir::Expr e, const Refs &operand) {
  Op op;
  op.run = bitcastRow;
  op.type = e.dtype().element();
  op.from = e->operands[0].dtype().element();
  op.list = static_cast<std::uint16_t>(operand.size());
  op.refs = operand;
  TLC_CHECK(operand.size() * op.from.bits() <= 512, "bitcast of more than 64 bytes");
  bool isUniform = true;
  for (Ref r : operand)
    isUniform &= r.isUniform();
  Refs to = slots.newRefs(e.dtype(), isUniform);
  op.refs.insert(op.refs.end(), to.begin(), to.end());
  code.push_back(std::move(op));
  return to;
}

Refs ExprCompiler::make(ir::Expr e) {
  std::vector<Refs> operands;
  for (ir::Expr operand : e->operands)
    operands.push_back(compile(operand));
  switch (e.kind()) {
  case ExprKind::Vector: {
    Refs lanes;
    for (const Refs &o : operands)
      lanes.push_back(o[0]);
    return lanes;
  }
  case ExprKind::Extract:
    return {operands[0][static_cast<std::size_t>(e->integer)]};
  case ExprKind::Bitcast:
    return bitcast(e, operands[0]);
  default: {
    Refs lanes;
    for (unsigned lane = 0; lane < e.dtype().lanes; ++lane)
      lanes.push_back(elementwise(e, operands, lane));
    return lanes;
  }
  }
}

} // namespace tlc::interpret
