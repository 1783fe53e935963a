#include "support/DType.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace tlc {
namespace {

struct ScalarRow {
  const char *name;
  unsigned bits;
  ScalarCategory category;
  unsigned exponentBits, mantissaBits;
  FloatEncoding encoding;
};

constexpr ScalarRow rows[] = {
#define TLC_SCALAR(NAME, TEXT, BITS, CATEGORY, EXPONENT, MANTISSA, ENCODING)                       \
  {TEXT, BITS, ScalarCategory::CATEGORY, EXPONENT, MANTISSA, FloatEncoding::ENCODING},
#include "support/DType.def"
};

const ScalarRow &row(Scalar scalar) { return rows[static_cast<unsigned>(scalar)]; }

constexpr std::pair<std::string_view, Scalar> aliases[] = {
    {"half", Scalar::Float16},
    {"fp16", Scalar::Float16},
    {"f16", Scalar::Float16},
    {"bf16", Scalar::BFloat16},
    {"float", Scalar::Float32},
    {"fp32", Scalar::Float32},
    {"f32", Scalar::Float32},
    {"tf32", Scalar::TFloat32},
    {"double", Scalar::Float64},
    {"fp64", Scalar::Float64},
    {"f64", Scalar::Float64},
    {"short", Scalar::Int16},
    {"int", Scalar::Int32},
    {"long", Scalar::Int64},
    {"uint", Scalar::UInt32},
    {"i8", Scalar::Int8},
    {"i16", Scalar::Int16},
    {"i32", Scalar::Int32},
    {"i64", Scalar::Int64},
    {"u8", Scalar::UInt8},
    {"u16", Scalar::UInt16},
    {"u32", Scalar::UInt32},
    {"u64", Scalar::UInt64},
    {"boolean", Scalar::Bool},
    {"float8_e4m3", Scalar::Float8E4M3FN},
    {"e4m3", Scalar::Float8E4M3FN},
    {"e4m3_float8", Scalar::Float8E4M3FN},
    {"float8_e4m3fn", Scalar::Float8E4M3FN},
    {"e5m2_float8", Scalar::Float8E5M2},
    {"e5m2", Scalar::Float8E5M2},
    {"float4_e2m1", Scalar::Float4E2M1FN},
    {"e8m0", Scalar::Float8E8M0FNU},
};

std::optional<Scalar> parseScalar(std::string_view name) {
  for (unsigned i = 0; i < std::size(rows); ++i)
    if (rows[i].name == name)
      return static_cast<Scalar>(i);
  for (const auto &[alias, scalar] : aliases)
    if (alias == name)
      return scalar;
  return std::nullopt;
}

int bias(DType dtype) {
  int exponent = static_cast<int>(dtype.exponentBits());
  if (dtype.encoding() == FloatEncoding::Fnuz)
    return 1 << (exponent - 1);
  return (1 << (exponent - 1)) - 1;
}

/// Bit pattern of the largest finite magnitude, without the sign.
std::uint64_t largestPattern(DType dtype) {
  unsigned e = dtype.exponentBits(), m = dtype.mantissaBits();
  std::uint64_t all = (std::uint64_t{1} << (e + m)) - 1;
  switch (dtype.encoding()) {
  case FloatEncoding::Ieee:
    return all - (std::uint64_t{1} << m);
  case FloatEncoding::NanOnly:
    return all - 1;
  case FloatEncoding::Exponent:
    return all - 1;
  default:
    return all;
  }
}

std::uint64_t nanPattern(DType dtype) {
  unsigned e = dtype.exponentBits(), m = dtype.mantissaBits();
  std::uint64_t all = (std::uint64_t{1} << (e + m)) - 1;
  switch (dtype.encoding()) {
  case FloatEncoding::Ieee: // quiet NaN; of 8 bits all ones, as GPUs write it
    if (dtype.bits() <= 8)
      return all;
    return (all - ((std::uint64_t{1} << m) - 1)) | (std::uint64_t{1} << (m - 1));
  case FloatEncoding::Fnuz:
    return std::uint64_t{1} << (e + m);
  case FloatEncoding::NanOnly:
  case FloatEncoding::Exponent:
    return all;
  default:
    return largestPattern(dtype);
  }
}

/// The bits of tfloat32 sit at the top of a 32-bit word; every other type is stored as is.
unsigned patternShift(DType dtype) { return dtype.scalar == Scalar::TFloat32 ? 13 : 0; }

std::uint64_t encodeMagnitude(DType dtype, double magnitude, bool saturate) {
  unsigned m = dtype.mantissaBits();
  std::uint64_t largest = largestPattern(dtype);
  bool hasInfinity = dtype.encoding() == FloatEncoding::Ieee;
  if (std::isinf(magnitude))
    return hasInfinity && !saturate ? largest + 1 : largest;
  if (magnitude == 0)
    return 0;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [0.5, 1)
  int minimum = 1 - bias(dtype);
  int scale = std::max(exponent - 1, minimum) - static_cast<int>(m);
  double scaled = std::ldexp(magnitude, -scale); // exact: only the exponent changes
  double rounded = std::nearbyint(scaled);       // the default rounding mode is ties to even
  auto units = static_cast<std::uint64_t>(rounded);
  // In units of the last place of binade `scale`: the pattern is the count of representable values
  // below.
  std::uint64_t pattern =
      units + (static_cast<std::uint64_t>(scale + static_cast<int>(m) - minimum) << m);
  if (pattern <= largest)
    return pattern;
  return hasInfinity && !saturate ? largest + 1 : largest;
}

} // namespace

