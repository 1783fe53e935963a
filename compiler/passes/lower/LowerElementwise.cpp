// The pass around LowerMap.cpp: finds maps, copies, fills and tile atomics, and says which threads
// execute them.
#include "analysis/Collective.h"
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/lower/ElementwiseToMaps.h"
#include "passes/lower/LowerMap.h"
#include "passes/lower/LowerReducer.h"
#include "passes/lower/MatrixStore.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// As many asynchronous copies of a thread have their addresses at hand at once.
constexpr std::int64_t copiesAtOnce = 8;

class Lowering {
public:
  Lowering(Function &function, const Target &target, DiagnosticEngine &diagnostics)
      : function(function), target(target), diagnostics(diagnostics), ranges(function) {}

  void run() {
    for (auto &launch : function.launches) {
      analysis::Ranges::Scope scope(ranges);
      ranges.enter(*launch);
      MapThread thread;
      thread.count = target.collectiveThreads(launch->threadCount());
      thread.index = thread.count == 1 ? function.context->int32(0) : launch->tid;
      thread.vectors = target.isGpu();
      thread.concurrent = target.isGpu();
      thread.atomicVectors = target.has(Feature::VectorAtomics);
      thread.diagnostics = &diagnostics;
      thread.divides = [this](Expr e, Index d) { return ranges.divisible(e, d); };
      lowerBlock(launch->body, thread);
    }
  }

private:
  /// The statements of one elementwise op.
  void addOp(Block &lowered, Block &out) {
    std::uint32_t op = ++function.lastOp;
    walk(lowered, [&](Stmt &part) {
      part.op = op;
      return true;
    });
    for (StmtPtr &part : lowered)
      out.push_back(std::move(part));
  }

  /// Unrolled as a whole, the addresses of all asynchronous copies would be kept in registers from
  /// one round of the loop around them to the next, and a role of producers has few.
  static void unrollInParts(Block &lowered) {
    for (StmtPtr &stmt : lowered) {
      auto *loop = dynCast<ForStmt>(stmt.get());
      bool copies = loop && loop->kind == ForKind::Unroll &&
                    std::all_of(loop->body.begin(), loop->body.end(), [](const StmtPtr &inner) {
                      const auto *move = dynCast<MoveStmt>(inner.get());
                      return isa<LetStmt>(*inner) || (move && move->async);
                    });
      if (copies && loop->hi.constant().value_or(0) > copiesAtOnce)
        loop->unrollFactor = copiesAtOnce;
    }
  }

  void lowerBlock(Block &block, const MapThread &thread) {
    analysis::Ranges::Scope scope(ranges);
    Block out;
    for (StmtPtr &stmt : block) {
      if (auto *update = dynCast<ReducerStmt>(stmt.get())) {
        Builder builder(function, out);
        builder.range = update->range;
        lowerUpdate(*update, builder, thread.concurrent, {});
        continue;
      }
      bool perThread = analysis::isPerThreadTileOp(*stmt) || isThreadVector(*stmt);
      Block lowered;
      Builder builder(function, lowered);
      auto *copy = dynCast<CopyStmt>(stmt.get());
      if (copy && storeMatrices(builder, *copy, target, thread)) {
        addOp(lowered, out);
      } else if (StmtPtr map = asMap(std::move(stmt), out)) {
        lowerMapStmt(builder, cast<MapStmt>(*map), perThread ? alone(thread) : thread);
        if (roles > 0)
          unrollInParts(lowered);
        addOp(lowered, out);
      } else {
        lowerNested(*out.back(), thread);
      }
    }
    block = std::move(out);
  }

  /// Each thread does all of it.
  MapThread alone(MapThread thread) const {
    thread.index = function.context->int32(0);
    thread.count = 1;
    return thread;
  }

  /// T.vectorized: a map of one dim that a thread executes alone. On CPUs the loop stays for the
  /// downstream compiler.
  bool isThreadVector(const Stmt &stmt) const {
    auto *loop = dynCast<ForStmt>(&stmt);
    return loop && loop->kind == ForKind::Vector && target.isGpu() && loop->lo.isConstant(0) &&
           loop->hi.isInt() && loop->step.isConstant(1);
  }

  StmtPtr mapOfVector(ForStmt &loop) const {
    auto map = std::make_unique<MapStmt>(loop.range);
    map->vars = {loop.var};
    map->extents = {loop.hi};
    map->body = std::move(loop.body);
    return map;
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
    if (isThreadVector(*stmt))
      return mapOfVector(cast<ForStmt>(*stmt));
    out.push_back(std::move(stmt));
    return nullptr;
  }

  void lowerNested(Stmt &stmt, const MapThread &thread) {
    if (auto *let = dynCast<LetStmt>(&stmt))
      ranges.bind(*let);
    if (auto *fact = dynCast<AssumeStmt>(&stmt))
      ranges.assume(fact->condition);
    if (auto *role = dynCast<RoleStmt>(&stmt); role && thread.count > 1) {
      MapThread inner = thread;
      inner.index = indexInRole(*role, thread.index);
      inner.count = role->count;
      ++roles;
      lowerBlock(role->body, inner);
      --roles;
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
  DiagnosticEngine &diagnostics;
  analysis::Ranges ranges;
  unsigned roles = 0; ///< around what is being lowered
};

} // namespace

void lowerMap(Function &function, PassContext &context) {
  Lowering(function, context.target, context.diagnostics).run();
}

} // namespace tlc::passes
