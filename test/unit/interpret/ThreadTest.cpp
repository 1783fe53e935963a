// Thread programs: warp operations, matrix instructions, barriers and pipelines.
#include "Programs.h"

#include "interpret/Compare.h"
#include "target/Atoms.h"

#include <cmath>

using namespace tlc;
using namespace tlc::interpret;

TEST_CASE("exchanges within warps") {
  Kernel kernel(R"(
func @k(%A: global i32[64], %B: global i32[8, 64] out, %V: global u32[4, 64] out) phase(thread) {
  launch grid(1) threads(64) blocks(%b) tid(%t) {
    load %x = %A[%t]
    call @shfl_xor(%x, 5, 32) collective(warp) result(%y0: i32)
    store %B[%t] = %y0
    call @shfl_down(%x, 3, 16) collective(warp) result(%y1: i32)
    store %B[64 + %t] = %y1
    call @shfl_up(%x, 3, 32) collective(warp) result(%y2: i32)
    store %B[128 + %t] = %y2
    call @shfl(%x, 9, 8) collective(warp) result(%y3: i32)
    store %B[192 + %t] = %y3
    call @warp_reduce_sum(%x) collective(warp) result(%y4: i32)
    store %B[256 + %t] = %y4
    call @warp_reduce_max<8>(%x) collective(warp) result(%y5: i32)
    store %B[320 + %t] = %y5
    barrier vote(count) value(%x > 0) result(%y6: i32)
    store %B[384 + %t] = %y6
    barrier warp vote(and) value(%x > -100) result(%y7: bool)
    store %B[448 + %t] = i32(%y7)
    call @ballot(%x > 0) collective(warp) result(%v0: u64)
    store %V[%t] = u32(%v0)
    call @match_any(%x) collective(warp) result(%v1: u32)
    store %V[64 + %t] = %v1
    call @any(%x == 7) collective(warp) result(%v2: i32)
    store %V[128 + %t] = u32(%v2)
    call @find_nth_set(4026531840:u32, 0, 2) result(%v3: i32)
    store %V[192 + %t] = u32(%v3)
  }
}
)");
  Tensor a = random(Scalar::Int32, {64}), b(Scalar::Int32, {8, 64}), v(Scalar::UInt32, {4, 64});
  Result result = kernel.run({a, b, v});
  INFO(result.text());
  REQUIRE(result.ok());
  std::int64_t positive = 0;
  for (int t = 0; t < 64; ++t)
    positive += a.integer(t) > 0;
  for (int t = 0; t < 64; ++t) {
    int w = t / 32 * 32, l = t % 32;
    CHECK(b.integer(t) == a.integer(t ^ 5));
    CHECK(b.integer(64 + t) == a.integer(l % 16 + 3 < 16 ? t + 3 : t));
    CHECK(b.integer(128 + t) == a.integer(l >= 3 ? t - 3 : t));
    CHECK(b.integer(192 + t) == a.integer(t / 8 * 8 + 1));
    std::int64_t sum = 0, most = -100, ballot = 0, same = 0, seven = 0;
    for (int i = 0; i < 32; ++i) {
      std::int64_t x = a.integer(w + i);
      sum += x;
      if (i / 8 == l / 8)
        most = std::max(most, x);
      ballot |= std::int64_t{x > 0} << i;
      same |= std::int64_t{x == a.integer(t)} << i;
      seven |= x == 7;
    }
    CHECK(b.integer(256 + t) == sum);
    CHECK(b.integer(320 + t) == most);
    CHECK(b.integer(384 + t) == positive);
    CHECK(b.integer(448 + t) == 1);
    CHECK(v.integer(t) == ballot);
    CHECK(v.integer(64 + t) == same);
    CHECK(v.integer(128 + t) == seven);
    CHECK(v.integer(192 + t) == 29);
  }
}

