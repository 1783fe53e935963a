// deepen-loops: rounds of products become as deep as the rows that tensor maps move best.
//
//   alloc %a: shared f16[128, 32]                    alloc %a: shared f16[128, 64]
//   alloc %b: shared f16[32, 128]                    alloc %b: shared f16[64, 128]
//   for %k in 0 .. (%K + 31) // 32 pipelined {       for %k in 0 .. ((%K + 31) // 32 + 1) // 2 … {
//     copy %A[…, %k * 32 : +32] -> %a          =>      copy %A[…, %k * 64 : +64] -> %a
//     copy %B[%k * 32 : +32, …] -> %b                  copy %B[%k * 64 : +64, …] -> %b
//     gemm %a, %b -> %C                                gemm %a, %b -> %C
//   }                                                }
//
// How deep a round is says nothing about what is computed. Kernels for mma.sync are written with 32
// columns of float16, 64 bytes a row: half of what a line of the L2 cache and the widest swizzle
// hold, and twice the waits. A product of 4096^3 as TileLang's first example writes it (128
// threads, 128 x 128 x 32) runs at 0.71 of cuBLAS so, at 0.87 with 64 columns (H200,
// tools/bench/gpu/LOG.md).
//
// Only where a round is copies and sums of products of all that was copied, and what the last one
// may take too much of lies outside of its tensors, which is zero. As many bytes are on their way
// as before. --schedule=as-written keeps the depth.
//
// Why here: before bounds and select-copies, which look at the copies as they will be.
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/TileDims.h"
#include "passes/pipeline/PipelineLoops.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

/// Bytes of a row of the widest swizzle, and of a line of the L2 cache.
constexpr std::int64_t rowBytes = 128;

/// A tile of one round: `axis` is its dim that the products sum over.
struct Operand {
  CopyStmt *copy = nullptr;
  unsigned axis = 0;
};

class Deepener {
public:
  Deepener(Launch &launch, ForStmt &loop, const analysis::Ranges &ranges)
      : launch(launch), loop(loop), ranges(ranges) {}

  void run() {
    if (loop.stages < 2 || isArranged(loop) || !loop.lo.isConstant(0) || !loop.step.isConstant(1))
      return;
    if (!collect() || depth == 0 || !usedHereOnly())
      return;
    std::int64_t wanted = rowBytes * 8 / bits;
    if (depth >= wanted || wanted % depth)
      return;
    factor = wanted / depth;
    if (std::all_of(operands.begin(), operands.end(), [&](auto &entry) {
          return movesAlong(entry.second) && endsInZeros(entry.second) && staysInTap(entry.second);
        }))
      deepen();
  }

private:
  /// Tiles and products of a round; false if there is anything else.
  bool collect() {
    std::map<const Buffer *, CopyStmt *> copies;
    std::vector<GemmStmt *> gemms;
    for (StmtPtr &stmt : loop.body) {
      if (auto *copy = dynCast<CopyStmt>(stmt.get())) {
        if (!isPlainLoad(*copy) || !copies.emplace(copy->target.buffer, copy).second)
          return false;
      } else if (auto *gemm = dynCast<GemmStmt>(stmt.get())) {
        if (gemm->async || gemm->barrier.buffer || (gemm->clear && !gemm->clear.isConstant(0)))
          return false;
        gemms.push_back(gemm);
      } else {
        return false;
      }
    }
    for (GemmStmt *gemm : gemms) {
      products.push_back(gemm);
      if (!take(copies, gemm->a, gemm->transposeA ? 0 : 1) ||
          !take(copies, gemm->b, gemm->transposeB ? 1 : 0))
        return false;
    }
    return !gemms.empty() && operands.size() == copies.size();
  }

  static bool isPlainLoad(const CopyStmt &copy) {
    const Buffer &tile = *copy.target.buffer;
    return copy.source.buffer->scope == Scope::Global && tile.scope == Scope::Shared &&
           !tile.base && !tile.layout && tile.rank() == 2 && copy.target.wholeBuffer() &&
           copy.source.constantTileExtents() == tile.constantShape() &&
           copy.source.buffer->dtype == tile.dtype && copy.copyKind == CopyKind::Auto &&
           !copy.async && !copy.barrier.buffer && !copy.multicast && !copy.coalescedWidth &&
           (!copy.source.buffer->safeValue || copy.source.buffer->safeValue.isConstant(0));
  }

