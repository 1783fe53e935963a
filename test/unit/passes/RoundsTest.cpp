// Loops of products whose rounds are told apart do in each round what they did.
#include "TextKernel.h"

#include <limits>

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

/// O counts for each block and round, and each of `n` rounds from 1 on, what `condition` says.
std::string rounds(const std::string &condition) {
  return R"(func @rounds(%O: global i32[2048] out, %n: i32, %m: i32) phase(thread) {
  launch grid(4) threads(32) blocks(%bx) tid(%tid) {
    for %k in 1 .. min(%n, 15) {
      if )" +
         condition + R"( {
        store %O[(%bx * 16 + %k) * 32 + %tid] = %k + 100
      } else {
        store %O[(%bx * 16 + %k) * 32 + %tid] = %k
      }
      async wgmma commit
      async wgmma wait(0)
      load %o = %O[(%bx * 16 + %k) * 32 + %tid]
      store %O[(%bx * 16 + %k) * 32 + %tid] = %o + select(not ()" +
         condition + R"(), 1000, 2000)
    }
  }
}
)";
}

void checkRounds(const std::string &condition, std::size_t loops) {
  for (int n : {0, 1, 2, 5, 9})
    for (int m : {-7, -1, 0, 1, 4, 7, 30}) {
      TextKernel kernel(rounds(condition), "sm90");
      kernel.mustRun({"split-rounds", "simplify"});
      INFO(condition << ", n " << n << ", m " << m << "\n" << kernel.text());
      CHECK(kernel.all<ForStmt>().size() == loops);
      kernel.checkSame({}, {double(n), double(m)});
    }
}

} // namespace

TEST_CASE("rounds that a mask concerns are those behind the others") {
  checkRounds("%k * 4 + 3 > %bx * 8", 2);
  checkRounds("%k * 3 >= %m", 2);
  checkRounds("%m + %bx <= %k * 2 - 1", 2);
  checkRounds("%bx * 2 < %k * 5 - 9 or %k >= %m", 2);
  checkRounds("%bx * 2 < %k * 3 and %k * 2 >= %m", 2);
}

TEST_CASE("where a mask begins is found for limits at the ends of their type as well") {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  for (const char *condition :
       {"%k * 4 + 3 > %m", "%m <= %k", "%k - 1 >= %m", "%k * 3 > %m and %k > %bx",
        "%k * 8 > %m or %k * 2 > %bx * 5", "%k - %bx > %m"})
    for (std::int64_t m :
         {-largest - 1, -largest, -largest + 100, largest - 100, largest - 1, largest}) {
      TextKernel kernel(rounds(condition), "sm90");
      kernel.mustRun({"split-rounds", "simplify"});
      INFO(condition << ", m " << m << "\n" << kernel.text());
      CHECK(kernel.all<ForStmt>().size() == 2);
      kernel.checkSame({}, {9, double(m)});
    }
}

TEST_CASE("a mask is left out of no tile that a limit at the end of its type masks") {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  for (const char *condition :
       {"%i < %k * 8 + %j - %m", "%k * 8 + %j <= %m", "%i + %bx * 8 - %j < %m",
        "%m - %i >= %k * 8 + %j", "%k * 8 + %j - %m > %bx * 8 + %i"})
    for (std::int64_t m : {-largest + 40, std::int64_t(3), largest - 40, largest - 1, largest}) {
      TextKernel kernel(std::string(R"(func @tiles(%O: global f32[128, 8] out, %m: i32) {
  launch grid(4) threads(32) blocks(%bx) tid(%tid) {
    for %k in 0 .. 4 {
      alloc %S: fragment f32[8, 8]
      map %i in 8, %j in 8 {
        store %S[%i, %j] = select()") +
                            condition + R"(, 0.0, 1.0)
      }
      copy %S -> %O[(%bx * 4 + %k) * 8 : +8, 0 : +8]
    }
  }
}
)",
                        "sm90");
      kernel.mustRun({"guard-masks"});
      INFO(condition << ", m " << m << "\n" << kernel.text());
      CHECK(kernel.all<IfStmt>().size() == 1);
      kernel.checkSame({}, {double(m)});
    }
}

TEST_CASE("rounds that no single one divides stay together") {
  checkRounds("%k < %m", 1);
  checkRounds("%k * %k > %m", 1);
  checkRounds("%k >= %m or %k < 3", 1);
  checkRounds("%k % 2 > %m", 1);
}

TEST_CASE("what is done while a product runs is what was done behind it") {
  TextKernel kernel(R"(func @tail(%O: global f32[256] out, %n: i32) phase(thread) {
  launch grid(1) threads(128) blocks(%bx) tid(%tid) {
    alloc %a: local f32[2]
    alloc %b: local f32[2]
    alloc %c: local f32[2]
    for %z in 0 .. 2 unroll {
      store %a[%z] = 1.0
      store %b[%z] = 2.0
      store %c[%z] = 3.0
    }
    for %k in 0 .. %n {
      async wgmma commit
      async wgmma wait(0)
      alloc %d: local f32[2]
      for %f in 0 .. 2 unroll {
        load %w = %a[%f]
        store %d[%f] = %w + 1.0
      }
      for %g in 0 .. 2 unroll {
        load %x = %d[%g]
        store %a[%g] = 3.0 / %x + f32(%k)
      }
      let %t = %k * 2
      for %h in 0 .. 2 unroll {
        load %x1 = %b[%h]
        load %y1 = %a[1 - %h]
        store %b[%h] = %x1 + 1.0 / (%y1 + 2.0) + f32(%t)
      }
      for %i in 0 .. 2 unroll {
        load %x2 = %a[%i]
        store %a[%i] = 2.0 / (%x2 + 3.0)
      }
      for %j in 0 .. 2 unroll {
        load %x3 = %c[%j]
        load %y3 = %a[%j]
        store %c[%j] = %x3 * 0.5 + 1.0 / (%y3 + 4.0)
      }
    }
    for %s in 0 .. 2 unroll {
      load %x4 = %b[%s]
      load %y4 = %c[%s]
      store %O[%tid * 2 + %s] = %x4 + %y4 * 100.0
    }
  }
}
)",
                    "sm90");
  kernel.mustRun({"fill-waits"});
  INFO(kernel.text());
  // The update of %b needs %t and stays, and with it the second one of %a, which it reads before.
  auto loops = kernel.all<ForStmt>();
  REQUIRE(loops.size() == 8);
  std::vector<StmtKind> kinds;
  for (const StmtPtr &stmt : loops[1]->body)
    kinds.push_back(stmt->kind);
  kinds.resize(7);
  CHECK(kinds == std::vector<StmtKind>{StmtKind::Async, StmtKind::Alloc, StmtKind::For,
                                       StmtKind::For, StmtKind::Call, StmtKind::Call,
                                       StmtKind::Async});
  for (double n : {0, 1, 3})
    kernel.checkSame({}, {n});
}
