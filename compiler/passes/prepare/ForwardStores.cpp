// forward-stores: a tile that shared memory only passes on goes straight where it is going.
//
//   alloc %O_s: shared f16[64, 512]
//   copy %O -> %O_s                          =>      copy %O -> %Out[%b, %h * 64 : +64, 0 : +512]
//   copy %O_s -> %Out[%b, %h * 64 : +64, …]
//
// Written so, kernels choose by hand what stage-stores chooses by counting, and where the machine
// could do better they stand in its way: the tile takes room beside the rings of a warp-specialised
// loop, which then gets fewer stages, and its store waits for all that follows. Latent attention as
// TileLang's examples write it fits two stages of keys only without it.
//
// Only a whole tile that nothing else uses and whose layout the user did not give, stored by the
// next statement as an ordinary copy, and only where it is rounded once on its way; not where a
// loop's order and stages speak of its statements by number.
// --schedule=as-written keeps the tile.
//
// Why here: before bounds and select-copies, which look at the copies as they will be.
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/pipeline/PipelineLoops.h"

#include <unordered_map>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

bool isOrdinary(const CopyStmt &copy) {
  return copy.copyKind == CopyKind::Auto && !copy.async && !copy.barrier.buffer &&
         !copy.multicast && !copy.layout;
}

/// Whether `in` fills a shared tile from registers, `out` stores it, and the value arrives as if it
/// had gone straight.
bool passesOn(const CopyStmt &in, const CopyStmt &out) {
  const Buffer &tile = *in.target.buffer;
  if (tile.scope != Scope::Shared || tile.base || tile.layout || out.source.buffer != &tile ||
      in.source.buffer->scope != Scope::Fragment || out.target.buffer->scope != Scope::Global)
    return false;
  const auto shape = in.source.constantTileExtents();
  return shape && isOrdinary(in) && isOrdinary(out) && in.target.wholeBuffer() &&
         out.source.wholeBuffer() && !in.target.version && !out.source.version &&
         in.target.constantTileExtents() == shape && out.target.constantTileExtents() == shape &&
         (tile.dtype == out.target.buffer->dtype || tile.dtype == in.source.buffer->dtype);
}

class Forwarder {
public:
  explicit Forwarder(Launch &launch) : launch(launch) {
    walk(launch.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) { ++uses[use.buffer->storage()]; });
      return true;
    });
  }

  void run() {
    visit(launch.body, false);
    if (!gone.empty())
      rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
        const auto *alloc = dynCast<AllocStmt>(stmt.get());
        if (!alloc || !gone.count(alloc->buffer))
          out.push_back(std::move(stmt));
      });
  }

private:
  /// `arranged`: the block is that of a loop whose statements have numbers.
  void visit(Block &block, bool arranged) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto *loop = dynCast<ForStmt>(block[i].get());
      const bool arranges = loop && isArranged(*loop);
      forEachBlock(*block[i], [&](Block &inner) { visit(inner, arranges); });
      if (arranged)
        continue;
      auto *in = dynCast<CopyStmt>(block[i].get());
      auto *out = in && i + 1 < block.size() ? dynCast<CopyStmt>(block[i + 1].get()) : nullptr;
      if (!out || !passesOn(*in, *out) || uses[in->target.buffer] != 2)
        continue;
      gone.insert(in->target.buffer);
      out->source = in->source;
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  Launch &launch;
  std::unordered_map<const Buffer *, int> uses; ///< of storage, by statements
  std::unordered_set<const Buffer *> gone;      ///< tiles that are passed by
};

} // namespace

void forwardStores(Function &function, PassContext &context) {
  if (!context.target.isGpu() || function.options.hintsAreBinding)
    return;
  for (auto &launch : function.launches)
    Forwarder(*launch).run();
}

} // namespace tlc::passes
