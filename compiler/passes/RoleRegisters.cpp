#include "passes/RoleRegisters.h"

#include "ir/Walk.h"
#include "passes/Footprint.h"
#include "target/Atoms.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Registers of a thread beside its arrays.
constexpr std::int64_t beside = 40;
/// The least that an instruction needs beside its accumulators.
constexpr std::int64_t besideInstruction = 26;
/// Registers that a thread of a copying producer, and one that computes tiles, has use for.
constexpr std::int64_t mostOfCopying = 104, mostOfConverting = 160;

/// What setmaxnreg can go down to; what the scores of a front and their exponentials need.
constexpr std::int64_t leastRegisters = 24, leastOfFront = 128;

std::int64_t atLaunch(const Target &target, std::int64_t threads) {
  return target.limits.registersPerSm / threads / target.limits.registerGranule *
         target.limits.registerGranule;
}

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

} // namespace

RoleRegisters registersOf(const Launch &launch, const ChannelPlan &plan, bool split,
                          const Target &target) {
  const std::int64_t group = target.limits.groupThreads(), granule = target.limits.registerGranule;
  const std::int64_t computing = launch.threadCount(), groups = computing / group;
  const bool converts = !plan.converting.empty();
  const std::int64_t others = converts || split ? 2 : 1;
  if (groups < 2 || !target.has(Feature::SetMaxRegisters))
    return {};
  const std::int64_t each = atLaunch(target, computing + others * group);
  const std::int64_t all = each * (groups + others);
  RoleRegisters registers;
  if (split) {
    registers.producer = leastRegisters;
    registers.consumer = (all - leastRegisters - leastOfFront) / groups / granule * granule;
    registers.front = all - leastRegisters - registers.consumer * groups;
    return registers;
  }
  registers.producer = each >= 160 ? 40 : each >= 128 ? 32 : 24;
  // Threads that copy hold many addresses, those that compute many values; they get what the
  // consumers' accumulators leave.
  std::int64_t wanted = arrays(launch, plan, false, computing) + beside;
  std::int64_t rest = (all - wanted * groups) / granule * granule;
  if (converts)
    registers.converter =
        std::clamp(rest - registers.producer, each / 2 / granule * granule, mostOfConverting);
  if (plan.byThreads())
    registers.producer =
        std::clamp(rest - registers.converter, registers.producer + 16, mostOfCopying);
  registers.consumer = std::min<std::int64_t>(
      (all - registers.producer - registers.converter) / groups / granule * granule, 240);
  return registers;
}

bool leavesProductsRoom(const Launch &launch, const Target &target) {
  const std::int64_t group = target.limits.groupThreads();
  const std::int64_t threads = launch.threadCount() + 2 * group;
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
    fits &= bytes / 4 / group + besideInstruction <= atLaunch(target, threads);
    return fits;
  });
  return fits;
}

} // namespace tlc::passes
