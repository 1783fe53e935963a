// Ranges: proofs of inequalities.
//
// To show g >= 0, a fact f >= 0 is subtracted so often (c times, c >= 0) that the newest atom of g
// disappears, and what is left is shown to be >= 0 in turn, until intervals decide. Minima, maxima
// and selects whose side matters are proven for both sides.
#include "analysis/Ranges.h"
#include "ir/Walk.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tlc::analysis {

using namespace ir;

class Prover {
public:
  explicit Prover(const Ranges &ranges) : ranges(ranges) {}

  bool nonNegative(const Poly &goal, int depth = deepest) {
    if (!goal.valid)
      return false;
    // What was tried before, on another way to the same goal, will not succeed now.
    std::uint64_t key = goal.hash() >> 1;
    if (tried.contains(key)) {
      budget -= depth > 0;
      return false;
    }
    if (ranges.boundedBelow(goal))
      return true;
    if (depth == 0 || --budget < 0)
      return false;
    tried.insert(key);
    llvm::SmallVector<Expr, 8> atoms = goal.atoms();
    std::sort(atoms.begin(), atoms.end(), [](Expr a, Expr b) { return a->id > b->id; });
    for (Expr atom : atoms) {
      if (eliminate(goal, atom, depth))
        return true;
      if (budget < 0)
        return false;
    }
    return false;
  }

private:
  static bool divides(const Monomial &part, const Monomial &whole, Monomial &rest) {
    if (part.size() > whole.size())
      return false;
    if (whole.size() == 1)
      return part == whole;
    rest = whole;
    return std::all_of(part.begin(), part.end(), [&](Expr factor) { return rest.remove(factor); });
  }

  /// Whether intervals say that the product is >= 0, or else <= 0.
  bool hasSign(const Monomial &product, bool positive) const {
    Interval sign = Interval::point(1);
    for (Expr factor : product)
      sign = sign * ranges.interval(factor);
    return positive ? sign.lo >= 0 : sign.hi <= 0;
  }

  /// A fact that was used on the way to a goal brings back there what it took away: bounds of a
  /// quotient and of its dividend would take turns.
  bool isOnPath(const Poly &fact) const {
    return std::any_of(path.begin(), path.end(), [&](const Poly *used) { return *used == fact; });
  }

  bool eliminate(const Poly &goal, Expr atom, int depth) {
    if (bothSides(goal, atom, depth) || ofDividend(goal, atom, depth))
      return true;
    const std::vector<Poly> &known = factsOn(atom);
    for (const auto &[monomial, coefficient] : goal.terms) {
      if (!monomial.contains(atom))
        continue;
      for (const Poly &fact : known)
        for (const auto &[part, weight] : fact.terms) {
          Monomial rest;
          if (!part.contains(atom) || !divides(part, monomial, rest))
            continue;
          // goal - (coefficient / weight) * cofactor * fact, times |weight|; cofactor is `rest`.
          bool positive = (coefficient < 0) == (weight < 0);
          if (rest.empty() ? !positive : !hasSign(rest, positive))
            continue;
          // What an interval says too is taken into account where intervals decide.
          if (rest.empty() && fact.terms.size() == 1 && ranges.boundedBelow(fact))
            continue;
          if (isOnPath(fact))
            continue;
          std::int64_t g = std::gcd(coefficient, weight);
          std::int64_t scale = std::abs(weight / g);
          std::int64_t times = coefficient / g * (weight < 0 ? 1 : -1);
          path.push_back(&fact);
          bool proven =
              nonNegative(rest.empty() ? combine(scale, goal, times, fact)
                                       : combine(scale, goal, times, Poly::product(rest) * fact),
                          depth - 1);
          path.pop_back();
          if (proven)
            return true;
          if (budget < 0)
            return false;
        }
    }
    return false;
  }

  /// A minimum is one of its operands: a goal that holds for both holds.
  bool bothSides(const Poly &goal, Expr atom, int depth) {
    bool isChoice = atom.kind() == ExprKind::Select ||
                    (atom.kind() == ExprKind::Binary &&
                     (atom->binaryOp() == BinaryOp::Min || atom->binaryOp() == BinaryOp::Max));
    if (!isChoice)
      return false;
    std::size_t first = atom.kind() == ExprKind::Select ? 1 : 0;
    return nonNegative(goal.replaced(atom, ranges.poly(atom->operands[first])), depth - 1) &&
           nonNegative(goal.replaced(atom, ranges.poly(atom->operands[first + 1])), depth - 1);
  }

