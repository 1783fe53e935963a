#include "interpret/Numeric.h"

#include "ir/Fold.h"

#include <array>
#include <bit>
#include <memory>

namespace tlc::interpret {
namespace {

/// Rounds to `mantissa` stored bits with smallest normal exponent `smallest`, ties to even, without
/// a largest value.
double roundMantissa(double value, int mantissa, int smallest) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent == 1024)
    return value;
  if (exponent < smallest) { // below normal: a multiple of one quantum
    double magic = std::ldexp(1.5, 52 + smallest - mantissa);
    double rounded = value >= 0 ? (value + magic) - magic : (value - magic) + magic;
    return std::copysign(rounded, value);
  }
  int drop = 52 - mantissa;
  bits += (std::uint64_t{1} << (drop - 1)) - 1 + (bits >> drop & 1);
  bits &= ~((std::uint64_t{1} << drop) - 1);
  return std::bit_cast<double>(bits);
}

double roundHalf(double value) {
  double r = roundMantissa(value, 10, -14);
  return std::fabs(r) > 65504.0 ? std::copysign(HUGE_VAL, r) : r;
}

double roundBrain(double value) {
  double r = roundMantissa(value, 7, -126);
  return std::fabs(r) > 0x1.fep127 ? std::copysign(HUGE_VAL, r) : r;
}

/// Bits of a rounded value in an IEEE format of at most 16 bits.
std::uint16_t pack(double value, int mantissa, int exponentBits) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  auto sign = static_cast<std::uint16_t>(bits >> 63 << (mantissa + exponentBits));
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  std::uint64_t top = ((std::uint64_t{1} << exponentBits) - 1) << mantissa;
  if (exponent == 1024)
    return static_cast<std::uint16_t>(sign | top |
                                      (fraction ? std::uint64_t{1} << (mantissa - 1) : 0));
  if (exponent < 1 - bias) {
    int shift = 52 - mantissa + (1 - bias - exponent);
    return shift > 53
               ? sign
               : static_cast<std::uint16_t>(sign | (fraction | std::uint64_t{1} << 52) >> shift);
  }
  return static_cast<std::uint16_t>(sign | static_cast<std::uint64_t>(exponent + bias) << mantissa |
                                    fraction >> (52 - mantissa));
}

template <class T> Value loadInteger(const std::byte *from, unsigned) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return {.i = static_cast<std::int64_t>(value)};
}
template <class T> void storeInteger(std::byte *to, unsigned, Value value) {
  T narrow = static_cast<T>(value.i);
  std::memcpy(to, &narrow, sizeof narrow);
}
Value loadBool(const std::byte *from, unsigned) { return {.i = *from != std::byte{0}}; }
void storeBool(std::byte *to, unsigned, Value value) { *to = std::byte{value.i != 0}; }
template <bool Signed> Value loadNibble(const std::byte *from, unsigned bit) {
  std::int64_t v = std::to_integer<int>(*from) >> bit & 15;
  return {.i = Signed && v > 7 ? v - 16 : v};
}
void storeNibble(std::byte *to, unsigned bit, Value value) {
  auto v = static_cast<unsigned>(value.i & 15) << bit;
  *to = (*to & ~(std::byte{15} << bit)) | static_cast<std::byte>(v);
}

Value load64(const std::byte *from, unsigned) {
  double value;
  std::memcpy(&value, from, sizeof value);
  return {.f = value};
}
void store64(std::byte *to, unsigned, Value value) { std::memcpy(to, &value.f, sizeof value.f); }
Value load32(const std::byte *from, unsigned) { return {.f = loadFloat32(from)}; }
void store32(std::byte *to, unsigned, Value value) {
  auto narrow = static_cast<float>(value.f);
  std::memcpy(to, &narrow, sizeof narrow);
}
void storeT32(std::byte *to, unsigned, Value value) {
  store32(to, 0, {.f = roundTo(Scalar::TFloat32, value.f)});
}
Value load16(const std::byte *from, unsigned) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return {.f = halfTable()[bits]};
}
void store16(std::byte *to, unsigned, Value value) {
  std::uint16_t bits = pack(roundHalf(value.f), 10, 5);
  std::memcpy(to, &bits, sizeof bits);
}
Value loadB16(const std::byte *from, unsigned) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return {.f = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)};
}
void storeB16(std::byte *to, unsigned, Value value) {
  std::uint16_t bits = pack(roundBrain(value.f), 7, 8);
  std::memcpy(to, &bits, sizeof bits);
}

