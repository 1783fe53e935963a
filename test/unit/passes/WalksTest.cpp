// Blocks that walk over tiles: persist, and what it makes possible, defer-stores and join-tiles.
#include "TextKernel.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

// ---- persist

namespace {

std::string walker(const std::string &grid, const std::string &blocks, const std::string &options,
                   const std::string &body) {
  return "func @k(%A: global f32[%M, 64], %B: global f32[%M, 64] out, %n: i32) dims(%M) {\n"
         "  launch grid(" +
         grid + ") threads(64)" + options + " blocks(" + blocks + ") tid(%tid) {\n" + body +
         "  }\n}\n";
}

void mustPersist(TextKernel &k, std::vector<std::string> names) {
  passes::ScheduleError error;
  k.schedule = *passes::parseSchedule("launch k {\n  persistent yes\n}\n", error);
  k.mustRun(std::move(names));
}

const char *rows = "    alloc %s: shared f32[2, 64]\n"
                   "    copy %A[%bx * 2 : +2, 0 : +64] -> %s\n"
                   "    copy %s -> %B[%bx * 2 : +2, 0 : +64]\n";

} // namespace

TEST_CASE("blocks become iterations") {
  auto text = walker("(%M + 1) // 2", "%bx", "", rows);
  for (std::int64_t m : {0, 1, 7, 600}) {
    TextKernel k(text);
    mustPersist(k, {"bounds", "plan", "persist"});
    CHECK(k.function->launches[0]->grid.size() == 1);
    CHECK(k.contains("multiprocessor_count"));
    k.checkSame({m}, {0});
    TextKernel whole(text);
    mustPersist(whole, {});
    whole.checkSame({m}, {0});
  }
}

TEST_CASE("two and three dims, in the order of the raster") {
  const char *tiles = "    if %by * 3 + %bx < %M {\n"
                      "      store %B[%by * 3 + %bx, %tid] = f32(%bx * 100 + %by)\n    }\n";
  const char *deep = "    if (%bz * 5 + %by) * 3 + %bx < %M {\n"
                     "      store %B[(%bz * 5 + %by) * 3 + %bx, %tid] = f32(%bz)\n    }\n";
  for (const char *raster : {"", " raster(2)", " raster(2 column)", " raster(7)"}) {
    INFO(raster);
    for (auto [grid, blocks, body] : {std::tuple("3, (%M + 2) // 3", "%bx, %by", tiles),
                                      {"3, 5, (%M + 14) // 15", "%bx, %by, %bz", deep}}) {
      TextKernel k(walker(grid, blocks, raster, body));
      mustPersist(k, {"bounds", "plan", "persist"});
      CHECK(k.function->launches[0]->raster.panel == 0);
      for (std::int64_t m : {0, 1, 14, 31})
        k.checkSame({m}, {0});
      k.mustRun({"simplify"});
      k.checkSame({31}, {0});
    }
  }
}

TEST_CASE("what cannot be persistent") {
  const std::pair<const char *, const char *> bodies[] = {
      {"", "    if %bx > %n {\n      exit\n    }\n    store %B[%bx, %tid] = 1.0\n"},
      {" cooperative", "    barrier grid\n    store %B[%bx, %tid] = 1.0\n"},
      {"", "    alloc %m: barrier u64[1]\n    store %B[%bx, %tid] = 1.0\n"},
  };
  for (auto [options, body] : bodies) {
    INFO(body);
    TextKernel k(walker("%M", "%bx", options, body), "sm90");
    passes::ScheduleError error;
    k.schedule = *passes::parseSchedule("launch k {\n  persistent yes\n}\n", error);
    CHECK_FALSE(k.run({"plan", "persist"}));
    CHECK(k.reported(diag::ScheduleMismatch));
  }
  // Only where it is asked for.
  TextKernel alone(walker("%M", "%bx", "", "    store %B[%bx, %tid] = 1.0\n"), "sm90");
  alone.mustRun({"plan", "persist"});
  CHECK_FALSE(alone.contains("multiprocessor_count"));
}

TEST_CASE("tiles are counted with 32 bits, so the launcher refuses more") {
  std::string text = walker("%M, %M", "%bx, %by", "",
                            "    if %bx == %by {\n      store %B[%bx, %tid] = 1.0\n    }\n");
  TextKernel k(text);
  mustPersist(k, {"bounds", "plan", "persist"});
  CHECK(k.all<ForStmt>().front()->var.dtype() == DType(Scalar::Int32));
  CHECK(k.contains("<= 1073741824, \"at most 2^30 tiles\""));
  k.checkSame({9}, {0});
}