  /// x // d + r >= 0 is x + d r >= 0, and r - x // d >= 0 is d r + d - 1 - x >= 0: what the bounds
  /// of a quotient, which are those of a fraction, only come near.
  bool ofDividend(const Poly &goal, Expr atom, int depth) {
    if (depth < nearGoal || atom.kind() != ExprKind::Binary ||
        atom->binaryOp() != BinaryOp::FloorDiv || !atom->operands[1].isInt() ||
        atom->operands[1]->integer <= 0)
      return false;
    std::int64_t sign = 0;
    for (const auto &[monomial, coefficient] : goal.terms)
      if (monomial.contains(atom)) {
        if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1))
          return false;
        sign = coefficient;
      }
    const Poly divisor(atom->operands[1]->integer);
    Poly dividend = ranges.poly(atom->operands[0]);
    Poly rest = (goal - Poly::atom(atom) * Poly(sign)) * divisor;
    return nonNegative(sign > 0 ? rest + dividend : rest + divisor - 1 - dividend, depth - 1);
  }

  /// What is known to be >= 0 and has the atom in it, the newest first.
  const std::vector<Poly> &factsOn(Expr atom) {
    States::Id state = ranges.states.current();
    if (const std::vector<Poly> *known = ranges.factsMemo.find(atom.get(), state))
      return *known;
    // Loops and guards often say again what an interval says.
    std::vector<Poly> result;
    auto add = [&](Poly fact) {
      if (std::find(result.begin(), result.end(), fact) == result.end())
        result.push_back(std::move(fact));
    };
    if (auto found = ranges.factsOfAtom.find(atom.get()); found != ranges.factsOfAtom.end())
      for (auto index = found->second.rbegin(); index != found->second.rend(); ++index)
        add(ranges.facts[*index]);
    Poly self = Poly::atom(atom);
    if (atom.kind() == ExprKind::Binary) {
      Expr x = atom->operands[0], y = atom->operands[1];
      switch (atom->binaryOp()) {
      case BinaryOp::FloorDiv:
        if (ranges.interval(y).lo > 0) {
          Poly rest = ranges.poly(x) - self * ranges.poly(y);
          add(rest);
          add(ranges.poly(y) - 1 - rest);
        }
        break;
      case BinaryOp::Min:
        add(ranges.poly(x) - self);
        add(ranges.poly(y) - self);
        break;
      case BinaryOp::Max:
        add(self - ranges.poly(x));
        add(self - ranges.poly(y));
        break;
      default:
        break;
      }
    }
    Interval values = ranges.interval(atom);
    if (values.lo != Interval::minusInfinity)
      add(self - Poly(values.lo));
    if (values.hi != Interval::infinity)
      add(Poly(values.hi) - self);
    return ranges.factsMemo.set(atom.get(), state, std::move(result));
  }

  /// Facts in a proof, and how many of them are left where a goal is still that which was asked,
  /// but for sides of minima: going over to dividends anywhere would double the ways.
  static constexpr int deepest = 12, nearGoal = deepest - 2;

  const Ranges &ranges;
  llvm::SmallVector<const Poly *, 16> path; ///< facts used on the way to the goal
  llvm::SmallDenseSet<std::uint64_t, 64>
      tried; ///< hashes without their last bit: two keys are the set's own
  /// Goals: the longest proofs of the samples and tests need 72, and what fails uses up all of
  /// them.
  int budget = 100;
};

bool Ranges::nonNegative(const Poly &p) const {
  if (contradiction || boundedBelow(p))
    return true;
  if (!p.valid)
    return false;
  Question question{states.current(), p};
  if (auto known = proofs.find(question); known != proofs.end())
    return known->second;
  bool proven = Prover(*this).nonNegative(p);
  proofs.emplace(std::move(question), proven);
  return proven;
}
bool Ranges::nonNegative(Expr e) const {
  return interval(e).lo >= 0 || (!e.dtype().isUInt() && nonNegative(poly(e)));
}
bool Ranges::less(Expr a, Expr b) const {
  return contradiction || interval(a).hi < interval(b).lo || nonNegative(poly(b) - poly(a) - 1);
}
bool Ranges::lessEqual(Expr a, Expr b) const {
  return contradiction || interval(a).hi <= interval(b).lo || nonNegative(poly(b) - poly(a));
}

bool Ranges::equal(Expr a, Expr b) const {
  if (a == b)
    return true;
  Interval x = interval(a);
  if (x.isPoint() && x == interval(b))
    return true;
  Poly difference = poly(a) - poly(b);
  if (!difference.valid)
    return false;
  return difference.isConstant() ? difference.constant == 0
                                 : nonNegative(difference) && nonNegative(Poly(0) - difference);
}

bool Ranges::differ(Expr a, Expr b) const {
  Interval x = interval(a), y = interval(b);
  if (x.hi < y.lo || y.hi < x.lo)
    return true;
  Poly difference = poly(a) - poly(b);
  if (!difference.valid)
    return false;
  if (difference.isConstant())
    return difference.constant != 0;
  if (!congruence(difference).allows(0))
    return true;
  return nonNegative(difference - 1) || nonNegative(Poly(-1) - difference);
}

