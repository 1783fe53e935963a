#include "passes/plan/PlanSpecialize.h"

#include "analysis/Copies.h"
#include "ir/Walk.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/Persist.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/plan/Footprint.h"
#include "passes/roles/Channels.h"
#include "passes/roles/RoleRegisters.h"
#include "passes/roles/SplitConsumers.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Registers of a thread beside its accumulators: addresses, loop state, operands on their way.
constexpr std::int64_t otherRegisters = 56;
/// The same beside the sums of one tile and the halves of another.
constexpr std::int64_t besideTiles = 24;
/// Of barriers, and what alignment leaves.
constexpr std::int64_t barrierBytes = 1024;
/// Multiplications of halves in a cycle of the tensor cores.
constexpr std::int64_t multiplyRate = 2048;
/// More stages than this hide no more latency.
constexpr std::int64_t mostStages = 8;

/// Blocks that the accumulators let reside on a multiprocessor at once, at least one.
std::int64_t blocksByRegisters(const Launch &launch, const Target &target) {
  std::int64_t accumulators = allocatedBytes(launch.body, Scope::Fragment) / 4;
  std::int64_t group = target.limits.groupThreads();
  std::int64_t each = accumulators / launch.threadCount() + otherRegisters;
  std::int64_t threads = launch.computingThreads() + group;
  return std::max<std::int64_t>(1, target.limits.registersPerSm / (threads * each));
}

/// The loop of a channel if a product is all that it does with the tiles.
const Stmt *onlyProduct(const Channel &channel) {
  bool only = channel.firstReader == channel.lastReader && isWarpgroupGemm(*channel.firstReader);
  return only ? channel.firstReader : nullptr;
}

/// What stores by way of shared memory, and values that go from one side to the other, take of it.
std::int64_t besideLoads(const LaunchPlan &plan) {
  std::int64_t sum = plan.handoverBytes;
  for (const StorePlan &store : plan.stores)
    sum += store.stagingBytes;
  return sum;
}

void extendRings(Launch &launch, PassContext &pass, LaunchPlan &plan, const ChannelPlan &channels) {
  const Limits &limits = pass.target.limits;
  std::int64_t rest = besideLoads(plan);
  std::unordered_set<const Buffer *> ringTiles;
  // What is consumed by warps that compute tiles runs ahead as far as those.
  auto extends = [](const Channel &channel) {
    return onlyProduct(channel) || channel.forConversion;
  };
  for (const Channel &channel : channels.channels)
    if (extends(channel))
      ringTiles.insert(channel.tiles.begin(), channel.tiles.end());
  rest += allocatedBytes(launch.body, Scope::Shared,
                         [&](const Buffer &tile) { return ringTiles.count(&tile) ? 0 : 1; });
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
        rings += !channel.forConversion;
        if (extends(channel))
          for (const Buffer *tile : channel.tiles)
            each += bytesOf(*tile);
      }
    if (rings != 1 || each == 0)
      continue;
    std::int64_t fitting = std::min((room - rest - barrierBytes) / each, mostStages);
    if (fitting <= loop.stages)
      continue;
    loop.reason = "shared memory has room for " + std::to_string(fitting) + " stages, " +
                  std::to_string(loop.stages) + " as written";
    loop.stages = fitting;
    break; // the room is taken
  }
}

/// Bytes of what is loaded once a tile, outside of loops.
std::int64_t bytesOnce(const ChannelPlan &channels) {
  std::int64_t sum = 0;
  for (const Channel &channel : channels.channels)
    if (!channel.repeats)
      for (const Buffer *tile : channel.tiles)
        sum += bytesOf(*tile);
  return sum;
}

/// Shared memory that tiles leave, with the stages planned so far.
std::int64_t roomBesideTiles(Launch &launch, PassContext &pass, const LaunchPlan &plan) {
  return pass.target.limits.sharedPerBlockOptIn - barrierBytes - plannedSharedBytes(launch, plan);
}

