// Planted faults are reported, and their clean twins are not.
#include "Programs.h"

using namespace tlc;
using namespace tlc::interpret;

namespace {

std::string kernel(const std::string &body, const std::string &launch = "grid(1) threads(64)",
                   const std::string &phase = "") {
  return "func @k(%A: global f32[64, 64], %B: global f32[64, 64] out, %N: global i32[64])" + phase +
         " {\n  launch " + launch + " blocks(%bx) thread_vars(%tx) tid(%tid) {\n" + body +
         "  }\n}\n";
}

Result runBody(const std::string &body, const std::string &launch = "grid(1) threads(64)",
               const std::string &phase = "") {
  Kernel k(kernel(body, launch, phase));
  Tensor a = random(Scalar::Float32, {64, 64}), b(Scalar::Float32, {64, 64}),
         n(Scalar::Int32, {64});
  for (int i = 0; i < 64; ++i)
    n.setInteger(i, i / 2);
  return k.run({a, b, n});
}

struct Fault {
  const char *name, *bad, *good;
  ReportKind kind;
  const char *message;
  const char *launch = "grid(1) threads(64)";
};

void check(const std::vector<Fault> &faults, const std::string &phase = "") {
  for (const Fault &f : faults) {
    INFO(f.name);
    Result bad = runBody(f.bad, f.launch, phase), good = runBody(f.good, f.launch, phase);
    INFO("bad:\n" << bad.text() << "good:\n" << good.text());
    CHECK(good.ok());
    bool isFound = false;
    for (const Report &r : bad.reports)
      isFound |= r.kind == f.kind && r.message.find(f.message) != std::string::npos &&
                 r.message.find("kernel @k") != std::string::npos;
    CHECK(isFound);
  }
}

} // namespace

