// What infer-layouts decides for the kernels of inference.md, and the atoms and grids before it.
#include "Kernels.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Shape.h"
#include "passes/infer/InferGraph.h"
#include "passes/plan/GemmLayouts.h"

using namespace tlc;
using namespace tlc::test;

namespace {

const DType f16(Scalar::Float16), f32(Scalar::Float32);

/// Wavefronts of an access of a shared tile over the least possible.
AccessCost cost(const Buffer &tile, const Layout &fragment, Index vector) {
  Layout memory = *tile.layout;
  for (const OutputAxis &o : fragment.outputs)
    memory = extendInput(memory, o.name, o.size);
  return bankConflicts(*compose(memory, fragment), vector, tile.dtype.bits() / 8);
}

Layout matrixAccessOf(const GemmStmt &g, passes::Side side, Index threads) {
  passes::GemmGrid grid =
      passes::gemmGrid(*g.atom, *passes::gemmShape(g), g.warpsM, g.warpsN, threads);
  bool kFirst = passes::kFirst(g, side);
  return *passes::matrixAccess(*g.atom, grid, side, kFirst, kFirst);
}

} // namespace

TEST_CASE("gemm: the accumulator decides, shared tiles serve both sides without conflicts") {
  struct Case {
    std::int64_t m, n, k, threads, warpsM, warpsN;
    bool transposeB;
  };
  for (auto c : {Case{128, 128, 32, 128, 2, 2, false}, Case{128, 128, 32, 128, 2, 2, true},
                 Case{128, 256, 32, 256, 2, 4, false}, Case{256, 128, 32, 256, 4, 2, false},
                 Case{128, 256, 64, 256, 2, 4, false}, Case{64, 96, 64, 96, 1, 3, false}}) {
    CAPTURE(c.m, c.n, c.k, c.threads, c.transposeB);
    GemmKernel k(c.m, c.n, c.k, c.threads, f16, f32, c.transposeB);
    Pipeline p("sm80");
    p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
    GemmStmt &g = *all<GemmStmt>(*k.function).at(0);
    CHECK(g.atom->name == "mma_m16n8k16_f16_f16_f32");
    CHECK(g.warpsM == c.warpsM);
    CHECK(g.warpsN == c.warpsN);
    CHECK(k.Cl->origin == LayoutOrigin::Strict);
    CHECK(all<ConvertStmt>(*k.function).empty());
    // Copies are made 16 bytes at a time and, as the matrix loads, touch each bank once.
    auto copies = all<CopyStmt>(*k.function);
    for (auto [copy, tile, side] :
         {std::tuple(copies.at(0), k.As, passes::Side::A), {copies.at(1), k.Bs, passes::Side::B}}) {
      REQUIRE(copy->layout);
      CHECK(cost(*tile, *copy->layout, 8).conflictFree());
      CHECK(cost(*tile, matrixAccessOf(g, side, c.threads), 8).conflictFree());
    }
    CHECK(equal(*copies.at(2)->layout, *k.Cl->layout)); // stored as it lies
  }
}

TEST_CASE("the accumulator of inference.md") {
  GemmKernel k(128, 128, 32, 128);
  Pipeline p("sm80");
  p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
  CHECK(k.Cl->layout->str() ==
        "reg(2:d1 2:d0*8 8:d1*8 4:d0*16) thread(4:d1*2 8:d0 2:d0*64 2:d1*64) -> d0<128 d1<128");
  CHECK(k.As->layout->str() ==
        "d0(2:offset*32 2:offset*64 2:offset*128 16:offset*256) d1(8:offset 2 2) -> offset<4096 "
        "offset*8=d0/2^d1/8 offset*16=d0/4^d1/16");
}

