// How pending accesses go around loops: the part of SyncAnalysis that repeats a body until its
// state settles.
#include "passes/sync/SyncAnalysis.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tlc::passes {

using namespace ir;
using analysis::Ranges;

namespace {

/// Rounds of a loop that are looked at.
constexpr int maxRounds = 24;

bool usesAny(Expr e, const analysis::ExprSet &vars) {
  const std::vector<Expr> &used = variablesOf(e);
  return std::any_of(used.begin(), used.end(), [&](Expr var) { return vars.count(var.get()); });
}

} // namespace

SyncAnalysis::State SyncAnalysis::runBody(const ForStmt &loop, State state, Expr exactly) {
  Ranges::Scope scope(ranges);
  ranges.bind(loop);
  loops.back().singly = bool(exactly);
  if (exactly)
    ranges.assume(equals(loop.var, exactly));
  if (ranges.unreachable())
    return {false, {}};
  std::size_t outerGuards = guards.size();
  visit(loop.body, state);
  guards.resize(outerGuards);
  for (State &jumped : loops.back().continues)
    join(state, jumped);
  loops.back().continues.clear();
  return state;
}

/// An expression of an iteration, seen from the next one; null if it cannot be followed there.
Expr SyncAnalysis::shifted(const ForStmt &loop, Expr e, bool follow) {
  if (!e)
    return e;
  Shifted &known = shifts[&loop];
  auto [entry, isNew] = (follow ? known.followed : known.forgotten).try_emplace(e.get());
  if (!isNew)
    return entry->second;
  // What is bound in the loop has another value in another iteration.
  if (usesAny(e, definitions.at(&loop)) || (!follow && uses(e, loop.var)))
    return {};
  Expr step = loop.step ? loop.step : function.context->integer(loop.var.dtype(), 1);
  return entry->second = substitute(e, {{loop.var, loop.var - step}});
}

/// The state at the end of an iteration, seen from the start of the next one.
void SyncAnalysis::shift(const ForStmt &loop, State &state) {
  for (Pending &entry : state.pending) {
    bool ours = contains(loop, *entry.address.stmt);
    if (ours) {
      // What a loop around has carried is still from one of its other rounds.
      if (!entry.carriedBy || !contains(*entry.carriedBy, loop))
        entry.carriedBy = &loop;
      ++entry.shifts;
    }
    bool follow = entry.shifts < (entry.flight == Flight::Done ? 2 : maxShifts);
    entry.address.index = shifted(loop, entry.address.index, follow);
    entry.address.version = shifted(loop, entry.address.version, follow);
    for (Expr &guard : entry.guards)
      guard = shifted(loop, guard, follow);
    llvm::erase_if(entry.guards, [](Expr guard) { return !guard; });
  }
}

/// An index in a round of a loop as one that stands for all rounds; as it is if that cannot be
/// said.
Expr SyncAnalysis::inAllRounds(const Stmt &loop, Expr index) {
  auto found = everyRound.find(&loop);
  if (found == everyRound.end() || !index)
    return index;
  auto [entry, isNew] = found->second.indices.try_emplace(index.get(), index);
  if (isNew)
    entry->second = substitute(index, {{cast<ForStmt>(loop).var, found->second.var}});
  return entry->second;
}

/// The state behind a loop: its variables are gone.
void SyncAnalysis::forget(const Stmt &loop, Expr var, State &state) {
  const analysis::ExprSet &inside = definitions.at(&loop);
  auto gone = [&](Expr e) { return e && (usesAny(e, inside) || (var && uses(e, var))); };
  for (Pending &entry : state.pending) {
    entry.address.index = inAllRounds(loop, entry.address.index);
    if (gone(entry.address.index))
      entry.address.index = {};
    if (gone(entry.address.version))
      entry.address.version = {};
    llvm::erase_if(entry.guards, gone);
    if (entry.carriedBy == &loop)
      entry.carriedBy = nullptr;
    entry.shifts = 0;
  }
}

/// Where a loop around comes to the loop again, with more than before, the rounds begin with what
/// they ended with then: they would only find it again, twice as often at each depth. Whether it is
/// so.
bool SyncAnalysis::continues(const Stmt &loop, State &head) {
  auto before = heads.find(&loop);
  if (before == heads.end() || before->second.known != ranges.known() ||
      before->second.revision != revision || !head.live)
    return false;
  join(head, before->second.head);
  return true;
}

/// Keeps what the rounds of a loop ended with; a barrier found since the revision `before` would
/// have ended some of it.
void SyncAnalysis::note(const Stmt &loop, const State &head, unsigned before) {
  if (loops.size() > 1 && head.live && revision == before)
    heads.insert_or_assign(&loop, Settled{ranges.known(), revision, head});
}

