#include "analysis/Uniformity.h"

#include <utility>

namespace tlc::analysis {

using namespace ir;

Uniformity::Uniformity(const Launch &launch) {
  for (Expr var : launch.threadVars)
    if (var)
      vars.insert(var.get());
  if (launch.tid)
    vars.insert(launch.tid.get());
  noteRoles(launch.body, nullptr);
  // Local variables carry values around loops, so what varies is found by repetition; it only
  // grows.
  do {
    changed = false;
    Control control;
    visit(launch.body, control);
  } while (changed);
}

/// What is stored in one role and read in another (or outside) is not the same in all its readers.
void Uniformity::noteRoles(const Block &block, const Stmt *role) {
  for (const StmtPtr &stmt : block) {
    forEachUse(std::as_const(*stmt), [&](const BufferUse &use) {
      const Buffer *buffer = use.buffer->storage();
      if (buffer->scope != Scope::Local)
        return;
      bool stores = static_cast<unsigned>(use.access) & 2;
      auto [first, isNew] = toucher.emplace(buffer, role);
      bool elsewhere = first->second != role;
      if (stores && role)
        writer.emplace(buffer, role);
      if (writer.count(buffer) && (elsewhere || writer[buffer] != role))
        buffers.insert(buffer);
      if (elsewhere)
        first->second = stmt.get(); // never again equal to a role
    });
    const Stmt *inner = stmt->kind == StmtKind::Role ? stmt.get() : role;
    forEachBlock(std::as_const(*stmt), [&](const Block &b) { noteRoles(b, inner); });
  }
}

bool Uniformity::uniform(Expr e) const {
  if (!e)
    return true;
  for (Expr var : variablesOf(e))
    if (vars.count(var.get()))
      return false;
  return true;
}

bool Uniformity::uniform(const Element &element) const {
  for (Expr index : element.indices)
    if (!uniform(index))
      return false;
  return uniform(element.version) && !buffers.count(element.buffer->storage());
}

const Stmt *Uniformity::cause(const Stmt &stmt) const {
  auto found = statements.find(&stmt);
  return found == statements.end() ? nullptr : found->second;
}

void Uniformity::markVar(Expr var) {
  if (var && vars.insert(var.get()).second)
    changed = true;
}

void Uniformity::markBuffer(const Buffer &buffer) {
  if (buffer.storage()->scope == Scope::Local && buffers.insert(buffer.storage()).second)
    changed = true;
}

void Uniformity::visit(const Block &block, Control &control) {
  for (const StmtPtr &stmt : block) {
    if (control.cause && statements.emplace(stmt.get(), control.cause).second)
      changed = true;
    visit(*stmt, control);
  }
}

void Uniformity::visitLoop(const Stmt &stmt, const Block &body, bool uniformTrips,
                           Control &control) {
  bool left = false;
  Control inner = control;
  inner.loopLeft = &left;
  if (!uniformTrips || leakyLoops.count(&stmt))
    inner.cause = &stmt;
  visit(body, inner);
  if (left && leakyLoops.insert(&stmt).second)
    changed = true;
}

void Uniformity::visit(const Stmt &stmt, Control &control) {
  visitMemory(stmt, control.cause != nullptr);
  switch (stmt.kind) {
  case StmtKind::Let: {
    const auto &let = cast<LetStmt>(stmt);
    if (!uniform(let.value))
      markVar(let.var);
    break;
  }
  case StmtKind::If: {
    const auto &branch = cast<IfStmt>(stmt);
    for (const Block *arm : {&branch.then, &branch.otherwise}) {
      Control inner = control;
      if (!inner.cause && !uniform(branch.condition))
        inner.cause = &stmt;
      visit(*arm, inner);
    }
    break;
  }
  case StmtKind::For: {
    const auto &loop = cast<ForStmt>(stmt);
    bool trips = uniform(loop.lo) && uniform(loop.hi) && uniform(loop.step);
    if (!trips || loop.kind == ForKind::Threads)
      markVar(loop.var);
    visitLoop(stmt, loop.body, trips, control);
    break;
  }
  case StmtKind::While: {
    const auto &loop = cast<WhileStmt>(stmt);
    visitLoop(stmt, loop.conditionBlock, uniform(loop.condition), control);
    visitLoop(stmt, loop.body, uniform(loop.condition), control);
    break;
  }
  case StmtKind::Map: {
    const auto &map = cast<MapStmt>(stmt);
    for (Expr var : map.vars)
      markVar(var);
    Control inner = control;
    inner.cause = &stmt;
    visit(map.body, inner);
    break;
  }
  case StmtKind::Role:
    visit(cast<RoleStmt>(stmt).body, control);
    break;
  case StmtKind::Break:
  case StmtKind::Continue:
    if (control.cause && control.loopLeft)
      *control.loopLeft = true;
    break;
  default:
    break;
  }
}

/// Variables and local memory that get values which differ between threads.
void Uniformity::visitMemory(const Stmt &stmt, bool divergent) {
  switch (stmt.kind) {
  case StmtKind::Load: {
    const auto &load = cast<LoadStmt>(stmt);
    if (!uniform(load.source) || !uniform(load.predicate) || !uniform(load.otherwise))
      markVar(load.var);
    break;
  }
  case StmtKind::Store: {
    const auto &store = cast<StoreStmt>(stmt);
    if (divergent || !uniform(store.value) || !uniform(store.predicate) || !uniform(store.target))
      markBuffer(*store.target.buffer);
    break;
  }
  case StmtKind::Move: {
    const auto &move = cast<MoveStmt>(stmt);
    if (divergent || !uniform(move.source) || !uniform(move.predicate) || !uniform(move.target))
      markBuffer(*move.target.buffer);
    break;
  }
  case StmtKind::Alloc: {
    const auto &alloc = cast<AllocStmt>(stmt);
    if (alloc.init && !uniform(alloc.init))
      markBuffer(*alloc.buffer);
    break;
  }
  case StmtKind::Atomic:
    markVar(cast<AtomicStmt>(stmt).result);
    break;
  case StmtKind::Call: {
    const auto &call = cast<CallStmt>(stmt);
    bool arguments = !call.args.empty(); // without any it asks the thread for something
    for (const Argument &argument : call.args)
      if (const auto *e = std::get_if<Expr>(&argument))
        arguments &= uniform(*e);
      else if (const auto *pointer = std::get_if<Pointer>(&argument))
        arguments &= uniform(pointer->element);
    bool same = arguments && !divergent && !call.isExtern && !call.hasEffect &&
                (call.collective == Collective::Block || call.collective == Collective::Thread);
    if (same)
      break;
    markVar(call.result);
    for (const Argument &argument : call.args)
      if (const auto *pointer = std::get_if<Pointer>(&argument))
        if (static_cast<unsigned>(pointer->access) & 2)
          markBuffer(*pointer->element.buffer);
    break;
  }
  case StmtKind::Barrier: {
    const auto &barrier = cast<BarrierStmt>(stmt);
    if (barrier.scope == BarrierScope::Warp || barrier.scope == BarrierScope::Named)
      markVar(barrier.result);
    break;
  }
  case StmtKind::Copy: {
    const auto &copy = cast<CopyStmt>(stmt);
    // A per-thread copy into local memory; which elements differ is not looked into.
    markBuffer(*copy.target.buffer);
    break;
  }
  default:
    break;
  }
}

} // namespace tlc::analysis
