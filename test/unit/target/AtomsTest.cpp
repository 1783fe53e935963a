#include "target/Atoms.h"

#include "layout/Algebra.h"
#include "layout/Conversion.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <catch2/catch.hpp>

#include <set>

using namespace tlc;

namespace {
const Target &target(const char *name) {
  const Target *t = findTarget(name);
  REQUIRE(t);
  return *t;
}
} // namespace

TEST_CASE("every row of the atom tables is sound, and names are unique") {
  for (Family family : {Family::Cuda, Family::Cpu}) {
    std::set<std::string> names;
    for (const Atom &atom : atomTable(family)) {
      CHECK_NOTHROW(checkAtom(atom));
      CHECK(names.insert(atom.name).second);
    }
    CHECK(names.size() > 5);
  }
  for (const char *name : {"sm80", "cpu"})
    CHECK_NOTHROW(checkAtom(*findAtom(target(name), "fma")));
  Atom broken = atomTable(Family::Cuda)[0];
  broken.cLayout =
      Layout::make({{"reg", {{2, "n"}, {2, "m", 8}}}, {"thread", {{4, "n", 2}, {4, "m"}, {2}}}},
                   {{"m", 16}, {"n", 8}});
  CHECK_THROWS_AS(checkAtom(broken), InternalError);
}

TEST_CASE("atoms of the instruction set manual, at chosen registers") {
  // The PTX manual's formulas for mma.m16n8k16 and others: group = lane / 4, t = lane % 4.
  const Atom *f16 = findAtom(target("sm80"), "mma_m16n8k16_f16_f16_f32");
  REQUIRE(f16);
  for (Index lane = 0; lane < 32; ++lane) {
    Index group = lane / 4, t = lane % 4;
    for (Index i = 0; i < 8; ++i) {
      Index row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
      Index column = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      CHECK(f16->aLayout({i, lane}) == Point{row, column});
    }
    for (Index i = 0; i < 4; ++i)
      CHECK(f16->bLayout({i, lane}) == Point{group, t * 2 + (i & 1) + (i >= 2 ? 8 : 0)});
    for (Index i = 0; i < 4; ++i)
      CHECK(f16->cLayout({i, lane}) == Point{i < 2 ? group : group + 8, t * 2 + (i & 1)});
  }
  const Atom *tf32 = findAtom(target("sm80"), "mma_m16n8k8_tf32_tf32_f32");
  REQUIRE(tf32);
  for (Index lane = 0; lane < 32; ++lane)
    for (Index i = 0; i < 4; ++i)
      CHECK(tf32->aLayout({i, lane}) == Point{lane / 4 + (i & 1) * 8, lane % 4 + (i >= 2 ? 4 : 0)});
  const Atom *s8 = findAtom(target("sm80"), "mma_m16n8k32_s8_s8_s32");
  REQUIRE(s8);
  for (Index lane = 0; lane < 32; ++lane) {
    for (Index i = 0; i < 16; ++i) {
      Index row = (i < 4 || (i >= 8 && i < 12)) ? lane / 4 : lane / 4 + 8;
      CHECK(s8->aLayout({i, lane}) == Point{row, lane % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)});
    }
    for (Index i = 0; i < 8; ++i)
      CHECK(s8->bLayout({i, lane}) == Point{lane / 4, lane % 4 * 4 + (i & 3) + (i >= 4 ? 16 : 0)});
  }
  const Atom *f64 = findAtom(target("sm80"), "mma_m8n8k4_f64_f64_f64");
  REQUIRE(f64);
  for (Index lane = 0; lane < 32; ++lane) {
    CHECK(f64->aLayout({0, lane}) == Point{lane / 4, lane % 4});
    CHECK(f64->cLayout({1, lane}) == Point{lane / 4, lane % 4 * 2 + 1});
  }
}

