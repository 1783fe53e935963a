// split-offsets: offsets as a part that stands still in a loop plus what the loop adds to it.
//
//   for %k in 0 .. %n {                                         for %k in 0 .. %n {
//     move %B![i64((%k + 2)*32 + %row) * %N + i64(%col)]   =>     move %B![(i64(64 + %row) * %N +
//     i64(%col)) + i64(%k) * 32 * %N]
//   }                                                           }
//
// The downstream compiler does not look through the widening of a sum, so it would multiply anew in
// each round. In this form it keeps the first part in a register and adds; it does not overflow
// where the whole did not.
//
// It does not keep it where it is short of registers, though, as in loops of matrix products, and
// computes the whole address of each copy anew, in the time of the products. So what stands still
// in the addresses of asynchronous copies is computed once in front of the loop, in a way that it
// has to respect:
//
//   for %k in 0 .. %n {                              let %A_at = i64(%by*128 + %tid//4)*i64(%K)
//   kept
//     for %g in 0 .. 4 unroll {                =>    for %k in 0 .. %n { for %g in 0 .. 4 unroll {
//       move %A![i64(%by*128 + (%g*32 +                move %A![%A_at + (i64(%g)*32*i64(%K) +
//       %tid//4))*i64(%K) + i64(%k)*32] -> … async     i64(%k)*32)] -> … async
//
// Why here: on final addresses, after everything that simplifies them; only the text follows.
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

class Splitter {
public:
  explicit Splitter(Function &function) : context(*function.context), ranges(function) {}

  void run(Block &block) {
    Block out;
    for (StmtPtr &stmt : block) {
      auto *loop = dynCast<ForStmt>(stmt.get());
      bool counts = loop && (loop->kind == ForKind::Serial || loop->kind == ForKind::Pipelined);
      if (counts)
        loops.push_back({loop->range, loop->var, {}, {}, {}});
      else if (!loops.empty())
        define(*stmt);
      if (!loops.empty())
        visit(*stmt);
      forEachBlock(*stmt, [&](Block &inner) { run(inner); });
      if (counts) {
        std::move(loops.back().kept.begin(), loops.back().kept.end(), std::back_inserter(out));
        loops.pop_back();
      }
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

private:
  struct Loop {
    SourceRange range;
    Expr var;
    std::vector<Expr> unrolled; ///< variables of loops inside that will be constants
    std::vector<Expr> defined;  ///< other variables that are bound inside
    Block kept;                 ///< lets that go in front of the loop
  };

  void define(const Stmt &stmt) {
    auto *loop = dynCast<ForStmt>(&stmt);
    bool unrolled = loop && loop->kind == ForKind::Unroll;
    forEachDefinition(stmt, [&](Expr var) {
      (unrolled ? loops.back().unrolled : loops.back().defined).push_back(var);
    });
  }

  void visit(Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.element && use.element->physical && use.buffer->storage()->scope == Scope::Global)
        split(use.element->indices[0]);
    });
    if (auto *move = dynCast<MoveStmt>(&stmt); move && move->async)
      for (Element *element : {&move->source, &move->target})
        keep(element->indices[0], *element->buffer);
  }

  /// The innermost loop's part is taken out; what remains is invariant there.
  void split(Expr &index) {
    Expr var = loops.back().var;
    if (!uses(index, var) || index.dtype().bits() < 64)
      return;
    Expr still = substitute(index, {{var, context.integer(var.dtype(), 0)}});
    if (Expr part =
            moving(index, still, [&](Expr atom) { return atom == var || !uses(atom, var); }))
      index = still + part;
  }

  /// What stands still in the innermost loop, with the first round of loops that are unrolled, gets
  /// a register.
  void keep(Expr &index, const Buffer &buffer) {
    Loop &loop = loops.back();
    Substitution first{{loop.var, context.integer(loop.var.dtype(), 0)}};
    for (Expr var : loop.unrolled)
      first.emplace_back(var, context.integer(var.dtype(), 0));
    Expr still = substitute(index, first);
    if (still->operands.empty() || usesAny(still, loop.defined))
      return;
    Expr part = moving(index, still, [&](Expr atom) {
      if (atom == loop.var || !(uses(atom, loop.var) || usesAny(atom, loop.unrolled)))
        return true;
      std::vector<Expr> vars;
      collectVars(atom, vars);
      return std::all_of(vars.begin(), vars.end(), [&](Expr var) {
        return std::count(loop.unrolled.begin(), loop.unrolled.end(), var) > 0;
      });
    });
    if (part)
      index = keptValue(loop, still, buffer) + part;
  }

  Expr keptValue(Loop &loop, Expr value, const Buffer &buffer) {
    for (const StmtPtr &known : loop.kept)
      if (const auto &let = cast<LetStmt>(*known); let.value == value)
        return let.var;
    auto let = std::make_unique<LetStmt>(loop.range);
    let->var = context.var(buffer.name + "_at", value.dtype());
    let->value = value;
    let->kept = true;
    Expr var = let->var;
    loop.kept.push_back(std::move(let));
    return var;
  }

  static bool usesAny(Expr e, const std::vector<Expr> &vars) {
    return std::any_of(vars.begin(), vars.end(), [&](Expr var) { return uses(e, var); });
  }

  /// index - still, if it is a sum of products whose factors all are `plain`; else null.
  template <typename F> Expr moving(Expr index, Expr still, F &&plain) {
    analysis::Poly difference = ranges.poly(index) - ranges.poly(still);
    if (!difference.valid || difference.constant != 0)
      return {};
    for (const auto &[monomial, coefficient] : difference.terms)
      if (!std::all_of(monomial.begin(), monomial.end(), plain))
        return {};
    return analysis::toExpr(context, index.dtype(), difference);
  }

  Context &context;
  analysis::Ranges ranges;
  std::vector<Loop> loops; ///< counted loops around, outermost first
};

} // namespace

void splitOffsets(Function &function, PassContext &pass) {
  if (!pass.target.isGpu())
    return;
  for (auto &launch : function.launches)
    Splitter(function).run(launch->body);
}

} // namespace tlc::passes
