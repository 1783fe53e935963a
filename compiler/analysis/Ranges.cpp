#include "analysis/Ranges.h"

#include "ir/Walk.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::analysis {

using namespace ir;
using Kind = States::Operation::Kind;

namespace {

Interval dtypeInterval(DType dtype) {
  if (dtype.isFloat())
    return {};
  std::int64_t lo = minInteger(dtype), hi = maxInteger(dtype);
  return {lo, hi}; // the extremes of int64 are the infinities, which is what is meant
}

/// x % c == r.
bool isDivisibility(Expr e) {
  if (e.kind() != ExprKind::Binary || e->binaryOp() != BinaryOp::Eq || !e->operands[1].isInt())
    return false;
  Expr a = e->operands[0];
  return a.kind() == ExprKind::Binary && a->binaryOp() == BinaryOp::FloorMod &&
         a->operands[1].isInt() && a->operands[1]->integer > 1;
}

Expr negated(Expr condition) {
  Context &context = condition.context();
  if (condition.kind() == ExprKind::Binary) {
    Expr a = condition->operands[0], b = condition->operands[1];
    bool isFloat = a.dtype().isFloat();
    switch (condition->binaryOp()) {
    case BinaryOp::LogicalAnd:
      return logicalOr(negated(a), negated(b));
    case BinaryOp::LogicalOr:
      return logicalAnd(negated(a), negated(b));
    case BinaryOp::Eq:
      return context.binary(BinaryOp::Ne, a, b);
    case BinaryOp::Ne:
      return context.binary(BinaryOp::Eq, a, b);
    case BinaryOp::Lt:
      return isFloat ? logicalNot(condition) : context.binary(BinaryOp::Le, b, a);
    case BinaryOp::Le:
      return isFloat ? logicalNot(condition) : context.binary(BinaryOp::Lt, b, a);
    case BinaryOp::Gt:
      return isFloat ? logicalNot(condition) : context.binary(BinaryOp::Le, a, b);
    case BinaryOp::Ge:
      return isFloat ? logicalNot(condition) : context.binary(BinaryOp::Lt, a, b);
    default:
      break;
    }
  }
  return logicalNot(condition);
}

} // namespace

Ranges::Scope::Scope(Ranges &ranges)
    : ranges(ranges), facts(ranges.facts.size()), undo(ranges.undoLog.size()),
      known(ranges.states.current()), values(ranges.values) {}

Ranges::Scope::~Scope() {
  for (; ranges.facts.size() > facts; ranges.facts.pop_back())
    for (Expr atom : ranges.facts.back().atoms())
      ranges.factsOfAtom[atom.get()].pop_back();
  while (ranges.undoLog.size() > undo) {
    Undo &entry = ranges.undoLog.back();
    const ExprNode *key = entry.var.get();
    auto restore = [&](auto &map, auto &old) {
      if (old)
        map[key] = *old;
      else
        map.erase(key);
    };
    switch (entry.what) {
    case Undo::What::Interval:
      restore(ranges.intervals, entry.interval);
      break;
    case Undo::What::Congruence:
      restore(ranges.congruences, entry.congruence);
      break;
    case Undo::What::Split:
      restore(ranges.splits, entry.congruence);
      break;
    case Undo::What::Contradiction:
      ranges.contradiction = false;
      break;
    }
    ranges.undoLog.pop_back();
  }
  ranges.states.restore(known);
  ranges.values = values;
}

void Ranges::valuesChanged() {
  states.changed();
  values = states.current();
}

void Ranges::contradict() {
  if (contradiction)
    return;
  undoLog.push_back({Undo::What::Contradiction, {}, {}, {}});
  contradiction = true;
  states.changed();
}

