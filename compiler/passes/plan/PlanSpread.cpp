#include "passes/plan/PlanSpread.h"

#include "passes/plan/Footprint.h"
#include "passes/plan/Occupancy.h"

#include <algorithm>
#include <bit>

namespace tlc::passes {

using namespace ir;

namespace {

/// Elements of the largest tile that a thread should have: enough loads to keep memory busy, few
/// enough registers for several blocks.
constexpr std::int64_t elementsOfThread = 32;
/// Registers of a thread that hold no tile, at least (registersOf counts what is usual): a tile
/// that just fits is not cut.
constexpr std::int64_t leastOthers = 24;
/// Elements of the largest tile that are worth a block of their own.
constexpr std::int64_t elementsOfBlock = 4096;

/// What one of `blocks` blocks takes of a multiprocessor.
class Share {
public:
  Share(const Launch &launch, const SpreadAxis &axis, std::int64_t blocks)
      : axis(axis), blocks(blocks),
        threads(blocks > 1 ? spreadThreads(launch, axis, blocks) : launch.threadCount()),
        shared(bytes(launch, Scope::Shared)),
        registers(bytes(launch, Scope::Fragment) / 4 / threads + leastOthers) {}

  std::int64_t resident(const Target &target) const {
    if (registers > target.limits.registersPerThread)
      return 0;
    return residentBlocks(target, threads, shared, (registers + 7) / 8 * 8);
  }

private:
  std::int64_t bytes(const Launch &launch, Scope scope) const {
    std::int64_t whole = allocatedBytes(launch.body, scope);
    std::int64_t alike = allocatedBytes(
        launch.body, scope, [&](const Buffer &b) { return axis.has(b) ? 0 : b.versions; });
    return alike + (whole - alike) / blocks;
  }

  const SpreadAxis &axis;
  std::int64_t blocks, threads, shared, registers;
};

} // namespace

std::int64_t spreadThreads(const Launch &launch, const SpreadAxis &axis, std::int64_t blocks) {
  auto most = static_cast<std::uint64_t>(launch.threads[0]);
  auto wanted = static_cast<std::uint64_t>(
      std::max<std::int64_t>(axis.elements / blocks / elementsOfThread, 32));
  return static_cast<std::int64_t>(std::min(most, std::bit_ceil(wanted)));
}

void planSpread(Launch &launch, PassContext &pass, LaunchPlan &plan, const LaunchPlan *given) {
  const std::int64_t wanted = given ? given->spread : 0;
  if (wanted == 1 || pass.target.limits.maxCluster < 2) {
    if (wanted > 1)
      pass.diagnostics.report(diag::ScheduleCluster, launch.range, wanted, 1, pass.target.name,
                              pass.target.limits.maxCluster);
    return;
  }
  SpreadAxis axis = findSpreadAxis(launch);
  auto cuts = [&](std::int64_t blocks) {
    return axis && axis.extent % (8 * blocks) == 0 && blocks <= pass.target.limits.maxCluster;
  };
  if (wanted > 1) {
    plan.spread = wanted;
    plan.spreadReason = "as given";
    if (!cuts(wanted))
      pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
          .note(axis ? "a dim of " + std::to_string(axis.extent) + " is not cut into " +
                           std::to_string(wanted) + " parts"
                     : "its tiles cannot be shared out: " + axis.fault);
    return;
  }
  // A row of softmax that fits one multiprocessor is not faster in parts: clusters start as a
  // whole. One that does not, is the faster the more parts (H200, tools/bench/gpu/LOG.md).
  if (!axis || Share(launch, axis, 1).resident(pass.target) > 0)
    return;
  for (std::int64_t blocks = pass.target.limits.maxCluster; blocks > 1; blocks /= 2) {
    if (!cuts(blocks) || axis.largest / blocks < elementsOfBlock ||
        Share(launch, axis, blocks).resident(pass.target) == 0)
      continue;
    plan.spread = blocks;
    plan.spreadReason = "a multiprocessor does not hold a whole one: tiles of " +
                        std::to_string(axis.extent) + " in " + std::to_string(blocks) + " parts";
    return;
  }
}

} // namespace tlc::passes
