// unroll: T.unroll(explicit=True) becomes straight code.
//
//   for %i in 0 .. 2 unroll expand {         store %x[0] = 0
//     store %x[%i] = %i                =>    store %x[1] = 1
//   }
//
// Stands before everything that counts or plans statements. Unroll loops without `expand` are left
// to the downstream compiler, which gets a pragma; what must be constant before that (the arms of a
// chain of roles) is written with `expand`.
#include "analysis/Ranges.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

namespace tlc::passes {

using namespace ir;

namespace {

/// Code that grew beyond this is a mistake, not a wish.
constexpr std::int64_t maxCopies = 4096;

class Unroller {
public:
  Unroller(Function &function, PassContext &pass) : function(function), pass(pass) {}

  void block(Block &b) {
    rewrite(b, [&](StmtPtr stmt, Block &out) {
      auto *loop = dynCast<ForStmt>(stmt.get());
      if (!loop || loop->kind != ForKind::Unroll || !loop->expand || !expand(*loop, out))
        out.push_back(std::move(stmt));
    });
  }

private:
  /// False: stays a loop.
  bool expand(ForStmt &loop, Block &out) {
    auto lo = loop.lo.constant(), hi = loop.hi.constant();
    auto step = loop.step ? loop.step.constant() : std::optional<std::int64_t>(1);
    if (!lo || !hi || !step || *step == 0 || leavesLoop(loop.body)) {
      loop.expand = false; // an unroll pragma is the most that can be done
      return false;
    }
    std::int64_t count =
        *step > 0 ? (*hi - *lo + *step - 1) / *step : (*lo - *hi - *step - 1) / -*step;
    if (count > maxCopies) {
      pass.diagnostics.report(diag::UnrollTooLarge, loop.range, count, maxCopies);
      return false;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      Substitution map{{loop.var, function.context->integer(loop.var.dtype(), *lo + i * *step)}};
      Block copy = freshCopy(function, loop.body, map);
      for (StmtPtr &stmt : copy)
        out.push_back(std::move(stmt));
    }
    return true;
  }

  Function &function;
  PassContext &pass;
};

} // namespace

void unroll(Function &function, PassContext &context) {
  for (auto &launch : function.launches)
    Unroller(function, context).block(launch->body);
}

} // namespace tlc::passes
