#include "passes/lower/ElementwiseToMaps.h"

#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

/// A map over the tile of `region`, with variables but no body.
std::unique_ptr<MapStmt> mapOver(Function &function, const Region &region, SourceRange range) {
  constexpr const char *names[] = {"i", "j", "k", "l"};
  auto map = std::make_unique<MapStmt>(range);
  for (Expr extent : region.tileExtents()) {
    std::size_t d = map->vars.size();
    map->vars.push_back(function.context->var(
        d < std::size(names) ? names[d] : "i" + std::to_string(d), extent.dtype()));
    map->extents.push_back(extent);
  }
  return map;
}

/// The element of `region` at a point of the tile; the tile's dims are matched from the right, and
/// a dim of extent 1 is broadcast.
Element elementAt(const Region &region, const std::vector<Expr> &point) {
  Element element{region.buffer, region.offsets, region.version};
  std::size_t rank = region.tileRank();
  TLC_CHECK(rank <= point.size(), "region of higher rank than the tile");
  std::size_t next = point.size() - rank;
  for (unsigned d = 0; d < region.offsets.size(); ++d) {
    if (region.isDropped(d))
      continue;
    if (!region.extents[d].isConstant(1))
      element.indices[d] = element.indices[d] + point[next];
    ++next;
  }
  return element;
}

/// Which limits of the global side must be checked; nothing known means all.
struct Checks {
  const std::vector<bool> *low = nullptr, *high = nullptr;
};

/// Whether the element lies in its tensor; null: always.
Expr inRange(const Element &element, const Checks &checks) {
  if (element.buffer->scope != Scope::Global)
    return {};
  Expr condition;
  for (std::size_t d = 0; d < element.indices.size(); ++d) {
    Expr index = element.indices[d];
    if (!checks.low || (*checks.low)[d])
      condition =
          logicalAnd(condition, lessEqual(index.context().integer(index.dtype(), 0), index));
    if (!checks.high || (*checks.high)[d])
      condition = logicalAnd(condition, lessThan(index, element.buffer->shape[d]));
  }
  return condition && condition.isTrue() ? Expr() : condition;
}

Expr safeValue(const Buffer &buffer, Context &context) {
  return buffer.safeValue ? buffer.safeValue : context.zero(buffer.dtype);
}

bool isMemory(const Buffer &buffer) {
  return buffer.scope == Scope::Global || buffer.scope == Scope::Shared;
}

} // namespace

StmtPtr mapOfCopy(Function &function, const CopyStmt &copy) {
  // The target decides the tile unless the source has more dims (size-1 dims of the target dropped
  // by the elaborator).
  const Region &shape =
      copy.target.tileRank() >= copy.source.tileRank() ? copy.target : copy.source;
  auto map = mapOver(function, shape, copy.range);
  map->layout = copy.layout;
  map->coalescedWidth = copy.coalescedWidth;
  Element source = elementAt(copy.source, map->vars), target = elementAt(copy.target, map->vars);
  // The marks are for the one global side; a copy between two tensors is checked on both.
  bool oneGlobal =
      (source.buffer->scope == Scope::Global) != (target.buffer->scope == Scope::Global);
  Checks checks =
      copy.boundsKnown && oneGlobal ? Checks{&copy.checkLow, &copy.checkHigh} : Checks{};
  Expr readable = inRange(source, checks), writable = inRange(target, checks);

  Context &context = *function.context;
  Builder builder(function, map->body);
  builder.range = copy.range;
  // Half a byte cannot be moved alone, only loaded and stored with its neighbour kept.
  bool movable = copy.async || !source.buffer->dtype.isSubByte();
  if (movable && source.buffer->dtype == target.buffer->dtype && isMemory(*source.buffer) &&
      isMemory(*target.buffer) && !(readable && writable)) {
    auto &move = builder.add<MoveStmt>();
    move.source = source;
    move.target = target;
    move.async = copy.async;
    move.predicate = readable ? readable : writable;
    if (readable)
      move.fill = safeValue(*source.buffer, context);
    return map;
  }
  Expr value = builder.load("value", source, readable,
                            readable ? safeValue(*source.buffer, context) : Expr());
  builder.store(target, context.cast(target.buffer->dtype, value), writable);
  return map;
}

StmtPtr mapOfFill(Function &function, const FillStmt &fill) {
  auto map = mapOver(function, fill.target, fill.range);
  map->layout = fill.layout;
  if (!map->layout && fill.target.buffer->scope == Scope::Fragment && fill.target.wholeBuffer())
    map->layout = fill.target.buffer->storage()->layout;
  Builder builder(function, map->body);
  builder.range = fill.range;
  Element target = elementAt(fill.target, map->vars);
  builder.store(target, function.context->cast(target.buffer->dtype, fill.value),
                inRange(target, {}));
  return map;
}

StmtPtr mapOfAtomic(Function &function, const AtomicTileStmt &atomic) {
  auto map = mapOver(function, atomic.target, atomic.range);
  map->layout = atomic.layout;
  Element target = elementAt(atomic.target, map->vars);
  Checks checks = atomic.boundsKnown && target.buffer->scope == Scope::Global
                      ? Checks{&atomic.checkLow, &atomic.checkHigh}
                      : Checks{};
  Builder builder(function, map->body);
  builder.range = atomic.range;
  Expr value = atomic.value;
  if (atomic.source.buffer) {
    Element source = elementAt(atomic.source, map->vars);
    Expr readable = inRange(source, {});
    value = builder.load("value", source, readable,
                         readable ? safeValue(*source.buffer, *function.context) : Expr());
  }
  auto &stmt = builder.add<AtomicStmt>();
  stmt.op = atomic.op;
  stmt.target = target;
  stmt.value = function.context->cast(target.buffer->dtype, value);
  stmt.order = atomic.order;
  stmt.predicate = inRange(target, checks);
  return map;
}

} // namespace tlc::passes