/// Whether the threads that multiply can keep a finished tile, packed to `stored`, while they sum
/// up the next one.
bool keepsTwoTiles(const Launch &launch, PassContext &pass, const LaunchPlan &plan,
                   const ChannelPlan &channels, const Region &stored) {
  std::int64_t columns = 0;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    if (const auto *gemm = dynCast<GemmStmt>(&stmt))
      columns = gemm->c.buffer->shape.back().constant().value_or(0);
    return true;
  });
  // Four threads hold all columns of a row, and so all of what goes with columns.
  const std::int64_t rows = allocatedBytes(launch.body, Scope::Fragment, [&](const Buffer &tile) {
    return tile.rank() == 1 && tile.shape[0].isConstant(columns) ? 1 : 0;
  });
  const std::int64_t tiles = allocatedBytes(launch.body, Scope::Fragment) - rows;
  const std::int64_t packed = *stored.elementCount() * stored.buffer->dtype.bits() / 8;
  const std::int64_t room = registersOf(launch, channels, plan.split, pass.target).consumer;
  return (tiles + packed) / 4 / launch.threadCount() + rows / 4 / 4 + besideTiles <= room;
}

/// See LaunchPlan::productCycles.
std::int64_t productCycles(const Launch &launch, const Target &target) {
  std::int64_t products = 0, work = 0;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *gemm = dynCast<GemmStmt>(&stmt);
    const auto a = gemm ? gemm->a.constantTileExtents() : std::nullopt,
               c = gemm ? gemm->c.constantTileExtents() : std::nullopt;
    if (!a || !c)
      return true;
    ++products;
    work += a->back() * (*a)[a->size() - 2] * c->back() * gemm->a.buffer->dtype.bits() / 16;
    return true;
  });
  return products == 2 ? work * target.limits.groupThreads() / launch.threadCount() / multiplyRate
                       : 0;
}

/// Whether a tile's last product is to run beside the next one's first. A seam costs as much in
/// every tile, so it counts where rounds are short, or where the next tile's operands are loaded
/// only at its end; elsewhere a third copy of the round costs more. Of tiles of unequal length the
/// next one must be found out before.
bool joinsTiles(const LaunchPlan &plan) {
  const bool deferred = std::any_of(plan.stores.begin(), plan.stores.end(),
                                    [](const StorePlan &store) { return store.deferred; });
  if (!plan.productCycles || deferred)
    return false;
  return plan.fold ? plan.productCycles <= shortRound / 2
                   : plan.productCycles <= shortRound || plan.tileStages == 1;
}

/// Blocks that fill a multiprocessor walk over tiles, so that the next tiles are loaded while this
/// one is stored. Of several consumers only: they have all registers, so that no second block would
/// fit anyway. Shares must be known beforehand: blocks of a grid go where there is room, tiles of a
/// worker do not.
void planPersistence(Function &function, Launch &launch, PassContext &pass, LaunchPlan &plan,
                     const ChannelPlan &channels) {
  const std::int64_t group = pass.target.limits.groupThreads();
  std::vector<PlannedLoop> loops = plannedLoops(launch, nullptr);
  bool simple =
      loops.size() == 1 && launch.computingThreads() >= 2 * group &&
      std::all_of(channels.channels.begin(), channels.channels.end(), [&](const Channel &channel) {
        return !channel.repeats || channel.block == &loops[0].loop->body;
      });
  if (!simple || !whyNotPersistent(function, launch).empty())
    return;
  auto directions = tripDirections(function, launch, *loops[0].loop);
  if (!directions)
    return;
  auto varies = [](analysis::Direction d) { return d != analysis::Direction::Constant; };
  auto axis = std::find_if(directions->begin(), directions->end(), varies);
  if (std::count_if(directions->begin(), directions->end(), varies) > 1)
    return;
  plan.persistent = true;
  plan.persistentReason = launch.alternates
                              ? "two warpgroups take tiles in turns, and one multiplies while the "
                                "other finishes a tile"
                              : "the next tiles are loaded while this one is stored";
  plan.alternates = launch.alternates;
  if (axis != directions->end()) {
    plan.fold = Fold{static_cast<std::size_t>(axis - directions->begin()),
                     *axis == analysis::Direction::Grows};
    plan.persistentReason += "; blocks take them by their length, back and forth";
  }
  if (std::int64_t bytes = bytesOnce(channels);
      bytes && bytes + besideLoads(plan) <= roomBesideTiles(launch, pass, plan))
    plan.tileStages = 2;
  // Halves can wait in registers; what is as wide as the sums would take as many again.
  bool products = std::all_of(channels.channels.begin(), channels.channels.end(),
                              [](const Channel &c) { return c.repeats && onlyProduct(c); }) &&
                  !channels.byThreads(); // which need registers, too
  std::vector<analysis::FragmentStore> stores = analysis::fragmentStores(launch);
  for (std::size_t i = 0; i < stores.size() && stores.size() == 1; ++i)
    if (StorePlan &store = plan.stores[i]; store.way == StoreWay::Tensor && !store.binding)
      store.deferred = products && !store.adds && !launch.alternates &&
                       stores[i].target->buffer->dtype.bits() == 16 &&
                       keepsTwoTiles(launch, pass, plan, channels, *stores[i].target);
  plan.joins = !function.options.hintsAreBinding && joinsTiles(plan);
}

