#include "passes/roles/RoleRegisters.h"

#include "ir/Walk.h"
#include "passes/plan/Footprint.h"
#include "target/Atoms.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Registers of a thread beside its arrays.
constexpr std::int64_t beside = 40;
/// The same where nothing can be taken from other roles.
constexpr std::int64_t besideAlone = 56;
/// Registers that a thread of a copying producer, and one that computes tiles, has use for.
constexpr std::int64_t mostOfCopying = 104, mostOfConverting = 160;

/// What setmaxnreg can go down to; what the scores of a front and their exponentials need.
constexpr std::int64_t leastRegisters = 24, leastOfFront = 128;

/// Of a thread's arrays: of those who compute tiles, or of the program's threads.
std::int64_t arrays(const Launch &launch, const ChannelPlan &plan, bool converter,
                    std::int64_t threads) {
  std::int64_t bytes = 0;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *alloc = dynCast<AllocStmt>(&stmt);
    if (alloc && alloc->buffer->scope == Scope::Fragment && plan.isOwn(stmt) == converter)
      bytes += bytesOf(*alloc->buffer);
    return true;
  });
  return bytes / 4 / threads;
}

/// With as many warpgroups that compute tiles.
RoleRegisters shared(const Launch &launch, const ChannelPlan &plan, const Target &target,
                     std::int64_t converting) {
  const std::int64_t group = target.limits.groupThreads(), granule = target.limits.registerGranule;
  const std::int64_t computing = launch.computingThreads(), groups = computing / group;
  const std::int64_t each = registersAtLaunch(launch, target, computing + (1 + converting) * group);
  RoleRegisters registers;
  registers.converting = converting;
  if (groups < 2 || !target.has(Feature::SetMaxRegisters))
    return registers;
  registers.producer = each >= 160 ? 40 : each >= 128 ? 32 : 24;
  // Threads that copy hold many addresses, those that compute many values; they get what the
  // consumers' accumulators leave.
  const std::int64_t all = each * (groups + 1 + converting);
  std::int64_t rest = all - (arrays(launch, plan, false, launch.threadCount()) + beside) * groups;
  auto share = [&](std::int64_t count, std::int64_t least, std::int64_t most) {
    return std::clamp(count / granule * granule, least, most);
  };
  if (converting)
    registers.converter = share((rest - registers.producer) / converting,
                                each / 2 / granule * granule, mostOfConverting);
  if (plan.byThreads())
    registers.producer =
        share(rest - registers.converter * converting, registers.producer + 16, mostOfCopying);
  std::int64_t left = all - registers.producer - registers.converter * converting;
  registers.consumer = std::min<std::int64_t>(left / groups / granule * granule, 240);
  return registers;
}

bool leavesRoom(const Launch &launch, const Target &target, std::int64_t converting) {
  const std::int64_t group = target.limits.groupThreads(), computing = launch.threadCount();
  const std::int64_t threads = computing + (1 + converting) * group;
  if (threads > target.limits.threadsPerBlock)
    return false;
  bool fits = true;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *gemm = dynCast<GemmStmt>(&stmt);
    auto extents = gemm && isWarpgroupGemm(stmt) ? gemm->c.constantTileExtents() : std::nullopt;
    if (!extents)
      return true;
    // 64 rows of a warpgroup, as many columns at once as it has, at most 256.
    std::int64_t columns = std::min<std::int64_t>(extents->back() / gemm->warpsN, 256);
    std::int64_t bytes = storageBytes(gemm->c.buffer->dtype, 64 * columns);
    std::int64_t needed = bytes / 4 / group + besideInstruction;
    if (computing == group)
      needed = bytesOf(*gemm->c.buffer) / 4 / group + besideAlone;
    fits &= needed <= registersAtLaunch(launch, target, threads);
    return fits;
  });
  return fits;
}

/// With a front.
RoleRegisters cut(const Launch &launch, const Target &target) {
  const std::int64_t group = target.limits.groupThreads(), granule = target.limits.registerGranule;
  const std::int64_t groups = launch.threadCount() / group;
  RoleRegisters registers;
  if (groups < 2 || !target.has(Feature::SetMaxRegisters))
    return registers;
  const std::int64_t all =
      registersAtLaunch(launch, target, launch.threadCount() + 2 * group) * (groups + 2);
  registers.producer = leastRegisters;
  registers.consumer = (all - leastRegisters - leastOfFront) / groups / granule * granule;
  registers.front = all - leastRegisters - registers.consumer * groups;
  return registers;
}

} // namespace

std::int64_t registersAtLaunch(const Launch &launch, const Target &target, std::int64_t threads) {
  const std::int64_t granule = target.limits.registerGranule;
  const std::int64_t all = threads * std::max<std::int64_t>(1, launch.minBlocksPerSm);
  return std::min<std::int64_t>(target.limits.registersPerThread,
                                target.limits.registersPerSm / all / granule * granule);
}

RoleRegisters registersOf(const Launch &launch, const ChannelPlan &plan, bool split,
                          const Target &target) {
  if (split)
    return cut(launch, target);
  if (plan.converting.empty())
    return shared(launch, plan, target, 0);
  // Two warpgroups where there are registers for them: a tile's values are computed by one step
  // after the other, each of which waits for memory.
  const std::int64_t threads = 2 * target.limits.groupThreads();
  RoleRegisters two = shared(launch, plan, target, 2);
  bool enough = two.converter >= arrays(launch, plan, true, threads) + beside &&
                two.consumer >= arrays(launch, plan, false, launch.threadCount()) + beside;
  return enough && leavesRoom(launch, target, 2) ? two : shared(launch, plan, target, 1);
}

bool needsFewRegisters(const Launch &launch, const ChannelPlan &plan, const LaunchPlan &schedule,
                       const Target &target) {
  const RoleRegisters registers = registersOf(launch, plan, schedule.split, target);
  const std::int64_t computing = launch.computingThreads(), group = target.limits.groupThreads();
  if (!registers.consumer || schedule.split)
    return false;
  std::int64_t held = arrays(launch, plan, false, launch.threadCount());
  for (const StorePlan &store : schedule.stores)
    if (store.deferred) // halves of a tile that is stored beside the next one
      held += held / 2;
  const std::int64_t threads = computing + (1 + registers.converting) * group;
  return held <= registersAtLaunch(launch, target, threads) / 2;
}

bool leavesProductsRoom(const Launch &launch, const Target &target) {
  return leavesRoom(launch, target, 1);
}

} // namespace tlc::passes
