#include "elaborate/runtime/RuntimeTypes.h"

#include <algorithm>
#include <limits>

namespace tlc::elaborate {

namespace {

enum class Rule : unsigned char {
  Refuse,
  Bool,
  Int32, ///< both are bools
  Left,  ///< the right one is a bool or an int, the left one decides
  Right,
  Wider,      ///< of one kind
  WiderOrInt, ///< int with uint: the wider, int if equally wide
  WiderFloat, ///< two floats: the wider; equal width must be equal type
  Float32,    ///< division of integers
  LeftOr32,   ///< bool acts as int32: the wider of it and the left one
  RightOr32,
};

using R = Rule;
// Rows: the left operand's kind, columns: the right one's. Bool, Int, UInt, Float.
constexpr Rule arithmetic[4][4] = {
    {R::Int32, R::RightOr32, R::RightOr32, R::Right},
    {R::LeftOr32, R::Wider, R::WiderOrInt, R::Right},
    {R::LeftOr32, R::WiderOrInt, R::Wider, R::Right},
    {R::Left, R::Left, R::Left, R::WiderFloat},
};
constexpr Rule division[4][4] = {
    {R::Float32, R::Float32, R::Float32, R::Right},
    {R::Float32, R::Float32, R::Float32, R::Right},
    {R::Float32, R::Float32, R::Float32, R::Right},
    {R::Left, R::Left, R::Left, R::WiderFloat},
};
constexpr Rule bitwise[4][4] = {
    {R::Bool, R::RightOr32, R::RightOr32, R::Refuse},
    {R::LeftOr32, R::Wider, R::WiderOrInt, R::Refuse},
    {R::LeftOr32, R::WiderOrInt, R::Wider, R::Refuse},
    {R::Refuse, R::Refuse, R::Refuse, R::Refuse},
};
constexpr Rule shift[4][4] = {
    {R::Int32, R::RightOr32, R::RightOr32, R::Refuse},
    {R::LeftOr32, R::Wider, R::WiderOrInt, R::Refuse},
    {R::LeftOr32, R::WiderOrInt, R::Wider, R::Refuse},
    {R::Refuse, R::Refuse, R::Refuse, R::Refuse},
};
constexpr Rule equality[4][4] = {
    {R::Bool, R::RightOr32, R::RightOr32, R::Right},
    {R::LeftOr32, R::Wider, R::WiderOrInt, R::Right},
    {R::LeftOr32, R::WiderOrInt, R::Wider, R::Right},
    {R::Left, R::Left, R::Left, R::WiderFloat},
};

const Rule (&tableOf(OperatorClass op))[4][4] {
  switch (op) {
  case OperatorClass::Division:
    return division;
  case OperatorClass::Bitwise:
    return bitwise;
  case OperatorClass::Shift:
    return shift;
  case OperatorClass::Equality:
    return equality;
  case OperatorClass::Arithmetic:
  case OperatorClass::Order:
    break;
  }
  return arithmetic;
}

std::optional<DType> widerFloat(DType a, DType b) {
  if (a == b)
    return a;
  if (a.bits() != b.bits())
    return a.bits() > b.bits() ? a : b;
  // A tfloat32 is a float32 whose low bits a tensor core ignores.
  if (a.bits() == 32)
    return DType(Scalar::Float32);
  return std::nullopt;
}

/// int32, or `other` if that is wider.
DType int32Or(DType other) { return other.bits() > 32 ? other : DType(Scalar::Int32); }

std::optional<DType> apply(Rule rule, DType a, DType b) {
  switch (rule) {
  case Rule::Refuse:
    return std::nullopt;
  case Rule::Bool:
    return DType(Scalar::Bool);
  case Rule::Int32:
    return DType(Scalar::Int32);
  case Rule::Left:
    return a;
  case Rule::Right:
    return b;
  case Rule::Wider:
    return a.bits() >= b.bits() ? a : b;
  case Rule::WiderOrInt:
    if (a.bits() != b.bits())
      return a.bits() > b.bits() ? a : b;
    return a.isInt() ? a : b;
  case Rule::WiderFloat:
    return widerFloat(a, b);
  case Rule::Float32:
    return DType(Scalar::Float32);
  case Rule::LeftOr32:
    return int32Or(a);
  case Rule::RightOr32:
    return int32Or(b);
  }
  return std::nullopt;
}

} // namespace

std::optional<DType> commonType(OperatorClass op, DType a, DType b) {
  if (a.lanes != b.lanes && a.lanes != 1 && b.lanes != 1)
    return std::nullopt;
  unsigned lanes = std::max(a.lanes, b.lanes);
  DType x = a.element(), y = b.element();
  std::optional<DType> result = apply(
      tableOf(op)[static_cast<unsigned>(x.category())][static_cast<unsigned>(y.category())], x, y);
  if (!result)
    return std::nullopt;
  return result->withLanes(lanes);
}

std::optional<DType> literalType(__int128 value) {
  if (value >= std::numeric_limits<std::int32_t>::min() &&
      value <= std::numeric_limits<std::int32_t>::max())
    return DType(Scalar::Int32);
  if (value >= std::numeric_limits<std::int64_t>::min() &&
      value <= std::numeric_limits<std::int64_t>::max())
    return DType(Scalar::Int64);
  // The masks and magic numbers of bit tricks.
  if (value > 0 && value <= static_cast<__int128>(std::numeric_limits<std::uint64_t>::max()))
    return DType(Scalar::UInt64);
  return std::nullopt;
}

DType mathType(DType a) { return a.isFloat() ? a : DType(Scalar::Float32, a.lanes); }

const char *operandsWanted(OperatorClass op) {
  switch (op) {
  case OperatorClass::Bitwise:
  case OperatorClass::Shift:
    return "integers";
  default:
    return "numbers of types that go together";
  }
}

} // namespace tlc::elaborate
