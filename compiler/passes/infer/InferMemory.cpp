// Layout inference, shared memory. See InferMemory.h.
//
// The two most expensive accesses are made free of bank conflicts by linear algebra
// (layout/SharedTile.h); the result stands if all accesses together cost no more than with plain
// rows. Tiles that somebody reaches by descriptor lie in panels.
#include "passes/infer/InferMemory.h"

#include "passes/infer/InferFree.h"
#include "passes/infer/Views.h"
#include "passes/lower/WarpGroupOperand.h"

#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "layout/SharedTile.h"
#include "support/Check.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

struct TileAccess : SharedJudge::Access {
  double trips = 1;
};

struct SharedTile {
  Buffer *buffer = nullptr;
  std::vector<TileAccess> accesses;
  bool panels = false; ///< reached by descriptors
  bool boxes = false;  ///< copied by tensor maps
  bool plain = false;  ///< tensor maps copy it as it is or as a view: rows must stay rows
  Index run = 1;       ///< elements in a row that an access by pointer takes
  std::vector<Buffer *> views;

  /// Whether elements of another width that views see stay whole, and runs by pointer in a row.
  bool serves(const Layout &memory) const {
    if (run > 1 && contiguity(memory, dimName(memory.inputs.size() - 1)) < run)
      return false;
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

/// Pointers say how many elements are meant from theirs on, vectors have them in their type. What
/// reaches beyond a row needs the tile as it is written.
void takeRun(SharedTile &tile, const BufferUse &use, const Stmt &stmt) {
  Index run = 1;
  if (use.pointer && use.pointer->count)
    run = use.pointer->count.constant().value_or(std::numeric_limits<Index>::max());
  else if (const auto *load = dynCast<LoadStmt>(&stmt))
    run = load->var.dtype().lanes / std::max(1, int(use.buffer->dtype.lanes));
  else if (const auto *store = dynCast<StoreStmt>(&stmt))
    run = store->value.dtype().lanes / std::max(1, int(use.buffer->dtype.lanes));
  if (run <= 1)
    return;
  // A view may be of another width.
  Index bits = use.buffer->dtype.bits() * use.buffer->dtype.lanes;
  Index own = tile.buffer->dtype.bits() * tile.buffer->dtype.lanes;
  auto row = tile.buffer->shape.empty() ? std::nullopt : tile.buffer->shape.back().constant();
  if (!row || run > *row * own / bits)
    tile.plain = true;
  else
    tile.run = std::max(tile.run, (run * bits + own - 1) / own);
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
        tile.accesses.push_back({{std::move(*access), use.vectorLimit}, op.trips});
    }
  walk(graph.launch->body, [&](Stmt &stmt) {
    auto *alloc = dynCast<AllocStmt>(&stmt);
    if (alloc && alloc->buffer->base && alloc->buffer->storage()->scope == Scope::Shared)
      tileOf(alloc->buffer->storage()).views.push_back(alloc->buffer);
    forEachUse(stmt, [&](const BufferUse &use) {
      Buffer *owner = use.buffer->storage();
      if (owner->scope == Scope::Shared && use.element)
        takeRun(tileOf(owner), use, stmt);
    });
    return true;
  });
}

using Judgements = std::vector<std::optional<SharedJudge::Judgement>>;

/// Wavefronts and instructions of all accesses, weighted by how often they happen; none if one does
/// not compose.
struct Total {
  double cost = 0;
  bool perfect = true; ///< each access is
};

std::optional<Total> sum(const SharedTile &tile, const Judgements &accesses) {
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

Judgements judgeAll(const Layout &memory, const SharedTile &tile, Index bytes, SharedJudge &judge) {
  Judgements out;
  for (const TileAccess &access : tile.accesses)
    out.push_back(judge.judge(memory, access, bytes));
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

/// Pairs of accesses (store, load) worth deriving a memory from: the one with most to lose in plain
/// rows with each of the next three. Empty if there is none.
std::vector<std::pair<const Layout *, const Layout *>> worthDeriving(const SharedTile &tile,
                                                                     const Judgements &inRows) {
  std::vector<std::pair<double, const Layout *>> ranked;
  for (std::size_t i = 0; i < inRows.size(); ++i) {
    const TileAccess &access = tile.accesses[i];
    if (canDerive(access.fragment))
      ranked.emplace_back(inRows[i] ? access.trips * static_cast<double>(inRows[i]->cost.wavefronts)
                                    : 1e30,
                          &access.fragment);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](auto &a, auto &b) { return a.first > b.first; });
  std::vector<std::pair<const Layout *, const Layout *>> pairs;
  for (std::size_t i = 1; i < std::min<std::size_t>(ranked.size(), 4); ++i)
    pairs.emplace_back(ranked[i].second, ranked[0].second);
  if (ranked.size() == 1)
    pairs.emplace_back(ranked[0].second, ranked[0].second);
  return pairs;
}

/// The cheapest memory for the tile.
Layout cheapest(const SharedTile &tile, const Sizes &shape, Index bytes, SharedJudge &judge) {
  Layout memory = Layout::rowMajor(shape);
  auto inRows = judgeAll(memory, tile, bytes, judge);
  std::optional<Total> best = sum(tile, inRows);
  for (auto [store, load] : worthDeriving(tile, inRows))
    for (Vectors vectors : {Vectors::AnyOrder, Vectors::InOrder}) {
      if (best && best->perfect)
        return memory;
      Layout derived = judge.derive(*store, *load, bytes, shape, vectors);
      auto total = sum(tile, judgeAll(derived, tile, bytes, judge));
      if (total && (!best || total->cost < best->cost) && tile.serves(derived)) {
        best = total;
        memory = std::move(derived);
      }
    }
  return memory;
}

void layoutTile(SharedTile &tile, const Target &target, SharedJudge &judge) {
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
  buffer.origin = LayoutOrigin::Free;
  bool free = std::any_of(tile.accesses.begin(), tile.accesses.end(),
                          [](const TileAccess &access) { return canDerive(access.fragment); });
  if (!target.isGpu() || tile.plain || bits < 8 || bits > 128 || !free) {
    buffer.layout = Layout::rowMajor(sizes);
    return;
  }
  buffer.alignment = std::max<Index>(buffer.alignment, 128);
  buffer.layout = cheapest(tile, sizes, static_cast<Index>(bits) / 8, judge);
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

std::optional<SharedJudge::Judgement> SharedJudge::judge(const Layout &memory, const Access &access,
                                                         Index elementBytes) {
  for (const Judged &known : judged)
    if (known.elementBytes == elementBytes && known.access == access && known.memory == memory)
      return known.judgement;
  Layout extended = memory;
  for (const OutputAxis &o : access.fragment.outputs)
    if (extended.hasInput(o.name))
      extended = extendInput(extended, o.name, o.size);
  std::optional<Judgement> judgement;
  if (auto offsets = compose(extended, access.fragment)) {
    Index v = orderedWidth(*offsets, access.vectorLimit);
    judgement.emplace();
    judgement->cost = bankConflicts(*offsets, v, elementBytes, machine);
    judgement->perfect = v == access.vectorLimit && judgement->cost.conflictFree();
  }
  judged.push_back({memory, access, elementBytes, judgement});
  return judgement;
}

Layout SharedJudge::derive(const Layout &store, const Layout &load, Index elementBytes,
                           const Sizes &shape, Vectors vectors) {
  auto known = std::find_if(derived.begin(), derived.end(), [&](const Derived &d) {
    return d.elementBytes == elementBytes && d.shape == shape && d.store == store && d.load == load;
  });
  if (known == derived.end()) {
    auto search = std::make_unique<SharedSearch>(store, load, elementBytes, machine, shape);
    derived.push_back({store, load, elementBytes, shape, std::move(search), {}});
    known = std::prev(derived.end());
  }
  std::optional<Layout> &memory = known->memory[vectors == Vectors::InOrder];
  if (!memory)
    memory = known->search->find(vectors).memory;
  return *memory;
}

void layoutMemories(InferenceGraph &graph, SharedJudge &judge, DiagnosticEngine &diagnostics) {
  std::vector<SharedTile> tiles;
  collect(graph, tiles);
  for (SharedTile &tile : tiles) {
    layoutTile(tile, *graph.target, judge);
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
