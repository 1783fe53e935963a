// stage-stores and matrix stores.
#include "TextKernel.h"

#include "analysis/Copies.h"

using namespace tlc;
using namespace tlc::ir;
using tlc::test::TextKernel;

namespace {

/// A product of one tile whose result is stored to ragged %C. `extra` is allocated and read behind
/// the store, so that its place is not free.
std::string product(const std::string &result, const std::string &store, std::int64_t extra = 0) {
  std::string other, use;
  if (extra) {
    other = "    alloc %x: shared f32[" + std::to_string(extra) + "]\n    fill %x = 1.0\n";
    use = "    copy %x[0 : +128] -> %D\n";
  }
  return "func @k(%A: global f16[64, 32], %B: global f16[32, 64], %C: global " + result +
         "[%M, %N] out, %D: global f32[128] out) dims(%M, %N) {\n"
         "  constraint %N % 8 == 0, \"N % 8 == 0\"\n"
         "  launch grid((%N + 63) // 64, (%M + 63) // 64) threads(128) blocks(%bx, %by) tid(%tid) "
         "{\n"
         "    alloc %a: shared f16[64, 32]\n    alloc %b: shared f16[32, 64]\n"
         "    alloc %c: fragment f32[64, 64]\n"
         "    copy %A -> %a\n    copy %B -> %b\n    fill %c = 0.0\n    gemm %a, %b -> %c\n" +
         other + store + use + "  }\n}\n";
}

const char *whole = "    copy %c -> %C[%by * 64 : +64, %bx * 64 : +64]\n";

std::vector<std::string> upToStaging() {
  return {"bounds", "select-atoms", "plan", "stage-stores"};
}

} // namespace

TEST_CASE("accumulators of 16-bit elements are staged") {
  for (const char *target : {"sm75", "sm80", "sm90-generic"}) {
    TextKernel k(product("f16", whole), target);
    k.mustRun(upToStaging());
    REQUIRE(k.schedule.launches[0].stores.size() == 1);
    CHECK(k.schedule.launches[0].stores[0].way == passes::StoreWay::Staged);
    CHECK(k.contains("alloc %c_t: shared f16[64, 64]"));
    CHECK(analysis::fragmentStores(*k.function->launches[0]).empty());
    k.checkSame({64, 64}, {}, 1e-2);
    k.checkSame({37, 72}, {}, 1e-2);
  }
}

TEST_CASE("float32 accumulators fill their sectors as they lie") {
  TextKernel k(product("f32", whole));
  k.mustRun(upToStaging());
  CHECK(k.schedule.launches[0].stores[0].way == passes::StoreWay::Direct);
  CHECK_FALSE(k.contains("c_t"));
}

TEST_CASE("staging is a matter of the layout, not of the name") {
  // Computed from the accumulator element by element: it lies like it.
  TextKernel k(product("f16", "    alloc %h: fragment f16[64, 64]\n"
                              "    map %i in 64, %j in 64 {\n"
                              "      load %x = %c[%i, %j]\n"
                              "      store %h[%i, %j] = f16(%x * 2.0)\n    }\n"
                              "    copy %h -> %C[%by * 64 : +64, %bx * 64 : +64]\n"));
  k.mustRun(upToStaging());
  CHECK(k.schedule.launches[0].stores[0].way == passes::StoreWay::Staged);
}

