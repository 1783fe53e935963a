// Layout inference, the rules: for each op its box, its uses and what it insists on. One function
// per op.
#include "passes/infer/InferGraph.h"
#include "passes/infer/Registers.h"
#include "passes/plan/GemmLayouts.h"

#include "analysis/Copies.h"
#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

std::optional<std::vector<Index>> constants(const std::vector<Expr> &values) {
  std::vector<Index> out;
  for (Expr e : values) {
    auto c = e.constant();
    if (!c)
      return std::nullopt;
    out.push_back(*c);
  }
  return out;
}

Index vectorLimit(const Target &target, DType dtype) {
  unsigned bits = dtype.bits() * dtype.lanes;
  return std::max<Index>(1, target.limits.maxVectorBytes * 8 / bits);
}

/// Collects uses of one op.
class Rules {
public:
  Rules(TileOp &op, InferenceGraph &graph) : op(op), graph(graph) {}

  void gemm(GemmStmt &s);
  void reduce(ReduceStmt &s);
  void scan(ScanStmt &s);
  void map(MapStmt &s);
  void copy(CopyStmt &s);
  void fill(FillStmt &s);
  void atomic(AtomicTileStmt &s);

private:
  TileOp &op;
  InferenceGraph &graph;

  bool setBox(const Region &region) {
    auto tile = region.constantTileExtents();
    if (tile)
      op.box = *tile;
    else
      op.scheduled = false; // a copy of run-time size: lowered as a loop over threads
    return tile.has_value();
  }

  void misplace(Buffer *buffer, std::string reason) {
    graph.misplaced.push_back({buffer->storage(), std::move(reason), op.stmt->range});
  }
  void misplace(Buffer *buffer, std::string reason, Access access, Region *region,
                Element *element) {
    // One thread has all of a fragment, whatever the index.
    if (op.threads > 1 || buffer->base)
      misplace(buffer, std::move(reason));
    FragmentUse u;
    u.buffer = buffer->storage();
    u.access = access;
    u.region = region;
    u.element = element;
    op.unplaced.push_back(std::move(u));
  }

  void use(Buffer *buffer, std::optional<IndexMap> map, Access access, Region *region,
           Element *element, bool async = false) {
    Buffer *owner = buffer->storage();
    if (owner->scope == Scope::Fragment) {
      auto whole = map ? onStorage(*buffer, std::move(*map)) : std::nullopt;
      if (!whole)
        return misplace(buffer, "an index is no sum of loop variables times constants", access,
                        region, element);
      FragmentUse u;
      u.buffer = owner;
      u.map = std::move(*whole);
      u.access = access;
      u.region = region;
      u.element = element;
      op.fragments.push_back(std::move(u));
    } else if (owner->scope == Scope::Shared || owner->scope == Scope::Global) {
      MemoryUse u;
      u.buffer = buffer;
      u.map = std::move(map);
      u.access = access;
      u.vectorLimit = vectorLimit(*graph.target, buffer->dtype);
      u.async = async;
      op.memories.push_back(std::move(u));
    }
  }

  /// A region that is the box itself.
  void use(Region &region, Access access, bool async = false) {
    use(region.buffer, regionMap(region, op.box), access, &region, nullptr, async);
  }

  /// A tile that tensor maps copy: no thread touches it.
  void boxes(const Region &shared) {
    op.scheduled = false;
    MemoryUse u;
    u.buffer = shared.buffer;
    u.boxes = true;
    op.memories.push_back(std::move(u));
  }

  void operand(Region &region, Side side, GemmStmt &s, const GemmGrid &grid);
};

void Rules::operand(Region &region, Side side, GemmStmt &s, const GemmGrid &grid) {
  bool first = kFirst(s, side);
  auto tile = region.constantTileExtents();
  TLC_CHECK(tile.has_value(), "a gemm operand of unknown shape");
  IndexMap map = regionMap(region, *tile);
  if (region.buffer->storage()->scope == Scope::Fragment) {
    auto whole = onStorage(*region.buffer, map);
    Layout wanted = inTileOrder(operandLayout(*s.atom, grid, side), first);
    std::optional<Layout> fixed = whole ? wantedLayout(*whole, wanted) : std::nullopt;
    if (!fixed)
      return misplace(region.buffer, "a gemm reads a part of it that is known only at run time");
    FragmentUse u;
    u.buffer = region.buffer->storage();
    u.map = std::move(*whole);
    u.fixed = std::move(fixed);
    u.region = &region;
    op.fragments.push_back(std::move(u));
    return;
  }
  MemoryUse u;
  u.buffer = region.buffer;
  u.vectorLimit = vectorLimit(*graph.target, region.buffer->dtype);
  if (s.atom->kind == AtomKind::WarpGroup) {
    u.panels = true;
    u.map = std::move(map);
    op.memories.push_back(std::move(u));
    return;
  }
  std::optional<Layout> access;
  if (graph.target->has(Feature::LdMatrix))
    access = matrixAccess(*s.atom, grid, side, first, first);
  if (!access)
    access = inTileOrder(operandLayout(*s.atom, grid, side), first);
  u.fixed = composeExtended(map.layout, *access);
  u.map = std::move(map);
  op.memories.push_back(std::move(u));
}

