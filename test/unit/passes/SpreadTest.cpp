// spread-tiles and the axis along which it cuts.
#include "TextKernel.h"

#include "passes/plan/SpreadAxis.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

std::string launch(const std::string &body, const std::string &params = "") {
  return "func @k(%X: global f32[%M, 64] readonly, %Y: global f32[%M, 64] out" + params +
         ") dims(%M) {\n  launch grid(%M) threads(64) blocks(%b) tid(%tid) {\n"
         "    alloc %x: fragment f32[64]\n    alloc %m: fragment f32[1]\n" +
         body + "  }\n}\n";
}

const char *load = "    copy %X[%b : +1 dropped, 0 : +64] -> %x\n";
const char *store = "    copy %x -> %Y[%b : +1 dropped, 0 : +64]\n";
const char *largest = "    reduce max %x -> %m\n";
const char *less = "    map %i in 64 {\n      load %a = %x[%i]\n      load %c = %m[0]\n"
                   "      store %x[%i] = %a - %c\n    }\n";

/// The function with its launch's tiles shared out to `blocks`.
void spread(TextKernel &k, int blocks, std::vector<std::string> passes) {
  passes::ScheduleError error;
  auto given =
      passes::parseSchedule("launch k {\n  spread " + std::to_string(blocks) + "\n}\n", error);
  REQUIRE(given);
  k.schedule = *given;
  k.schedule.given = true;
  k.mustRun(std::move(passes));
}

std::string faultOf(const std::string &text) {
  TextKernel k(text, "sm90");
  passes::SpreadAxis axis = passes::findSpreadAxis(*k.function->launches[0]);
  CHECK_FALSE(axis);
  return axis.fault;
}

} // namespace

TEST_CASE("tiles shared out to a cluster hold the same values") {
  for (int blocks : {2, 4, 8}) {
    TextKernel k(launch(std::string(load) + largest + less + store), "sm90");
    spread(k, blocks, {"bounds", "plan", "spread-tiles"});
    CHECK(k.function->launches[0]->cluster[0] == blocks);
    CHECK(k.contains("alloc %x: fragment f32[" + std::to_string(64 / blocks) + "]"));
    k.checkSame({3});
  }
}

TEST_CASE("threads of a cluster give each other what they have found") {
  TextKernel k(launch(std::string(load) + largest + less + store), "sm90");
  spread(k, 4, {});
  CHECK(k.contains("call @put_cluster"));
  k.checkSame({3});
}

TEST_CASE("what all blocks of a cluster have is stored by the first, and loops wait for readers") {
  std::string body = "    for %k in 0 .. 3 {\n" + std::string(load) + largest + less + store +
                     "      copy %m -> %Z[%b : +1 dropped, %k : +1]\n    }\n";
  TextKernel k(launch(body, ", %Z: global f32[%M, 3] out"), "sm90");
  spread(k, 2, {"bounds", "plan", "spread-tiles"});
  CHECK(k.contains("if %rank == 0 {"));
  std::size_t meetings = 0;
  for (BarrierStmt *barrier : k.all<BarrierStmt>())
    meetings += barrier->scope == BarrierScope::Cluster;
  CHECK(meetings == 2); // before the parts are written again, and when they are there
  k.checkSame({2});
}

TEST_CASE("no block arrives early where others meet before all wait for it") {
  // The loop's barriers come first, and it may have no rounds.
  std::string body = std::string(load) + "    for %k in 0 .. %M {\n" + largest + less + "    }\n" +
                     "    reduce sum %x -> %m\n" + less + store;
  TextKernel k(launch(body), "sm90");
  spread(k, 4, {"bounds", "plan", "spread-tiles"});
  std::vector<BarrierMode> modes;
  for (BarrierStmt *barrier : k.all<BarrierStmt>())
    modes.push_back(barrier->mode);
  CHECK(modes == std::vector<BarrierMode>(4, BarrierMode::Both));
  k.checkSame({2});
}

TEST_CASE("places of what other blocks write are nobody else's") {
  // %early is dead when %parts is first used here, but the other block may be there before.
  for (const char *callee : {"put_cluster", "own_business"}) {
    TextKernel k("func @k(%Y: global f32[2] out) phase(thread) {\n"
                 "  launch grid(2) threads(32) cluster(2) blocks(%b) tid(%tid) {\n"
                 "    alloc %early: shared f32[2]\n    alloc %parts: shared f32[2]\n"
                 "    store %early![0] = 1.0\n    load %e = %early![0]\n    barrier cluster\n"
                 "    call @" +
                     std::string(callee) +
                     "(write %parts![%b] : 1, 1 - %b, %e) effect\n    barrier cluster\n"
                     "    load %x = %parts![1 - %b]\n    store %Y![%b] = %x\n  }\n}\n",
                 "sm90");
    k.mustRun({"plan-shared"});
    auto allocs = k.all<AllocStmt>();
    REQUIRE(allocs.size() == 2);
    bool apart = allocs[0]->buffer->sharedOffset != allocs[1]->buffer->sharedOffset;
    CHECK(apart == (std::string(callee) == "put_cluster"));
  }
}

TEST_CASE("a digit of a longer index moves down") {
  Context context;
  Expr b = context.var("b", Scalar::Int32), t = context.var("t", Scalar::Int32),
       own = context.var("u", Scalar::Int32), e = context.var("e", Scalar::Int32);
  CHECK(passes::narrowedIndex(b * 512 + t * 8 + e + 129, t, own, 8, 16, 4) ==
        b * 128 + own * 8 + e + 33);
}

TEST_CASE("programs whose tiles are not cut") {
  const std::string plain = std::string(load) + largest + less + store;
  CHECK(faultOf(launch(std::string(load) + store)) ==
        "no reduction runs over a dim that could be cut");
  CHECK(faultOf(launch(plain + "    barrier\n")).find("does more than") != std::string::npos);
  CHECK(faultOf(launch(std::string(load) + largest +
                       "    map %i in 64 {\n      load %a = %x[63 - %i]\n"
                       "      store %Y[%b, %i] = %a\n    }\n")) ==
        "no reduction runs over a dim that could be cut");
  CHECK(faultOf(launch(std::string(load) + largest +
                       "    map %i in 64 {\n      load %a = %x[%i]\n      store %m[0] = %a\n"
                       "    }\n" +
                       store)) == "`m` gets values of all blocks");
  CHECK(faultOf(launch(plain + "    map %i in 64 {\n      load %a = %Y[%b, %i]\n"
                               "      store %x[%i] = %a\n    }\n")) == "`Y` is read and written");
  CHECK(faultOf(launch(std::string(load) + largest +
                       "    map %i in 64, %j in 64 {\n      load %a = %x[%i]\n"
                       "      load %c = %x[%j]\n      store %Y[%b, %i] = %a + %c\n    }\n")) ==
        "a loop runs over it twice");
  CHECK(faultOf(launch(std::string(load) + largest +
                       "    alloc %s: shared f32[64]\n"
                       "    map %i in 64 {\n      load %a = %x[%i]\n      store %s[%i // 2] = %a\n"
                       "    }\n" +
                       store)) == "`s` has elements of several blocks in one place");
  CHECK(faultOf(launch(plain + "    store %Y[%b, %tid] = 1.0\n")) ==
        "the program asks for its thread");
}
