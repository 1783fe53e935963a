// Which accesses must not go unordered, and where the barrier between two belongs: the part of
// SyncAnalysis that judges.
#include "ir/Fold.h"
#include "passes/sync/SyncAnalysis.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;
using analysis::Address;
using analysis::Interval;

namespace {

/// What the variable of a loop is in all rounds, if numbers say so; else anything.
Interval roundsOf(const ForStmt &loop) {
  auto lo = loop.lo.constant(), hi = loop.hi.constant();
  return lo && hi ? Interval{*lo, *hi - 1} : Interval();
}

bool byTensorMap(const Stmt &stmt) {
  const auto *call = dynCast<CallStmt>(&stmt);
  return call && usesTensorMap(*call);
}

/// A minimum or maximum in the expression; null if there is none.
Expr choiceIn(Expr e) {
  if (e.kind() == ExprKind::Binary &&
      (e->binaryOp() == BinaryOp::Min || e->binaryOp() == BinaryOp::Max))
    return e;
  for (Expr operand : e->operands)
    if (Expr found = choiceIn(operand))
      return found;
  return {};
}

Expr replaced(Expr e, Expr part, Expr by) {
  if (e == part)
    return by;
  llvm::SmallVector<Expr, 3> operands;
  for (Expr operand : e->operands)
    operands.push_back(replaced(operand, part, by));
  return e->operands.empty() ? e : rebuild(e, operands);
}

} // namespace

void SyncAnalysis::visitAccesses(const Stmt &stmt, State &state) {
  const std::vector<Address> &list = addresses(stmt);
  for (const Address &address : list)
    for (std::size_t i = 0; i < state.pending.size();) {
      if (!conflicts(state.pending[i], address)) {
        ++i;
        continue;
      }
      const Stmt *before = missing(state.pending[i], stmt);
      if (missed && !found)
        return;
      if (!before) {
        ++i;
        continue;
      }
      // Ordered from now on, and with it whatever else came before that point. (The next run starts
      // with the barrier in its place and finds what this one takes for granted too early.)
      state.pending.erase(state.pending.begin() + static_cast<std::ptrdiff_t>(i));
      const RoleStmt *role = points.at(before).role;
      std::erase_if(state.pending, [&](const Pending &entry) {
        return entry.flight == Flight::Done && (!role || entry.role == role) &&
               (before == &stmt || !contains(*before, *entry.origin));
      });
      i = 0;
    }
  for (const Address &address : list) {
    // What tensor maps write is complete when a barrier object says so; a barrier of threads would
    // not help.
    if (address.writes && byTensorMap(stmt))
      continue;
    Pending entry;
    entry.origin = &stmt;
    entry.flight = address.async ? Flight::Open : Flight::Done;
    entry.guards.assign(guards.begin(), guards.end());
    entry.role = roles.empty() ? nullptr : roles.back();
    entry.address = address;
    if (warpBarriers && address.async != AsyncKind::CpAsync) // whole tiles, not a warp's affair
      entry.warps = threads.byWarps(address, ranges);
    add(state, entry);
  }
}

bool SyncAnalysis::conflicts(const Pending &pending, const Address &address) {
  // Points of one elementwise op are independent, unless a loop around the op has brought it to its
  // next execution.
  std::uint32_t op = address.stmt->op;
  if (op && pending.address.stmt->op == op && (!pending.carriedBy || pending.carriedBy->op == op))
    return false;
  const RoleStmt *role = roles.empty() ? nullptr : roles.back();
  // One thread, or the thread that issues both: in its own order.
  if (role && pending.role == role && role->count == 1)
    return false;
  if (byTensorMap(*pending.address.stmt) && byTensorMap(*address.stmt))
    return false;
  // Between roles the program synchronises itself.
  if (pending.role && role && pending.role != role && !contains(*pending.role, *role) &&
      !contains(*role, *pending.role))
    return false;
  bool global = address.buffer->storage()->scope == Scope::Global;
  // Two stores to one element of a tensor: the order of threads is nobody's promise.
  if (global && !pending.address.reads && !address.reads)
    return false;
  if (!mayMeet(pending, address))
    return false;
  if (elsewhereEachTime(pending, address))
    return false;
  if (pending.flight != Flight::Done)
    return true;
  return !onlyOwn(pending, address) &&
         !(pending.inWarp && pending.address.buffer == address.buffer &&
           threads.onlyOwnWarp(threads.byWarps(address, ranges), pending.warps));
}

