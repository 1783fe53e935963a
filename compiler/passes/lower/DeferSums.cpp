#include "passes/lower/DeferSums.h"

#include "ir/Builder.h"
#include "ir/Walk.h"

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

/// Whether copies of an element lie in several warps.
bool heldBeyondWarp(const Layout &home, Index warp) {
  DigitSet used = 0;
  for (const OutputAxis &output : home.outputs)
    for (const Term &term : output.terms)
      used |= term.digits;
  for (int d = 0; d < home.digitCount(); ++d) {
    auto [axis, place] = home.place(d);
    bool ofThread = home.inputs[static_cast<std::size_t>(axis)].name == "thread";
    if (ofThread && !(used >> d & 1) && place * home.radix(d) > warp)
      return true;
  }
  return false;
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

/// What a statement does with a sum, nested ones included.
struct Deeds {
  bool clears = false, adds = false, reads = false;
};

class SumDeferral {
public:
  SumDeferral(Launch &launch, Index warp) : launch(launch), warp(warp) {}

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
  Index warp; ///< threads
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
    if (!sum.layout || !heldBeyondWarp(*sum.layout, warp) || sum.dtype.bits() < 32)
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
    if (parts.empty())
      return;
    Block *block = &launch.body;
    while (Block *inner = onlyUser(*block, sum))
      block = inner;
    auto end = firstWhole(*block, sum);
    if (!end)
      return;
    auto finalize = std::make_unique<ReducerStmt>((*block)[*end]->range);
    finalize->action = ReducerAction::Finalize;
    finalize->reducer = &sum;
    block->insert(block->begin() + static_cast<std::ptrdiff_t>(*end), std::move(finalize));
    deferred.insert(parts.begin(), parts.end());
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

  /// The one nested block that has all uses; null: this one does, or several.
  static Block *onlyUser(Block &block, const Buffer &sum) {
    Stmt *user = nullptr;
    for (StmtPtr &stmt : block)
      if (mentions(*stmt, sum)) {
        if (user)
          return nullptr;
        user = stmt.get();
      }
    if (!user || isa<MapStmt>(*user))
      return nullptr;
    Block *only = nullptr;
    int users = 0;
    forEachBlock(*user, [&](Block &inner) {
      if (std::any_of(inner.begin(), inner.end(),
                      [&](const StmtPtr &stmt) { return mentions(*stmt, sum); }))
        only = &inner, ++users;
    });
    return users == 1 ? only : nullptr;
  }

  /// Where the sum is first needed as a whole, if it is cleared and added to before, in a loop, and
  /// not afterwards.
  std::optional<std::size_t> firstWhole(const Block &block, const Buffer &sum) const {
    bool begun = false, inLoop = false;
    std::optional<std::size_t> end;
    for (std::size_t i = 0; i < block.size(); ++i) {
      Deeds deeds;
      addDeeds(*block[i], sum, deeds);
      if (!deeds.clears && !deeds.adds && !deeds.reads)
        continue;
      if (!begun) {
        if (!isClear(*block[i], sum))
          return std::nullopt;
        begun = true;
      } else if (deeds.reads) {
        if (deeds.adds || deeds.clears)
          return std::nullopt;
        end = end.value_or(i);
      } else if (end) {
        return std::nullopt;
      } else {
        inLoop |= isa<ForStmt>(*block[i]) || isa<WhileStmt>(*block[i]);
      }
    }
    return inLoop ? end : std::nullopt;
  }

  static bool isClear(const Stmt &stmt, const Buffer &sum) {
    const auto *fill = dynCast<FillStmt>(&stmt);
    return fill && fill->target.buffer == &sum && fill->target.wholeBuffer() &&
           (fill->value.isFloat() ? fill->value->real == 0 : fill->value.isConstant(0));
  }

  void addDeeds(const Stmt &stmt, const Buffer &sum, Deeds &deeds) const {
    if (const auto *map = dynCast<MapStmt>(&stmt))
      if (auto found = known.find(map); found != known.end() && found->second.sum == &sum) {
        deeds.adds = true;
        return;
      }
    const auto *reduce = dynCast<ReduceStmt>(&stmt);
    if (isClear(stmt, sum))
      deeds.clears = true;
    else if (reduce && reduce->target.buffer == &sum && leavesParts(*reduce, false) &&
             reduce->source.buffer->storage() != &sum)
      deeds.adds = true;
    else
      forEachUse(stmt, [&](const BufferUse &use) { deeds.reads |= use.buffer->storage() == &sum; });
    forEachBlock(stmt, [&](const Block &block) {
      for (const StmtPtr &inner : block)
        addDeeds(*inner, sum, deeds);
    });
  }
};

} // namespace

std::set<const ReduceStmt *> deferSums(Launch &launch, Index warp) {
  return SumDeferral(launch, warp).run();
}

} // namespace tlc::passes