// ---- defer-stores

namespace {

/// A product of run-time sizes whose blocks walk over tiles of 128 x `n`; `rounds` along k.
std::string walked(const std::string &rounds, std::int64_t n, const std::string &extra = "") {
  std::string N = std::to_string(n);
  return "func @k(%A: global f16[%M, %K], %B: global f16[%K, %N], %C: global f16[%M, %N] out) "
         "dims(%M, %N, %K) {\n"
         "  constraint %N % 8 == 0, \"N % 8 == 0\"\n  constraint %K % 8 == 0, \"K % 8 == 0\"\n"
         "  launch grid((%N + " +
         std::to_string(n - 1) + ") // " + N +
         ", (%M + 127) // 128) threads(256) blocks(%bx, %by) tid(%tid) {\n"
         "    alloc %a: shared f16[128, 64]\n    alloc %b: shared f16[64, " +
         N + "]\n    alloc %c: fragment f32[128, " + N +
         "]\n    fill %c = 0.0\n    for %ko in 0 .. " + rounds +
         " pipelined stages(2) {\n"
         "      copy %A[%by * 128 : +128, %ko * 64 : +64] -> %a\n"
         "      copy %B[%ko * 64 : +64, %bx * " +
         N + " : +" + N + "] -> %b\n      gemm %a, %b -> %c\n    }\n" + extra +
         "    copy %c -> %C[%by * 128 : +128, %bx * " + N + " : +" + N + "]\n  }\n}\n";
}

std::vector<std::string> upToDeferring() {
  return {"bounds",       "select-atoms",     "plan",         "persist",
          "split-copies", "specialize-warps", "stage-stores", "defer-stores"};
}

const char *allRounds = "(%K + 63) // 64";

} // namespace

TEST_CASE("a tile leaves while the next one is computed") {
  const std::string doubled = "    map %i in 128, %j in 128 {\n      load %x = %c[%i, %j]\n"
                              "      store %c[%i, %j] = %x * 2.0 + f32(%bx)\n    }\n";
  for (auto [n, extra] :
       {std::pair<std::int64_t, std::string>{128, ""}, {64, ""}, {128, doubled}}) {
    INFO(n << extra);
    // Loads for several blocks at once are not interpreted, nor wanted in another launch.
    passes::ScheduleError error;
    auto alone = *passes::parseSchedule("launch k {\n  persistent yes\n}\n", error);
    alone.given = true;
    TextKernel k(walked(allRounds, n, extra), "sm90");
    k.schedule = alone;
    k.mustRun(upToDeferring());
    CHECK(k.schedule.launches[0].stores[0].deferred);
    CHECK(k.contains("if " + std::to_string(n / 64) + " <= max((%K + 63) // 64, 0) {"));
    CHECK(k.contains("clear(true)"));
    TextKernel lowered(walked(allRounds, n, extra), "sm90");
    lowered.schedule = alone;
    lowered.mustRun();
    for (const BarrierStmt *barrier : lowered.all<BarrierStmt>())
      CHECK(barrier->scope != BarrierScope::Named);
    // No round, fewer than pieces, as many, more; one tile, and more than there are blocks.
    for (std::int64_t rounds : {0, 1, 2, 3})
      for (std::int64_t m : {100, 700}) {
        k.checkSame({m, 136, rounds * 64}, {}, 2e-2);
        lowered.checkSame({m, 136, rounds * 64}, {}, 2e-2);
      }
  }
}

TEST_CASE("where tiles differ in their rounds, none leaves later") {
  TextKernel k(walked("min((%K + 63) // 64, %by + 1)", 128), "sm90");
  k.mustRun(upToDeferring());
  CHECK_FALSE(k.schedule.launches[0].stores[0].deferred);
  CHECK_FALSE(k.contains("finished"));
  TextKernel given(walked("min((%K + 63) // 64, %by + 1)", 128), "sm90");
  passes::ScheduleError error;
  given.schedule = *passes::parseSchedule("launch k {\n  store C tensor deferred\n}\n", error);
  CHECK_FALSE(given.run(upToDeferring()));
  CHECK(given.reported(diag::ScheduleMismatch));
  // Nor without a walk.
  TextKernel once(walked(allRounds, 128), "sm90");
  once.schedule = *passes::parseSchedule("launch k {\n  persistent no\n}\n", error);
  once.mustRun(upToDeferring());
  CHECK_FALSE(once.schedule.launches[0].stores[0].deferred);
}

