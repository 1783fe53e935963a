// Barriers: where they are needed (the interpreter reports races), and no more than that.
#include "TextKernel.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

unsigned barriersIn(const Block &block) {
  unsigned count = 0;
  walk(block, [&](const Stmt &stmt) {
    count += stmt.kind == StmtKind::Barrier;
    return true;
  });
  return count;
}

std::string gemm(int stages, int threads, int m = 64, int n = 64) {
  std::string M = std::to_string(m), N = std::to_string(n);
  return "func @gemm(%A: global f16[" + M + ", %K], %B: global f16[%K, " + N +
         "], %C: global f32[" + M + ", " + N +
         R"(] out) dims(%K) {
  constraint %K % 32 == 0, "K % 32 == 0"
  launch grid(1) threads()" +
         std::to_string(threads) + ") blocks(%bx) tid(%tid) {\n    alloc %A_s: shared f16[" + M +
         ", 32]\n    alloc %B_s: shared f16[32, " + N + "]\n    alloc %C_l: fragment f32[" + M +
         ", " + N +
         R"(]
    fill %C_l = 0.0
    for %ko in 0 .. %K // 32 pipelined stages()" +
         std::to_string(stages) + ") {\n      copy %A[0 : +" + M +
         ", %ko * 32 : +32] -> %A_s\n      copy %B[%ko * 32 : +32, 0 : +" + N +
         R"(] -> %B_s
      gemm %A_s, %B_s -> %C_l
    }
    copy %C_l -> %C
  }
}
)";
}

/// Thread code around `body`; one block of `threads`.
std::string thread(const std::string &body, int threads = 64) {
  return "func @k(%A: global f32[64], %C: global f32[64] out, %n: i32) phase(thread) {\n"
         "  launch grid(1) threads(" +
         std::to_string(threads) +
         ") blocks(%bx) tid(%tid) {\n"
         "    alloc %s: shared f32[128] at(0) version_bytes(512)\n"
         "    alloc %t: shared f32[128] at(512) version_bytes(512)\n" +
         body + "  }\n}\n";
}

unsigned barriersOf(const std::string &body, int threads = 64) {
  TextKernel kernel(thread(body, threads));
  kernel.mustRun({"insert-sync"});
  kernel.checkRuns();
  INFO(kernel.text());
  return barriersIn(kernel.function->launches[0]->body);
}

} // namespace

/// Barriers of a pipelined gemm: in its main loop, and in all.
std::pair<unsigned, unsigned> barriersOfGemm(const std::string &text) {
  TextKernel kernel(text);
  kernel.mustRun({}, "insert-sync");
  INFO(kernel.text());
  ForStmt *main = nullptr;
  for (ForStmt *loop : kernel.all<ForStmt>())
    if (loop->var->name == "ko")
      main = loop;
  REQUIRE(main);
  return {barriersIn(main->body), barriersIn(kernel.function->launches[0]->body)};
}

TEST_CASE("one barrier in each round of a pipelined gemm, and one before the first") {
  for (int stages = 2; stages <= 5; ++stages) {
    CHECK(barriersOfGemm(gemm(stages, 128)) == std::pair(1u, 2u));
    CHECK(barriersOfGemm(gemm(stages, 256, 128, 256)) == std::pair(1u, 2u));
  }
}

TEST_CASE("operands carried over the barrier have no races, whatever the trip count") {
  for (int trips : {0, 1, 2, 4}) {
    TextKernel kernel(gemm(3, 256, 128, 256));
    INFO(trips << " trips");
    kernel.mustRun({}, "insert-sync");
    kernel.checkSame({trips * 32});
  }
}

TEST_CASE("lowered gemms have no races, whatever the trip count") {
  for (const char *target : {"sm80", "sm75"})
    for (int stages = 0; stages <= 4; ++stages)
      for (int trips = 0; trips <= stages + 1; ++trips) {
        TextKernel kernel(gemm(stages, 128), target);
        INFO(target << ", " << stages << " stages, " << trips << " trips");
        kernel.mustRun({}, "insert-sync");
        kernel.checkSame({trips * 32});
      }
}

