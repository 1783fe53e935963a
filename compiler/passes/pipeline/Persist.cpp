// persist: as many blocks as the machine holds, each walks over tiles.
//
//   launch grid(gx, gy) blocks(%bx, %by) { B }
//     =>
//   constant computed %tiles = gx * gy
//   constant computed %workers = min(%tiles, %multiprocessors * n)
//   launch grid(%workers) blocks(%worker) {
//     for %round in 0 .. rounds of this worker {
//       let %tile = %worker + %round * %workers
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
// shares. The plan then says `fold`: tiles come in the order of their length, and workers take them
// back and forth, so that who had the longest of a round has the shortest of the next.
//
//     for %round in 0 .. rounds of this worker {
//       let %tile = (%round % 2 == 0 ? %worker : %workers - 1 - %worker) + %round * %workers
//       let %section = %tile / (gx * %group) ; let %inside = ...
//       let %place = ... ; let %by = %section * %group + ...
//       let %bx = %section is the last, or the last but two, ... ? gx - 1 - %place : %place
//
// Sections are some planes of tiles (heads of attention) that work on the same data at a time: few
// of them, for the cache's sake, and enough for the rounds to even out.
//
// `share`: neighbours along one dimension of the grid need the same part of an operand. Where rows
// straddle lines of the L2 cache, which then is what limits products, they become clusters of two
// of which the first loads for both; whether they do is found out at the call.
//
//     constant computed %pair = rows straddle lines ? 1 : 0
//     launch grid(%workers << %pair) cluster(2) cluster_size(1 << %pair) blocks(%block) {
//       let %worker = %block >> %pair ; let %rank = %block - (%worker << %pair)
//       ... let %by = (... << %pair) + %rank        // of an odd number the last has no partner:
//       its copy %B[...] -> %B_s multicast(...)         // loads are zeros, its stores are clipped
//
// Why here: after bounds, whose proofs are about the grid as it was, and before the passes that
// part producers from consumers, which take the loop along.
#include "passes/pipeline/Persist.h"

#include "analysis/Copies.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Pass.h"
#include "passes/plan/PlanSharing.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Bytes that tiles which run at a time may read of an L2 cache of 50 MB.
constexpr std::int64_t cacheShare = 36 << 20;

class Persister {
public:
  Persister(Function &function, Launch &launch, const LaunchPlan &plan)
      : function(function), context(*function.context), launch(launch), plan(plan),
        folds(plan.fold && plan.fold->axis < launch.grid.size()),
        shares(plan.sharedAxis && *plan.sharedAxis < launch.grid.size() && !folds) {}

  void run() {
    requireCountable();
    constexpr const char *names[] = {"columns", "rows", "planes"};
    for (std::size_t d = 0; d < launch.grid.size(); ++d)
      extents.push_back(constant(names[d], context.cast(Scalar::Int32, wherever(launch.grid[d]))));
    if (shares)
      loadInPairs();
    const Work work = shareOut();
    Expr block = context.var(shares ? "block" : "worker", Scalar::Int32), worker = block;

    Block body;
    Builder builder(function, body);
    builder.range = launch.range;
    if (shares) {
      worker = builder.let("worker", context.binary(BinaryOp::Shr, block, pair));
      notNegative(builder, worker);
      rank = builder.let("rank", block - context.binary(BinaryOp::Shl, worker, pair));
      builder.add<AssumeStmt>().condition =
          logicalAnd(lessEqual(context.int32(0), rank), lessEqual(rank, context.int32(1)));
    }
    for (Expr extent : extents)
      atLeastOne(builder, extent);
    atLeastOne(builder, work.workers);
    auto &loop = builder.add<ForStmt>();
    loop.var = context.var("round", Scalar::Int32);
    loop.lo = context.int32(0);
    loop.hi = folds ? foldedRounds(work, worker)
                    : floorDiv(work.tiles - worker + work.workers - 1, work.workers);
    loop.step = context.int32(1);
    builder.in(loop.body, [&] {
      Expr even = equals(floorMod(loop.var, 2), 0);
      Expr mine = folds ? context.select(even, worker, work.workers - 1 - worker) : worker;
      Expr tile = builder.let("tile", mine + loop.var * work.workers);
      notNegative(builder, tile);
      folds ? placeByLength(builder, work, tile) : placeTile(builder, tile);
      moveBody(builder);
    });
    launch.body = std::move(body);
    launch.grid = {shares ? context.binary(BinaryOp::Shl, work.workers, pair) : work.workers};
    launch.blockVars = {block};
    launch.raster = {};
  }

private:
  /// How the tiles of a grid are shared out.
  struct Work {
    Expr tiles;
    Expr workers; ///< blocks
    /// If tiles come by their length: all but that axis, and how many of them in a section.
    Expr planes, group;
  };

