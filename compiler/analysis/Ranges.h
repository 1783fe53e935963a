// What is known about the values of integer expressions at a point of a function: intervals,
// divisibility, and linear inequalities between them.
//
// Signed arithmetic is taken not to overflow, as everywhere in the IR; unsigned arithmetic is
// looked into only where it provably does not wrap. All answers are one-sided: false and nullopt
// mean "not proven".
//
//   Ranges ranges(function);              // dims >= 0 and the function's constraints
//   Ranges::Scope launch(ranges);         // everything added is forgotten at its end
//   ranges.enter(*function.launches[0]);
//   ranges.bind(loop);
//   ranges.assume(branch.condition);
//   ranges.less(index, extent);
#pragma once

#include "analysis/Interval.h"
#include "analysis/Poly.h"
#include "analysis/States.h"
#include "ir/Function.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tlc::analysis {

class Ranges {
public:
  Ranges() = default;
  explicit Ranges(const ir::Function &function);

  /// Forgets, when it ends, what was added since it began.
  class Scope {
  public:
    explicit Scope(Ranges &ranges);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Ranges &ranges;
    std::size_t facts, undo;
    States::Id known, values;
  };

  void enter(const ir::Launch &launch);                       ///< block and thread variables
  void bind(const ir::ForStmt &loop);                         ///< the loop variable, in the body
  void bind(const ir::MapStmt &map);                          ///< the map's variables, in the body
  void bind(const ir::RoleStmt &role);                        ///< the thread indices, in the body
  void bindTeam(const ir::RoleStmt &role, std::int64_t team); ///< those of one team, there
  void bind(const ir::LetStmt &let);                          ///< after the statement
  void bindVar(ir::Expr var, Interval values);                ///< lo <= var <= hi
  /// var is value, wherever var is bound at all: not forgotten with the scope. Answers given before
  /// about what uses var may stay as weak as they were.
  void define(ir::Expr var, ir::Expr value);
  /// `condition` (or, if not `holds`, its contrary) is true from here on.
  void assume(ir::Expr condition, bool holds = true);
  /// Contradicting assumptions were made: the point cannot be reached.
  bool unreachable() const { return contradiction; }

  /// Within the dtype's range at least.
  Interval interval(ir::Expr e) const;
  Congruence congruence(ir::Expr e) const;
  bool divisible(ir::Expr e, std::int64_t d) const { return congruence(e).divisibleBy(d); }
  /// Largest power of two that divides e, at most `limit` (a power of two).
  std::int64_t alignment(ir::Expr e, std::int64_t limit) const;

  bool nonNegative(ir::Expr e) const;
  bool less(ir::Expr a, ir::Expr b) const;
  bool lessEqual(ir::Expr a, ir::Expr b) const;
  bool equal(ir::Expr a, ir::Expr b) const;
  bool differ(ir::Expr a, ir::Expr b) const; ///< proven unequal
  /// The value of a bool expression where it is proven.
  std::optional<bool> decide(ir::Expr condition) const;
  /// decide(condition) == false, without trying to show that it is true.
  bool refutes(ir::Expr condition) const;

  /// The value as a polynomial over atoms; lets are looked through, division by constants, shifts
  /// and minima are brought into one form. Invalid for floats and vectors. Stays where it is as
  /// long as nothing is added or forgotten.
  const Poly &poly(ir::Expr e) const;
  bool nonNegative(const Poly &p) const;
  Interval interval(const Poly &p) const;
  Congruence congruence(const Poly &p) const;
  /// Equal numbers: all that is known is equal.
  States::Id known() const { return states.current(); }
  /// Equal numbers: intervals, congruences and polynomials are equal, as far as they were asked
  /// for.
  States::Id valuesKnown() const { return values; }
  /// What `var` was defined as by a let, null if by none.
  ir::Expr definition(ir::Expr var) const;

private:
  friend class Prover;
  struct Undo {
    enum class What : std::uint8_t { Interval, Congruence, Split, Contradiction } what;
    ir::Expr var;
    std::optional<Interval> interval;
    std::optional<Congruence> congruence;
  };

  void refine(ir::Expr var, Interval values);
  void refine(ir::Expr var, Congruence values);
  void addFact(const Poly &nonNegative);
  void store(Poly fact);
  void contradict();
  void assumeComparison(ir::BinaryOp op, ir::Expr a, ir::Expr b);
  Interval computeInterval(ir::Expr e) const;
  Interval binaryInterval(ir::Expr e) const;
  Congruence computeCongruence(ir::Expr e) const;
  Poly computePoly(ir::Expr e) const;
  Poly binaryPoly(ir::Expr e) const;
  Poly quotientPoly(ir::Expr e, const Poly &dividend, std::int64_t divisor) const;
  bool exact(ir::Expr e) const;
  bool boundedBelow(const Poly &p) const;
  bool computeRefutes(ir::Expr condition) const;
  void valuesChanged();

  std::vector<Poly> facts; ///< each is >= 0
  /// Those that an atom occurs in, oldest first.
  std::unordered_map<const ir::ExprNode *, std::vector<std::size_t>> factsOfAtom;
  std::unordered_map<const ir::ExprNode *, Interval> intervals;
  std::unordered_map<const ir::ExprNode *, Congruence> congruences;
  std::unordered_map<const ir::ExprNode *, Congruence> splits; ///< how poly() writes a variable
  std::unordered_map<const ir::ExprNode *, ir::Expr> definitions;
  std::vector<Undo> undoLog;
  bool contradiction = false;
  std::vector<ir::Expr> linearThread; ///< variables that are the linear thread index

  States states;
  States::Id values = 0; ///< the state in which intervals, congruences or splits changed last
  struct Question {
    States::Id state;
    Poly goal;
    bool operator==(const Question &) const = default;
  };
  struct QuestionHash {
    std::size_t operator()(const Question &q) const { return q.goal.hash() * 31 + q.state; }
  };
  // Answers by state. Intervals, congruences and polynomials do not depend on facts.
  mutable Memo<Interval> intervalMemo;
  mutable Memo<Congruence> congruenceMemo;
  mutable Memo<Poly> polyMemo;
  mutable Memo<std::vector<Poly>> factsMemo; ///< what Prover::factsOn found
  mutable Memo<bool> refutesMemo;
  mutable std::unordered_map<Question, bool, QuestionHash> proofs;
};

/// Runs through a block in order with the ranges that hold at each statement. `f` is called before
/// the statement's nested blocks; it returns whether to go into them.
void walkWithRanges(ir::Block &block, Ranges &ranges, const std::function<bool(ir::Stmt &)> &f);
/// Over all launches, each in a scope of its own.
void walkWithRanges(ir::Function &function,
                    const std::function<bool(ir::Launch &, ir::Stmt &, Ranges &)> &f);

} // namespace tlc::analysis
