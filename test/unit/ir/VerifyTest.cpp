// Each rule of the verifier: a function that breaks it, and its neighbour that does not.
#include "ir/Verify.h"
#include "ir/Parse.h"
#include "ir/Print.h"
#include "ir/Walk.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::ir;

namespace {

std::string kernel(const std::string &statements, const std::string &phase) {
  bool isThread = phase == "thread";
  return "func @k(%A: global f16[%M, 64], %B: global f32[%M], %R: global f32[8] readonly) "
         "dims(%M)" +
         std::string(phase == "tile" ? "" : " phase(" + phase + ")") +
         " {\n  launch grid(4) threads(128) blocks(%bx) thread_vars(%tx) tid(%tid) {\n"
         "    alloc %s: shared f16[64, 32]" +
         (phase == "scheduled" ? " layout(d0(64:offset*32) d1(32:offset) -> offset<2048)\n"
                               : "\n") +
         (isThread ? ""
                   : "    alloc %f: fragment f32[64] layout(reg() thread(64:d0 2) -> d0<64)\n") +
         "    alloc %bar: barrier u64[2]\n    alloc %one: local i32[]\n" + statements + "  }\n}\n";
}

std::vector<std::string> messages(const std::string &statements, const std::string &phase) {
  Context context;
  DiagnosticEngine diagnostics;
  auto f = parseFunction(context, kernel(statements, phase), diagnostics);
  INFO(statements);
  REQUIRE(diagnostics.diagnostics().empty());
  REQUIRE(f);
  std::vector<std::string> out;
  for (const Fault &fault : faults(*f))
    out.push_back(fault.message);
  DiagnosticEngine reported;
  CHECK(verify(*f, reported) == out.empty());
  CHECK(reported.errorCount() == out.size());
  for (const Diagnostic &d : reported.diagnostics())
    CHECK(info(d.id).code == "TL6101");
  return out;
}

struct Case {
  const char *phase, *bad, *message, *good;
};

} // namespace