TEST_CASE("each matrix instruction multiplies by its layouts") {
  for (const Atom &atom : atomTable(Family::Cuda)) {
    if (atom.kind != AtomKind::Matrix || atom.a.isSubByte())
      continue;
    ir::Context context;
    // Each thread gathers its registers from the matrices by the atom's layouts, written as tables.
    auto name = [](DType d) { return d.scalar == Scalar::TFloat32 ? DType(Scalar::Float32) : d; };
    DType da = name(atom.a), db = name(atom.b), dc = atom.c;
    Tensor a = random(da, {atom.m, atom.k}), b = random(db, {atom.n, atom.k}, 2),
           c = random(dc, {atom.m, atom.n}, 3);
    Tensor ra(da, {32 * atom.aRegisters()}), rb(db, {32 * atom.bRegisters()}),
        rc(dc, {32 * atom.cRegisters()});
    for (Index t = 0; t < 32; ++t) {
      for (Index r = 0; r < atom.aRegisters(); ++r) {
        Point p = atom.aLayout({r, t});
        ra.set(t * atom.aRegisters() + r, a.at(p[0] * atom.k + p[1]));
      }
      for (Index r = 0; r < atom.bRegisters(); ++r) {
        Point p = atom.bLayout({r, t});
        rb.set(t * atom.bRegisters() + r, b.at(p[0] * atom.k + p[1]));
      }
      for (Index r = 0; r < atom.cRegisters(); ++r) {
        Point p = atom.cLayout({r, t});
        rc.set(t * atom.cRegisters() + r, c.at(p[0] * atom.n + p[1]));
      }
    }
    auto text = [&](char letter, DType d, Index n) {
      std::string l(1, letter), count = std::to_string(n);
      return "    alloc %" + l + ": local " + d.str() + "[" + count + "]\n    for %" + l +
             "i in 0 .. " + count + " {\n      load %" + l + "x = %" +
             std::string(1, static_cast<char>(letter - 32)) + "[%t * " + count + " + %" + l +
             "i]\n      store %" + l + "[%" + l + "i] = %" + l + "x\n    }\n";
    };
    std::string ca = std::to_string(32 * atom.aRegisters()),
                cb = std::to_string(32 * atom.bRegisters()),
                cc = std::to_string(32 * atom.cRegisters());
    Kernel kernel(
        "func @k(%A: global " + da.str() + "[" + ca + "], %B: global " + db.str() + "[" + cb +
        "], %C: global " + dc.str() + "[" + cc +
        "]) phase(thread) {\n  launch grid(1) threads(32) blocks(%block) tid(%t) {\n" +
        text('a', da, atom.aRegisters()) + text('b', db, atom.bRegisters()) +
        text('c', dc, atom.cRegisters()) + "    call @" + atom.name +
        "(readwrite %c[0], read %a[0], read %b[0]) collective(warp)\n    for %i in 0 .. " +
        std::to_string(atom.cRegisters()) + " {\n      load %y = %c[%i]\n      store %C[%t * " +
        std::to_string(atom.cRegisters()) + " + %i] = %y\n    }\n  }\n}\n");
    Result result = kernel.run({ra, rb, rc});
    INFO(atom.name << "\n" << result.text());
    REQUIRE(result.ok());
    double worst = 0;
    for (Index t = 0; t < 32; ++t)
      for (Index r = 0; r < atom.cRegisters(); ++r) {
        Point p = atom.cLayout({r, t});
        double sum = c.at(p[0] * atom.n + p[1]);
        for (Index k = 0; k < atom.k; ++k)
          sum += a.at(p[0] * atom.k + k) * b.at(p[1] * atom.k + k);
        worst = std::max(worst, std::fabs(sum - rc.at(t * atom.cRegisters() + r)));
      }
    CHECK(worst < (dc.scalar == Scalar::Float16   ? 1e-2
                   : da.scalar == Scalar::Float32 ? 2e-2
                                                  : 1e-5));
  }
}

TEST_CASE("ldmatrix and stmatrix move by the layouts of target/Atoms.h") {
  for (bool isTransposed : {false, true}) {
    std::string suffix = isTransposed ? "_trans" : "";
    Kernel kernel(R"(
func @k(%A: global f16[1024], %R: global f16[256] out, %B: global f16[1024] out) phase(thread) {
  launch grid(1) threads(32) blocks(%b) tid(%t) {
    alloc %s: shared f16[32, 32]
    alloc %u: shared f16[32, 32]
    alloc %r: local f16[8]
    for %i in 0 .. 32 {
      load %x = %A[%i * 32 + %t]
      store %s[%i * 32 + %t] = %x
      store %u[%i * 32 + %t] = 0.0
    }
    barrier warp
    call @ldmatrix_x4)" +
                  suffix + R"((write %r[0] : 8, read %s[%t * 32 + 8] : 8) collective(warp)
    for %i in 0 .. 8 {
      load %x = %r[%i]
      store %R[%t * 8 + %i] = %x
    }
    call @stmatrix_x4)" +
                  suffix + R"((write %u[%t * 32 + 16] : 8, read %r[0] : 8) collective(warp)
    barrier warp
    for %i in 0 .. 32 {
      load %x = %u[%i * 32 + %t]
      store %B[%i * 32 + %t] = %x
    }
  }
}
)");
    Tensor a = random(Scalar::Float16, {1024}), r(Scalar::Float16, {256}),
           b(Scalar::Float16, {1024});
    Result result = kernel.run({a, r, b});
    INFO(result.text());
    REQUIRE(result.ok());
    Layout one = matrixLayout(16, isTransposed);
    for (Index t = 0; t < 32; ++t)
      for (Index m = 0; m < 4; ++m)
        for (Index e = 0; e < 2; ++e) {
          Point p = one({e, t});
          CHECK(r.real(t * 8 + m * 2 + e) == a.real((m * 8 + p[0]) * 32 + 8 + p[1]));
        }
    for (Index i = 0; i < 32; ++i)
      for (Index j = 0; j < 32; ++j)
        CHECK(b.real(i * 32 + j) == (j >= 16 && j < 24 ? a.real(i * 32 + j - 8) : 0));
  }
}

