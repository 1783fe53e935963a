// Each tile op and each kind of buffer against loops written here.
#include "Programs.h"

#include <cmath>

using namespace tlc;
using namespace tlc::interpret;

namespace {

std::string kernel(const std::string &params, const std::string &body,
                   const std::string &more = "") {
  return "func @k(" + params + ")" + more +
         " {\n  launch grid(1) threads(32) blocks(%b) tid(%t) {\n" + body + "  }\n}\n";
}

} // namespace

TEST_CASE("reductions and scans along each axis") {
  struct Case {
    const char *op;
    double start;
    double (*step)(double, double);
  } cases[] = {
      {"sum", 0, [](double a, double b) { return a + b; }},
      {"max", -1e30, [](double a, double b) { return std::max(a, b); }},
      {"min", 1e30, [](double a, double b) { return std::min(a, b); }},
      {"abs_sum", 0, [](double a, double b) { return a + std::fabs(b); }},
      {"abs_max", 0, [](double a, double b) { return std::max(a, std::fabs(b)); }},
  };
  for (const Case &c : cases)
    for (int axis : {0, 1}) {
      std::string op = c.op, n = axis ? "6" : "5",
                  keep = axis ? "[0 : +6, 0 : +1]" : "[0 : +1, 0 : +5]";
      Kernel k(kernel("%A: global f32[6, 5], %B: global f32[" + n + "], %C: global f32[6, 5]",
                      "    alloc %s: shared f32[6, 5]\n    alloc %r: fragment f32[" + n +
                          "]\n    alloc %q: fragment f32[6, 5]\n    copy %A -> %s\n"
                          "    copy %B -> %r\n    reduce " +
                          op + " %s -> %r axis(" + std::to_string(axis) +
                          ") accumulate\n    copy %r -> %B\n"
                          "    fill %q = 0.0\n    reduce " +
                          op + " %s -> %q" + keep + " axis(" + std::to_string(axis) +
                          ")\n    copy %q -> %C\n"));
      Tensor a = random(Scalar::Float32, {6, 5}), b = random(Scalar::Float32, {axis ? 6 : 5}, 2),
             was = b, q(Scalar::Float32, {6, 5});
      Result result = k.run({a, b, q});
      INFO(op << axis << result.text());
      REQUIRE(result.ok());
      for (int i = 0; i < (axis ? 6 : 5); ++i) {
        double sum = c.start;
        for (int j = 0; j < (axis ? 5 : 6); ++j)
          sum = c.step(sum, a.real(axis ? i * 5 + j : j * 5 + i));
        CHECK(q.real(axis ? i * 5 : i) == Approx(sum).epsilon(1e-6));
        CHECK(b.real(i) == Approx(c.step(was.real(i), sum)).epsilon(1e-6));
      }
    }
  for (bool reverse : {false, true}) {
    Kernel k(kernel("%A: global f16[4, 7], %B: global f32[4, 7]",
                    "    alloc %s: shared f16[4, 7]\n    alloc %r: shared f32[4, 7]\n    copy %A "
                    "-> %s\n    scan sum %s -> %r axis(1)" +
                        std::string(reverse ? " reverse" : "") + "\n    copy %r -> %B\n"));
    Tensor a = random(Scalar::Float16, {4, 7}), b(Scalar::Float32, {4, 7});
    REQUIRE(k.run({a, b}).ok());
    for (int i = 0; i < 4; ++i) {
      double sum = 0;
      for (int j = 0; j < 7; ++j) {
        int at = i * 7 + (reverse ? 6 - j : j);
        sum += a.real(at);
        CHECK(b.real(at) == Approx(roundFloat(Scalar::Float16, sum)).margin(1e-6));
      }
    }
  }
  Kernel bits(kernel(
      "%A: global u8[8], %B: global u8[3]",
      "    alloc %s: shared u8[1, 8]\n    alloc %r: fragment u8[1]\n    copy %A -> %s[0, 0 : +8]\n"
      "    reduce and %s -> %r axis(1)\n    copy %r -> %B[0 : +1]\n    reduce or %s -> %r axis(1)\n"
      "    copy %r -> %B[1 : +1]\n    reduce xor %s -> %r axis(1)\n    copy %r -> %B[2 : +1]\n"));
  Tensor a = random(Scalar::UInt8, {8}), b(Scalar::UInt8, {3});
  REQUIRE(bits.run({a, b}).ok());
  std::int64_t all = 255, any = 0, odd = 0;
  for (int i = 0; i < 8; ++i) {
    all &= a.integer(i);
    any |= a.integer(i);
    odd ^= a.integer(i);
  }
  CHECK(b.integer(0) == all);
  CHECK(b.integer(1) == any);
  CHECK(b.integer(2) == odd);
}

