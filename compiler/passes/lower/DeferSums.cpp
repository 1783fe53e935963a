#include "passes/lower/DeferSums.h"

#include "analysis/Effects.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Rewrite.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tlc::passes {

using namespace ir;

namespace {

/// Whether each element has one holder, so that parts of a sum over it count each once.
bool heldOnce(const Buffer &fragment) {
  auto count = fragment.elementCount();
  const auto &home = fragment.layout;
  return home && count && home->inputs.size() == 2 &&
         home->inputs[0].size() * home->inputs[1].size() == *count;
}

/// Whether copies of an element lie `apart` threads from each other, or more.
bool heldApart(const Layout &home, Index apart) {
  DigitSet used = 0;
  for (const OutputAxis &output : home.outputs)
    for (const Term &term : output.terms)
      used |= term.digits;
  for (int d = 0; d < home.digitCount(); ++d) {
    auto [axis, place] = home.place(d);
    bool ofThread = home.inputs[static_cast<std::size_t>(axis)].name == "thread";
    if (ofThread && !(used >> d & 1) && place * home.radix(d) > apart)
      return true;
  }
  return false;
}

/// Elements that a thread has of what is summed up, for each sum of its own.
Index elementsEach(const ReduceStmt &reduce) {
  auto registers = [](const Buffer &buffer) { return buffer.layout->inputs[0].size(); };
  return registers(*reduce.source.buffer) / std::max<Index>(1, registers(*reduce.target.buffer));
}

/// How an expression depends on variables that hold parts of sums.
enum class Dependence { None, Linear, Other };

class Dependences {
public:
  void define(Expr var, Dependence dependence) { known.emplace_back(var, dependence); }

  Dependence operator()(Expr e) const {
    if (std::none_of(known.begin(), known.end(), [&](const auto &entry) {
          return entry.second != Dependence::None && uses(e, entry.first);
        }))
      return Dependence::None;
    if (e.isVar())
      return of(e);
    if (e.kind() == ExprKind::Unary && e->unaryOp() == UnaryOp::Neg)
      return (*this)(e->operands[0]);
    if (e.kind() != ExprKind::Binary)
      return Dependence::Other;
    Dependence a = (*this)(e->operands[0]), b = (*this)(e->operands[1]);
    bool linear = false;
    switch (e->binaryOp()) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
      linear = a == Dependence::Linear && b == Dependence::Linear;
      break;
    case BinaryOp::Mul:
      linear = (a == Dependence::Linear) != (b == Dependence::Linear) && a != Dependence::Other &&
               b != Dependence::Other;
      break;
    default:
      break;
    }
    return linear ? Dependence::Linear : Dependence::Other;
  }

private:
  Dependence of(Expr var) const {
    for (const auto &[name, dependence] : known)
      if (name == var)
        return dependence;
    return Dependence::None;
  }

  std::vector<std::pair<Expr, Dependence>> known;
};

/// What a sum's registers hold at a point of the program.
enum class Holds { Nothing, Parts, Whole, Either };

/// Where two ways meet.
Holds meet(Holds a, Holds b) {
  if (a == b || b == Holds::Nothing)
    return a;
  return a == Holds::Nothing ? b : Holds::Either;
}

class SumDeferral {
public:
  SumDeferral(Launch &launch, Index warp, Index lanes) : launch(launch), warp(warp), lanes(lanes) {}

  std::set<const ReduceStmt *> run() {
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *reduce = dynCast<ReduceStmt>(&stmt)) {
        reduces[reduce->target.buffer].push_back(reduce);
        if (!reduce->clear)
          updates[reduce->target.buffer];
      }
      return true;
    });
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *map = dynCast<MapStmt>(&stmt))
        if (auto update = updateOf(*map)) {
          updates[update->sum].push_back(map);
          known.emplace(map, std::move(*update));
        }
      return true;
    });
    for (const auto &[sum, maps] : updates)
      defer(*sum, maps);
    return deferred;
  }

