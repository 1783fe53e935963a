// Conversions between the formats, each rounded once, to nearest even.
#include <cmath>

#include "engine.h"

namespace emu {
float half_to_float(u16 h) {
  const u32 sign = u32(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
  if (exponent == 31)
    return __builtin_bit_cast(float, sign | 0x7f800000 | mantissa << 13);
  if (exponent)
    return __builtin_bit_cast(float, sign | (exponent + 112) << 23 | mantissa << 13);
  const float f = float(mantissa) * 0x1p-24f;
  return sign ? -f : f;
}
u16 float_to_half(float f) {
  const u32 u = __builtin_bit_cast(u32, f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000)
    return 0x7fff;
  if (a >= 0x477ff000)
    return u16(sign | 0x7c00); // rounds to infinity
  if (a < 0x38800000) {        // subnormal or zero: units of 2^-24, to nearest even
    const float scaled = __builtin_bit_cast(float, a) * 0x1p24f;
    return u16(sign | u32(std::nearbyint(scaled)));
  }
  const u32 rounded = a + 0xfff + (a >> 13 & 1);
  return u16(sign | (rounded - 0x38000000) >> 13);
}
u16 float_to_bf16(float f) {
  const u32 u = __builtin_bit_cast(u32, f);
  if ((u & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return u16((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// The float on the way is rounded to odd: its last bit says that something was cut off, and it has
// two bits more than the result needs, so that the second rounding is the only one.
static float rounded_to_odd(double d) {
  float f = float(d);
  if (double(f) == d || !std::isfinite(d) || !std::isfinite(f))
    return f;
  if (std::fabs(double(f)) > std::fabs(d))
    f = std::nextafterf(f, 0.0f);
  return __builtin_bit_cast(float, __builtin_bit_cast(u32, f) | 1u);
}
u16 double_to_half(double d) { return float_to_half(rounded_to_odd(d)); }
u16 double_to_bf16(double d) { return float_to_bf16(rounded_to_odd(d)); }

const float *table(bool bf16) {
  static const std::vector<float> half =
                                      [] {
                                        std::vector<float> t(65536);
                                        for (u32 i = 0; i < 65536; ++i)
                                          t[i] = half_to_float(u16(i));
                                        return t;
                                      }(),
                                  brain = [] {
                                    std::vector<float> t(65536);
                                    for (u32 i = 0; i < 65536; ++i)
                                      t[i] = bf16_to_float(u16(i));
                                    return t;
                                  }();
  return bf16 ? brain.data() : half.data();
}

enum class Specials {
  ieee,
  nan_only,
  fnuz
}; // fnuz: NaN in place of minus zero, one more in the bias
static float small_value(u32 bits, int exponent_bits, int mantissa_bits, Specials specials) {
  if (specials == Specials::fnuz && bits == 0x80)
    return __builtin_nanf("");
  const u32 mantissa = bits & ((1u << mantissa_bits) - 1);
  const u32 exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  const bool top = exponent == (1u << exponent_bits) - 1;
  const float sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1.0f : 1.0f;
  if (specials != Specials::fnuz && top &&
      (specials == Specials::ieee || mantissa == (1u << mantissa_bits) - 1))
    return mantissa ? __builtin_nanf("") : sign * __builtin_inff();
  const int bias = (1 << (exponent_bits - 1)) - (specials == Specials::fnuz ? 0 : 1);
  const float fraction = float(mantissa) / float(1 << mantissa_bits) + (exponent ? 1.0f : 0.0f);
  return sign * __builtin_ldexpf(fraction, int(exponent ? exponent : 1) - bias);
}
const float *small_table(Element e) {
  const auto values = [](auto value) {
    std::vector<float> t(256);
    for (u32 i = 0; i < 256; ++i)
      t[i] = value(i);
    return t;
  };
  static const std::vector<float>
      e4m3 = values([](u32 i) { return small_value(i, 4, 3, Specials::nan_only); }),
      e5m2 = values([](u32 i) { return small_value(i, 5, 2, Specials::ieee); }),
      e4m3fnuz = values([](u32 i) { return small_value(i, 4, 3, Specials::fnuz); }),
      e5m2fnuz = values([](u32 i) { return small_value(i, 5, 2, Specials::fnuz); });
  return e == Element::e4m3       ? e4m3.data()
         : e == Element::e5m2     ? e5m2.data()
         : e == Element::e4m3fnuz ? e4m3fnuz.data()
                                  : e5m2fnuz.data();
}
} // namespace emu
