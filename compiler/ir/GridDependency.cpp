#include "ir/GridDependency.h"

#include "ir/Walk.h"

namespace tlc::ir {

namespace {

bool isGridWait(const Stmt &stmt) {
  const auto *call = dynCast<CallStmt>(&stmt);
  return call && call->callee == gridWait;
}

} // namespace

bool waitsForGrid(const Launch &launch) {
  bool waits = false;
  walk(launch.body, [&](const Stmt &stmt) {
    waits |= isGridWait(stmt);
    return !waits;
  });
  return waits;
}

bool removeGridWaits(Block &block) {
  bool found = std::erase_if(block, [](const StmtPtr &stmt) { return isGridWait(*stmt); }) > 0;
  for (StmtPtr &stmt : block)
    forEachBlock(*stmt, [&](Block &inner) { found |= removeGridWaits(inner); });
  return found;
}

} // namespace tlc::ir
