// stage-stores: accumulators leave through shared memory where that makes whole-line stores.
//
//   copy %C_l -> %C[%by * 128 : +128, …]     =>     alloc %C_t: shared f16[128, 128]
//                                                   copy %C_l -> %C_t
//                                                   copy %C_t -> %C[%by * 128 : +128, …]
//
// The plan says which stores want it (PlanStores.h); here it is seen whether there is room. Tiles
// of the main loop are dead by then, so mostly the place is theirs; where they are not, and where
// threads share all columns, the tile goes in slices through a smaller one. Staging never costs a
// pipeline stage or a resident block: a store that would is made from registers after all, and the
// schedule says so. Elements are converted on the way into the tile; limits are checked on the way
// out.
//
// Why here: behind the pipeliner, since only now the versions of tiles and with them the room are
// known; before layouts, since it adds a tile that wants one.
#include "passes/LayoutExpr.h"
#include "passes/Occupancy.h"
#include "passes/Pass.h"
#include "passes/PlanStores.h"
#include "passes/SharedArena.h"

#include "ir/Builder.h"
#include "ir/Walk.h"

#include <algorithm>
#include <functional>

namespace tlc::passes {

using namespace ir;

namespace {

/// What each thread needs besides its fragments: operands, addresses.
constexpr std::int64_t otherRegisters = 48;

/// Rows of a slice are at least one line of memory.
constexpr std::int64_t lineBytes = 128;
/// Bytes that keep the rows of a tile on different banks.
constexpr std::int64_t rowPadding = 16;

struct Place {
  Block *block = nullptr;
  std::size_t index = 0;
};

Place placeOf(Block &block, const Stmt &wanted) {
  Place found;
  for (std::size_t i = 0; i < block.size() && !found.block; ++i) {
    if (block[i].get() == &wanted)
      return {&block, i};
    forEachBlock(*block[i], [&](Block &inner) {
      if (!found.block)
        found = placeOf(inner, wanted);
    });
  }
  return found;
}

class Stager {
public:
  Stager(Function &function, Launch &launch, PassContext &pass)
      : function(function), launch(launch), pass(pass), target(pass.target),
        registers(estimateRegisters()) {}

  void run(LaunchPlan &plan) {
    std::vector<CopyStmt *> stores = fragmentStores(launch);
    std::vector<Index> slices = narrowestSlices(launch, target);
    for (std::size_t i = 0; i < std::min(stores.size(), plan.stores.size()); ++i)
      if (plan.stores[i].staged)
        stage(*stores[i], plan.stores[i], slices[i]);
  }

private:
  void stage(CopyStmt &copy, StorePlan &plan, Index narrowest) {
    auto tile = copy.target.constantTileExtents();
    if (!tile || tile->empty() || copy.source.constantTileExtents() != tile) {
      pass.diagnostics.report(diag::ScheduleMismatch, copy.range, plan.name)
          .note("the store's tile has no fixed shape, or is broadcast");
      return;
    }
    const Index all = tile->back();
    const std::int64_t before = planArena(launch).bytes;
    std::int64_t after = before;
    for (Index columns : widths(all, copy.target.buffer->dtype, narrowest)) {
      auto keep = [&](std::int64_t bytes) { return admissible(before, after = bytes); };
      if (!replace(copy, all, columns, keep))
        continue;
      plan.columns = columns < all ? columns : 0;
      return;
    }
    if (plan.binding) {
      replace(copy, all, all, [](std::int64_t) { return true; });
      return;
    }
    // While stages are still being given up the question is asked again.
    if (before > target.limits.sharedPerBlockOptIn)
      return;
    plan.staged = false;
    plan.reason = "from registers: shared memory would grow from " + std::to_string(before) +
                  " to " + std::to_string(after) + " bytes";
  }

