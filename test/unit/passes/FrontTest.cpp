// unroll, find-roles, bounds, plan and the schedule's text.
#include "TextKernel.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

std::string kernel(const std::string &body, int threads = 256) {
  return "func @k(%A: global f32[%M, 64] safe(7.0), %B: global f32[128, 64] out, %n: i32) "
         "dims(%M) {\n  launch grid((%M + 31) // 32) threads(" +
         std::to_string(threads) +
         ") blocks(%bx) thread_vars(%tx) tid(%tid) {\n"
         "    alloc %s: shared f32[32, 64]\n    alloc %f: fragment f32[32, 64]\n"
         "    alloc %l: local f32[4]\n" +
         body + "  }\n}\n";
}

} // namespace

TEST_CASE("explicit unrolling") {
  TextKernel k(kernel("    for %i in 0 .. 6 step(2) unroll expand {\n"
                      "      let %x = %i * %n\n"
                      "      store %B[%i, %tid % 64] = f32(%x)\n"
                      "    }\n"));
  k.mustRun({"unroll"});
  CHECK(k.all<ForStmt>().empty());
  CHECK(k.all<StoreStmt>().size() == 3);
  k.checkSame({32});
  TextKernel large(kernel("    for %i in 0 .. 100000 unroll expand {\n"
                          "      store %B[0, %i % 64] = 1.0\n    }\n"));
  CHECK_FALSE(large.run({"unroll"}));
  CHECK(large.reported(diag::UnrollTooLarge));
}

TEST_CASE("ranges of threads become roles") {
  TextKernel k(kernel("    if %tx < 128 {\n"
                      "      fill %s = 1.0\n"
                      "    } else {\n"
                      "      if %tx // 64 == 2 {\n"
                      "        fill %f = 2.0\n"
                      "      }\n"
                      "    }\n"
                      "    if %tx >= 64 and %n > 3 {\n"
                      "      fill %f = 3.0\n"
                      "    }\n"
                      "    if %tx == 5 {\n"
                      "      store %B[0, 0] = 1.0\n"
                      "    }\n"));
  k.mustRun({"find-roles"});
  auto roles = k.all<RoleStmt>();
  INFO(k.text());
  REQUIRE(roles.size() == 4);
  CHECK((roles[0]->first == 0 && roles[0]->count == 128));
  CHECK((roles[1]->first == 128 && roles[1]->count == 128));
  CHECK((roles[2]->first == 0 && roles[2]->count == 64)); // counted within its role
  CHECK((roles[3]->first == 64 && roles[3]->count == 192));
  CHECK(k.all<IfStmt>().size() == 2); // n > 3, and the one thread
}

TEST_CASE("collectives under other thread-dependent conditions are refused") {
  for (const char *body : {"    if %tx < 100 {\n      fill %s = 1.0\n    }\n",
                           "    if %tx < 100 {\n      barrier user\n    }\n",
                           "    for %i in 0 .. %tx {\n      fill %s = 1.0\n    }\n",
                           "    load %x = %A[%tx, 0]\n    if %x < 1.0 {\n      copy %s -> %f\n"
                           "    }\n"}) {
    TextKernel k(kernel(body));
    CHECK_FALSE(k.run({"find-roles"}));
    CHECK(k.reported(diag::CollectiveInDivergent));
  }
  // Per-thread copies are no collectives; uniform conditions are no divergence.
  TextKernel fine(kernel("    if %tx < 100 {\n"
                         "      copy %A[%tx, 0 : +4] -> %l\n"
                         "    }\n"
                         "    load %x = %A[%bx, 0]\n"
                         "    if %x < 1.0 {\n      fill %s = 1.0\n    }\n"));
  fine.mustRun({"find-roles"});
}

