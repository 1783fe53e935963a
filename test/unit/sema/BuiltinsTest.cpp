#include "sema/Builtins.h"
#include "sema/Resolve.h"

#include <catch2/catch.hpp>

#include <set>
#include <string>

using namespace tlc;
using namespace tlc::sema;

TEST_CASE("the table holds each name once and its signatures parse") {
  std::set<std::string_view> seen;
  for (std::string_view name : builtinNames()) {
    INFO(name);
    CHECK(seen.insert(name).second);
    REQUIRE(findBuiltin(name));
  }
  CHECK(seen.size() > 400);
  for (const BuiltinInfo &b : allBuiltins()) {
    INFO(b.name);
    CHECK(&info(b.id) == &b);
    std::set<std::string_view> names;
    bool optional = false;
    for (const Parameter &p : b.parameters) {
      CHECK(!p.name.empty());
      CHECK(names.insert(p.name).second);
      if (!p.keywordOnly && !p.variadic) {
        CHECK(!(p.required && optional));
        optional = !p.required;
      }
    }
    // What cannot be compiled anywhere must not claim a category that a handler serves silently.
    if (b.support == Support::Blackwell || b.support == Support::Metal)
      CHECK(!unsupportedReason(b, true, true, 90).empty());
  }
}

TEST_CASE("signatures say classes, scopes, types and defaults") {
  const BuiltinInfo &gemm = info(Builtin::Gemm);
  const Parameter *b = gemm.parameter("B");
  REQUIRE(b);
  CHECK(b->cls == ArgClass::Tile);
  CHECK(b->scopes == (SharedBit | FragmentBit));
  CHECK(b->types == TypeSet::Number);
  CHECK(b->required);
  const Parameter *pack = gemm.parameter("k_pack");
  REQUIRE(pack);
  CHECK(pack->cls == ArgClass::Int);
  CHECK_FALSE(pack->required);
  CHECK(pack->defaultText == "1");
  CHECK(info(Builtin::Copy).parameter("disable_tma")->keywordOnly);
  CHECK_FALSE(info(Builtin::Copy).parameter("dst")->keywordOnly);
  CHECK(info(Builtin::Parallel).parameter("extents")->variadic);
  CHECK(info(Builtin::Parallel).parameter("loop_layout")->keywordOnly);
  CHECK(gemm.index("nothing") == -1);
  CHECK(info(Builtin::Fill).usage() == "T.fill(buffer, value, annotations=None)");
  CHECK(info(Builtin::ThreadBinding).usage() ==
        "T.thread_binding(start, stop=None, thread=None, *, annotations=None)");
  CHECK(describeScopes(SharedBit | FragmentBit) == "shared or fragment");
  CHECK(describeScopes(anyTileScope) == "global, shared, fragment or local");
}

TEST_CASE("aliases are other spellings") {
  CHECK(findBuiltin("barrier_wait") == &info(Builtin::MbarrierWaitParity));
  CHECK(findBuiltin("symbolic") == &info(Builtin::Dynamic));
  CHECK(findBuiltin("wgmma_mma") == &info(Builtin::WgmmaGemm));
  CHECK(findBuiltin("copyy") == nullptr);
}

TEST_CASE("support is a fact about a target") {
  CHECK(unsupportedReason(info(Builtin::Copy), false, false, 0).empty());
  CHECK(unsupportedReason(info(Builtin::WgmmaGemm), true, true, 90).empty());
  CHECK(unsupportedReason(info(Builtin::WgmmaGemm), true, true, 80) == "needs sm90");
  CHECK(unsupportedReason(info(Builtin::AllocTmem), true, true, 100) == "is not supported yet");
  CHECK(unsupportedReason(info(Builtin::AllocTmem), true, false, 942) == "needs sm100 or later");
  CHECK(unsupportedReason(info(Builtin::ShflXor), false, false, 0) == "needs the threads of a GPU");
  CHECK(unsupportedReason(info(Builtin::Mfma), true, false, 942) == "is not supported yet");
  CHECK(unsupportedReason(info(Builtin::MatchAnySync), true, false, 942) ==
        "exists on NVIDIA GPUs only");
}

