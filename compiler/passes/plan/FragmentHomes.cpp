#include "passes/plan/FragmentHomes.h"

#include "ir/Walk.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

std::optional<FragmentHome> FragmentHome::columns(Index columns) const {
  Index all = layout.outputs.back().size;
  if (columns == all)
    return *this;
  if (grid.warpsN != 1 || columns % atom->n || all % columns)
    return std::nullopt;
  FragmentHome part{atom, grid, {}};
  part.grid.perN = columns / atom->n;
  part.layout = accumulatorLayout(*atom, part.grid);
  return part;
}

FragmentHomes::FragmentHomes(Launch &launch, const Target &target) : target(target) {
  visit(launch.body, target.collectiveThreads(launch.threadCount()));
}

const FragmentHome *FragmentHomes::of(const Buffer *fragment) const {
  auto found = homes.find(fragment);
  return found == homes.end() ? nullptr : &found->second;
}

void FragmentHomes::visit(Block &block, Index threads) {
  for (StmtPtr &stmt : block) {
    auto *role = dynCast<RoleStmt>(stmt.get());
    forEachBlock(*stmt, [&](Block &inner) {
      visit(inner, role ? target.collectiveThreads(role->count) : threads);
    });
    if (auto *gemm = dynCast<GemmStmt>(stmt.get()))
      made(*gemm, threads);
    else if (auto *copy = dynCast<CopyStmt>(stmt.get()))
      passedOn(*copy);
    else if (auto *map = dynCast<MapStmt>(stmt.get()))
      passedOn(*map);
  }
}

void FragmentHomes::made(const GemmStmt &gemm, Index threads) {
  auto shape = gemmShape(gemm);
  if (!gemm.atom || !shape || !gemm.c.wholeBuffer() || gemm.c.buffer->base)
    return;
  GemmGrid grid = gemmGrid(*gemm.atom, *shape, gemm.warpsM, gemm.warpsN, threads);
  homes.try_emplace(gemm.c.buffer,
                    FragmentHome{gemm.atom, grid, accumulatorLayout(*gemm.atom, grid)});
}

/// `to` is the tile of `from`, or its first columns.
void FragmentHomes::passOn(const Buffer &from, const Buffer &to) {
  const FragmentHome *home = of(&from);
  auto whole = from.constantShape(), part = to.constantShape();
  if (!home || to.scope != Scope::Fragment || !whole || !part || part->size() != whole->size() ||
      !std::equal(part->begin(), part->end() - 1, whole->begin()))
    return;
  if (auto same = home->columns(part->back()))
    homes.try_emplace(&to, std::move(*same));
}

void FragmentHomes::passedOn(const CopyStmt &copy) {
  if (copy.source.wholeBuffer() && copy.target.wholeBuffer())
    passOn(*copy.source.buffer, *copy.target.buffer);
}

/// What is computed element by element lies like its inputs.
void FragmentHomes::passedOn(const MapStmt &map) {
  std::vector<const Element *> read, written;
  walk(map.body, [&](const Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.element && use.buffer->scope == Scope::Fragment)
        (use.access == Access::Read ? read : written).push_back(use.element);
    });
    return true;
  });
  for (const Element *to : written)
    for (const Element *from : read)
      if (from->indices == to->indices)
        passOn(*from->buffer, *to->buffer);
}

} // namespace tlc::passes