TEST_CASE("what a condition says of an index is not remembered beyond it") {
  // In the branch each thread has an element of its own; behind it, not if n is small.
  TextKernel kernel(thread("    if 63 <= %n {\n"
                           "      store %s![min(%tid, %n)] = 1.0\n"
                           "      load %a = %s![min(%tid, %n)]\n"
                           "      store %C![%tid] = %a\n"
                           "    }\n"
                           "    barrier user\n"
                           "    store %s![min(%tid, %n)] = 2.0\n"
                           "    load %b = %s![min(%tid, %n)]\n"
                           "    store %C![%tid] = %b\n"));
  kernel.mustRun({"insert-sync"});
  INFO(kernel.text());
  CHECK(barriersIn(kernel.function->launches[0]->body) == 2);
}

TEST_CASE("program order between threads") {
  // A neighbour's element.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %s![%tid] = %a\n"
                   "    load %b = %s![63 - %tid]\n"
                   "    store %C![%tid] = %b\n") == 1);
  // One's own.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %s![%tid] = %a\n"
                   "    load %b = %s![%tid]\n"
                   "    store %C![%tid] = %b\n") == 0);
  // Disjoint halves.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %s![%tid] = %a\n"
                   "    store %s![%tid + 64] = %a\n"
                   "    load %b = %s![%tid + 64]\n"
                   "    store %C![%tid] = %b\n") == 0);
  // The user's own barrier is enough.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %s![%tid] = %a\n"
                   "    barrier user\n"
                   "    load %b = %s![63 - %tid]\n"
                   "    store %C![%tid] = %b\n") == 1);
}

TEST_CASE("loop back-edges") {
  // Write, read of others, write again in the next round: two barriers.
  CHECK(barriersOf("    for %i in 0 .. 4 {\n"
                   "      load %a = %A![%tid]\n"
                   "      store %s![%tid] = %a + f32(%i)\n"
                   "      load %b = %s![63 - %tid]\n"
                   "      store %C![%tid] = %b\n"
                   "    }\n") == 2);
  // Two buffers in turn need one.
  const char *turns = "    alloc %r: shared f32[64] versions(2) at(1024) version_bytes(256)\n"
                      "    for %i in 0 .. 4 {\n"
                      "      load %a = %A![%tid]\n"
                      "      store %r@(%i % 2)![%tid] = %a + f32(%i)\n"
                      "      load %b = %r@(%i % 2)![63 - %tid]\n"
                      "      store %C![%tid] = %b\n"
                      "    }\n";
  CHECK(barriersOf(turns) == 1);
  // A while loop.
  CHECK(barriersOf("    alloc %c: local i32[] init(0)\n"
                   "    while {\n"
                   "      load %i = %c![0]\n"
                   "    } test %i < 3 {\n"
                   "      load %a = %A![%tid]\n"
                   "      store %s![%tid] = %a + f32(%i)\n"
                   "      load %b = %s![63 - %tid]\n"
                   "      store %C![%tid] = %b\n"
                   "      store %c![0] = %i + 1\n"
                   "    }\n") == 2);
}

namespace {

/// Stores to the elements `written`, in rounds %g of one operation, and loads from `read`, in
/// rounds %h of another.
std::string rounds(const std::string &written, const std::string &read, int count = 2) {
  std::string trips = std::to_string(count);
  return "    op 1: for %g in 0 .. " + trips +
         " unroll {\n"
         "      op 1: load %a = %A![%tid]\n"
         "      op 1: store %s![" +
         written + "] = %a\n    }\n    op 2: for %h in 0 .. " + trips +
         " unroll {\n"
         "      op 2: load %b = %s![" +
         read + "]\n      op 2: store %C![%tid] = %b\n    }\n";
}

/// The same by copies of eight elements of a thread: `write` of %g, what `waits`, `read` of %h.
unsigned barriersOfCopies(const std::string &write, const std::string &wait,
                          const std::string &read) {
  TextKernel kernel("func @k(%A: global f16[1024] readonly, %C: global f16[1024] out) "
                    "phase(thread) {\n"
                    "  launch grid(1) threads(64) blocks(%bx) tid(%tid) {\n"
                    "    alloc %s: shared f16[1024] at(0) version_bytes(2048) align(128)\n"
                    "    op 1: for %g in 0 .. 2 unroll {\n"
                    "      op 1: move %A![%g * 512 + %tid * 8] -> %s![" +
                    write +
                    "] count(8) async\n"
                    "    }\n"
                    "    async cp_async commit\n" +
                    wait +
                    "    op 2: for %h in 0 .. 2 unroll {\n"
                    "      op 2: alloc %v: local f16[8]\n"
                    "      op 2: move %s![" +
                    read +
                    "] -> %v![0] count(8)\n"
                    "      op 2: move %v![0] -> %C![%h * 512 + %tid * 8] count(8)\n"
                    "    }\n"
                    "  }\n}\n");
  kernel.mustRun({"insert-sync"});
  kernel.checkRuns();
  INFO(kernel.text());
  return barriersIn(kernel.function->launches[0]->body);
}

} // namespace

