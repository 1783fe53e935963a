// plan: decides, and changes no statement.
//
//   for %ko in … pipelined stages(3)     =>     launch gemm { loop ko stages 3  // as written }
//
// Writes the Schedule: how many stages each pipelined loop gets, the order of blocks, the gemms'
// instructions, how tiles are stored. What the user gave (--schedule=FILE) stays; so does
// everything with --schedule=as-written. Otherwise num_stages is a hint: a single stage becomes two
// where the second one costs no occupancy, since a loop that waits for its own copies never
// overlaps with them. Stands after select-atoms, whose choices it records, and before the first
// pass that follows the plan.
#include "analysis/Copies.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/Occupancy.h"
#include "passes/plan/PlanRaster.h"
#include "passes/plan/PlanSharing.h"
#include "passes/plan/PlanSpecialize.h"
#include "passes/plan/PlanSpread.h"
#include "passes/plan/PlanStores.h"
#include "passes/plan/TensorStores.h"
#include "passes/prepare/PackedRows.h"
#include "target/Atoms.h"

namespace tlc::passes {

using namespace ir;

namespace {

class Planner {
public:
  Planner(Function &function, Launch &launch, PassContext &pass)
      : function(function), launch(launch), pass(pass) {}

  LaunchPlan run(LaunchPlan *given) {
    LaunchPlan plan;
    plan.kernel = function.name;
    plan.name = launch.name.empty() ? function.name : launch.name;
    plan.raster = launch.raster;
    plan.rasterReason = launch.raster.panel ? "as written" : "";
    if (given && given->minBlocks)
      launch.minBlocksPerSm = given->minBlocks;
    plan.minBlocks = launch.minBlocksPerSm;
    plan.minBlocksReason = "as written"; // if at all
    plan.tiles = launch.tiles;
    plan.tilesReason = "larger tiles load less for each product; where there are enough of them";
    if (launch.clusterSize) {
      plan.parts = launch.cluster[0];
      plan.partsReason = "blocks share the sums of a tile where tiles do not fill the machine, "
                         "which changes the order of additions";
    } else if (launch.cluster[0] * launch.cluster[1] > 1) {
      plan.cluster = {launch.cluster[0], launch.cluster[1]};
      plan.clusterReason = "as written";
    }
    for (const Buffer *tensor : packedTensors(launch))
      plan.packed.push_back(tensor->name);
    plan.packedReason = "rows between multiples of 16 bytes are copied to the caller's workspace "
                        "first, where tiles load them often";
    for (const PlannedLoop &loop : plannedLoops(launch, nullptr))
      plan.loops.push_back(planned(*loop.loop));
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *gemm = dynCast<GemmStmt>(&stmt))
        plan.gemms.push_back({gemm->atom ? gemm->atom->name : "", gemm->warpsM, gemm->warpsN});
      return true;
    });
    planTheStores(plan);
    if (given)
      given->stores = repeated(given->stores, plan.stores);
    if (given && !speaksOf(*given, plan)) {
      pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name);
      given = nullptr;
    }
    if (given && given->parts && given->parts != plan.parts)
      mismatch(plan.parts ? "its blocks share sums as far as " + std::to_string(plan.parts) +
                                " parts: a power of two, with rounds and shared memory for each"
                          : "its blocks have no sums to share: `parts` is of the launch that is "
                            "there for few tiles");
    if (given && given->tiles != plan.tiles)
      pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
          .note("`tiles` is of the launch that is there for many tiles, as far as 128 x 256 sums");
    if (given && !given->packed.empty() && given->packed != plan.packed)
      pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
          .note("it does not read copies of the rows of just these tensors");
    // What stores need of shared memory, rings cannot have.
    if (given)
      followStores(*given, plan);
    planSpecialization(function, launch, pass, plan, given);
    if (!launch.alternates) // with rows that straddle lines the launcher takes no turns
      plan.sharedAxis = planSharing(function, launch, pass, plan);
    if (plan.sharedAxis)
      plan.persistentReason += "; neighbours load together where rows straddle lines of the cache";
    if (!function.options.hintsAreBinding)
      planSpread(launch, pass, plan, given);
    if (given) {
      follow(*given, plan);
      checkWalk(*given, plan);
    }
    // A second warpgroup comes with the walk over tiles.
    plan.alternates &= plan.persistent.value_or(false) && plan.specialize.value_or(false);
    launch.alternates &= plan.alternates;
    if (given && given->alternates && !launch.alternates)
      mismatch("its tiles cannot be taken in turns by two warpgroups");
    if (!given || !given->raster)
      planRaster(function, launch, pass, plan);
    if (plan.parts && (plan.cluster || !plan.specialize.value_or(false)))
      pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
          .note(
              "blocks that share sums are a cluster of that, and specialised: others may not have "
              "begun");
    return plan;
  }

