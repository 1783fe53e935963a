#include "analysis/Uniformity.h"

#include "ir/Walk.h"

#include <algorithm>

namespace tlc::analysis {

using namespace ir;

Uniformity::Uniformity(const Launch &launch) {
  vary(launch.tid);
  for (Expr var : launch.threadVars)
    if (var)
      vary(var);
  // Loops carry values around, so run to a fixed point: both sets only grow.
  do {
    changed = false;
    visit(launch.body, false);
  } while (changed);
}

bool Uniformity::uniform(Expr e) const {
  if (!e)
    return true;
  if (e.isVar())
    return !varying.count(e.get());
  return std::all_of(e->operands.begin(), e->operands.end(), [&](Expr o) { return uniform(o); });
}

bool Uniformity::uniform(const Element &element) const {
  bool result = uniform(element.version);
  for (Expr index : element.indices)
    result = result && uniform(index);
  if (element.buffer->scope == Scope::Local || element.buffer->scope == Scope::Fragment)
    result = result && uniform(element.buffer);
  return result;
}

void Uniformity::vary(Expr var) { changed |= varying.insert(var.get()).second; }
void Uniformity::vary(const Buffer *buffer) {
  changed |= varyingBuffers.insert(buffer->storage()).second;
}

void Uniformity::visit(const Block &block, bool divergent) {
  for (const StmtPtr &stmt : block)
    visit(*stmt, divergent);
}

void Uniformity::visit(const Stmt &stmt, bool divergent) {
  bool operands = true;
  forEachExpr(stmt, [&](Expr e) { operands = operands && uniform(e); });
  switch (stmt.kind) {
  case StmtKind::Let:
    if (!operands)
      vary(cast<LetStmt>(stmt).var);
    return;
  case StmtKind::Load: {
    auto &load = cast<LoadStmt>(stmt);
    if (!operands || !uniform(load.source))
      vary(load.var);
    return;
  }
  case StmtKind::Store:
  case StmtKind::Alloc: {
    const Buffer *buffer =
        isa<StoreStmt>(stmt) ? cast<StoreStmt>(stmt).target.buffer : cast<AllocStmt>(stmt).buffer;
    if (buffer->scope == Scope::Local && (divergent || !operands))
      vary(buffer);
    return;
  }
  case StmtKind::Map: // a point runs in some thread: what it leaves in locals differs
    divergent = true;
    for (Expr var : cast<MapStmt>(stmt).vars)
      vary(var);
    break;
  case StmtKind::If:
    divergent = divergent || !uniform(cast<IfStmt>(stmt).condition);
    break;
  case StmtKind::Role:
    divergent = true;
    break;
  case StmtKind::For: {
    if (!operands) {
      vary(cast<ForStmt>(stmt).var);
      divergent = true;
    }
    break;
  }
  case StmtKind::While: // divergent where the condition differs; what decides it is in the
                        // condition block
    visit(cast<WhileStmt>(stmt).conditionBlock, divergent);
    divergent = divergent || !uniform(cast<WhileStmt>(stmt).condition);
    break;
  case StmtKind::Copy:
  case StmtKind::Fill:
  case StmtKind::Move:
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.buffer->scope == Scope::Local && use.access != Access::Read)
        if (divergent || !operands || isa<CopyStmt>(stmt) || isa<MoveStmt>(stmt))
          vary(use.buffer);
    });
    return;
  default: // calls, atomics, votes: results belong to the thread
    forEachDefinition(stmt, [&](Expr var) { vary(var); });
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.buffer->scope == Scope::Local && use.access != Access::Read)
        vary(use.buffer);
    });
    break;
  }
  forEachBlock(stmt, [&](const Block &inner) { visit(inner, divergent); });
}

} // namespace tlc::analysis
