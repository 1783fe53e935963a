#include "passes/PlanSharing.h"

#include "analysis/Monotone.h"
#include "ir/Walk.h"
#include "passes/Channels.h"
#include "passes/PipelineLoops.h"
#include "passes/PlanStores.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

bool isLoad(const Stmt &stmt) {
  const auto *copy = dynCast<CopyStmt>(&stmt);
  return copy && copy->source.buffer->storage()->scope == Scope::Global &&
         copy->target.buffer->storage()->scope == Scope::Shared;
}

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

std::int64_t bytesOf(const CopyStmt &copy) {
  std::int64_t count = 1;
  for (std::int64_t extent :
       copy.target.constantTileExtents().value_or(std::vector{std::int64_t{0}}))
    count *= extent;
  return storageBytes(copy.target.buffer->dtype, count);
}

} // namespace

std::vector<CopyStmt *> sharedLoads(Function &function, Launch &launch, std::size_t axis) {
  std::vector<CopyStmt *> found;
  analysis::Ranges ranges(function);
  ranges.enter(launch);
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (isLoad(stmt) && isSameAlong(stmt, launch.blockVars[axis], ranges))
      found.push_back(&cast<CopyStmt>(stmt));
    return true;
  });
  return found;
}

std::optional<std::size_t> planSharing(Function &function, Launch &launch, PassContext &pass,
                                       const LaunchPlan &plan) {
  if (!plan.persistent.value_or(false) || plan.fold || pass.target.limits.maxCluster < 2)
    return std::nullopt;
  // Both blocks of a pair must do the same number of loads: those of one loop, under no condition.
  std::vector<PlannedLoop> loops = plannedLoops(launch, &plan);
  ChannelPlan channels = findChannels(function, launch, pass.target, &plan);
  bool simple = loops.size() == 1 && channels.reason.empty() &&
                std::any_of(launch.body.begin(), launch.body.end(),
                            [&](const StmtPtr &stmt) { return stmt.get() == loops[0].loop; });
  std::unordered_set<const Stmt *> byMaps;
  for (const Channel &channel : channels.channels) {
    simple &= channel.block == &loops[0].loop->body;
    byMaps.insert(channel.copies.begin(), channel.copies.end());
  }
  std::vector<CopyStmt *> stores = fragmentStores(launch);
  for (std::size_t i = 0; i < stores.size() && i < plan.stores.size(); ++i)
    if (plan.stores[i].way == StoreWay::Tensor)
      byMaps.insert(stores[i]);
  if (!simple)
    return std::nullopt;

  std::optional<std::size_t> best;
  std::int64_t most = 0;
  for (std::size_t axis = 0; axis < launch.blockVars.size(); ++axis) {
    bool harmless = true;
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
      bool loop = isa<ForStmt>(stmt) || isa<IfStmt>(stmt) || isa<WhileStmt>(stmt);
      if ((touchesGlobal(stmt) && !byMaps.count(&stmt)) || loop)
        harmless &= isSameAlong(stmt, launch.blockVars[axis], ranges);
      return harmless;
    });
    std::int64_t bytes = 0;
    for (const CopyStmt *copy : sharedLoads(function, launch, axis))
      bytes += bytesOf(*copy);
    if (harmless && bytes > most) {
      most = bytes;
      best = axis;
    }
  }
  return best;
}

} // namespace tlc::passes
