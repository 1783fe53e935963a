#include "analysis/Addresses.h"

#include "ir/Fold.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tlc::analysis {

using namespace ir;

Expr expandLets(Expr e, const Ranges &ranges) {
  if (!e)
    return e;
  // Definitions stand before their uses, so this ends.
  for (int depth = 0; depth < 64; ++depth) {
    std::vector<Expr> vars;
    collectVars(e, vars);
    Substitution map;
    for (Expr var : vars)
      if (Expr value = ranges.definition(var))
        map.emplace_back(var, value);
    if (map.empty())
      return e;
    e = substitute(e, map);
    if (e.kind() != ExprKind::Var && e->operands.size() == 0)
      return e;
  }
  return e;
}

namespace {

constexpr std::int64_t warpThreads = 32; // of every target that has warps

std::int64_t lanesOf(const Stmt &stmt, const BufferUse &use) {
  switch (stmt.kind) {
  case StmtKind::Load:
    return cast<LoadStmt>(stmt).var.dtype().lanes;
  case StmtKind::Store:
    return cast<StoreStmt>(stmt).value.dtype().lanes;
  case StmtKind::Move:
    return cast<MoveStmt>(stmt).count;
  case StmtKind::Atomic: {
    Expr value = cast<AtomicStmt>(stmt).value;
    return value ? value.dtype().lanes : 1;
  }
  case StmtKind::Call:
    return use.pointer ? -1 : 1; // see below
  default:
    return 1;
  }
}

/// A view whose elements are not counted from the start of the storage.
bool isShifted(const Buffer &buffer) {
  for (const Buffer *b = &buffer; b->base; b = b->base)
    if (b->baseOffset && !b->baseOffset.isConstant(0))
      return true;
  return false;
}

/// Whether a call is a thread's cp.async by hand.
bool copiesAsync(const CallStmt *call) {
  return call && !call->isExtern && call->callee == "cp_async";
}

/// Whether a call reaches what it uses by descriptor.
bool touches(const CallStmt *call, const BufferUse &use) {
  return call && std::any_of(call->touches.begin(), call->touches.end(),
                             [&](const Pointer &p) { return &p == use.pointer; });
}

} // namespace

std::vector<Address> addressesOf(const Stmt &stmt, const Ranges &ranges) {
  std::vector<Address> result;
  unsigned number = 0;
  const auto *call = dynCast<CallStmt>(&stmt);
  const auto *move = dynCast<MoveStmt>(&stmt);
  forEachUse(stmt, [&](const BufferUse &use) {
    Scope scope = use.buffer->storage()->scope;
    unsigned position = number++;
    if (scope != Scope::Shared && scope != Scope::Global)
      return;
    if (use.pointer && use.pointer->count && use.pointer->count.isConstant(0))
      return; // only its address
    Address address;
    address.stmt = &stmt;
    address.use = position;
    address.buffer = use.buffer;
    address.reads = static_cast<unsigned>(use.access) & 1;
    address.writes = static_cast<unsigned>(use.access) & 2;
    address.atomic = stmt.kind == StmtKind::Atomic;
    if (address.writes && scope == Scope::Shared && ((move && move->async) || copiesAsync(call)))
      address.async = AsyncKind::CpAsync;
    if (touches(call, use))
      address.async = AsyncKind::Wgmma;
    else if (call && usesTensorMap(*call) && scope == Scope::Shared && !address.writes)
      address.async = AsyncKind::Bulk;
    address.warp = call && call->collective != Collective::Thread;
    bool known = use.element && use.element->indices.size() == 1 && !(call && call->isExtern) &&
                 !isShifted(*use.buffer);
    if (known) {
      address.index = expandLets(use.element->indices[0], ranges);
      Context &context = address.index.context();
      address.version =
          use.element->version ? expandLets(use.element->version, ranges) : context.int32(0);
      address.count = lanesOf(stmt, use);
      if (use.pointer) {
        Interval count =
            use.pointer->count ? ranges.interval(use.pointer->count) : Interval::point(1);
        known = count.hi != Interval::infinity;
        address.count = known ? std::max<std::int64_t>(count.hi, 1) : 0;
      }
      address.elements = ranges.interval(address.index) +
                         Interval{0, std::max<std::int64_t>(address.count, 1) - 1};
    }
    if (!known) {
      address.index = {};
      address.elements = {};
    }
    result.push_back(std::move(address));
  });
  return result;
}

