// Float8 (e4m3: 448 is the largest number, 0x7f and 0xff are no numbers) and bfloat16 for host
// programs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sample {

/// 8 bits as the kernels store them; converts from double to the nearest, of two as near the even
/// one; what is too large becomes the largest.
struct Float8 {
  std::uint8_t bits = 0;

  Float8() = default;
  Float8(double value) : bits(encode(value)) {}
  operator double() const { return decode(bits); }

  static double decode(std::uint8_t bits) {
    int exponent = bits >> 3 & 15, mantissa = bits & 7;
    if (exponent == 15 && mantissa == 7)
      return std::numeric_limits<double>::quiet_NaN();
    double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    return bits & 0x80 ? -magnitude : magnitude;
  }

private:
  static std::uint8_t encode(double value) {
    if (std::isnan(value))
      return 0x7f;
    std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
    value = std::fabs(value);
    // Magnitudes grow with their bits.
    std::uint8_t low = 0, high = 0x7e;
    if (value >= decode(high))
      return sign | high;
    while (high - low > 1) {
      std::uint8_t middle = static_cast<std::uint8_t>((low + high) / 2);
      (decode(middle) <= value ? low : high) = middle;
    }
    double below = value - decode(low), above = decode(high) - value;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
  }
};

/// The upper half of a float; converts from double to the nearest, of two as near the even one.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  Bfloat16(double value) {
    float single = static_cast<float>(value);
    std::uint32_t word;
    std::memcpy(&word, &single, sizeof word);
    bits = std::isnan(value) ? 0x7fc0
                             : static_cast<std::uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  operator double() const {
    std::uint32_t word = std::uint32_t(bits) << 16;
    float single;
    std::memcpy(&single, &word, sizeof single);
    return single;
  }
};

} // namespace sample