TEST_CASE("what staging must not cost") {
  // The arena is full of what is still needed: not a block less, not a byte over the limit.
  TextKernel full(product("f16", whole, 40900), "sm80");
  full.mustRun(upToStaging());
  CHECK(full.schedule.launches[0].stores[0].way == passes::StoreWay::Direct);
  CHECK(full.schedule.launches[0].stores[0].reason.find("would grow") != std::string::npos);
  CHECK_FALSE(full.contains("c_t"));
  full.checkSame({64, 64}, {}, 1e-2);
  // A file's word is final, even so.
  TextKernel staged(product("f16", whole, 40900), "sm80");
  passes::ScheduleError error;
  staged.schedule = *passes::parseSchedule("launch k {\n  store C staged\n}\n", error);
  staged.mustRun(upToStaging());
  CHECK(staged.contains("c_t"));
  // As written: nothing is added.
  std::string bound = product("f16", whole);
  bound.insert(bound.find("  launch"), "  option binding_hints\n");
  TextKernel written(bound);
  written.mustRun(upToStaging());
  CHECK_FALSE(written.contains("c_t"));
  TextKernel direct(product("f16", whole));
  direct.schedule = *passes::parseSchedule("launch k {\n  store C direct\n}\n", error);
  direct.mustRun(upToStaging());
  CHECK_FALSE(direct.contains("c_t"));
}

TEST_CASE("one line of a schedule speaks of all stores in a row that go to one tensor") {
  passes::ScheduleError error;
  const std::string twice = product("f16", whole + std::string(whole));
  auto ways = [&](const std::string &lines) {
    TextKernel k(twice);
    k.schedule = *passes::parseSchedule("launch k {\n" + lines + "}\n", error);
    k.mustRun({"bounds", "select-atoms", "plan"});
    std::vector<passes::StoreWay> all;
    for (const passes::StorePlan &store : k.schedule.launches[0].stores)
      all.push_back(store.way);
    // What is printed is read back as it was meant.
    const std::string text = passes::printSchedule(k.schedule);
    TextKernel again(twice);
    again.schedule = *passes::parseSchedule(text, error);
    again.mustRun({"bounds", "select-atoms", "plan"});
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(again.schedule.launches[0].stores[i].way == all[i]);
    return all;
  };
  const auto staged = passes::StoreWay::Staged, direct = passes::StoreWay::Direct;
  CHECK(ways("  store C direct\n") == std::vector{direct, direct});
  CHECK(ways("  store C staged\n") == std::vector{staged, staged});
  CHECK(ways("  store C direct\n  store C staged\n") == std::vector{direct, staged});
  TextKernel more(twice);
  more.schedule = *passes::parseSchedule(
      "launch k {\n  store C direct\n  store C direct\n  store C direct\n}\n", error);
  CHECK_FALSE(more.run({"bounds", "select-atoms", "plan"}));
  CHECK(more.reported(diag::ScheduleMismatch));
}

TEST_CASE("tiles that threads hold by rows go in slices") {
  // 96 KiB stay in use; two blocks of 128 threads fit on sm90, and do with a slice of 8 KiB.
  std::string wide = product("f16", "    copy %c -> %C[%by * 64 : +64, %bx * 128 : +128]\n", 25700);
  for (auto [from, to] : {std::pair("%B: global f16[32, 64]", "%B: global f16[32, 128]"),
                          {"%b: shared f16[32, 64]", "%b: shared f16[32, 128]"},
                          {"%c: fragment f32[64, 64]", "%c: fragment f32[64, 128]"}})
    wide.replace(wide.find(from), std::string(from).size(), to);
  TextKernel k(wide, "sm90-generic");
  passes::ScheduleError error;
  k.schedule = *passes::parseSchedule(
      "launch k {\n  gemm atom mma_m16n8k16_f16_f16_f32 warps 4 1\n}\n", error);
  k.mustRun(upToStaging());
  INFO(passes::printSchedule(k.schedule));
  CHECK(k.contains("alloc %c_t: shared f16[64, 64]"));
  CHECK(k.all<CopyStmt>().size() == 2 + 4 + 1);
  k.checkSame({64, 128}, {}, 1e-2);
  TextKernel lowered(wide, "sm90-generic");
  lowered.schedule = *passes::parseSchedule(
      "launch k {\n  gemm atom mma_m16n8k16_f16_f16_f32 warps 4 1\n}\n", error);
  lowered.mustRun();
  CHECK(lowered.contains("stmatrix_x4"));
  lowered.checkSame({50, 136}, {}, 1e-2);
}