TEST_CASE("accesses are proven or marked") {
  TextKernel k(kernel("    copy %A[%bx * 32 : +32, 0 : +64] -> %s\n"
                      "    copy %A[%n : +32, 0 : +64] -> %s\n"
                      "    copy %s -> %B[32 : +32, 0 : +64]\n"
                      "    load %x = %A[%bx * 32 + %tid // 64, %tid % 64]\n"
                      "    store %B[%n, %tid % 64] = %x if(%n >= 0 and %tid < 64 and %bx == 0)\n"
                      "    load %y = %A[0, 0]\n"
                      "    store %B[%tid // 64, 0] = %y if(%tid % 64 == 0 and %bx == 0)\n"));
  k.mustRun({"bounds"});
  INFO(k.text());
  auto copies = k.all<CopyStmt>();
  CHECK(copies[0]->checkLow == std::vector<bool>{false, false});
  CHECK(copies[0]->checkHigh == std::vector<bool>{true, false});
  CHECK(copies[1]->checkLow == std::vector<bool>{true, false});
  CHECK(copies[1]->checkHigh == std::vector<bool>{true, false});
  CHECK(copies[2]->checkHigh == std::vector<bool>{false, false});
  auto loads = k.all<LoadStmt>();
  REQUIRE(loads[0]->predicate);
  CHECK(print(loads[0]->predicate).find("<") != std::string::npos);
  CHECK(loads[0]->otherwise->real == 7.0);
  // The block exists, so M is at least 1.
  CHECK_FALSE(loads[1]->predicate);
  auto stores = k.all<StoreStmt>();
  REQUIRE(stores[0]->predicate);
  CHECK(print(stores[0]->predicate).find("< 128") != std::string::npos);
  CHECK(print(stores[1]->predicate).find("<") == std::string::npos);
  for (std::int64_t m : {1, 31, 32, 70})
    k.checkSame({m}, {100});
}

TEST_CASE("divisible dims need no marks") {
  std::string text = kernel("    copy %A[%bx * 32 : +32, 0 : +64] -> %s\n");
  text.insert(text.find("  launch"), "  constraint %M % 64 == 0, \"M % 64 == 0\"\n");
  TextKernel k(text);
  k.mustRun({"bounds"});
  CHECK(k.all<CopyStmt>()[0]->checkHigh == std::vector<bool>{false, false});
}

TEST_CASE("what is certainly outside") {
  TextKernel tile(kernel("    map %i in 32 {\n      store %s[%i + 32, 0] = 1.0\n    }\n"));
  CHECK_FALSE(tile.run({"bounds"}));
  CHECK(tile.reported(diag::TileOutOfRange));
  TextKernel box(kernel("    fill %s[8 : +32, 0 : +64] = 0.0\n"));
  CHECK_FALSE(box.run({"bounds"}));
  CHECK(box.reported(diag::TileOutOfRange));
  TextKernel global(kernel("    copy %s -> %B[128 : +32, 0 : +64]\n"));
  CHECK(global.run({"bounds"}));
  CHECK(global.reported(diag::GlobalOutOfRange));
}

TEST_CASE("plans print and parse") {
  const std::string body = "    for %ko in 0 .. %M pipelined stages(1) {\n"
                           "      copy %A[%ko : +32, 0 : +64] -> %s\n"
                           "      copy %s -> %f\n"
                           "    }\n"
                           "    for %ki in 0 .. %M pipelined stages(0) {\n"
                           "      copy %A[%ki : +32, 0 : +64] -> %s\n"
                           "    }\n";
  TextKernel k(kernel(body));
  k.mustRun({"plan"});
  REQUIRE(k.schedule.launches.size() == 1);
  REQUIRE(k.schedule.launches[0].loops.size() == 2);
  CHECK(k.schedule.launches[0].loops[0].stages == 2); // 8 KiB more cost nothing
  CHECK(k.schedule.launches[0].loops[1].stages == 0);
  CHECK(k.schedule.launches[0].loops[1].binding);
  std::string text = passes::printSchedule(k.schedule);
  passes::ScheduleError error;
  auto read = passes::parseSchedule(text, error);
  REQUIRE(read);
  CHECK(read->launches[0].loops[0].stages == 2);
  CHECK(read->launches[0].name == "k");

  // As written, hints are binding.
  std::string bound = kernel(body);
  bound.insert(bound.find("  launch"), "  option binding_hints\n");
  TextKernel written(bound);
  written.mustRun({"plan"});
  CHECK(written.schedule.launches[0].loops[0].stages == 1);

  // A file decides; one for another kernel is refused.
  TextKernel given(kernel(body));
  given.schedule =
      *passes::parseSchedule("launch k {\n  raster row 4\n  loop ko stages 4\n}\n", error);
  given.mustRun({"plan"});
  CHECK(given.schedule.launches[0].loops[0].stages == 4);
  CHECK(given.function->launches[0]->raster.panel == 4);
  TextKernel other(kernel(body));
  other.schedule = *passes::parseSchedule("launch k {\n  loop kx stages 4\n}\n", error);
  CHECK_FALSE(other.run({"plan"}));
  CHECK(other.reported(diag::ScheduleMismatch));
  CHECK_FALSE(passes::parseSchedule("launch k {\n  loop ko 3\n}\n", error));
  CHECK(error.line == 2);
  CHECK_FALSE(passes::parseSchedule("launch k {\n", error));
}

