// widen-blocks: tiles that the threads of a block cannot hold, or not keep the machine busy with,
// get more threads.
//
//   launch threads(128) {                            launch threads(256) {
//     alloc %S, %O: fragment f32[128, 128]     =>      ... as before
//     gemm ... -> %S ; gemm %S, ... -> %O
//
// The number of threads says nothing about what a program of tiles computes, only how its tiles are
// shared out. Kernels are often written for machines whose accumulators lie elsewhere, or for a
// compiler that adds threads: one warpgroup with two accumulators of 128 x 128 needs more registers
// than a thread has, two are comfortable. Tiles of a pipelined loop that would keep one warpgroup
// alone busy get a second, too: its products run while the other waits, and such blocks walk over
// tiles (persist).
//
// Only where a thread has no part that others have not: the program does not ask for its index,
// synchronise threads itself, share a tile out by a layout, or do once a thread what has an effect
// each time.
// --schedule=as-written keeps the number.
//
// Why here: before select-atoms, which shares tiles out to warps.
#include "passes/prepare/WidenBlocks.h"

#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/plan/Footprint.h"

#include <numeric>

namespace tlc::passes {

using namespace ir;

namespace {

/// More consumers than these leave each too few registers.
constexpr std::int64_t mostGroups = 4;

/// Statements that do the same however many threads execute them, tile ops included.
bool isIndifferent(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Role:
  case StmtKind::Mbar:
  case StmtKind::Barrier:
  case StmtKind::Fence:
  case StmtKind::Async:
  case StmtKind::Source:
  case StmtKind::Exit:
  case StmtKind::Call:
  case StmtKind::Atomic:
  case StmtKind::Print:
    return false;
  default:
    return true;
  }
}

/// Whether the program says which thread has what.
bool isSharedOut(const Stmt &stmt) {
  if (const auto *alloc = dynCast<AllocStmt>(&stmt))
    return alloc->buffer->scope == Scope::Fragment && alloc->buffer->layout;
  const auto *map = dynCast<MapStmt>(&stmt);
  const auto *copy = dynCast<CopyStmt>(&stmt);
  return (map && map->layout) || (copy && copy->layout);
}

/// Whether all statements do the same however many threads execute them.
bool isOfTiles(const Launch &launch, const Block &block, bool inMap) {
  for (const StmtPtr &stmt : block) {
    bool free = (inMap || isIndifferent(*stmt)) && !isSharedOut(*stmt);
    forEachExpr(std::as_const(*stmt), [&](Expr e) { free &= !e || !usesThread(launch, e); });
    forEachBlock(std::as_const(*stmt), [&](const Block &inner) {
      free = free && isOfTiles(launch, inner, inMap || isa<MapStmt>(*stmt));
    });
    if (!free)
      return false;
  }
  return true;
}

class Widener {
public:
  Widener(Launch &launch, const Target &target) : launch(launch), target(target) {}

  void run() {
    const std::int64_t group = target.limits.groupThreads();
    if (!hasFreeThreads(launch, target))
      return;
    lookAt(launch.body, false);
    const std::int64_t written = launch.threads[0];
    std::int64_t threads = written;
    auto halves = [&] {
      return threads * 2 <= mostGroups * group && rows % (64 * (threads * 2 / group)) == 0;
    };
    while (registersOf(launch.body, threads) > target.limits.registersPerThread && halves())
      threads *= 2;
    const bool holds = threads == written;
    if (threads == group && pipelined && halves())
      threads *= 2;
    if (threads == written || registersOf(launch.body, threads) > target.limits.registersPerThread)
      return;
    launch.threads[0] = threads;
    launch.note(std::to_string(threads) + " threads, " + std::to_string(written) + " as written: " +
                (holds ? "one warpgroup multiplies while another waits for its products"
                       : "fewer could not hold the tiles"));
  }

private:
  /// At the products.
  void lookAt(const Block &block, bool inPipeline) {
    for (const StmtPtr &stmt : block) {
      if (const auto *gemm = dynCast<GemmStmt>(stmt.get())) {
        if (auto tile = gemm->c.constantTileExtents(); tile && tile->size() == 2)
          rows = std::gcd(rows, tile->front());
        pipelined |= inPipeline;
      }
      const auto *loop = dynCast<ForStmt>(stmt.get());
      forEachBlock(std::as_const(*stmt), [&](const Block &inner) {
        lookAt(inner, inPipeline || (loop && loop->kind == ForKind::Pipelined));
      });
    }
  }

  Launch &launch;
  const Target &target;
  std::int64_t rows = 0;  ///< greatest common divisor of those of the products
  bool pipelined = false; ///< whether products stand in a pipelined loop
};

} // namespace

bool hasFreeThreads(const Launch &launch, const Target &target) {
  return launch.threads[1] == 1 && launch.threads[2] == 1 &&
         launch.threads[0] % target.limits.groupThreads() == 0 &&
         isOfTiles(launch, launch.body, false);
}

void widenBlocks(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma) || function.options.hintsAreBinding)
    return;
  for (auto &launch : function.launches)
    if (!launch->alternates)
      Widener(*launch, context.target).run();
}

} // namespace tlc::passes
