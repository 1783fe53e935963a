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
// Tensor maps store in pieces, through tiles that take turns, and each warp its own rows, of which
// the store's layout tells:
//
//   copy %C_l -> %C_h                              16 bits wide, while the sums are at hand
//   alloc %C_t: shared f16[128, 64] versions(2)
//   async bulk wait(0) reads_only ; barrier warp
//   copy %C_h[0 : +128, 0 : +64] -> %C_t@0
//   copy %C_t@0 -> %C[%by * 128 : +128, %bx * 128 : +64] tma async layout(…)
//   copy %C_h[0 : +128, 64 : +64] -> %C_t@1
//   copy %C_t@1 -> %C[%by * 128 : +128, %bx * 128 + 64 : +64] tma async layout(…)
//   …                                              wait(1) before the third
//   async bulk wait(0) reads_only                  the last thing in the role
//
// The first piece waits until all of the tile before has been read, which in a walk over tiles is
// long ago. Halves are made before the first piece because no branch may stand between a warpgroup
// product's wait and those who read its sums. Additions to what is there go the same way.
//
// Why here: behind the pipeliner, since only now the versions of tiles and with them the room are
// known; before layouts, since it adds a tile that wants one.
#include "passes/Pass.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/Occupancy.h"
#include "passes/plan/PlanStores.h"
#include "passes/plan/TensorStores.h"
#include "passes/sync/SharedArena.h"

#include "ir/Builder.h"
#include "ir/Walk.h"
#include "support/Check.h"

#include <algorithm>
#include <functional>

namespace tlc::passes {

using namespace ir;

namespace {

/// What each thread needs besides its fragments: operands, addresses.
constexpr std::int64_t otherRegisters = 48;

/// Rows of a slice are at least one line of memory.
constexpr std::int64_t lineBytes = 128;
/// Bytes after which the widest swizzle of tensor maps repeats.
constexpr std::int64_t tileAlignment = 1024;
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
        homes(launch, pass.target), registers(estimateRegisters()) {}

  void run(LaunchPlan &plan) {
    if (plan.persistent.value_or(false))
      persistentBlocks = std::max<std::int64_t>(1, plan.minBlocks);
    std::vector<analysis::FragmentStore> stores = analysis::fragmentStores(launch);
    std::vector<Index> slices = narrowestSlices(launch, target);
    for (std::size_t i = 0; i < std::min(stores.size(), plan.stores.size()); ++i)
      if (plan.stores[i].way == StoreWay::Staged)
        stage(cast<CopyStmt>(*stores[i].stmt), plan.stores[i], slices[i]);
      else if (plan.stores[i].way == StoreWay::Tensor)
        stageTensor(stores[i], plan.stores[i]);
    for (std::size_t i = 0;
         persistentBlocks && launch.clusterSize && i < std::min(stores.size(), plan.stores.size());
         ++i)
      if (plan.stores[i].way == StoreWay::Direct)
        clip(*stores[i].stmt);
  }

private:
  /// Nothing of a tile beyond the grid is stored: the last block of an odd number of those that
  /// load together has one, of which bounds proved nothing, and here no tensor map clips it.
  static void clip(Stmt &store) {
    if (auto *copy = dynCast<CopyStmt>(&store))
      copy->checkHigh.assign(copy->checkHigh.size(), true);
    else
      cast<AtomicTileStmt>(store).checkHigh.assign(cast<AtomicTileStmt>(store).checkHigh.size(),
                                                   true);
  }

  /// By tensor maps, with fewer buffers where there is no room for all.
  void stageTensor(const analysis::FragmentStore &store, StorePlan &plan) {
    const FragmentHome *home = homes.of(store.source->buffer);
    TLC_CHECK(home, "a fragment whose layout was known when stores were planned");
    const std::int64_t before = planArena(launch, target.limits.sharedPerBlockOptIn).bytes;
    std::int64_t after = before;
    for (Index buffers = plan.buffers; buffers > 0; --buffers) {
      auto make = [&] { return tensorStore(store, *home, plan, buffers); };
      auto keep = [&] {
        after = planArena(launch, target.limits.sharedPerBlockOptIn).bytes;
        return plan.binding || admissible(before, after);
      };
      if (!replace(*store.stmt, make, keep))
        continue;
      plan.buffers = buffers;
      return;
    }
    fromRegisters(plan, before, after);
  }

