#include "analysis/Effects.h"

#include <algorithm>

namespace tlc::analysis {

using namespace ir;

namespace {

void addVars(Expr e, ExprSet &set) {
  std::vector<Expr> vars;
  collectVars(e, vars);
  for (Expr var : vars)
    set.insert(var.get());
}

/// What a statement itself ties to its place, apart from its memory.
void addTies(const Stmt &stmt, Effects &effects) {
  switch (stmt.kind) {
  case StmtKind::Barrier:
  case StmtKind::Mbar:
  case StmtKind::Async:
  case StmtKind::Fence:
    effects.synchronises = true;
    break;
  case StmtKind::Print:
  case StmtKind::Assert:
  case StmtKind::Source:
    effects.opaque = true;
    break;
  case StmtKind::Call: {
    const auto &call = cast<CallStmt>(stmt);
    effects.opaque |= call.hasEffect;
    break;
  }
  case StmtKind::Break:
    effects.breaks = true;
    break;
  case StmtKind::Continue:
    effects.continues = true;
    break;
  case StmtKind::Exit:
    effects.exits = true;
    break;
  default:
    break;
  }
}

void collect(const Stmt &stmt, Effects &effects) {
  forEachExpr(stmt, [&](Expr e) { addVars(e, effects.uses); });
  forEachDefinition(stmt, [&](Expr e) { effects.defines.insert(e.get()); });
  const auto *call = dynCast<CallStmt>(&stmt);
  forEachUse(stmt, [&](const BufferUse &use) {
    MemoryAccess access;
    access.stmt = &stmt;
    access.use = use;
    access.atomic = stmt.kind == StmtKind::Atomic || stmt.kind == StmtKind::AtomicTile;
    // A user's function may do what it likes with the pointers that it gets.
    access.whole = (!use.element && !use.region) || (call && call->isExtern);
    effects.memory.push_back(access);
  });
  if (const auto *alloc = dynCast<AllocStmt>(&stmt)) {
    // Contents are undefined from here on, so nothing may be moved across it.
    MemoryAccess access;
    access.stmt = &stmt;
    access.use = {alloc->buffer, Access::Write, nullptr, nullptr, nullptr, nullptr};
    access.whole = true;
    effects.memory.push_back(access);
  }
  addTies(stmt, effects);
  // break and continue belong to the innermost loop.
  bool breaks = effects.breaks, continues = effects.continues;
  forEachBlock(stmt, [&](const Block &block) {
    for (const StmtPtr &inner : block)
      collect(*inner, effects);
  });
  if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::While) {
    effects.breaks = breaks;
    effects.continues = continues;
  }
}

} // namespace

bool Effects::readsStorage(const Buffer *storage) const {
  return std::any_of(memory.begin(), memory.end(), [&](const MemoryAccess &access) {
    return access.reads() && access.storage() == storage;
  });
}

bool Effects::writesStorage(const Buffer *storage) const {
  return std::any_of(memory.begin(), memory.end(), [&](const MemoryAccess &access) {
    return access.writes() && access.storage() == storage;
  });
}

Effects effectsOf(const Stmt &stmt) {
  Effects effects;
  collect(stmt, effects);
  for (const ExprNode *var : effects.defines)
    effects.uses.erase(var);
  return effects;
}

Effects effectsOf(const Block &block) {
  Effects effects;
  for (const StmtPtr &stmt : block)
    collect(*stmt, effects);
  for (const ExprNode *var : effects.defines)
    effects.uses.erase(var);
  return effects;
}

void addEffects(Effects &to, const Effects &more) {
  to.memory.insert(to.memory.end(), more.memory.begin(), more.memory.end());
  to.uses.insert(more.uses.begin(), more.uses.end());
  to.defines.insert(more.defines.begin(), more.defines.end());
  to.synchronises |= more.synchronises;
  to.opaque |= more.opaque;
  to.breaks |= more.breaks;
  to.continues |= more.continues;
  to.exits |= more.exits;
}

bool mayAlias(const Buffer &a, const Buffer &b) {
  const Buffer *x = a.storage(), *y = b.storage();
  if (x == y)
    return true;
  return x->scope == Scope::Global && y->scope == Scope::Global && x->noRestrict && y->noRestrict;
}

Clash clashBetween(const Effects &earlier, const Effects &later) {
  for (const MemoryAccess &a : earlier.memory)
    for (const MemoryAccess &b : later.memory) {
      if ((!a.writes() && !b.writes()) || !mayAlias(*a.use.buffer, *b.use.buffer))
        continue;
      return {&a, &b, {}};
    }
  for (const ExprNode *var : earlier.defines)
    if (later.uses.count(var))
      return {nullptr, nullptr, Expr(var)};
  return {};
}

Order orderBetween(const Effects &earlier, const Effects &later) {
  Order order = Order::None;
  for (const MemoryAccess &a : earlier.memory)
    for (const MemoryAccess &b : later.memory) {
      if ((!a.writes() && !b.writes()) || !mayAlias(*a.use.buffer, *b.use.buffer))
        continue;
      if (a.writes() && b.reads())
        order = order | Order::Flow;
      if (a.reads() && b.writes())
        order = order | Order::Anti;
      if (a.writes() && b.writes())
        order = order | Order::Output;
    }
  for (const ExprNode *var : earlier.defines)
    if (later.uses.count(var))
      order = order | Order::Flow;
  auto touches = [](const Effects &e) { return !e.memory.empty() || e.opaque || e.synchronises; };
  auto leaves = [](const Effects &e) { return e.breaks || e.continues || e.exits; };
  if ((earlier.synchronises && touches(later)) || (later.synchronises && touches(earlier)) ||
      (earlier.opaque && touches(later)) || (later.opaque && touches(earlier)) ||
      (leaves(earlier) && (touches(later) || leaves(later))) || (leaves(later) && touches(earlier)))
    order = order | Order::Control;
  return order;
}

} // namespace tlc::analysis
