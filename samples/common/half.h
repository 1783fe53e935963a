// IEEE half precision for host programs whose compiler has no type for it.
#pragma once

#include <cstdint>
#include <cstring>

namespace sample {

/// 16 bits as the kernels store them; converts from and to double, rounding to nearest even.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  Half(double value) : bits(encode(static_cast<float>(value))) {}
  operator double() const { return decode(bits); }

private:
  static std::uint16_t encode(float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    std::uint32_t sign = word >> 16 & 0x8000, magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000)
      return static_cast<std::uint16_t>(sign | 0x7e00);
    if (magnitude >= 0x477ff000)
      return static_cast<std::uint16_t>(sign | 0x7c00);
    if (magnitude < 0x33000001) // at most half of the smallest half
      return static_cast<std::uint16_t>(sign);
    std::uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7fffff) | 0x800000;
    std::uint32_t shift = exponent > 112 ? 13 : 126 - exponent;
    std::uint32_t half = mantissa >> shift, rest = mantissa & ((1u << shift) - 1),
                  middle = 1u << (shift - 1);
    if (rest > middle || (rest == middle && (half & 1)))
      ++half;
    // Normal numbers: the hidden bit, added to the exponent field, makes the exponent.
    if (exponent > 112)
      half += (exponent - 113) << 10;
    return static_cast<std::uint16_t>(sign | half);
  }
  static double decode(std::uint16_t bits) {
    std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31,
                  mantissa = bits & 0x3ffu;
    if (exponent == 0) {
      double value = mantissa * (1.0 / 16777216.0);
      return sign ? -value : value;
    }
    std::uint32_t word =
        sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

} // namespace sample