private:
  void mismatch(std::string why) {
    pass.diagnostics
        .report(diag::ScheduleMismatch, launch.range,
                launch.name.empty() ? function.name : launch.name)
        .note(std::move(why));
  }

  void planTheStores(LaunchPlan &plan) {
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    plan.stores = planStores(launch, pass.target, ranges);
    if (launch.alternates)
      shareStaging(plan, tensorStores(launch, pass.target, ranges));
    if (function.options.hintsAreBinding)
      for (StorePlan &store : plan.stores)
        store = decided(store, StoreWay::Direct, "as written");
  }

  /// Both groups want shared memory of their own for a tile, and neither waits for the other's.
  static void shareStaging(LaunchPlan &plan, const std::vector<TensorStore> &possible) {
    for (std::size_t i = 0; i < plan.stores.size(); ++i)
      if (StorePlan &store = plan.stores[i]; store.way == StoreWay::Tensor) {
        possible[i].take(0, 1, store);
        store.stagingBytes *= 2;
      }
  }

  static StorePlan decided(const StorePlan &store, StoreWay way, const char *reason) {
    StorePlan plan{store.name, way, true, reason};
    plan.adds = store.adds;
    return plan;
  }

  LoopPlan planned(const ForStmt &loop) {
    LoopPlan plan{loop.var->name, loop.stages, false, "as written"};
    plan.written = loop.stages;
    if (loop.stages == 0) {
      plan.binding = true;
      plan.reason = "not pipelined, as written";
    }
    plan.binding |= function.options.hintsAreBinding || !loop.stage.empty();
    if (plan.binding || loop.stages != 1 || !pass.target.isGpu())
      return plan;
    std::int64_t more = bytesLoaded(loop);
    std::int64_t now = allocatedBytes(launch.body, Scope::Shared);
    auto blocks = [&](std::int64_t bytes) {
      const std::int64_t threads = launch.threadCount();
      return residentBlocks(pass.target, threads, bytes, registersOf(launch.body, threads));
    };
    if (more > 0 && blocks(now) == blocks(now + more)) {
      plan.stages = 2;
      plan.reason = "a second stage costs no occupancy";
    }
    return plan;
  }

  /// Shared bytes that the loop loads from global memory in each round.
  static std::int64_t bytesLoaded(const ForStmt &loop) {
    std::unordered_set<const Buffer *> tiles;
    walk(loop.body, [&](const Stmt &stmt) {
      if (analysis::isSharedLoad(stmt))
        tiles.insert(cast<CopyStmt>(stmt).target.buffer->storage());
      return true;
    });
    std::int64_t sum = 0;
    for (const Buffer *tile : tiles)
      sum += bytesOf(*tile) * tile->versions;
    return sum;
  }

  void followSharing(std::optional<std::size_t> axis, LaunchPlan &plan) {
    plan.sharedAxis = axis;
    if (axis && !canShare(function, launch, pass, plan, *axis))
      pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
          .note("neighbours along dimension " + std::to_string(*axis) +
                " have nothing that one could load for both, or do more than tensor maps can clip");
  }

  template <typename T>
  static void take(const std::optional<T> &given, std::optional<T> &choice, std::string &reason) {
    if (!given)
      return;
    choice = given;
    reason = "as given";
  }

  /// The stores of a file, where one line may speak of all those in a row that go to one tensor.
  static std::vector<StorePlan> repeated(const std::vector<StorePlan> &given,
                                         const std::vector<StorePlan> &planned) {
    std::vector<StorePlan> stores;
    for (std::size_t i = 0; i < given.size();) {
      std::size_t lines = storesInARow(given, i);
      if (lines == 1 && stores.size() < planned.size())
        stores.insert(stores.end(), storesInARow(planned, stores.size()), given[i]);
      else
        stores.insert(stores.end(), &given[i], &given[i] + lines);
      i += lines;
    }
    return stores;
  }

  /// Whether a file means the same loops, gemms and stores.
  static bool speaksOf(const LaunchPlan &given, const LaunchPlan &plan) {
    bool same = given.name == plan.name && given.loops.size() <= plan.loops.size() &&
                given.gemms.size() <= plan.gemms.size() &&
                given.stores.size() <= plan.stores.size();
    for (std::size_t i = 0; same && i < given.loops.size(); ++i)
      same = given.loops[i].name == plan.loops[i].name;
    for (std::size_t i = 0; same && i < given.stores.size(); ++i)
      same = given.stores[i].name == plan.stores[i].name &&
             given.stores[i].adds == plan.stores[i].adds;
    return same;
  }

  void followStores(const LaunchPlan &given, LaunchPlan &plan) {
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    std::vector<TensorStore> possible = tensorStores(launch, pass.target, ranges);
    for (std::size_t i = 0; i < given.stores.size(); ++i) {
      const StorePlan &wanted = given.stores[i];
      StorePlan &store = plan.stores[i];
      store = decided(store, wanted.way, "as given");
      if (store.way != StoreWay::Tensor)
        continue;
      store.deferred = wanted.deferred;
      std::string fault = possible[i].take(wanted.columns, wanted.buffers, store);
      store.stagingBytes *= launch.alternates ? 2 : 1;
      if (fault.empty() && store.deferred && launch.alternates)
        fault = "of tiles taken in turns none is stored beside the next";
      if (!fault.empty())
        pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
            .note("`" + store.name + "` cannot be stored so by tensor maps: " + fault);
    }
  }

  void follow(const LaunchPlan &given, LaunchPlan &plan) {
    take(given.raster, plan.raster, plan.rasterReason);
    if (given.minBlocks) {
      plan.minBlocks = given.minBlocks;
      plan.minBlocksReason = "as given";
    }
    for (std::size_t i = 0; i < given.loops.size(); ++i) {
      plan.loops[i].stages = plan.loops[i].written = given.loops[i].stages;
      plan.loops[i].binding = given.loops[i].binding;
      plan.loops[i].early = given.loops[i].early;
      plan.loops[i].reason = given.loops[i].reason.empty() ? "as given" : given.loops[i].reason;
    }
    if (given.cluster && (*given.cluster)[0] * (*given.cluster)[1] > pass.target.limits.maxCluster)
      pass.diagnostics.report(diag::ScheduleCluster, launch.range, (*given.cluster)[0],
                              (*given.cluster)[1], pass.target.name, pass.target.limits.maxCluster);
    else
      take(given.cluster, plan.cluster, plan.clusterReason);
    if (plan.cluster && (*plan.cluster)[0] * (*plan.cluster)[1] > 1)
      plan.persistent.reset(); // blocks of a cluster stay together
    take(given.persistent, plan.persistent, plan.persistentReason);
    take(given.inFlight, plan.inFlight, plan.inFlightReason);
    if (given.persistent) {
      plan.fold = given.fold;
      plan.tileStages = given.tileStages;
      plan.joined = given.joined, plan.joins = false;
      followSharing(given.sharedAxis, plan);
    }
    if (!plan.persistent.value_or(false))
      for (StorePlan &store : plan.stores)
        store.deferred &= store.binding;
  }

  /// What would do nothing is not what somebody wrote down for it.
  void checkWalk(const LaunchPlan &given, const LaunchPlan &plan) {
    if (given.minBlocks && !pass.target.isGpu())
      mismatch("`min_blocks` is of multiprocessors, which " + std::string(pass.target.name) +
               " does not have");
    if (!given.persistent.value_or(false))
      return;
    if (!pass.target.isGpu())
      mismatch("only blocks of a GPU walk over tiles: `persistent` is not for " +
               std::string(pass.target.name));
    if (given.tileStages > 1 && !plan.loadsOnce)
      mismatch("`stages` of `persistent` are of what a producer loads once a tile, and nothing is");
    if (given.fold && given.fold->axis >= launch.grid.size())
      mismatch("its grid has no dimension " + std::to_string(given.fold->axis) + " to fold");
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
};

} // namespace

