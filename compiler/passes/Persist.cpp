// persist: as many blocks as the machine holds, each walks over tiles.
//
//   launch grid(gx, gy) blocks(%bx, %by) { B }
//     =>
//   launch grid(min(gx * gy, %multiprocessors * n)) blocks(%worker) {
//     for %round in 0 .. rounds of this worker {
//       let %tile = %worker + %round * min(...)
//       let %bx = ... ; let %by = ...            // in the order of the raster
//       assume %bx < gx and %by < gy
//       B
//     }
//   }
//
// What a block sets up once is then set up once a multiprocessor, and with producer warps of their
// own the loads of the next tile run while this one is stored. Block numbers are those that the
// grid had, so a grid that is empty stays empty. The plan says which launches want it; n is
// `min_blocks`, or 1.
//
// Tiles that take the longer the larger %bx (causal attention) would leave the workers with unequal
// shares. The plan then says `fold`: a worker takes tiles in pairs, a long one and the short one
// that makes up for it.
//
//     let %folded = the pairs share out well enough       // else each block takes one tile,
//     for %round in 0 .. %folded ? 2 * pairs of this worker : 1 {       // the longest first
//       let %pair = ... ; let %bx = %round is even ? gx - 1 - %pair : %pair
//       if not (%round is odd and %bx is the tile before) { B }
//     }
//
// Why here: after bounds, whose proofs are about the grid as it was, and before the passes that
// part producers from consumers, which take the loop along.
#include "passes/Persist.h"

#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <algorithm>

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

class Persister {
public:
  Persister(Function &function, Launch &launch, const LaunchPlan &plan)
      : function(function), context(*function.context), launch(launch), plan(plan),
        folds(plan.fold && plan.fold->axis < launch.grid.size()) {}

  void run() {
    requireCountable();
    std::vector<Expr> outside;
    for (Expr extent : launch.grid)
      outside.push_back(counted(extent));
    const Work all = workOf(outside, nullptr);
    Expr worker = context.var("worker", Scalar::Int32);

    Block body;
    Builder builder(function, body);
    builder.range = launch.range;
    for (std::size_t d = 0; d < outside.size(); ++d) {
      constexpr const char *names[] = {"columns", "rows", "planes"};
      extents.push_back(builder.let(names[d], outside[d]));
      atLeastOne(builder, extents.back());
    }
    const Work work = workOf(extents, &builder);
    atLeastOne(builder, work.workers);
    auto &loop = builder.add<ForStmt>();
    loop.var = context.var("round", Scalar::Int32);
    loop.lo = context.int32(0);
    loop.hi = roundsOf(work, worker);
    loop.step = context.int32(1);
    builder.in(loop.body, [&] {
      auto tile = [&] {
        for (StmtPtr &stmt : launch.body)
          builder.add(std::move(stmt));
      };
      if (!folds)
        return placeTile(builder, worker + loop.var * work.workers), tile();
      Expr twice = placePair(builder, work, worker, loop.var);
      builder.when(logicalNot(twice), tile);
    });
    launch.body = std::move(body);
    launch.grid = {all.workers};
    launch.blockVars = {worker};
    launch.raster = {};
  }

private:
  /// How the tiles of a grid are shared out.
  struct Work {
    Expr items;   ///< what a worker takes at a time: tiles, or pairs of them
    Expr workers; ///< blocks
    Expr folded;  ///< if tiles may be paired: whether they are
  };

  /// Tiles are numbered with 32 bits, and so many more blocks than tiles do not do harm.
  void requireCountable() {
    Expr product = context.integer(Scalar::Int64, 1);
    for (Expr extent : launch.grid)
      product = product * context.cast(Scalar::Int64, extent);
    Expr fits = lessEqual(product, context.integer(Scalar::Int64, std::int64_t{1} << 30));
    if (!fits.isConstant(1))
      function.constraints.push_back({fits, "at most 2^30 tiles", launch.range});
  }

  Expr counted(Expr e) const { return context.cast(Scalar::Int32, e); }

  /// `builder`: names the steps; null: the whole expressions.
  Work workOf(const std::vector<Expr> &grid, Builder *builder) {
    auto named = [&](const char *name, Expr e) { return builder ? builder->let(name, e) : e; };
    Expr tiles, pairs;
    for (std::size_t d = 0; d < grid.size(); ++d) {
      Expr half = folds && d == plan.fold->axis ? pairsAlong(grid[d]) : grid[d];
      tiles = d ? tiles * grid[d] : grid[d];
      pairs = d ? pairs * half : half;
    }
    tiles = named("tiles", tiles);
    Expr room = counted(multiprocessors(function)) * std::max<std::int64_t>(1, plan.minBlocks);
    if (!folds)
      return {tiles, named("workers", minimum(tiles, room)), {}};
    // A last round for a few pairs costs more than blocks of one tile each, which the machine
    // shares out itself, if the tiles are long: each of those starts anew, which costs about as
    // much as one or two rounds of its loop. In 64 bits: the products are of no size that anybody
    // knows.
    pairs = named("pairs", pairs);
    Expr rounds = named("rounds", ceilDiv(pairs, room));
    auto wide = [&](Expr e) { return context.cast(Scalar::Int64, e); };
    Expr places = wide(rounds) * wide(room);
    Expr folded = named(
        "folded", lessEqual((places - wide(pairs)) * wide(grid[plan.fold->axis]) * 2, places * 3));
    return {pairs, named("workers", context.select(folded, minimum(pairs, room), tiles)), folded};
  }