TEST_CASE("rounds of an operation that touch what the same thread has touched need no barrier") {
  CHECK(barriersOf(rounds("%g * 64 + %tid", "%h * 64 + %tid")) == 0);
  CHECK(barriersOf(rounds("%g * 64 + %tid", "(1 - %h) * 64 + %tid")) == 0);
  CHECK(barriersOf(rounds("%tid * 2 + %g", "%tid * 2 + 1 - %h")) == 0);
  CHECK(barriersOf(rounds("%g * 64 + (%tid // 8) * 8 + %tid % 8", "%h * 64 + %tid")) == 0);
  // Another thread's: a neighbour's, another order, the same places in another one.
  CHECK(barriersOf(rounds("%g * 64 + %tid", "%h * 64 + 63 - %tid")) == 1);
  CHECK(barriersOf(rounds("%g * 64 + %tid", "%tid * 2 + %h")) == 1);
  CHECK(barriersOf(rounds("%g * 64 + %tid", "(%h * 64 + %tid + 1) % 128")) == 1);
  CHECK(barriersOf(rounds("%g * 64 + (%tid // 8) * 8 + %tid % 8", "%h * 64 + (%tid % 8) * 8 + "
                                                                  "%tid // 8")) == 1);
  // Only the last thread's last round meets one.
  CHECK(barriersOf(rounds("%g * 64 + %tid", "min(%h * 64 + %tid, 126)")) == 1);
  // An element that nobody can tell.
  CHECK(barriersOf(rounds("%g * 64 + %tid", "(%h * 64 + %tid + %n) % 128")) == 1);
  // A loop around; with elements that go from thread to thread the rounds meet.
  CHECK(barriersOf("    for %i in 0 .. 3 {\n" + rounds("%g * 64 + %tid", "%h * 64 + %tid") +
                   "    }\n") == 0);
  CHECK(barriersOf("    for %i in 0 .. 3 {\n" +
                   rounds("%g * 64 + (%tid + %i) % 64", "%h * 64 + (%tid + %i) % 64") +
                   "    }\n") == 2);
}

TEST_CASE("threads that read what they have copied asynchronously wait for nobody else") {
  const std::string wait = "    async cp_async wait(0)\n";
  CHECK(barriersOfCopies("%g * 512 + %tid * 8", wait, "%h * 512 + %tid * 8") == 0);
  CHECK(barriersOfCopies("%g * 512 + %tid * 8", wait, "%h * 512 + 504 - %tid * 8") == 1);
  CHECK(barriersOfCopies("%g * 512 + %tid * 8", wait, "%tid * 16 + %h * 8") == 1);
  CHECK(barriersOfCopies("%tid * 16 + %g * 8", wait, "%tid * 16 + %h * 8") == 0);
  // What nobody waits for is waited for by all.
  CHECK(barriersOfCopies("%g * 512 + %tid * 8", "", "%h * 512 + %tid * 8") == 1);
  CHECK(barriersOfCopies("%g * 512 + %tid * 8", "    async cp_async wait(1)\n",
                         "%h * 512 + %tid * 8") == 1);
}

