// fit: checks that shared memory suffices, and otherwise goes back for fewer pipeline stages.
//
// Of the loops whose stages are not the user's word, the one with the most loses one; the passes
// from split-copies on run again. When nothing can be given up the error shows every buffer.
// Registers are only warned about: what does not fit is spilled.
//
// Why here: the first moment at which sizes (layouts, versions) are known exactly, and the last at
// which going back is cheap.
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/lower/Physical.h"
#include "passes/sync/SharedArena.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tlc::passes {

using namespace ir;

namespace {

/// The loop that can give up a stage; null if none can.
LoopPlan *longestPipeline(LaunchPlan *plan) {
  LoopPlan *longest = nullptr;
  if (plan)
    for (LoopPlan &loop : plan->loops)
      if (!loop.binding && loop.stages > 1 && (!longest || loop.stages > longest->stages))
        longest = &loop;
  return longest;
}

/// 32-bit registers of each thread that the fragments of a launch take if all were live at once.
std::int64_t fragmentRegisters(const Launch &launch, std::vector<const Buffer *> &fragments) {
  walk(launch.body, [&](const Stmt &stmt) {
    if (auto *alloc = dynCast<AllocStmt>(&stmt); alloc && alloc->buffer->scope == Scope::Fragment &&
                                                 !alloc->buffer->base && alloc->buffer->layout)
      fragments.push_back(alloc->buffer);
    return true;
  });
  return std::accumulate(fragments.begin(), fragments.end(), std::int64_t{0},
                         [](std::int64_t sum, const Buffer *b) {
                           return sum + (storageBytes(b->dtype, registerCount(*b)) + 3) / 4;
                         });
}

void checkRegisters(const Launch &launch, PassContext &context) {
  std::vector<const Buffer *> fragments;
  std::int64_t needed = fragmentRegisters(launch, fragments);
  int limit = context.target.limits.registersPerThread;
  if (needed <= limit)
    return;
  auto report = context.diagnostics.report(diag::RegistersExceeded, launch.range, needed,
                                           context.target.name, limit);
  for (const Buffer *buffer : fragments)
    report.note(buffer->range, "`" + buffer->name + "`: " + std::to_string(registerCount(*buffer)) +
                                   " x " + buffer->dtype.str());
}

// Once, when it fits: how many stages it took on the way is of no interest.
void reportFewerStages(const Launch &launch, LaunchPlan *plan, PassContext &context) {
  if (!plan)
    return;
  for (LoopPlan &loop : plan->loops)
    if (loop.wantedStages)
      context.diagnostics.report(diag::FewerStages, launch.range, loop.stages,
                                 std::exchange(loop.wantedStages, 0), loop.wantedBytes,
                                 context.target.name, context.target.limits.sharedPerBlockOptIn);
}

} // namespace

void fit(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  const std::int64_t limit = context.target.limits.sharedPerBlockOptIn;
  bool again = false;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    ArenaPlan plan = planArena(launch);
    if (plan.bytes <= limit) {
      reportFewerStages(launch, context.schedule.launch(i), context);
      checkRegisters(launch, context);
      continue;
    }
    LoopPlan *loop = longestPipeline(context.schedule.launch(i));
    if (!loop || function.options.hintsAreBinding) {
      reportArenaTooLarge(launch, plan, context.target, context.diagnostics);
      continue;
    }
    if (!loop->wantedStages) {
      loop->wantedStages = loop->stages;
      loop->wantedBytes = plan.bytes;
    }
    --loop->stages;
    loop->reason = "as many as fit in shared memory";
    again = true;
  }
  if (again)
    context.retryFrom = "split-copies";
}

} // namespace tlc::passes