  /// An extent as it is where the launch is the one that is started: not none because of what the
  /// launcher found out.
  Expr wherever(Expr extent) const {
    for (auto started = startedIf(extent); started && isComputed(started->condition);
         started = startedIf(extent))
      extent = started->extent;
    return extent;
  }

  bool isComputed(Expr condition) const {
    return std::any_of(function.launchConstants.begin(), function.launchConstants.end(),
                       [&](const LaunchConstant &constant) {
                         return constant.what == LaunchConstant::What::Computed &&
                                uses(condition, constant.var);
                       });
  }

  /// Tiles are numbered with 32 bits, and so many more blocks than tiles do not do harm.
  void requireCountable() {
    Expr product = context.integer(Scalar::Int64, 1);
    for (Expr extent : launch.grid)
      product = product * context.cast(Scalar::Int64, wherever(extent));
    Expr fits = lessEqual(product, context.integer(Scalar::Int64, std::int64_t{1} << 30));
    if (!fits.isConstant(1))
      function.constraints.push_back({fits, "at most 2^30 tiles", launch.range});
  }

  /// Marks what neighbours have in common, and counts tiles in pairs along the axis where they do.
  void loadInPairs() {
    const std::size_t axis = *plan.sharedAxis;
    Expr straddles = context.boolean(false);
    walk(launch.body, [&](Stmt &stmt) {
      auto *copy = dynCast<CopyStmt>(&stmt);
      const Buffer *tensor = copy ? copy->source.buffer : nullptr;
      if (!tensor || tensor->storage()->scope != Scope::Global || tensor->rank() < 2)
        return true;
      Expr pitch = context.cast(Scalar::Int64, analysis::strideOf(*tensor, tensor->rank() - 2));
      Expr whole = tensor->dtype.bits() % 8 == 0
                       ? equals(floorMod(pitch * (tensor->dtype.bits() / 8), cacheLine), 0)
                       : equals(floorMod(pitch * tensor->dtype.bits(), cacheLine * 8), 0);
      straddles = logicalOr(straddles, logicalNot(whole));
      return true;
    });
    // A block too many at the end matters little among many.
    Expr extent = extents[axis];
    Expr even = logicalOr(equals(floorMod(extent, 2), 0), lessEqual(context.int32(16), extent));
    Expr paired = logicalAnd(straddles, even);
    shares = !paired.isConstant(0);
    if (!shares)
      return;
    pair = constant("pair", context.select(paired, context.int32(1), context.int32(0)));
    Expr size = pair + 1, mask = pair * 3;
    for (CopyStmt *copy : sharedLoads(function, launch, axis))
      copy->multicast = mask;
    launch.cluster = {2, 1, 1};
    launch.clusterSize = size;
    extents[axis] = constant("pairs", context.binary(BinaryOp::Shr, extent + pair, pair));
  }

  void moveBody(Builder &builder) {
    for (StmtPtr &stmt : launch.body)
      builder.add(std::move(stmt));
  }

  Expr constant(const char *name, Expr value) { return launchConstant(function, name, value); }

