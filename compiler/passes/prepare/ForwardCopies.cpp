// forward-copies: a tile that shared memory only passes on goes straight where it is going.
//
//   alloc %O_s: shared f16[64, 512]
//   copy %O -> %O_s                          =>      copy %O -> %Out[%b, %h * 64 : +64, 0 : +512]
//   copy %O_s -> %Out[%b, %h * 64 : +64, …]
//
//   alloc %A_s: shared f16[128, 128]
//   copy %A[%b * 128 : +128, …] -> %A_s      =>      copy %A[%b * 128 : +128, …] -> %A_l
//   copy %A_s -> %A_l
//
// Written so, kernels choose by hand what stage-stores chooses by counting, and where the machine
// could do better they stand in its way. What is stored takes room beside the rings of a
// warp-specialised loop, which then gets fewer stages, and waits for all that follows: latent
// attention as TileLang's examples write it fits two stages of keys only without it. What is loaded
// goes twice through shared memory for threads that could have had it at once.
//
// Only a whole tile that nothing else uses and whose layout the user did not give, passed on by the
// next statement as an ordinary copy, and only where it is rounded once on its way; not where a
// loop's order and stages speak of its statements by number. What is loaded stays where products
// are, which say in what order threads hold their operands, and in pipelined loops, where shared
// memory is room for the next round's. --schedule=as-written keeps all tiles.
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

/// Whether `in` fills a shared tile, `out` is all that it is for, and the value arrives as if it
/// had gone straight.
bool passesOn(const CopyStmt &in, const CopyStmt &out) {
  const Buffer &tile = *in.target.buffer;
  if (tile.scope != Scope::Shared || tile.base || tile.layout || out.source.buffer != &tile)
    return false;
  const auto shape = in.source.constantTileExtents();
  return shape && isOrdinary(in) && isOrdinary(out) && in.target.wholeBuffer() &&
         out.source.wholeBuffer() && !in.target.version && !out.source.version &&
         in.target.constantTileExtents() == shape && out.target.constantTileExtents() == shape &&
         (tile.dtype == out.target.buffer->dtype || tile.dtype == in.source.buffer->dtype);
}

bool isStore(const CopyStmt &in, const CopyStmt &out) {
  return in.source.buffer->scope == Scope::Fragment && out.target.buffer->scope == Scope::Global;
}

bool isLoad(const CopyStmt &in, const CopyStmt &out) {
  return in.source.buffer->scope == Scope::Global && !in.source.buffer->unfold &&
         out.target.buffer->scope == Scope::Fragment;
}

class Forwarder {
public:
  explicit Forwarder(Launch &launch) : launch(launch) {
    walk(launch.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) { ++uses[use.buffer->storage()]; });
      products |= isa<GemmStmt>(stmt);
      return true;
    });
  }

  void run() {
    visit(launch.body, {});
    if (!gone.empty())
      rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
        const auto *alloc = dynCast<AllocStmt>(stmt.get());
        if (!alloc || !gone.count(alloc->buffer))
          out.push_back(std::move(stmt));
      });
  }

private:
  /// Where a block stands.
  struct Around {
    bool arranged = false;  ///< it is that of a loop whose statements have numbers
    bool pipelined = false; ///< it is in a loop that loads ahead
  };

  void visit(Block &block, Around around) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto *loop = dynCast<ForStmt>(block[i].get());
      const Around inside{loop && isArranged(*loop),
                          around.pipelined ||
                              (loop && loop->kind == ForKind::Pipelined && loop->stages > 0)};
      forEachBlock(*block[i], [&](Block &inner) { visit(inner, inside); });
      if (around.arranged)
        continue;
      auto *in = dynCast<CopyStmt>(block[i].get());
      std::size_t next = i + 1;
      while (in && next < block.size() && isa<AllocStmt>(*block[next]))
        ++next;
      auto *out = in && next < block.size() ? dynCast<CopyStmt>(block[next].get()) : nullptr;
      if (!out || !passesOn(*in, *out) || uses[in->target.buffer] != 2)
        continue;
      if (!isStore(*in, *out) && !(isLoad(*in, *out) && !products && !around.pipelined))
        continue;
      gone.insert(in->target.buffer);
      launch.note("`" + in->target.buffer->name + "` is passed by: it would only hand `" +
                  in->source.buffer->name + "` on to `" + out->target.buffer->name + "`");
      out->source = in->source;
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  Launch &launch;
  std::unordered_map<const Buffer *, int> uses; ///< of storage, by statements
  std::unordered_set<const Buffer *> gone;      ///< tiles that are passed by
  bool products = false;                        ///< there are some in the launch
};

} // namespace

void forwardCopies(Function &function, PassContext &context) {
  if (!context.target.isGpu() || function.options.hintsAreBinding)
    return;
  for (auto &launch : function.launches)
    Forwarder(*launch).run();
}

} // namespace tlc::passes
