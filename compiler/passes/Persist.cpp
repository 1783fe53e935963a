// persist: as many blocks as the machine holds, each walks over tiles.
//
//   launch grid(gx, gy) blocks(%bx, %by) { B }
//     =>
//   launch grid(min(gx * gy, %multiprocessors * n)) blocks(%worker) {
//     for %round in 0 .. rounds of this worker {
//       let %tile = %worker + %round * min(…)
//       let %bx = … ; let %by = …            // in the order of the raster
//       assume %bx < gx && %by < gy
//       B
//     }
//   }
//
// What a block sets up once is then set up once a multiprocessor, and with producer warps of their
// own the loads of the next tile run while this one is stored. Block numbers are those that the
// grid had, so a grid that is empty stays empty. The plan says which launches want it; n is
// `min_blocks`, or 1. Tiles are counted in 64 bits where 32 may not suffice: dividing is expensive.
//
// Why here: after bounds, whose proofs are about the grid as it was, and before the passes that
// part producers from consumers, which take the loop along.
#include "passes/Persist.h"

#include "analysis/Addresses.h"
#include "analysis/Ranges.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <algorithm>
#include <limits>

namespace tlc::passes {

using namespace ir;

namespace {

Expr multiprocessors(Function &function) {
  for (const LaunchConstant &constant : function.launchConstants)
    if (constant.what == LaunchConstant::What::MultiprocessorCount)
      return constant.var;
  LaunchConstant constant;
  constant.var = function.context->var("multiprocessors", Scalar::Int32);
  function.launchConstants.push_back(constant);
  return constant.var;
}

/// 2^29 tiles of so many bytes fill 8 TiB, which no memory has.
constexpr std::int64_t largeTile = 1 << 14;

class Persister {
public:
  Persister(Function &function, Launch &launch, const LaunchPlan &plan)
      : function(function), context(*function.context), launch(launch), plan(plan) {}

  void run() {
    chooseDType();
    for (Expr extent : launch.grid)
      extents.push_back(counted(extent));
    Expr tiles = extents[0];
    for (std::size_t d = 1; d < extents.size(); ++d)
      tiles = tiles * extents[d];
    std::int64_t each = std::max<std::int64_t>(1, plan.minBlocks);
    Expr workers = minimum(tiles, counted(multiprocessors(function)) * each);
    Expr worker = context.var("worker", Scalar::Int32);

    Block body;
    Builder builder(function, body);
    builder.range = launch.range;
    Expr step = builder.let("workers", atLeastOne(workers));
    auto &loop = builder.add<ForStmt>();
    loop.var = context.var("round", dtype);
    loop.lo = context.integer(dtype, 0);
    loop.hi = floorDiv(tiles - counted(worker) + step - 1, step);
    loop.step = context.integer(dtype, 1);
    builder.in(loop.body, [&] {
      constexpr const char *names[] = {"columns", "rows", "planes"};
      for (std::size_t d = 0; d < extents.size(); ++d)
        extents[d] = builder.let(names[d], atLeastOne(extents[d]));
      place(builder, builder.let("tile", counted(worker) + loop.var * step));
      for (StmtPtr &stmt : launch.body)
        builder.add(std::move(stmt));
    });
    launch.body = std::move(body);
    launch.grid = {workers};
    launch.blockVars = {worker};
    launch.raster = {};
  }

private:
  /// 32 bits if all tiles can be counted with them.
  void chooseDType() {
    analysis::Ranges ranges(function);
    Expr product = context.integer(Scalar::Int64, 1);
    for (Expr extent : launch.grid)
      product = product * context.cast(Scalar::Int64, extent);
    bool narrow = ranges.interval(product).hi <= std::numeric_limits<std::int32_t>::max() / 2 ||
                  storedBytes() >= largeTile;
    dtype = narrow ? Scalar::Int32 : Scalar::Int64;
  }
  /// Bytes that each tile fills of a tensor, side by side with the others.
  std::int64_t storedBytes() const {
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    std::int64_t most = 0;
    analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
      const auto *copy = dynCast<CopyStmt>(&stmt);
      auto tile = copy && copy->target.buffer->storage()->scope == Scope::Global
                      ? copy->target.constantTileExtents()
                      : std::nullopt;
      if (!tile)
        return true;
      std::vector<Expr> used;
      for (Expr offset : copy->target.offsets)
        collectVars(analysis::expandLets(offset, ranges), used);
      bool apart = std::all_of(launch.blockVars.begin(), launch.blockVars.end(), [&](Expr var) {
        return std::find(used.begin(), used.end(), var) != used.end();
      });
      std::int64_t count = 1;
      for (std::int64_t extent : *tile)
        count *= extent;
      if (apart)
        most = std::max(most, storageBytes(copy->target.buffer->dtype, count));
      return true;
    });
    return most;
  }
  Expr counted(Expr e) const { return context.cast(dtype, e); }