TEST_CASE("rules of statements") {
  const Case cases[] = {
      {"tile", "let %x: f16 = %tx", "another dtype than its value", "let %x: i32 = %tx"},
      {"tile", "load %x: f32 = %s[0, 0]", "another dtype than the buffer",
       "load %x: f16x8 = %s[0, 0]"},
      {"tile", "load %x = %s[0]", "1 indices instead of 2", "load %x = %s[0, 0]"},
      {"tile", "load %x = %s[0, 0.5]", "is no integer", "load %x = %s[0, 1:i64]"},
      {"tile", "load %x = %s[0, 0] if(%tx)", "the predicate is no bool",
       "load %x = %s[0, 0] if(%tx < 1)"},
      {"tile", "load %x = %s![0]", "lowered before the thread phase", "load %x = %s[0, 0]"},
      {"tile", "load %x = %s@1[0, 0]", "has one version only", "load %x = %s@0[0, 0]"},
      {"tile", "store %s[0, 0] = %tx", "another dtype", "store %s[0, 0] = f16(%tx)"},
      {"tile", "store %R[0] = 1.0", "read only", "store %B[0] = 1.0"},
      {"tile", "atomic add %f[0] value(1.0)", "global and shared", "atomic add %B[0] value(1.0)"},
      {"tile", "atomic add %B[0]", "the value is missing", "atomic load %B[0] result(%x)"},
      {"tile", "atomic load %B[0] value(1.0)", "no meaning", "atomic store %B[0] value(1.0)"},
      {"tile", "atomic compare_exchange %B[0] value(1.0)", "compare with is missing",
       "atomic compare_exchange %B[0] value(1.0) compare(0.0)"},
      {"tile", "if %tx { }", "the condition is no bool", "if %tx == 0 { }"},
      {"tile", "for %i in 0 .. 4:i64 { }", "another dtype than the variable",
       "for %i in 0 .. 4 { }"},
      {"tile", "for %i in 0 .. 4 step(0) { }", "the step is 0", "for %i in 4 .. 0 step(-1) { }"},
      {"tile", "break", "no loop", "while %tx < 1 {\n break\n }"},
      {"tile", "role 96 : +64 { }", "do not have", "role 64 : +64 { }"},
      {"tile", "barrier named id(1)", "needs an id and a count", "barrier named id(1) count(64)"},
      {"tile", "barrier vote(and) value(%tx)", "is no bool",
       "barrier vote(and) value(%tx == 1) result(%r: bool)"},
      {"tile", "mbar init %s[0, 0] value(1)", "is no barrier", "mbar init %bar[0] value(1)"},
      {"tile", "mbar wait %bar[0]", "the value is missing", "mbar wait %bar[0] value(0)"},
      {"tile", "alloc %y: local f32[%tx]", "not constant", "alloc %y: local f32[4]"},
      {"tile", "alloc %y: global f32[4]", "only views", "alloc %y: global f32[4] view(%B)"},
      {"tile", "alloc %y: global f32[2, 2] view(%B) unfold(1, 1, 1, 0)", "no image",
       "alloc %y: global f32[2, 2] view(%B)"},
      {"tile", "alloc %y: local f32[] init(1:i8)", "another dtype", "alloc %y: local i8[] init(1)"},
      {"tile", "alloc %y: local f32[2] view(%s)", "another scope",
       "alloc %y: shared f32[2] view(%s)"},
      {"tile", "alloc %y: fragment f32[65] layout(reg() thread(64:d0 2) -> d0<64)",
       "that covers it", "alloc %y: fragment f32[64] layout(reg() thread(64:d0 2) -> d0<64)"},
      {"tile", "alloc %y: shared f32[8] layout(d1(8:offset) -> offset<8)", "that covers it",
       "alloc %y: shared f32[8] layout(d0(8:offset) -> offset<8)"},
      {"tile", "alloc %y: shared f32[8] strides(1)", "do not fit",
       "alloc %y: global f32[8] view(%B) strides(2)"},
      {"tile", "assert %tx, \"\"", "is no bool", "assert %tx < 4, \"\""},
      {"tile", "move %s[0, 0] -> %s[1, 0] count(8)", "does not belong to the tile phase",
       "copy %s -> %s"},
      {"thread", "copy %s -> %s", "does not belong to the thread phase",
       "move %s[0] -> %s[8] count(8)"},
      {"thread", "move %s[0] -> %B[8] count(8)", "differ in the width",
       "move %B[0] -> %B[8] count(4)"},
      {"thread", "load %x = %s[0, 0]", "more than one offset", "load %x = %s[0]"},
      {"thread", "load %x = %s[]", "more than one offset", "load %x = %one[]"},
      {"thread", "alloc %g: fragment f32[4]", "still a fragment", "alloc %g: local f32[4]"},
      {"scheduled", "alloc %g: fragment f32[64]", "has no layout", "alloc %g: local f32[4]"},
      {"scheduled", "map %i in 64 {\n }", "has no schedule",
       "map %i in 64 layout(reg() thread(64:d0 2) -> d0<64) {\n }"},
      {"scheduled", "gemm %s, %s[0 : +32, 0 : +32] -> %s", "has no atom",
       "gemm %s, %s[0 : +32, 0 : +32] -> %s atom(cuda fma)"},
  };
  for (const Case &c : cases) {
    INFO(c.bad << " | " << c.good);
    auto bad = messages("    " + std::string(c.bad) + "\n", c.phase);
    auto good = messages("    " + std::string(c.good) + "\n", c.phase);
    CHECK(good == std::vector<std::string>{});
    REQUIRE(!bad.empty());
    CHECK_THAT(bad[0], Catch::Contains(c.message));
  }
}

