#include "passes/sync/SyncAnalysis.h"

#include "ir/Walk.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tlc::passes {

using namespace ir;
using analysis::Address;
using analysis::Interval;
using analysis::Ranges;

namespace {

/// Whether threads that wait elsewhere see what was done before.
bool isArrival(const Stmt &stmt) {
  const auto *mbar = dynCast<MbarStmt>(&stmt);
  const auto *barrier = dynCast<BarrierStmt>(&stmt);
  return (mbar && (mbar->op == MbarOp::Arrive || mbar->op == MbarOp::ArriveExpect)) ||
         (barrier && barrier->mode == BarrierMode::Arrive);
}

/// Whether the thread arrives when its copies are complete.
bool isCopyArrival(const Stmt &stmt) {
  const auto *mbar = dynCast<MbarStmt>(&stmt);
  return mbar && mbar->op == MbarOp::CpAsyncArrive;
}

} // namespace

SyncAnalysis::SyncAnalysis(Function &function, Launch &launch)
    : function(function), launch(launch), uniformity(launch), threads(launch, uniformity),
      ranges(function), everywhere(function) {
  ranges.enter(launch);
  everywhere.enter(launch);
  std::unordered_set<const Buffer *> read, written;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    if (const auto *wait = dynCast<AsyncStmt>(&stmt); wait && !wait->commit)
      oldest = std::max(oldest, wait->pending);
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.buffer->storage()->scope != Scope::Global || stmt.kind == StmtKind::Atomic)
        return;
      if (static_cast<unsigned>(use.access) & 1)
        read.insert(use.buffer->storage());
      if (static_cast<unsigned>(use.access) & 2)
        written.insert(use.buffer->storage());
    });
    return true;
  });
  for (const Buffer *buffer : written)
    if (read.count(buffer) || buffer->noRestrict)
      watchedGlobals.insert(buffer);
  for (const Buffer *buffer : read)
    if (buffer->noRestrict)
      watchedGlobals.insert(buffer);
  index(launch.body, nullptr);
}

SyncAnalysis::Summary SyncAnalysis::index(Block &block, const Stmt *parent) {
  Summary all;
  for (std::size_t i = 0; i < block.size(); ++i) {
    Stmt &stmt = *block[i];
    places[&stmt] = {parent, &block, i};
    if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::While) {
      analysis::ExprSet &set = definitions[&stmt];
      forEachBlock(std::as_const(stmt), [&](const Block &body) {
        walk(body, [&](const Stmt &inner) {
          forEachDefinition(inner, [&](Expr var) { set.insert(var.get()); });
          return true;
        });
      });
    }
    if (const auto *loop = dynCast<ForStmt>(&stmt); loop && loop->op)
      if (auto lo = loop->lo.constant(), hi = loop->hi.constant();
          lo && hi && (!loop->step || loop->step.isConstant(1))) {
        Expr var = function.context->var(loop->var->name, loop->var.dtype());
        everyRound[loop].var = var;
        threads.standsForAll({var, {*lo, *hi - 1}});
      }
    Summary own;
    forEachUse(std::as_const(stmt), [&](const BufferUse &use) {
      const Buffer *storage = use.buffer->storage();
      if (storage->scope != Scope::Shared && !watchedGlobals.count(storage))
        return;
      own.accesses = true;
      own.writes |= static_cast<unsigned>(use.access) & 2;
    });
    if (auto *call = dynCast<CallStmt>(&stmt))
      for (const Pointer &p : call->touches)
        described.insert(p.element.buffer->storage());
    if (auto *barrier = dynCast<BarrierStmt>(&stmt))
      warpBarriers |= barrier->scope == BarrierScope::Warp;
    own.async = stmt.kind == StmtKind::Async;
    own.synchronises = own.async || stmt.kind == StmtKind::Barrier ||
                       stmt.kind == StmtKind::Fence || isArrival(stmt) || isCopyArrival(stmt);
    own.jumps = stmt.kind == StmtKind::Break || stmt.kind == StmtKind::Continue ||
                stmt.kind == StmtKind::Exit;
    auto add = [](Summary &to, const Summary &more) {
      to.accesses |= more.accesses;
      to.writes |= more.writes;
      to.synchronises |= more.synchronises;
      to.jumps |= more.jumps;
      to.async |= more.async;
    };
    forEachBlock(stmt, [&](Block &inner) { add(own, index(inner, &stmt)); });
    summaries[&stmt] = own;
    add(all, own);
  }
  return all;
}