private:
  Launch &launch;
  Index warp;  ///< threads
  Index lanes; ///< elements of a thread for a sum, up to which its parts may lie in one warp
  std::set<const ReduceStmt *> deferred;
  /// Of each sum, in the order of the program: what is emitted depends on it.
  llvm::MapVector<Buffer *, std::vector<const MapStmt *>> updates;
  std::map<const Buffer *, std::vector<const ReduceStmt *>> reduces; ///< into each fragment

  /// `sum = linear in sum and in tiles' sums`, the last of which are `terms`.
  struct Update {
    Buffer *sum = nullptr;
    std::vector<const Buffer *> terms;
  };
  std::map<const MapStmt *, Update> known;

  std::optional<Update> updateOf(const MapStmt &map) const {
    Update update;
    for (const StmtPtr &stmt : map.body)
      if (const auto *store = dynCast<StoreStmt>(stmt.get())) {
        Buffer *target = store->target.buffer;
        if (store->predicate || target->base || target->scope != Scope::Fragment ||
            !isOwnPoint(store->target, map) || update.sum)
          return std::nullopt;
        update.sum = target;
      }
    if (!update.sum || !update.sum->layout || !map.layout || *map.layout != *update.sum->layout)
      return std::nullopt;
    Dependences dependence;
    bool linear = false;
    for (const StmtPtr &stmt : map.body) {
      if (const auto *load = dynCast<LoadStmt>(stmt.get())) {
        const Buffer *source = load->source.buffer;
        bool mine = source == update.sum;
        bool part = mine || holdsTileSums(*source, *update.sum);
        if (part && (load->predicate || !isOwnPoint(load->source, map)))
          return std::nullopt;
        if (part && !mine)
          update.terms.push_back(source);
        dependence.define(load->var, part ? Dependence::Linear : Dependence::None);
        if (asksForThread(load->source))
          return std::nullopt;
      } else if (const auto *let = dynCast<LetStmt>(stmt.get())) {
        dependence.define(let->var, dependence(let->value));
      } else if (const auto *store = dynCast<StoreStmt>(stmt.get())) {
        linear =
            dependence(store->value) == Dependence::Linear && !usesThread(launch, store->value);
      } else {
        return std::nullopt;
      }
    }
    return linear ? std::optional(std::move(update)) : std::nullopt;
  }

  /// The element at the map's own point.
  static bool isOwnPoint(const Element &element, const MapStmt &map) {
    return std::equal(element.indices.begin(), element.indices.end(), map.vars.begin(),
                      map.vars.end());
  }

  /// Whether the fragment has sums alone, laid out as `sum`.
  bool holdsTileSums(const Buffer &fragment, const Buffer &sum) const {
    auto found = reduces.find(&fragment);
    return found != reduces.end() && fragment.layout == sum.layout && fragment.dtype == sum.dtype &&
           std::all_of(found->second.begin(), found->second.end(),
                       [&](const ReduceStmt *r) { return leavesParts(*r, true); });
  }

  static bool leavesParts(const ReduceStmt &reduce, bool clears) {
    return reduce.op == ReduceOp::Sum && reduce.clear == clears && reduce.target.wholeBuffer() &&
           reduce.source.wholeBuffer() && reduce.source.buffer->scope == Scope::Fragment &&
           reduce.source.buffer->dtype == reduce.target.buffer->dtype &&
           reduce.target.buffer->dtype.bits() >= 32 && heldOnce(*reduce.source.buffer);
  }

  bool asksForThread(const Element &element) const {
    return std::any_of(element.indices.begin(), element.indices.end(),
                       [&](Expr e) { return usesThread(launch, e); });
  }

  // ---- One sum

  void defer(Buffer &sum, const std::vector<const MapStmt *> &maps) {
    if (!sum.layout || !heldApart(*sum.layout, 1) || sum.dtype.bits() < 32)
      return;
    std::set<const ReduceStmt *> parts;
    for (const MapStmt *map : maps)
      for (const Buffer *term : known.at(map).terms) {
        if (!onlyAdded(*term, sum))
          return;
        parts.insert(reduces[term].begin(), reduces[term].end());
      }
    for (const ReduceStmt *reduce : reduces[&sum])
      if (leavesParts(*reduce, false))
        parts.insert(reduce);
    if (parts.empty() || !pays(*sum.layout, parts))
      return;
    places.clear();
    inLoop = false, depth = 0;
    if (!follow(launch.body, sum, Holds::Nothing) || !inLoop || places.empty())
      return;
    // From the back, so that the others stay where they are.
    std::sort(places.begin(), places.end(),
              [](const auto &a, const auto &b) { return a.second > b.second; });
    for (auto [block, index] : places) {
      auto finalize = std::make_unique<ReducerStmt>((*block)[index]->range);
      finalize->action = ReducerAction::Finalize;
      finalize->reducer = &sum;
      block->insert(block->begin() + static_cast<std::ptrdiff_t>(index), std::move(finalize));
    }
    deferred.insert(parts.begin(), parts.end());
  }

  /// An exchange between warps costs more than all else in a round. Lanes meet in two shuffles for
  /// each sum: of no account beside many additions.
  bool pays(const Layout &sum, const std::set<const ReduceStmt *> &parts) const {
    return heldApart(sum, warp) ||
           std::all_of(parts.begin(), parts.end(),
                       [this](const ReduceStmt *reduce) { return elementsEach(*reduce) <= lanes; });
  }

  /// Whether the sums of tiles go nowhere but into `sum`.
  bool onlyAdded(const Buffer &term, const Buffer &sum) const {
    bool only = true;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      if (const auto *map = dynCast<MapStmt>(&stmt))
        if (auto found = known.find(map); found != known.end() && found->second.sum == &sum)
          return false;
      if (const auto *reduce = dynCast<ReduceStmt>(&stmt); reduce && reduce->target.buffer == &term)
        return false;
      forEachUse(stmt, [&](const BufferUse &use) { only &= use.buffer->storage() != &term; });
      return only;
    });
    return only;
  }

  static bool mentions(const Stmt &stmt, const Buffer &buffer) {
    bool found = false;
    walk(stmt, [&](const Stmt &each) {
      forEachUse(each, [&](const BufferUse &use) { found |= use.buffer->storage() == &buffer; });
      return !found;
    });
    return found;
  }

  /// What the sum holds behind a block; none: parts are needed where the whole is, or the other way
  /// round. Notes in `places` where parts have to become whole.
  std::optional<Holds> follow(Block &block, const Buffer &sum, Holds state) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      Stmt &stmt = *block[i];
      if (!mentions(stmt, sum))
        continue;
      std::optional<Holds> next;
      if (isClear(stmt, sum))
        next = Holds::Parts;
      else if (adds(stmt, sum))
        next = state == Holds::Nothing || state == Holds::Parts ? std::optional(Holds::Parts)
                                                                : std::nullopt;
      else if (auto *branch = dynCast<IfStmt>(&stmt))
        next = followBoth(*branch, sum, state);
      else if (isa<ForStmt>(stmt) || isa<WhileStmt>(stmt))
        next = followRounds(stmt, sum, state);
      else if (auto *role = dynCast<RoleStmt>(&stmt))
        next = follow(role->body, sum, state);
      else if (isa<MapStmt>(stmt) || !hasBlocks(stmt))
        next = wholeAt(block, i, sum, state);
      if (!next)
        return std::nullopt;
      inLoop |= depth > 0 && adds(stmt, sum);
      state = *next;
    }
    return state;
  }

  std::optional<Holds> followBoth(IfStmt &branch, const Buffer &sum, Holds state) {
    auto then = follow(branch.then, sum, state), otherwise = follow(branch.otherwise, sum, state);
    return then && otherwise ? std::optional(meet(*then, *otherwise)) : std::nullopt;
  }

  static bool hasBlocks(const Stmt &stmt) {
    bool any = false;
    forEachBlock(stmt, [&](const Block &) { any = true; });
    return any;
  }

  std::optional<Holds> followRounds(Stmt &loop, const Buffer &sum, Holds state) {
    const std::size_t before = places.size();
    ++depth;
    // As the first round finds it, then as others do, until no more ways to find it turn up.
    for (Holds found = state;;) {
      Holds end = found;
      bool known = true;
      forEachBlock(loop, [&](Block &inner) {
        auto behind = known ? follow(inner, sum, end) : std::nullopt;
        known = behind.has_value();
        end = behind.value_or(end);
      });
      if (!known)
        return std::nullopt;
      state = meet(found, end);
      if (state == found)
        break;
      found = state;
    }
    --depth;
    // A way out in the middle may find the sum in another state.
    bool leaves = false;
    forEachBlock(std::as_const(loop), [&](const Block &inner) { leaves |= leavesLoop(inner); });
    return leaves && places.size() > before ? std::nullopt : std::optional(state);
  }

  /// In front of the statement the sum must be whole. What was never begun stays as it is.
  std::optional<Holds> wholeAt(Block &block, std::size_t i, const Buffer &sum, Holds state) {
    if (state == Holds::Either)
      return std::nullopt;
    const std::pair place(&block, i);
    if (state == Holds::Parts && !std::count(places.begin(), places.end(), place))
      places.push_back(place);
    const bool writes = analysis::effectsOf(*block[i]).writesStorage(&sum);
    return state == Holds::Nothing && !writes ? state : Holds::Whole;
  }

  static bool isClear(const Stmt &stmt, const Buffer &sum) {
    const auto *fill = dynCast<FillStmt>(&stmt);
    return fill && fill->target.buffer == &sum && fill->target.wholeBuffer() &&
           (fill->value.isFloat() ? fill->value->real == 0 : fill->value.isConstant(0));
  }

  bool adds(const Stmt &stmt, const Buffer &sum) const {
    if (const auto *map = dynCast<MapStmt>(&stmt)) {
      auto found = known.find(map);
      return found != known.end() && found->second.sum == &sum;
    }
    const auto *reduce = dynCast<ReduceStmt>(&stmt);
    return reduce && reduce->target.buffer == &sum && leavesParts(*reduce, false) &&
           reduce->source.buffer->storage() != &sum;
  }

  std::vector<std::pair<Block *, std::size_t>> places; ///< in the order of the program
  bool inLoop = false; ///< whether something is added round after round
  int depth = 0;       ///< loops around
};

} // namespace

std::set<const ReduceStmt *> deferSums(Launch &launch, Index warp, Index lanes) {
  return SumDeferral(launch, warp, lanes).run();
}

} // namespace tlc::passes
