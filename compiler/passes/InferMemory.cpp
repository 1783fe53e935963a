// Layout inference, shared memory. See InferMemory.h.
//
// The two most expensive accesses are made free of bank conflicts by linear algebra
// (layout/SharedTile.h); the result stands if all accesses together cost no more than with plain
// rows. Tiles that somebody reaches by descriptor lie in panels.
#include "passes/InferMemory.h"

#include "passes/InferFree.h"
#include "passes/Views.h"
#include "passes/WarpGroupOperand.h"

#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "layout/SharedTile.h"
#include "support/Check.h"

#include <algorithm>
#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

struct TileAccess {
  Layout fragment; ///< (reg, thread) -> coordinates of the storage
  Index vectorLimit = 1;
  double trips = 1;
};

struct SharedTile {
  Buffer *buffer = nullptr;
  std::vector<TileAccess> accesses;
  bool panels = false; ///< reached by descriptors
  bool boxes = false;  ///< copied by tensor maps
  bool plain = false;  ///< tensor maps copy it as it is or as a view: rows must stay rows
  std::vector<Buffer *> views;

  /// Whether elements of another width that views see stay whole.
  bool serves(const Layout &memory) const {
    return std::all_of(views.begin(), views.end(), [&](const Buffer *view) {
      bool sameWidth =
          view->dtype.bits() * view->dtype.lanes == buffer->dtype.bits() * buffer->dtype.lanes;
      return sameWidth || viewMemory(*view, memory);
    });
  }
};

/// An access to a view as one to the storage.
std::optional<Layout> onStorage(const Buffer &buffer, std::optional<Layout> access) {
  for (const Buffer *view = &buffer; access && view->base; view = view->base) {
    auto under = throughView(*view);
    access = under ? composeExtended(*under, *access) : std::nullopt;
  }
  return access;
}

void collect(InferenceGraph &graph, std::vector<SharedTile> &tiles) {
  std::map<Buffer *, std::size_t> known;
  auto tileOf = [&](Buffer *buffer) -> SharedTile & {
    auto [at, isNew] = known.emplace(buffer, tiles.size());
    if (isNew) {
      tiles.push_back({});
      tiles.back().buffer = buffer;
    }
    return tiles[at->second];
  };
  for (const TileOp &op : graph.ops)
    for (const MemoryUse &use : op.memories) {
      Buffer *owner = use.buffer->storage();
      if (owner->scope != Scope::Shared)
        continue;
      SharedTile &tile = tileOf(owner);
      bool same = use.buffer->dtype == owner->dtype && use.buffer->shape == owner->shape;
      tile.plain |= !same && (use.panels || use.boxes);
      tile.panels |= same && use.panels;
      tile.boxes |= same && use.boxes;
      if (use.panels || use.boxes)
        continue;
      if (auto access = onStorage(*use.buffer, memoryAccess(op, use)))
        tile.accesses.push_back({std::move(*access), use.vectorLimit, op.trips});
    }
  walk(graph.launch->body, [&](Stmt &stmt) {
    auto *alloc = dynCast<AllocStmt>(&stmt);
    if (alloc && alloc->buffer->base && alloc->buffer->storage()->scope == Scope::Shared)
      tileOf(alloc->buffer->storage()).views.push_back(alloc->buffer);
    return true;
  });
}

/// What one access costs, and whether no memory could make it cheaper: accesses as wide as they may
/// be, without conflicts.
struct Judgement {
  AccessCost cost;
  bool perfect = false;
};

std::optional<Judgement> judge(const Layout &memory, const TileAccess &access, Index bytes,
                               const SharedMemory &machine) {
  Layout extended = memory;
  for (const OutputAxis &o : access.fragment.outputs)
    if (extended.hasInput(o.name))
      extended = extendInput(extended, o.name, o.size);
  auto offsets = compose(extended, access.fragment);
  if (!offsets)
    return std::nullopt;
  Index v = orderedWidth(*offsets, access.vectorLimit);
  Judgement judgement{bankConflicts(*offsets, v, bytes, machine)};
  judgement.perfect = v == access.vectorLimit && judgement.cost.conflictFree();
  return judgement;
}

/// Wavefronts and instructions of all accesses, weighted by how often they happen; none if one does
/// not compose.
struct Total {
  double cost = 0;
  bool perfect = true; ///< each access is
};

std::optional<Total> sum(const SharedTile &tile,
                         const std::vector<std::optional<Judgement>> &accesses) {
  Total total;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (!accesses[i])
      return std::nullopt;
    const AccessCost &cost = accesses[i]->cost;
    total.cost += tile.accesses[i].trips * static_cast<double>(cost.wavefronts + cost.instructions);
    total.perfect &= accesses[i]->perfect;
  }
  return total;
}

std::vector<std::optional<Judgement>> judgeAll(const Layout &memory, const SharedTile &tile,
                                               Index bytes, const SharedMemory &machine) {
  std::vector<std::optional<Judgement>> out;
  for (const TileAccess &access : tile.accesses)
    out.push_back(judge(memory, access, bytes, machine));
  return out;
}

/// What is worth composing: an access of many points with a fragment that has one (a slice at a
/// constant has a base).
bool canDerive(const Layout &fragment) {
  return std::all_of(fragment.outputs.begin(), fragment.outputs.end(),
                     [](const OutputAxis &o) { return o.base == 0; });
}

