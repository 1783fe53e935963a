// Numbers for comparing products: the formats of their elements, and random ones of several kinds.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

enum class Element { f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, s32 };

struct Format {
  int bits, exponent, mantissa; ///< exponent 0: an integer
  bool isSigned, hasInfinity;
};
constexpr Format formatOf(Element e) {
  switch (e) {
  case Element::f16:
    return {16, 5, 10, true, true};
  case Element::bf16:
    return {16, 8, 7, true, true};
  case Element::tf32:
  case Element::f32:
    return {32, 8, 23, true, true};
  case Element::f64:
    return {64, 11, 52, true, true};
  case Element::e4m3:
    return {8, 4, 3, true, false};
  case Element::e5m2:
    return {8, 5, 2, true, true};
  case Element::s8:
    return {8, 0, 0, true, false};
  case Element::u8:
    return {8, 0, 0, false, false};
  case Element::s4:
    return {4, 0, 0, true, false};
  case Element::u4:
    return {4, 0, 0, false, false};
  default:
    return {32, 0, 0, true, false};
  }
}

inline double valueOf(Element e, std::uint64_t bits) {
  const Format f = formatOf(e);
  if (!f.exponent) {
    const bool negative = f.isSigned && (bits >> (f.bits - 1) & 1);
    return double(std::int64_t(bits)) - (negative ? std::ldexp(1.0, f.bits) : 0);
  }
  if (e == Element::tf32) // the hardware does not look at the low bits
    bits &= ~std::uint64_t(0x1fff);
  const std::uint64_t mantissa = bits & ((std::uint64_t(1) << f.mantissa) - 1);
  const int top = (1 << f.exponent) - 1, exponent = int(bits >> f.mantissa) & top;
  const double sign = bits >> (f.bits - 1) & 1 ? -1 : 1;
  const bool allOnes = mantissa == (std::uint64_t(1) << f.mantissa) - 1;
  if (exponent == top && (f.hasInfinity || allOnes))
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  const double fraction = std::ldexp(double(mantissa), -f.mantissa) + (exponent ? 1 : 0);
  return sign * std::ldexp(fraction, (exponent ? exponent : 1) - (top >> 1));
}

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 24;
  }
  int below(int n) { return int(next() % unsigned(n)); }
};

enum Numbers { unit, spread, subnormal, special, cancelling, kinds };
constexpr const char *numberNames[] = {"unit", "wide", "subnormal", "special", "cancelling"};

/// Bits of a float: `unit` lies in (-2, 2), `spread` has exponents far apart, `subnormal` is mostly
/// so, `special` has infinities and NaNs among unit numbers.
inline std::uint64_t randomFloat(const Format &f, Numbers kind, Random &random) {
  const int top = (1 << f.exponent) - 1, bias = top >> 1;
  int exponent = bias - random.below(4);
  if (kind == spread)
    exponent = bias + random.below(f.exponent > 5 ? 25 : bias) - (f.exponent > 5 ? 12 : bias / 2);
  if (kind == subnormal)
    exponent = random.below(4) ? 0 : random.below(3);
  std::uint64_t mantissa =
      (random.next() << 24 ^ random.next()) & ((std::uint64_t(1) << f.mantissa) - 1);
  if (kind == special && random.below(24) == 0) {
    exponent = top;
    if (f.hasInfinity && random.below(2))
      mantissa = 0;
    else if (!f.hasInfinity)
      mantissa = (std::uint64_t(1) << f.mantissa) - 1;
  }
  return (std::uint64_t(random.below(2)) << f.exponent | unsigned(exponent)) << f.mantissa |
         mantissa;
}
inline std::uint64_t randomBits(Element e, Numbers kind, Random &random) {
  const Format f = formatOf(e);
  if (f.exponent)
    return randomFloat(f, kind, random);
  const std::uint64_t all = random.next() & ((std::uint64_t(1) << f.bits) - 1);
  const std::uint64_t largest = (std::uint64_t(1) << (f.bits - f.isSigned)) - 1;
  return kind != spread || random.below(2) ? all
         : f.isSigned && random.below(2)   ? largest + 1
                                           : largest;
}
