// Pipelined loops compute what plain ones do, for every trip count, and look as they should.
#include "TextKernel.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

/// C[32, 32] = A[32, K] B[K, 32], with `body` in front of the gemm's loop body.
std::string gemm(int stages, const std::string &loop = "", const std::string &after = "") {
  return R"(func @gemm(%A: global f16[32, %K], %B: global f16[%K, 32], %C: global f32[32, 32] out, %n: i32) dims(%K) {
  constraint %K % 16 == 0, "K % 16 == 0"
  launch grid(1) threads(32) blocks(%bx) tid(%tid) {
    alloc %A_s: shared f16[32, 16]
    alloc %B_s: shared f16[16, 32]
    alloc %C_l: fragment f32[32, 32]
    fill %C_l = 0.0
    for %ko in 0 .. %K // 16 pipelined stages()" +
         std::to_string(stages) + ") {\n" +
         (loop.empty() ? R"(      copy %A[0 : +32, %ko * 16 : +16] -> %A_s
      copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
      gemm %A_s, %B_s -> %C_l
)"
                       : loop) +
         "    }\n" + after + "    copy %C_l -> %C\n  }\n}\n";
}

const std::vector<std::string> front = {"simplify", "unroll",       "find-roles", "bounds",
                                        "plan",     "split-copies", "pipeline",   "simplify"};

void checkTrips(const std::string &text, const char *target, int most) {
  for (int trips = 0; trips <= most; ++trips) {
    TextKernel kernel(text, target);
    INFO(target << ", " << trips << " trips");
    kernel.mustRun(front);
    kernel.checkSame({trips * 16});
  }
}

} // namespace

TEST_CASE("the steady state of a pipelined gemm") {
  TextKernel kernel(gemm(3));
  kernel.mustRun(front);
  INFO(kernel.text());
  auto loops = kernel.all<ForStmt>();
  REQUIRE(loops.size() == 1);
  CHECK(loops[0]->kind == ForKind::Serial);
  REQUIRE(loops[0]->body.size() == 4);
  auto *wait = dynCast<AsyncStmt>(loops[0]->body[0].get());
  REQUIRE(wait);
  CHECK_FALSE(wait->commit);
  CHECK(wait->pending == 1);
  auto *guard = dynCast<IfStmt>(loops[0]->body[1].get());
  REQUIRE(guard);
  CHECK(guard->then.size() == 2);
  auto *commit = dynCast<AsyncStmt>(loops[0]->body[2].get());
  REQUIRE(commit);
  CHECK(commit->commit);
  CHECK(loops[0]->body[3]->kind == StmtKind::Gemm);
  for (CopyStmt *copy : kernel.all<CopyStmt>())
    if (copy->target.buffer->scope == Scope::Shared) {
      CHECK(copy->async);
      CHECK(copy->target.buffer->versions == 3);
    }
  CHECK_FALSE(kernel.reported(diag::NotPipelined));
}

TEST_CASE("any trip count, any number of stages") {
  for (int stages = 1; stages <= 4; ++stages)
    checkTrips(gemm(stages), "sm80", stages + 2);
  checkTrips(gemm(0), "sm80", 2);
}

TEST_CASE("register prefetch where there is no asynchronous copy") {
  TextKernel kernel(gemm(2), "sm75");
  kernel.mustRun(front);
  INFO(kernel.text());
  CHECK(kernel.all<AsyncStmt>().empty());
  auto loops = kernel.all<ForStmt>();
  REQUIRE(loops.size() == 1);
  // Stores of this iteration, then loads of the next, then arithmetic.
  REQUIRE(loops[0]->body.size() == 4);
  CHECK(loops[0]->body[0]->kind == StmtKind::Copy);
  CHECK(loops[0]->body[1]->kind == StmtKind::Copy);
  CHECK(loops[0]->body[2]->kind == StmtKind::If);
  CHECK(loops[0]->body[3]->kind == StmtKind::Gemm);
  for (int stages = 2; stages <= 3; ++stages) {
    checkTrips(gemm(stages), "sm75", stages + 2);
    checkTrips(gemm(stages), "gfx942", 3);
  }
}

TEST_CASE("guarded bodies") {
  // The copy and its use under one condition; a condition that is loaded.
  const char *guarded = R"(      load %skip = %A[0, %ko * 16]
      if %skip < 0.25 {
        copy %A[0 : +32, %ko * 16 : +16] -> %A_s
        copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
        gemm %A_s, %B_s -> %C_l
      }
)";
  TextKernel kernel(gemm(3, guarded));
  kernel.mustRun(front);
  INFO(kernel.text());
  CHECK_FALSE(kernel.reported(diag::NotPipelined));
  checkTrips(gemm(3, guarded), "sm80", 6);
  checkTrips(gemm(2, guarded), "sm75", 5);

  const char *early = R"(      load %skip = %A[0, %ko * 16]
      if %skip < 0.25 {
        continue
      }
      copy %A[0 : +32, %ko * 16 : +16] -> %A_s
      copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
      gemm %A_s, %B_s -> %C_l
)";
  checkTrips(gemm(3, early), "sm80", 6);

  // A tile that keeps its old contents when the guard is false may not get versions.
  const char *stale = R"(      if %ko % 2 == 0 {
        copy %A[0 : +32, %ko * 16 : +16] -> %A_s
      }
      copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
      gemm %A_s, %B_s -> %C_l
)";
  TextKernel kept(gemm(3, stale));
  kept.mustRun(front);
  for (CopyStmt *copy : kept.all<CopyStmt>())
    if (copy->target.buffer->name == "A_s")
      CHECK(copy->target.buffer->versions == 1);
  checkTrips(gemm(3, stale), "sm80", 6);
}