namespace {

/// Bytes of the arena that a placed shared buffer takes with all its versions and copies.
std::optional<Interval> arenaBytes(const Buffer &storage) {
  if (storage.scope != Scope::Shared || storage.sharedOffset < 0 || storage.versionBytes <= 0)
    return std::nullopt;
  return Interval{storage.sharedOffset, storage.sharedOffset +
                                            (storage.teams - 1) * storage.teamBytes +
                                            storage.versions * storage.versionBytes - 1};
}

bool storagesMeet(const Buffer &a, const Buffer &b) {
  if (a.scope != b.scope)
    return false;
  if (a.scope == Scope::Global)
    return mayAlias(a, b);
  auto x = arenaBytes(a), y = arenaBytes(b);
  return !x || !y || !intersect(*x, *y).empty();
}

} // namespace

bool elementsMayMeet(const Address &a, const Address &b) {
  if ((!a.writes && !b.writes) || (a.atomic && b.atomic))
    return false;
  const Buffer *x = a.buffer->storage(), *y = b.buffer->storage();
  if (x != y)
    return (x->scope == Scope::Shared || mayAlias(*x, *y)) && storagesMeet(*x, *y);
  // Views have indices of their own.
  return a.buffer != b.buffer || !intersect(a.elements, b.elements).empty();
}

bool mayMeet(const Address &a, const Address &b, const Ranges &ranges) {
  if (!elementsMayMeet(a, b))
    return false;
  const Buffer *x = a.buffer->storage();
  return x != b.buffer->storage() || x->versions == 1 || !a.version || !b.version ||
         !ranges.differ(a.version, b.version);
}

bool ThreadAddresses::isThread(Expr var) const {
  return var == launch.tid || var == launch.threadVars[0] || var == launch.threadVars[1] ||
         var == launch.threadVars[2];
}

/// An expression of thread variables and constants in each thread; null if it is something else, or
/// undefined in some thread.
const ThreadAddresses::Values *ThreadAddresses::inThreads(Expr e) {
  auto [entry, isNew] = inThread.try_emplace(e.get());
  std::optional<Values> &result = entry->second;
  if (!isNew)
    return result ? &*result : nullptr;
  std::vector<const Values *> operands;
  for (Expr operand : e->operands) {
    const Values *values = inThreads(operand);
    if (!values)
      return nullptr;
    operands.push_back(values);
  }
  Context &context = e.context();
  auto at = [&](std::int64_t t) -> std::optional<std::int64_t> {
    auto operand = [&](std::size_t i) { return (*operands[i])[static_cast<std::size_t>(t)]; };
    if (e.isInt())
      return e->integer;
    if (e == launch.tid)
      return t;
    for (std::int64_t d = 0, rest = t; d < 3; rest /= launch.threads[d], ++d)
      if (e == launch.threadVars[d])
        return rest % launch.threads[d];
    if (e.kind() == ExprKind::Binary && !e->operands[0].dtype().isFloat())
      return evaluateInteger(e->binaryOp(), e->operands[0].dtype(), operand(0), operand(1));
    llvm::SmallVector<Expr, 4> constants;
    for (std::size_t i = 0; i < operands.size(); ++i)
      constants.push_back(context.integer(e->operands[i].dtype(), operand(i)));
    return rebuild(e, constants).constant();
  };
  if (e.dtype().isFloat() || e.dtype().isVector() || (e.isVar() && !isThread(e)))
    return nullptr;
  Values values;
  for (std::int64_t t = 0; t < launch.threadCount(); ++t) {
    auto value = at(t);
    if (!value)
      return nullptr;
    values.push_back(*value);
  }
  result = std::move(values);
  return &*result;
}

const ThreadAddresses::Values *ThreadAddresses::threadPart(Expr index, const Ranges &ranges) {
  auto [entry, isNew] = parts.try_emplace({index.get(), ranges.valuesKnown()}, nullptr);
  if (!isNew)
    return entry->second;
  // What else the index depends on must be apart.
  Poly poly = ranges.poly(index);
  if (!poly.valid)
    return nullptr;
  Values sum(static_cast<std::size_t>(launch.threadCount()), 0);
  for (const auto &[monomial, coefficient] : poly.terms) {
    bool thread = false, other = false;
    for (Expr atom : monomial) {
      std::vector<Expr> vars;
      collectVars(atom, vars);
      for (Expr var : vars) {
        if (!isThread(var) && !uniformity.uniform(var))
          return nullptr;
        (isThread(var) ? thread : other) = true;
      }
    }
    if (thread && other)
      return nullptr;
    if (!thread)
      continue;
    Values product(sum.size(), coefficient);
    for (Expr atom : monomial) {
      const Values *factor = inThreads(atom);
      if (!factor)
        return nullptr;
      for (std::size_t t = 0; t < product.size(); ++t)
        product[t] *= (*factor)[t];
    }
    for (std::size_t t = 0; t < sum.size(); ++t)
      sum[t] += product[t];
  }
  return entry->second = &*partValues.insert(std::move(sum)).first;
}

