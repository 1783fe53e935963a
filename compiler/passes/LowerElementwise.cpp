// The pass around LowerMap.cpp: finds maps, copies, fills and tile atomics, and says which threads
// execute them.
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/ElementwiseToMaps.h"
#include "passes/LowerMap.h"
#include "passes/Pass.h"

namespace tlc::passes {

using namespace ir;

namespace {

class Lowering {
public:
  Lowering(Function &function, const Target &target)
      : function(function), target(target), ranges(function) {}

  void run() {
    for (auto &launch : function.launches) {
      analysis::Ranges::Scope scope(ranges);
      ranges.enter(*launch);
      MapThread thread;
      thread.count = target.collectiveThreads(launch->threadCount());
      thread.index = thread.count == 1 ? function.context->int32(0) : launch->tid;
      thread.vectors = target.isGpu();
      thread.divides = [this](Expr e, Index d) { return ranges.divisible(e, d); };
      lowerBlock(launch->body, thread);
    }
  }

private:
  void lowerBlock(Block &block, const MapThread &thread) {
    analysis::Ranges::Scope scope(ranges);
    Block out;
    for (StmtPtr &stmt : block) {
      if (StmtPtr map = asMap(std::move(stmt), out)) {
        Builder builder(function, out);
        lowerMapStmt(builder, cast<MapStmt>(*map), thread);
      } else {
        lowerNested(*out.back(), thread);
      }
    }
    block = std::move(out);
  }

  /// The statement as a map; null if it is none, and then it is in `out`.
  StmtPtr asMap(StmtPtr stmt, Block &out) {
    if (auto *copy = dynCast<CopyStmt>(stmt.get()))
      return mapOfCopy(function, *copy);
    if (auto *fill = dynCast<FillStmt>(stmt.get()))
      return mapOfFill(function, *fill);
    if (auto *atomic = dynCast<AtomicTileStmt>(stmt.get()))
      return mapOfAtomic(function, *atomic);
    if (isa<MapStmt>(*stmt))
      return stmt;
    out.push_back(std::move(stmt));
    return nullptr;
  }

  void lowerNested(Stmt &stmt, const MapThread &thread) {
    if (auto *let = dynCast<LetStmt>(&stmt))
      ranges.bind(*let);
    if (auto *role = dynCast<RoleStmt>(&stmt); role && thread.count > 1) {
      MapThread inner = thread;
      inner.index = thread.index - role->first;
      inner.count = role->count;
      lowerBlock(role->body, inner);
      return;
    }
    forEachBlock(stmt, [&](Block &inner) {
      analysis::Ranges::Scope scope(ranges);
      if (auto *loop = dynCast<ForStmt>(&stmt))
        ranges.bind(*loop);
      if (auto *branch = dynCast<IfStmt>(&stmt))
        ranges.assume(branch->condition, &inner == &branch->then);
      lowerBlock(inner, thread);
    });
  }

  Function &function;
  const Target &target;
  analysis::Ranges ranges;
};

} // namespace

void lowerMap(Function &function, PassContext &context) {
  Lowering(function, context.target).run();
}

} // namespace tlc::passes