  /// Binds the block variables of a tile and says what is known about them.
  void place(Builder &builder, Expr tile) {
    std::vector<Expr> values(extents.size());
    Expr rest = tile;
    if (extents.size() >= 2 && launch.raster.panel > 0) {
      Expr plane = extents[0] * extents[1];
      Expr inPlane = extents.size() > 2 ? floorMod(rest, plane) : rest;
      bool column = launch.raster.columnMajor;
      auto [fast, slow] =
          walkPanels(builder, inPlane, extents[column ? 1 : 0], extents[column ? 0 : 1]);
      values[column ? 1 : 0] = fast;
      values[column ? 0 : 1] = slow;
      rest = extents.size() > 2 ? floorDiv(rest, plane) : rest;
    }
    for (std::size_t d = 0; d < extents.size(); ++d)
      if (!values[d]) {
        bool last = d + 1 == extents.size();
        values[d] = last ? rest : floorMod(rest, extents[d]);
        rest = last ? rest : floorDiv(rest, extents[d]);
      }
    for (std::size_t d = 0; d < extents.size(); ++d) {
      Expr var = launch.blockVars[d];
      auto &let = builder.add<LetStmt>();
      let.var = var;
      let.value = context.cast(var.dtype(), values[d]);
      auto &fact = builder.add<AssumeStmt>();
      fact.condition = logicalAnd(lessEqual(context.integer(var.dtype(), 0), var),
                                  lessThan(var, context.cast(var.dtype(), launch.grid[d])));
    }
  }

  /// Panels of `panel` along the slow axis, each swept along the fast one, as raster_rows and
  /// raster_columns walk: {fast, slow}.
  std::pair<Expr, Expr> walkPanels(Builder &builder, Expr tile, Expr fast, Expr slow) const {
    Expr panel = context.integer(dtype, launch.raster.panel);
    Expr first = builder.let("first", floorDiv(tile, panel * fast) * panel);
    Expr inside = builder.let("inside", floorMod(tile, panel * fast));
    Expr height = builder.let("height", atLeastOne(minimum(slow - first, panel)));
    return {floorDiv(inside, height), first + floorMod(inside, height)};
  }

  /// A divisor. It is less only where there are no tiles, but positive numbers are divided faster.
  Expr atLeastOne(Expr value) const { return maximum(value, context.integer(dtype, 1)); }

  Function &function;
  Context &context;
  Launch &launch;
  const LaunchPlan &plan;
  DType dtype;
  std::vector<Expr> extents; ///< of the grid as it was
};

} // namespace

std::string whyNotPersistent(const Launch &launch) {
  if (launch.cooperative)
    return "its blocks wait for each other";
  if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1})
    return "its blocks form clusters";
  std::string why;
  walk(launch.body, [&](const Stmt &stmt) {
    if (isa<ExitStmt>(stmt))
      why = "it ends threads before its end";
    else if (isa<SourceStmt>(stmt))
      why = "it has C text of its own, which may ask for the block";
    else if (auto *barrier = dynCast<BarrierStmt>(&stmt);
             barrier && barrier->scope == BarrierScope::Grid)
      why = "its blocks wait for each other";
    else if (auto *alloc = dynCast<AllocStmt>(&stmt);
             alloc && alloc->buffer->scope == Scope::Barrier)
      why = "it has barrier objects that are set up once";
    return why.empty();
  });
  return why;
}

void persist(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    LaunchPlan *plan = context.schedule.launch(i);
    if (!plan || !plan->persistent.value_or(false))
      continue;
    if (std::string why = whyNotPersistent(launch); !why.empty())
      context.diagnostics.report(diag::ScheduleMismatch, launch.range, plan->name)
          .note("it cannot be persistent: " + why);
    else
      Persister(function, launch, *plan).run();
  }
}

} // namespace tlc::passes
