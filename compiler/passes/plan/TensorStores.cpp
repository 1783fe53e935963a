#include "passes/plan/TensorStores.h"

#include "analysis/Addresses.h"
#include "analysis/Copies.h"
#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "layout/Shape.h"

#include <algorithm>
#include <bit>

namespace tlc::passes {

using namespace ir;

namespace {

/// Bytes of a row of a box: the swizzle of the tile, the widest first.
constexpr Index rowBytes[] = {128, 64, 32};
/// Rows after which a swizzle repeats, so that each box lies like the first.
constexpr Index swizzleRows = 8;

/// The points of a tile that a warp holds.
class WarpPart {
public:
  using Place = std::pair<Index, Index>;

  /// `places` of all threads' registers: `tabulate(schedule)`.
  WarpPart(const Layout &schedule, const std::vector<std::vector<Index>> &places, Index firstThread,
           Index warp)
      : rows(schedule.outputs[0].size), columns(schedule.outputs[1].size),
        held(static_cast<std::size_t>(rows * columns)) {
    Index registers = schedule.input("reg").size(), threads = schedule.input("thread").size();
    bool regFirst = schedule.inputs.front().name == "reg";
    for (Index lane = 0; lane < warp; ++lane)
      for (Index reg = 0; reg < registers; ++reg) {
        Index thread = firstThread + lane;
        auto point =
            static_cast<std::size_t>(regFirst ? thread * registers + reg : reg * threads + thread);
        Place at{places[0][point], places[1][point]};
        if (lane == 0)
          firstLane.push_back(at);
        if (inTile(at))
          held[indexOf(at)] = true;
      }
  }

  std::vector<Place> firstLane; ///< by register

  /// Rows of a box of `width` columns whose first element is `corner`.
  Index rowsFrom(Place corner, Index width) const {
    for (Index row = 0;; ++row)
      for (Index column = 0; column < width; ++column) {
        Place at{corner.first + row, corner.second + column};
        if (!inTile(at) || !held[indexOf(at)])
          return row;
      }
  }

private:
  bool inTile(Place at) const {
    return at.first >= 0 && at.first < rows && at.second >= 0 && at.second < columns;
  }
  std::size_t indexOf(Place at) const {
    return static_cast<std::size_t>(at.first * columns + at.second);
  }