bool SyncAnalysis::hasPointInside(const Stmt &stmt) const {
  auto found = pointsInside.find(&stmt);
  return found != pointsInside.end() && found->second > 0;
}

void SyncAnalysis::countPoint(const Stmt &stmt, int more) {
  for (const Stmt *outer = places.at(&stmt).parent; outer; outer = places.at(outer).parent)
    pointsInside[outer] += more;
}

const std::vector<Address> &SyncAnalysis::addresses(const Stmt &stmt) {
  auto found = addressCache.find(&stmt);
  if (found == addressCache.end()) {
    std::vector<Address> list = analysis::addressesOf(stmt, ranges);
    std::erase_if(list, [&](const Address &address) {
      const Buffer *storage = address.buffer->storage();
      return storage->scope == Scope::Global && !watchedGlobals.count(storage);
    });
    return addressCache.emplace(&stmt, std::move(list)).first->second;
  }
  for (Address &address : found->second)
    if (address.index)
      address.elements = ranges.interval(address.index) +
                         Interval{0, std::max<std::int64_t>(address.count, 1) - 1};
  return found->second;
}

std::vector<const Stmt *> SyncAnalysis::chain(const Stmt &stmt) const {
  std::vector<const Stmt *> result;
  for (const Stmt *s = &stmt; s; s = places.at(s).parent)
    result.push_back(s);
  std::reverse(result.begin(), result.end());
  return result;
}

bool SyncAnalysis::contains(const Stmt &outer, const Stmt &inner) const {
  for (const Stmt *s = &inner; s; s = places.at(s).parent)
    if (s == &outer)
      return true;
  return false;
}

/// Before a whole run with these points.
void SyncAnalysis::start(const SyncPoints &given) {
  points.clear();
  pointsInside.clear();
  checkpoints.clear();
  for (auto &[stmt, point] : given) {
    points.emplace(stmt, point);
    countPoint(*stmt, 1);
  }
  for (std::size_t i = 0; i < launch.body.size(); ++i)
    if (points.count(launch.body[i].get()) || hasPointInside(*launch.body[i]))
      checkpoints[i] = State{false, {}};
  loops.clear();
  guards.clear();
  roles.clear();
  fences.clear();
  missed = false;
}

void SyncAnalysis::complete(SyncPoints &result) {
  // One run finds what is missing given what it found so far; a barrier noted late in the run may
  // change what happened before it, so it is repeated until a run finds nothing.
  for (int round = 0; round < 8; ++round) {
    std::size_t before = result.size();
    unplaceable.clear();
    start(result);
    found = &result;
    settled = resume(0, {}) && !missed;
    found = nullptr;
    if (result.size() == before)
      return;
  }
}

bool SyncAnalysis::sufficient(const SyncPoints &given) {
  if (!settled) {
    start(given);
    settled = resume(0, {});
  }
  return settled;
}

bool SyncAnalysis::superfluous(const Stmt &stmt) {
  settled = false;
  std::size_t first = places.at(chain(stmt).front()).index;
  auto removed = points.extract(&stmt);
  countPoint(stmt, -1);
  missed = false;
  if (resume(first, checkpoints.at(first)))
    return true;
  points.insert(std::move(removed));
  countPoint(stmt, 1);
  return false;
}

/// Runs from a statement of the launch's body to the end, or to a checkpoint that finds what it
/// found before: from there on everything is as it was. Checkpoints stay as they are if something
/// is missing.
bool SyncAnalysis::resume(std::size_t first, State state) {
  heads.clear();
  Ranges::Scope scope(ranges);
  for (std::size_t i = 0; i < first; ++i)
    learn(*launch.body[i]);
  std::vector<std::pair<std::size_t, State>> passed;
  for (std::size_t i = first; i < launch.body.size() && state.live; ++i) {
    if (auto known = checkpoints.find(i); known != checkpoints.end()) {
      if (i > first && known->second == state)
        break;
      passed.emplace_back(i, state);
    }
    step(*launch.body[i], state);
    if (missed && !found)
      return false;
  }
  for (auto &[i, found] : passed)
    checkpoints[i] = std::move(found);
  return true;
}

void SyncAnalysis::visit(const Block &block, State &state) {
  Ranges::Scope scope(ranges);
  for (const StmtPtr &stmt : block) {
    if (!state.live || (missed && !found))
      return;
    step(*stmt, state);
  }
}

void SyncAnalysis::step(const Stmt &stmt, State &state) {
  if (auto point = points.find(&stmt); point != points.end())
    applyPoint(point->second, stmt, state);
  visit(stmt, state);
  learn(stmt);
}