/// Whether only threads that come to a statement here have made a pending access: then what is
/// known of them here was true of them there.
bool SyncAnalysis::bySameThreads(const Pending &pending) const {
  if (pending.role != (roles.empty() ? nullptr : roles.back()))
    return false;
  return std::all_of(guards.begin(), guards.end(), [&](Expr guard) {
    return uniformity.uniform(guard) ||
           std::find(pending.guards.begin(), pending.guards.end(), guard) != pending.guards.end();
  });
}

/// Whether the two touch common elements only when one thread makes both: its own order is enough.
bool SyncAnalysis::onlyOwn(const Pending &pending, const Address &address) {
  // What is known where only some threads get to says nothing of where the others have been.
  if (!bySameThreads(pending))
    return threads.onlyOwn(pending.address, address, everywhere);
  if (threads.onlyOwn(pending.address, address, ranges))
    return true;
  if (!roles.empty() || uniformity.divergent(*address.stmt))
    return false;
  // A loop of one op is looked at in one round, so what happens in the others counts as well.
  Address before = pending.address, now = address;
  for (const LoopFrame &frame : loops)
    for (Address *each : {&before, &now})
      each->index = inAllRounds(*frame.loop, each->index);
  return threads.onlyOwnOfAll(before, now, ranges);
}

/// As analysis::mayMeet. Where a minimum or maximum chooses one of the versions, each side that it
/// can be when both happen is looked at by itself.
bool SyncAnalysis::mayMeet(const Pending &pending, const Address &address) {
  Expr before = pending.address.version, now = address.version;
  Expr choice;
  if (before && now && pending.address.buffer->storage() == address.buffer->storage()) {
    choice = choiceIn(now);
    if (!choice)
      choice = choiceIn(before);
  }
  if (!choice)
    return analysis::mayMeet(pending.address, address, ranges);
  if (!analysis::elementsMayMeet(pending.address, address))
    return false;
  analysis::Ranges::Scope both(ranges);
  for (Expr guard : pending.guards)
    ranges.assume(guard);
  Expr a = choice->operands[0], b = choice->operands[1];
  if (choice->binaryOp() == BinaryOp::Max)
    std::swap(a, b);
  for (bool first : {true, false}) { // a <= b, b < a
    Expr condition = first ? lessEqual(a, b) : lessThan(b, a);
    if (ranges.refutes(condition))
      continue;
    analysis::Ranges::Scope scope(ranges);
    ranges.assume(condition);
    Expr chosen = first ? choice->operands[0] : choice->operands[1];
    if (!ranges.differ(replaced(before, choice, chosen), replaced(now, choice, chosen)))
      return true;
  }
  return false;
}