Ranges::Ranges(const Function &function) {
  for (const Dim &dim : function.dims)
    refine(dim.var, Interval{0, Interval::infinity});
  for (const LaunchConstant &constant : function.launchConstants)
    if (constant.what == LaunchConstant::What::MultiprocessorCount)
      refine(constant.var, Interval{1, Interval::infinity});
    else if (constant.what == LaunchConstant::What::WorkspaceBytes)
      refine(constant.var, Interval{0, Interval::infinity});
  // Divisibility decides which atoms stand for a dim, so it comes before the inequalities.
  for (const Constraint &constraint : function.constraints)
    if (isDivisibility(constraint.condition))
      assume(constraint.condition);
  for (const Constraint &constraint : function.constraints)
    assume(constraint.condition);
}

void Ranges::enter(const Launch &launch) {
  valuesChanged(); // roles inside depend on which launch it is
  for (std::size_t d = 0; d < launch.blockVars.size(); ++d) {
    Expr var = launch.blockVars[d];
    Interval extent = interval(launch.grid[d]);
    refine(var, Interval{0, extent.hi == Interval::infinity ? extent.hi : extent.hi - 1});
    addFact(poly(launch.grid[d]) - poly(var) - 1);
  }
  bool isLinear = launch.threads[1] == 1 && launch.threads[2] == 1;
  for (unsigned d = 0; d < 3; ++d) {
    // Extra threads follow along the first dimension.
    std::int64_t extra = d == 0 && isLinear ? launch.extraThreads : 0;
    if (launch.threadVars[d])
      refine(launch.threadVars[d], Interval{0, launch.threads[d] + extra - 1});
  }
  linearThread.clear();
  if (launch.tid) {
    refine(launch.tid, Interval{0, launch.threadCount() + launch.extraThreads - 1});
    linearThread.push_back(launch.tid);
  }
  if (launch.threadVars[0] && isLinear)
    linearThread.push_back(launch.threadVars[0]);
}

void Ranges::bind(const RoleStmt &role) {
  States::Change change(states, {Kind::Role, {role.team.get()}, {role.first, role.threads()}});
  for (Expr var : linearThread) {
    // The range known so far is the enclosing role's.
    std::int64_t first = interval(var).lo + role.first;
    refine(var, Interval{first, first + role.threads() - 1});
  }
  if (role.team)
    refine(role.team, Interval{0, role.teams - 1});
}

void Ranges::bindTeam(const RoleStmt &role, std::int64_t team) {
  if (!role.team)
    return;
  States::Change change(states, {Kind::Team, {role.team.get()}, {role.count, team}});
  for (Expr var : linearThread) {
    std::int64_t first = interval(var).lo + team * role.count;
    refine(var, Interval{first, first + role.count - 1});
  }
  refine(role.team, Interval{team, team});
}

void Ranges::bind(const ForStmt &loop) {
  States::Change change(
      states, {Kind::Loop, {loop.var.get(), loop.lo.get(), loop.hi.get(), loop.step.get()}, {}});
  Interval lo = interval(loop.lo), hi = interval(loop.hi);
  Congruence step =
      loop.step ? congruence(loop.step) : Congruence::constant(1); // null: as if it were 1
  std::int64_t stride = step.modulus == 0 && step.remainder > 0 ? step.remainder : 1;
  if (loop.step && interval(loop.step).hi < 0) { // downwards: lo >= var > hi
    refine(loop.var, Interval{hi.lo == Interval::minusInfinity ? hi.lo : hi.lo + 1, lo.hi});
    addFact(poly(loop.lo) - poly(loop.var));
    addFact(poly(loop.var) - poly(loop.hi) - 1);
    return;
  }
  if (loop.step && interval(loop.step).lo <= 0)
    return;
  Congruence start = congruence(loop.lo);
  // The variable is lo + i * step.
  refine(loop.var, start + Congruence{stride, 0});
  refine(loop.var, Interval{lo.lo, hi.hi == Interval::infinity ? hi.hi : hi.hi - 1});
  Poly var = poly(loop.var), first = poly(loop.lo), end = poly(loop.hi);
  addFact(var - first);
  // Where the step divides the distance, the last value is a whole step below the end.
  bool whole = congruence(end - first).divisibleBy(stride);
  addFact(end - var - (whole ? stride : 1));
}

