#include "analysis/Variables.h"

#include "ir/Walk.h"

#include <vector>

namespace tlc::analysis {

using namespace ir;

namespace {

/// Rings have fewer stages; what still grows after so many rounds counts something.
constexpr int mostRounds = 40;
/// Expressions that are looked at for one stored value. Definitions share their parts: all ways
/// through them may be very many, where a ring's position needs a handful.
constexpr int mostSteps = 500;
constexpr Interval nothing{Interval::infinity, Interval::minusInfinity};

Interval anyOf(DType dtype) {
  std::int64_t high = static_cast<std::int64_t>((std::uint64_t(1) << (dtype.bits() - 1)) - 1);
  return {-high - 1, high};
}

/// Intervals of all variables, grown from nothing until no store adds to them.
class Growth {
public:
  explicit Growth(const Launch &launch) {
    walk(launch.body, [&](const Stmt &stmt) {
      note(stmt);
      return true;
    });
  }

  std::unordered_map<const Buffer *, Interval> run() {
    for (const Buffer *variable : others)
      intervals[variable] = anyOf(variable->dtype);
    bool grows = true;
    for (int round = 0; grows; ++round) {
      grows = false;
      for (auto [variable, value] : stores) {
        steps = 0;
        Interval &held = intervals[variable];
        Interval both = hull(held, valueOf(value));
        if (both == held)
          continue;
        held = round < mostRounds ? both : anyOf(variable->dtype);
        grows = true;
      }
    }
    std::erase_if(intervals,
                  [](const auto &entry) { return entry.second == anyOf(entry.first->dtype); });
    return std::move(intervals);
  }

private:
  static bool isVariable(const Buffer &buffer) {
    return buffer.scope == Scope::Local && buffer.shape.empty() && buffer.versions == 1 &&
           buffer.dtype.isInt() && !buffer.dtype.isVector() && buffer.dtype.bits() >= 8;
  }

  void note(const Stmt &stmt) {
    if (auto *let = dynCast<LetStmt>(&stmt)) {
      definitions.emplace(let->var.get(), let->value);
    } else if (auto *alloc = dynCast<AllocStmt>(&stmt); alloc && alloc->init) {
      stored(alloc->buffer, alloc->init);
    } else if (auto *load = dynCast<LoadStmt>(&stmt)) {
      if (!load->predicate)
        loads.emplace(load->var.get(), load->source.buffer);
    } else if (auto *store = dynCast<StoreStmt>(&stmt)) {
      stored(store->target.buffer, store->value);
    } else {
      // Something else may write it in ways that are not looked into.
      forEachUse(stmt, [&](const BufferUse &use) {
        if (isVariable(*use.buffer->storage()))
          others.push_back(use.buffer->storage());
      });
    }
  }

  void stored(const Buffer *buffer, Expr value) {
    if (!isVariable(*buffer->storage()))
      return;
    if (buffer != buffer->storage()) // a view: as other bits
      return others.push_back(buffer->storage());
    intervals.emplace(buffer, nothing);
    stores.emplace_back(buffer, value);
  }

  Interval valueOf(Expr e) {
    if (e.isInt())
      return Interval::point(e->integer);
    if (!e.dtype().isInt() || e.dtype().isVector())
      return {};
    if (++steps > mostSteps)
      return anyOf(e.dtype());
    switch (e.kind()) {
    case ExprKind::Var:
      return ofVariable(e);
    case ExprKind::Select:
      return ofSelect(e);
    case ExprKind::Binary:
      return ofBinary(e);
    default:
      return anyOf(e.dtype());
    }
  }

  Interval ofVariable(Expr var) {
    if (auto known = narrowed.find(var.get()); known != narrowed.end())
      return known->second;
    if (auto let = definitions.find(var.get()); let != definitions.end())
      return valueOf(let->second);
    if (auto load = loads.find(var.get()); load != loads.end())
      if (auto held = intervals.find(load->second); held != intervals.end())
        return held->second;
    return anyOf(var.dtype());
  }

  /// Both arms that are possible, each with what the condition says about one variable.
  Interval ofSelect(Expr e) {
    Interval result = nothing;
    for (bool holds : {true, false}) {
      auto [var, values] = told(e->operands[0], holds);
      if (values.empty())
        continue;
      auto before = narrowed;
      if (var)
        narrowed.insert_or_assign(var.get(), values);
      result = hull(result, valueOf(e->operands[holds ? 1 : 2]));
      narrowed = std::move(before);
    }
    return result;
  }

  /// What is left of a variable that `condition` compares with a number; no variable if it is
  /// something else.
  std::pair<Expr, Interval> told(Expr condition, bool holds) {
    if (condition.isVar())
      if (auto let = definitions.find(condition.get()); let != definitions.end())
        condition = let->second;
    if (condition.kind() != ExprKind::Binary || !condition->operands[0].isVar() ||
        !condition->operands[1].isInt() || condition->binaryOp() != BinaryOp::Eq)
      return {Expr(), Interval{}};
    Interval values = valueOf(condition->operands[0]);
    std::int64_t number = condition->operands[1]->integer;
    if (holds)
      values = intersect(values, Interval::point(number));
    else if (values.lo == number)
      ++values.lo;
    else if (values.hi == number)
      --values.hi;
    return {condition->operands[0], values};
  }

  Interval ofBinary(Expr e) {
    Interval a = valueOf(e->operands[0]), b = valueOf(e->operands[1]);
    if (a.empty() || b.empty())
      return nothing;
    Interval result = anyOf(e.dtype());
    auto exact = [&](Interval values) { return values.within(result) ? values : result; };
    switch (e->binaryOp()) {
    case BinaryOp::Add:
      return exact(a + b);
    case BinaryOp::Sub:
      return exact(a - b);
    case BinaryOp::Mul:
      return exact(a * b);
    case BinaryOp::Min:
      return minimum(a, b);
    case BinaryOp::Max:
      return maximum(a, b);
    default:
      return result;
    }
  }

  std::unordered_map<const Buffer *, Interval> intervals;
  std::unordered_map<const ExprNode *, const Buffer *> loads;
  std::unordered_map<const ExprNode *, Expr> definitions;
  std::unordered_map<const ExprNode *, Interval> narrowed; ///< in the arm that is looked at
  std::vector<std::pair<const Buffer *, Expr>> stores;
  std::vector<const Buffer *> others;
  int steps = 0; ///< for the stored value that is looked at
};

} // namespace

std::unordered_map<const Buffer *, Interval> variableIntervals(const Launch &launch) {
  return Growth(launch).run();
}

} // namespace tlc::analysis
