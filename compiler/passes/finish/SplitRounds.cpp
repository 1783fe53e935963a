// split-rounds: the rounds of products that a mask concerns get a loop of their own.
//
//   for %k in 1 .. %b + 1 {                        for %k in 1 .. min(max(%b, 1), %b + 1) {
//     if %k * 128 + 127 > %b * 128 { mask }          products, clearing
//     products, adding to the mask           =>    }
//       if %k * 128 + 127 > %b * 128               for %k in max(%b, 1) .. %b + 1 {
//   }                                                mask ; products, adding to it
//                                                  }
//
// A condition that holds from some round on (for i32 sums that grow with the loop's variable, or
// several of them joined by `or` or `and`) is decided once, in front of the loop. What is left
// in the rounds without a mask is shorter by the test, and the assembler, which need not keep
// registers as a branch leaves them, orders it better: 1 % of causal attention on an H200, whether
// it is short or long.
//
// Only loops that issue products of warpgroups, which guard-masks gives such conditions, and whose
// rounds are long: the text of the loop is there twice.
//
// Why here: behind take-turns, which would count two loops; everything that has to happen in a
// certain order has its barriers. Before the last simplify, which removes what is decided.
#include "analysis/Monotone.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

bool isJoined(Expr e, BinaryOp by) { return e.kind() == ExprKind::Binary && e->binaryOp() == by; }

/// The conditions that `by` joins.
void collectParts(Expr e, BinaryOp by, std::vector<Expr> &found) {
  if (!isJoined(e, by))
    return found.push_back(e);
  collectParts(e->operands[0], by, found);
  collectParts(e->operands[1], by, found);
}

/// The least value of `var` from which on `condition` holds, whatever it is below, of int32 or
/// where that might wrap int64; null: unknown.
Expr beginning(Expr condition, Expr var, const analysis::Ranges &ranges) {
  if (isJoined(condition, BinaryOp::LogicalOr) || isJoined(condition, BinaryOp::LogicalAnd)) {
    Expr a = beginning(condition->operands[0], var, ranges),
         b = beginning(condition->operands[1], var, ranges);
    if (!a || !b)
      return {};
    return isJoined(condition, BinaryOp::LogicalOr) ? minimum(a, b) : maximum(a, b);
  }
  std::optional<Linear> sum = analysis::notNegativeWhere(condition);
  if (!sum)
    return {};
  std::int64_t step = 0;
  std::erase_if(sum->terms, [&](const auto &term) {
    if (term.first == var)
      step = term.second;
    return term.first == var;
  });
  if (step <= 0)
    return {};
  // As one sum, which is read as written and folded as far as it goes.
  for (auto &[term, factor] : sum->terms) {
    if (uses(term, var))
      return {};
    factor = -factor;
  }
  sum->constant = step - 1 - sum->constant;
  return floorDiv(exactSum(var.context(), std::move(*sum), ranges), step);
}

/// What a condition and its parts are worth where it is known to be `value`.
Substitution decided(Expr condition, bool value) {
  std::vector<Expr> parts = {condition};
  collectParts(condition, value ? BinaryOp::LogicalAnd : BinaryOp::LogicalOr, parts);
  Context &context = condition.context();
  Substitution found;
  for (Expr part : parts) {
    found.emplace_back(part, context.boolean(value));
    found.emplace_back(logicalNot(part), context.boolean(!value));
  }
  return found;
}

class RoundSplitter {
public:
  explicit RoundSplitter(Function &function) : function(function) {
    analysis::walkWithRanges(function, [&](Launch &, Stmt &stmt, analysis::Ranges &ranges) {
      if (auto *loop = dynCast<ForStmt>(&stmt))
        if (auto mask = maskOf(*loop, ranges))
          masks.emplace(loop, *mask);
      return true;
    });
  }

  void run(Launch &divided) {
    launch = &divided;
    visit(divided.body);
  }

private:
  /// What decides whether a round has the statements of a branch, and from which round on it holds.
  struct Mask {
    Expr condition, first;
  };

  void visit(Block &block) {
    Block out;
    for (StmtPtr &stmt : block) {
      forEachBlock(*stmt, [&](Block &inner) { visit(inner); });
      if (auto mask = masks.find(stmt.get()); mask != masks.end())
        split(std::move(stmt), mask->second, out);
      else
        out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  /// Of a loop of products; nothing: no branch is such.
  static std::optional<Mask> maskOf(const ForStmt &loop, const analysis::Ranges &ranges) {
    // (Where it counts otherwise, not every number from the beginning on is a round's.)
    const bool byOne = !loop.step || loop.step.isConstant(1);
    if (loop.kind != ForKind::Serial || loop.var.dtype() != DType(Scalar::Int32) || !byOne ||
        leavesLoop(loop.body) || !multiplies(loop))
      return std::nullopt;
    for (const StmtPtr &stmt : loop.body)
      if (const auto *branch = dynCast<IfStmt>(stmt.get());
          branch && uses(branch->condition, loop.var) && !usesBound(branch->condition, loop))
        if (Expr first = beginning(branch->condition, loop.var, ranges))
          return Mask{branch->condition, first};
    return std::nullopt;
  }

  /// Whether the loop itself, not one inside, issues products of warpgroups.
  static bool multiplies(const ForStmt &loop) {
    return std::any_of(loop.body.begin(), loop.body.end(), [](const StmtPtr &stmt) {
      const auto *async = dynCast<AsyncStmt>(stmt.get());
      return async && async->what == AsyncKind::Wgmma && async->commit;
    });
  }

  /// Whether the condition needs what is bound within the loop.
  static bool usesBound(Expr condition, const ForStmt &loop) {
    bool found = false;
    walk(loop.body, [&](const Stmt &stmt) {
      forEachDefinition(stmt, [&](Expr var) { found |= uses(condition, var); });
      return !found;
    });
    return found;
  }

  void split(StmtPtr stmt, const Mask &mask, Block &out) {
    Substitution renamed;
    StmtPtr copy = freshCopy(function, *stmt, renamed);
    auto &before = cast<ForStmt>(*stmt), &behind = cast<ForStmt>(*copy);
    Builder b(function, out);
    b.range = before.range;
    launch->note("rounds of `" + before.var->name +
                 "` that a mask concerns have a loop of their own: the others do not ask for it");
    // Within the loop's bounds it is int32 again.
    Expr first = minimum(maximum(mask.first, before.lo), before.hi);
    first = b.let("masked", function.context->cast(Scalar::Int32, first));
    substitute(before.body, decided(mask.condition, false));
    substitute(behind.body, decided(ir::substitute(mask.condition, renamed), true));
    before.hi = behind.lo = first;
    b.add(std::move(stmt));
    b.add(std::move(copy));
  }

  Function &function;
  Launch *launch = nullptr; ///< the one that is changed
  std::unordered_map<const Stmt *, Mask> masks;
};

} // namespace

void splitRounds(Function &function, PassContext &) {
  RoundSplitter splitter(function);
  for (auto &launch : function.launches)
    splitter.run(*launch);
}

} // namespace tlc::passes