  void stage(CopyStmt &copy, StorePlan &plan, Index narrowest) {
    auto tile = copy.target.constantTileExtents();
    if (!tile || tile->empty() || copy.source.constantTileExtents() != tile) {
      pass.diagnostics.report(diag::ScheduleMismatch, copy.range, plan.name)
          .note("the store's tile has no fixed shape, or is broadcast");
      return;
    }
    const Index all = tile->back();
    const std::int64_t before = planArena(launch, target.limits.sharedPerBlockOptIn).bytes;
    std::int64_t after = before;
    for (Index columns : widths(all, copy.target.buffer->dtype, narrowest)) {
      auto make = [&] { return stagedStore(copy, all, columns); };
      auto keep = [&] { return admissible(before, after = bytesWithPadding()); };
      if (!replace(copy, make, keep))
        continue;
      plan.columns = columns < all ? columns : 0;
      return;
    }
    if (plan.binding) {
      auto make = [&] { return stagedStore(copy, all, all); };
      replace(copy, make, [] { return true; });
      return;
    }
    fromRegisters(plan, before, after);
  }

  void fromRegisters(StorePlan &plan, std::int64_t before, std::int64_t after) const {
    // While stages are still being given up the question is asked again.
    if (before > target.limits.sharedPerBlockOptIn)
      return;
    plan.way = StoreWay::Direct;
    plan.columns = plan.buffers = 0;
    plan.deferred = false;
    plan.reason = "from registers: shared memory would grow from " + std::to_string(before) +
                  " to " + std::to_string(after) + " bytes";
  }

  /// Puts what `make` makes in the store's place; takes it back unless `keep` likes it there.
  /// Whether it stays.
  bool replace(const Stmt &store, const std::function<Block()> &make,
               const std::function<bool()> &keep) {
    Place place = placeOf(launch.body, store);
    const std::size_t known = function.buffers.size();
    Block staged = make();
    const auto count = static_cast<std::ptrdiff_t>(staged.size());
    StmtPtr original = std::move((*place.block)[place.index]);
    auto at = place.block->erase(place.block->begin() + static_cast<std::ptrdiff_t>(place.index));
    at = place.block->insert(at, std::make_move_iterator(staged.begin()),
                             std::make_move_iterator(staged.end()));
    if (keep())
      return true;
    at = place.block->erase(at, at + count);
    place.block->insert(at, std::move(original));
    function.buffers.resize(known);
    return false;
  }

  /// What the launch needs if infer-layouts pads the rows of the newest buffer.
  std::int64_t bytesWithPadding() const {
    Buffer &tile = *function.buffers.back();
    auto shape = tile.constantShape();
    tile.layout = Layout::rowMajor(dimSizes(*shape), "offset",
                                   shape->size() > 1 ? rowPadding * 8 / tile.dtype.bits() : 0);
    std::int64_t bytes = planArena(launch, target.limits.sharedPerBlockOptIn).bytes;
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
      Region staged = wholeRegion(*function.context, tile);
      addCopy(builder, columnsOf(copy.source, c, columns), staged);
      auto store = std::make_unique<CopyStmt>(copy);
      store->source = staged;
      store->target = columnsOf(copy.target, c, columns);
      builder.add(std::move(store));
    }
    return out;
  }