TEST_CASE("rules of tile ops") {
  const Case cases[] = {
      {"tile", "copy %s -> %f", "differ in rank: 2 and 1", "copy %s[0 : +64, 0] -> %f"},
      {"tile", "copy %s -> %A[0 : +64, 0 : +16]", "differ in extent 1",
       "copy %s -> %A[0 : +64, 0 : +32]"},
      {"tile", "copy %A[0 : +64, 0 : +32] -> %s[0 : +1, 0 : +32]", "differ in extent 0",
       "copy %A[0 : +1, 0 : +32] -> %s"},
      {"tile", "copy %f -> %R", "differ in extent 0", "copy %R -> %f[0 : +8]"},
      {"tile", "copy %f[0 : +8] -> %R", "read only", "copy %f[0 : +8] -> %B[0 : +8]"},
      {"tile", "copy %s -> %A[0 : +64, 0 : +32] check_low(1)", "another length",
       "copy %s -> %A[0 : +64, 0 : +32] check_low(1, 1)"},
      {"tile", "gemm %s, %s -> %s", "differ in k: 32 and 64",
       "gemm %s, %s[0 : +32, 0 : +32] -> %s"},
      {"tile", "gemm %s, %s[0 : +32, 0 : +16] -> %s", "C is not [m, n]",
       "gemm %s, %s[0 : +32, 0 : +16] -> %s[0 : +64, 0 : +16]"},
      {"tile", "gemm %f, %s -> %s", "is no matrix",
       "gemm %s, %s[0 : +16, 0 : +32] -> %s[0 : +64, 0 : +16] transpose_b"},
      {"tile", "gemm %A[0 : +%M, 0 : +32], %s[0 : +32, 0 : +32] -> %s", "not constant",
       "gemm %A[%M : +64, 0 : +32], %s[0 : +32, 0 : +32] -> %s"},
      {"tile", "fill %s = %tx", "another dtype", "fill %s = 0.0"},
      {"tile", "reduce sum %s -> %f axis(2)", "no such axis", "reduce sum %s -> %f axis(1)"},
      {"tile", "reduce sum %s -> %f axis(0)", "differ in extent 0",
       "reduce sum %s -> %f[0 : +32] axis(0)"},
      {"tile", "reduce sum %s -> %s axis(1)", "is not 1",
       "reduce sum %s -> %s[0 : +64, 0 : +1] axis(1)"},
      {"tile", "scan sum %s -> %f axis(0)", "differ in rank", "scan sum %s -> %s axis(0)"},
      {"tile", "scan min %s -> %s axis(0)", "sums and maxima", "scan max %s -> %s axis(0)"},
      {"tile", "atomic_tile add %f value(1.0)", "global and shared",
       "atomic_tile add %B[0 : +64] from(%f)"},
      {"tile", "atomic_tile add %B[0 : +64] from(%s)", "differ in rank",
       "atomic_tile add %B[0 : +64] value(1.0)"},
      {"tile", "reducer update sum %f element(%B[0]) value(1.0)", "another buffer",
       "reducer update sum %f element(%f[0]) value(1.0)"},
      {"tile", "map %i in 4, %j: i64 in 4 {\n store %s[%i, %j] = 0.0\n copy %s -> %s\n }",
       "the body of a map", "map %i in 4, %j: i64 in 4 {\n store %s[%i, %j] = 0.0\n }"},
      {"scheduled", "convert %s -> %f", "between fragments", "convert %f -> %f"},
  };
  for (const Case &c : cases) {
    INFO(c.bad << " | " << c.good);
    auto bad = messages("    " + std::string(c.bad) + "\n", c.phase);
    auto good = messages("    " + std::string(c.good) + "\n", c.phase);
    CHECK(good == std::vector<std::string>{});
    REQUIRE(!bad.empty());
    CHECK_THAT(bad[0], Catch::Contains(c.message));
  }
}

TEST_CASE("binding and dominance") {
  Context context;
  DiagnosticEngine diagnostics;
  auto make = [&] {
    return parseFunction(
        context,
        kernel("    let %x = %tx + 1\n    if %x < 3 {\n      alloc %l: local i32[4]\n"
               "      store %l[%x] = %x\n    }\n    store %one[] = %x\n",
               "tile"),
        diagnostics);
  };
  auto f = make();
  REQUIRE(f);
  CHECK(faults(*f).empty());
  Block &body = f->launches[0]->body;
  auto message = [&] {
    auto found = faults(*f);
    return found.empty() ? std::string() : found[0].message;
  };
  auto indexOf = [&](StmtKind kind) {
    return std::find_if(body.begin(), body.end(), [&](auto &s) { return s->kind == kind; });
  };
  SECTION("a use before the binding") {
    std::rotate(indexOf(StmtKind::Let), indexOf(StmtKind::Let) + 1, body.end());
    CHECK_THAT(message(), Catch::Contains("%x in the condition is not bound here"));
  }
  SECTION("two bindings") {
    body.push_back(cloneStmt(**indexOf(StmtKind::Let)));
    CHECK_THAT(message(), Catch::Contains("%x is bound twice"));
  }
  SECTION("a use behind the block of its alloc") {
    auto &branch = cast<IfStmt>(**indexOf(StmtKind::If));
    body.push_back(std::move(branch.then.back()));
    branch.then.pop_back();
    CHECK_THAT(message(), Catch::Contains("%l in the target is not allocated here"));
  }
  SECTION("missing parts") {
    cast<LetStmt>(**indexOf(StmtKind::Let)).value = {};
    CHECK_THAT(message(), Catch::Contains("the value is missing: let %x: i32 = <null>"));
  }
  SECTION("launches") {
    f->launches[0]->blockVars.clear();
    CHECK_THAT(message(), Catch::Contains("one block variable per extent"));
  }
}

TEST_CASE("what a while condition binds is known in the body") {
  CHECK(messages("    while {\n load %x = %one[]\n } test %x < 3 {\n store %one[] = %x + 1\n }\n",
                 "tile")
            .empty());
}