namespace {

SourceRange at(std::uint32_t begin) { return {1, begin, begin + 1}; }

struct Call {
  CallShape shape;
  DiagnosticEngine engine;
  BoundArguments bound;
  explicit Call(unsigned positional, std::initializer_list<std::string_view> keywords = {}) {
    shape.call = {1, 0, 100};
    shape.callee = {1, 0, 6};
    for (unsigned i = 0; i < positional; ++i)
      shape.positional.push_back(at(10 + i));
    std::uint32_t p = 50;
    for (std::string_view k : keywords) {
      shape.keywords.push_back({k, at(p), at(p + 1)});
      p += 2;
    }
  }
  bool bind(Builtin id) { return bindArguments(info(id), shape, engine, bound); }
  diag::Id only() {
    REQUIRE(engine.diagnostics().size() == 1);
    return engine.diagnostics().front().id;
  }
};

} // namespace

TEST_CASE("arguments find their parameters") {
  SECTION("positions, then keywords") {
    Call c(3, {"policy", "transpose_B"});
    REQUIRE(c.bind(Builtin::Gemm));
    CHECK(c.bound.slots[0] == 0);
    CHECK(c.bound.slots[2] == 2);
    CHECK(c.bound.slots[info(Builtin::Gemm).index("policy")] == 3);
    CHECK(c.bound.slots[info(Builtin::Gemm).index("transpose_B")] == 4);
    CHECK(c.bound.slots[info(Builtin::Gemm).index("transpose_A")] == -1);
  }
  SECTION("variadic parameters take the rest") {
    Call c(2, {"threads"});
    REQUIRE(c.bind(Builtin::Kernel));
    CHECK(c.bound.rest == std::vector<int>{0, 1});
    CHECK(c.bound.slots[info(Builtin::Kernel).index("threads")] == 2);
  }
  SECTION("parameters before a variadic one") {
    Call c(4);
    REQUIRE(c.bind(Builtin::AccessPtr));
    CHECK(c.bound.slots[1] == 1);
    CHECK(c.bound.rest == std::vector<int>{2, 3});
  }
}

TEST_CASE("calls that do not fit are refused at the argument") {
  SECTION("too many") {
    Call c(4);
    CHECK_FALSE(c.bind(Builtin::Copy));
    CHECK(c.only() == diag::TooManyArguments);
    CHECK(c.engine.diagnostics().front().range == at(12));
  }
  SECTION("missing") {
    Call c(1);
    CHECK_FALSE(c.bind(Builtin::Copy));
    CHECK(c.only() == diag::MissingArgument);
    CHECK(c.engine.diagnostics().front().message ==
          "`T.copy` is called without its argument `dst`");
  }
  SECTION("unknown keyword, with a suggestion") {
    Call c(3, {"transpose_b"});
    CHECK_FALSE(c.bind(Builtin::Gemm));
    CHECK(c.only() == diag::UnknownKeyword);
    CHECK(c.engine.diagnostics().front().range == at(50));
    CHECK(c.engine.diagnostics().front().message ==
          "`T.gemm` has no keyword `transpose_b`, did you mean `transpose_B`?");
  }
  SECTION("twice") {
    Call c(2, {"dst"});
    CHECK_FALSE(c.bind(Builtin::Copy));
    CHECK(c.only() == diag::ArgumentTwice);
  }
}

TEST_CASE("unsupported names get a reason") {
  DiagnosticEngine engine;
  CHECK(checkSupport(info(Builtin::Copy), at(1), "cpu", false, false, 0, engine));
  CHECK_FALSE(checkSupport(info(Builtin::AllocBarrier), at(1), "sm80", true, true, 80, engine));
  CHECK(engine.diagnostics().back().id == diag::UnsupportedBuiltin);
  CHECK(engine.diagnostics().back().message == "`T.alloc_barrier` needs sm90; the target is sm80");
}