/// Who issues the copies, and why not all are tensor copies.
std::string whoCopies(const ChannelPlan &channels, const Target &target) {
  std::size_t all = 0, byThreads = 0;
  for (const Channel &channel : channels.channels) {
    all += channel.copies.size();
    byThreads += channel.byThreads.size();
  }
  auto tensorCopies = [](std::size_t count) {
    return "one thread issues " + std::string(count > 1 ? "all " : "") + std::to_string(count) +
           (count > 1 ? " tensor copies" : " tensor copy");
  };
  std::string converts =
      channels.converting.empty() ? "" : "; warps of their own compute tiles for the products";
  if (byThreads == 0)
    return tensorCopies(all) + converts;
  return (byThreads < all ? tensorCopies(all - byThreads) + "; " : "") +
         std::to_string(target.limits.groupThreads()) + " threads copy " +
         std::to_string(byThreads) +
         (byThreads > 1 ? " tiles whose rows start" : " tile whose rows start") +
         " between multiples of 16 bytes" + converts;
}

/// Why the consumers are not split; empty: they can be, and the plan knows what goes over. Two
/// groups with wide sums get a third one, and all registers that its sums and the producer leave.
std::string whyNotSplit(Launch &launch, PassContext &pass, LaunchPlan &plan,
                        const ChannelPlan &channels) {
  const std::int64_t group = pass.target.limits.groupThreads();
  if (launch.threadCount() != 2 * group || !pass.target.has(Feature::SetMaxRegisters))
    return "it is for two warpgroups";
  if (channels.byThreads() || !channels.converting.empty())
    return "a warpgroup makes tiles already";
  ConsumerSplit split = findConsumerSplit(launch, channels);
  if (!split.reason.empty())
    return split.reason;
  const std::int64_t room = registersOf(launch, channels, true, pass.target).consumer;
  constexpr std::int64_t others = 24;
  if (backRegisters(split, launch.threadCount()) + others > room)
    return "the sums leave no registers for another warpgroup";
  // Stores that want shared memory for themselves do without where there is none.
  const std::int64_t bytes = handoverBytes(split);
  if (bytes > roomBesideTiles(launch, pass, plan))
    return "shared memory has no room for what it would hand over";
  plan.handoverBytes = bytes;
  return "";
}

void planSplit(Launch &launch, PassContext &pass, LaunchPlan &plan, const ChannelPlan &channels,
               const LaunchPlan *given) {
  bool asked = given && given->specialize.value_or(false) && given->split;
  if (given && given->specialize && !asked)
    return;
  std::string reason = whyNotSplit(launch, pass, plan, channels);
  plan.split = reason.empty();
  if (plan.split)
    plan.specializeReason += "; the narrow product runs ahead in a warpgroup of its own";
  else if (asked)
    pass.diagnostics.report(diag::ScheduleMismatch, launch.range, plan.name)
        .note("its work cannot be split: " + reason);
}

} // namespace

std::optional<std::vector<analysis::Direction>> tripDirections(Function &function, Launch &launch,
                                                               const ForStmt &loop) {
  std::optional<std::vector<analysis::Direction>> found;
  analysis::Ranges ranges(function);
  ranges.enter(launch);
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (&stmt != &loop)
      return !found;
    found.emplace();
    for (Expr block : launch.blockVars) {
      auto direction = analysis::directionOf(loop.hi - loop.lo, block, ranges);
      if (!direction) {
        found.reset();
        break;
      }
      found->push_back(*direction);
    }
    return false;
  });
  return found;
}

void planSpecialization(Function &function, Launch &launch, PassContext &pass, LaunchPlan &plan,
                        const LaunchPlan *file) {
  std::optional<bool> given = file ? file->specialize : std::nullopt;
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
  plan.specializeReason = whoCopies(channels, pass.target);
  if (!function.options.hintsAreBinding)
    planSplit(launch, pass, plan, channels, file);
  extendRings(launch, pass, plan, channels);
  plan.productCycles = productCycles(launch, pass.target);
  plan.loadsOnce = bytesOnce(channels) > 0;
  planPersistence(function, launch, pass, plan, channels);
}

} // namespace tlc::passes