  /// Whether the columns of an unfolded image that a round would have are of one tap.
  bool staysInTap(const Operand &operand) const {
    const Buffer &tensor = *operand.copy->source.buffer;
    return !tensor.unfold || tensor.base->shape[3].constant().value_or(1) % (depth * factor) == 0;
  }

  /// An operand of a product, of the depth that the others have.
  bool take(const std::map<const Buffer *, CopyStmt *> &copies, const Region &region,
            unsigned axis) {
    auto found = copies.find(region.buffer);
    if (found == copies.end() || !region.wholeBuffer())
      return false;
    auto [entry, isNew] = operands.emplace(region.buffer, Operand{found->second, axis});
    std::int64_t extent = (*region.buffer->constantShape())[axis];
    std::int64_t width = region.buffer->dtype.bits();
    if (!isNew && entry->second.axis != axis)
      return false;
    if (depth == 0)
      depth = extent, bits = width;
    return extent == depth && width == bits && bits >= 8;
  }

  /// Whether the tiles are of no use outside of the loop.
  bool usedHereOnly() const {
    bool only = true;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      if (&stmt == &loop)
        return false;
      forEachUse(stmt, [&](const BufferUse &use) {
        only = only && !operands.count(use.buffer->storage());
      });
      if (const auto *alloc = dynCast<AllocStmt>(&stmt))
        only = only && (!alloc->buffer->base || !operands.count(alloc->buffer->storage()));
      return only;
    });
    return only;
  }

  Expr start(const Operand &operand) const {
    const Region &source = operand.copy->source;
    return substitute(source.offsets[bufferDim(source, operand.axis)],
                      {{loop.var, loop.var.context().integer(loop.var.dtype(), 0)}});
  }

  /// Whether rounds take one depth after the other, and nothing else of the copy moves.
  bool movesAlong(const Operand &operand) const {
    const Region &source = operand.copy->source;
    unsigned moving = bufferDim(source, operand.axis);
    for (unsigned d = 0; d < source.buffer->rank(); ++d)
      if (d != moving && uses(source.offsets[d], loop.var))
        return false;
    return ranges.equal(source.offsets[moving], start(operand) + loop.var * depth);
  }

  /// Whether rounds divide evenly, or what is beyond the last one is beyond the tensor.
  bool endsInZeros(const Operand &operand) const {
    if (ranges.equal(floorMod(loop.hi, factor), loop.hi.context().integer(loop.hi.dtype(), 0)))
      return true;
    const Region &source = operand.copy->source;
    Expr end = source.buffer->shape[bufferDim(source, operand.axis)];
    return ranges.lessEqual(end, start(operand) + loop.hi * depth);
  }

  void deepen() {
    Context &context = loop.var.context();
    for (auto &[buffer, operand] : operands) {
      CopyStmt &copy = *operand.copy;
      Region &source = copy.source;
      unsigned dim = bufferDim(source, operand.axis);
      source.offsets[dim] = start(operand) + loop.var * (depth * factor);
      source.extents[dim] = context.integer(source.extents[dim].dtype(), depth * factor);
      Expr &extent = copy.target.buffer->shape[operand.axis];
      extent = context.integer(extent.dtype(), depth * factor);
      copy.target = wholeRegion(context, *copy.target.buffer);
    }
    for (GemmStmt *gemm : products) {
      gemm->a = wholeRegion(context, *gemm->a.buffer);
      gemm->b = wholeRegion(context, *gemm->b.buffer);
    }
    loop.hi = floorDiv(loop.hi + (factor - 1), factor);
    const std::int64_t written = loop.stages;
    loop.stages = std::max<std::int64_t>(2, (written + factor - 1) / factor);
    launch.note("rounds of `" + loop.var->name + "` are " + std::to_string(depth * factor) +
                " deep, with " + std::to_string(loop.stages) + " stages; as written " +
                std::to_string(depth) + ", with " + std::to_string(written) +
                ": rows of tiles fill 128 bytes");
  }

  Launch &launch;
  ForStmt &loop;
  const analysis::Ranges &ranges;
  std::map<const Buffer *, Operand> operands;
  std::vector<GemmStmt *> products;
  std::int64_t depth = 0, bits = 0, factor = 1;
};

} // namespace

void deepenLoops(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma) || function.options.hintsAreBinding)
    return;
  analysis::walkWithRanges(function, [](Launch &launch, Stmt &stmt, analysis::Ranges &ranges) {
    if (auto *loop = dynCast<ForStmt>(&stmt); loop && loop->kind == ForKind::Pipelined)
      Deepener(launch, *loop, ranges).run();
    return true;
  });
}

} // namespace tlc::passes