TEST_CASE("all that a schedule can say survives printing and parsing") {
  const std::string text = "kernel k\n"
                           "launch k {\n"
                           "  raster column 2\n"
                           "  min_blocks 2\n"
                           "  loop ko stages 3\n"
                           "  gemm atom mma_m16n8k16_f16_f16_f32 warps 2 2\n"
                           "  store C staged\n"
                           "  store D direct\n"
                           "  store E tensor columns 64 buffers 2 deferred\n"
                           "  store F tensor\n"
                           "  cluster 2 1\n"
                           "  persistent yes\n"
                           "  specialize no\n"
                           "}\n"
                           "kernel two\n"
                           "launch other {\n"
                           "  specialize yes split\n"
                           "}\n"
                           "kernel three\n"
                           "launch silent {\n"
                           "}\n";
  passes::ScheduleError error;
  auto read = passes::parseSchedule(text, error);
  REQUIRE(read);
  CHECK(passes::printSchedule(*read) == text);
  CHECK_FALSE(read->launches[1].raster);
  passes::Schedule two = passes::scheduleFor(*read, "two");
  REQUIRE(two.launches.size() == 1);
  CHECK(two.launches[0].name == "other");
  CHECK((!read->launches[0].split && two.launches[0].split));
  CHECK_FALSE(read->launches[2].specialize);
  for (const char *line :
       {"store C", "store C both", "store C staged columns 64", "store C tensor columns",
        "store C tensor rows 3", "store C direct deferred", "store C tensor buffers 0", "cluster 2",
        "cluster 0 1", "persistent", "persistent maybe", "specialize 1", "specialize no split",
        "specialize yes two"}) {
    INFO(line);
    CHECK_FALSE(passes::parseSchedule(std::string("launch k {\n  ") + line + "\n}\n", error));
    CHECK(error.line == 2);
  }
}

TEST_CASE("what a schedule does not mention is left as planned") {
  TextKernel k(kernel("    fill %s = 1.0\n"));
  passes::ScheduleError error;
  k.function->launches[0]->raster.panel = 8;
  k.schedule = *passes::parseSchedule("launch k {\n  persistent no\n}\n", error);
  k.mustRun({"plan"});
  CHECK(k.function->launches[0]->raster.panel == 8);
  CHECK(k.schedule.launches[0].persistent == false);
  CHECK_FALSE(k.schedule.launches[0].specialize);

  TextKernel wide(kernel("    fill %s = 1.0\n"), "sm90");
  wide.schedule = *passes::parseSchedule("launch k {\n  cluster 2 1\n}\n", error);
  wide.mustRun({"plan"});
  CHECK(wide.function->launches[0]->cluster == std::array<std::int64_t, 3>{2, 1, 1});
  TextKernel none(kernel("    fill %s = 1.0\n"), "sm80");
  none.schedule = wide.schedule;
  CHECK_FALSE(none.run({"plan"}));
  CHECK(none.reported(diag::ScheduleCluster));
}

TEST_CASE("tiles that nobody reads are left out, and what is stored is what was") {
  TextKernel kernel(R"(func @k(%A: global f16[256, 32], %C: global f16[256, 32] out) {
  launch grid(4) threads(64) blocks(%bx) tid(%tid) {
    alloc %a: shared f16[64, 32]
    alloc %aside: shared f16[64, 32]
    alloc %mine: fragment f16[64, 32]
    alloc %twice: fragment f32[64, 32]
    copy %A[%bx * 64 : +64, 0 : +32] -> %a
    copy %a -> %mine
    copy %mine -> %twice
    copy %mine -> %aside
    map %i in 64, %j in 32 {
      load %x = %mine[%i, %j]
      store %aside[%i, %j] = %x * 2.0
      store %mine[%i, %j] = %x + 1.0
    }
    if %bx > 1 {
      fill %aside = 0.0
    }
    copy %mine -> %C[%bx * 64 : +64, 0 : +32]
  }
}
)",
                    "sm90");
  kernel.mustRun({"unread-tiles"});
  INFO(kernel.text());
  CHECK_FALSE(kernel.contains("%aside"));
  CHECK_FALSE(kernel.contains("%twice"));
  CHECK(kernel.all<CopyStmt>().size() == 3);
  CHECK(kernel.all<IfStmt>().empty());
  REQUIRE(kernel.function->launches.front()->notes.size() == 2);
  kernel.checkSame();
  kernel.mustRun();
  kernel.checkSame();
}
