// In what order blocks take the tiles of a product. See PlanRaster.h.
//
// A product reads each row of A for all columns of B. What blocks that run at a time have in common
// comes from the cache, the rest from memory. Row by row, the 132 blocks of a large device read two
// rows of tiles and 64 columns of them, of a B that is so wide. In panels of p rows, which are
// swept column by column, they read p rows and 132 / p columns, of the fewest bytes where both are
// as many: p * p = 132 * (bytes of a tile of B) / (bytes of one of A).
//
// Panels run along the dimension of the smaller tiles, so that blocks next to each other have the
// larger ones in common, and are powers of two, which divide more grids than other numbers do.
// Where the cache holds all columns, row by row is as good, and better for what is stored
// (measured: tools/bench/gpu/LOG.md): so it mostly is with the products of a batch.
#include "passes/plan/PlanRaster.h"

#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/Persist.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/Occupancy.h"
#include "passes/plan/PlanSharing.h"
#include "passes/plan/PlanSpecialize.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// Multiprocessors of a large device.
constexpr std::int64_t usualMultiprocessors = 132;
/// Of an operand that stays in an L2 cache of 50 MB while the other one and the result pass.
constexpr std::int64_t keptBytes = 12 << 20;

/// Bytes of the operands of products that a round loads for each row of the grid, whatever the
/// column is, and for each column.
struct Operands {
  std::int64_t row = 0, column = 0;
};

Operands operandsOf(Function &function, Launch &launch) {
  const std::vector<CopyStmt *> sameAlongX = sharedLoads(function, launch, 0),
                                sameAlongY = sharedLoads(function, launch, 1);
  auto loads = [](const std::vector<CopyStmt *> &copies, const Buffer *tile) {
    return std::any_of(copies.begin(), copies.end(), [&](const CopyStmt *copy) {
      return copy->target.buffer->storage() == tile;
    });
  };
  Operands operands;
  for (const PlannedLoop &planned : plannedLoops(launch, nullptr))
    for (const StmtPtr &stmt : planned.loop->body)
      if (const auto *gemm = dynCast<GemmStmt>(stmt.get()))
        for (const Region *operand : {&gemm->a, &gemm->b}) {
          const Buffer *tile = operand->buffer->storage();
          const bool ofRow = loads(sameAlongX, tile), ofColumn = loads(sameAlongY, tile);
          if (ofRow != ofColumn)
            (ofRow ? operands.row : operands.column) += bytesOf(*tile);
        }
  return operands;
}

/// Blocks of a launch that run at a time.
std::int64_t blocksAtOnce(Launch &launch, const Target &target, const LaunchPlan &plan) {
  std::int64_t blocks = plan.minBlocks;
  if (!plan.persistent.value_or(false)) {
    const std::int64_t producers =
        plan.specialize.value_or(false) ? target.limits.groupThreads() : 0;
    const std::int64_t threads = launch.threadCount();
    blocks = residentBlocks(target, threads + producers, plannedSharedBytes(launch, plan),
                            registersOf(launch.body, threads));
  }
  return usualMultiprocessors * std::max<std::int64_t>(1, blocks);
}

/// Whether the cache is known to keep what all columns load, so that nothing is loaded twice row by
/// row, and rows of the result are written as they lie.
bool keepsColumns(Launch &launch, const Operands &operands) {
  std::int64_t rounds = 0;
  for (const PlannedLoop &planned : plannedLoops(launch, nullptr)) {
    auto trips = tripCount(*planned.loop).constant();
    if (!trips)
      return false;
    rounds = std::max(rounds, *trips);
  }
  auto columns = whereStarted(launch.grid[0]).constant();
  return columns && *columns * rounds * operands.column <= keptBytes;
}

/// Whether all tiles take as long, as far as the trips of their loops tell.
bool takeAsLong(Function &function, Launch &launch) {
  const std::vector<PlannedLoop> loops = plannedLoops(launch, nullptr);
  return std::all_of(loops.begin(), loops.end(), [&](const PlannedLoop &planned) {
    const auto along = tripDirections(function, launch, *planned.loop);
    return along && std::all_of(along->begin(), along->end(), [](analysis::Direction d) {
             return d == analysis::Direction::Constant;
           });
  });
}

/// Whether any order will do, and nobody has said or planned another one.
bool isFree(const Function &function, const Launch &launch, const LaunchPlan &plan) {
  constexpr std::array<std::int64_t, 2> alone = {1, 1};
  return launch.grid.size() == 2 && !launch.raster.panel && !plan.fold && !plan.parts &&
         plan.spread <= 1 && plan.cluster.value_or(alone) == alone &&
         whyNotPersistent(function, launch).empty();
}

} // namespace

void planRaster(Function &function, Launch &launch, PassContext &pass, LaunchPlan &plan) {
  if (!pass.target.has(Feature::Wgmma) || function.options.hintsAreBinding ||
      !isFree(function, launch, plan) || !takeAsLong(function, launch))
    return;
  const Operands operands = operandsOf(function, launch);
  if (!operands.row || !operands.column || keepsColumns(launch, operands))
    return;
  const std::int64_t blocks = blocksAtOnce(launch, pass.target, plan);
  // Tiles that all run at a time have no order.
  if (blocksWhereStarted(launch).constant().value_or(blocks + 1) <= blocks)
    return;
  const bool columns = operands.column < operands.row;
  const std::int64_t small = std::min(operands.row, operands.column),
                     large = std::max(operands.row, operands.column);
  std::int64_t panel = 2;
  while (panel * 2 * panel * 2 * small <= blocks * large)
    panel *= 2;
  plan.raster = Raster{panel, columns};
  plan.rasterReason = "blocks that run at a time load about as much of rows as of columns";
}

} // namespace tlc::passes