TEST_CASE("staged stores through the whole pipeline") {
  for (const char *target : {"sm75", "sm80", "sm90-generic"})
    for (const char *result : {"f16", "bf16", "float8_e4m3fn", "f32"}) {
      INFO(target << " " << result);
      if (std::string(result) == "float8_e4m3fn" && std::string(target) < "sm89")
        continue;
      TextKernel k(product(result, whole), target);
      k.mustRun();
      bool matrices = std::string(target) >= "sm90" && std::string(result).ends_with("f16");
      CHECK(k.contains("stmatrix_x4") == matrices);
      k.checkSame({64, 64}, {}, 5e-2);
      k.checkSame({37, 72}, {}, 5e-2);
    }
}

TEST_CASE("a transposed tile takes transposed matrix stores") {
  std::string text = product("f16", "    alloc %t: shared f16[64, 64]\n"
                                    "    map %i in 64, %j in 64 {\n"
                                    "      load %x = %c[%i, %j]\n"
                                    "      store %t[%i, %j] = f16(%x)\n    }\n"
                                    "    copy %t -> %C[%by * 64 : +64, %bx * 64 : +64]\n");
  TextKernel k(text, "sm90-generic");
  k.mustRun();
  k.checkSame({64, 64}, {}, 1e-2);
}

// ---- by tensor maps

namespace {

/// A product of warpgroups whose result, `extra` having been done to it, is stored to ragged %C.
std::string warpgroups(const std::string &result, std::int64_t m, std::int64_t n,
                       std::int64_t threads = 128, const std::string &extra = "",
                       const std::string &from = "%c") {
  std::string M = std::to_string(m), N = std::to_string(n);
  return "func @k(%A: global f16[" + M + ", 64], %B: global f16[64, " + N + "], %C: global " +
         result +
         "[%M, %N] out, %D: global f32[128] out) dims(%M, %N) {\n"
         "  constraint %N % 8 == 0, \"N % 8 == 0\"\n"
         "  launch grid((%N + " +
         std::to_string(n - 1) + ") // " + N + ", (%M + " + std::to_string(m - 1) + ") // " + M +
         ") threads(" + std::to_string(threads) +
         ") blocks(%bx, %by) tid(%tid) {\n"
         "    alloc %a: shared f16[" +
         M + ", 64]\n    alloc %b: shared f16[64, " + N +
         "]\n"
         "    alloc %c: fragment f32[" +
         M + ", " + N +
         "]\n"
         "    copy %A -> %a\n    copy %B -> %b\n    fill %c = 0.0\n    gemm %a, %b -> %c\n" +
         extra + "    copy " + from + " -> %C[%by * " + M + " : +" + M + ", %bx * " + N + " : +" +
         N + "]\n  }\n}\n";
}

} // namespace

TEST_CASE("each warp stores its rows by tensor maps") {
  struct Case {
    const char *result;
    std::int64_t m, n, threads, columns, buffers;
  };
  for (Case c : {Case{"f16", 64, 64, 128, 64, 1},
                 {"bf16", 64, 192, 128, 64, 2},
                 {"f16", 128, 128, 256, 64, 2},
                 {"f16", 128, 224, 256, 32, 2},
                 {"f32", 64, 64, 128, 32, 2},
                 {"f16", 256, 64, 256, 64, 1},
                 {"f16", 64, 16, 128, 16, 1}}) {
    INFO(c.result << " " << c.m << "x" << c.n);
    TextKernel k(warpgroups(c.result, c.m, c.n, c.threads), "sm90");
    k.mustRun(upToStaging());
    const passes::StorePlan &store = k.schedule.launches[0].stores.at(0);
    INFO(store.reason);
    CHECK(store.way == passes::StoreWay::Tensor);
    CHECK(store.columns == c.columns);
    CHECK(store.buffers == c.buffers);
    std::string piece = "alloc %c_t: shared " + std::string(c.result) + "[" + std::to_string(c.m) +
                        ", " + std::to_string(c.columns) + "]";
    CHECK(k.contains(piece + (c.buffers > 1 ? " versions(2)" : "")));
    k.checkSame({c.m, c.n}, {}, 1e-2);
    k.checkSame({c.m * 2 - 3, c.n + 8}, {}, 1e-2);
    TextKernel lowered(warpgroups(c.result, c.m, c.n, c.threads), "sm90");
    lowered.mustRun();
    CHECK(lowered.contains("tma_store_2d"));
    CHECK(lowered.contains("stmatrix_x4") == (std::string(c.result) != "f32"));
    lowered.checkSame({c.m + 5, c.n + 16}, {}, 1e-2);
  }
}

