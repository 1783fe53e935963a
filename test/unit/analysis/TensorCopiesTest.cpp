// Which copies tensor maps can do, and how tiles are cut into boxes.
#include "analysis/Copies.h"
#include "ir/Parse.h"

#include <catch2/catch.hpp>

using namespace tlc;
using namespace tlc::ir;
using namespace tlc::analysis;

namespace {

/// A kernel with one copy (or tile atomic), and what is said of it.
struct OneCopy {
  Context context;
  DiagnosticEngine diagnostics;
  std::unique_ptr<Function> function;
  std::string fault;
  std::optional<TensorBoxes> boxes;

  /// `tensor`: "f16[%M, %N]", `tile`: "f16[64, 64]", `copy`: the statement about %A and %s.
  OneCopy(const std::string &tensor, const std::string &tile, const std::string &copy,
          const std::string &targetName = "sm90") {
    function = parseFunction(context,
                             "func @k(%A: global " + tensor +
                                 ", %n: i32, %far: i64) dims(%M, %N, %wide: i64) {\n"
                                 "  constraint %N % 8 == 0, \"\"\n"
                                 "  launch grid(1) threads(64) blocks(%bx) tid(%tid) {\n"
                                 "    alloc %full: barrier u64[1]\n    alloc %s: shared " +
                                 tile + "\n    " + copy + "\n  }\n}\n",
                             diagnostics);
    for (const Diagnostic &d : diagnostics.diagnostics())
      FAIL(d.message);
    REQUIRE(function);
    const Target &target = *findTarget(targetName);
    walkWithRanges(*function, [&](Launch &, Stmt &stmt, Ranges &ranges) {
      if (auto *copy = dynCast<CopyStmt>(&stmt)) {
        fault = whyNotTma(*copy, target, ranges);
        CHECK(canUseTma(*copy, target, ranges) == fault.empty());
        bool load = copy->source.buffer->scope == Scope::Global;
        auto form = tileForm(load ? *copy->target.buffer : *copy->source.buffer);
        if (fault.empty() && form)
          boxes = tensorBoxes(load ? copy->source : copy->target,
                              load ? copy->target : copy->source, *form, ranges);
      } else if (auto *atomic = dynCast<AtomicTileStmt>(&stmt)) {
        fault = whyNotTma(*atomic, target, ranges);
      }
      return true;
    });
  }
};

bool legal(const std::string &tensor, const std::string &tile, const std::string &copy,
           const std::string &target = "sm90") {
  return OneCopy(tensor, tile, copy, target).fault.empty();
}
std::string fault(const std::string &tensor, const std::string &tile, const std::string &copy,
                  const std::string &target = "sm90") {
  return OneCopy(tensor, tile, copy, target).fault;
}

} // namespace

TEST_CASE("loads and stores of plain tiles") {
  CHECK(legal("f16[%M, %N]", "f16[64, 64]", "copy %A[%bx * 64 : +64, %n * 8 : +64] -> %s"));
  CHECK(legal("f16[%M, %N]", "f16[64, 64]", "copy %s -> %A[%bx * 64 : +64, %bx * 8 : +64]"));
  // Rows may be any, and a tile may reach out; columns begin at multiples of 16 bytes.
  CHECK(legal("f16[%M, %N]", "f16[64, 64]", "copy %A[%n - 3 : +64, %n * 8 - 16 : +64] -> %s"));
  std::string between = "its columns are not known to begin at multiples of 16 bytes";
  CHECK(fault("f16[%M, %N]", "f16[64, 64]", "copy %A[0 : +64, %n : +64] -> %s") == between);
  CHECK(fault("f16[%M, %N]", "f16[64, 64]", "copy %s -> %A[0 : +64, %bx * 4 : +64]") == between);
  CHECK(fault("f32[%M, %N]", "f32[64, 32]", "copy %A[0 : +64, 2 : +32] -> %s") == between);
  CHECK(fault("f16[%M, %N]", "f16[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s", "sm80") ==
        "sm80 has no such hardware");
  CHECK(fault("f16[%M, %N]", "f16[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s sync") ==
        "the program wants it otherwise");
  CHECK(fault("f16[%M, %N]", "f32[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s") == "it converts");
}

TEST_CASE("stores and additions begin within the tensor") {
  std::string before = "it may begin before the tensor, where the hardware cannot store";
  for (const char *offsets : {"%bx * 64 - 8 : +64, 0 : +64", "0 : +64, %n * 8 : +64"}) {
    std::string at = std::string("%A[") + offsets + "]";
    CHECK(legal("f16[%M, %N]", "f16[64, 64]", "copy " + at + " -> %s"));
    CHECK(fault("f16[%M, %N]", "f16[64, 64]", "copy %s -> " + at) == before);
    CHECK(fault("f16[%M, %N]", "f16[64, 64]", "atomic_tile add " + at + " from(%s) tma") == before);
  }
}

