// unfold-images: tiles of unfolded images are read pixel by pixel where tensor maps cannot.
//
//   copy %X_unfolded[%p : +128, %k : +64] -> %x      =>     map %i in 128, %j in 64 {
//                                                             load %pixel = %X[n, y, x, c]
//                                                             if(inside) store %x[%i, %j] = %pixel
//                                                           }
//
// A convolution by products multiplies a matrix that nowhere exists: a row for each pixel of the
// result, a column for each tap of the kernel and channel (ir/Unfold.h). Tensor maps read its tiles
// out of the image, zeros included, if a tile's columns are of one tap. Only producers issue them,
// so copies outside of pipelined loops, and on targets without warpgroup products, are expanded
// here; those of a loop that gets no producer, in split-copies.
//
// Why here: what is expanded is ordinary from here on.
#include "analysis/Copies.h"
#include "ir/Unfold.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <unordered_set>

namespace tlc::passes {

using namespace ir;

void unfoldImages(Function &function, PassContext &context) {
  if (!hasUnfolded(function))
    return;
  std::unordered_set<const Stmt *> inLoops, kept;
  for (auto &launch : function.launches)
    walk(launch->body, [&](Stmt &stmt) {
      auto *loop = dynCast<ForStmt>(&stmt);
      if (loop && loop->kind == ForKind::Pipelined && loop->stages > 0)
        for (const StmtPtr &inner : loop->body)
          inLoops.insert(inner.get());
      return true;
    });
  bool possible = context.target.has(Feature::Wgmma) && !function.options.disableTma &&
                  !function.options.disableWarpSpecialize && !function.options.hintsAreBinding;
  if (possible)
    analysis::walkWithRanges(function, [&](Launch &, Stmt &stmt, analysis::Ranges &ranges) {
      if (auto *copy = dynCast<CopyStmt>(&stmt);
          copy && inLoops.count(copy) && analysis::canUseTma(*copy, context.target, ranges))
        kept.insert(copy);
      return true;
    });
  expandUnfolded(function, [&](const CopyStmt &copy) { return kept.count(&copy) != 0; });
}

} // namespace tlc::passes