/// What holds behind the statement.
void SyncAnalysis::learn(const Stmt &stmt) {
  if (auto *let = dynCast<LetStmt>(&stmt))
    ranges.bind(*let);
  else if (auto *call = dynCast<CallStmt>(&stmt); call && call->callee == "warp_uniform")
    ranges.define(call->result, std::get<Expr>(call->args.front()));
  else if (auto *assumption = dynCast<AssumeStmt>(&stmt))
    ranges.assume(assumption->condition);
}

void SyncAnalysis::visit(const Stmt &stmt, State &state) {
  const Summary &summary = summaries.at(&stmt);
  if (!summary.accesses && !summary.synchronises && !summary.jumps && !hasPointInside(stmt))
    return;
  switch (stmt.kind) {
  case StmtKind::If:
    return visitIf(cast<IfStmt>(stmt), state);
  case StmtKind::For:
    return visitFor(cast<ForStmt>(stmt), state);
  case StmtKind::While:
    return visitWhile(cast<WhileStmt>(stmt), state);
  case StmtKind::Role:
    return visitRole(cast<RoleStmt>(stmt), state);
  case StmtKind::Break:
  case StmtKind::Continue:
    if (!loops.empty())
      (stmt.kind == StmtKind::Break ? loops.back().breaks : loops.back().continues)
          .push_back(state);
    state = {false, {}};
    return;
  case StmtKind::Exit:
    state = {false, {}};
    return;
  case StmtKind::Mbar:
    return handOver(stmt, state);
  case StmtKind::Barrier:
  case StmtKind::Async:
  case StmtKind::Fence:
    return visitSync(stmt, state);
  default:
    return visitAccesses(stmt, state);
  }
}

/// Forgets asynchronous copies that were started under a condition which is false where we are: on
/// this path they were not started.
void SyncAnalysis::dropImpossible(State &state) const {
  std::unordered_map<const ExprNode *, bool> known;
  auto impossible = [&](Expr guard) {
    auto [entry, isNew] = known.emplace(guard.get(), false);
    if (isNew)
      entry->second = ranges.refutes(guard);
    return entry->second;
  };
  std::erase_if(state.pending, [&](const Pending &entry) {
    return entry.flight != Flight::Done &&
           std::any_of(entry.guards.begin(), entry.guards.end(), impossible);
  });
}

void SyncAnalysis::visitIf(const IfStmt &stmt, State &state) {
  State result{false, {}};
  for (bool side : {true, false}) {
    Ranges::Scope scope(ranges);
    ranges.assume(stmt.condition, side);
    if (ranges.unreachable())
      continue;
    State arm = state;
    dropImpossible(arm);
    guards.push_back(side ? stmt.condition : logicalNot(stmt.condition));
    visit(side ? stmt.then : stmt.otherwise, arm);
    guards.pop_back();
    join(result, arm);
  }
  state = std::move(result);
}

void SyncAnalysis::visitRole(const RoleStmt &role, State &state) {
  State inside = state;
  {
    Ranges::Scope scope(ranges);
    ranges.bind(role);
    // Teams do the same with tiles of their own and at barriers of their own; of the first one
    // everything is known by numbers.
    ranges.bindTeam(role, 0);
    roles.push_back(&role);
    visit(role.body, inside);
    roles.pop_back();
  }
  // Other threads went past it.
  join(state, inside);
}

/// Union. Entries that differ in nothing but what is known about their index are merged.
void SyncAnalysis::join(State &into, const State &from) {
  if (!from.live)
    return;
  if (!into.live) {
    into = from;
    return;
  }
  for (const Pending &entry : from.pending)
    add(into, entry);
}

void SyncAnalysis::add(State &into, const Pending &entry) {
  std::size_t similar = 0;
  Pending *last = nullptr;
  for (Pending &other : into.pending) {
    if (other.address.stmt != entry.address.stmt || other.address.use != entry.address.use ||
        other.flight != entry.flight || other.age != entry.age || other.role != entry.role ||
        other.fenced != entry.fenced || other.inWarp != entry.inWarp)
      continue;
    if (other.address.index == entry.address.index &&
        other.address.version == entry.address.version && other.carriedBy == entry.carriedBy) {
      other.address.elements = hull(other.address.elements, entry.address.elements);
      other.warps = threads.either(other.warps, entry.warps);
      // Both ways lead here, so only conditions of both are known.
      llvm::erase_if(other.guards, [&](Expr guard) {
        return std::find(entry.guards.begin(), entry.guards.end(), guard) == entry.guards.end();
      });
      return;
    }
    ++similar;
    last = &other;
  }
  if (similar >= static_cast<std::size_t>(maxShifts)) { // too many: anything
    last->address.index = last->address.version = {};
    last->address.elements = hull(last->address.elements, entry.address.elements);
    last->guards.clear();
    last->warps = nullptr;
    if (!last->carriedBy || (entry.carriedBy && contains(*entry.carriedBy, *last->carriedBy)))
      last->carriedBy = entry.carriedBy;
    return;
  }
  into.pending.push_back(entry);
}