TEST_CASE("producers and consumers over a ring of barriers, in any order") {
  const std::string text = R"(
func @k(%A: global f32[8, 64], %B: global f32[8, 64] out) {
  launch grid(1) threads(64) blocks(%b) tid(%t) {
    alloc %s: shared f32[64] versions(2)
    alloc %full: barrier u64[2]
    alloc %empty: barrier u64[2]
    if %t == 0 {
      for %i in 0 .. 2 {
        mbar init %full[%i] value(32)
        mbar init %empty[%i] value(32)
      }
    }
    barrier user
    role 0 : +32 {
      for %k in 0 .. 8 {
        mbar wait %empty[%k % 2] value((%k // 2 + 1) % 2)
        copy %A[%k, 0 : +64] -> %s@(%k % 2)
        mbar arrive %full[%k % 2]
      }
    }
    role 32 : +32 {
      for %k in 0 .. 8 {
        mbar wait %full[%k % 2] value(%k // 2 % 2)
        map %i in 64 {
          load %x = %s@(%k % 2)[%i]
          store %B[%k, %i] = %x * 2.0
        }
        mbar arrive %empty[%k % 2]
      }
    }
  }
}
)";
  for (std::uint64_t seed : {0, 1, 2, 3}) {
    Kernel kernel(text);
    Tensor a = random(Scalar::Float32, {8, 64}), b(Scalar::Float32, {8, 64});
    Options options;
    options.seed = seed;
    Result result = kernel.run({a, b}, options);
    INFO(result.text());
    REQUIRE(result.ok());
    for (int i = 0; i < 512; ++i)
      CHECK(b.real(i) == a.real(i) * 2);
  }
  // A consumer that waits for the wrong parity never goes on, or goes on too early.
  std::string wrong = text;
  wrong.replace(wrong.find("(%k // 2 + 1) % 2"), 17, "%k // 2 % 2");
  Kernel kernel(wrong);
  Tensor a = random(Scalar::Float32, {8, 64}), b(Scalar::Float32, {8, 64});
  Result result = kernel.run({a, b});
  CHECK_FALSE(result.ok());
}

TEST_CASE("blocks of a grid meet, threads end early, loops are left") {
  Kernel kernel(R"(
func @k(%A: global i32[4], %B: global i32[4] out, %C: global i32[64] out) {
  launch grid(4) threads(16) cooperative blocks(%b) tid(%t) {
    if %t == 0 {
      store %A[%b] = %b * 10
    }
    barrier grid
    load %x = %A[3 - %b]
    if %t == 0 {
      store %B[%b] = %x
    }
    alloc %n: local i32[] init(0)
    for %i in 0 .. 100 {
      if %i == %t {
        break
      }
      if %i % 2 == 1 {
        continue
      }
      load %old = %n[]
      store %n[] = %old + %i
    }
    if %t == 5 {
      exit
    }
    load %sum = %n[]
    store %C[%b * 16 + %t] = %sum
  }
}
)");
  Tensor a(Scalar::Int32, {4}), b(Scalar::Int32, {4}), c(Scalar::Int32, {64});
  Result result = kernel.run({a, b, c});
  INFO(result.text());
  REQUIRE(result.ok());
  for (int i = 0; i < 4; ++i)
    CHECK(b.integer(i) == (3 - i) * 10);
  for (int t = 0; t < 16; ++t) {
    int sum = 0;
    for (int i = 0; i < t; i += 2)
      sum += i;
    CHECK(c.integer(t) == (t == 5 ? 0 : sum));
  }
}
