#include "passes/plan/ColumnPieces.h"

#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/Rewrite.h"
#include "passes/plan/TensorStores.h"

#include <algorithm>
#include <utility>

namespace tlc::passes {

using namespace ir;

namespace {

/// Whether a statement, nested ones included, uses the buffer or a view of it.
bool touches(const Stmt &stmt, const Buffer &buffer) {
  bool found = false;
  walk(stmt, [&](const Stmt &inner) {
    forEachUse(inner, [&](const BufferUse &use) { found |= use.buffer->storage() == &buffer; });
    return !found;
  });
  return found;
}

Region wholeColumns(Buffer &tile, std::int64_t column, std::int64_t width) {
  return columnsOf(wholeRegion(tile.shape[0].context(), tile), column, width);
}

} // namespace

ColumnPieces::ColumnPieces(Launch &launch, std::size_t loop, Buffer &sums)
    : launch(launch), sums(sums), shape(*sums.constantShape()), tiles{&sums} {
  std::unordered_set<const Buffer *> viewed;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    if (const auto *alloc = dynCast<AllocStmt>(&stmt); alloc && alloc->buffer->base)
      viewed.insert(alloc->buffer->storage());
    return true;
  });
  for (const StmtPtr &stmt : launch.body)
    if (auto *alloc = dynCast<AllocStmt>(stmt.get());
        alloc && !alloc->init && alloc->buffer != &sums && !viewed.count(alloc->buffer) &&
        !touches(*launch.body[loop], *alloc->buffer))
      consider(*alloc->buffer, loop);
  fine = !viewed.count(&sums);
  for (std::size_t i = 0; i < launch.body.size(); ++i) {
    const Stmt &stmt = *launch.body[i];
    const auto *alloc = dynCast<AllocStmt>(&stmt);
    const auto *copy = dynCast<CopyStmt>(&stmt);
    bool ours = alloc ? alloc->buffer != &sums && isPieceOf(*alloc->buffer)
                      : i > loop || (i < loop && copy && isPieceOf(*copy->target.buffer));
    if (!ours || isa<LetStmt>(stmt) || isa<AssumeStmt>(stmt))
      continue;
    members.insert(&stmt);
    fine = fine && fits(stmt);
  }
  fine = fine && !passesOn();
}

/// Whether what is written to a tensor may be used again, other than where the same is done to the
/// same place: by one loop to one element, or by copies of one region.
bool ColumnPieces::passesOn() const {
  struct Place {
    const Stmt *loop; ///< null: a copy's
    BufferUse use;
  };
  std::vector<Place> places;
  for (const StmtPtr &stmt : launch.body)
    if (covers(*stmt))
      walk(std::as_const(*stmt), [&](const Stmt &inner) {
        forEachUse(inner, [&](const BufferUse &use) {
          if (use.buffer->storage()->scope == Scope::Global)
            places.push_back({isa<MapStmt>(*stmt) ? stmt.get() : nullptr, use});
        });
        return true;
      });
  auto isSame = [](const Place &a, const Place &b) {
    if (a.loop != b.loop || a.use.buffer != b.use.buffer)
      return false;
    return a.loop ? a.use.element->indices == b.use.element->indices
                  : a.use.region->offsets == b.use.region->offsets &&
                        a.use.region->extents == b.use.region->extents;
  };
  for (const Place &a : places)
    for (const Place &b : places)
      if (a.use.access != Access::Read && analysis::mayAlias(*a.use.buffer, *b.use.buffer) &&
          !isSame(a, b))
        return true;
  return false;
}

/// Takes the tile if nothing in front of the loop uses it but a copy that fills it.
void ColumnPieces::consider(Buffer &tile, std::size_t loop) {
  if ((tile.scope != Scope::Fragment && tile.scope != Scope::Shared) || tile.base || tile.layout ||
      tile.versions > 1 || !hasShape(tile.constantShape()))
    return;
  std::size_t fillings = 0;
  for (std::size_t i = 0; i < loop; ++i) {
    const auto *copy = dynCast<CopyStmt>(launch.body[i].get());
    bool fills = copy && copy->target.buffer == &tile && copy->target.wholeBuffer() &&
                 copy->source.buffer->storage()->scope == Scope::Global &&
                 tile.scope == Scope::Fragment;
    fillings += fills;
    if (!fills && touches(*launch.body[i], tile))
      return;
  }
  if (fillings <= 1 && tiles.insert(&tile).second)
    order.push_back(&tile);
}

/// The tile's, or a row's.
bool ColumnPieces::hasShape(const std::optional<std::vector<std::int64_t>> &extents) const {
  return extents == shape || (extents && extents->size() == 1 && extents->front() == shape[1]);
}