/// Formats of 8 bits and less; those of 6 may cross a byte.
template <Scalar S> Value loadNarrow(const std::byte *from, unsigned bit) {
  static const auto table = [] {
    std::array<double, 256> values{};
    for (unsigned i = 0; i < 1u << DType(S).bits(); ++i)
      values[i] = decodeFloat(S, i);
    return values;
  }();
  static const unsigned bits = DType(S).bits();
  unsigned word = std::to_integer<unsigned>(from[0]);
  if (bit + bits > 8)
    word |= std::to_integer<unsigned>(from[1]) << 8;
  return {.f = table[word >> bit & ((1u << bits) - 1)]};
}
template <Scalar S> void storeNarrow(std::byte *to, unsigned bit, Value value) {
  static const unsigned bits = DType(S).bits();
  auto pattern = static_cast<unsigned>(encodeFloat(S, value.f, !std::isinf(value.f))) << bit;
  unsigned mask = ((1u << bits) - 1) << bit;
  for (unsigned byte = 0; byte < (bit + bits > 8 ? 2u : 1u); ++byte)
    to[byte] = (to[byte] & static_cast<std::byte>(~(mask >> 8 * byte))) |
               static_cast<std::byte>(pattern >> 8 * byte & 0xff);
}

template <Scalar S> constexpr Codec narrow(unsigned bits) {
  return {loadNarrow<S>, storeNarrow<S>, bits};
}

} // namespace

const float *halfTable() {
  static const auto table = [] {
    auto values = std::make_unique<float[]>(1 << 16);
    for (unsigned i = 0; i < 1u << 16; ++i)
      values[i] = static_cast<float>(decodeFloat(Scalar::Float16, i));
    return values;
  }();
  return table.get();
}

double roundTo(DType dtype, double value) {
  switch (dtype.scalar) {
  case Scalar::Float64:
    return value;
  case Scalar::Float32:
    return static_cast<float>(value);
  case Scalar::Float16:
    return roundHalf(value);
  case Scalar::BFloat16:
    return roundBrain(value);
  default:
    return roundFloat(dtype, value);
  }
}

const Codec &codec(Scalar scalar) {
  static const Codec codecs[] = {
      {loadBool, storeBool, 8},
      {loadNibble<true>, storeNibble, 4},
      {loadInteger<std::int8_t>, storeInteger<std::int8_t>, 8},
      {loadInteger<std::int16_t>, storeInteger<std::int16_t>, 16},
      {loadInteger<std::int32_t>, storeInteger<std::int32_t>, 32},
      {loadInteger<std::int64_t>, storeInteger<std::int64_t>, 64},
      {loadNibble<false>, storeNibble, 4},
      {loadInteger<std::uint8_t>, storeInteger<std::uint8_t>, 8},
      {loadInteger<std::uint16_t>, storeInteger<std::uint16_t>, 16},
      {loadInteger<std::uint32_t>, storeInteger<std::uint32_t>, 32},
      {loadInteger<std::uint64_t>, storeInteger<std::uint64_t>, 64},
      {load64, store64, 64},
      {load32, store32, 32},
      {load32, storeT32, 32},
      {load16, store16, 16},
      {loadB16, storeB16, 16},
      narrow<Scalar::Float8E4M3FN>(8),
      narrow<Scalar::Float8E4M3FNUZ>(8),
      narrow<Scalar::Float8E5M2>(8),
      narrow<Scalar::Float8E5M2FNUZ>(8),
      narrow<Scalar::Float8E8M0FNU>(8),
      narrow<Scalar::Float6E2M3FN>(6),
      narrow<Scalar::Float6E3M2FN>(6),
      narrow<Scalar::Float4E2M1FN>(4),
  };
  return codecs[static_cast<std::size_t>(scalar)];
}

Value convert(DType from, DType to, Value value, bool saturate) {
  if (from.scalar == to.scalar)
    return value;
  if (from.isFloat()) {
    if (!to.isFloat())
      return {.i = ir::floatToInteger(to.element(), value.f)};
    return {.f = saturate         ? roundFloat(to.element(), value.f, true)
                 : to.bits() <= 8 ? roundFloat(to.element(), value.f, false)
                                  : roundTo(to.element(), value.f)};
  }
  if (to.isBool())
    return {.i = value.i != 0};
  if (!to.isFloat())
    return {.i = wrapInteger(to.element(), value.i)};
  bool isBig = from.scalar == Scalar::UInt64;
  if (to.scalar == Scalar::Float32)
    return {.f = isBig ? static_cast<float>(static_cast<std::uint64_t>(value.i))
                       : static_cast<float>(value.i)};
  double exact = isBig ? static_cast<double>(static_cast<std::uint64_t>(value.i))
                       : static_cast<double>(value.i);
  return {.f = roundFloat(to.element(), exact, saturate)};
}

Value convert(DType from, DType to, Value value) {
  return convert(from, to, value, to.isFloat() && to.bits() <= 8);
}

bool sameValue(DType dtype, Value a, Value b) {
  if (!dtype.isFloat())
    return a.i == b.i;
  return std::bit_cast<std::uint64_t>(a.f) == std::bit_cast<std::uint64_t>(b.f) ||
         (std::isnan(a.f) && std::isnan(b.f));
}

} // namespace tlc::interpret
