// fit: checks that shared memory suffices, and otherwise goes back for fewer pipeline stages.
//
// Of the loops whose stages are not the user's word, the one with the most loses one, or all that
// could not fit even if nothing else took room; the passes from split-copies on run again. When
// nothing can be given up the error shows every buffer. Registers are only warned about: what does
// not fit is spilled.
//
// Why here: the first moment at which sizes (layouts, versions) are known exactly, and the last at
// which going back is cheap.
#include "passes/plan/FewerStages.h"

#include "ir/Walk.h"
#include "passes/lower/Physical.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
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

/// From where to where each fragment of a launch holds a value that is still needed, as numbers of
/// statements; in loops that start with an older value, all of the loop. Of one statement writes
/// come behind reads, so that a copy may have its target in its source's registers.
class Lives {
public:
  explicit Lives(const Launch &launch) { visit(launch.body); }

  /// The fragments that are live at once where they take most, and their 32-bit registers.
  std::int64_t most(std::vector<const Buffer *> &fragments) const {
    std::int64_t best = 0;
    for (const Buffer *fragment : order) {
      const std::int64_t at = lives.at(fragment).first;
      std::vector<const Buffer *> here;
      std::int64_t sum = 0;
      for (const Buffer *one : order)
        if (const Life &other = lives.at(one); other.first <= at && at <= other.last) {
          here.push_back(one);
          sum += (storageBytes(one->dtype, registerCount(*one)) + 3) / 4;
        }
      if (sum > best)
        best = sum, fragments = std::move(here);
    }
    return best;
  }

private:
  struct Life {
    std::int64_t first = 0, last = 0;
  };

  void use(const Buffer *fragment, std::int64_t at) {
    auto [life, fresh] = lives.try_emplace(fragment, Life{at, at});
    if (fresh)
      order.push_back(fragment);
    life->second.first = std::min(life->second.first, at);
    life->second.last = std::max(life->second.last, at);
  }

  void visit(const Block &block) {
    for (const StmtPtr &stmt : block) {
      const std::int64_t begin = 2 * number++;
      forEachUse(*stmt, [&](const BufferUse &u) {
        const Buffer *storage = u.buffer->storage();
        if (storage->scope != Scope::Fragment || !storage->layout)
          return;
        if (u.access != Access::Write)
          use(storage, begin);
        if (u.access != Access::Read)
          use(storage, begin + 1);
      });
      forEachBlock(std::as_const(*stmt), [&](const Block &inner) { visit(inner); });
      if (isa<ForStmt>(*stmt) || isa<WhileStmt>(*stmt))
        outlive(*stmt, begin);
    }
  }

  /// What was there before a loop stays for all of its rounds.
  void outlive(const Stmt &loop, std::int64_t begin) {
    std::unordered_set<const Buffer *> own;
    walk(loop, [&](const Stmt &stmt) {
      if (const auto *alloc = dynCast<AllocStmt>(&stmt))
        own.insert(alloc->buffer);
      return true;
    });
    for (const Buffer *fragment : order)
      if (Life &life = lives.at(fragment); life.last >= begin && !own.count(fragment))
        life = {std::min(life.first, begin), 2 * number - 1};
  }

  std::int64_t number = 0;
  std::unordered_map<const Buffer *, Life> lives;
  std::vector<const Buffer *> order;
};

void checkRegisters(const Launch &launch, PassContext &context) {
  std::vector<const Buffer *> fragments;
  std::int64_t needed = Lives(launch).most(fragments);
  int limit = context.target.limits.registersPerThread;
  if (needed <= limit)
    return;
  auto report = context.diagnostics.report(diag::RegistersExceeded, launch.range, needed,
                                           context.target.name, limit);
  for (const Buffer *buffer : fragments)
    report.note(buffer->range, "`" + buffer->name + "`: " + std::to_string(registerCount(*buffer)) +
                                   " x " + buffer->dtype.str());
}

// Once, when it fits: how many stages it took on the way is of no interest. Nor is what wider tiles
// have no room for: the program asks for stages of its own tiles.
void reportFewerStages(const Launch &launch, LaunchPlan *plan, PassContext &context) {
  if (!plan)
    return;
  const bool asked = launch.tiles == Launch{}.tiles || context.schedule.given;
  for (LoopPlan &loop : plan->loops)
    if (const auto wanted = std::exchange(loop.wantedStages, 0); wanted && asked)
      context.diagnostics.report(diag::FewerStages, launch.range, loop.stages, wanted,
                                 loop.wantedBytes, context.target.name,
                                 context.target.limits.sharedPerBlockOptIn);
}

} // namespace

void giveUpStage(Function &function, std::size_t index, const ArenaPlan &plan,
                 PassContext &context) {
  LoopPlan *loop = longestPipeline(context.schedule.launch(index));
  if (!loop || function.options.hintsAreBinding)
    return reportArenaTooLarge(*function.launches[index], plan, context.target,
                               context.diagnostics);
  // What does not depend on the stages only makes this too many: it is looked at again.
  const std::int64_t fitting =
      loop->stages * context.target.limits.sharedPerBlockOptIn / plan.bytes;
  loop->stages = std::min(loop->stages - 1, std::max<std::int64_t>(1, fitting));
  if (!loop->wantedStages && loop->stages < loop->written) {
    loop->wantedStages = loop->written;
    loop->wantedBytes = plan.bytes;
  }
  loop->reason = "as many as fit in shared memory";
  context.retryFrom = "split-copies";
}

void fit(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  const std::int64_t limit = context.target.limits.sharedPerBlockOptIn;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    ArenaPlan plan = planArena(launch, limit);
    if (plan.bytes <= limit) {
      reportFewerStages(launch, context.schedule.launch(i), context);
      checkRegisters(launch, context);
      continue;
    }
    giveUpStage(function, i, plan, context);
  }
}

} // namespace tlc::passes