// ---- join-tiles

namespace {

/// Rows of scores, their sums and products with values; `rounds` along the keys, `finish` behind.
std::string chained(const std::string &rounds) {
  return "func @k(%Q: global f16[256, 64] readonly, %K: global f16[256, 64] readonly, "
         "%V: global f16[256, 64] readonly, %O: global f32[256, 64] out) dims(%n: i32) {\n"
         "  launch grid(2) threads(256) blocks(%bx) tid(%tid) {\n"
         "    alloc %q: shared f16[128, 64]\n    alloc %k: shared f16[64, 64]\n"
         "    alloc %v: shared f16[64, 64]\n    alloc %s_l: fragment f32[128, 64]\n"
         "    alloc %p: fragment f16[128, 64]\n    alloc %o: fragment f32[128, 64]\n"
         "    alloc %sum: fragment f32[128]\n    alloc %scale: fragment f32[128]\n"
         "    copy %Q[%bx * 128 : +128, 0 : +64] -> %q\n"
         "    fill %o = 0.0\n    fill %sum = 1.0\n    fill %scale = 0.5\n"
         "    for %i in 0 .. " +
         rounds +
         " pipelined stages(2) {\n"
         "      copy %K[%i * 64 : +64, 0 : +64] -> %k\n"
         "      gemm %q, %k -> %s_l transpose_b clear(true) policy(full_row)\n"
         "      reduce abs_sum %s_l -> %sum axis(1) accumulate\n"
         "      map %r1 in 128 {\n        load %x1 = %sum[%r1]\n"
         "        store %scale[%r1] = 1.0 / (%x1 + 1.0)\n      }\n"
         "      copy %s_l -> %p\n"
         "      map %r2 in 128, %c2 in 64 {\n        load %x2 = %o[%r2, %c2]\n"
         "        load %f = %scale[%r2]\n        store %o[%r2, %c2] = %x2 * %f\n      }\n"
         "      copy %V[%i * 64 : +64, 0 : +64] -> %v\n"
         "      gemm %p, %v -> %o policy(full_row)\n    }\n"
         "    map %r3 in 128 {\n      load %x3 = %sum[%r3]\n      store %sum[%r3] = %x3 + 2.0\n    "
         "}\n"
         "    map %r in 128, %c in 64 {\n      load %x = %o[%r, %c]\n      load %s = %sum[%r]\n"
         "      store %o[%r, %c] = %x / %s\n    }\n    copy %o -> %O[%bx * 128 : +128, 0 : +64]\n  "
         "}\n}\n";
}

std::vector<std::string> upToJoining() {
  return {"bounds",           "select-atoms",     "plan",         "persist",      "split-copies",
          "specialize-warps", "overlap-products", "stage-stores", "defer-stores", "join-tiles"};
}

} // namespace

TEST_CASE("tiles that are joined come to the same") {
  passes::ScheduleError error;
  const auto join = *passes::parseSchedule("launch k {\n  persistent yes join\n}\n", error);
  for (const char *rounds : {"%n", "%bx + 1", "min(%n, 3)"})
    for (std::int64_t n : {1, 2, 4}) {
      INFO(rounds << ", n " << n);
      TextKernel k(chained(rounds), "sm90");
      k.schedule = join;
      k.mustRun(upToJoining());
      CHECK(k.schedule.launches[0].joined);
      CHECK(k.contains("_done"));
      TextKernel lowered(chained(rounds), "sm90");
      lowered.schedule = join;
      lowered.mustRun();
      lowered.checkSame({n}, {}, 2e-2);
    }
}

TEST_CASE("tiles without products are not joined, and that is told") {
  passes::ScheduleError error;
  TextKernel k(chained("%n - %bx"), "sm90");
  k.schedule = *passes::parseSchedule("launch k {\n  persistent yes join\n}\n", error);
  CHECK_FALSE(k.run(upToJoining()));
  CHECK(k.reported(diag::ScheduleMismatch));
  CHECK_FALSE(k.schedule.launches[0].joined);
  CHECK_FALSE(k.contains("_done"));
}
