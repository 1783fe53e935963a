#include "LowerExecute.h"

#include <limits>

using namespace tlc;
using namespace tlc::test;

namespace {

const DType f16(Scalar::Float16), f32(Scalar::Float32), bf16(Scalar::BFloat16), s8(Scalar::Int8),
    s32(Scalar::Int32);

/// One tile of C = A B, with operands in any orientation.
struct TileGemm : Kernel {
  TileGemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t threads, DType type,
           DType sum, bool tA = false, bool tB = false)
      : Kernel(threads) {
    std::vector<std::int64_t> a =
        tA ? std::vector<std::int64_t>{k, m} : std::vector<std::int64_t>{m, k};
    std::vector<std::int64_t> b =
        tB ? std::vector<std::int64_t>{n, k} : std::vector<std::int64_t>{k, n};
    Buffer &A = global("A", type, a), &B = global("B", type, b),
           &C = global("C", sum, {m, n}, true);
    Buffer &As = alloc("A_s", type, Scope::Shared, a), &Bs = alloc("B_s", type, Scope::Shared, b);
    Buffer &Cl = alloc("C_l", sum, Scope::Fragment, {m, n});
    fill(Cl, 0);
    copy(whole(A), whole(As));
    copy(whole(B), whole(Bs));
    for (int i = 0; i < 2; ++i) {
      auto &g = gemm(As, Bs, Cl);
      g.transposeA = tA;
      g.transposeB = tB;
    }
    copy(whole(Cl), whole(C));
  }
};

} // namespace

TEST_CASE("gemm: tensor cores, all orientations") {
  for (bool tA : {false, true})
    for (bool tB : {false, true}) {
      CAPTURE(tA, tB);
      TileGemm k(64, 32, 32, 64, f16, f32, tA, tB);
      checkLowering(k, "sm80");
      CHECK(all<CallStmt>(*k.function).size() > 2);
    }
  TileGemm b(32, 32, 32, 32, bf16, f32);
  checkLowering(b, "sm80");
  TileGemm h(32, 32, 32, 32, f16, f16);
  checkLowering(h, "sm80", 2e-2);
  TileGemm t(32, 32, 32, 32, f16, f32);
  checkLowering(t, "sm75");
}

TEST_CASE("gemm: warpgroups") {
  // The interpreter reads operands by the rule of the instruction's manual, not by our layouts.
  auto check = [](TileGemm &&k, double tolerance = 1e-5) {
    checkLowering(k, "sm90", tolerance);
    std::size_t products = 0;
    for (const CallStmt *call : all<CallStmt>(*k.function))
      products += call->callee.starts_with("wgmma_m64");
    CHECK(products > 0);
  };
  for (bool tA : {false, true})
    for (bool tB : {false, true}) {
      CAPTURE(tA, tB);
      check(TileGemm(64, 64, 64, 128, f16, f32, tA, tB));
      check(TileGemm(128, 48, 32, 128, bf16, f32, tA, tB)); // two blocks of rows; 32-byte panels
    }
  check(TileGemm(64, 64, 32, 128, f16, f16), 2e-2);
  check(TileGemm(128, 128, 64, 256, f16, f32));             // two warpgroups, one below the other
  check(TileGemm(64, 128, 64, 256, f16, f32, false, true)); // and side by side
  check(TileGemm(64, 8, 16, 128, f16, f32));                // rows of 16 bytes
  check(TileGemm(64, 320, 16, 128, f16, f32, false, true)); // more columns than one instruction has
  check(TileGemm(64, 40, 128, 128, s8, s32, false, true));  // integers: 32 and 8 columns
}

TEST_CASE("gemm: odd tiles and odd numbers of warps") {
  TileGemm odd(48, 80, 24, 96, f16, f32);
  checkLowering(odd, "sm80");
  TileGemm covered(64, 64, 16, 96, f16, f32); // four rows of atoms over three warps
  checkLowering(covered, "sm80");
}

TEST_CASE("gemm: integers, with and against the grain") {
  for (bool tB : {false, true}) {
    TileGemm k(32, 32, 32, 64, s8, s32, false, tB);
    checkLowering(k, "sm80");
  }
}

TEST_CASE("gemm: scalar blocks") {
  for (bool tB : {false, true}) {
    TileGemm k(48, 20, 9, 96, f32, f32, false, tB);
    checkLowering(k, "sm80");
  }
  TileGemm narrow(24, 24, 8, 64, bf16, f32);
  checkLowering(narrow, "sm75");
}

TEST_CASE("gemm: one thread") {
  TileGemm k(12, 20, 9, 128, f32, f32), t(12, 20, 9, 128, f16, f16, false, true);
  checkLowering(k, "cpu");
  checkLowering(t, "cpu", 1e-2);
}

namespace {

struct TileReduce : Kernel {
  TileReduce(std::int64_t rows, std::int64_t columns, std::int64_t threads, unsigned axis,
             ReduceOp op, DType type = f32, bool clear = true)
      : Kernel(threads) {
    std::int64_t left = axis ? rows : columns;
    Buffer &A = global("A", type, {rows, columns}), &B = global("B", type, {left}, true);
    Buffer &x = alloc("x", type, Scope::Fragment, {rows, columns}),
           &m = alloc("m", type, Scope::Fragment, {left});
    copy(whole(A), whole(x));
    fill(m, 0.25);
    reduce(op, x, m, axis).clear = clear;
    copy(whole(m), whole(B));
  }
};

} // namespace