TEST_CASE("faults of tile programs") {
  check({
      {"two points write one element",
       "alloc %s: shared f32[64]\nmap %i in 64 {\n store %s[%i // 2] = f32(%i)\n}\n",
       "alloc %s: shared f32[64]\nmap %i in 64 {\n store %s[%i] = f32(%i)\n}\n", ReportKind::Race,
       "points 0 and 1 of a map touch %s[0]"},
      {"two points far apart write one element",
       "map %i in 64, %j in 64 {\n store %B[%i, %j // 33] = 1.0\n}\n",
       "map %i in 64, %j in 64 {\n store %B[%j, %i] = 1.0\n}\n", ReportKind::Race,
       "of a map touch %B"},
      {"a point reads what another writes",
       "alloc %s: shared f32[65]\nfill %s = 0.0\nmap %i in 64 {\n load %x = %s[%i + 1]\n store "
       "%s[%i] = %x\n}\n",
       "alloc %s: shared f32[65]\nfill %s = 0.0\nmap %i in 64 {\n load %x = %s[%i]\n store %s[%i] "
       "= %x + 1.0\n}\n",
       ReportKind::Race, "the second writes"},
      {"a point reads what an earlier one wrote",
       "alloc %s: shared f32[65]\nfill %s = 0.0\nmap %i in 64 {\n load %x = %s[%i]\n store %s[%i + "
       "1] = %x\n}\n",
       "alloc %s: shared f32[65]\nfill %s = 0.0\nmap %i in 64 {\n load %x = %s[64]\n store %s[%i] "
       "= %x\n}\n",
       ReportKind::Race, "of a map touch %s"},
      {"points add without atomics",
       "map %i in 64 {\n load %x = %B[0, 0]\n store %B[0, 0] = %x + 1.0\n}\n",
       "map %i in 64 {\n atomic add %B[0, 0] value(1.0)\n}\n", ReportKind::Race, "points"},
      {"threads store different values", "alloc %s: shared i32[1]\nstore %s[0] = %tx\n",
       "alloc %s: shared i32[1]\nstore %s[0] = %bx + 3\n", ReportKind::Race,
       "threads 0 and 1 store different values into %s[0]"},
      {"blocks write one element", "store %B[0, 0] = f32(%bx)\n", "store %B[%bx, 0] = f32(%bx)\n",
       ReportKind::Race, "two blocks", "grid(4) threads(64)"},
      {"a block reads what another writes", "load %x = %B[0, 1]\nstore %B[0, %bx] = %x + 1.0\n",
       "load %x = %A[0, 1]\nstore %B[0, %bx] = %x + 1.0\n", ReportKind::Race, "another block",
       "grid(4) threads(64)"},
      {"a fragment is read before it is written",
       "alloc %f: fragment f32[64]\nmap %i in 64 {\n load %x = %f[%i]\n store %B[0, %i] = %x\n}\n",
       "alloc %f: fragment f32[64]\nfill %f = 1.0\nmap %i in 64 {\n load %x = %f[%i]\n store %B[0, "
       "%i] = %x\n}\n",
       ReportKind::Undefined, "point 0 reads %f[0], which was not written"},
      {"an accumulator is not cleared",
       "alloc %s: shared f32[64, 64]\nalloc %c: fragment f32[64, 64]\ncopy %A -> %s\ngemm %s, %s "
       "-> %c\ncopy %c -> %B\n",
       "alloc %s: shared f32[64, 64]\nalloc %c: fragment f32[64, 64]\ncopy %A -> %s\ngemm %s, %s "
       "-> %c clear(true)\ncopy %c -> %B\n",
       ReportKind::Undefined, "%c[0, 0]"},
      {"undefined values reach global memory",
       "alloc %s: shared f32[64, 64]\ncopy %A[0 : +32, 0 : +64] -> %s[0 : +32, 0 : +64]\ncopy %s "
       "-> %B\n",
       "alloc %s: shared f32[64, 64]\ncopy %A[0 : +32, 0 : +64] -> %s[0 : +32, 0 : +64]\ncopy %s[0 "
       ": +32, 0 : +64] -> %B[0 : +32, 0 : +64]\n",
       ReportKind::Undefined, "%s[32, 0]"},
      {"contents do not outlive the next allocation",
       "for %k in 0 .. 2 {\n alloc %s: shared f32[4]\n if %k == 0 {\n fill %s = 1.0\n }\n load %x "
       "= %s[0]\n store %B[0, 0] = %x\n}\n",
       "alloc %s: shared f32[4]\nfor %k in 0 .. 2 {\n if %k == 0 {\n fill %s = 1.0\n }\n load %x = "
       "%s[0]\n store %B[0, 0] = %x\n}\n",
       ReportKind::Undefined, "%s[0]"},
      {"a local variable without a value",
       "alloc %v: local i32[]\nload %x = %v[]\nstore %B[%tx, 0] = f32(%x)\n",
       "alloc %v: local i32[] init(2)\nload %x = %v[]\nstore %B[%tx, 0] = f32(%x)\n",
       ReportKind::Undefined, "thread 0 reads %v"},
      {"shared memory is left",
       "alloc %s: shared f32[64]\nmap %i in 64 {\n store %s[%i + 1] = 0.0\n}\n",
       "alloc %s: shared f32[65]\nmap %i in 64 {\n store %s[%i + 1] = 0.0\n}\n",
       ReportKind::OutOfRange, "point 63 writes %s[64]"},
      {"a tile leaves shared memory",
       "alloc %s: shared f32[64, 64]\nfill %s[1 : +64, 0 : +64] = 0.0\n",
       "alloc %s: shared f32[64, 64]\nfill %s[0 : +64, 0 : +64] = 0.0\n", ReportKind::OutOfRange,
       "a tile to write leaves %s"},
      {"a collective in a divergent branch",
       "alloc %s: shared f32[64]\nif %tx < 32 {\n fill %s = 0.0\n}\n",
       "alloc %s: shared f32[64]\nif %bx < 32 {\n fill %s = 0.0\n}\n", ReportKind::Divergence,
       "only 32 of 64 threads"},
      {"a barrier in a divergent branch", "if %tx < 32 {\n barrier user\n}\n", "barrier user\n",
       ReportKind::Divergence, "only 32 of 64 threads"},
      {"an offset that differs between threads",
       "alloc %s: shared f32[64]\ncopy %A[%tx, 0 : +64] -> %s\n",
       "alloc %s: shared f32[64]\ncopy %A[%bx, 0 : +64] -> %s\n", ReportKind::Divergence,
       "an offset differs between threads 0 and 1"},
      {"an assertion", "assert %tx < 63, \"small\"\n", "assert %tx < 64, \"small\"\n",
       ReportKind::Assertion, "thread 63: assertion failed: small"},
      {"user's C text", "source \"nop();\"\n", "barrier\n", ReportKind::Unsupported, "C text"},
      {"a read before the copy is complete",
       "alloc %s: shared f32[64, 64]\ncopy %A -> %s async\nasync cp_async commit\ncopy %s -> %B\n",
       "alloc %s: shared f32[64, 64]\ncopy %A -> %s async\nasync cp_async commit\nasync cp_async "
       "wait(0)\ncopy %s -> %B\n",
       ReportKind::NotComplete, "which an asynchronous operation still writes"},
      {"a wait that leaves the group open",
       "alloc %s: shared f32[64, 64]\ncopy %A -> %s async\nasync cp_async commit\nasync cp_async "
       "wait(1)\ncopy %s -> %B\n",
       "alloc %s: shared f32[64, 64]\ncopy %A -> %s async\nasync cp_async commit\nasync cp_async "
       "commit\nasync cp_async wait(1)\ncopy %s -> %B\n",
       ReportKind::NotComplete, "still writes"},
      {"nobody arrives",
       "alloc %bar: barrier u64[1]\nmbar init %bar[0] value(64)\nmbar wait %bar[0] value(0)\n",
       "alloc %bar: barrier u64[1]\nmbar init %bar[0] value(64)\nmbar arrive %bar[0]\nmbar wait "
       "%bar[0] value(0)\n",
       ReportKind::Deadlock, "waits for parity 0 of %bar, which lacks 64 arrivals"},
      {"a version that does not exist",
       "alloc %s: shared f32[4] versions(2)\nstore %s@2[0] = 1.0\n",
       "alloc %s: shared f32[4] versions(2)\nstore %s@1[0] = 1.0\n", ReportKind::OutOfRange,
       "of version 2"},
  });
}