bool ColumnPieces::fits(const Stmt &stmt) const {
  if (const auto *copy = dynCast<CopyStmt>(&stmt))
    return copy->copyKind == CopyKind::Auto && !copy->async && !copy->barrier.buffer &&
           !copy->multicast && !copy->layout && fits(copy->source) && fits(copy->target) &&
           copy->source.constantTileExtents() == copy->target.constantTileExtents() &&
           (isPieceOf(*copy->source.buffer) || isPieceOf(*copy->target.buffer));
  if (const auto *fill = dynCast<FillStmt>(&stmt))
    return !fill->layout && isPieceOf(*fill->target.buffer) && fill->target.wholeBuffer();
  if (const auto *map = dynCast<MapStmt>(&stmt))
    return fits(*map);
  return isa<AllocStmt>(stmt);
}

/// A whole tile or row, or as much of a tensor.
bool ColumnPieces::fits(const Region &region) const {
  if (isPieceOf(*region.buffer))
    return region.wholeBuffer();
  return region.buffer->storage()->scope == Scope::Global && hasShape(region.constantTileExtents());
}

bool ColumnPieces::fits(const MapStmt &map) const {
  if (map.layout || map.vars.size() != 2 || !map.extents[0].isConstant(shape[0]) ||
      !map.extents[1].isConstant(shape[1]))
    return false;
  bool all = true;
  walk(map.body, [&](const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Alloc:
    case StmtKind::Let:
    case StmtKind::Load:
    case StmtKind::Store:
    case StmtKind::If:
      break;
    default:
      all = false;
    }
    forEachUse(stmt, [&](const BufferUse &use) {
      const Buffer &buffer = *use.buffer;
      if (isPieceOf(buffer)) {
        const std::vector<Expr> &at = use.element ? use.element->indices : std::vector<Expr>{};
        all = all && (buffer.rank() == 1 ? at == std::vector{map.vars[1]} : at == map.vars);
        return;
      }
      const Scope scope = buffer.storage()->scope;
      bool reads = use.access == Access::Read;
      bool byColumn =
          use.element && std::any_of(use.element->indices.begin(), use.element->indices.end(),
                                     [&](Expr index) { return uses(index, map.vars[1]); });
      all = all && (scope == Scope::Global || (scope == Scope::Shared && reads) ||
                    (scope == Scope::Fragment && reads && !byColumn) || scope == Scope::Local);
    });
    return all;
  });
  return all;
}

void ColumnPieces::narrow(Stmt &stmt, std::int64_t column, std::int64_t width) const {
  auto cut = [&](Region &region) {
    if (!isPieceOf(*region.buffer))
      region = columnsOf(region, column, width);
  };
  if (auto *copy = dynCast<CopyStmt>(&stmt)) {
    cut(copy->source);
    cut(copy->target);
  }
  auto *map = dynCast<MapStmt>(&stmt);
  if (!map)
    return;
  Expr inside = map->vars[1];
  map->extents[1] = inside.context().integer(map->extents[1].dtype(), width);
  substitute(map->body, {{inside, inside + column}});
  walk(map->body, [&](Stmt &inner) {
    forEachUse(inner, [&](const BufferUse &use) {
      if (isPieceOf(*use.buffer))
        use.element->indices.back() = inside;
    });
    return true;
  });
}

void ColumnPieces::add(Builder &b, std::int64_t column, std::int64_t width) const {
  Block piece;
  for (const StmtPtr &stmt : launch.body)
    if (stmt && covers(*stmt) && !isa<AllocStmt>(*stmt)) {
      Substitution renamed;
      piece.push_back(freshCopy(b.function, *stmt, renamed));
      narrow(*piece.back(), column, width);
    }
  auto own = [&](Buffer &tile) -> Buffer & {
    Context &context = b.context();
    std::vector<Expr> extents = tile.shape;
    extents.back() = context.integer(extents.back().dtype(), width);
    Buffer &part =
        b.function.addBuffer(tile.name + "_p", tile.dtype, tile.scope, extents, tile.range);
    for (StmtPtr &stmt : piece) {
      Block one;
      one.push_back(std::move(stmt));
      replaceBuffer(one, &tile, &part);
      stmt = std::move(one.front());
      auto whole = [&](Region &region) {
        if (region.buffer == &part)
          region = wholeRegion(context, part);
      };
      if (auto *copy = dynCast<CopyStmt>(stmt.get()))
        whole(copy->source), whole(copy->target);
      else if (auto *fill = dynCast<FillStmt>(stmt.get()))
        whole(fill->target);
    }
    b.alloc(part);
    return part;
  };
  Buffer &mine = own(sums);
  auto &take = b.add<CopyStmt>();
  take.source = wholeColumns(sums, column, width);
  take.target = wholeRegion(b.context(), mine);
  take.boundsKnown = true;
  for (Buffer *tile : order)
    own(*tile);
  for (StmtPtr &stmt : piece)
    b.add(std::move(stmt));
}

} // namespace tlc::passes
