// The runtime's conversions against the compiler's own table of types.
#include "../../../runtime/cpu/atomic.h"
#include "../../../runtime/cpu/convert.h"
#include "../../../runtime/cpu/math.h"
#include "../../../runtime/portable/integer.h"
#include "../../../runtime/portable/packed.h"

#include "support/DType.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <random>

using namespace tlc;

namespace {

/// Values where rounding can go wrong: every float of few bits, neighbours, and random patterns.
std::vector<float> trickyFloats() {
  std::vector<float> out = {0.0f,     -0.0f,    INFINITY, -INFINITY, NAN,    65504.0f,
                            65519.9f, 65520.0f, 448.0f,   464.0f,    465.0f, 240.0f,
                            57344.0f, 61440.0f, 1e-45f,   3.4e38f};
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i)
    out.push_back(tlc::bit_cast<float>(static_cast<std::uint32_t>(random())));
  // Halfway between neighbours of float16 and of 8-bit floats, and one digit to either side.
  for (int exponent = -26; exponent <= 17; ++exponent)
    for (std::uint32_t digits = 0; digits < 64; ++digits)
      for (int nudge = -1; nudge <= 1; ++nudge) {
        float x = std::ldexp(1.0f + static_cast<float>(digits) / 64, exponent);
        std::uint32_t bits = tlc::bit_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(nudge);
        out.push_back(tlc::bit_cast<float>(bits));
        out.push_back(-tlc::bit_cast<float>(bits));
      }
  return out;
}