  Index rows, columns;
  std::vector<bool> held;
};

/// What the first warp holds, if what every other one holds is that, moved.
std::optional<Layout> ofFirstWarp(const Layout &schedule, Index warp) {
  for (const OutputAxis &o : schedule.outputs)
    for (const Term &t : o.terms)
      for (DigitSet rest = t.digits; rest; rest &= rest - 1) {
        int d = std::countr_zero(rest);
        auto [axis, place] = schedule.place(d);
        bool beyond = schedule.inputs[static_cast<std::size_t>(axis)].name == "thread" &&
                      place * schedule.radix(d) > warp;
        if (beyond && (t.flip || !std::has_single_bit(t.digits)))
          return std::nullopt;
      }
  return sliceInput(schedule, "thread", 0, warp);
}

/// Whether other blocks may learn from the statement what this one has written.
bool tellsOthers(const Stmt &stmt) {
  if (const auto *atomic = dynCast<AtomicStmt>(&stmt))
    return atomic->order != MemoryOrder::Relaxed;
  if (const auto *atomic = dynCast<AtomicTileStmt>(&stmt))
    return atomic->order != MemoryOrder::Relaxed;
  if (const auto *fence = dynCast<FenceStmt>(&stmt))
    return fence->what == FenceKind::Device || fence->what == FenceKind::System;
  const auto *barrier = dynCast<BarrierStmt>(&stmt);
  return barrier && barrier->scope == BarrierScope::Grid;
}

} // namespace

bool isStoreByWarps(const Stmt &stmt) {
  if (const auto *copy = dynCast<CopyStmt>(&stmt))
    return copy->layout && !copy->barrier.buffer && analysis::isTmaCopy(*copy);
  const auto *atomic = dynCast<AtomicTileStmt>(&stmt);
  return atomic && atomic->useTma && atomic->layout;
}

std::optional<WarpBoxes> warpBoxes(const Layout &schedule, Index columns, Index warp) {
  Index registers = schedule.input("reg").size(), threads = schedule.input("thread").size();
  if (schedule.outputs.size() != 2 || schedule.inputs.size() != 2 || threads % warp ||
      registers * threads != schedule.outputs[0].size * schedule.outputs[1].size)
    return std::nullopt;
  WarpBoxes boxes;
  boxes.columns = columns;
  boxes.rows = 0;
  // Where warps only stand elsewhere, each holds boxes like the first one's.
  std::optional<Layout> first = ofFirstWarp(schedule, warp);
  const Layout &looked = first ? *first : schedule;
  const auto places = tabulate(looked);
  for (Index thread = 0; thread < looked.input("thread").size(); thread += warp) {
    WarpPart part(looked, places, thread, warp);
    WarpPart::Place origin = part.firstLane.front();
    if (thread == 0)
      boxes.rows = part.rowsFrom(origin, columns);
    if (boxes.rows == 0)
      return std::nullopt;
    std::vector<Index> corners;
    for (Index reg = 0; reg < registers; ++reg) {
      WarpPart::Place corner = part.firstLane[static_cast<std::size_t>(reg)];
      if ((corner.first - origin.first) % boxes.rows || (corner.second - origin.second) % columns ||
          corner.first % boxes.rows || corner.second % columns)
        continue;
      if (part.rowsFrom(corner, columns) < boxes.rows)
        return std::nullopt;
      corners.push_back(reg);
    }
    bool all = static_cast<Index>(corners.size()) * boxes.rows * columns == registers * warp;
    if (!all || (thread > 0 && corners != boxes.registers))
      return std::nullopt;
    boxes.registers = std::move(corners);
  }
  for (Index thread = warp; first && thread < threads; thread += warp) {
    Point at =
        schedule.inputs.front().name == "reg" ? schedule({0, thread}) : schedule({thread, 0});
    if (at[0] % boxes.rows || at[1] % columns)
      return std::nullopt;
  }
  return boxes;
}

Region columnsOf(Region region, Index first, Index count) {
  unsigned last = region.buffer->rank() - 1;
  while (region.isDropped(last))
    --last;
  Expr &offset = region.offsets[last], &extent = region.extents[last];
  offset = offset + first;
  extent = extent.context().integer(extent.dtype(), count);
  return region;
}

TensorStore::TensorStore(const Launch &launch, const analysis::FragmentStore &store,
                         const FragmentHome *home, const Target &target,
                         const analysis::Ranges &ranges)
    : store(store), home(home) {
  fault = unfit(launch, ranges);
  if (!fault.empty())
    return;
  extents = *store.target->constantTileExtents();
  Index bytes = store.target->buffer->dtype.bits() / 8;
  std::string narrower;
  for (Index row : rowBytes) {
    Index columns = row / bytes;
    if (extents[1] % columns)
      continue;
    // Where warps share the rows the tile goes as a whole.
    if (!home->columns(columns))
      columns = extents[1];
    std::string why = unfit(columns, target, ranges);
    if (why.empty() && !std::count(possible.begin(), possible.end(), columns))
      possible.push_back(columns);
    if (narrower.empty())
      narrower = why;
  }
  if (possible.empty())
    fault = narrower.empty() ? "its rows are no multiples of 32 bytes" : narrower;
}

/// Whatever the columns.
std::string TensorStore::unfit(const Launch &launch, const analysis::Ranges &ranges) const {
  auto tile = store.target->constantTileExtents();
  if (!home || home->atom->kind != AtomKind::WarpGroup)
    return "it is no tile of warpgroup products";
  if (!tile || tile->size() != 2 || store.source->constantTileExtents() != tile ||
      !store.source->wholeBuffer() || store.scheduled)
    return "it is not stored as a whole, element by element";
  DType dtype = store.target->buffer->dtype;
  if (dtype.lanes != 1 || (dtype.bits() != 16 && dtype.bits() != 32))
    return "its elements are neither 16 nor 32 bits wide";
  return inFlight(launch, ranges);
}

/// Stores are in flight for a while: none may meet another access of the same elements, unless both
/// add, and nobody may be told that they are done.
std::string TensorStore::inFlight(const Launch &launch, const analysis::Ranges &ranges) const {
  const Buffer *tensor = store.target->buffer->storage();
  std::vector<Expr> used;
  for (Expr offset : store.target->offsets)
    collectVars(analysis::expandLets(offset, ranges), used);
  std::string why;
  std::vector<const Stmt *> around;
  std::function<void(const Block &)> visit = [&](const Block &block) {
    for (const StmtPtr &stmt : block) {
      forEachUse(std::as_const(*stmt), [&](const BufferUse &use) {
        if (stmt.get() != store.stmt && analysis::mayAlias(*use.buffer, *tensor))
          why = "the launch also accesses it elsewhere";
      });
      if (isa<ExitStmt>(*stmt) || isa<SourceStmt>(*stmt))
        why = "threads may end before the stores are done";
      if (tellsOthers(*stmt))
        why = "other blocks are told what is done";
      if (stmt.get() == store.stmt && !store.adds)
        for (const Stmt *outer : around) {
          const auto *loop = dynCast<ForStmt>(outer);
          if (isa<WhileStmt>(*outer) ||
              (loop && std::find(used.begin(), used.end(), loop->var) == used.end()))
            why = "a loop may store the same elements again";
        }
      around.push_back(stmt.get());
      forEachBlock(std::as_const(*stmt), visit);
      around.pop_back();
    }
  };
  visit(launch.body);
  return why;
}

/// With so many columns at a time.
std::string TensorStore::unfit(Index columns, const Target &target,
                               const analysis::Ranges &ranges) const {
  auto slice = home->columns(columns);
  if (!slice)
    return "warps share its rows";
  DType dtype = store.target->buffer->dtype;
  Context &context = store.target->offsets.front().context();
  Buffer tile;
  tile.name = store.source->buffer->name;
  tile.dtype = dtype;
  tile.shape = {context.int32(extents[0]), context.int32(columns)};
  auto faultAs = [&](auto like) {
    like.source = wholeRegion(context, tile);
    like.target = columnsOf(*store.target, 0, columns);
    return analysis::whyNotTma(like, target, ranges);
  };
  std::string why = store.adds ? faultAs(cast<AtomicTileStmt>(*store.stmt))
                               : faultAs(CopyStmt(store.stmt->range));
  if (!why.empty())
    return why;
  Index bytes = dtype.bits() / 8, panel = columns;
  for (Index row : rowBytes)
    if (columns * bytes % row == 0) {
      panel = row / bytes;
      break;
    }
  auto boxes = warpBoxes(slice->layout, panel, target.limits.warp);
  if (!boxes || boxes->rows % swizzleRows)
    return "its warps do not hold blocks of whole rows";
  return "";
}

std::string TensorStore::take(Index columns, Index buffers, StorePlan &plan) const {
  if (!fault.empty())
    return fault;
  if (columns && !std::count(possible.begin(), possible.end(), columns))
    return "not " + std::to_string(columns) + " columns at a time";
  plan.way = StoreWay::Tensor;
  plan.columns = columns ? columns : possible.front();
  Index pieces = extents[1] / plan.columns;
  plan.buffers = std::min<Index>(pieces, buffers ? buffers : 2);
  plan.stagingBytes =
      plan.buffers * extents[0] * plan.columns * store.target->buffer->dtype.bits() / 8;
  return "";
}

std::vector<TensorStore> tensorStores(Launch &launch, const Target &target,
                                      analysis::Ranges &ranges) {
  FragmentHomes homes(launch, target);
  std::vector<TensorStore> stores;
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (auto store = analysis::asFragmentStore(stmt))
      stores.emplace_back(launch, *store, homes.of(store->source->buffer), target, ranges);
    return true;
  });
  return stores;
}

} // namespace tlc::passes
