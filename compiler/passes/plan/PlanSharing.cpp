#include "passes/plan/PlanSharing.h"

#include "analysis/Copies.h"
#include "analysis/Monotone.h"
#include "ir/Walk.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/plan/Footprint.h"
#include "passes/roles/Channels.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

/// Whether all that a statement says of itself, its nested blocks apart, is the same for all values
/// of a block variable.
bool isSameAlong(const Stmt &stmt, Expr block, const analysis::Ranges &ranges) {
  bool same = true;
  forEachExpr(stmt, [&](Expr e) {
    same = same && (!e || analysis::directionOf(e, block, ranges) == analysis::Direction::Constant);
  });
  return same;
}

bool touchesGlobal(const Stmt &stmt) {
  bool found = false;
  forEachUse(stmt,
             [&](const BufferUse &use) { found |= use.buffer->storage()->scope == Scope::Global; });
  return found;
}

} // namespace

std::vector<CopyStmt *> sharedLoads(Function &function, Launch &launch, std::size_t axis) {
  std::vector<CopyStmt *> found;
  analysis::Ranges ranges(function);
  ranges.enter(launch);
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (analysis::isSharedLoad(stmt) && isSameAlong(stmt, launch.blockVars[axis], ranges))
      found.push_back(&cast<CopyStmt>(stmt));
    return true;
  });
  return found;
}

namespace {

/// What decides for each dimension of a launch.
class Sharing {
public:
  Sharing(Function &function, Launch &launch, PassContext &pass, const LaunchPlan &plan)
      : function(function), launch(launch) {
    if (!plan.persistent.value_or(false) || !plan.specialize.value_or(false) || plan.fold ||
        pass.target.limits.maxCluster < 2)
      return;
    // Both blocks of a pair must do the same number of loads: those of one loop, under no
    // condition.
    std::vector<PlannedLoop> loops = plannedLoops(launch, &plan);
    ChannelPlan channels = findChannels(function, launch, pass.target, &plan);
    possible = loops.size() == 1 && channels.reason.empty() &&
               std::any_of(launch.body.begin(), launch.body.end(),
                           [&](const StmtPtr &stmt) { return stmt.get() == loops[0].loop; });
    for (const Channel &channel : channels.channels) {
      possible = possible && channel.block == &loops[0].loop->body;
      clipped.insert(channel.copies.begin(), channel.copies.end());
    }
    // Stores that a schedule wants from registers are clipped there (stage-stores).
    std::vector<analysis::FragmentStore> stores = analysis::fragmentStores(launch);
    for (std::size_t i = 0; i < stores.size() && i < plan.stores.size(); ++i)
      if (const StorePlan &store = plan.stores[i];
          store.way == StoreWay::Tensor || (store.way == StoreWay::Direct && store.binding))
        clipped.insert(stores[i].stmt);
  }

  /// Bytes of a round that neighbours along the dimension have in common; 0 if they may not load
  /// together.
  std::int64_t bytesAlong(std::size_t axis) {
    if (!possible || axis >= launch.blockVars.size() || !isHarmless(axis))
      return 0;
    std::int64_t sum = 0;
    for (const CopyStmt *copy : sharedLoads(function, launch, axis))
      sum += bytesOf(*copy->target.buffer);
    return sum;
  }

private:
  /// Whether a block beyond the grid only does what is clipped, and as often as its partner.
  bool isHarmless(std::size_t axis) {
    bool harmless = true;
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
      bool branches = isa<ForStmt>(stmt) || isa<IfStmt>(stmt) || isa<WhileStmt>(stmt);
      if (branches || (touchesGlobal(stmt) && !clipped.count(&stmt)))
        harmless = harmless && isSameAlong(stmt, launch.blockVars[axis], ranges);
      return harmless;
    });
    return harmless;
  }

  Function &function;
  Launch &launch;
  bool possible = false;
  std::unordered_set<const Stmt *> clipped;
};

/// Whether some row that tiles are loaded from may begin within a line of the cache.
bool mayStraddle(const Function &function, Launch &launch) {
  bool may = false;
  analysis::Ranges ranges(function);
  ranges.enter(launch);
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (!analysis::isSharedLoad(stmt))
      return true;
    const Buffer &tensor = *cast<CopyStmt>(stmt).source.buffer;
    may |= tensor.rank() < 2 ||
           !ranges.divisible(analysis::strideOf(tensor, tensor.rank() - 2) * tensor.dtype.bits(),
                             cacheLine * 8);
    return !may;
  });
  return may;
}

} // namespace

std::optional<std::size_t> planSharing(Function &function, Launch &launch, PassContext &pass,
                                       const LaunchPlan &plan) {
  if (!mayStraddle(function, launch))
    return std::nullopt;
  Sharing sharing(function, launch, pass, plan);
  std::optional<std::size_t> best;
  std::int64_t most = 0;
  for (std::size_t axis = 0; axis < launch.blockVars.size(); ++axis)
    if (std::int64_t bytes = sharing.bytesAlong(axis); bytes > most) {
      most = bytes;
      best = axis;
    }
  return best;
}

bool canShare(Function &function, Launch &launch, PassContext &pass, const LaunchPlan &plan,
              std::size_t axis) {
  return Sharing(function, launch, pass, plan).bytesAlong(axis) > 0;
}

} // namespace tlc::passes