void Ranges::bind(const MapStmt &map) {
  for (std::size_t d = 0; d < map.vars.size(); ++d) {
    States::Change change(states, {Kind::Map, {map.vars[d].get(), map.extents[d].get()}, {}});
    Interval extent = interval(map.extents[d]);
    refine(map.vars[d], Interval{0, extent.hi == Interval::infinity ? extent.hi : extent.hi - 1});
    addFact(poly(map.extents[d]) - poly(map.vars[d]) - 1);
  }
}

void Ranges::bind(const LetStmt &let) { define(let.var, let.value); }

void Ranges::bindVar(Expr var, Interval values) {
  States::Change change(states, {Kind::Variable, {var.get()}, {values.lo, values.hi}});
  refine(var, values);
}

void Ranges::define(Expr var, Expr value) {
  auto [entry, isNew] = definitions.emplace(var.get(), value);
  TLC_CHECK(isNew || entry->second == value, "a variable with two definitions");
}

Expr Ranges::definition(Expr var) const {
  auto found = definitions.find(var.get());
  return found == definitions.end() ? Expr() : found->second;
}

void Ranges::refine(Expr var, Interval values) {
  Interval known = interval(var);
  values = intersect(known, values);
  if (values == known)
    return;
  if (values.empty())
    return contradict();
  auto found = intervals.find(var.get());
  undoLog.push_back({Undo::What::Interval,
                     var,
                     found == intervals.end() ? std::nullopt : std::optional(found->second),
                     {}});
  intervals[var.get()] = values;
  valuesChanged();
}

void Ranges::refine(Expr var, Congruence values) {
  if (values.modulus == 1)
    return;
  auto found = congruences.find(var.get());
  Congruence known = found == congruences.end() ? Congruence{} : found->second;
  Congruence both = meet(known, values);
  if (both == known)
    return;
  undoLog.push_back({Undo::What::Congruence,
                     var,
                     {},
                     found == congruences.end() ? std::nullopt : std::optional(known)});
  congruences[var.get()] = both;
  // The variable becomes modulus * (var // modulus) + remainder in polynomials, unless older facts
  // speak of it as a whole.
  bool mentioned = std::any_of(facts.begin(), facts.end(), [&](const Poly &fact) {
    auto atoms = fact.atoms();
    return std::any_of(atoms.begin(), atoms.end(), [&](Expr atom) { return uses(atom, var); });
  });
  if (!mentioned && var.isVar() && both.modulus > 1 && !definition(var)) {
    auto old = splits.find(var.get());
    undoLog.push_back({Undo::What::Split,
                       var,
                       {},
                       old == splits.end() ? std::nullopt : std::optional(old->second)});
    splits[var.get()] = both;
  }
  valuesChanged();
}

void Ranges::store(Poly fact) {
  for (Expr atom : fact.atoms())
    factsOfAtom[atom.get()].push_back(facts.size());
  facts.push_back(std::move(fact));
  states.changed();
}

void Ranges::addFact(const Poly &fact) {
  if (!fact.valid)
    return;
  if (fact.isConstant()) {
    if (fact.constant < 0)
      contradict();
    return;
  }
  // A bound on x // d is one on x: x // d >= r is x >= d r, and x // d <= r is x <= d r + d - 1.
  std::vector<Poly> derived;
  for (const auto &[monomial, coefficient] : fact.terms) {
    if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1))
      continue;
    Expr quotient = monomial.front();
    if (quotient.kind() != ExprKind::Binary || quotient->binaryOp() != BinaryOp::FloorDiv ||
        !quotient->operands[1].isInt() || quotient->operands[1]->integer <= 0)
      continue;
    std::int64_t d = quotient->operands[1]->integer;
    Poly x = poly(quotient->operands[0]);
    Poly rest = fact - Poly::atom(quotient) * Poly(coefficient);
    derived.push_back(coefficient == 1 ? x + rest * Poly(d) : rest * Poly(d) + (d - 1) - x);
  }
  store(fact);
  for (Poly &more : derived)
    if (more.valid && !more.isConstant())
      store(std::move(more));
}