std::vector<PlannedLoop> plannedLoops(Launch &launch, const LaunchPlan *plan) {
  std::vector<PlannedLoop> loops;
  walk(launch.body, [&](Stmt &stmt) {
    auto *loop = dynCast<ForStmt>(&stmt);
    if (!loop || loop->kind != ForKind::Pipelined)
      return true;
    PlannedLoop entry{loop, loop->stages, ""};
    if (plan && loops.size() < plan->loops.size()) {
      entry.stages = plan->loops[loops.size()].stages;
      entry.reason = plan->loops[loops.size()].reason;
    }
    loops.push_back(std::move(entry));
    return true;
  });
  return loops;
}

void plan(Function &function, PassContext &context) {
  Schedule planned;
  planned.given = context.schedule.given;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    LaunchPlan *given = context.schedule.launch(i);
    Launch &launch = *function.launches[i];
    planned.launches.push_back(Planner(function, launch, context).run(given));
    const LaunchPlan &decided = planned.launches.back();
    launch.raster = decided.raster.value_or(Raster{});
    launch.minBlocksPerSm = decided.minBlocks;
    if (decided.cluster)
      launch.cluster = {(*decided.cluster)[0], (*decided.cluster)[1], launch.cluster[2]};
  }
  const std::vector<LaunchPlan> &all = context.schedule.launches;
  for (std::size_t i = function.launches.size(); i < all.size(); ++i)
    context.diagnostics.report(diag::ScheduleMismatch, function.range, all[i].name)
        .note("`" + function.name + "` has " + std::to_string(function.launches.size()) +
              (function.launches.size() == 1 ? " launch" : " launches") + " on " +
              std::string(context.target.name));
  context.schedule = std::move(planned);
}

} // namespace tlc::passes