TEST_CASE("warps do not wait for each other to store") {
  TextKernel k(warpgroups("f16", 128, 128, 256), "sm90");
  k.mustRun();
  // One barrier in front of the product, one behind it as the tile takes the operands' place.
  std::size_t blocks = 0;
  for (const BarrierStmt *barrier : k.all<BarrierStmt>())
    blocks += barrier->scope != BarrierScope::Warp;
  CHECK(blocks == 2);
}

TEST_CASE("what is computed of a product goes the same way") {
  const std::string scaled = "    alloc %h: fragment f16[64, 64]\n"
                             "    map %i in 64, %j in 64 {\n"
                             "      load %x = %c[%i, %j]\n"
                             "      store %h[%i, %j] = f16(%x * 2.0)\n    }\n";
  TextKernel k(warpgroups("f16", 64, 64, 128, scaled, "%h"), "sm90");
  k.mustRun();
  CHECK(k.contains("tma_store_2d"));
  k.checkSame({61, 72}, {}, 1e-2);
}

TEST_CASE("what tensor maps cannot store, or not safely") {
  struct Case {
    std::string text;
    const char *reason;
  };
  std::string again = warpgroups("f16", 64, 64), twice = again, rows = again;
  std::size_t store = again.find("    copy %c -> %C");
  again.insert(store, "    for %r in 0 .. 2 {\n");
  again.insert(again.rfind("  }\n}"), "    }\n");
  twice.insert(store, twice.substr(store, twice.find('\n', store) + 1 - store));
  rows.erase(rows.find("  constraint"), rows.find("  launch") - rows.find("  constraint"));
  for (const Case &c : {Case{again, "again"}, {twice, "elsewhere"}, {rows, "16 bytes"}}) {
    INFO(c.text);
    TextKernel k(c.text, "sm90");
    k.mustRun(upToStaging());
    CHECK(k.schedule.launches[0].stores[0].way != passes::StoreWay::Tensor);
    k.checkSame({64, 64}, {}, 1e-2);
    TextKernel given(c.text, "sm90");
    passes::ScheduleError error;
    given.schedule = *passes::parseSchedule("launch k {\n  store C tensor\n}\n", error);
    CHECK_FALSE(given.run(upToStaging()));
    CHECK(given.reported(diag::ScheduleMismatch));
  }
}

TEST_CASE("a schedule says how many columns tensor maps store, and through how many buffers") {
  passes::ScheduleError error;
  auto with = [&](const std::string &line) {
    auto k = std::make_unique<TextKernel>(warpgroups("f16", 64, 128), "sm90");
    k->schedule = *passes::parseSchedule("launch k {\n  " + line + "\n}\n", error);
    return k;
  };
  auto narrow = with("store C tensor columns 32 buffers 3");
  narrow->mustRun();
  CHECK(narrow->contains("alloc %c_t: shared f16[64, 32] versions(3)"));
  narrow->checkSame({70, 136}, {}, 1e-2);
  CHECK_FALSE(with("store C tensor columns 48")->run(upToStaging()));
  auto direct = with("store C direct");
  direct->mustRun();
  CHECK_FALSE(direct->contains("c_t"));
}

