#include "passes/PlanSpecialize.h"

#include "ir/Walk.h"
#include "passes/Channels.h"
#include "passes/Persist.h"
#include "passes/PipelineLoops.h"
#include "passes/Rewrite.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Registers of a thread beside its accumulators: addresses, loop state, operands on their way.
constexpr std::int64_t otherRegisters = 56;
/// More stages than this hide no more latency.
constexpr std::int64_t mostStages = 8;

std::int64_t bytesOf(const Buffer &buffer) {
  auto count = buffer.elementCount();
  return count ? storageBytes(buffer.dtype, *count) : 0;
}

/// Blocks that the accumulators let reside on a multiprocessor at once, at least one.
std::int64_t blocksByRegisters(const Launch &launch, const Target &target) {
  std::int64_t accumulators = 0;
  std::unordered_set<const Buffer *> seen;
  walk(launch.body, [&](const Stmt &stmt) {
    const auto *alloc = dynCast<AllocStmt>(&stmt);
    if (alloc && alloc->buffer->scope == Scope::Fragment && seen.insert(alloc->buffer).second)
      accumulators += bytesOf(*alloc->buffer) / 4;
    return true;
  });
  std::int64_t group = target.limits.warp * target.limits.warpsPerGroup;
  std::int64_t each = accumulators / launch.threadCount() + otherRegisters;
  std::int64_t threads = launch.threadCount() + group;
  return std::max<std::int64_t>(1, target.limits.registersPerSm / (threads * each));
}

/// The loop of a channel if a product is all that it does with the tiles.
const Stmt *onlyProduct(const Channel &channel) {
  bool only = channel.firstReader == channel.lastReader && isWarpgroupGemm(*channel.firstReader);
  return only ? channel.firstReader : nullptr;
}

void extendRings(Launch &launch, PassContext &pass, LaunchPlan &plan, const ChannelPlan &channels) {
  const Limits &limits = pass.target.limits;
  std::int64_t rest = 0;
  for (const StorePlan &store : plan.stores)
    rest += store.stagingBytes;
  std::unordered_set<const Buffer *> ringTiles;
  for (const Channel &channel : channels.channels)
    if (onlyProduct(channel))
      ringTiles.insert(channel.tiles.begin(), channel.tiles.end());
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *alloc = dynCast<AllocStmt>(&stmt);
    if (alloc && alloc->buffer->scope == Scope::Shared && !alloc->buffer->base &&
        !ringTiles.count(alloc->buffer))
      rest += bytesOf(*alloc->buffer);
    return true;
  });
  std::int64_t blocks = blocksByRegisters(launch, pass.target);
  std::int64_t room =
      std::min(limits.sharedPerBlockOptIn, limits.sharedPerSm / blocks - limits.sharedReserved);
  std::vector<PlannedLoop> loops = plannedLoops(launch, nullptr);
  for (std::size_t i = 0; i < loops.size() && i < plan.loops.size(); ++i) {
    LoopPlan &loop = plan.loops[i];
    if (loop.binding || loop.stages < 2)
      continue;
    std::int64_t each = 0;
    std::size_t rings = 0;
    for (const Channel &channel : channels.channels)
      if (channel.block == &loops[i].loop->body) {
        ++rings;
        if (onlyProduct(channel))
          for (const Buffer *tile : channel.tiles)
            each += bytesOf(*tile);
      }
    constexpr std::int64_t barriers = 1024; // and what alignment leaves
    if (rings != 1 || each == 0)
      continue;
    std::int64_t fitting = std::min((room - rest - barriers) / each, mostStages);
    if (fitting <= loop.stages)
      continue;
    loop.reason = "shared memory has room for " + std::to_string(fitting) + " stages, " +
                  std::to_string(loop.stages) + " as written";
    loop.stages = fitting;
    break; // the room is taken
  }
}

/// Products whose blocks fill a multiprocessor walk over tiles, so that the next tiles are loaded
/// while this one is stored. Of several consumers only: they have all registers, so that no second
/// block would fit anyway.
void planPersistence(const Launch &launch, PassContext &pass, LaunchPlan &plan,
                     const ChannelPlan &channels) {
  const std::int64_t group = pass.target.limits.warp * pass.target.limits.warpsPerGroup;
  bool products = std::all_of(channels.channels.begin(), channels.channels.end(),
                              [](const Channel &c) { return c.repeats && onlyProduct(c); });
  if (!products || plan.loops.size() != 1 || launch.threadCount() < 2 * group ||
      !whyNotPersistent(launch).empty())
    return;
  plan.persistent = true;
  plan.persistentReason = "the next tiles are loaded while this one is stored";
}

} // namespace

void planSpecialization(Function &function, Launch &launch, PassContext &pass, LaunchPlan &plan,
                        std::optional<bool> given) {
  bool asked = given.value_or(false);
  if (!asked && (!pass.target.has(Feature::Wgmma) || plannedLoops(launch, nullptr).empty()))
    return;
  plan.specialize = false;
  if (given && !asked) {
    plan.specializeReason = "as given";
    return;
  }
  if (function.options.disableWarpSpecialize || function.options.disableTma) {
    plan.specializeReason = "as written";
    return;
  }
  ChannelPlan channels = findChannels(function, launch, pass.target, &plan);
  if (!channels.reason.empty()) {
    plan.specializeReason = channels.reason;
    if (asked)
      pass.diagnostics.report(diag::ScheduleSpecialize, launch.range, plan.name, channels.reason);
    return;
  }
  plan.specialize = true;
  std::size_t copies = 0;
  for (const Channel &channel : channels.channels)
    copies += channel.copies.size();
  plan.specializeReason = "one thread issues all " + std::to_string(copies) + " tensor copies";
  extendRings(launch, pass, plan, channels);
  planPersistence(launch, pass, plan, channels);
}

} // namespace tlc::passes