bool ThreadAddresses::onlyOwn(const Address &a, const Address &b, const Ranges &ranges) {
  if (a.buffer != b.buffer || a.warp || b.warp || !a.index || !b.index || !a.version ||
      !b.version || !ranges.equal(a.version, b.version))
    return false;
  Poly difference = ranges.poly(a.index) - ranges.poly(b.index);
  if (!difference.isConstant())
    return false;
  const Values *first = threadPart(b.index, ranges);
  if (!first)
    return false;
  auto [known, isNew] = apart.try_emplace({first, difference.constant, a.count, b.count}, false);
  if (isNew) {
    std::vector<Run> runs;
    for (std::size_t t = 0; t < first->size(); ++t) {
      auto thread = static_cast<std::int64_t>(t);
      std::int64_t begin = (*first)[t], other = begin + difference.constant;
      runs.push_back({begin, begin + b.count, thread});
      runs.push_back({other, other + a.count, thread});
    }
    known->second = keptApart(std::move(runs));
  }
  return known->second;
}

namespace {

/// Variables of short loops in an index, one value of each at a time: what they touch between
/// them has gaps.
constexpr std::int64_t mostValues = 64;

/// Adds `index` with each combination of values of `vars`.
void addInstances(Expr index, std::span<const Expr> vars, const Ranges &ranges,
                  std::vector<Expr> &out) {
  if (vars.empty()) {
    out.push_back(index);
    return;
  }
  Interval values = ranges.interval(vars.front());
  for (std::int64_t value = values.lo; value <= values.hi; ++value)
    addInstances(
        substitute(index, {{vars.front(), index.context().integer(vars.front().dtype(), value)}}),
        vars.subspan(1), ranges, out);
}

/// Adds where a run of `count` elements at `index` may be.
void addInterval(Expr index, std::int64_t count, const Ranges &ranges, std::vector<Interval> &out) {
  Interval first = ranges.interval(index);
  // Runs begin at multiples of their length, say.
  if (Congruence step = ranges.congruence(index); step.modulus > 1 && first.hi < Interval::infinity)
    first.hi -= ((first.hi - step.remainder) % step.modulus + step.modulus) % step.modulus;
  Interval touched = first + Interval{0, count - 1};
  for (Interval &known : out)
    if (!intersect(known, touched).empty()) {
      known = hull(known, touched);
      return;
    }
  out.push_back(touched);
}

} // namespace

WarpElements ThreadAddresses::computeByWarps(const Address &address, Ranges &ranges) const {
  WarpElements warps;
  std::vector<Expr> vars;
  collectVars(address.index, vars);
  std::int64_t combinations = 1;
  std::erase_if(vars, [&](Expr var) {
    Interval values = ranges.interval(var);
    bool few = !isThread(var) && values.lo >= 0 && values.hi < mostValues &&
               combinations * (values.hi - values.lo + 1) <= mostValues;
    if (few)
      combinations *= values.hi - values.lo + 1;
    return !few;
  });
  std::vector<Expr> instances;
  addInstances(address.index, vars, ranges, instances);
  for (std::int64_t first = 0; first < launch.threadCount(); first += warpThreads) {
    Ranges::Scope scope(ranges);
    ranges.bindVar(launch.tid, {first, first + warpThreads - 1});
    std::vector<Interval> &elements = warps.emplace_back();
    for (Expr index : instances)
      addInterval(index, std::max<std::int64_t>(address.count, 1), ranges, elements);
  }
  return warps;
}

const WarpElements *ThreadAddresses::byWarps(const Address &address, Ranges &ranges) {
  if (!address.index)
    return nullptr;
  auto [known, isNew] =
      ofIndex.try_emplace({address.index.get(), address.count, ranges.valuesKnown()}, nullptr);
  if (isNew)
    known->second = kept(computeByWarps(address, ranges));
  return known->second;
}