/// What select-atoms made sure is possible.
void layoutPanels(Buffer &buffer) {
  auto swizzle = panelsOf(buffer);
  TLC_CHECK(swizzle.has_value(), "`" + buffer.name + "` cannot lie in panels");
  buffer.alignment = std::max<Index>(buffer.alignment, panelAlignment(*swizzle));
  if (buffer.layout)
    return;
  unsigned bits = buffer.dtype.bits() * buffer.dtype.lanes;
  buffer.layout = swizzledPanels(dimSizes(*buffer.constantShape()), bits, *swizzle);
  buffer.origin = LayoutOrigin::Strict;
}

/// Tensor maps copy tiles with a swizzle, or else in rows.
void layoutBoxes(SharedTile &tile) {
  Buffer &buffer = *tile.buffer;
  auto shape = buffer.constantShape();
  unsigned bits = buffer.dtype.bits() * buffer.dtype.lanes;
  std::optional<Index> swizzle;
  if (shape && shape->size() > 1 && !tile.plain)
    swizzle = buffer.layout ? panelSwizzle(*buffer.layout, dimSizes(*shape), bits)
                            : widestPanels(dimSizes(*shape), bits);
  if (swizzle && *swizzle && !tile.serves(swizzledPanels(dimSizes(*shape), bits, *swizzle)))
    swizzle.reset();
  buffer.alignment = std::max<Index>(buffer.alignment, panelAlignment(swizzle.value_or(0)));
  if (!swizzle || *swizzle == 0)
    tile.plain = true;
  else if (!buffer.layout)
    buffer.layout = swizzledPanels(dimSizes(*shape), bits, *swizzle),
    buffer.origin = LayoutOrigin::Strict;
}

void layoutTile(SharedTile &tile, const Target &target) {
  Buffer &buffer = *tile.buffer;
  if (tile.panels)
    return layoutPanels(buffer);
  if (tile.boxes)
    layoutBoxes(tile);
  auto shape = buffer.constantShape();
  unsigned bits = buffer.dtype.bits() * buffer.dtype.lanes;
  if (buffer.layout || !shape || shape->empty())
    return;
  Sizes sizes = dimSizes(*shape);
  Layout rows = Layout::rowMajor(sizes);
  buffer.layout = rows;
  buffer.origin = LayoutOrigin::Free;
  if (!target.isGpu() || tile.plain || bits < 8 || bits > 128 || tile.accesses.empty())
    return;
  Index bytes = static_cast<Index>(bits) / 8;
  SharedMemory machine = target.sharedMemory();
  auto inRows = judgeAll(rows, tile, bytes, machine);
  std::optional<Total> best = sum(tile, inRows);
  // The two accesses with most to lose.
  std::vector<std::pair<double, const TileAccess *>> ranked;
  for (std::size_t i = 0; i < inRows.size(); ++i) {
    const TileAccess &access = tile.accesses[i];
    if (canDerive(access.fragment))
      ranked.emplace_back(inRows[i] ? access.trips * static_cast<double>(inRows[i]->cost.wavefronts)
                                    : 1e30,
                          &access);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](auto &a, auto &b) { return a.first > b.first; });
  if (ranked.empty())
    return;
  const Layout &first = ranked[0].second->fragment;
  std::vector<std::pair<const Layout *, const Layout *>> pairs;
  for (std::size_t i = 1; i < std::min<std::size_t>(ranked.size(), 4); ++i)
    pairs.emplace_back(&ranked[i].second->fragment, &first);
  if (pairs.empty())
    pairs.emplace_back(&first, &first);
  buffer.alignment = std::max<Index>(buffer.alignment, 128);
  for (auto [store, load] : pairs)
    for (Vectors vectors : {Vectors::AnyOrder, Vectors::InOrder}) {
      if (best && best->perfect)
        return;
      SharedPlan plan = deriveShared(*store, *load, bytes, machine, sizes, vectors);
      auto total = sum(tile, judgeAll(plan.memory, tile, bytes, machine));
      if (total && (!best || total->cost < best->cost) && tile.serves(plan.memory)) {
        best = total;
        buffer.layout = plan.memory;
      }
    }
}

/// Views follow their storage.
void layoutViews(SharedTile &tile, DiagnosticEngine &diagnostics) {
  if (!tile.buffer->layout)
    return;
  if (tile.buffer->origin != LayoutOrigin::Free && !tile.serves(*tile.buffer->layout))
    diagnostics.report(diag::NotALayout, tile.buffer->range, tile.buffer->name,
                       "it tears elements apart that a view of another width sees");
  for (Buffer *view : tile.views)
    if (!view->layout) {
      view->layout = viewMemory(*view, *tile.buffer->layout);
      view->origin = tile.buffer->origin;
    }
}

} // namespace

void layoutMemories(InferenceGraph &graph, DiagnosticEngine &diagnostics) {
  std::vector<SharedTile> tiles;
  collect(graph, tiles);
  for (SharedTile &tile : tiles) {
    layoutTile(tile, *graph.target);
    layoutViews(tile, diagnostics);
  }
  // Tiles that only scalar code uses; those of other launches still have their turn.
  walk(graph.launch->body, [](Stmt &stmt) {
    auto *alloc = dynCast<AllocStmt>(&stmt);
    if (!alloc)
      return true;
    Buffer &buffer = *alloc->buffer;
    if (buffer.scope == Scope::Shared && !buffer.base && !buffer.layout)
      if (auto shape = buffer.constantShape(); shape && !shape->empty())
        buffer.layout = Layout::rowMajor(dimSizes(*shape));
    return true;
  });
}

} // namespace tlc::passes