/// Joins what round `number` leaves to the state at the loop's head. Whether more rounds would add
/// nothing; if there is no end of it, the last round meets entries that stand for anything.
bool SyncAnalysis::settles(State &head, const State &after, int number) {
  std::size_t before = head.pending.size();
  join(head, after);
  if (number + 2 == maxRounds)
    for (Pending &entry : head.pending) {
      entry.address.index = entry.address.version = {};
      entry.address.elements = {};
      entry.guards.clear();
    }
  return number > 0 && head.pending.size() == before;
}

/// The state behind the innermost loop, from that of its rounds' ends.
SyncAnalysis::State SyncAnalysis::leave(const Stmt &loop, Expr var, State exits) {
  for (State &left : loops.back().breaks)
    join(exits, left);
  loops.pop_back();
  forget(loop, var, exits);
  return exits;
}

void SyncAnalysis::visitFor(const ForStmt &loop, State &state) {
  unsigned before = revision;
  loops.push_back({&loop, {}, {}, false});
  if (loop.op) { // its rounds touch different elements: one stands for all
    State after = runBody(loop, state, {});
    if (!ranges.less(loop.lo, loop.hi))
      join(after, state);
    state = leave(loop, loop.var, std::move(after));
    return;
  }
  State exits{false, {}};
  Expr step = loop.step ? loop.step : function.context->integer(loop.var.dtype(), 1);
  auto end = [&](State after, Expr exactly) {
    if (!after.live)
      return;
    Ranges::Scope scope(ranges);
    ranges.bind(loop);
    if (exactly)
      ranges.assume(equals(loop.var, exactly));
    ranges.assume(lessEqual(loop.hi, loop.var + step));
    if (ranges.unreachable())
      return;
    dropImpossible(after); // what needed another iteration did not happen in the last one
    join(exits, after);
  };
  if (!ranges.less(loop.lo, loop.hi)) {
    Ranges::Scope scope(ranges);
    ranges.assume(lessEqual(loop.hi, loop.lo));
    State skipped = state;
    dropImpossible(skipped);
    join(exits, skipped);
  }
  State head = state;
  // What was done before the loop is in slots with fixed numbers: the first iterations of a
  // pipelined loop are looked at one by one, as many as there are slots, while any of it is left.
  int exact = 0;
  const Summary &summary = summaries.at(&loop);
  if (summary.async)
    for (const Pending &entry : state.pending)
      if (std::int64_t slots = entry.address.buffer->storage()->versions; slots > 1)
        exact = std::max(exact, static_cast<int>(std::min<std::int64_t>(slots, maxShifts)) + 1);
  auto fromBefore = [&](const Pending &entry) {
    return entry.address.buffer->storage()->versions > 1 && !contains(loop, *entry.origin);
  };
  for (int i = 0;
       i < exact && head.live && std::any_of(head.pending.begin(), head.pending.end(), fromBefore);
       ++i) {
    Expr value = loop.lo + function.context->integer(loop.var.dtype(), i) * step;
    head = runBody(loop, std::move(head), value);
    end(head, value);
    shift(loop, head);
  }
  // Then any iteration, until the state settles. Reads alone do not get into each other's way.
  bool once = !summary.writes && !summary.synchronises && !hasPointInside(loop);
  int round = !once && continues(loop, head) ? 1 : 0;
  for (; round < maxRounds && head.live && !(missed && !found); ++round) {
    State after = runBody(loop, head, {});
    end(after, {});
    if (once)
      break;
    shift(loop, after);
    if (settles(head, after, round))
      break;
  }
  note(loop, head, before);
  state = leave(loop, loop.var, std::move(exits));
}

void SyncAnalysis::visitWhile(const WhileStmt &loop, State &state) {
  unsigned before = revision;
  loops.push_back({&loop, {}, {}, false});
  State head = state, exits{false, {}};
  int round = continues(loop, head) ? 1 : 0;
  for (; round < maxRounds && head.live && !(missed && !found); ++round) {
    State after = head;
    visit(loop.conditionBlock, after);
    join(exits, after);
    if (after.live) {
      Ranges::Scope scope(ranges);
      ranges.assume(loop.condition);
      visit(loop.body, after);
    }
    for (State &jumped : loops.back().continues)
      join(after, jumped);
    loops.back().continues.clear();
    // Nothing names the round, so nothing is known about the one before.
    for (Pending &entry : after.pending)
      if (contains(loop, *entry.address.stmt))
        entry.carriedBy = &loop;
    State moved = after;
    const analysis::ExprSet &inside = definitions.at(&loop);
    for (Pending &entry : moved.pending) {
      if (entry.address.index && usesAny(entry.address.index, inside))
        entry.address.index = {};
      if (entry.address.version && usesAny(entry.address.version, inside))
        entry.address.version = {};
      llvm::erase_if(entry.guards, [&](Expr guard) { return usesAny(guard, inside); });
    }
    if (settles(head, moved, round))
      break;
  }
  note(loop, head, before);
  state = leave(loop, {}, std::move(exits));
}

} // namespace tlc::passes