const WarpElements *ThreadAddresses::either(const WarpElements *a, const WarpElements *b) {
  if (a == b)
    return a;
  if (!a || !b || a->size() != b->size())
    return nullptr;
  WarpElements both = *a;
  for (std::size_t i = 0; i < both.size(); ++i)
    for (const Interval &more : (*b)[i])
      if (std::find(both[i].begin(), both[i].end(), more) == both[i].end())
        both[i].push_back(more);
  return kept(std::move(both));
}

bool ThreadAddresses::onlyOwnWarp(const WarpElements *a, const WarpElements *b) {
  if (!a || !b || a->size() != b->size())
    return false;
  auto [known, isNew] = inOwnWarp.try_emplace({a, b}, true);
  if (!isNew)
    return known->second;
  for (std::size_t i = 0; i < a->size(); ++i)
    for (std::size_t j = 0; j < b->size(); ++j)
      for (const Interval &mine : (*a)[i])
        for (const Interval &other : (*b)[j])
          if (i != j && !intersect(mine, other).empty())
            return known->second = false;
  return true;
}

const WarpElements *ThreadAddresses::kept(WarpElements elements) {
  return &*warpElements.insert(std::move(elements)).first;
}

std::size_t ThreadAddresses::WarpElementsHash::operator()(const WarpElements &elements) const {
  std::uint64_t hash = elements.size();
  for (const std::vector<Interval> &warp : elements)
    for (Interval values : warp)
      for (std::int64_t end : {values.lo, values.hi})
        hash ^= static_cast<std::uint64_t>(end) * 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash;
}

/// Whether runs of different owners have nothing in common.
bool ThreadAddresses::keptApart(std::vector<Run> runs) {
  // Sorted, neighbours decide.
  std::sort(runs.begin(), runs.end(), [](const Run &x, const Run &y) { return x.begin < y.begin; });
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = i + 1; j < runs.size() && runs[j].begin < runs[i].end; ++j)
      if (runs[i].owner != runs[j].owner)
        return false;
  return true;
}

/// The runs of some threads in each round of `loops`. `rest` is what the index is besides.
bool ThreadAddresses::addRuns(const Address &address, Expr index, std::span<const Rounds> loops,
                              Interval threads, const Ranges &ranges, std::vector<Run> &runs,
                              std::optional<Poly> &rest) {
  if (!loops.empty()) {
    const auto &[var, values] = loops.front();
    for (std::int64_t value = values.lo; value <= values.hi; ++value) {
      Expr there = substitute(index, {{var, index.context().integer(var.dtype(), value)}});
      if (!addRuns(address, there, loops.subspan(1), threads, ranges, runs, rest))
        return false;
    }
    return true;
  }
  const Values *parts = threadPart(index, ranges);
  if (!parts)
    return false;
  Poly others = ranges.poly(index);
  const std::int64_t constant = std::exchange(others.constant, 0);
  llvm::erase_if(others.terms, [&](const auto &term) {
    return llvm::any_of(term.first, [&](Expr atom) {
      std::vector<Expr> used;
      collectVars(atom, used);
      return llvm::any_of(used, [&](Expr var) { return isThread(var); });
    });
  });
  if (rest && !(*rest == others))
    return false;
  rest = others;
  const auto last = static_cast<std::int64_t>(parts->size()) - 1;
  for (std::int64_t t = std::max<std::int64_t>(threads.lo, 0); t <= std::min(threads.hi, last);
       ++t) {
    std::int64_t begin = constant + (*parts)[static_cast<std::size_t>(t)];
    runs.push_back({begin, begin + address.count, t});
  }
  return true;
}

/// Whether all threads in all rounds are few enough to be looked at one by one.
bool ThreadAddresses::fewCombinations(std::span<const Rounds> loops) const {
  constexpr std::int64_t most = 1 << 16;
  std::int64_t combinations = launch.threadCount();
  for (const auto &[var, values] : loops) {
    if (values.empty() || values.lo < 0 || values.hi >= most)
      return false;
    combinations *= values.hi - values.lo + 1;
    if (combinations > most)
      return false;
  }
  return true;
}