template <typename Encode, typename Decode>
void holdsAgainstTable(Scalar scalar, bool saturate, Encode &&encode, Decode &&decode) {
  DType dtype(scalar);
  INFO(dtype.str());
  unsigned wrong = 0;
  for (float x : trickyFloats()) {
    std::uint64_t want = encodeFloat(dtype, x, saturate), got = encode(x);
    if (std::isnan(x)) // any NaN of the format, or its largest value
      got =
          std::isnan(decodeFloat(dtype, got)) && std::isnan(decodeFloat(dtype, want)) ? want : got;
    if (got != want && ++wrong <= 3)
      UNSCOPED_INFO(x << " gives " << got << " instead of " << want);
  }
  for (std::uint64_t pattern = 0; pattern < (std::uint64_t{1} << dtype.bits()); ++pattern) {
    double want = decodeFloat(dtype, pattern);
    float got = decode(pattern);
    bool same =
        std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
    if (!same && ++wrong <= 3)
      UNSCOPED_INFO(pattern << " is " << got << " instead of " << want);
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("narrow floats convert as the table of types says") {
  holdsAgainstTable(
      Scalar::Float16, false, [](float x) { return to_half(x).bits; },
      [](std::uint64_t p) { return to_float(float16{std::uint16_t(p)}); });
  holdsAgainstTable(
      Scalar::Float16, true, [](float x) { return to_half_saturate(x).bits; },
      [](std::uint64_t p) { return to_float(float16{std::uint16_t(p)}); });
  holdsAgainstTable(
      Scalar::BFloat16, false, [](float x) { return to_bfloat16(x).bits; },
      [](std::uint64_t p) { return to_float(bfloat16{std::uint16_t(p)}); });
  holdsAgainstTable(
      Scalar::Float8E4M3FN, true, [](float x) { return to_float8_e4m3(x).bits; },
      [](std::uint64_t p) { return to_float(float8_e4m3{std::uint8_t(p)}); });
  holdsAgainstTable(
      Scalar::Float8E5M2, true, [](float x) { return to_float8_e5m2(x).bits; },
      [](std::uint64_t p) { return to_float(float8_e5m2{std::uint8_t(p)}); });
  holdsAgainstTable(
      Scalar::Float8E5M2, false, [](float x) { return to_float8_e5m2_infinite(x).bits; },
      [](std::uint64_t p) { return to_float(float8_e5m2{std::uint8_t(p)}); });
  holdsAgainstTable(
      Scalar::Float8E4M3FNUZ, true, [](float x) { return to_float8_e4m3fnuz(x).bits; },
      [](std::uint64_t p) { return to_float(float8_e4m3fnuz{std::uint8_t(p)}); });
  holdsAgainstTable(
      Scalar::Float8E5M2FNUZ, true, [](float x) { return to_float8_e5m2fnuz(x).bits; },
      [](std::uint64_t p) { return to_float(float8_e5m2fnuz{std::uint8_t(p)}); });
  holdsAgainstTable(
      Scalar::Float4E2M1FN, true, [](float x) { return to_float4_e2m1(x).bits; },
      [](std::uint64_t p) { return to_float(float4_e2m1{std::uint8_t(p)}); });
}

TEST_CASE("8-bit floats: what is no number, too large, or ends at the largest") {
  // As the conversion instructions of sm_89 and later write them, of which every bit counts.
  struct Case {
    float x;
    int e4m3, e5m2, e5m2Infinite;
  };
  const float step = std::ldexp(1.0f, -8); // just beyond a tie
  for (const Case &c : {Case{NAN, 0x7f, 0x7f, 0x7f},
                        {-NAN, 0x7f, 0x7f, 0x7f},
                        {INFINITY, 0x7e, 0x7b, 0x7c},
                        {-INFINITY, 0xfe, 0xfb, 0xfc},
                        {3.4e38f, 0x7e, 0x7b, 0x7c},
                        {-3.4e38f, 0xfe, 0xfb, 0xfc},
                        {448.0f, 0x7e, 0x5f, 0x5f},
                        {463.9f, 0x7e, 0x5f, 0x5f},
                        {464.0f, 0x7e, 0x5f, 0x5f},
                        {480.0f, 0x7e, 0x60, 0x60},
                        {-480.0f, 0xfe, 0xe0, 0xe0},
                        {57344.0f, 0x7e, 0x7b, 0x7b},
                        {61439.0f, 0x7e, 0x7b, 0x7b},
                        {61440.0f, 0x7e, 0x7b, 0x7c}, // a tie: the even one is infinite
                        {-61440.0f, 0xfe, 0xfb, 0xfc},
                        {61440.0f + step, 0x7e, 0x7b, 0x7c},
                        {65536.0f, 0x7e, 0x7b, 0x7c},
                        {0.0f, 0x00, 0x00, 0x00},
                        {-0.0f, 0x80, 0x80, 0x80},
                        {std::ldexp(1.0f, -9), 0x01, 0x18, 0x18},  // the smallest e4m3
                        {std::ldexp(1.0f, -10), 0x00, 0x14, 0x14}, // half of it: to even
                        {std::ldexp(1.5f, -10), 0x01, 0x16, 0x16},
                        {std::ldexp(1.0f, -16), 0x00, 0x01, 0x01}, // the smallest e5m2
                        {std::ldexp(1.0f, -17), 0x00, 0x00, 0x00},
                        {std::ldexp(-1.5f, -17), 0x80, 0x81, 0x81}}) {
    INFO(c.x);
    CHECK(int(to_float8_e4m3(c.x).bits) == c.e4m3);
    CHECK(int(to_float8_e5m2(c.x).bits) == c.e5m2);
    CHECK(int(to_float8_e5m2_infinite(c.x).bits) == c.e5m2Infinite);
    CHECK(int(encodeFloat(DType(Scalar::Float8E4M3FN), c.x, true)) == c.e4m3);
    CHECK(int(encodeFloat(DType(Scalar::Float8E5M2), c.x, true)) == c.e5m2);
    CHECK(int(encodeFloat(DType(Scalar::Float8E5M2), c.x, false)) == c.e5m2Infinite);
  }
  for (int pattern : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff})
    CHECK(std::isnan(to_float(float8_e5m2{std::uint8_t(pattern)})));
  for (int pattern : {0x7f, 0xff})
    CHECK(std::isnan(to_float(float8_e4m3{std::uint8_t(pattern)})));
  CHECK(to_float(float8_e5m2{0x7c}) == INFINITY);
  CHECK(to_float(float8_e5m2{0xfc}) == -INFINITY);
}

TEST_CASE("doubles are rounded to narrow floats once") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100000; ++i) {
    // Near a point halfway between two float16, off it by less than a float can say.
    double middle =
        std::ldexp(1.0 + (2.0 * double(random() % 1024) + 1) / 2048, int(random() % 20) - 10);
    double x = middle * (1 + (double(random() % 3) - 1) * 1e-12);
    CHECK(to_half(x).bits == encodeFloat(DType(Scalar::Float16), x, false));
    if (to_half(x).bits != encodeFloat(DType(Scalar::Float16), x, false))
      break;
  }
}

