// split-offsets: offsets into tensors as a part that stands still in a loop plus a multiple of the
// loop's variable.
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
    for (StmtPtr &stmt : block) {
      auto *loop = dynCast<ForStmt>(stmt.get());
      bool counts = loop && (loop->kind == ForKind::Serial || loop->kind == ForKind::Pipelined);
      if (counts)
        loops.push_back(loop->var);
      forEachUse(*stmt, [&](const BufferUse &use) {
        if (use.element && use.element->physical && use.buffer->storage()->scope == Scope::Global &&
            !loops.empty())
          split(use.element->indices[0]);
      });
      forEachBlock(*stmt, [&](Block &inner) { run(inner); });
      if (counts)
        loops.pop_back();
    }
  }

private:
  /// The innermost loop's part is taken out; what remains is invariant there.
  void split(Expr &index) {
    Expr var = loops.back();
    if (!uses(index, var) || index.dtype().bits() < 64)
      return;
    Expr still = substitute(index, {{var, context.integer(var.dtype(), 0)}});
    analysis::Poly moving = ranges.poly(index) - ranges.poly(still);
    if (!moving.valid || !linearIn(moving, var))
      return;
    Expr part = analysis::toExpr(context, index.dtype(), moving);
    if (part)
      index = still + part;
  }

  /// Each monomial holds `var` once, and beside it nothing that hides `var`.
  static bool linearIn(const analysis::Poly &poly, Expr var) {
    if (poly.constant != 0)
      return false;
    return std::all_of(poly.terms.begin(), poly.terms.end(), [&](const auto &term) {
      std::size_t count = 0;
      for (Expr atom : term.first) {
        if (atom == var)
          ++count;
        else if (uses(atom, var))
          return false;
      }
      return count == 1;
    });
  }

  Context &context;
  analysis::Ranges ranges;
  std::vector<Expr> loops; ///< variables of the counted loops around, outermost first
};

} // namespace

void splitOffsets(Function &function, PassContext &pass) {
  if (!pass.target.isGpu())
    return;
  for (auto &launch : function.launches)
    Splitter(function).run(launch->body);
}

} // namespace tlc::passes
