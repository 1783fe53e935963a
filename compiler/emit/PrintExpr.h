// Expressions as C++ text, with the parentheses that precedence asks for and no others.
#pragma once

#include "emit/Dialect.h"
#include "emit/Names.h"
#include "emit/Runtime.h"

#include <string>

namespace tlc::emit {

/// How tightly the outermost operator of a text binds; greater is tighter.
enum class Precedence : unsigned char {
  Lowest,
  Select,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Unary,
  Primary
};

class ExprPrinter {
public:
  ExprPrinter(const Dialect &dialect, const ScopedNames &names, RuntimeUse &runtime)
      : dialect(dialect), names(names), runtime(runtime) {}

  /// On the host every integer is an int64_t, so that no size can overflow; calls of templates say
  /// so.
  bool onHost = false;
  /// What is printed is executed several times in a row.
  bool repeated = false;

  /// `e` as a value of its C++ type (a vector as an object); in parentheses if it binds more
  /// loosely than `context`.
  std::string print(ir::Expr e, Precedence context = Precedence::Lowest);
  /// One lane of a vector expression, or a scalar itself.
  std::string printLane(ir::Expr e, unsigned lane, Precedence context = Precedence::Lowest);

  /// tlc::name, noting the use.
  std::string runtimeName(std::string_view name);
  /// The declared types, noting the use of the runtime's.
  std::string typeOf(DType dtype);
  std::string storageOf(DType dtype);
  /// A constant 0 of a dtype, vectors too.
  std::string zero(DType dtype);
  /// `text`, a value of `dtype`, as float; and a float as a value of `dtype`.
  std::string toFloat(DType dtype, const std::string &text);
  std::string fromFloat(DType dtype, const std::string &text, bool saturate);

private:
  struct Text {
    std::string text;
    Precedence precedence = Precedence::Primary;
  };
  static std::string enclose(Text text, Precedence context);

  Text scalar(ir::Expr e, unsigned lane);
  Text whole(ir::Expr e);
  Text packedVector(ir::Expr e);
  Text integer(ir::Expr e);
  Text real(ir::Expr e);
  Text unary(ir::Expr e, unsigned lane);
  Text binary(ir::Expr e, unsigned lane);
  /// a + b, or a - b where b is written with a minus.
  Text sum(ir::Expr e, unsigned lane);
  Text infix(ir::Expr e, unsigned lane, std::string_view symbol, Precedence level, bool grouped);
  Text division(ir::Expr e, unsigned lane);
  /// Of floats: where many follow each other they are made so that they can run beside each other.
  Text quotient(ir::Expr e, unsigned lane);
  Text comparison(ir::Expr e, unsigned lane, std::string_view symbol, Precedence level);
  Text narrowBinary(ir::Expr e, unsigned lane);
  Text extremum(ir::Expr e, unsigned lane, std::string_view name);
  Text select(ir::Expr e, unsigned lane);
  Text cast(ir::Expr e, unsigned lane);
  Text castToInteger(DType to, DType from, const std::string &operand);
  Text bitcast(ir::Expr e, unsigned lane);
  Text math(ir::Expr e, unsigned lane);
  Text varLane(ir::Expr e, unsigned lane);
  /// Wraps a result that C computes as int to a narrower type.
  Text wrapped(DType dtype, Text text);
  /// A constant as an argument of a template, where its type counts.
  std::string argument(ir::Expr e, unsigned lane);
  std::string callRuntime(std::string_view name, ir::Expr e, unsigned lane);

  const Dialect &dialect;
  const ScopedNames &names;
  RuntimeUse &runtime;
};

/// The shortest decimal that reads back as the same float (double): "0.1f", "1e-05f", "INFINITY".
std::string floatLiteral(double value, bool isDouble);
/// A C string literal.
std::string quoted(std::string_view text);

} // namespace tlc::emit
