// select-copies: which copies tensor maps do.
//
//   copy %A_s -> %A[%y, %x : +64] tma                 copy %A_s -> %A[%y, %x : +64] tma
//   copy %B_s -> %B[%y, %x : +64] tma          =>     copy %B_s -> %B[%y, %x : +64]
//   // where rows of %B may lie anywhere
//
// T.tma_copy is an order: where the hardware cannot follow it, the program is wrong. The rest are
// wishes. A load that is to be complete when it returns would need a barrier object of its own and
// is faster in other ways, so its wish is forgotten; specialize-warps asks anew.
//
// Why here: after aligned-variants, which makes rows lie where the hardware wants them; before the
// planner and layouts, which ask how a copy is done.
#include "analysis/Copies.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <utility>

namespace tlc::passes {

using namespace ir;

namespace {

void select(CopyStmt &copy, PassContext &context, const analysis::Ranges &ranges) {
  if (copy.copyKind != CopyKind::Tma)
    return;
  std::string fault = analysis::whyNotTma(copy, context.target, ranges);
  if (copy.multicast && copy.multicast.constant().value_or(0) <= 0)
    fault = "the blocks that get it are not a constant mask";
  bool order = copy.async;
  if (order && !fault.empty())
    context.diagnostics.report(diag::NotByTensorMap, copy.range, fault);
  if (!order && (!fault.empty() || !analysis::isTmaCopy(copy)))
    copy.copyKind = CopyKind::Auto;
}

/// Whether tensor maps are asked for, by order or by wish; on targets without them, too.
bool wants(const Stmt &stmt) {
  if (auto *copy = dynCast<CopyStmt>(&stmt))
    return copy->copyKind == CopyKind::Tma;
  auto *atomic = dynCast<AtomicTileStmt>(&stmt);
  return atomic && atomic->useTma;
}

} // namespace

void selectCopies(Function &function, PassContext &context) {
  bool any = false;
  for (auto &launch : function.launches)
    walk(std::as_const(launch->body), [&](const Stmt &stmt) {
      any |= wants(stmt);
      return !any;
    });
  if (!any)
    return;
  analysis::walkWithRanges(function, [&](Launch &, Stmt &stmt, analysis::Ranges &ranges) {
    if (auto *copy = dynCast<CopyStmt>(&stmt))
      select(*copy, context, ranges);
    if (auto *atomic = dynCast<AtomicTileStmt>(&stmt); atomic && atomic->useTma)
      atomic->useTma = analysis::whyNotTma(*atomic, context.target, ranges).empty();
    return true;
  });
}

} // namespace tlc::passes
