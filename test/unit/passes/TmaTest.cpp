// Copies by tensor maps, as the interpreter sees them before and after all passes.
#include "TextKernel.h"

#include <set>

using namespace tlc;
using namespace tlc::test;

namespace {

/// `body` loads %A into %s by tensor maps; what is loaded goes to %B by threads.
std::string roundTrip(const std::string &type, const std::string &shape, const std::string &tile,
                      const std::string &grid, const std::string &region) {
  return "func @k(%A: global " + type + shape + " readonly, %B: global " + type + shape +
         " out) dims(%M) {\n"
         "  launch grid(" +
         grid + ") threads(64) blocks(%bx) tid(%tid) {\n    alloc %s: shared " + type + tile +
         "\n    alloc %full: barrier u64[1]\n    mbar init %full[0] value(64)\n"
         "    copy %A" +
         region +
         " -> %s tma async barrier(%full[0])\n    mbar arrive %full[0]\n"
         "    mbar wait %full[0] value(0)\n    copy %s -> %B" +
         region + "\n  }\n}\n";
}

void checkRoundTrip(const std::string &type, const std::string &shape, const std::string &tile,
                    const std::string &grid, const std::string &region,
                    std::vector<std::int64_t> dims = {5}) {
  CAPTURE(type, shape, tile, region);
  TextKernel k(roundTrip(type, shape, tile, grid, region), "sm90");
  k.mustRun();
  CHECK(k.contains("tma_load_"));
  k.checkSame(std::move(dims));
}

} // namespace

TEST_CASE("loads by tensor maps bring what threads would") {
  for (const char *type : {"f16", "f32", "i8", "f64"})
    checkRoundTrip(type, "[64, 128]", "[32, 64]", "4", "[%bx // 2 * 32 : +32, %bx % 2 * 64 : +64]");
  // Edges in both dims; coordinates below 0.
  checkRoundTrip("f16", "[%M, 72]", "[16, 64]", "4", "[%bx // 2 * 16 : +16, %bx % 2 * 64 : +64]",
                 {21});
  checkRoundTrip("f32", "[%M, 24]", "[8, 32]", "2", "[%bx * 8 - 4 : +8, 0 - 8 : +32]", {9});
  // Narrow rows: 64, 32 and 48 bytes.
  checkRoundTrip("f16", "[64, 32]", "[16, 32]", "4", "[%bx * 16 : +16, 0 : +32]");
  checkRoundTrip("f16", "[64, 16]", "[16, 16]", "4", "[%bx * 16 : +16, 0 : +16]");
  checkRoundTrip("f16", "[64, 24]", "[16, 24]", "4", "[%bx * 16 : +16, 0 : +24]");
}

TEST_CASE("loads of 1 to 5 dims") {
  checkRoundTrip("f32", "[%M * 4]", "[1024]", "3", "[%bx * 1024 : +1024]", {600});
  checkRoundTrip("f16", "[4, 16, 64]", "[16, 64]", "4", "[%bx, 0 : +16, 0 : +64]");
  checkRoundTrip("f16", "[4, 16, 64]", "[2, 16, 64]", "2", "[%bx * 2 : +2, 0 : +16, 0 : +64]");
  checkRoundTrip("f16", "[16, 4, 64]", "[16, 64]", "4", "[0 : +16, %bx, 0 : +64]");
  checkRoundTrip("f16", "[2, 3, 16, 64]", "[16, 64]", "6", "[%bx // 3, %bx % 3, 0 : +16, 0 : +64]");
  checkRoundTrip("f16", "[2, 3, 2, 16, 64]", "[3, 16, 64]", "4",
                 "[%bx // 2, 0 : +3, %bx % 2, 0 : +16, 0 : +64]");
}

TEST_CASE("a ring of tiles between two roles") {
  TextKernel k("func @k(%A: global f16[256, 64] readonly, %B: global f16[256, 64] out) {\n"
               "  launch grid(1) threads(160) blocks(%bx) tid(%tid) {\n"
               "    alloc %s: shared f16[16, 64] versions(2)\n"
               "    alloc %full: barrier u64[2]\n    alloc %empty: barrier u64[2]\n"
               "    mbar init %full[0] value(1)\n    mbar init %full[1] value(1)\n"
               "    mbar init %empty[0] value(128)\n    mbar init %empty[1] value(128)\n"
               "    role 0 : +128 {\n      for %k in 0 .. 16 {\n"
               "        mbar wait %full[%k % 2] value(%k // 2 % 2)\n"
               "        copy %s@(%k % 2) -> %B[%k * 16 : +16, 0 : +64]\n"
               "        mbar arrive %empty[%k % 2]\n      }\n    }\n"
               "    role 128 : +1 {\n      for %k2 in 0 .. 16 {\n"
               "        mbar wait %empty[%k2 % 2] value(%k2 // 2 % 2 ^ 1)\n"
               "        copy %A[%k2 * 16 : +16, 0 : +64] -> %s@(%k2 % 2) tma async "
               "barrier(%full[%k2 % 2])\n"
               "        mbar arrive %full[%k2 % 2]\n      }\n    }\n  }\n}\n",
               "sm90");
  k.mustRun();
  // The hand-over is the program's: no barrier of threads is added, and the arrival goes with the
  // bytes.
  CHECK(k.contains("mbar arrive_expect"));
  CHECK(k.all<ir::BarrierStmt>().size() == 1);
  k.checkSame();
}

TEST_CASE("stores and additions by tensor maps") {
  TextKernel k("func @k(%A: global f16[48, 64] readonly, %B: global f16[40, 64] out, "
               "%S: global f32[8, 32], %T: global f32[8, 32] readonly) {\n"
               "  launch grid(3) threads(64) blocks(%bx) tid(%tid) {\n"
               "    alloc %s: shared f16[16, 64]\n    alloc %t: shared f32[8, 32]\n"
               "    copy %A[%bx * 16 : +16, 0 : +64] -> %s\n"
               "    copy %s -> %B[%bx * 16 : +16, 0 : +64] tma\n"
               "    copy %T -> %t\n    atomic_tile add %S from(%t) tma\n  }\n}\n",
               "sm90");
  k.mustRun();
  CHECK(k.contains("tma_store_2d"));
  CHECK(k.contains("tma_reduce_add_2d"));
  k.checkSame();
}

TEST_CASE("bytes of tiles that are handed over by hand are not used twice") {
  // Behind each other in the text, but at the same time in two roles.
  TextKernel k("func @k(%A: global f32[128] readonly, %B: global f32[128] out, "
               "%C: global f32[128] out) {\n"
               "  launch grid(1) threads(256) blocks(%bx) tid(%tid) {\n"
               "    alloc %x: shared f32[128]\n    alloc %y: shared f32[128]\n"
               "    role 0 : +128 {\n      copy %A -> %x\n      copy %x -> %B\n    }\n"
               "    role 128 : +128 {\n      copy %A -> %y\n      copy %y -> %C\n    }\n  }\n}\n",
               "sm90");
  k.mustRun();
  std::set<std::int64_t> places;
  for (auto *alloc : k.all<ir::AllocStmt>())
    if (alloc->buffer->scope == ir::Scope::Shared)
      places.insert(alloc->buffer->sharedOffset);
  CHECK(places.size() == 2);
  k.checkSame();
}
