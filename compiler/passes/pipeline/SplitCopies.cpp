// split-copies: register prefetch where there is no asynchronous copy.
//
//   for %k in … pipelined {                   for %k in … pipelined {
//     copy %A[…] -> %A_s                =>      alloc %A_r: fragment f16[128, 32]
//     gemm %A_s, …                              copy %A[…] -> %A_r
//   }                                           copy %A_r -> %A_s
//                                               gemm %A_s, …
//                                             }
//
// Two statements can be moved apart: the pipeliner starts the loads of the next iteration before
// the arithmetic of this one and stores them behind it. Done in pipelined loops only, for copies
// from global to shared memory that the target cannot do asynchronously: on sm75 and AMD all,
// elsewhere those that convert or are not aligned. Where nothing in a launch overlaps with loads,
// those that can be are asynchronous all the same, if they are more than one piece for each thread:
// more bytes are on their way than registers hold.
// Stands directly before the pipeliner; the plan says which loops are pipelined at all.
#include "analysis/Copies.h"
#include "ir/Unfold.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/roles/Channels.h"

#include <utility>

namespace tlc::passes {

using namespace ir;

namespace {

/// Tiles beyond this many bytes per thread would not stay in registers.
constexpr std::int64_t maxBytesPerThread = 128;
/// Bytes of the pieces that asynchronous copies are best at.
constexpr std::int64_t widestPiece = 16;

class Splitter {
public:
  Splitter(Function &function, Launch &launch) : function(function), launch(launch) {}

  void split(std::unordered_set<const Stmt *> &copies) {
    rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
      if (copies.count(stmt.get()))
        split(cast<CopyStmt>(*stmt), out);
      else
        out.push_back(std::move(stmt));
    });
  }

  /// Whether a copy loads no more than so many bytes for each thread.
  bool fits(const CopyStmt &copy, std::int64_t bytesPerThread) const {
    auto extents = copy.target.constantTileExtents();
    if (!extents || copy.source.constantTileExtents() != extents)
      return false;
    return storageBytes(copy.source.buffer->dtype, *copy.target.elementCount()) <=
           bytesPerThread * launch.threadCount();
  }

private:
  void split(CopyStmt &copy, Block &out) {
    Buffer &tile = function.addBuffer(copy.target.buffer->name + "_r", copy.source.buffer->dtype,
                                      Scope::Fragment, copy.target.tileExtents(), copy.range);
    auto alloc = std::make_unique<AllocStmt>(copy.range);
    alloc->buffer = &tile;
    auto load = std::make_unique<CopyStmt>(copy);
    load->target = wholeRegion(*function.context, tile);
    auto store = std::make_unique<CopyStmt>(copy.range);
    store->source = wholeRegion(*function.context, tile);
    store->target = copy.target;
    out.push_back(std::move(alloc));
    out.push_back(std::move(load));
    out.push_back(std::move(store));
  }

  Function &function;
  Launch &launch;
};

/// Whether nothing in the launch overlaps with loads or waits for them: no pipelined loop, no
/// product, no synchronisation by the program.
bool onlyMoves(Launch &launch, const LaunchPlan *plan) {
  bool moves = plannedLoops(launch, plan).empty();
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *copy = dynCast<CopyStmt>(&stmt);
    moves = moves && !isa<GemmStmt>(stmt) && !isa<AsyncStmt>(stmt) && !isa<MbarStmt>(stmt) &&
            !isa<RoleStmt>(stmt) && !(copy && (copy->async || copy->barrier.buffer));
    return moves;
  });
  return moves;
}

/// Loads that follow each other become asynchronous and are waited for behind the last.
void awaitTogether(Function &function, Block &block,
                   const std::unordered_set<const Stmt *> &loads) {
  Block out;
  Builder b(function, out);
  bool open = false;
  auto wait = [&] {
    if (std::exchange(open, false)) {
      b.commit();
      b.wait(0);
    }
  };
  for (StmtPtr &stmt : block) {
    forEachBlock(*stmt, [&](Block &inner) { awaitTogether(function, inner, loads); });
    bool loaded = loads.count(stmt.get()) != 0;
    if (!loaded && !isa<AllocStmt>(*stmt))
      wait();
    b.range = stmt->range;
    if (loaded)
      cast<CopyStmt>(*stmt).async = open = true;
    b.add(std::move(stmt));
  }
  wait();
  block = std::move(out);
}

/// Unfolded images are read pixel by pixel where no producer will load them.
void expandUnloaded(Function &function, PassContext &context) {
  if (!hasUnfolded(function))
    return;
  std::unordered_set<const Stmt *> loaded;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    LaunchPlan *plan = context.schedule.launch(i);
    if (plan && plan->specialize.value_or(false))
      for (const Channel &channel :
           findChannels(function, *function.launches[i], context.target, plan).channels)
        loaded.insert(channel.copies.begin(), channel.copies.end());
  }
  expandUnfolded(function, [&](const CopyStmt &copy) { return loaded.count(&copy) != 0; });
}

} // namespace

void splitCopies(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  expandUnloaded(function, context);
  std::size_t index = 0;
  for (auto &launch : function.launches) {
    LaunchPlan *plan = context.schedule.launch(index++);
    std::unordered_set<const Stmt *> inside;
    for (const PlannedLoop &loop : plannedLoops(*launch, plan))
      if (loop.stages > 1 && loop.loop->stage.empty())
        walk(loop.loop->body, [&](Stmt &stmt) {
          if (stmt.kind == StmtKind::Copy)
            inside.insert(&stmt);
          // What stands in an inner loop is not moved by this one.
          return stmt.kind != StmtKind::For && stmt.kind != StmtKind::While &&
                 stmt.kind != StmtKind::Map;
        });
    Splitter splitter(function, *launch);
    std::unordered_set<const Stmt *> chosen, loads;
    const bool moves = !function.options.hintsAreBinding && onlyMoves(*launch, plan);
    analysis::Ranges ranges(function);
    ranges.enter(*launch);
    analysis::walkWithRanges(launch->body, ranges, [&](Stmt &stmt) {
      auto *copy = dynCast<CopyStmt>(&stmt);
      if (copy && inside.count(copy) && copy->copyKind != CopyKind::Tma && !copy->async &&
          !copy->barrier.buffer && analysis::isSharedLoad(stmt) &&
          !copy->multicast && // which a producer loads
          !analysis::canCopyAsync(*copy, context.target, ranges) &&
          splitter.fits(*copy, maxBytesPerThread))
        chosen.insert(copy);
      if (moves && copy && copy->copyKind == CopyKind::Auto && analysis::isSharedLoad(stmt) &&
          analysis::canCopyAsync(*copy, context.target, ranges) &&
          analysis::copyPieceBytes(*copy, ranges) == widestPiece &&
          !splitter.fits(*copy, widestPiece))
        loads.insert(copy);
      return true;
    });
    splitter.split(chosen);
    if (!loads.empty())
      awaitTogether(function, launch->body, loads);
  }
}

} // namespace tlc::passes
