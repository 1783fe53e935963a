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

/// The least value of `var` from which on `condition` holds, whatever it is below; null: unknown.
Expr beginning(Expr condition, Expr var) {
  if (isJoined(condition, BinaryOp::LogicalOr) || isJoined(condition, BinaryOp::LogicalAnd)) {
    Expr a = beginning(condition->operands[0], var), b = beginning(condition->operands[1], var);
    if (!a || !b)
      return {};
    return isJoined(condition, BinaryOp::LogicalOr) ? minimum(a, b) : maximum(a, b);
  }
  Expr sum = analysis::notNegativeWhere(condition);
  if (!sum || sum.dtype() != var.dtype())
    return {};
  Linear rest = linear(sum);
  std::int64_t step = 0;
  std::erase_if(rest.terms, [&](const auto &term) {
    if (term.first == var)
      step = term.second;
    return term.first == var;
  });
  Expr offset = fromLinear(var.context(), var.dtype(), rest);
  if (step <= 0 || uses(offset, var))
    return {};
  // As one sum, which is read as written and folded as far as it goes.
  for (auto &[term, factor] : rest.terms)
    factor = -factor;
  rest.constant = step - 1 - rest.constant;
  return floorDiv(fromLinear(var.context(), var.dtype(), rest), step);
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
  explicit RoundSplitter(Function &function) : function(function) {}

  void run(Block &block) {
    Block out;
    for (StmtPtr &stmt : block) {
      forEachBlock(*stmt, [&](Block &inner) { run(inner); });
      auto *loop = dynCast<ForStmt>(stmt.get());
      Expr condition = loop ? conditionOf(*loop) : Expr();
      if (condition)
        split(std::move(stmt), condition, out);
      else
        out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

private:
  /// What decides whether a round has the statements of a branch, if it holds from some round on in
  /// a loop of products; null: nothing.
  static Expr conditionOf(const ForStmt &loop) {
    // (Where it counts otherwise, not every number from the beginning on is a round's.)
    const bool byOne = !loop.step || loop.step.isConstant(1);
    if (loop.kind != ForKind::Serial || loop.var.dtype() != DType(Scalar::Int32) || !byOne ||
        leavesLoop(loop.body) || !multiplies(loop))
      return {};
    for (const StmtPtr &stmt : loop.body)
      if (const auto *branch = dynCast<IfStmt>(stmt.get());
          branch && uses(branch->condition, loop.var) && !usesBound(branch->condition, loop) &&
          beginning(branch->condition, loop.var))
        return branch->condition;
    return {};
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

  void split(StmtPtr stmt, Expr condition, Block &out) {
    Substitution renamed;
    StmtPtr copy = freshCopy(function, *stmt, renamed);
    auto &before = cast<ForStmt>(*stmt), &behind = cast<ForStmt>(*copy);
    Builder b(function, out);
    b.range = before.range;
    Expr first = maximum(beginning(condition, before.var), before.lo);
    first = b.let("masked", minimum(first, before.hi));
    substitute(before.body, decided(condition, false));
    substitute(behind.body, decided(ir::substitute(condition, renamed), true));
    before.hi = behind.lo = first;
    b.add(std::move(stmt));
    b.add(std::move(copy));
  }

  Function &function;
};

} // namespace

void splitRounds(Function &function, PassContext &) {
  for (auto &launch : function.launches)
    RoundSplitter(function).run(launch->body);
}

} // namespace tlc::passes