TEST_CASE("what a target offers, best first, with the scalar atom last") {
  DType f16(Scalar::Float16), f32(Scalar::Float32), bf16(Scalar::BFloat16),
      e4m3(Scalar::Float8E4M3FN);
  auto names = [](const std::vector<const Atom *> &atoms) {
    std::vector<std::string> out;
    for (const Atom *a : atoms)
      out.push_back(a->name);
    return out;
  };
  CHECK(names(atomsFor(target("sm80"), f16, f16, f32)) ==
        std::vector<std::string>{"mma_m16n8k16_f16_f16_f32", "mma_m16n8k8_f16_f16_f32", "fma"});
  CHECK(names(atomsFor(target("sm75"), f16, f16, f32)) ==
        std::vector<std::string>{"mma_m16n8k8_f16_f16_f32", "fma"});
  CHECK(names(atomsFor(target("sm75"), bf16, bf16, f32)) == std::vector<std::string>{"fma"});
  CHECK(names(atomsFor(target("sm80"), e4m3, e4m3, f32)) == std::vector<std::string>{"fma"});
  CHECK(atomsFor(target("sm89"), e4m3, e4m3, f32).size() == 2);
  CHECK(names(atomsFor(target("cpu-avx2"), f32, f32, f32)) ==
        std::vector<std::string>{"micro_f32_6x16", "fma"});
  CHECK(names(atomsFor(target("cpu-avx512"), f32, f32, f32)).front() == "micro_f32_12x32");
  CHECK(names(atomsFor(target("cpu"), f16, f16, f32)) == std::vector<std::string>{"fma"});
}

TEST_CASE("ldmatrix feeds the operands of mma.sync") {
  for (const char *name :
       {"mma_m16n8k16_f16_f16_f32", "mma_m16n8k8_tf32_tf32_f32", "mma_m16n8k32_s8_s8_s32",
        "mma_m16n8k64_s4_s4_s32", "mma_m16n8k8_f16_f16_f32"}) {
    const Atom *atom = findAtom(target("sm80"), name);
    REQUIRE(atom);
    Layout matrix = permuteOutputs(matrixLayout(atom->a.bits()), {{"r", "m"}, {"c", "k"}});
    CHECK(divideModulo(atom->aLayout, matrix, "reg").has_value());
    matrix = permuteOutputs(matrixLayout(atom->b.bits()), {{"r", "n"}, {"c", "k"}});
    CHECK(divideModulo(atom->bLayout, matrix, "reg").has_value());
  }
  // Transposed matrices feed b from a tile that is stored k by n.
  const Atom *f16 = findAtom(target("sm80"), "mma_m16n8k16_f16_f16_f32");
  Layout turned = permuteOutputs(matrixLayout(16, true), {{"r", "k"}, {"c", "n"}});
  Layout b = permuteOutputs(f16->bLayout, {{"k", "k"}, {"n", "n"}});
  CHECK(divideModulo(b, turned, "reg").has_value());
}

TEST_CASE("targets") {
  CHECK(allTargets().size() >= 18);
  for (const Target &t : allTargets()) {
    CHECK(findTarget(t.name) == &t);
    CHECK((t.family == Family::Hip) == (t.name.substr(0, 3) == "gfx"));
    CHECK(t.limits.sharedPerBlock <= t.limits.sharedPerBlockOptIn);
    if (t.isGpu()) {
      CHECK(t.limits.sharedPerBlockOptIn + t.limits.sharedReserved <= t.limits.sharedPerSm);
      CHECK(t.sharedMemory().warp() == t.limits.warp);
    }
  }
  CHECK(findTarget("sm81") == nullptr);
  CHECK_FALSE(target("sm70").supported());
  CHECK(target("sm90").has(Feature::Wgmma));
  CHECK_FALSE(target("sm90-generic").has(Feature::Wgmma));
  CHECK_FALSE(target("sm75").has(Feature::CpAsync));
  CHECK(target("sm80").registerBudget(256) == 255);
  CHECK(target("sm80").registerBudget(256, 2) == 128);
  CHECK(target("sm80").registerBudget(384) == 168);
  CHECK(target("cpu").collectiveThreads(128) == 1);
  CHECK(supportedTargetNames().find("sm80") != std::string::npos);
  CHECK(supportedTargetNames().find("gfx") == std::string::npos);
  for (unsigned f = 0; f <= static_cast<unsigned>(Feature::DependentLaunch); ++f)
    CHECK_FALSE(featureSummary(static_cast<Feature>(f)).empty());
}