TEST_CASE("rounds that come back to what the same thread had need no barrier") {
  auto stored = [](const std::string &index) {
    return barriersOf("    load %a = %A![%tid]\n"
                      "    for %i in 0 .. 3 {\n"
                      "      for %j in 0 .. 6 {\n"
                      "        store %s![" +
                      index +
                      "] = %a\n"
                      "      }\n"
                      "    }\n");
  };
  CHECK(stored("%j % 2 * 64 + %tid") == 0);
  // Another thread's of the round before, of the inner loop or of the outer one.
  CHECK(stored("(%j * 63 + %tid) % 128") == 1);
  CHECK(stored("(%i * 63 + %j % 2 * 64 + %tid) % 128") == 1);
}

TEST_CASE("long kernels get no more barriers than short ones") {
  // In front of each loop a barrier is found first, and is superfluous once the loop has its own.
  std::string body;
  for (int i = 0; i < 30; ++i) {
    std::string n = std::to_string(i);
    body += "    for %i" + n + " in 0 .. 4 {\n      load %a" + n +
            " = %A![%tid]\n      store %s![%tid] = %a" + n + " + f32(%i" + n + ")\n      load %b" +
            n + " = %s![63 - %tid]\n      store %C![%tid] = %b" + n + "\n    }\n";
  }
  CHECK(barriersOf(body) == 60);
}

TEST_CASE("a barrier goes before the loop, not into it") {
  TextKernel kernel(thread("    load %a = %A![%tid]\n"
                           "    store %s![%tid] = %a\n"
                           "    alloc %sum: local f32[] init(0.0)\n"
                           "    for %i in 0 .. 64 {\n"
                           "      load %b = %s![%i]\n"
                           "      load %c = %sum![0]\n"
                           "      store %sum![0] = %b + %c\n"
                           "    }\n"
                           "    load %r = %sum![0]\n"
                           "    store %C![%tid] = %r\n"));
  kernel.mustRun({"insert-sync"});
  kernel.checkRuns();
  INFO(kernel.text());
  CHECK(barriersIn(kernel.function->launches[0]->body) == 1);
  CHECK(barriersIn(kernel.all<ForStmt>()[0]->body) == 0);
}

TEST_CASE("both arms of branches") {
  // Written in one arm only; read behind: one barrier behind the branch, where all threads come.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %s![%tid] = %a\n"
                   "    barrier user\n"
                   "    if %tid < 32 {\n"
                   "      store %s![%tid] = 1.0\n"
                   "    }\n"
                   "    load %b = %s![63 - %tid]\n"
                   "    store %C![%tid] = %b\n") == 2);
  // Needed inside of a uniform arm.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %t![%tid] = 0.0\n"
                   "    store %s![%tid] = 0.0\n"
                   "    if %n < 7 {\n"
                   "      store %s![%tid] = %a\n"
                   "      load %b = %s![63 - %tid]\n"
                   "      store %C![%tid] = %b\n"
                   "    } else {\n"
                   "      store %C![%tid] = 2.0\n"
                   "    }\n") == 1);
}

TEST_CASE("what is known of some threads says nothing of what others have done") {
  // Threads 32 to 63 write where threads 0 to 31 read, though %tid % 32 is %tid for these.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    if %tid >= 32 {\n"
                   "      store %s![%tid % 32] = %a\n"
                   "    }\n"
                   "    if %tid < 32 {\n"
                   "      load %b = %s![%tid % 32]\n"
                   "      store %C![%tid] = %b\n"
                   "    }\n") == 1);
  // The same threads, the same condition.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    if %tid < 32 {\n"
                   "      store %s![%tid % 32] = %a\n"
                   "      load %b = %s![%tid]\n"
                   "      store %C![%tid] = %b\n"
                   "    }\n") == 0);
}

TEST_CASE("what is known of the threads of one round says nothing of other rounds") {
  // Another thread stores to the same element in each round.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    for %r in 0 .. 2 {\n"
                   "      if %tid // 32 == %r {\n"
                   "        store %s![%tid % 32] = %a\n"
                   "      }\n"
                   "    }\n"
                   "    load %b = %s![%tid % 32]\n"
                   "    store %C![%tid] = %b\n") == 2);
  // The same one, whichever round it is.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    for %r in 0 .. 2 {\n"
                   "      if %tid // 32 == %r {\n"
                   "        store %s![%tid] = %a\n"
                   "      }\n"
                   "    }\n"
                   "    load %b = %s![%tid]\n"
                   "    store %C![%tid] = %b\n") == 0);
}