ScalarCategory DType::category() const { return row(scalar).category; }
FloatEncoding DType::encoding() const { return row(scalar).encoding; }
unsigned DType::bits() const { return row(scalar).bits; }
unsigned DType::exponentBits() const { return row(scalar).exponentBits; }
unsigned DType::mantissaBits() const { return row(scalar).mantissaBits; }

std::string DType::str() const {
  std::string text = row(scalar).name;
  if (lanes > 1)
    text += "x" + std::to_string(lanes);
  return text;
}

std::optional<DType> DType::parse(std::string_view name) {
  if (auto scalar = parseScalar(name))
    return DType(*scalar);
  std::size_t x = name.rfind('x');
  if (x == std::string_view::npos || x + 1 == name.size())
    return std::nullopt;
  unsigned lanes = 0;
  for (char c : name.substr(x + 1)) {
    if (c < '0' || c > '9' || lanes > 64)
      return std::nullopt;
    lanes = lanes * 10 + static_cast<unsigned>(c - '0');
  }
  auto scalar = parseScalar(name.substr(0, x));
  if (!scalar || lanes < 1 || lanes > 64)
    return std::nullopt;
  return DType(*scalar, lanes);
}

std::int64_t storageBytes(DType dtype, std::int64_t count) {
  __int128 bits = static_cast<__int128>(dtype.bits()) * dtype.lanes * count;
  return static_cast<std::int64_t>((bits + 7) / 8);
}

std::int64_t minInteger(DType dtype) {
  if (!dtype.isInt())
    return 0;
  return dtype.bits() == 64 ? std::numeric_limits<std::int64_t>::min()
                            : -(std::int64_t{1} << (dtype.bits() - 1));
}

std::int64_t maxInteger(DType dtype) {
  if (dtype.isBool())
    return 1;
  unsigned bits = dtype.bits() - (dtype.isInt() ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
}

std::int64_t wrapInteger(DType dtype, std::int64_t value) {
  if (dtype.isBool())
    return value != 0;
  unsigned bits = dtype.bits();
  if (bits >= 64)
    return value;
  auto raw = static_cast<std::uint64_t>(value) << (64 - bits);
  return dtype.isInt() ? static_cast<std::int64_t>(raw) >> (64 - bits)
                       : static_cast<std::int64_t>(raw >> (64 - bits));
}

double maxFinite(DType dtype) {
  return decodeFloat(dtype, largestPattern(dtype) << patternShift(dtype));
}

double decodeFloat(DType dtype, std::uint64_t bits) {
  if (dtype.scalar == Scalar::Float64)
    return std::bit_cast<double>(bits);
  if (dtype.scalar == Scalar::Float32)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  bits >>= patternShift(dtype);
  unsigned e = dtype.exponentBits(), m = dtype.mantissaBits();
  std::uint64_t magnitude = bits & ((std::uint64_t{1} << (e + m)) - 1);
  if (dtype.encoding() == FloatEncoding::Exponent)
    return magnitude == 255 ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, static_cast<int>(magnitude) - 127);
  bool negative = (bits >> (e + m)) & 1;
  if (dtype.encoding() == FloatEncoding::Fnuz && negative && magnitude == 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > largestPattern(dtype)) {
    bool infinity =
        dtype.encoding() == FloatEncoding::Ieee && magnitude == largestPattern(dtype) + 1;
    double special = infinity ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
    return negative ? -special : special;
  }
  int exponent = static_cast<int>(magnitude >> m);
  double fraction = static_cast<double>(magnitude & ((std::uint64_t{1} << m) - 1));
  double value = exponent == 0 ? std::ldexp(fraction, 1 - bias(dtype) - static_cast<int>(m))
                               : std::ldexp(fraction + std::ldexp(1.0, static_cast<int>(m)),
                                            exponent - bias(dtype) - static_cast<int>(m));
  return negative ? -value : value;
}

std::uint64_t encodeFloat(DType dtype, double value, bool saturate) {
  if (dtype.scalar == Scalar::Float64)
    return std::bit_cast<std::uint64_t>(value);
  if (dtype.scalar == Scalar::Float32 && !saturate)
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  unsigned e = dtype.exponentBits(), m = dtype.mantissaBits();
  if (std::isnan(value))
    return nanPattern(dtype) << patternShift(dtype);
  if (dtype.encoding() ==
      FloatEncoding::Exponent) { // powers of two only, no zero: nearest exponent
    if (!(value > 0))
      return 0;
    int exponent = static_cast<int>(std::lround(std::log2(value))) + 127;
    return static_cast<std::uint64_t>(std::min(std::max(exponent, 0), 254));
  }
  std::uint64_t magnitude = encodeMagnitude(dtype, std::fabs(value), saturate);
  bool negative = std::signbit(value);
  if (dtype.encoding() == FloatEncoding::Fnuz && magnitude == 0)
    negative = false;
  std::uint64_t sign = negative ? std::uint64_t{1} << (e + m) : 0;
  return (magnitude | sign) << patternShift(dtype);
}

double roundFloat(DType dtype, double value, bool saturate) {
  return decodeFloat(dtype, encodeFloat(dtype, value, saturate));
}

double roundFloat(DType dtype, double value) { return roundFloat(dtype, value, dtype.bits() <= 8); }

} // namespace tlc