TEST_CASE("floats become integers by truncation and saturation") {
  CHECK(float_to_int<std::int32_t>(2147483648.0f) == INT32_MAX);
  CHECK(float_to_int<std::int32_t>(-2147483904.0f) == INT32_MIN);
  CHECK(float_to_int<std::int32_t>(-2147483648.0f) == INT32_MIN);
  CHECK(float_to_int<std::int32_t>(-1.99f) == -1);
  CHECK(float_to_int<std::int32_t>(NAN) == 0);
  CHECK(float_to_int<std::int64_t>(1e30f) == INT64_MAX);
  CHECK(float_to_int<std::int64_t>(-1e30) == INT64_MIN);
  CHECK(float_to_int<std::uint8_t>(-3.0f) == 0);
  CHECK(float_to_int<std::uint8_t>(-0.5f) == 0);
  CHECK(float_to_int<std::uint8_t>(255.9f) == 255);
  CHECK(float_to_int<std::uint8_t>(256.0f) == 255);
  CHECK(float_to_int<std::uint64_t>(1.8446744073709552e19) == UINT64_MAX);
  CHECK(float_to_int<std::int8_t>(-200.0) == -128);
  CHECK(int(float_to_int4(9.5f)) == 7);
  CHECK(int(float_to_int4(-9.5f)) == -8);
  CHECK(int(float_to_uint4(17.0f)) == 15);
}

TEST_CASE("division and packing of integers") {
  for (int a = -20; a <= 20; ++a)
    for (int b : {-7, -4, -1, 1, 3, 8}) {
      CHECK(floor_div(a, b) == int(std::floor(double(a) / b)));
      CHECK(floor_mod(a, b) == a - b * int(std::floor(double(a) / b)));
    }
  std::uint8_t bytes[4] = {};
  for (int i = 0; i < 8; ++i)
    set_int4(bytes, i, std::int8_t(i - 4));
  for (int i = 0; i < 8; ++i)
    CHECK(int(get_int4(bytes, i)) == i - 4);
  set_uint4(bytes, 3, 13);
  CHECK(int(get_uint4(bytes, 3)) == 13);
  CHECK(int(get_int4(bytes, 2)) == -2);
  CHECK(int(wrap_int4(9)) == -7);
  CHECK(int(wrap_uint4(-1)) == 15);
}

TEST_CASE("exponentials of the CPU stay within two units of the last place") {
  double worst = 0;
  for (double x = -87; x < 88.7; x += 0.0031) {
    double want = std::exp(double(float(x)));
    worst = std::fmax(worst, std::fabs(double(tlc::exp(float(x))) - want) /
                                 std::ldexp(1.0, std::ilogb(want) - 23));
  }
  CHECK(worst < 2);
  CHECK(tlc::exp(-INFINITY) == 0.0f);
  CHECK(tlc::exp(INFINITY) == INFINITY);
  CHECK(std::isnan(tlc::exp(float(NAN))));
  CHECK(tlc::exp2(-149.0f) == std::ldexp(1.0f, -149));
}

TEST_CASE("atomics of the CPU") {
  float f = 1;
  CHECK(atomic_add(&f, 2.0f) == 1.0f);
  CHECK(f == 3.0f);
  CHECK(atomic_max<order::acq_rel>(&f, 2.0f) == 3.0f);
  float16 h = to_half(1.5f);
  atomic_add(&h, to_half(0.25f));
  CHECK(to_float(h) == 1.75f);
  std::int32_t i = 6;
  CHECK(atomic_compare_exchange(&i, 6, 9) == 6);
  CHECK(atomic_compare_exchange(&i, 6, 1) == 9);
  CHECK(atomic_exchange(&i, 3) == 9);
  CHECK(atomic_and(&i, 2) == 3);
  CHECK(atomic_load<order::acquire>(&i) == 2);
}
