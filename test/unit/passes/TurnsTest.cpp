// alternate-tiles, and what specialize-warps makes of its launches.
#include "TextKernel.h"

#include "passes/LaunchConstants.h"
#include "passes/prepare/TileTurns.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

/// Products of `edge` rows and columns, and 64 deep, with `finish` behind them.
std::string product(const std::string &finish, int edge = 64, const std::string &rounds = "",
                    const std::string &result = "f16") {
  const std::string e = std::to_string(edge);
  return "func @k(%A: global f16[%M, %K], %B: global f16[%N, %K], %C: global " + result +
         "[%M, %N] out) dims(%M, %N, %K) {\n  constraint %K % 8 == 0, \"whole vectors\"\n"
         "  constraint %N % 8 == 0, \"whole vectors\"\n"
         "  launch @main grid((%N + " +
         e + " - 1) // " + e + ", (%M + " + e + " - 1) // " + e +
         ") threads(256) blocks(%bx, %by) tid(%tid) {\n"
         "    alloc %s: shared f16[" +
         e + ", 64]\n    alloc %t: shared f16[" + e +
         ", 64]\n"
         "    alloc %c: fragment f32[" +
         e + ", " + e +
         "]\n    fill %c = 0.0\n"
         "    for %k in 0 .. " +
         (rounds.empty() ? "(%K + 63) // 64" : rounds) +
         " pipelined stages(3) {\n"
         "      copy %A[%by * " +
         e + " : +" + e +
         ", %k * 64 : +64] -> %s\n"
         "      copy %B[%bx * " +
         e + " : +" + e +
         ", %k * 64 : +64] -> %t\n"
         "      gemm %s, %t -> %c transpose_b\n    }\n" +
         finish + "    copy %c -> %C[%by * " + e + " : +" + e + ", %bx * " + e + " : +" + e +
         "]\n  }\n}\n";
}

std::string elementwise(int edge, const std::string &value) {
  const std::string e = std::to_string(edge);
  return "    map %i in " + e + ", %j in " + e + " {\n      load %x = %c[%i, %j]\n" +
         "      store %c[%i, %j] = " + value + "\n    }\n";
}

const char *sigmoid = "%x / (exp2(%x * -1.5) + 1.0)";

/// Whether a call with such sizes takes turns on a device of 132 multiprocessors.
bool gains(const std::string &text, std::int64_t m, std::int64_t n, std::int64_t k) {
  TextKernel kernel(text, "sm90");
  Function &function = *kernel.function;
  Launch &launch = *function.launches[0];
  passes::PassContext pass{kernel.target, kernel.diagnostics, kernel.schedule, {}};
  const passes::TileRounds rounds = passes::roundsForTurns(function, launch, pass);
  const Expr gain = rounds ? passes::gainsByTurns(function, launch, rounds) : Expr();
  if (!gain)
    return false;
  Context &context = *function.context;
  Substitution known{{passes::multiprocessors(function), context.int32(132)}};
  const std::int64_t sizes[] = {m, n, k};
  for (std::size_t d = 0; d < function.dims.size(); ++d)
    known.emplace_back(function.dims[d].var, context.int32(sizes[d]));
  return *substitute(gain, known).constant() != 0;
}

} // namespace

TEST_CASE("tiles taken in turns hold the same values") {
  TextKernel k(product(elementwise(64, sigmoid)), "sm90");
  passes::ScheduleError error;
  auto given = passes::parseSchedule(
      "launch main {\n  loop k stages 3\n  specialize yes\n  persistent yes alternate\n}\n", error);
  INFO(error.message);
  REQUIRE(given);
  k.schedule = *given;
  k.schedule.given = true;
  SECTION("as roles") {
    k.mustRun({"alternate-tiles", "bounds", "select-copies", "select-atoms", "plan", "persist",
               "split-copies", "specialize-warps"});
  }
  SECTION("as threads") { k.mustRun(); }
  CHECK(k.function->launches[0]->alternates);
  CHECK(k.all<RoleStmt>().size() >= 3);
  // Four blocks: no tile, one for each, one more, several; no round, fewer than stages, more.
  for (std::int64_t rows : {1, 64, 256, 300, 700})
    for (std::int64_t depth : {0, 64, 200, 456})
      k.checkSame({rows, 64, depth}, {}, 1e-2);
}

TEST_CASE("turns gain where it takes long to finish a tile of 128 x 128") {
  const std::string sigmoids = product(elementwise(128, sigmoid), 128),
                    wide = product("", 128, "", "f32");
  CHECK(gains(sigmoids, 4096, 4096, 1024));
  CHECK(gains(wide, 4096, 4096, 1024));
  CHECK_FALSE(gains(product("", 128), 4096, 4096, 1024));
  CHECK_FALSE(gains(product(elementwise(128, "%x + 1.0"), 128), 4096, 4096, 1024));
  CHECK_FALSE(gains(product(elementwise(64, sigmoid), 64), 4096, 4096, 1024));
  SECTION("but not of products that take much longer, or are over sooner") {
    CHECK(gains(wide, 8192, 8192, 256));
    CHECK_FALSE(gains(wide, 4096, 4096, 4096));
    CHECK_FALSE(
        gains(product(elementwise(128, "tanh(%x) / exp2(%x)"), 128, "", "f32"), 8192, 8192, 256));
  }
  SECTION("but not of few tiles") {
    CHECK_FALSE(gains(wide, 2048, 2048, 1024));
    CHECK(gains(wide, 128, 128 * 4 * 132, 1024));
  }
  SECTION("but not where values come from other places of the tile") {
    auto finished = [](const std::string &other) {
      return product("    map %i in 128, %j in 64 {\n      load %x = %c[%i, %j]\n"
                     "      load %y = %c[" +
                         other +
                         "]\n      store %c[%i, %j] = %x / (exp2(%y * -1.5) + 1.0)\n    }\n",
                     128, "", "f32");
    };
    CHECK(gains(finished("%i, %j + 64"), 4096, 4096, 512));
    CHECK(gains(finished("%i, (%j + 32) % 128"), 4096, 4096, 512));
    CHECK_FALSE(gains(finished("%i, 127 - %j"), 4096, 4096, 512));
    CHECK_FALSE(gains(finished("%j, %i"), 4096, 4096, 512));
    CHECK_FALSE(
        gains(product("    for %g in 0 .. 4 {\n      map %i in 128, %j in 32 {\n"
                      "        load %x = %c[%i, %g * 32 + %j]\n"
                      "        store %c[%i, %g * 32 + %j] = %x * %x + 1.0\n      }\n    }\n",
                      128, "", "f32"),
              4096, 4096, 512));
    CHECK_FALSE(gains(product("    scan sum %c -> %c axis(1)\n", 128, "", "f32"), 4096, 4096, 512));
  }
  SECTION("but not of rows that begin within lines") { CHECK_FALSE(gains(wide, 4096, 4096, 1032)); }
}