TEST_CASE("faults of thread programs") {
  check(
      {
          {"no barrier between warps",
           "alloc %s: shared i32[64]\nstore %s[%tid] = %tid\nload %x = %s[63 - %tid]\nstore "
           "%B[%tid] = f32(%x)\n",
           "alloc %s: shared i32[64]\nstore %s[%tid] = %tid\nbarrier\nload %x = %s[63 - "
           "%tid]\nstore %B[%tid] = f32(%x)\n",
           ReportKind::Race, "without a barrier between them"},
          {"no barrier between lanes",
           "alloc %s: shared i32[32]\nstore %s[%tid] = %tid\nload %x = %s[31 - %tid]\nstore "
           "%B[%tid] = f32(%x)\n",
           "alloc %s: shared i32[32]\nstore %s[%tid] = %tid\nbarrier warp\nload %x = %s[31 - "
           "%tid]\nstore %B[%tid] = f32(%x)\n",
           ReportKind::Race, "without a barrier between them", "grid(1) threads(32)"},
          {"no barrier before the next round",
           "alloc %s: shared i32[64]\nfor %k in 0 .. 3 {\n store %s[%tid] = %tid + %k\n barrier\n "
           "load %x = %s[63 - %tid]\n store %B[%tid] = f32(%x)\n}\n",
           "alloc %s: shared i32[64]\nfor %k in 0 .. 3 {\n store %s[%tid] = %tid + %k\n barrier\n "
           "load %x = %s[63 - %tid]\n store %B[%tid] = f32(%x)\n "
           "barrier\n}\n",
           ReportKind::Race, "reads and thread"},
          {"a barrier of half a warp", "if %tid < 16 {\n barrier\n}\n",
           "if %tid < 64 {\n barrier\n}\n", ReportKind::Divergence, "only 16 of 32"},
          {"one warp does not come", "if %tid < 32 {\n barrier\n}\nbarrier named id(1) count(64)\n",
           "barrier\nbarrier named id(1) count(64)\n", ReportKind::Deadlock, "wait at"},
          {"outside a tensor", "store %B[4096] = 1.0\n", "store %B[4095] = 1.0 if(%tid == 0)\n",
           ReportKind::OutOfRange, "writes %B[4096]"},
          {"a copy that nobody waited for",
           "alloc %s: shared f32[64]\nmove %A[%tid] -> %s[%tid] async\nasync cp_async "
           "commit\nbarrier\nload %x = %s[63 - %tid]\nstore %B[%tid] = %x\n",
           "alloc %s: shared f32[64]\nmove %A[%tid] -> %s[%tid] async\nasync cp_async "
           "commit\nasync cp_async wait(0)\nbarrier\nload %x = %s[63 - %tid]\n"
           "store %B[%tid] = %x\n",
           ReportKind::NotComplete, "still writes"},
          {"a copy waited for, but no barrier",
           "alloc %s: shared f32[64]\nmove %A[%tid] -> %s[%tid] async\nasync cp_async "
           "commit\nasync cp_async wait(0)\nload %x = %s[63 - %tid]\nstore %B[%tid] = %x\n",
           "alloc %s: shared f32[64]\nmove %A[%tid] -> %s[%tid] async\nasync cp_async "
           "commit\nasync cp_async wait(0)\nload %x = %s[%tid]\nstore %B[%tid] = %x\n",
           ReportKind::Race, "without a barrier"},
          {"buffers that share bytes while both live",
           "alloc %s: shared i32[64] at(0)\nalloc %t: shared f32[64] at(0)\nstore %s[%tid] = "
           "%tid\nstore %t[%tid] = 1.0\nload %x = %s[%tid]\nstore %B[%tid] = "
           "f32(%x)\n",
           "alloc %s: shared i32[64] at(0)\nalloc %t: shared f32[64] at(256)\nstore %s[%tid] = "
           "%tid\nstore %t[%tid] = 1.0\nload %x = %s[%tid]\nstore %B[%tid] = "
           "f32(%x)\n",
           ReportKind::Undefined, "were last written as %t"},
          {"a shuffle without all lanes",
           "if %tid < 16 {\n call @shfl_xor(%tid, 1) collective(warp) result(%y: i32)\n store "
           "%B[%tid] = f32(%y)\n}\n",
           "call @shfl_xor(%tid, 1) collective(warp) result(%y: i32)\nif %tid < 16 {\n store "
           "%B[%tid] = f32(%y)\n}\n",
           ReportKind::Divergence, "only 16 of 32 threads of warp 0"},
          {"an unknown function", "call @frobnicate(%tid)\n",
           "call @active_mask() result(%m: u64)\n", ReportKind::Unsupported,
           "does not know @frobnicate"},
          {"a local array is left", "alloc %l: local f32[4]\nstore %l[%tid] = 1.0\n",
           "alloc %l: local f32[64]\nstore %l[%tid] = 1.0\n", ReportKind::OutOfRange,
           "thread 4 writes %l[4]"},
      },
      " phase(thread)");
}

