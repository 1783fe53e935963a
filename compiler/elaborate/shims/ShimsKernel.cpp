// Small facts about instructions that kernels ask tilelang for.
#include "elaborate/runtime/Runtime.h"
#include "elaborate/shims/Shims.h"

#include <cmath>

namespace tlc::elaborate {

namespace {

// 2:4 sparsity: how many elements of A one element of the metadata speaks of. Four metadata bits
// describe four elements, or two of 32 bits.
Value metadataFactor(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "a_dtype, meta_dtype");
  if (!b.ok)
    return Value::error();
  auto a = e.toDType(b.at(0)->value, b.at(0)->range, "`a_dtype`");
  auto meta = e.toDType(b.at(1)->value, b.at(1)->range, "`meta_dtype`");
  if (!a || !meta)
    return Value::error();
  return Value::integer(Int(meta->bits() / 4) * (a->bits() == 32 ? 2 : 4));
}

// How many neighbouring threads hold the same metadata.
Value metadataReplication(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "a_dtype");
  auto a = b.ok ? e.toDType(b.at(0)->value, b.at(0)->range, "`a_dtype`") : std::nullopt;
  return a ? Value::integer(a->bits() <= 8 ? 1 : 2) : Value::error();
}

struct WarpGrid {
  std::int64_t m = 1, n = 1;
};

// The grid of warps whose tiles are nearest to the shape of the whole.
WarpGrid squareGrid(std::int64_t rows, std::int64_t columns, std::int64_t warps) {
  WarpGrid best;
  double least = HUGE_VAL;
  for (std::int64_t m = 1; m <= std::min(rows / 16, warps); ++m) {
    if (warps % m != 0 || warps / m > columns / 8)
      continue;
    std::int64_t n = warps / m;
    double tile = (double(rows) / double(m * 16)) / (double(columns) / double(n * 8));
    double distance = std::fabs(tile - double(rows) / double(columns));
    if (distance < least) {
      least = distance;
      best = {m, n};
    }
  }
  return best;
}

Value warpPartition(Elaborator &e, const Value &policy, CallArgs &args) {
  Binding b(e, args, "M, N, num_warps");
  if (!b.ok)
    return Value::error();
  auto rows = e.toInt(b.at(0)->value, b.at(0)->range, "`M`");
  auto columns = e.toInt(b.at(1)->value, b.at(1)->range, "`N`");
  auto warps = e.toInt(b.at(2)->value, b.at(2)->range, "`num_warps`");
  if (!rows || !columns || !warps)
    return Value::error();
  if (*rows < 16 || *columns < 8 || *warps < 1) {
    e.report(diag::BadValue, args.range, "a warp needs 16 rows and 8 columns");
    return Value::error();
  }
  WarpGrid grid;
  const std::string &name = policy.as<EnumMemberObject>()->name;
  if (name == "FullRow") {
    grid.m = *rows % (*warps * 16) == 0 ? *warps : std::min(*rows / 16, *warps);
    grid.n = std::max<std::int64_t>(*warps / grid.m, 1);
  } else if (name == "FullCol") {
    grid.n = *columns % (*warps * 8) == 0 ? *warps : std::min(*columns / 8, *warps);
    grid.m = std::max<std::int64_t>(*warps / grid.n, 1);
  } else
    grid = squareGrid(*rows, *columns, *warps);
  return e.heap.tuple({Value::integer(grid.m), Value::integer(grid.n)});
}

} // namespace

void fillSparseLayout(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "get_e_factor", metadataFactor);
  defineFunctionIn(e, m, "get_e_replicate_factor", metadataReplication);
}

std::optional<Value> warpPolicyAttribute(Elaborator &e, const Value &policy,
                                         std::string_view name) {
  const std::string &member = policy.as<EnumMemberObject>()->name;
  static const std::pair<std::string_view, std::string_view> questions[] = {
      {"is_square", "Square"}, {"is_full_row", "FullRow"}, {"is_full_col", "FullCol"}};
  for (auto [question, answer] : questions)
    if (name == question)
      return makeClosure(
          e.heap, "GemmWarpPolicy." + std::string(name),
          [yes = member == answer](Elaborator &, CallArgs &) { return Value::boolean(yes); });
  if (name == "compute_warp_partition")
    return makeClosure(
        e.heap, "GemmWarpPolicy.compute_warp_partition",
        [policy](Elaborator &e, CallArgs &args) { return warpPartition(e, policy, args); });
  return std::nullopt;
}

} // namespace tlc::elaborate