void Ranges::assume(Expr condition, bool holds) {
  if (!holds)
    condition = negated(condition);
  if (condition.isTrue())
    return;
  States::Change change(states, {Kind::Assume, {condition.get()}, {}});
  if (condition.isFalse())
    return contradict();
  if (condition.isVar()) {
    if (Expr value = definition(condition))
      assume(value);
    return;
  }
  if (condition.kind() == ExprKind::Unary && condition->unaryOp() == UnaryOp::Not) {
    Expr inner = condition->operands[0];
    if (inner.isVar())
      if (Expr value = definition(inner))
        assume(value, false);
    return;
  }
  if (condition.kind() != ExprKind::Binary)
    return;
  Expr a = condition->operands[0], b = condition->operands[1];
  if (condition->binaryOp() == BinaryOp::LogicalAnd) {
    assume(a);
    assume(b);
  } else if (isComparison(condition->binaryOp()) && !a.dtype().isFloat() && !a.dtype().isVector()) {
    assumeComparison(condition->binaryOp(), a, b);
  }
}

void Ranges::assumeComparison(BinaryOp op, Expr a, Expr b) {
  auto below = [](std::int64_t x) { return x == Interval::infinity ? x : x - 1; };
  auto above = [](std::int64_t x) { return x == Interval::minusInfinity ? x : x + 1; };
  switch (op) {
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return assumeComparison(op == BinaryOp::Gt ? BinaryOp::Lt : BinaryOp::Le, b, a);
  case BinaryOp::Lt:
  case BinaryOp::Le: {
    bool strict = op == BinaryOp::Lt;
    if (a.isVar())
      refine(a, Interval{Interval::minusInfinity, strict ? below(interval(b).hi) : interval(b).hi});
    if (b.isVar())
      refine(b, Interval{strict ? above(interval(a).lo) : interval(a).lo, Interval::infinity});
    // The polynomial of a name is that of what it stands for, which may be a long way from what the
    // interval says: that 0 <= a < b leaves b at least 1 is said here.
    if (auto lo = interval(a).lo; a.isVar() && definition(a) && lo != Interval::minusInfinity)
      addFact(poly(b) - lo - (strict ? 1 : 0));
    if (auto hi = interval(b).hi; b.isVar() && definition(b) && hi != Interval::infinity)
      addFact(Poly(hi) - poly(a) - (strict ? 1 : 0));
    addFact(poly(b) - poly(a) - (strict ? 1 : 0));
    return;
  }
  case BinaryOp::Eq: {
    if (isDivisibility(a.context().binary(op, a, b)))
      refine(a->operands[0],
             Congruence{a->operands[1]->integer, floorMod(b->integer, a->operands[1]->integer)});
    for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
      if (x.isVar() && !definition(x)) {
        refine(x, interval(y));
        refine(x, congruence(y));
      }
    Poly difference = poly(a) - poly(b);
    addFact(difference);
    addFact(Poly(0) - difference);
    return;
  }
  case BinaryOp::Ne: {
    // Only the ends of an interval can be cut off.
    for (auto [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      Interval values = interval(x), other = interval(y);
      if (!other.isPoint())
        continue;
      if (values.lo == other.lo)
        assumeComparison(BinaryOp::Lt, y, x);
      else if (values.hi == other.lo)
        assumeComparison(BinaryOp::Lt, x, y);
    }
    return;
  }
  default:
    return;
  }
}

Interval Ranges::interval(Expr e) const {
  if (e.isInt() && e->integer >= 0)
    return Interval::point(e->integer);
  if (const Interval *known = intervalMemo.find(e.get(), values))
    return *known;
  bool wide = e.dtype().isUInt() && e.dtype().bits() == 64;
  if (e.isInt() && !wide)
    return Interval::point(e->integer);
  Interval result = computeInterval(e);
  if (!e.isVar())
    if (auto known = intervals.find(e.get()); known != intervals.end())
      result = intersect(result, known->second);
  if (!e.dtype().isFloat()) {
    Interval limits = dtypeInterval(e.dtype());
    // A signed result that leaves its type is an overflow, which does not happen; an unsigned one
    // wraps.
    bool wraps = e.dtype().isUInt() && (!result.within(limits) ||
                                        (wide && !e.isVar() && result.hi == Interval::infinity));
    result = wraps ? limits : intersect(result, limits);
    if (result.empty())
      result = limits;
  }
  return intervalMemo.set(e.get(), values, result);
}

Interval Ranges::computeInterval(Expr e) const {
  if (e.dtype().isFloat() || e.dtype().isVector())
    return {};
  switch (e.kind()) {
  case ExprKind::Var: {
    Interval result;
    if (auto known = intervals.find(e.get()); known != intervals.end())
      result = known->second;
    if (Expr value = definition(e))
      result = intersect(result, interval(value));
    return result;
  }
  case ExprKind::Unary:
    if (e->unaryOp() == UnaryOp::Neg)
      return -interval(e->operands[0]);
    return e.dtype().isBool() ? Interval{0, 1} : Interval{};
  case ExprKind::Binary:
    return binaryInterval(e);
  case ExprKind::Select:
    return hull(interval(e->operands[1]), interval(e->operands[2]));
  case ExprKind::Cast: {
    Expr from = e->operands[0];
    if (from.dtype().isFloat())
      return {};
    Interval values = interval(from);
    // Narrowing wraps; that a signed index fits is assumed only where the source is unbounded.
    Interval limits = dtypeInterval(e.dtype());
    return values.within(limits) ? values : Interval{};
  }
  case ExprKind::Math:
    switch (e->mathFn()) {
    case MathFn::Popcount:
    case MathFn::Clz:
    case MathFn::Ffs:
      return {0, e->operands[0].dtype().bits()};
    case MathFn::Abs:
      return maximum(interval(e->operands[0]), -interval(e->operands[0]));
    default:
      return {};
    }
  default:
    return {};
  }
}

Interval Ranges::binaryInterval(Expr e) const {
  if (e.dtype().isBool())
    return {0, 1};
  Interval a = interval(e->operands[0]), b = interval(e->operands[1]);
  switch (e->binaryOp()) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Sub:
    return a - b;
  case BinaryOp::Mul:
    return e->operands[0] == e->operands[1] ? maximum(a * b, Interval::point(0)) : a * b;
  case BinaryOp::FloorDiv:
    return floorDiv(a, b);
  case BinaryOp::FloorMod:
    return floorMod(a, b);
  case BinaryOp::TruncDiv:
    return truncDiv(a, b);
  case BinaryOp::TruncMod:
    return truncMod(a, b);
  case BinaryOp::Min:
    return minimum(a, b);
  case BinaryOp::Max:
    return maximum(a, b);
  case BinaryOp::And:
    if (b.lo >= 0 || a.lo >= 0)
      return {0, std::min(a.lo >= 0 ? a.hi : Interval::infinity,
                          b.lo >= 0 ? b.hi : Interval::infinity)};
    return {};
  case BinaryOp::Or:
  case BinaryOp::Xor: {
    if (a.lo < 0 || b.lo < 0 || a.hi == Interval::infinity || b.hi == Interval::infinity)
      return {};
    if (a.isPoint() && b.isPoint())
      return Interval::point(e->binaryOp() == BinaryOp::Or ? a.lo | b.lo : a.lo ^ b.lo);
    std::uint64_t largest = static_cast<std::uint64_t>(a.hi | b.hi), ones = 1;
    while (ones - 1 < largest)
      ones <<= 1;
    return {0, static_cast<std::int64_t>(ones - 1)};
  }
  case BinaryOp::Shl:
    if (b.isPoint() && b.lo >= 0 && b.lo < 62)
      return a * Interval::point(std::int64_t{1} << b.lo);
    return {};
  case BinaryOp::Shr:
    if (b.isPoint() && b.lo >= 0 && b.lo < 63)
      return floorDiv(a, Interval::point(std::int64_t{1} << b.lo));
    return a.lo >= 0 ? Interval{0, a.hi} : Interval{};
  default:
    return {};
  }
}

} // namespace tlc::analysis