TEST_CASE("NaNs in reductions") {
  Kernel k(kernel("%A: global f32[4], %B: global f32[2]",
                  "    alloc %s: shared f32[1, 4]\n    alloc %r: fragment f32[1]\n    copy %A -> "
                  "%s[0, 0 : +4]\n    reduce max %s -> %r axis(1)\n"
                  "    copy %r -> %B[0 : +1]\n    reduce max %s -> %r axis(1) nan_propagate\n    "
                  "copy %r -> %B[1 : +1]\n"));
  Tensor a = random(Scalar::Float32, {4}), b(Scalar::Float32, {2});
  a.set(1, std::nan(""));
  REQUIRE(k.run({a, b}).ok());
  CHECK(b.real(0) == std::max({a.real(0), a.real(2), a.real(3)}));
  CHECK(std::isnan(b.real(1)));
}

TEST_CASE("copies convert, broadcast, drop dims, and stop at the edge") {
  Kernel k(kernel("%A: global f32[%M, 3, 8] strides(%p, %q, 1) safe(7.0), %B: global f16[4, 8], "
                  "%C: global i8[2, 8]",
                  "    alloc %s: shared f16[4, 8]\n    copy %A[%M - 2 : +4, 1, 2 : +8] -> %s\n    "
                  "copy %s -> %B\n"
                  "    alloc %i: shared i8[2, 8]\n    copy %s[1 : +1, 0 : +8] -> %i\n    copy %i "
                  "-> %C[1 : +2, 0 : +8]\n",
                  " dims(%M, %p: i64 stride, %q: i64 stride)"));
  Tensor a = random(Scalar::Float32, {5, 3, 8}), b(Scalar::Float16, {4, 8}),
         c(Scalar::Int8, {2, 8});
  // Rows of 10 elements instead of 8, and slices of 40: the tensor is a part of a larger one.
  a.data.resize(4 * (4 * 40 + 2 * 10 + 8));
  Tensor flat(Scalar::Float32, {4 * 40 + 2 * 10 + 8});
  flat.fillRandom(9);
  for (int i = 0; i < flat.count(); ++i)
    flat.set(i, flat.real(i) * 200);
  a.data = flat.data;
  Result result = interpret::run(*k.function, {a, b, c}, {5, 40, 10});
  INFO(result.text());
  REQUIRE(result.ok());
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      bool inside = 3 + i < 5 && 2 + j < 8;
      double want = inside ? flat.real((3 + i) * 40 + 10 + 2 + j) : 7;
      CHECK(b.real(i * 8 + j) == roundFloat(Scalar::Float16, want));
      if (i == 1) { // row 1 of C only: row 2 does not exist, row 0 is not written
        double half = roundFloat(Scalar::Float16, want);
        CHECK(c.integer(8 + j) == std::max(-128.0, std::min(127.0, std::trunc(half))));
        CHECK(c.integer(j) == 0);
      }
    }
}

TEST_CASE("products with transposed operands, integers, clearing") {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      std::string sa = ta ? "[5, 4]" : "[4, 5]", sb = tb ? "[6, 5]" : "[5, 6]";
      Kernel k(
          kernel("%A: global i8" + sa + ", %B: global i8" + sb + ", %C: global i32[4, 6]",
                 "    alloc %a: shared i8" + sa + "\n    alloc %b_s: shared i8" + sb +
                     "\n    alloc %c: fragment i32[4, 6]\n    copy %A -> %a\n    copy %B -> %b_s\n"
                     "    for %i in 0 .. 3 {\n      gemm %a, %b_s -> %c clear(%i == 0)" +
                     std::string(ta ? " transpose_a" : "") + (tb ? " transpose_b" : "") +
                     "\n    }\n    copy %c -> %C\n"));
      Tensor a = random(Scalar::Int8, {ta ? 5 : 4, ta ? 4 : 5}),
             b = random(Scalar::Int8, {tb ? 6 : 5, tb ? 5 : 6}, 2), c(Scalar::Int32, {4, 6});
      Result result = k.run({a, b, c});
      INFO(result.text());
      REQUIRE(result.ok());
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 6; ++j) {
          std::int64_t sum = 0;
          for (int l = 0; l < 5; ++l)
            sum += a.integer(ta ? l * 4 + i : i * 5 + l) * b.integer(tb ? j * 5 + l : l * 6 + j);
          CHECK(c.integer(i * 6 + j) == 3 * sum);
        }
    }
}

TEST_CASE("atomics count once per thread, per point, per element") {
  Kernel k(kernel("%A: global i32[4], %H: global f16[8]",
                  "    atomic add %A[0] value(1)\n    map %i in 100 {\n      atomic add %A[1] "
                  "value(%i)\n    }\n"
                  "    alloc %f: fragment f16[8]\n    fill %f = 0.5\n    atomic_tile add %H "
                  "from(%f)\n    atomic_tile max %H value(0.25)\n"
                  "    atomic compare_exchange %A[2] value(5) compare(0) result(%old)\n    if %old "
                  "== 0 {\n      atomic add %A[3] value(1)\n    }\n"));
  Tensor a(Scalar::Int32, {4}), h = random(Scalar::Float16, {8}), was = h;
  Result result = k.run({a, h});
  INFO(result.text());
  REQUIRE(result.ok());
  CHECK(a.integer(0) == 32);
  CHECK(a.integer(1) == 4950);
  CHECK(a.integer(2) == 5);
  CHECK(a.integer(3) == 1); // one thread saw 0
  for (int i = 0; i < 8; ++i)
    CHECK(h.real(i) == std::max(0.25, roundFloat(Scalar::Float16, was.real(i) + 0.5)));
}