TEST_CASE("reductions: registers, lanes, warps, both axes, ragged sizes") {
  for (unsigned axis : {0u, 1u}) {
    CAPTURE(axis);
    for (auto [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {32, 64}, {4, 229}, {1, 512}, {96, 3}}) {
      CAPTURE(rows, columns);
      TileReduce sum(rows, columns, 128, axis, ReduceOp::Sum);
      checkLowering(sum, "sm80");
      TileReduce most(rows, columns, 96, axis, ReduceOp::AbsMax);
      checkLowering(most, "sm80");
    }
  }
  TileReduce kept(16, 64, 64, 1, ReduceOp::Max, f16, false);
  checkLowering(kept, "sm80");
  TileReduce ints(16, 64, 64, 0, ReduceOp::Min, s32);
  checkLowering(ints, "sm80");
  TileReduce cpu(16, 20, 64, 1, ReduceOp::Sum);
  checkLowering(cpu, "cpu");
}

TEST_CASE("reductions: of NaNs alone a maximum is the neutral value") {
  for (auto op : {ReduceOp::Max, ReduceOp::Min, ReduceOp::AbsMax})
    for (bool clear : {true, false}) {
      CAPTURE(static_cast<int>(op), clear);
      Kernel k(64);
      Buffer &B = k.global("B", f32, {16}, true);
      Buffer &x = k.alloc("x", f32, Scope::Fragment, {16, 64}),
             &m = k.alloc("m", f32, Scope::Fragment, {16});
      k.fill(x, std::numeric_limits<double>::quiet_NaN());
      k.fill(m, 0.25);
      k.reduce(op, x, m, 1).clear = clear;
      k.copy(k.whole(m), k.whole(B));
      checkLowering(k, "sm80");
    }
}

TEST_CASE("scans: both directions, ragged") {
  for (bool reverse : {false, true})
    for (std::int64_t columns : {128, 100, 7})
      for (const char *target : {"sm80", "cpu"}) {
        CAPTURE(reverse, columns, target);
        Kernel k(64);
        Buffer &A = k.global("A", f32, {8, columns}), &B = k.global("B", f32, {8, columns}, true);
        Buffer &x = k.alloc("x", f32, Scope::Fragment, {8, columns});
        k.copy(k.whole(A), k.whole(x));
        auto &scan = k.builder->add<ScanStmt>();
        scan.source = scan.target = k.whole(x);
        scan.axis = 1;
        scan.reverse = reverse;
        k.copy(k.whole(x), k.whole(B));
        checkLowering(k, target);
      }
}

TEST_CASE("attention: what one product leaves is what the next takes") {
  for (const char *target : {"sm80", "sm75", "cpu"}) {
    CAPTURE(target);
    Kernel k(64);
    std::int64_t rows = 32, columns = 32, depth = 16;
    Buffer &Q = k.global("Q", f16, {rows, depth}), &K = k.global("K", f16, {columns, depth}),
           &V = k.global("V", f16, {columns, depth});
    Buffer &O = k.global("O", f32, {rows, depth}, true);
    Buffer &q = k.alloc("q", f16, Scope::Shared, {rows, depth}),
           &kk = k.alloc("k", f16, Scope::Shared, {columns, depth});
    Buffer &v = k.alloc("v", f16, Scope::Shared, {columns, depth});
    Buffer &s = k.alloc("s", f32, Scope::Fragment, {rows, columns}),
           &p = k.alloc("p", f16, Scope::Fragment, {rows, columns});
    Buffer &o = k.alloc("o", f32, Scope::Fragment, {rows, depth});
    Buffer &m = k.alloc("m", f32, Scope::Fragment, {rows}),
           &l = k.alloc("l", f32, Scope::Fragment, {rows});
    k.copy(k.whole(Q), k.whole(q));
    k.copy(k.whole(K), k.whole(kk));
    k.copy(k.whole(V), k.whole(v));
    k.fill(s, 0);
    k.fill(o, 0);
    auto &first = k.gemm(q, kk, s);
    first.transposeB = true;
    first.policy = WarpPolicy::FullRow;
    k.reduce(ReduceOp::Max, s, m, 1);
    k.map({rows, columns}, [&](std::vector<Expr> v, Builder &b) {
      Expr x = b.load("x", s, {v[0], v[1]}), y = b.load("y", m, {v[0]});
      b.store(s, {v[0], v[1]}, k.context->math(MathFn::Exp, {x - y}));
    });
    k.reduce(ReduceOp::Sum, s, l, 1);
    k.copy(k.whole(s), k.whole(p));
    k.gemm(p, v, o).policy = WarpPolicy::FullRow;
    k.map({rows, depth}, [&](std::vector<Expr> v, Builder &b) {
      Expr x = b.load("x", o, {v[0], v[1]}), y = b.load("y", l, {v[0]});
      b.store(o, {v[0], v[1]}, k.context->binary(BinaryOp::Div, x, y));
    });
    k.copy(k.whole(o), k.whole(O));
    checkLowering(k, target, 2e-3);
  }
}

TEST_CASE("conversions: a transposed use, and a slice of an accumulator") {
  for (const char *target : {"sm80", "cpu"}) {
    CAPTURE(target);
    Kernel k(64);
    Buffer &A = k.global("A", f32, {16, 48}), &B = k.global("B", f32, {48, 16}, true);
    Buffer &x = k.alloc("x", f32, Scope::Fragment, {16, 48}),
           &y = k.alloc("y", f32, Scope::Fragment, {48, 16});
    k.copy(k.whole(A), k.whole(x));
    k.fill(y, 1);
    k.map({48, 16}, [&](std::vector<Expr> v, Builder &b) {
      Expr e = b.load("e", y, {v[0], v[1]}), f = b.load("f", x, {v[1], v[0]});
      b.store(y, {v[0], v[1]}, e + f);
    });
    k.copy(k.whole(y), k.whole(B));
    checkLowering(k, target);
  }
}