/// Whether a statement touches other elements in each round of the loop between the two accesses,
/// which are both its own, or the same thread does.
bool SyncAnalysis::elsewhereEachTime(const Pending &pending, const Address &address) {
  if (!pending.carriedBy || pending.address.stmt != address.stmt ||
      pending.address.use != address.use || !address.index || !address.version ||
      !contains(*pending.carriedBy, *address.stmt))
    return false;
  std::vector<Expr> used;
  std::vector<analysis::ThreadAddresses::Rounds> rounds;
  collectVars(address.index, used);
  // What is known now is of one round, where the first ones are looked at one by one.
  const bool singly = std::any_of(loops.begin(), loops.end(), [&](const LoopFrame &frame) {
    return frame.singly && contains(*pending.carriedBy, *frame.loop);
  });
  Interval everyone{0, launch.threadCount() + launch.extraThreads - 1};
  bool inside = false;
  for (const Stmt *around : chain(*address.stmt)) {
    if (const auto *role = dynCast<RoleStmt>(around))
      everyone = {role->first, role->first + role->count - 1};
    inside |= around == pending.carriedBy;
    if (!inside)
      continue;
    if (around->kind == StmtKind::While)
      return false;
    if (const auto *loop = dynCast<ForStmt>(around))
      rounds.push_back({loop->var, singly ? roundsOf(*loop) : ranges.interval(loop->var)});
  }
  // What else is computed within the loops may be anything in the next round.
  const analysis::ExprSet &defined = definitions.at(pending.carriedBy);
  auto isLoop = [&](Expr var) {
    return std::any_of(rounds.begin(), rounds.end(), [&](const auto &r) { return r.var == var; });
  };
  for (Expr var : used)
    if (!isLoop(var) && defined.count(var.get()))
      return false;
  std::vector<Expr> versions;
  collectVars(address.version, versions);
  return std::none_of(versions.begin(), versions.end(),
                      [&](Expr var) { return isLoop(var) || defined.count(var.get()); }) &&
         threads.apartOver(address, rounds, singly ? everyone : ranges.interval(launch.tid),
                           ranges);
}

/// Finds the place of the barrier between a pending access and `stmt`: in the innermost block that
/// holds both (the body of the loop whose back-edge lies between them), in front of what holds
/// `stmt`; outside of divergent control.
const Stmt *SyncAnalysis::missing(const Pending &pending, const Stmt &stmt) {
  std::vector<const Stmt *> to = chain(stmt);
  std::size_t at = 0; // position in `to` of the statement to stand in front of
  if (pending.carriedBy && contains(*pending.carriedBy, stmt)) {
    while (to[at] != pending.carriedBy)
      ++at;
    ++at;
  } else {
    std::vector<const Stmt *> from = chain(*pending.origin);
    while (at + 1 < to.size() && at + 1 < from.size() && to[at] == from[at] &&
           places.at(to[at + 1]).block == places.at(from[at + 1]).block)
      ++at;
  }
  // Up to where all threads come.
  std::size_t wanted = at;
  while (at > 0 && uniformity.divergent(*to[at]))
    --at;
  const Stmt *before = to[at];
  bool between = wanted == at || !contains(*before, *pending.origin);
  if (pending.carriedBy && wanted != at)
    between = contains(*pending.carriedBy, *before) && pending.carriedBy != before;
  bool global = pending.address.buffer->storage()->scope == Scope::Global;
  if (!between || uniformity.divergent(*before)) {
    if (!global && found) // of global memory, as in any program of threads, the order is the user's
      unplaceable.push_back({pending.address.stmt, &stmt, uniformity.cause(stmt)});
    return nullptr;
  }
  missed = true;
  if (!found)
    return before;
  SyncPoint point;
  bool inFlight = pending.flight != Flight::Done;
  point.drain = inFlight && pending.address.async == AsyncKind::CpAsync;
  point.drainProducts = inFlight && pending.address.async == AsyncKind::Wgmma;
  for (const Stmt *outer : to) {
    if (outer == before)
      break;
    if (auto *role = dynCast<RoleStmt>(outer))
      point.role = role;
  }
  auto [entry, isNew] = points.emplace(before, point);
  SyncPoint &known = entry->second;
  if (isNew || (point.drain && !known.drain) || (point.drainProducts && !known.drainProducts))
    ++revision;
  if (isNew) {
    found->emplace_back(before, point);
  } else {
    known.drain |= point.drain;
    known.drainProducts |= point.drainProducts;
    for (auto &[where, listed] : *found)
      if (where == before)
        listed = known;
  }
  return before;
}

} // namespace tlc::passes
