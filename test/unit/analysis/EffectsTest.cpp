// Effects and the order they demand; which values and statements differ between threads.
#include "analysis/Effects.h"
#include "analysis/Collective.h"
#include "analysis/Copies.h"
#include "analysis/Uniformity.h"
#include "ir/Parse.h"
#include "ir/Print.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::ir;
using namespace tlc::analysis;

namespace {

struct Parsed {
  Context context;
  DiagnosticEngine diagnostics;
  std::unique_ptr<Function> function;

  explicit Parsed(const std::string &body) {
    function = parseFunction(
        context,
        "func @k(%A: global f16[%M, %N], %B: global f32[64] out, %X: global f32[64] norestrict, "
        "%Y: global f32[64] norestrict out, %n: i32) dims(%M, %N) {\n"
        "  constraint %N % 8 == 0, \"N % 8 == 0\"\n"
        "  launch grid(1) threads(64) blocks(%bx) thread_vars(%tx) tid(%tid) {\n"
        "    alloc %s: shared f16[64, 64]\n    alloc %f: fragment f32[64]\n"
        "    alloc %l: local f32[4]\n    alloc %i: local i32[]\n" +
            body + "  }\n}\n",
        diagnostics);
    for (const Diagnostic &d : diagnostics.diagnostics())
      FAIL(d.message);
    REQUIRE(function);
  }
  Block &body() { return function->launches[0]->body; }
  Stmt &at(std::size_t index) { return *body()[index + 4]; }
  Order order(std::size_t a, std::size_t b) {
    return orderBetween(effectsOf(at(a)), effectsOf(at(b)));
  }
};

} // namespace

TEST_CASE("what orders two statements") {
  Parsed p("    load %v = %B[%tid]\n"             // 0
           "    store %B[%tid] = %v\n"            // 1
           "    let %w = %v + 1.0\n"              // 2
           "    atomic add %B[0] value(%w)\n"     // 3
           "    load %x = %X[%tid]\n"             // 4
           "    store %Y[%tid] = %x\n"            // 5
           "    barrier user\n"                   // 6
           "    if %n > 3 {\n      exit\n    }\n" // 7
           "    fill %f = 0.0\n"                  // 8
           "    print \"x\" value(%w)\n");        // 9
  CHECK(has(p.order(0, 1), Order::Anti));
  CHECK(has(p.order(0, 1), Order::Flow)); // by %v
  CHECK(has(p.order(0, 2), Order::Flow));
  CHECK(p.order(1, 2) == Order::None);
  CHECK(has(p.order(1, 3), Order::Output));
  CHECK(has(p.order(3, 0), Order::Flow)); // an atomic is a write
  CHECK(has(p.order(4, 5), Order::Anti)); // the two tensors may be one
  CHECK(p.order(0, 4) == Order::None);
  CHECK(has(p.order(5, 6), Order::Control));
  CHECK(p.order(2, 6) == Order::None);
  CHECK(has(p.order(7, 8), Order::Control));
  CHECK(p.order(0, 8) == Order::None);
  CHECK(has(p.order(8, 9), Order::Control));
  CHECK_FALSE(effectsOf(p.at(7)).pure());
  CHECK(effectsOf(p.at(2)).pure());
}

TEST_CASE("breaks belong to the innermost loop") {
  Parsed p("    for %k in 0 .. 4 {\n      if %n > %k {\n        break\n      }\n    }\n"
           "    if %n > 3 {\n      store %i[] = 1\n    }\n");
  CHECK_FALSE(effectsOf(p.at(0)).breaks);
  const auto &loop = cast<ForStmt>(p.at(0));
  CHECK(effectsOf(loop.body).breaks);
  CHECK(effectsOf(p.at(1)).writesStorage(cast<AllocStmt>(*p.body()[3]).buffer));
}

TEST_CASE("values and statements that differ between threads") {
  Parsed p("    let %a = %tx * 2\n"                              // 0
           "    load %u = %B[%n]\n"                              // 1
           "    load %v = %B[%a]\n"                              // 2
           "    store %i[] = %n\n"                               // 3
           "    for %k in 0 .. %n {\n"                           // 4
           "      load %c = %i[]\n"                              //
           "      store %i[] = %c + 1\n"                         //
           "    }\n"                                             //
           "    if %v > 0.0 {\n      store %l[0] = 1.0\n    }\n" // 5
           "    load %d = %l[0]\n"                               // 6
           "    load %e = %i[]\n"                                // 7
           "    for %q in 0 .. 8 {\n"                            // 8
           "      if %tx == %q {\n        continue\n      }\n"   //
           "      store %B[%q] = 1.0\n"                          //
           "    }\n"                                             //
           "    atomic add %B[0] value(1.0) result(%old)\n");    // 9
  Uniformity uniformity(*p.function->launches[0]);
  auto var = [&](std::size_t index) {
    Expr result;
    forEachDefinition(std::as_const(p.at(index)), [&](Expr e) { result = e; });
    return result;
  };
  CHECK_FALSE(uniformity.uniform(var(0)));
  CHECK(uniformity.uniform(var(1)));
  CHECK_FALSE(uniformity.uniform(var(2)));
  CHECK_FALSE(uniformity.uniform(var(6))); // stored under a condition that differs
  CHECK(uniformity.uniform(var(7)));       // a counter that all threads keep alike
  CHECK_FALSE(uniformity.uniform(var(9)));
  CHECK_FALSE(uniformity.divergent(p.at(5)));
  const auto &branch = cast<IfStmt>(p.at(5));
  CHECK(uniformity.divergent(*branch.then[0]));
  CHECK(uniformity.cause(*branch.then[0]) == &branch);
  const auto &counting = cast<ForStmt>(p.at(4));
  CHECK_FALSE(uniformity.divergent(*counting.body[0]));
  // Behind a continue that only some take.
  const auto &leaky = cast<ForStmt>(p.at(8));
  CHECK(uniformity.divergent(*leaky.body[1]));
}

TEST_CASE("how wide a copy can be, and whether it can be asynchronous") {
  Parsed p("    copy %A[%n : +64, 0 : +64] -> %s bounds_known check_low(1, 0) check_high(1, 1)\n"
           "    copy %A[%n : +64, %bx * 4 : +64] -> %s bounds_known check_low(0, 0) "
           "check_high(0, 0)\n"
           "    copy %A[%n : +64, %n : +64] -> %s bounds_known check_low(0, 0) check_high(0, 0)\n"
           "    copy %A[%n : +64, 0 : +64] -> %s sync bounds_known check_low(0, 0) check_high(0, "
           "0)\n"
           "    copy %B[0 : +64] -> %s[0, 0 : +64] bounds_known check_low(0) check_high(0)\n");
  Ranges ranges(*p.function);
  auto copy = [&](std::size_t i) -> const CopyStmt & { return cast<CopyStmt>(p.at(i)); };
  const Target &sm80 = *findTarget("sm80"), &sm75 = *findTarget("sm75");
  CHECK(copyPieceBytes(copy(0), ranges) == 16);
  CHECK(copyPieceBytes(copy(1), ranges) == 8);
  CHECK(copyPieceBytes(copy(2), ranges) == 2);
  CHECK(canCopyAsync(copy(0), sm80, ranges));
  CHECK_FALSE(canCopyAsync(copy(0), sm75, ranges));
  CHECK(canCopyAsync(copy(1), sm80, ranges));
  CHECK_FALSE(canCopyAsync(copy(2), sm80, ranges));
  CHECK_FALSE(canCopyAsync(copy(3), sm80, ranges));
  CHECK_FALSE(canCopyAsync(copy(4), sm80, ranges)); // converts
}