  static Expr pairsAlong(Expr extent) { return floorDiv(extent + 1, 2); }
  static Expr ceilDiv(Expr a, Expr b) { return floorDiv(a + b - 1, b); }

  Expr roundsOf(const Work &work, Expr worker) const {
    Expr each = floorDiv(work.items - worker + work.workers - 1, work.workers);
    return folds ? context.select(work.folded, each * 2, context.int32(1)) : each;
  }

  /// Binds the block variables of a tile.
  void placeTile(Builder &builder, Expr value) {
    Expr tile = builder.let("tile", value);
    notNegative(builder, tile);
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
    split(rest, values);
    bindBlock(builder, values);
  }

  /// Binds the block variables of a tile of a pair; gives the condition that it is the same tile as
  /// the other one of its pair. Pairs along the folded axis are neighbours, since they work on the
  /// same data; unpaired tiles come the longest first.
  Expr placePair(Builder &builder, const Work &work, Expr worker, Expr round) {
    const std::size_t axis = plan.fold->axis;
    Expr extent = extents[axis], pairs = pairsAlong(extent), planes;
    for (std::size_t d = 0; d < extents.size(); ++d)
      if (d != axis)
        planes = planes ? planes * extents[d] : extents[d];
    if (!planes)
      planes = context.int32(1);
    Expr item = builder.let("item", worker + floorDiv(round, 2) * work.workers);
    notNegative(builder, item);
    auto either = [&](const char *name, Expr paired, Expr single) {
      Expr chosen = builder.let(name, context.select(work.folded, paired, single));
      notNegative(builder, chosen);
      return chosen;
    };
    Expr place = either("place", floorMod(item, pairs), floorDiv(item, planes));
    Expr rest = either("plane", floorDiv(item, pairs), floorMod(item, planes));
    Expr odd = equals(floorMod(round, 2), 1), last = extent - 1;
    std::vector<Expr> values(extents.size());
    values[axis] = plan.fold->grows ? context.select(odd, place, last - place)
                                    : context.select(odd, last - place, place);
    split(rest, values);
    bindBlock(builder, values);
    return logicalAnd(odd, equals(place, last - place));
  }

  /// What is not yet there of `values`, the first fastest.
  void split(Expr rest, std::vector<Expr> &values) const {
    std::size_t left = static_cast<std::size_t>(std::count(values.begin(), values.end(), Expr()));
    for (std::size_t d = 0; d < extents.size(); ++d)
      if (!values[d]) {
        bool last = --left == 0;
        values[d] = last ? rest : floorMod(rest, extents[d]);
        rest = last ? rest : floorDiv(rest, extents[d]);
      }
  }

  /// And says what is known about them.
  void bindBlock(Builder &builder, const std::vector<Expr> &values) const {
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
    Expr panel = context.int32(launch.raster.panel);
    Expr first = builder.let("first", floorDiv(tile, panel * fast) * panel);
    Expr inside = builder.let("inside", floorMod(tile, panel * fast));
    Expr height = builder.let("height", minimum(slow - first, panel));
    atLeastOne(builder, height);
    return {floorDiv(inside, height), first + floorMod(inside, height)};
  }

  /// A divisor, of which no proof knows that the grid is not empty: in a block it is not.
  void atLeastOne(Builder &builder, Expr value) const {
    builder.add<AssumeStmt>().condition = lessEqual(context.int32(1), value);
  }
  void notNegative(Builder &builder, Expr value) const {
    builder.add<AssumeStmt>().condition = lessEqual(context.int32(0), value);
  }

  Function &function;
  Context &context;
  Launch &launch;
  const LaunchPlan &plan;
  bool folds;
  std::vector<Expr> extents; ///< of the grid as it was
};

bool usesLaunchConstant(const Function &function, const Launch &launch) {
  for (const LaunchConstant &constant : function.launchConstants)
    for (Expr extent : launch.grid)
      if (uses(extent, constant.var))
        return true;
  return false;
}

} // namespace

std::string whyNotPersistent(const Function &function, const Launch &launch) {
  if (launch.cooperative)
    return "its blocks wait for each other";
  if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1})
    return "its blocks form clusters";
  if (usesLaunchConstant(function, launch))
    return "its grid depends on the device";
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
    if (std::string why = whyNotPersistent(function, launch); !why.empty())
      context.diagnostics.report(diag::ScheduleMismatch, launch.range, plan->name)
          .note("it cannot be persistent: " + why);
    else
      Persister(function, launch, *plan).run();
  }
}

} // namespace tlc::passes