  Work shareOut() {
    Work work;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      work.tiles = d ? work.tiles * extents[d] : extents[d];
      if (folds && d != plan.fold->axis)
        work.planes = work.planes ? work.planes * extents[d] : extents[d];
    }
    for (Expr extent : launch.grid)
      if (wherever(extent) != extent) // none, where another launch is started
        work.tiles = context.select(lessThan(context.integer(extent.dtype(), 0), extent),
                                    work.tiles, context.int32(0));
    Expr room = multiprocessors(function) * std::max<std::int64_t>(1, plan.minBlocks);
    if (shares) // not none, of a machine or a part of one with a single multiprocessor
      room = someOf(context.binary(BinaryOp::Shr, room, pair));
    work.tiles = constant("tiles", work.tiles);
    work.workers = constant("workers", minimum(work.tiles, room));
    if (folds) {
      // With four rounds to a section shares differ by less than a hundredth where tiles are many.
      // With half as many planes as workers tiles of one length are half a round, and of two rounds
      // to and fro all have the same: of few lengths, and of many tiles, they are taken instead.
      // Eight planes at least: each part of them is then read by a sixteenth of the machine at a
      // time, which memory can serve; more only as far as the cache holds them.
      Expr length = someOf(extents[plan.fold->axis]);
      Expr enough = constant("enough", floorDiv(work.workers * 4 + length - 1, length));
      Expr half =
          maximum(floorDiv(work.workers, 2), floorDiv(work.workers * 2 + length - 1, length));
      work.planes = constant("all", work.planes ? work.planes : context.int32(1));
      enough = context.select(lessEqual(enough * 3, work.planes), minimum(enough, half), enough);
      if (Expr fitting = planesInCache())
        enough = minimum(enough, fitting);
      Expr group = minimum(work.planes, maximum(enough, context.int32(8)));
      work.group = constant("group", someOf(group));
    }
    return work;
  }

  /// Planes whose data the cache holds; null: not known. What a plane reads again and again is what
  /// its longest tile reads.
  Expr planesInCache() const {
    Expr bytes;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      const auto *loop = dynCast<ForStmt>(&stmt);
      if (!loop || loop->kind != ForKind::Pipelined || bytes)
        return true;
      std::int64_t round = 0;
      for (const StmtPtr &inner : loop->body)
        if (const auto *copy = dynCast<CopyStmt>(inner.get());
            copy && analysis::isSharedLoad(*copy))
          if (auto elements = copy->target.buffer->elementCount())
            round += *elements * copy->target.buffer->dtype.bits() / 8;
      const std::size_t axis = plan.fold->axis;
      Substitution longest;
      for (std::size_t d = 0; d < launch.blockVars.size(); ++d) {
        Expr var = launch.blockVars[d];
        Expr last = context.cast(var.dtype(), extents[d] - 1);
        bool farthest = d == axis && plan.fold->grows;
        longest.emplace_back(var, farthest ? last : context.integer(var.dtype(), 0));
      }
      Expr trips = substitute(loop->hi - loop->lo, longest);
      bytes = context.cast(Scalar::Int64, trips) * round;
      return false;
    });
    if (!bytes || !launcherKnows(launch, bytes))
      return {};
    Expr some = maximum(bytes, context.integer(Scalar::Int64, 1));
    return context.cast(Scalar::Int32, floorDiv(context.integer(Scalar::Int64, cacheShare), some));
  }

  /// The launcher computes before it knows whether the grid is empty.
  Expr someOf(Expr count) { return maximum(count, context.int32(1)); }

  /// Workers go back and forth: a last round that is not full begins where its direction does.
  Expr foldedRounds(const Work &work, Expr worker) {
    Expr full = constant("full", floorDiv(work.tiles, someOf(work.workers)));
    Expr even = equals(floorMod(full, 2), 0);
    Expr mine = context.select(even, worker, work.workers - 1 - worker);
    Expr more = lessThan(mine, work.tiles - full * work.workers);
    return full + context.select(more, context.int32(1), context.int32(0));
  }

  /// Binds the block variables of a tile.
  void placeTile(Builder &builder, Expr tile) {
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

  /// Binds the block variables of a tile of which the order of lengths gives the number.
  void placeByLength(Builder &builder, const Work &work, Expr tile) {
    const std::size_t axis = plan.fold->axis;
    Expr length = extents[axis];
    Expr sections = constant("sections", floorDiv(work.planes + work.group - 1, work.group));
    Expr whole = constant("whole", work.group * length);
    atLeastOne(builder, whole);
    auto [section, inside] =
        divide(builder, "section", "inside", tile, divisor("whole_inverse", whole));
    // The last section may have fewer planes.
    Expr width = builder.let("width", minimum(work.group, work.planes - section * work.group));
    atLeastOne(builder, width);
    Divisor full = divisor("group_inverse", work.group),
            last = divisor("last_inverse", work.planes - (sections - 1) * work.group);
    Expr inverse = context.select(equals(width, work.group), full.inverse, last.inverse);
    auto [place, plane] = divide(builder, "place", "plane", inside, {width, inverse});
    Expr back = length - 1 - place;
    Expr falls = equals(floorMod(sections - section, 2), 1);
    std::vector<Expr> values(extents.size());
    values[axis] =
        plan.fold->grows ? context.select(falls, back, place) : context.select(falls, place, back);
    split(section * work.group + plane, values);
    bindBlock(builder, values);
  }

  /// A divisor of which the launcher knows what 2^31 over it is, rounded down; 2^31 - 1 for 1.
  struct Divisor {
    Expr value, inverse;
  };

  Divisor divisor(const char *name, Expr value) {
    auto wide = [&](std::int64_t x) { return context.integer(Scalar::Int64, x); };
    Expr over = floorDiv(wide(std::int64_t{1} << 31), context.cast(Scalar::Int64, someOf(value)));
    Expr fits = minimum(over, wide((std::int64_t{1} << 31) - 1));
    return {value, constant(name, context.cast(Scalar::Int32, fits))};
  }

  /// Quotient and remainder of a number of at least 0 and less than 2^31. The product with the
  /// inverse gives the quotient or one less; a division by what only the call knows would take ten
  /// times the instructions, between two tiles, where everything waits for them.
  std::pair<Expr, Expr> divide(Builder &builder, const char *name, const char *restName,
                               Expr number, Divisor by) {
    Expr product = context.cast(Scalar::Int64, number) * context.cast(Scalar::Int64, by.inverse);
    Expr shift = context.integer(Scalar::Int64, 31);
    Expr guess = builder.let(
        "guess", context.cast(Scalar::Int32, context.binary(BinaryOp::Shr, product, shift)));
    Expr rest = builder.let("rest", number - guess * by.value);
    Expr fits = lessThan(rest, by.value);
    Expr quotient = builder.let(name, context.select(fits, guess, guess + 1));
    notNegative(builder, quotient);
    Expr remainder = builder.let(restName, context.select(fits, rest, rest - by.value));
    notNegative(builder, remainder);
    return {quotient, remainder};
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
      Expr var = launch.blockVars[d], value = values[d];
      Expr end = context.cast(var.dtype(), wherever(launch.grid[d]));
      if (shares && d == *plan.sharedAxis) {
        value = context.binary(BinaryOp::Shl, value, pair) + rank;
        end = end + 1; // the second of the last pair
      }
      auto &let = builder.add<LetStmt>();
      let.var = var;
      let.value = context.cast(var.dtype(), value);
      auto &fact = builder.add<AssumeStmt>();
      fact.condition =
          logicalAnd(lessEqual(context.integer(var.dtype(), 0), var), lessThan(var, end));
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
  bool folds, shares;
  Expr pair,
      rank; ///< if it shares: 1 if blocks go in pairs, else 0; the block's number in its pair
  std::vector<Expr> extents; ///< of the grid as it was
};

/// Whether the program has as many blocks as the device holds. (What is computed of such a number
/// only says which of several launches there is.)
bool dependsOnDevice(const Function &function, const Launch &launch) {
  for (const LaunchConstant &constant : function.launchConstants)
    for (Expr extent : launch.grid)
      if (constant.what == LaunchConstant::What::MultiprocessorCount && uses(extent, constant.var))
        return true;
  return false;
}

} // namespace

std::string whyNotPersistent(const Function &function, const Launch &launch) {
  if (launch.cooperative)
    return "its blocks wait for each other";
  if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1})
    return "its blocks form clusters";
  if (dependsOnDevice(function, launch))
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