const ThreadAddresses::Runs *ThreadAddresses::runsOf(const Address &address, std::int64_t most,
                                                     const Ranges &ranges) {
  std::vector<Rounds> loops;
  std::int64_t longest = 0;
  for (Expr var : variablesOf(address.index))
    if (auto found = everyRound.find(var.get()); found != everyRound.end()) {
      const Interval values = found->second.values;
      loops.push_back(found->second);
      longest = std::max(longest, values.hi - values.lo + 1);
      loops.back().values.hi = std::min(values.hi, values.lo + most - 1);
    }
  auto [entry, isNew] = allRuns.try_emplace(
      {address.index.get(), address.count, std::min(most, longest), ranges.valuesKnown()},
      std::nullopt);
  std::optional<Runs> &result = entry->second;
  if (!isNew)
    return result ? &*result : nullptr;
  Runs all;
  std::optional<Poly> rest;
  if (!fewCombinations(loops) ||
      !addRuns(address, address.index, loops, {}, ranges, all.runs, rest) || !rest)
    return nullptr;
  std::sort(all.runs.begin(), all.runs.end());
  all.rest = std::move(*rest);
  result = std::move(all);
  return &*result;
}

/// Whether runs of the two that overlap have one owner.
bool ThreadAddresses::ownedAlike(const Runs &first, const Runs &second) {
  auto [known, isNew] = inOwnThread.try_emplace({&first, &second}, true);
  if (!isNew)
    return known->second;
  // Both are sorted, and runs of one access are of one length.
  auto from = second.runs.begin();
  for (const Run &run : first.runs) {
    while (from != second.runs.end() && from->end <= run.begin)
      ++from;
    for (auto other = from; other != second.runs.end() && other->begin < run.end; ++other)
      if (other->owner != run.owner)
        return known->second = false;
  }
  return true;
}

bool ThreadAddresses::onlyOwnOfAll(const Address &a, const Address &b, const Ranges &ranges) {
  if (a.buffer != b.buffer || a.warp || b.warp || !a.index || !b.index || !a.version ||
      !b.version || !ranges.equal(a.version, b.version))
    return false;
  // Where threads read what others have written, the first rounds show it nearly always.
  constexpr std::int64_t firstRounds = 2, allRounds = 1 << 30;
  return llvm::all_of(std::array{firstRounds, allRounds}, [&](std::int64_t most) {
    const Runs *first = runsOf(a, most, ranges), *second = runsOf(b, most, ranges);
    return first && second && first->rest == second->rest && ownedAlike(*first, *second);
  });
}

bool ThreadAddresses::apartOver(const Address &address, std::span<const Rounds> loops,
                                Interval threads, const Ranges &ranges) {
  if (address.warp || !address.index || !address.version)
    return false;
  InRounds over{{launch.tid.get(), threads.lo, threads.hi}};
  for (const auto &[var, values] : loops)
    over.emplace_back(var.get(), values.lo, values.hi);
  auto [known, isNew] = apartIn.try_emplace(
      {address.index.get(), address.count, std::move(over), ranges.valuesKnown()}, false);
  if (isNew)
    known->second = computeApartOver(address, loops, threads, ranges);
  return known->second;
}

bool ThreadAddresses::computeApartOver(const Address &address, std::span<const Rounds> loops,
                                       Interval threads, const Ranges &ranges) {
  constexpr std::int64_t several = -1;
  struct InRound {
    Run run; ///< owner: the thread, or `several`
    std::int64_t round;
  };
  if (loops.empty() || !fewCombinations(loops))
    return false;
  std::vector<InRound> all;
  std::vector<Run> runs;
  std::optional<Poly> rest;
  const auto &[var, values] = loops.front();
  for (std::int64_t round = values.lo; round <= values.hi; ++round) {
    runs.clear();
    Expr there =
        substitute(address.index, {{var, address.index.context().integer(var.dtype(), round)}});
    if (!addRuns(address, there, loops.subspan(1), threads, ranges, runs, rest))
      return false;
    std::sort(runs.begin(), runs.end());
    for (const Run &run : runs)
      if (all.empty() || all.back().round != round || all.back().run.begin != run.begin)
        all.push_back({run, round});
      else if (all.back().run.owner != run.owner)
        all.back().run.owner = several;
  }
  llvm::sort(all, [](const InRound &x, const InRound &y) { return x.run.begin < y.run.begin; });
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size() && all[j].run.begin < all[i].run.end; ++j)
      if (all[i].round != all[j].round &&
          (all[i].run.owner != all[j].run.owner || all[i].run.owner == several))
        return false;
  return true;
}

} // namespace tlc::analysis