TEST_CASE("wrong arguments") {
  Kernel k("func @k(%A: global f32[%M, 4], %n: i32) dims(%M) {\n  constraint %M % 2 == 0, \"M is "
           "even\"\n  launch grid(1) threads(1) blocks(%b) tid(%t) {\n  }\n}\n");
  Tensor good(Scalar::Float32, {6, 4}), odd(Scalar::Float32, {5, 4}), wide(Scalar::Float32, {6, 5}),
      half(Scalar::Float16, {6, 4});
  CHECK(k.run({good, 1}).ok());
  auto message = [&](const std::vector<Argument> &args) {
    Result r = k.run(args);
    REQUIRE(r.reports.size() == 1);
    CHECK(!r.finished);
    return r.text();
  };
  CHECK_THAT(message({odd, 1}), Catch::Contains("the launcher's check fails: M is even"));
  CHECK_THAT(message({wide, 1}), Catch::Contains("another shape"));
  CHECK_THAT(message({half, 1}), Catch::Contains("has dtype float16 instead of float32"));
  CHECK_THAT(message({good}), Catch::Contains("takes 2 arguments, not 1"));
  CHECK_THAT(message({1, good}),
             Catch::Contains("is no tensor") || Catch::Contains("no value for dim"));
}

TEST_CASE("programs without end are given up") {
  Options options;
  options.maxSteps = 1000;
  Kernel k("func @k(%A: global i32[1]) {\n  launch grid(1) threads(1) blocks(%b) tid(%t) {\n    "
           "while {\n load %x = %A[0]\n } test %x == 0 {\n }\n  }\n}\n");
  Tensor a(Scalar::Int32, {1});
  Result r = k.run({a}, options);
  CHECK(!r.finished);
  REQUIRE(r.reports.size() == 1);
  CHECK(r.reports[0].kind == ReportKind::Unfinished);
}