TEST_CASE("where rows of the tensor lie") {
  // 8 halves are 16 bytes; of 4 floats nothing is known.
  CHECK(legal("f16[%M, %N]", "f16[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s"));
  CHECK(legal("f32[%M, %N]", "f32[64, 32]", "copy %A[0 : +64, 0 : +32] -> %s"));
  std::string rows = "`A`: rows are not known to be multiples of 16 bytes apart (dim 0)";
  CHECK(fault("f16[%N, %M]", "f16[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s") == rows);
  CHECK(fault("i8[%M, %N]", "i8[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s") == rows);
  CHECK(fault("f16[64, 64] strides(%M, 1)", "f16[64, 64]", "copy %A -> %s") == rows);
  CHECK(legal("f16[64, 64] strides(%N, 1)", "f16[64, 64]", "copy %A -> %s"));
  CHECK(fault("f16[64, 64] strides(1, 64)", "f16[64, 64]", "copy %A -> %s") ==
        "`A`: its elements are not next to each other along the last dim");
  CHECK(fault("f16[64, 64] align(2)", "f16[64, 64]", "copy %A -> %s") ==
        "`A`: it may start at any multiple of 2 bytes");
}

TEST_CASE("what a map can describe") {
  CHECK(legal("f16[2, 2, 2, 8, 64]", "f16[8, 64]", "copy %A[0, 1, 0, 0 : +8, 0 : +64] -> %s"));
  CHECK(
      fault("f16[2, 2, 2, 2, 8, 64]", "f16[8, 64]", "copy %A[0, 1, 0, 1, 0 : +8, 0 : +64] -> %s") ==
      "`A`: it has 6 dims, 1 to 5 are possible");
  CHECK(fault("f16[%wide, %N]", "f16[64, 64]", "copy %A[0:i64 : +64, 0 : +64] -> %s") ==
        "`A`: dim 0 may have 2^32 elements or more");
  CHECK(fault("f16[%M, %N]", "f16[64, 64]", "copy %A[%far : +64, 0 : +64] -> %s") ==
        "an offset may not fit 32 bits");
  CHECK(fault("f16[%M, %N] safe(1.0:f16)", "f16[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s") ==
        "what is out of range is not 0");
  CHECK(legal("f16[%M, %N] safe(0.0:f16)", "f16[64, 64]", "copy %A[0 : +64, 0 : +64] -> %s"));
  CHECK(fault("u4[64, 64]", "u4[64, 64]", "copy %A -> %s") ==
        "`A`: elements of uint4 cannot be copied so");
  CHECK(fault("bool[64, 64]", "bool[64, 64]", "copy %A -> %s") ==
        "`A`: elements of bool cannot be copied so");
  CHECK(legal("f8e4m3[64, 128]", "f8e4m3[64, 128]", "copy %A -> %s"));
  CHECK(fault("f16[1, %N]", "f16[64, 64]", "copy %A[0 : +1, 0 : +64] -> %s") ==
        "the two sides differ in shape");
}

TEST_CASE("what boxes fit into a tile") {
  std::string uncut = "the tile cannot be cut into boxes";
  auto isUncut = [&](const std::string &tensor, const std::string &tile, const std::string &copy) {
    return fault(tensor, tile, copy).starts_with(uncut);
  };
  // Rows of 24 bytes; parts of a row; a start between the rows at which a swizzle begins anew.
  CHECK(isUncut("f16[64, 64]", "f16[4, 12]", "copy %A[0 : +4, 0 : +12] -> %s"));
  CHECK(isUncut("f16[64, 64]", "f16[64, 64]", "copy %A[0 : +64, 0 : +32] -> %s[0 : +64, 0 : +32]"));
  CHECK(isUncut("f16[64, 64]", "f16[64, 64]", "copy %A[0 : +8, 0 : +64] -> %s[%n : +8, 0 : +64]"));
  CHECK(
      legal("f16[64, 64]", "f16[64, 64]", "copy %A[0 : +8, 0 : +64] -> %s[%n * 8 : +8, 0 : +64]"));
  CHECK(
      legal("f16[64, 128]", "f16[64, 128]", "copy %A[0 : +64, 0 : +64] -> %s[0 : +64, 64 : +64]"));
  // 257 rows have no divisor that boxes could have.
  CHECK(isUncut("f16[512, 24]", "f16[257, 24]", "copy %A[0 : +257, 0 : +24] -> %s"));
  CHECK(legal("f16[512, 24]", "f16[256, 24]", "copy %A[0 : +256, 0 : +24] -> %s"));
}

TEST_CASE("the cut of a tile in rows") {
  OneCopy line("f32[1024]", "f32[1024]", "copy %A -> %s");
  REQUIRE(line.boxes);
  CHECK(line.boxes->box == std::vector<std::int64_t>{256});
  CHECK(line.boxes->count == std::vector<std::int64_t>{4});
  OneCopy slice("f16[4, 8, 64]", "f16[2, 12, 24]",
                "copy %A[1, 0 : +8, 0 : +24] -> %s[1, 4 : +8, 0 : +24]");
  // Row 4 of 48 bytes begins at 192, which is no multiple of 128.
  CHECK_FALSE(slice.fault.empty());
}

TEST_CASE("additions of tiles") {
  auto add = [](const std::string &type) {
    return fault(type + "[64, 64]", type + "[64, 64]", "atomic_tile add %A from(%s) tma");
  };
  for (const char *type : {"f16", "bf16", "f32", "i32", "u32", "u64"})
    CHECK(add(type).empty());
  CHECK(add("f64") == "there is no addition of float64");
  CHECK(fault("f32[64, 64]", "f32[64, 64]", "atomic_tile max %A from(%s) tma") ==
        "only relaxed additions of tiles can be done so");
  CHECK(fault("f32[64, 64]", "f32[64, 64]", "atomic_tile add %A value(1.0) tma") ==
        "only relaxed additions of tiles can be done so");
}