TEST_CASE("views, versions, reducers, locals of points, packed elements") {
  Kernel k(kernel("%A: global f32[4, 4], %B: global u32[16], %C: global f32[4], %D: global i4[16], "
                  "%E: global i32[16]",
                  R"(
    alloc %s: shared f32[4, 4]
    alloc %bits: shared u32[16] view(%s)
    alloc %tail: shared f32[4] view(%s) offset(12)
    copy %A -> %s
    copy %bits -> %B
    alloc %ring: shared f32[4] versions(3)
    for %k in 0 .. 3 {
      fill %ring@%k = f32(%k)
    }
    copy %tail -> %ring@1
    alloc %sum: fragment f32[4]
    reducer init sum %sum
    map %i in 16 {
      load %x = %s[%i // 4, %i % 4]
      reducer update sum %sum element(%sum[%i % 4]) value(%x)
    }
    map %j in 4 {
      load %x = %ring@1[%j]
      reducer update sum %sum element(%sum[%j]) value(%x * 100.0)
    }
    reducer finalize sum %sum to(%C)
    map %i in 16 {
      alloc %n: local i32[2]
      store %n[0] = %i
      store %n[1] = 0
      for %l in 0 .. %i {
        load %y = %n[1]
        store %n[1] = %y + %l
      }
      load %z = %n[1]
      load %w = %D[15 - %i]
      store %E[%i] = %z * 16 + i32(%w)
    }
)"));
  Tensor a = random(Scalar::Float32, {4, 4}), b(Scalar::UInt32, {16}), c(Scalar::Float32, {4}),
         d = random(Scalar::Int4, {16}), e(Scalar::Int32, {16});
  Result result = k.run({a, b, c, d, e});
  INFO(result.text());
  REQUIRE(result.ok());
  for (int i = 0; i < 16; ++i) {
    CHECK(b.integer(i) ==
          static_cast<std::int64_t>(encodeFloat(Scalar::Float32, a.real(i), false)));
    CHECK(e.integer(i) == i * (i - 1) / 2 * 16 + d.integer(15 - i));
  }
  for (int j = 0; j < 4; ++j) {
    double sum = 100 * a.real(12 + j);
    for (int i = 0; i < 4; ++i)
      sum += a.real(i * 4 + j);
    CHECK(c.real(j) == Approx(sum).epsilon(1e-5));
  }
}

TEST_CASE("untaken sides are not evaluated, predicates keep accesses away") {
  Kernel k(kernel("%A: global i32[32], %B: global i32[32]", R"(
    load %x = %A[%t]
    load %y = %A[1000000 + %t] if(%x > 100) otherwise(-7)
    let %q = select(%x == 0, 0, 100 // %x)
    store %B[%t] = %q + %y if(not (%x == 0) and 100 // %x > 20)
)"));
  Tensor a = random(Scalar::Int32, {32}), b(Scalar::Int32, {32});
  Result result = k.run({a, b});
  INFO(result.text());
  REQUIRE(result.ok());
  for (int t = 0; t < 32; ++t) {
    std::int64_t x = a.integer(t),
                 q = x == 0 ? 0
                            : static_cast<std::int64_t>(std::floor(100.0 / static_cast<double>(x)));
    CHECK(b.integer(t) == (x != 0 && q > 20 ? q - 7 : 0));
  }
}

TEST_CASE("several launches in order, a workspace between them, printing") {
  Kernel k(R"(
func @k(%A: global f32[%n], %B: global f32[%n]) dims(%n) {
  constant multiprocessor_count %sms
  workspace %w: global f32[%n]
  launch @first grid(%n) threads(1) blocks(%b) tid(%t) {
    load %x = %A[%b]
    store %w[%b] = %x + f32(%sms)
  }
  launch @second grid(%n) threads(1) blocks(%b) tid(%t) {
    load %x = %w[%n - 1 - %b]
    store %B[%b] = %x
    if %b == 0 {
      print "first" value(%x)
    }
  }
}
)");
  Tensor a(Scalar::Float32, {3}), b(Scalar::Float32, {3});
  for (int i = 0; i < 3; ++i)
    a.set(i, i);
  Options options;
  options.multiprocessors = 10;
  Result result = k.run({a, b}, options);
  INFO(result.text());
  REQUIRE(result.ok());
  for (int i = 0; i < 3; ++i)
    CHECK(b.real(i) == 12 - i);
  CHECK(result.printed == "first 12.000000\n");
}