TEST_CASE("break drains what is in the air") {
  const char *leaving = R"(      copy %A[0 : +32, %ko * 16 : +16] -> %A_s
      copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
      gemm %A_s, %B_s -> %C_l
      if %ko == %n {
        break
      }
)";
  for (int at = 0; at < 5; ++at) {
    TextKernel kernel(gemm(3, leaving));
    kernel.mustRun(front);
    kernel.checkSame({5 * 16}, {static_cast<double>(at)});
  }
}

TEST_CASE("a tile that is read after the loop keeps the last contents") {
  const char *after = R"(    gemm %A_s, %B_s -> %C_l
)";
  for (int trips = 1; trips < 6; ++trips) {
    TextKernel kernel(gemm(3, "", after));
    kernel.mustRun(front);
    CHECK_FALSE(kernel.reported(diag::NotPipelined));
    kernel.checkSame({trips * 16});
  }
}

TEST_CASE("reads of the previous iteration are not pipelined away") {
  // The gemm uses what the iteration before loaded: the user's own prefetch.
  const char *behind = R"(      if %ko > 0 {
        gemm %A_s, %B_s -> %C_l
      }
      copy %A[0 : +32, %ko * 16 : +16] -> %A_s
      copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
)";
  checkTrips(gemm(3, behind), "sm80", 5);
}

TEST_CASE("copies that depend on what the loop writes stay where they are") {
  const char *dependent = R"(      copy %C[0 : +32, 0 : +32] -> %D_s
      copy %A[0 : +32, %ko * 16 : +16] -> %A_s
      copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
      gemm %A_s, %B_s -> %C_l
      copy %C_l -> %C
)";
  std::string text = gemm(2, dependent);
  text.insert(text.find("    alloc %C_l"), "    alloc %D_s: shared f32[32, 32]\n");
  TextKernel kernel(text);
  kernel.mustRun(front);
  for (CopyStmt *copy : kernel.all<CopyStmt>())
    if (copy->target.buffer->name == "D_s")
      CHECK_FALSE(copy->async);
}

TEST_CASE("two loops and a loop around them") {
  const std::string text =
      R"(func @two(%A: global f16[64, %K], %B: global f16[%K, 32], %C: global f32[64, 32] out) dims(%K) {
  constraint %K % 16 == 0, "K % 16 == 0"
  launch grid(1) threads(32) blocks(%bx) tid(%tid) {
    alloc %A_s: shared f16[32, 16]
    alloc %B_s: shared f16[16, 32]
    alloc %C_l: fragment f32[32, 32]
    for %m in 0 .. 2 {
      fill %C_l = 0.0
      for %ko in 0 .. %K // 16 pipelined stages(3) {
        copy %A[%m * 32 : +32, %ko * 16 : +16] -> %A_s
        copy %B[%ko * 16 : +16, 0 : +32] -> %B_s
        gemm %A_s, %B_s -> %C_l
      }
      for %ki in 0 .. %K // 16 pipelined stages(2) {
        copy %A[%m * 32 : +32, %ki * 16 : +16] -> %A_s
        copy %B[%ki * 16 : +16, 0 : +32] -> %B_s
        gemm %A_s, %B_s -> %C_l
      }
      copy %C_l -> %C[%m * 32 : +32, 0 : +32]
    }
  }
}
)";
  for (int trips = 0; trips < 5; ++trips) {
    TextKernel kernel(text);
    kernel.mustRun(front);
    CHECK_FALSE(kernel.reported(diag::NotPipelined));
    kernel.checkSame({trips * 16});
  }
}

TEST_CASE("order and stages as written") {
  std::string text = gemm(2);
  auto with = [&](const std::string &lists) {
    std::string copy = text;
    copy.insert(copy.find("stages(2)") + 9, " " + lists);
    return copy;
  };
  for (const char *lists :
       {"order(0, 1, 2) stage(0, 0, 1)", "order(1, 2, 0) stage(0, 0, 1)",
        "order(0, 1, 2) stage(0, 1, 2)", "stage(0, 0, 3)", "group((0, 1), (2)) stage(0, 2)"})
    checkTrips(with(lists), "sm80", 5);
  TextKernel wrong(with("order(0, 1, 2) stage(1, 1, 0)"));
  CHECK_FALSE(wrong.run(front));
  CHECK(wrong.reported(diag::PipelineOrder));
  TextKernel shorter(with("order(0, 1) stage(0, 1)"));
  CHECK_FALSE(shorter.run(front));
  CHECK(shorter.reported(diag::PipelineLists));
}

TEST_CASE("no pipeline on a CPU, and none without copies") {
  TextKernel cpu(gemm(3), "cpu");
  cpu.mustRun(front);
  REQUIRE(cpu.all<ForStmt>().size() == 1);
  CHECK(cpu.all<ForStmt>()[0]->kind == ForKind::Serial);
  CHECK(cpu.all<AsyncStmt>().empty());
  cpu.checkSame({48});
  TextKernel none(gemm(3, "      fill %C_l = 1.0\n"));
  none.mustRun(front);
  CHECK(none.reported(diag::NotPipelined));
}
