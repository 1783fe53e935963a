#include "analysis/Collective.h"

#include "ir/Walk.h"

namespace tlc::analysis {

using namespace ir;

namespace {

bool ownedByThread(const Region &region) {
  return !region.buffer || region.buffer->scope == Scope::Local;
}

bool global(const Region &region) { return region.buffer && region.buffer->scope == Scope::Global; }

} // namespace

bool isPerThreadTileOp(const Stmt &stmt) {
  if (auto *copy = dynCast<CopyStmt>(&stmt)) {
    bool local =
        copy->source.buffer->scope == Scope::Local || copy->target.buffer->scope == Scope::Local;
    return local && (ownedByThread(copy->source) || global(copy->source)) &&
           (ownedByThread(copy->target) || global(copy->target));
  }
  if (auto *fill = dynCast<FillStmt>(&stmt))
    return fill->target.buffer->scope == Scope::Local;
  return false;
}

bool isCollectiveTileOp(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Copy:
  case StmtKind::Fill:
    return !isPerThreadTileOp(stmt);
  case StmtKind::Map:
  case StmtKind::Gemm:
  case StmtKind::Reduce:
  case StmtKind::Scan:
  case StmtKind::AtomicTile:
  case StmtKind::Convert:
    return true;
  case StmtKind::Reducer:
    return cast<ReducerStmt>(stmt).action != ReducerAction::Update;
  default:
    return false;
  }
}

bool isCollective(const Stmt &stmt) {
  if (auto *call = dynCast<CallStmt>(&stmt))
    return call->collective != Collective::Thread;
  return stmt.kind == StmtKind::Barrier || isCollectiveTileOp(stmt);
}

bool containsCollective(const Stmt &stmt) {
  if (isCollective(stmt))
    return true;
  bool found = false;
  forEachBlock(stmt, [&](const Block &block) { found = found || containsCollective(block); });
  return found;
}

bool containsCollective(const Block &block) {
  for (const StmtPtr &stmt : block)
    if (containsCollective(*stmt))
      return true;
  return false;
}

} // namespace tlc::analysis
