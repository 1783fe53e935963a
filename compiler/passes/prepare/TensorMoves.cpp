#include "passes/prepare/TensorMoves.h"

#include "analysis/Copies.h"
#include "analysis/Ranges.h"

#include <numeric>

namespace tlc::passes {

using namespace ir;

namespace {

bool beginsAtVectors(const Buffer &tensor, const analysis::Ranges &ranges) {
  constexpr std::int64_t vectorBits = 128;
  return ranges.divisible(analysis::strideOf(tensor, tensor.rank() - 2),
                          vectorBits / std::gcd(vectorBits, tensor.dtype.bits()));
}

} // namespace

bool movesByMaps(const Function &function, Launch &launch, const Target &target) {
  analysis::Ranges ranges(function);
  ranges.enter(launch);
  bool all = true;
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (analysis::isSharedLoad(stmt))
      all = all && analysis::canUseTma(cast<CopyStmt>(stmt), target, ranges);
    else if (auto store = analysis::asFragmentStore(stmt);
             store && store->target->buffer->rank() > 1)
      all = all && beginsAtVectors(*store->target->buffer, ranges);
    return all;
  });
  return all;
}

} // namespace tlc::passes