TEST_CASE("atoms: what fits, and what policies ask for") {
  auto atomOf = [](GemmKernel &&k, const char *target) {
    Pipeline p(target);
    p.run(*k.function, {passes::selectAtoms});
    return all<GemmStmt>(*k.function).at(0)->atom->name;
  };
  CHECK(atomOf({64, 64, 24, 128}, "sm80") == "mma_m16n8k8_f16_f16_f32");
  CHECK(atomOf({64, 64, 32, 128}, "sm75") == "mma_m16n8k8_f16_f16_f32");
  CHECK(atomOf({60, 64, 32, 128}, "sm80") == "fma");
  CHECK(atomOf({64, 64, 32, 100}, "sm80") == "fma");
  CHECK(atomOf({64, 64, 32, 128, f32, f32}, "sm80") == "fma");
  CHECK(atomOf({64, 64, 32, 128, DType(Scalar::Int8), DType(Scalar::Int32)}, "sm80") ==
        "mma_m16n8k32_s8_s8_s32");
  CHECK(atomOf({64, 64, 32, 128}, "cpu") == "fma");
  for (auto [policy, m, n] : {std::tuple(WarpPolicy::FullRow, 4, 1),
                              {WarpPolicy::FullCol, 1, 4},
                              {WarpPolicy::Square, 2, 2}}) {
    GemmKernel k(128, 128, 32, 128);
    all<GemmStmt>(*k.function).at(0)->policy = policy;
    Pipeline p("sm80");
    p.run(*k.function, {passes::selectAtoms});
    CHECK(all<GemmStmt>(*k.function).at(0)->warpsM == m);
    CHECK(all<GemmStmt>(*k.function).at(0)->warpsN == n);
  }
  // A schedule's word counts; an instruction that is not there is an error.
  GemmKernel k(128, 128, 32, 128);
  Pipeline p("sm80");
  p.schedule.launches.emplace_back().name = k.function->name;
  p.schedule.launches[0].gemms.push_back({"mma_m16n8k8_f16_f16_f32", 4, 1});
  p.run(*k.function, {passes::selectAtoms});
  CHECK(all<GemmStmt>(*k.function).at(0)->atom->k == 8);
  CHECK(all<GemmStmt>(*k.function).at(0)->warpsM == 4);
  GemmKernel wrong(128, 128, 32, 128);
  p.schedule.launches[0].gemms[0].atom = "mma_m16n8k32_s8_s8_s32";
  passes::PassContext context{p.target, p.diagnostics, p.schedule, {}};
  passes::selectAtoms(*wrong.function, context);
  REQUIRE(p.diagnostics.errorCount() == 1);
  CHECK(p.diagnostics.diagnostics().front().id == diag::NoSuchAtom);
}

TEST_CASE("epilogue: a bias vector lies as the accumulator needs it") {
  GemmKernel k(128, 128, 32, 128, f16, f32);
  Buffer &bias = k.global("bias", f32, {512});
  Buffer &local = k.alloc("bias_l", f32, Scope::Fragment, {128});
  k.copy(k.part(bias, {k.launch->blockVars[0] * 128}, {128}), k.whole(local));
  auto &map = k.map({128, 128}, [&](std::vector<Expr> v, Builder &b) {
    Expr x = b.load("x", *k.Cl, {v[0], v[1]}), y = b.load("y", local, {v[1]});
    b.store(*k.Cl, {v[0], v[1]}, x + y);
  });
  Pipeline p("sm80");
  p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
  CHECK(equal(*map.layout, *k.Cl->layout));
  CHECK(local.layout->input("reg").size() == 16);
  CHECK(all<ConvertStmt>(*k.function).empty());
}

TEST_CASE("attention: statistics and weights follow the scores, nothing is converted") {
  Kernel k(128);
  std::int64_t n = 64, d = 128;
  Buffer &q = k.alloc("q", f16, Scope::Shared, {64, d}),
         &kk = k.alloc("k", f16, Scope::Shared, {n, d}),
         &v = k.alloc("v", f16, Scope::Shared, {n, d});
  Buffer &s = k.alloc("s", f32, Scope::Fragment, {64, n}),
         &w = k.alloc("w", f16, Scope::Fragment, {64, n}),
         &o = k.alloc("o", f32, Scope::Fragment, {64, d});
  Buffer &m = k.alloc("m", f32, Scope::Fragment, {64});
  k.fill(o, 0);
  k.builder->loop("i", k.context->int32(0), k.context->int32(8), ForKind::Serial, [&](Expr) {
    k.fill(s, 0);
    auto &first = k.gemm(q, kk, s);
    first.transposeB = true;
    first.policy = WarpPolicy::FullRow;
    k.reduce(ReduceOp::Max, s, m, 1);
    k.map({64, d}, [&](std::vector<Expr> x, Builder &b) {
      Expr y = b.load("y", o, {x[0], x[1]}), z = b.load("z", m, {x[0]});
      b.store(o, {x[0], x[1]}, y * z);
    });
    k.copy(k.whole(s), k.whole(w));
    k.gemm(w, v, o).policy = WarpPolicy::FullRow;
  });
  Pipeline p("sm80");
  p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
  CHECK(all<ConvertStmt>(*k.function).empty());
  CHECK(m.layout->str() == "reg(2:d0*8) thread(4 8:d0 4:d0*16) -> d0<64");
  CHECK(equal(*w.layout, *s.layout));
}