std::optional<bool> Ranges::decide(Expr condition) const {
  if (auto value = condition.constant())
    return *value != 0;
  if (condition.isVar()) {
    Expr value = definition(condition);
    return value ? decide(value) : std::nullopt;
  }
  if (condition.kind() == ExprKind::Unary && condition->unaryOp() == UnaryOp::Not) {
    auto inner = decide(condition->operands[0]);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (condition.kind() != ExprKind::Binary)
    return std::nullopt;
  Expr a = condition->operands[0], b = condition->operands[1];
  BinaryOp op = condition->binaryOp();
  if (op == BinaryOp::LogicalAnd || op == BinaryOp::LogicalOr) {
    auto x = decide(a), y = decide(b);
    bool deciding = op == BinaryOp::LogicalOr;
    if ((x && *x == deciding) || (y && *y == deciding))
      return deciding;
    return x && y ? std::optional(!deciding) : std::nullopt;
  }
  if (a.dtype().isFloat() || a.dtype().isVector() || a.dtype().isBool())
    return std::nullopt;
  if (op == BinaryOp::Gt || op == BinaryOp::Ge) {
    std::swap(a, b);
    op = op == BinaryOp::Gt ? BinaryOp::Lt : BinaryOp::Le;
  }
  switch (op) {
  case BinaryOp::Lt:
    return less(a, b) ? std::optional(true) : lessEqual(b, a) ? std::optional(false) : std::nullopt;
  case BinaryOp::Le:
    return lessEqual(a, b) ? std::optional(true) : less(b, a) ? std::optional(false) : std::nullopt;
  case BinaryOp::Eq:
    return differ(a, b) ? std::optional(false) : equal(a, b) ? std::optional(true) : std::nullopt;
  case BinaryOp::Ne:
    return differ(a, b) ? std::optional(true) : equal(a, b) ? std::optional(false) : std::nullopt;
  default:
    return std::nullopt;
  }
}

bool Ranges::refutes(Expr condition) const {
  States::Id state = states.current();
  if (const bool *known = refutesMemo.find(condition.get(), state))
    return *known;
  return refutesMemo.set(condition.get(), state, computeRefutes(condition));
}

bool Ranges::computeRefutes(Expr condition) const {
  if (condition.kind() != ExprKind::Binary)
    return decide(condition) == false;
  Expr a = condition->operands[0], b = condition->operands[1];
  switch (condition->binaryOp()) {
  case BinaryOp::LogicalAnd:
    return refutes(a) || refutes(b);
  case BinaryOp::LogicalOr:
    return refutes(a) && refutes(b);
  case BinaryOp::Lt:
    return !a.dtype().isFloat() && lessEqual(b, a);
  case BinaryOp::Le:
    return !a.dtype().isFloat() && less(b, a);
  case BinaryOp::Gt:
    return !a.dtype().isFloat() && lessEqual(a, b);
  case BinaryOp::Ge:
    return !a.dtype().isFloat() && less(a, b);
  default:
    return decide(condition) == false;
  }
}

namespace {

void walkBlock(Block &block, Ranges &ranges, const std::function<bool(Stmt &)> &f) {
  for (StmtPtr &stmt : block) {
    if (f(*stmt)) {
      if (auto *branch = dynCast<IfStmt>(stmt.get())) {
        for (bool side : {true, false}) {
          Ranges::Scope scope(ranges);
          ranges.assume(branch->condition, side);
          walkBlock(side ? branch->then : branch->otherwise, ranges, f);
        }
      } else if (auto *loop = dynCast<WhileStmt>(stmt.get())) {
        Ranges::Scope scope(ranges);
        walkBlock(loop->conditionBlock, ranges, f);
        ranges.assume(loop->condition);
        walkBlock(loop->body, ranges, f);
      } else {
        forEachBlock(*stmt, [&](Block &inner) {
          Ranges::Scope scope(ranges);
          if (auto *loop = dynCast<ForStmt>(stmt.get()))
            ranges.bind(*loop);
          else if (auto *map = dynCast<MapStmt>(stmt.get()))
            ranges.bind(*map);
          else if (auto *role = dynCast<RoleStmt>(stmt.get()))
            ranges.bind(*role);
          walkBlock(inner, ranges, f);
        });
      }
    }
    if (auto *let = dynCast<LetStmt>(stmt.get()))
      ranges.bind(*let);
    else if (auto *assumption = dynCast<AssumeStmt>(stmt.get()))
      ranges.assume(assumption->condition);
  }
}

} // namespace

void walkWithRanges(Block &block, Ranges &ranges, const std::function<bool(Stmt &)> &f) {
  Ranges::Scope scope(ranges);
  walkBlock(block, ranges, f);
}

void walkWithRanges(Function &function, const std::function<bool(Launch &, Stmt &, Ranges &)> &f) {
  Ranges ranges(function);
  for (auto &launch : function.launches) {
    Ranges::Scope scope(ranges);
    ranges.enter(*launch);
    walkBlock(launch->body, ranges, [&](Stmt &stmt) { return f(*launch, stmt, ranges); });
  }
}

} // namespace tlc::analysis
