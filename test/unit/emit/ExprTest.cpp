// Expressions as text: parentheses, literals, types.
#include "emit/PrintExpr.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace tlc;
using namespace tlc::emit;
using namespace tlc::ir;

namespace {

struct Fixture {
  Context c;
  ScopedNames names;
  RuntimeUse runtime{RuntimeLibrary::of(Family::Cuda)};
  ExprPrinter printer{dialectOf(Family::Cuda), names, runtime};

  Expr var(const char *name, Scalar scalar = Scalar::Int32) {
    Expr v = c.var(name, DType(scalar));
    names.declare(v);
    return v;
  }
  std::string text(Expr e) { return printer.print(e); }
};

} // namespace

TEST_CASE_METHOD(Fixture, "parentheses only where precedence needs them") {
  Expr a = var("a"), b = var("b"), d = var("d");
  CHECK(text((a + b) * d) == "(a + b) * d");
  CHECK(text(a * b + d) == "a * b + d");
  CHECK(text(a - (b - d)) == "a - (b - d)");
  CHECK(text(a - b - d) == "a - b - d");
  CHECK(text(c.unary(UnaryOp::Neg, a + b)) == "-(a + b)");
  CHECK(text(c.binary(BinaryOp::TruncDiv, a, b * d)) == "a / (b * d)");
  CHECK(text(logicalOr(logicalAnd(lessThan(a, b), lessThan(b, d)), equals(a, d))) ==
        "(a < b && b < d) || a == d");
  CHECK(text(c.binary(BinaryOp::And, c.binary(BinaryOp::Shr, a, b), d)) == "(a >> b) & d");
  CHECK(text(c.binary(BinaryOp::Xor, a, c.binary(BinaryOp::And, b, d))) == "a ^ (b & d)");
  CHECK(text(c.select(lessThan(a, b), a, c.select(lessThan(b, d), b, d))) ==
        "a < b ? a : b < d ? b : d");
  CHECK(text(c.select(lessThan(a, b), a, b) + d) == "(a < b ? a : b) + d");
}

TEST_CASE_METHOD(Fixture, "what is negative is taken away") {
  Expr a = var("a"), b = var("b"), wide = var("wide", Scalar::Int64), u = var("u", Scalar::UInt32);
  CHECK(text(a + -1) == "a - 1");
  CHECK(text((a + -1) * b) == "(a - 1) * b");
  CHECK(text(a + b * -8) == "a - b * 8");
  CHECK(text(a * -8) == "a * -8");
  CHECK(text(wide - 4) == "wide - 4");
  CHECK(text(a + c.int32(INT32_MIN)) == "a + INT32_MIN");
  CHECK(text(u + c.integer(DType(Scalar::UInt32), 4294967295)) == "u + 4294967295u");
}

TEST_CASE_METHOD(Fixture, "literals have their type and read back exactly") {
  DType f32(Scalar::Float32), f64(Scalar::Float64), f16(Scalar::Float16);
  CHECK(text(c.real(f32, 1)) == "1.0f");
  CHECK(text(c.real(f32, double(0.1f))) == "0.1f");
  CHECK(text(c.real(f64, 0.1)) == "0.1");
  CHECK(text(c.real(f32, 1e30)) == "1e+30f");
  CHECK(text(c.real(f32, -INFINITY)) == "-INFINITY");
  CHECK(text(c.real(f32, NAN)) == "NAN");
  CHECK(text(c.real(f16, 1.5)) == "tlc::to_half(1.5f)");
  CHECK(text(c.real(f16, 0)) == "__half{}");
  CHECK(text(c.int32(INT32_MIN)) == "INT32_MIN");
  CHECK(text(c.integer(DType(Scalar::UInt32), 5)) == "5u");
  CHECK(text(c.boolean(true)) == "true");
  Expr wide = var("wide", Scalar::Int64), flag = var("flag", Scalar::Bool);
  CHECK(text(wide * 5) == "wide * 5");
  CHECK(text(c.select(flag, c.integer(DType(Scalar::Int64), 1),
                      c.integer(DType(Scalar::Int64), 2))) == "flag ? int64_t(1) : 2");
  CHECK(text(minimum(wide, c.integer(DType(Scalar::Int64), 7))) == "tlc::min(wide, int64_t(7))");
}

TEST_CASE_METHOD(Fixture, "division floors, wraps and rounds as the type says") {
  Expr a = var("a"), b = var("b"), u = var("u", Scalar::UInt32), s = var("s", Scalar::Int8);
  CHECK(text(floorDiv(a, 8)) == "a >> 3");
  CHECK(text(floorMod(a, 8)) == "a & 7");
  CHECK(text(floorDiv(a, 3)) == "tlc::floor_div(a, 3)");
  CHECK(text(floorMod(a, b)) == "tlc::floor_mod(a, b)");
  CHECK(text(floorDiv(u, c.integer(DType(Scalar::UInt32), 3))) == "u / 3u");
  CHECK(text(s + s) == "int8_t(s + s)");
  Expr h = var("h", Scalar::Float16), g = var("g", Scalar::Float16);
  CHECK(text(h * g + h) == "tlc::add(tlc::mul(h, g), h)");
  CHECK(text(lessThan(h, g)) == "tlc::to_float(h) < tlc::to_float(g)");
  CHECK(text(c.math(MathFn::Exp, {h})) == "tlc::to_half(expf(tlc::to_float(h)))");
  Expr x = var("x", Scalar::Float32);
  CHECK(text(c.math(MathFn::Exp, {x})) == "expf(x)");
  CHECK(text(c.math(MathFn::FastExp, {x})) == "__expf(x)");
  CHECK(text(c.cast(DType(Scalar::Int32), x)) == "tlc::float_to_int<int>(x)");
  CHECK(text(c.cast(DType(Scalar::Bool), a)) == "a != 0");
  CHECK(text(c.cast(DType(Scalar::Float16), a)) == "tlc::to_half(float(a))");
  CHECK(text(c.cast(DType(Scalar::Float8E4M3FN), x)) == "tlc::to_float8_e4m3(x)");
}

TEST_CASE_METHOD(Fixture, "lanes of vectors are printed one by one") {
  Expr v = c.var("v", DType(Scalar::Float32, 4));
  names.declare(v);
  CHECK(text(c.binary(BinaryOp::Add, v, v)) ==
        "tlc::vec<float, 4>{{v[0] + v[0], v[1] + v[1], v[2] + v[2], v[3] + v[3]}}");
  CHECK(text(c.extract(v, 2)) == "v[2]");
  CHECK(text(c.broadcast(c.real(DType(Scalar::Float32), 2), 4)) == "tlc::splat<4>(2.0f)");
}

TEST_CASE("names are the user's, unique among those in sight") {
  Context c;
  ScopedNames names;
  names.reserve("expf");
  Expr a = c.var("i", DType(Scalar::Int32)), b = c.var("i", DType(Scalar::Int32));
  names.enter();
  CHECK(names.declare(a) == "i");
  names.enter();
  CHECK(names.declare(b) == "i_1");
  names.leave();
  Expr d = c.var("i", DType(Scalar::Int32)), e = c.var("float", DType(Scalar::Int32));
  CHECK(names.declare(d) == "i_1");
  CHECK(names.declare(e) == "float_1");
  CHECK(names.fresh("expf") == "expf_1");
}

TEST_CASE("string literals survive any byte") {
  CHECK(quoted("a\"b\\c\n\t1") == "\"a\\\"b\\\\c\\n\\0111\"");
}