TEST_CASE("softmax rows: one row per warp, or all threads on one row") {
  auto rowsOf = [](std::int64_t rows, std::int64_t columns, std::int64_t threads) {
    Kernel k(threads);
    Buffer &A = k.global("A", f32, {rows, columns});
    Buffer &x = k.alloc("x", f32, Scope::Fragment, {rows, columns}),
           &m = k.alloc("m", f32, Scope::Fragment, {rows});
    k.copy(k.whole(A), k.whole(x));
    k.reduce(ReduceOp::Max, x, m, 1);
    Pipeline p("sm80");
    p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
    return *x.layout;
  };
  Layout many = rowsOf(8, 1024, 256), one = rowsOf(1, 4096, 256), ragged = rowsOf(4, 229, 128);
  CHECK(reduceOutput(many, "d1").output("d0").terms.size() > 0);
  CHECK(many.input("reg").size() == 32);
  CHECK(one.input("reg").size() == 16);
  CHECK(ragged.output("d1").size >= 229);
  CHECK(ragged.input("reg").size() <= 8);
}

TEST_CASE("a fragment that scalar code indexes is held by all; one that nothing can follow moves "
          "to shared memory") {
  Kernel k(64);
  Buffer &A = k.global("A", f32, {64, 8});
  Buffer &few = k.alloc("few", f32, Scope::Fragment, {4}),
         &x = k.alloc("x", f32, Scope::Fragment, {64, 8});
  Buffer &at = k.alloc("at", DType(Scalar::Int32), Scope::Fragment, {64});
  k.fill(few, 0);
  k.builder->store(few, {k.context->int32(2)}, k.context->real(f32, 1));
  k.fill(at, 0);
  k.copy(k.whole(A), k.whole(x));
  k.map({64}, [&](std::vector<Expr> v, Builder &b) {
    Expr row = b.load("row", at, {v[0]});
    b.store(x, {row, k.context->int32(0)}, k.context->real(f32, 2));
  });
  Pipeline p("sm80");
  p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
  CHECK(few.layout->str() == "reg(4:d0) thread(64) -> d0<4");
  CHECK(x.scope == Scope::Shared);
  REQUIRE(p.diagnostics.warningCount() == 1);
  CHECK(p.diagnostics.diagnostics().front().id == diag::FragmentInShared);
}

TEST_CASE("uses that disagree are converted, with a warning that names both layouts") {
  Kernel k(64);
  Buffer &A = k.global("A", f32, {64, 64}), &B = k.global("B", f32, {64, 64}, true);
  Buffer &x = k.alloc("x", f32, Scope::Fragment, {64, 64}),
         &y = k.alloc("y", f32, Scope::Fragment, {64, 64});
  k.copy(k.whole(A), k.whole(x));
  k.map({64, 64}, [&](std::vector<Expr> v, Builder &b) {
    Expr e = b.load("e", x, {v[0], v[1]}), f = b.load("f", x, {v[1], v[0]});
    b.store(y, {v[0], v[1]}, e + f);
  });
  k.copy(k.whole(y), k.whole(B));
  Pipeline p("sm80");
  p.run(*k.function, {passes::selectAtoms, passes::inferLayouts});
  auto converts = all<ConvertStmt>(*k.function);
  REQUIRE(converts.size() == 1);
  CHECK(converts[0]->plan.kind == ConversionKind::Shared);
  CHECK(converts[0]->source == &x);
  REQUIRE(p.diagnostics.warningCount() == 1);
  CHECK(p.diagnostics.diagnostics().front().id == diag::LayoutConversion);
  CHECK(p.diagnostics.diagnostics().front().notes.size() == 2);
}