  /// Puts the staged form in the store's place, `columns` at a time; takes it back unless `keep`
  /// likes the bytes that the launch needs then. Whether it stays.
  bool replace(CopyStmt &copy, Index all, Index columns,
               const std::function<bool(std::int64_t)> &keep) {
    Place place = placeOf(launch.body, copy);
    Block staged = stagedStore(copy, all, columns);
    const auto count = static_cast<std::ptrdiff_t>(staged.size());
    StmtPtr original = std::move((*place.block)[place.index]);
    auto at = place.block->erase(place.block->begin() + static_cast<std::ptrdiff_t>(place.index));
    at = place.block->insert(at, std::make_move_iterator(staged.begin()),
                             std::make_move_iterator(staged.end()));
    if (keep(bytesWithPadding()))
      return true;
    at = place.block->erase(at, at + count);
    place.block->insert(at, std::move(original));
    function.buffers.pop_back();
    return false;
  }

  /// What the launch needs if infer-layouts pads the rows of the newest buffer.
  std::int64_t bytesWithPadding() const {
    Buffer &tile = *function.buffers.back();
    auto shape = tile.constantShape();
    tile.layout = Layout::rowMajor(dimSizes(*shape), "offset",
                                   shape->size() > 1 ? rowPadding * 8 / tile.dtype.bits() : 0);
    std::int64_t bytes = planArena(launch).bytes;
    tile.layout.reset();
    return bytes;
  }

  /// Of the tile that is staged at a time: the whole, then halves of it.
  static std::vector<Index> widths(Index columns, DType dtype, Index narrowest) {
    std::vector<Index> list{columns};
    Index least = std::max<Index>(narrowest, lineBytes * 8 / dtype.bits());
    for (Index half = columns / 2;
         narrowest > 0 && half >= least && list.back() == 2 * half && half % narrowest == 0;
         half /= 2)
      list.push_back(half);
    return list;
  }

  static Region columnsOf(Region region, Index first, Index count) {
    unsigned last = region.buffer->rank() - 1;
    while (region.isDropped(last))
      --last;
    region.offsets[last] = region.offsets[last] + first;
    region.extents[last] =
        region.extents[last].context().integer(region.extents[last].dtype(), count);
    return region;
  }

  /// The store by way of a new shared tile, `columns` of `all` at a time.
  Block stagedStore(const CopyStmt &copy, Index all, Index columns) {
    Block out;
    Builder builder(function, out);
    builder.range = copy.range;
    Region first = columnsOf(copy.target, 0, columns);
    Buffer &tile = function.addBuffer(copy.source.buffer->name + "_t", copy.target.buffer->dtype,
                                      Scope::Shared, first.tileExtents(), copy.range);
    builder.alloc(tile);
    for (Index c = 0; c < all; c += columns) {
      auto &in = builder.add<CopyStmt>();
      in.source = columnsOf(copy.source, c, columns);
      in.target = wholeRegion(*function.context, tile);
      auto store = std::make_unique<CopyStmt>(copy);
      store->source = in.target;
      store->target = columnsOf(copy.target, c, columns);
      builder.add(std::move(store));
    }
    return out;
  }

  bool admissible(std::int64_t before, std::int64_t after) const {
    if (after <= before)
      return true;
    std::int64_t threads = launch.threadCount() + launch.extraThreads;
    return after <= target.limits.sharedPerBlockOptIn &&
           residentBlocks(target, threads, after, registers) >=
               residentBlocks(target, threads, before, registers);
  }

  std::int64_t estimateRegisters() const {
    std::int64_t bytes = 0;
    walk(launch.body, [&](const Stmt &stmt) {
      const auto *alloc = dynCast<AllocStmt>(&stmt);
      if (alloc && alloc->buffer->scope == Scope::Fragment && !alloc->buffer->base)
        bytes += storageBytes(alloc->buffer->dtype, alloc->buffer->elementCount().value_or(0));
      return true;
    });
    return std::min<std::int64_t>(bytes / (4 * launch.threadCount()) + otherRegisters,
                                  target.limits.registersPerThread);
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
  const Target &target;
  std::int64_t registers; ///< of a thread, roughly
};

} // namespace

void stageStores(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  for (std::size_t i = 0; i < function.launches.size(); ++i)
    if (LaunchPlan *plan = context.schedule.launch(i))
      Stager(function, *function.launches[i], context).run(*plan);
}

} // namespace tlc::passes