void Rules::gemm(GemmStmt &s) {
  op.scheduled = false;
  auto shape = gemmShape(s);
  TLC_CHECK(shape && s.atom, "a gemm without atom or shape");
  op.box = {shape->m, shape->n};
  GemmGrid grid = gemmGrid(*s.atom, *shape, s.warpsM, s.warpsN, op.threads);
  operand(s.a, Side::A, s, grid);
  operand(s.b, Side::B, s, grid);
  FragmentUse c;
  c.buffer = s.c.buffer->storage();
  c.access = Access::ReadWrite;
  c.region = &s.c;
  auto map = onStorage(*s.c.buffer, regionMap(s.c, op.box));
  if (!map)
    return misplace(s.c.buffer, "a gemm accumulates into a view of it");
  c.map = std::move(*map);
  c.fixed = accumulatorLayout(*s.atom, grid); // over the box; agrees() takes it through the map
  op.schedule = c.fixed;
  c.fixed.reset();
  op.fragments.push_back(std::move(c));
}

void Rules::reduce(ReduceStmt &s) {
  if (!setBox(s.source))
    return;
  op.axis = s.axis;
  use(s.source, Access::Read);
  // The target's tile has the axis dropped, or of extent 1.
  auto tile = s.target.constantTileExtents();
  TLC_CHECK(tile.has_value(), "a reduction into a tile of unknown shape");
  IndexMap map = regionMap(s.target, *tile);
  Layout drop = Layout::identity(dimSizes(op.box));
  decltype(Layout::outputs) outputs;
  for (unsigned d = 0; d < op.box.size(); ++d) {
    if (d == s.axis && tile->size() == op.box.size())
      outputs.push_back({dimName(outputs.size()), 1, 0, {}});
    else if (d != s.axis)
      outputs.push_back(drop.outputs[d]), outputs.back().name = dimName(outputs.size() - 1);
  }
  if (outputs.empty()) // a scalar result in a buffer of one element
    outputs.push_back({dimName(0), 1, 0, {}});
  drop.outputs = std::move(outputs);
  if (tile->empty())
    map.layout = Layout::identity(dimSizes(std::vector<Index>{1}));
  auto whole = compose(map.layout, drop);
  if (tile->empty() && whole) {
    // Every dim of the target is a scalar index.
    whole->outputs.clear();
    for (unsigned d = 0; d < s.target.offsets.size(); ++d)
      whole->outputs.push_back({dimName(d), 1, 0, {}});
  }
  std::optional<IndexMap> target;
  if (whole)
    target = IndexMap{std::move(*whole), map.outer};
  use(s.target.buffer, std::move(target), s.clear ? Access::Write : Access::ReadWrite, &s.target,
      nullptr);
}

void Rules::scan(ScanStmt &s) {
  if (!setBox(s.source))
    return;
  op.axis = s.axis;
  op.scans = true;
  use(s.source, Access::Read);
  use(s.target, Access::Write);
}

/// Values of lets inside a map's body, so that indices are seen in terms of the map's variables.
Expr inlined(Expr e, const Substitution &lets) {
  for (std::size_t i = lets.size(); i-- > 0;)
    if (uses(e, lets[i].first))
      e = substitute(e, {lets[i]});
  return e;
}

