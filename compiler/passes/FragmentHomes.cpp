#include "passes/FragmentHomes.h"

#include "ir/Walk.h"

namespace tlc::passes {

using namespace ir;

std::optional<Layout> FragmentHome::columns(Index columns) const {
  Index all = layout.outputs.back().size;
  if (columns == all)
    return layout;
  if (grid.warpsN != 1 || columns % atom->n || all % columns)
    return std::nullopt;
  GemmGrid part = grid;
  part.perN = columns / atom->n;
  return accumulatorLayout(*atom, part);
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

void FragmentHomes::passOn(const Buffer &from, const Buffer &to) {
  const FragmentHome *home = of(&from);
  if (home && to.scope == Scope::Fragment && from.constantShape() == to.constantShape()) {
    FragmentHome same = *home;
    homes.try_emplace(&to, std::move(same));
  }
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