namespace {

/// The same, added to what is there.
std::string additions(const std::string &result, std::int64_t m, std::int64_t n,
                      std::int64_t threads = 128, const std::string &extra = "") {
  std::string text = warpgroups(result, m, n, threads, extra);
  text.replace(text.find("%N] out"), 7, "%N]");
  const std::string copy = "    copy %c -> ";
  std::size_t at = text.find(copy);
  text.replace(at, copy.size(), "    atomic_tile add ");
  text.insert(text.find('\n', at), " from(%c)");
  return text;
}

} // namespace

TEST_CASE("each warp adds its rows by tensor maps") {
  for (auto [result, m, n, threads] : {std::tuple("f32", 64, 64, 128),
                                       {"f32", 128, 96, 256},
                                       {"f16", 64, 192, 128},
                                       {"bf16", 128, 32, 256}}) {
    INFO(result << " " << m << "x" << n);
    TextKernel k(additions(result, m, n, threads), "sm90");
    k.mustRun(upToStaging());
    const passes::StorePlan &store = k.schedule.launches[0].stores.at(0);
    INFO(store.reason);
    CHECK(store.way == passes::StoreWay::Tensor);
    CHECK(store.adds);
    for (const AtomicTileStmt *addition : k.all<AtomicTileStmt>())
      CHECK((addition->useTma && addition->layout));
    k.checkSame({m * 2 - 3, n + 8}, {}, 1e-2);
    TextKernel lowered(additions(result, m, n, threads), "sm90");
    lowered.mustRun();
    CHECK(lowered.contains("tma_reduce_add_2d"));
    CHECK(lowered.all<AtomicStmt>().empty());
    lowered.checkSame({m + 5, n + 16}, {}, 1e-2);
  }
}

TEST_CASE("additions of the same elements may meet each other, but nothing else") {
  // Round after round, unlike stores.
  std::string again = additions("f32", 64, 64);
  again.insert(again.find("    atomic_tile"), "    for %r in 0 .. 3 {\n");
  again.insert(again.rfind("  }\n}"), "    }\n");
  TextKernel rounds(again, "sm90");
  rounds.mustRun();
  CHECK(rounds.contains("tma_reduce_add_2d"));
  rounds.checkSame({61, 72}, {}, 1e-2);
  struct Case {
    std::string text;
    const char *reason;
  };
  const char *told = "    fence device\n",
             *largest = "    atomic_tile max %C[0 : +64, 0 : +64] value(0.5)\n";
  std::string doubles = additions("f64", 64, 64);
  for (const Case &c : {Case{additions("f32", 64, 64, 128, told), "told"},
                        {additions("f32", 64, 64, 128, largest), "elsewhere"},
                        {doubles, "wide"}}) {
    INFO(c.text);
    TextKernel k(c.text, "sm90");
    k.mustRun();
    const passes::StorePlan &store = k.schedule.launches[0].stores.at(0);
    CHECK(store.way == passes::StoreWay::Direct);
    CHECK(store.reason.find(c.reason) != std::string::npos);
    CHECK_FALSE(k.contains("tma_reduce"));
  }
  // On targets without tensor maps, and where a file says so.
  TextKernel old(additions("f32", 64, 64), "sm80");
  old.mustRun();
  CHECK_FALSE(old.all<AtomicStmt>().empty());
  passes::ScheduleError error;
  TextKernel direct(additions("f32", 64, 64), "sm90");
  direct.schedule = *passes::parseSchedule("launch k {\n  add C direct\n}\n", error);
  direct.mustRun();
  CHECK_FALSE(direct.contains("tma_reduce"));
  CHECK_FALSE(passes::parseSchedule("launch k {\n  add C staged\n}\n", error));
  TextKernel wrong(additions("f32", 64, 64), "sm90");
  wrong.schedule = *passes::parseSchedule("launch k {\n  store C direct\n}\n", error);
  CHECK_FALSE(wrong.run(upToStaging()));
}