void Rules::map(MapStmt &s) {
  auto box = constants(s.extents);
  if (!box) {
    // Threads walk it point by point, wherever the elements are.
    op.scheduled = false;
    tlc::ir::walk(s.body, [&](Stmt &inner) {
      forEachUse(inner, [&](const BufferUse &u) {
        if (u.buffer->storage()->scope == Scope::Fragment)
          misplace(u.buffer, "the extents of a parallel loop are known at run time only", u.access,
                   nullptr, u.element);
      });
      return true;
    });
    return;
  }
  op.box = *box;
  if (s.layout)
    op.schedule = s.layout, op.origin = s.origin;
  Substitution lets;
  tlc::ir::walk(s.body, [&](Stmt &inner) {
    if (auto *let = dynCast<LetStmt>(&inner))
      lets.emplace_back(let->var, let->value);
    forEachUse(inner, [&](const BufferUse &u) {
      if (!u.element)
        return;
      if (u.pointer && u.buffer->storage()->scope == Scope::Fragment)
        return misplace(u.buffer, "its address is passed to a function", u.access, nullptr,
                        u.element);
      std::vector<Expr> indices;
      for (Expr e : u.element->indices)
        indices.push_back(inlined(e, lets));
      use(u.buffer, indexMap(s.vars, op.box, indices), u.access, nullptr, u.element);
      if (isa<ReducerStmt>(inner) && !op.fragments.empty() &&
          op.fragments.back().element == u.element)
        op.fragments.back().partial = true;
    });
    return true;
  });
}

void Rules::copy(CopyStmt &s) {
  // The source may have extent 1 where the target has more: broadcast. The box is the larger.
  auto from = s.source.constantTileExtents(), to = s.target.constantTileExtents();
  if (!from || !to) {
    op.scheduled = false;
    return;
  }
  op.box = *to;
  if (analysis::isTmaCopy(s))
    return boxes(s.source.buffer->storage()->scope == Scope::Shared ? s.source : s.target);
  if (s.layout)
    op.schedule = s.layout, op.origin = LayoutOrigin::User;
  IndexMap source = regionMap(s.source, *from);
  if (from->size() == to->size() && *from != *to) {
    Layout clamp = Layout::identity(dimSizes(*to));
    for (std::size_t d = 0; d < to->size(); ++d)
      if ((*from)[d] == 1 && (*to)[d] != 1)
        clamp.outputs[d] = {dimName(d), 1, 0, {}};
    if (auto narrowed = compose(source.layout, clamp))
      source.layout = std::move(*narrowed);
  }
  use(s.source.buffer, std::move(source), Access::Read, &s.source, nullptr, s.async);
  use(s.target.buffer, regionMap(s.target, *to), Access::Write, &s.target, nullptr, s.async);
  // Stores of one element at a time want neighbours in neighbouring threads: unlike loads, nothing
  // gathers what a thread stores bit by bit. Neither do asynchronous copies.
  if (auto bytes = graph.pieceBytes.find(&s);
      bytes != graph.pieceBytes.end() && !op.memories.empty()) {
    Index elements = bytes->second * 8 / analysis::copyPieceBits(s);
    for (MemoryUse &memory : op.memories)
      if (memory.access == Access::Write || s.async)
        memory.vectorLimit = std::clamp<Index>(elements, 1, memory.vectorLimit);
  }
}

void Rules::fill(FillStmt &s) {
  if (!setBox(s.target))
    return;
  op.propagates = false;
  if (s.layout)
    op.schedule = s.layout, op.origin = LayoutOrigin::User;
  use(s.target, Access::Write);
}

void Rules::atomic(AtomicTileStmt &s) {
  if (!setBox(s.target))
    return;
  if (s.useTma)
    return boxes(s.source);
  if (s.layout)
    op.schedule = s.layout, op.origin = LayoutOrigin::User;
  if (s.source.buffer)
    use(s.source, Access::Read);
  use(s.target, Access::ReadWrite);
}

} // namespace

void describeOp(TileOp &op, InferenceGraph &graph) {
  Rules rules(op, graph);
  switch (op.stmt->kind) {
  case StmtKind::Gemm:
    return rules.gemm(cast<GemmStmt>(*op.stmt));
  case StmtKind::Reduce:
    return rules.reduce(cast<ReduceStmt>(*op.stmt));
  case StmtKind::Scan:
    return rules.scan(cast<ScanStmt>(*op.stmt));
  case StmtKind::Map:
    return rules.map(cast<MapStmt>(*op.stmt));
  case StmtKind::Copy:
    return rules.copy(cast<CopyStmt>(*op.stmt));
  case StmtKind::Fill:
    return rules.fill(cast<FillStmt>(*op.stmt));
  case StmtKind::AtomicTile:
    return rules.atomic(cast<AtomicTileStmt>(*op.stmt));
  default:
    TLC_UNREACHABLE("not a tile op");
  }
}

} // namespace tlc::passes