void SyncAnalysis::waitFor(AsyncKind kind, std::int64_t open, const Stmt &stmt, State &state) {
  for (Pending &entry : state.pending)
    if (entry.flight == Flight::Committed && entry.address.async == kind && entry.age >= open) {
      entry.flight = Flight::Done;
      entry.origin = &stmt;
      entry.carriedBy = nullptr;
      entry.guards.clear();
    }
}

void SyncAnalysis::visitSync(const Stmt &stmt, State &state) {
  if (const auto *async = dynCast<AsyncStmt>(&stmt)) {
    if (!async->commit)
      return waitFor(async->what, async->pending, stmt, state);
    for (Pending &entry : state.pending) {
      if (entry.address.async != async->what)
        continue;
      if (entry.flight == Flight::Committed)
        entry.age = std::min(entry.age + 1, oldest);
      else if (entry.flight == Flight::Open)
        entry.flight = Flight::Committed;
    }
    return;
  }
  if (const auto *fence = dynCast<FenceStmt>(&stmt)) {
    for (Pending &entry : state.pending)
      entry.fenced |= fence->what == FenceKind::ProxyAsync && entry.flight == Flight::Done;
    return;
  }
  const auto &barrier = cast<BarrierStmt>(stmt);
  if (barrier.scope == BarrierScope::Warp && barrier.mode == BarrierMode::Both && !barrier.mask)
    for (Pending &entry : state.pending)
      entry.inWarp |= entry.flight == Flight::Done;
  bool whole = barrier.mode == BarrierMode::Both &&
               (barrier.scope == BarrierScope::Block || barrier.scope == BarrierScope::Cluster ||
                barrier.scope == BarrierScope::Grid);
  // A named barrier orders the threads of the role around it.
  bool ofRole = barrier.mode == BarrierMode::Both && barrier.scope == BarrierScope::Named &&
                !roles.empty() && barrier.count && barrier.count.isConstant(roles.back()->count);
  if (whole || ofRole)
    order(whole ? nullptr : roles.back(), stmt, state);
  else
    handOver(stmt, state);
}

/// Another role gets what this one has written. When is the program's business; that it is seen by
/// reads by descriptor is ours.
void SyncAnalysis::handOver(const Stmt &stmt, State &state) {
  const RoleStmt *role = roles.empty() ? nullptr : roles.back();
  // Copies that arrive by themselves: whoever waits there knows when they are complete.
  if (isCopyArrival(stmt) && role)
    std::erase_if(state.pending, [&](const Pending &entry) {
      return entry.role == role && entry.address.async == AsyncKind::CpAsync &&
             entry.flight != Flight::Done;
    });
  if (!isArrival(stmt))
    return;
  for (Pending &entry : state.pending) {
    bool unseen = entry.flight == Flight::Done && entry.role == role && entry.address.writes &&
                  !entry.fenced && described.count(entry.address.buffer->storage());
    if (unseen)
      fences.insert(&stmt);
    entry.fenced |= unseen;
  }
}

/// A barrier of the role's threads, or of all, at the statement.
void SyncAnalysis::order(const RoleStmt *role, const Stmt &stmt, State &state) {
  std::erase_if(state.pending, [&](const Pending &entry) {
    if (entry.flight != Flight::Done || (role && entry.role != role))
      return false;
    if (entry.address.writes && !entry.fenced && described.count(entry.address.buffer->storage()))
      fences.insert(&stmt);
    return true;
  });
}

void SyncAnalysis::applyPoint(const SyncPoint &point, const Stmt &stmt, State &state) {
  if (point.drain) {
    for (Pending &entry : state.pending)
      if (entry.flight == Flight::Open && entry.address.async == AsyncKind::CpAsync)
        entry.flight = Flight::Committed;
    waitFor(AsyncKind::CpAsync, 0, stmt, state);
  }
  if (point.drainProducts)
    waitFor(AsyncKind::Wgmma, 0, stmt, state);
  order(point.role, stmt, state);
}

} // namespace tlc::passes