TEST_CASE("what cannot be ordered in divergent control is an error") {
  TextKernel kernel(thread("    load %a = %A![%tid]\n"
                           "    if %tid < 48 {\n"
                           "      store %s![%tid] = %a\n"
                           "      load %b = %s![47 - %tid]\n"
                           "      store %C![%tid] = %b\n"
                           "    }\n"));
  CHECK_FALSE(kernel.run({"insert-sync"}));
  CHECK(kernel.reported(diag::BarrierInDivergent));
  // What stands before the branch is ordered in front of it.
  CHECK(barriersOf("    load %a = %A![%tid]\n"
                   "    store %s![%tid] = %a\n"
                   "    if %tid < 48 {\n"
                   "      load %b = %s![47 - %tid]\n"
                   "      store %C![%tid] = %b\n"
                   "    }\n") == 1);
}

TEST_CASE("buffers that share bytes conflict") {
  TextKernel kernel("func @k(%A: global f32[64], %C: global f32[64] out) phase(thread) {\n"
                    "  launch grid(1) threads(64) blocks(%bx) tid(%tid) {\n"
                    "    alloc %s: shared f32[64] at(0) version_bytes(256)\n"
                    "    alloc %t: shared f32[64] at(0) version_bytes(256)\n"
                    "    load %a = %A![%tid]\n"
                    "    store %s![%tid] = %a\n"
                    "    load %b = %s![%tid]\n"
                    "    store %t![63 - %tid] = %b\n"
                    "    load %c = %t![63 - %tid]\n"
                    "    store %C![%tid] = %c\n"
                    "  }\n}\n");
  kernel.mustRun({"insert-sync"});
  kernel.checkRuns();
  CHECK(barriersIn(kernel.function->launches[0]->body) == 1);
}

TEST_CASE("roles get barriers of their own") {
  TextKernel kernel(thread("    load %a = %A![%tid]\n"
                           "    role 64 : +64 {\n"
                           "      store %s![%tid] = %a\n"
                           "      load %b = %s![191 - %tid]\n"
                           "      store %C![%tid - 64] = %b\n"
                           "    }\n",
                           128));
  kernel.mustRun({"insert-sync"});
  INFO(kernel.text());
  auto barriers = kernel.all<BarrierStmt>();
  REQUIRE(barriers.size() == 1);
  CHECK(barriers[0]->scope == BarrierScope::Named);
  CHECK(barriers[0]->count.isConstant(64));
}

TEST_CASE("tensors that a kernel writes and reads") {
  const std::string text =
      "func @k(%X: global f32[64] out, %C: global f32[64] out) phase(thread) {\n"
      "  launch grid(1) threads(64) blocks(%bx) tid(%tid) {\n"
      "    store %X![%tid] = f32(%tid)\n"
      "    load %a = %X![OTHER]\n"
      "    store %C![%tid] = %a\n"
      "  }\n}\n";
  auto with = [&](const std::string &index) {
    std::string copy = text;
    copy.replace(copy.find("OTHER"), 5, index);
    TextKernel kernel(copy);
    kernel.mustRun({"insert-sync"});
    kernel.checkRuns();
    return barriersIn(kernel.function->launches[0]->body);
  };
  CHECK(with("63 - %tid") == 1);
  CHECK(with("%tid") == 0);
}

TEST_CASE("no barriers where the program says that it has its own") {
  std::string text = thread("    load %a = %A![%tid]\n"
                            "    store %s![%tid] = %a\n"
                            "    load %b = %s![63 - %tid]\n"
                            "    store %C![%tid] = %b\n");
  text.insert(text.find("  launch"), "  option no_storage_sync\n");
  TextKernel kernel(text);
  kernel.mustRun({"insert-sync"});
  CHECK(kernel.all<BarrierStmt>().empty());
}