  /// The store by tensor maps, through `buffers` tiles that take turns.
  Block tensorStore(const analysis::FragmentStore &store, const FragmentHome &home,
                    const StorePlan &plan, Index buffers) {
    const Index columns = plan.columns;
    const Index all = store.target->constantTileExtents()->back();
    const DType dtype = store.target->buffer->dtype;
    Block out;
    Builder builder(function, out);
    builder.range = store.stmt->range;
    Region source = *store.source;
    if ((all > columns || plan.deferred) && dtype.bits() < source.buffer->dtype.bits()) {
      Buffer &packed = function.addBuffer(source.buffer->name + "_h", dtype, Scope::Fragment,
                                          store.source->tileExtents(), store.stmt->range);
      builder.alloc(packed);
      addCopy(builder, source, wholeRegion(*function.context, packed));
      source = wholeRegion(*function.context, packed);
    }
    Buffer &tile =
        function.addBuffer(store.source->buffer->name + "_t", dtype, Scope::Shared,
                           columnsOf(*store.target, 0, columns).tileExtents(), store.stmt->range);
    tile.versions = buffers;
    tile.alignment = tileAlignment;
    builder.alloc(tile);
    for (Index c = 0, number = 0; c < all; c += columns, ++number) {
      // Behind the first piece, those of this tile alone are on their way.
      if (number == 0 || number >= buffers) {
        AsyncStmt &wait = builder.wait(number == 0 ? 0 : buffers - 1, AsyncKind::Bulk);
        wait.readsOnly = true;
        builder.barrier().scope = BarrierScope::Warp;
      }
      Region staged = wholeRegion(*function.context, tile);
      if (buffers > 1)
        staged.version = function.context->int32(number % buffers);
      addCopy(builder, columnsOf(source, c, columns), staged);
      builder.add(piece(store, staged, columnsOf(*store.target, c, columns),
                        home.columns(columns)->layout));
    }
    return out;
  }

  /// One piece of the store: of which each warp issues what the layout gives to its threads.
  static StmtPtr piece(const analysis::FragmentStore &store, Region from, Region to,
                       const Layout &layout) {
    auto filled = [&](auto stmt) {
      stmt->source = std::move(from);
      stmt->target = std::move(to);
      stmt->layout = layout;
      return stmt;
    };
    if (store.adds) {
      auto addition = filled(std::make_unique<AtomicTileStmt>(cast<AtomicTileStmt>(*store.stmt)));
      addition->useTma = true;
      return addition;
    }
    auto copy = filled(std::make_unique<CopyStmt>(cast<CopyStmt>(*store.stmt)));
    copy->copyKind = CopyKind::Tma;
    copy->async = true;
    return copy;
  }

  static void addCopy(Builder &builder, Region from, Region to) {
    auto &copy = builder.add<CopyStmt>();
    copy.source = std::move(from);
    copy.target = std::move(to);
  }

  bool admissible(std::int64_t before, std::int64_t after) const {
    if (after <= before)
      return true;
    std::int64_t threads = launch.threadCount() + launch.extraThreads;
    if (persistentBlocks) // registers are shared out for that many, too
      return residentBlocks(target, threads, after) >= persistentBlocks;
    return after <= target.limits.sharedPerBlockOptIn &&
           residentBlocks(target, threads, after, registers) >=
               residentBlocks(target, threads, before, registers);
  }

  std::int64_t estimateRegisters() const {
    std::int64_t bytes = allocatedBytes(launch.body, Scope::Fragment);
    return std::min<std::int64_t>(bytes / (4 * launch.threadCount()) + otherRegisters,
                                  target.limits.registersPerThread);
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
  const Target &target;
  FragmentHomes homes;
  std::int64_t registers;            ///< of a thread, roughly
  std::int64_t persistentBlocks = 0; ///< of a multiprocessor, however many would fit; 0: not so
};

/// The threads that start copies end only when those have read their tiles: at the end of the role,
/// or of the launch. Whether there are any in the block; those of roles are seen to.
bool waitAtEnds(Function &function, Block &block, bool ownThreads) {
  bool stores = false;
  for (StmtPtr &stmt : block) {
    stores |= isStoreByWarps(*stmt);
    forEachBlock(
        *stmt, [&](Block &inner) { stores |= waitAtEnds(function, inner, isa<RoleStmt>(*stmt)); });
  }
  if (!stores || !ownThreads)
    return stores;
  Builder builder(function, block);
  builder.range = block.back()->range;
  builder.wait(0, AsyncKind::Bulk).readsOnly = true;
  return false;
}

} // namespace

void stageStores(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  for (std::size_t i = 0; i < function.launches.size(); ++i)
    if (LaunchPlan *plan = context.schedule.launch(i)) {
      Stager(function, *function.launches[i], context).run(*plan);
      waitAtEnds(function, function.launches[i]->body, true);
    }
}

} // namespace tlc::passes