TEST_CASE("warpgroup products are of sm_90a alone") {
  const char *name = "wgmma_m64n8k16_f16_f16_f32";
  CHECK(findAtom(target("sm90"), name));
  for (const char *other : {"sm80", "sm89", "sm90-generic", "sm100", "sm120"})
    CHECK_FALSE(findAtom(target(other), name));
  DType f16 = Scalar::Float16, f32 = Scalar::Float32;
  CHECK(atomsFor(target("sm90"), f16, f16, f32).front()->kind == AtomKind::WarpGroup);
  CHECK(atomsFor(target("sm100"), f16, f16, f32).front()->kind == AtomKind::Matrix);
}

TEST_CASE("warpgroup atoms of the instruction set manual") {
  // Accumulator: row 16 warp + lane / 4 (+ 8), columns 2 (lane % 4) and the next.
  const Atom *f16 = findAtom(target("sm90"), "wgmma_m64n8k16_f16_f16_f32");
  REQUIRE(f16);
  for (Index t = 0; t < 128; ++t) {
    Index row = t / 32 * 16 + t % 32 / 4;
    for (Index i = 0; i < 4; ++i)
      CHECK(f16->cLayout({i, t}) == Point{row + (i >= 2 ? 8 : 0), t % 4 * 2 + (i & 1)});
    for (Index i = 0; i < 8; ++i)
      CHECK(f16->aLayout({i, t}) ==
            Point{row + (i / 2 % 2 ? 8 : 0), t % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0)});
  }
  const Atom *s8 = findAtom(target("sm90"), "wgmma_m64n8k32_s8_u8_s32");
  REQUIRE(s8);
  for (Index t = 0; t < 128; ++t)
    for (Index i = 0; i < 16; ++i)
      CHECK(s8->aLayout({i, t}) == Point{t / 32 * 16 + t % 32 / 4 + (i / 4 % 2 ? 8 : 0),
                                         t % 4 * 4 + (i & 3) + (i >= 8 ? 16 : 0)});
  const Atom *tf32 = findAtom(target("sm90"), "wgmma_m64n8k8_tf32_tf32_f32");
  REQUIRE(tf32);
  for (Index t = 0; t < 128; ++t)
    for (Index i = 0; i < 4; ++i)
      CHECK(tf32->aLayout({i, t}) ==
            Point{t / 32 * 16 + t % 32 / 4 + (i & 1) * 8, t % 4 + (i >= 2 ? 4 : 0)});
}

TEST_CASE("which widths warpgroup products have") {
  const Atom *f16 = findAtom(target("sm90"), "wgmma_m64n8k16_f16_f16_f32");
  const Atom *s8 = findAtom(target("sm90"), "wgmma_m64n8k32_s8_s8_s32");
  REQUIRE(f16);
  REQUIRE(s8);
  CHECK(warpGroupColumns(*f16, 40) == 40);
  CHECK(warpGroupColumns(*f16, 512) == 256);
  CHECK(warpGroupColumns(*s8, 40) == 32); // integers: 8, 24 and multiples of 16
  CHECK(warpGroupColumns(*s8, 24) == 24);
  CHECK(warpGroupColumns(*s8, 8) == 8);
  CHECK(warpGroupFunction(*f16, 128, false) == "wgmma_m64n128k16_f16_f16_f32_ss");
  CHECK(warpGroupFunction(*s8, 96, true) == "wgmma_m64n96k32_s8_s8_s32_rs");
}
