// Element types, and the exact values that narrow floats can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tlc {

enum class Scalar : std::uint8_t {
#define TLC_SCALAR(NAME, ...) NAME,
#include "support/DType.def"
};

enum class ScalarCategory : std::uint8_t { Bool, Int, UInt, Float };
enum class FloatEncoding : std::uint8_t { None, Ieee, NanOnly, Fnuz, FiniteOnly, Exponent };

/// A scalar type and a number of lanes. Names are TileLang's: "float16", "int32", "float32x4".
struct DType {
  Scalar scalar = Scalar::Int32;
  std::uint16_t lanes = 1;

  constexpr DType() = default;
  constexpr DType(Scalar scalar, unsigned lanes = 1)
      : scalar(scalar), lanes(static_cast<std::uint16_t>(lanes)) {}

  ScalarCategory category() const;
  FloatEncoding encoding() const;
  /// Bits of one lane as stored in a packed array (bool takes 8, int4 takes 4).
  unsigned bits() const;
  /// Exponent and stored mantissa bits; 0 for non-floats.
  unsigned exponentBits() const;
  unsigned mantissaBits() const;

  bool isBool() const { return category() == ScalarCategory::Bool; }
  bool isInt() const { return category() == ScalarCategory::Int; }
  bool isUInt() const { return category() == ScalarCategory::UInt; }
  /// int or uint, not bool.
  bool isInteger() const { return isInt() || isUInt(); }
  bool isFloat() const { return category() == ScalarCategory::Float; }
  bool isVector() const { return lanes > 1; }
  /// Whether two elements or more share a byte.
  bool isSubByte() const { return bits() < 8; }
  DType element() const { return DType(scalar); }
  DType withLanes(unsigned n) const { return DType(scalar, n); }

  /// "float16", "float32x4".
  std::string str() const;
  /// Parses a canonical name or an alias (half, float, double, int, uint, long, short, e4m3, e5m2,
  /// fp16 …, with `xN`).
  static std::optional<DType> parse(std::string_view name);

  bool operator==(const DType &) const = default;
};

/// Bytes taken by `count` packed elements of one dtype (lanes included), rounded up to whole bytes.
std::int64_t storageBytes(DType dtype, std::int64_t count);

/// Largest and smallest value of an integer type (bool: 0..1); uint64's maximum does not fit and
/// saturates at INT64_MAX.
std::int64_t minInteger(DType dtype);
std::int64_t maxInteger(DType dtype);
/// Wraps `value` to the width of an integer type, two's complement; sign-extends or zero-extends
/// the result.
std::int64_t wrapInteger(DType dtype, std::int64_t value);

/// Largest finite value of a float type.
double maxFinite(DType dtype);
/// The value of a bit pattern (low bits()) of a float type.
double decodeFloat(DType dtype, std::uint64_t bits);
/// The bit pattern nearest to `value`, ties to even. Too large: infinity where the format has one
/// and `saturate` is false, else the largest finite value. NaN: the format's NaN, or the largest
/// finite value where there is none.
std::uint64_t encodeFloat(DType dtype, double value, bool saturate);
/// decodeFloat(encodeFloat(...)): `value` rounded to the type. By default fp8 and narrower
/// saturate, wider overflow to infinity.
double roundFloat(DType dtype, double value);
double roundFloat(DType dtype, double value, bool saturate);

} // namespace tlc
