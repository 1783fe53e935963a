#include "Elaborated.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::test;

namespace {

std::string intOf(std::string_view expr) { return stored("I[0]", expr); }
std::string floatOf(std::string_view expr) { return stored("V[0]", expr); }

bool contains(const std::string &text, std::string_view part) {
  INFO(text);
  bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

} // namespace

TEST_CASE("literals take their type where they meet run-time values") {
  CHECK(intOf("1") == "1");
  CHECK(intOf("True") == "1");
  CHECK(floatOf("1") == "1.0");
  CHECK(floatOf("0.5") == "0.5");
  CHECK(intOf("n + 1") == "%n + 1");
  CHECK(intOf("n + 4294967296") == "i32(i64(%n) + 4294967296)");
  CHECK(floatOf("n * 0.5") == "f32(%n) * 0.5");
  CHECK(floatOf("A[0, 0] * 0.5") == "f32(%A_value) * 0.5");
  CHECK(stored("A[0, 0]", "A[0, 1] - B[0, 2]") == "%A_value - %B_value");
  CHECK(stored("A[0, 0]", "A[0, 1] + 1") == "%A_value + 1.0");
}

TEST_CASE("a literal must fit the type it gets") {
  contains(stored("I[0]", "2147483648"), "TL2001 2147483648 does not fit int32");
  CHECK(stored("I[0]", "-2147483648") == "-2147483648");
  contains(intOf("T.cast(300, T.uint8)"), "44");
  contains(intOf("n + 170141183460469231731687303715884105727"), "TL2001");
}

TEST_CASE("operators") {
  CHECK(intOf("n // 3") == "%n // 3");
  CHECK(intOf("n % 3") == "%n % 3");
  CHECK(floatOf("n / m") == "f32(%n) / f32(%m)");
  CHECK(intOf("-n") == "-%n");
  CHECK(intOf("~n") == "~%n");
  CHECK(intOf("n & m | 7 ^ n") == "%n & %m | %n ^ 7");
  CHECK(intOf("n << 3 >> m") == "%n << 3 >> %m");
  CHECK(floatOf("x // 2") == "floor(%x / 2.0)");
  CHECK(floatOf("x % 2") == "%x - floor(%x / 2.0) * 2.0");
  CHECK(intOf("n ** 2") == "%n * %n");
  CHECK(floatOf("x ** 0.5") == "pow(%x, 0.5)");
  CHECK(intOf("(n > 0) + (m > 0)") == "i32(%n > 0) + i32(%m > 0)");
  CHECK(intOf("(n > 0) & (m > 0)") == "i32(%n > 0 and %m > 0)");
  CHECK(intOf("n == m") == "i32(%n == %m)");
  CHECK(intOf("not n") == "i32(%n == 0)");
}

TEST_CASE("operators refuse what has no meaning") {
  contains(intOf("n // 0"), "TL1012");
  contains(intOf("n << 32"), "TL2006 shift by 32 of a int32; it can be shifted by 0 to 31 bits");
  contains(intOf("x & 1"), "TL2000");
  contains(floatOf("A[0, 0] + T.cast(1, T.bfloat16)"),
           "TL2000 `+` cannot combine float16 with bfloat16");
  contains(floatOf("A @ B"), "TL2012");
  contains(intOf("None"), "TL2002 expected a run-time scalar, found None");
  contains(intOf("'x'"), "TL2002");
  contains(floatOf("round(x, 2)"), "TL2009 `round`");
  contains(floatOf("A + 1"), "TL2003 `A` is used as a scalar");
  contains(floatOf("A[0:2, 0] + 1"), "TL1010");
}

TEST_CASE("names of run-time values are evaluated where they are bound") {
  Elaborated e(kernelWith("v = I[0]\nI[0] = 5\nI[1] = v"));
  std::string ir = e.ir();
  std::size_t load = ir.find("load %v = %I[0]"), store = ir.find("store %I[0] = 5");
  INFO(ir);
  REQUIRE(load != std::string::npos);
  REQUIRE(store != std::string::npos);
  CHECK(load < store);
  contains(ir, "store %I[1] = %v");
}

TEST_CASE("an alloc_var is a place; its name reads and stores") {
  Elaborated e(kernelWith("c = T.alloc_var(T.int32, init=3)\n"
                          "before = c\n"
                          "c = c + 1\n"
                          "c += n\n"
                          "I[0] = before\n"
                          "I[1] = c\n"
                          "I[2] = c[0]"));
  std::string ir = e.ir();
  contains(ir, "alloc %c: local i32[] init(3)");
  contains(ir, "load %before = %c[]");
  contains(ir, "store %I[0] = %before");
  CHECK(e.count<ir::StoreStmt>() == 5);
}

TEST_CASE("a float that gets a name is computed once") {
  Elaborated e(kernelWith("y = T.exp(x)\nV[0] = y\nV[1] = y + 1"));
  contains(e.ir(), "let %y = exp(%x)");
  Elaborated index(kernelWith("i = bx * 4 + n\nI[i] = 1"));
  CHECK(index.count<ir::LetStmt>() == 0);
}

TEST_CASE("sides that are not taken are not read") {
  std::string ir = Elaborated(kernelWith("V[0] = T.if_then_else(n > 0, V[n], 0.0)")).ir();
  contains(ir, "load %V_value = %V[%n] if(%n > 0)");
  contains(ir, "select(%n > 0, %V_value, 0.0)");

  ir = Elaborated(kernelWith("V[0] = V[n] if n > 0 else V[m]")).ir();
  contains(ir, "%V[%n] if(%n > 0)");
  contains(ir, "%V[%m] if(%n <= 0)");

  ir = Elaborated(kernelWith("if n > 0 and I[n] > 3:\n    V[0] = 1")).ir();
  contains(ir, "%I[%n] if(%n > 0)");
  contains(ir, "if %n > 0 and %I_value > 3 {");

  ir = Elaborated(kernelWith("if n > 0 or I[n] > 3:\n    V[0] = 1")).ir();
  contains(ir, "%I[%n] if(%n <= 0)");

  ir = Elaborated(kernelWith("if 0 <= n < I[n]:\n    V[0] = 1")).ir();
  contains(ir, "%I[%n] if(0 <= %n)");

  // Nested conditions add up; T.Select reads both sides.
  ir = Elaborated(kernelWith("V[0] = (V[n] if m > 1 else 2.0) if n > 0 else 3.0")).ir();
  contains(ir, "if(%n > 0 and %m > 1)");
  ir = Elaborated(kernelWith("V[0] = T.Select(n > 0, V[n], 0.0)")).ir();
  contains(ir, "load %V_value = %V[%n]\n");
}

TEST_CASE("compile-time conditions choose at compile time") {
  std::string ir = Elaborated(kernelWith("V[0] = T.if_then_else(True, 1.0, V[n])\n"
                                         "V[1] = 2.0 if 1 > 2 else 3.0\n"
                                         "if 4 > 3 and n > 0:\n    V[2] = 1"))
                       .ir();
  contains(ir, "store %V[0] = 1.0");
  contains(ir, "store %V[1] = 3.0");
  contains(ir, "if %n > 0 {");
}

TEST_CASE("actions cannot hide in lazy sides") {
  Elaborated e(kernelWith("V[0] = T.if_then_else(n > 0, T.shfl_xor(x, 1), 0.0)"));
  CHECK(e.codes() == "TL2008");
  contains(e.messages(), "`T.shfl_xor` cannot stand inside T.if_then_else");
  Elaborated choice(kernelWith("T.copy(A if n > 0 else B, C)"));
  CHECK(choice.codes() == "TL2007");
}

TEST_CASE("mathematics") {
  CHECK(floatOf("T.exp(x)") == "exp(%x)");
  CHECK(floatOf("T.exp(n)") == "exp(f32(%n))");
  CHECK(stored("A[0, 0]", "T.exp2(A[0, 1])") == "exp2(%A_value)");
  CHECK(floatOf("T.max(x, 0)") == "max(%x, 0.0)");
  CHECK(floatOf("T.min(x, n)") == "min(%x, f32(%n))");
  CHECK(intOf("T.max(n, m)") == "max(%n, %m)");
  CHECK(floatOf("T.clamp(x, 0, 1)") == "max(min(%x, 1.0), 0.0)");
  CHECK(intOf("T.ceildiv(n, 4)") == "(%n + 3) // 4");
  CHECK(intOf("T.ceildiv(9, 4)") == "3");
  CHECK(intOf("T.cdiv(8, 4)") == "2");
  CHECK(intOf("T.align_up(n, 16)") == "(%n + 15) // 16 * 16");
  CHECK(intOf("T.floordiv(n, 4) + T.floormod(n, 4)") == "%n // 4 + %n % 4");
  CHECK(intOf("T.truncdiv(n, m) + T.truncmod(n, m)") == "truncdiv(%n, %m) + truncmod(%n, %m)");
  CHECK(intOf("T.truncdiv(-7, 2)") == "-3");
  CHECK(intOf("T.truncmod(-7, 2)") == "-1");
  CHECK(intOf("-7 // 2") == "-4");
  CHECK(intOf("-7 % 2") == "1");
  CHECK(floatOf("T.abs(x)") == "abs(%x)");
  CHECK(floatOf("T.infinity(T.float32)") == "inf");
  CHECK(floatOf("-T.infinity('float32')") == "-inf");
  contains(floatOf("T.infinity(T.int32)"), "TL2011");
  CHECK(stored("A[0, 0]", "T.max_value(T.float16)") == "65504.0:f16");
  CHECK(intOf("T.min_value(T.int32)") == "-2147483648");
  CHECK(floatOf("T.fast_rcp(T.__exp(x))") == "fast_rcp(fast_exp(%x))");
  CHECK(floatOf("T.round(x)") == "round_even(%x)");
  CHECK(floatOf("T.round(x, 'ties-away-from-zero')") == "round_away(%x)");
  CHECK(intOf("T.popcount(n) + T.clz(n) + T.__ffs(n)") == "popcount(%n) + clz(%n) + ffs(%n)");
  CHECK(intOf("T.isnan(x)") == "i32(isnan(%x))");
  CHECK(floatOf("T.pow(x, 3)") == "%x * (%x * %x)");
  CHECK(floatOf("T.ieee_fmaf(x, x, x)") == "fma(%x, %x, %x)");
  CHECK(floatOf("T.ieee_add(x, 1.0)") == "%x + 1.0");
  contains(floatOf("T.ieee_add(x, 1.0, 'rz')"), "TL1501");
  CHECK(intOf("T.shift_left(n, 2) | T.bitwise_and(n, m)") == "%n << 2 | %n & %m");
  CHECK(intOf("T.bitwise_or(n, T.bitwise_xor(m, T.bitwise_not(n)))") == "%n | %m ^ ~%n");
}

TEST_CASE("each function of the library") {
  struct Row {
    const char *call, *result;
  };
  const Row rows[] = {
      {"T.exp10(x)", "exp10(%x)"},
      {"T.log(x)", "log(%x)"},
      {"T.log2(x)", "log2(%x)"},
      {"T.log10(x)", "log10(%x)"},
      {"T.log1p(x)", "log1p(%x)"},
      {"T.sqrt(x)", "sqrt(%x)"},
      {"T.rsqrt(x)", "rsqrt(%x)"},
      {"T.sin(x)", "sin(%x)"},
      {"T.cos(x)", "cos(%x)"},
      {"T.tan(x)", "tan(%x)"},
      {"T.asin(x)", "asin(%x)"},
      {"T.acos(x)", "acos(%x)"},
      {"T.atan(x)", "atan(%x)"},
      {"T.sinh(x)", "sinh(%x)"},
      {"T.cosh(x)", "cosh(%x)"},
      {"T.tanh(x)", "tanh(%x)"},
      {"T.asinh(x)", "asinh(%x)"},
      {"T.acosh(x)", "acosh(%x)"},
      {"T.atanh(x)", "atanh(%x)"},
      {"T.erf(x)", "erf(%x)"},
      {"T.sigmoid(x)", "sigmoid(%x)"},
      {"T.floor(x)", "floor(%x)"},
      {"T.ceil(x)", "ceil(%x)"},
      {"T.trunc(x)", "trunc(%x)"},
      {"T.nearbyint(x)", "round_even(%x)"},
      {"T.__exp10(x)", "fast_exp10(%x)"},
      {"T.__log(x)", "fast_log(%x)"},
      {"T.__log2(x)", "fast_log2(%x)"},
      {"T.__log10(x)", "fast_log10(%x)"},
      {"T.__sin(x)", "fast_sin(%x)"},
      {"T.__cos(x)", "fast_cos(%x)"},
      {"T.__tan(x)", "fast_tan(%x)"},
      {"T.atan2(x, 2.0)", "atan2(%x, 2.0)"},
      {"T.hypot(x, 2.0)", "hypot(%x, 2.0)"},
      {"T.fmod(x, 2.0)", "fmod(%x, 2.0)"},
      {"T.copysign(x, -1.0)", "copysign(%x, -1.0)"},
      {"T.nextafter(x, 2.0)", "nextafter(%x, 2.0)"},
      {"T.ldexp(x, 2)", "ldexp(%x, 2.0)"},
      {"T.ieee_sub(x, 2.0)", "%x - 2.0"},
      {"T.ieee_mul(x, 2.5)", "%x * 2.5"},
      {"T.ieee_fdiv(x, 3.0)", "%x / 3.0"},
      {"T.ieee_frcp(x)", "1.0 / %x"},
      {"T.ieee_fsqrt(x)", "sqrt(%x)"},
      {"T.ieee_frsqrt(x)", "rsqrt(%x)"},
      {"T.add2(x, 2.5)", "%x + 2.5"},
      {"T.sub2(x, 2.5)", "%x - 2.5"},
      {"T.mul2(x, 2.5)", "%x * 2.5"},
      {"T.max2(x, 2.5)", "max(%x, 2.5)"},
      {"T.min2(x, 2.5)", "min(%x, 2.5)"},
      {"T.abs2(x)", "abs(%x)"},
  };
  for (const Row &row : rows) {
    INFO(row.call);
    CHECK(floatOf(row.call) == row.result);
  }
  CHECK(intOf("T.shift_right(n, 2)") == "%n >> 2");
  CHECK(intOf("T.isinf(x)") == "i32(isinf(%x))");
  CHECK(intOf("T.isfinite(x)") == "i32(isfinite(%x))");
}

TEST_CASE("conversions") {
  CHECK(stored("A[0, 0]", "T.cast(x, T.float16)") == "f16(%x)");
  CHECK(stored("A[0, 0]", "x.astype('float16')") == "f16(%x)");
  CHECK(stored("A[0, 0]", "T.float16(x)") == "f16(%x)");
  CHECK(intOf("T.Cast('int32', x)") == "i32(%x)");
  CHECK(intOf("int(x)") == "i32(%x)");
  CHECK(floatOf("float(n)") == "f32(%n)");
  CHECK(intOf("T.reinterpret(x, T.int32)") == "bitcast.i32(%x)");
  CHECK(intOf("T.reinterpret(T.int32, x)") == "bitcast.i32(%x)");
  contains(intOf("T.extract_lane(T.reinterpret(x, T.int16), 1)"), "bitcast.i16x2(%x)");
  contains(intOf("T.reinterpret(x, T.int64)"), "TL2010");
  contains(stored("A[0, 0]", "T.cast(T.cast(x, T.float8_e4m3fn), T.float16)"), "f8e4m3");
}

TEST_CASE("vectors") {
  CHECK(floatOf("T.extract_lane(T.Broadcast(x, 4), 2)") == "%x");
  contains(Elaborated(kernelWith("V[T.Ramp(0, 1, 4)] = T.Broadcast(x, 4)")).ir(), "store %V[0] = ");
  contains(Elaborated(kernelWith("V[T.Ramp(0, 2, 4)] = T.Broadcast(x, 4)")).messages(), "TL2026");
  contains(floatOf("T.extract_lane(T.vectorcombine(T.Broadcast(x, 2), T.Broadcast(1.0, 2)), 3)"),
           "1.0");
  contains(floatOf("T.extract_lane(T.vectorhigh(T.Ramp(n, 1, 4)), 0)"), "%n + 2");
  contains(floatOf("T.vectorlow(T.Ramp(n, 1, 2))"), "f32(%n)");
  contains(floatOf("T.extract_lane(T.Shuffle([T.Ramp(n, 1, 4)], [3, 0]), 0)"), "%n + 3");
  contains(floatOf("T.extract_lane(T.Ramp(n, 1, 4), 4)"), "TL1510");
  contains(floatOf("T.extract_lane(T.fma2(T.Broadcast(x, 2), T.Broadcast(x, 2), "
                   "T.Broadcast(x, 2)), 0)"),
           "fma");
}

TEST_CASE("coordinates of a linear index") {
  Elaborated e(kernelWith("i, j = T.index_to_coordinates(n, (4, 8))\nI[0] = i\nI[1] = j"));
  contains(e.ir(), "store %I[0] = %n // 8 % 4");
  contains(e.ir(), "store %I[1] = %n % 8");
}
