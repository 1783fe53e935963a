// insert-sync: the barriers that program order needs, and no more.
//
//   wait(1)                                      wait(1)
//   if %k + 2 < %T { move … -> %A_s@… async }    barrier
//   commit                               =>      if %k + 2 < %T { move … -> %A_s@… async }
//   call @ldmatrix(… read %A_s@…)                commit
//                                                call @ldmatrix(… read %A_s@…)
//
// SyncAnalysis finds where accesses of different threads to common bytes of shared memory (or of a
// tensor that the kernel both reads and writes) are not ordered; each such place gets a barrier.
// Then every barrier that the others make superfluous is taken away again, the innermost first: one
// in a pipelined main loop is what remains. In a role the barrier is one of the role's threads.
// Barriers of the program count; with disableThreadStorageSync none is added. What threads write by
// ordinary stores and warpgroup products read by descriptor also needs a fence of the writers in
// front of the barrier, whoever put that there; whose copies arrive at a barrier object by
// themselves (cp.async) cannot fence them, so those who wait there do.
//
// Why here: after plan-shared, since buffers that share bytes conflict; last of all passes that
// move or add accesses. CPU targets have no threads any more that could wait for each other.
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/sync/BarrierNumbers.h"
#include "passes/sync/SyncAnalysis.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

/// With more candidates than this in one statement of the launch's body the search for superfluous
/// ones among them would take too long: each of them is a look at the whole statement.
constexpr std::size_t maxCandidates = 48;

class SyncInserter {
public:
  SyncInserter(Function &function, Launch &launch, PassContext &pass)
      : function(function), launch(launch), pass(pass), analysis(function, launch),
        numbers(launch, pass.target, pass.diagnostics) {}

  void run() {
    SyncPoints points;
    analysis.complete(points);
    for (const Unplaceable &pair : analysis.unplaceable)
      report(pair);
    if (!analysis.unplaceable.empty())
      return;
    reduce(points);
    if (analysis.readsByDescriptor())
      analysis.sufficient(points); // to know where fences belong
    insert(points, analysis.fences);
    fenceArrivedCopies();
  }

  /// Only the fences in front of the program's own barriers.
  void runFences() {
    if (!analysis.readsByDescriptor())
      return;
    SyncPoints missing;
    analysis.complete(missing);
    std::unordered_set<const Stmt *> fences = analysis.fences;
    std::erase_if(fences, [](const Stmt *stmt) { return !isa<BarrierStmt>(*stmt); });
    insert({}, fences);
    fenceArrivedCopies();
  }

private:
  /// Behind waits for asynchronous copies on barrier objects.
  void fenceArrivedCopies() {
    std::unordered_set<const Buffer *> arrivedAt;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      const auto *mbar = dynCast<MbarStmt>(&stmt);
      if (mbar && mbar->op == MbarOp::CpAsyncArrive)
        arrivedAt.insert(mbar->barrier.buffer->storage());
      return true;
    });
    if (analysis.readsByDescriptor() && !arrivedAt.empty())
      fenceWaits(launch.body, arrivedAt);
  }

  static void fenceWaits(Block &block, const std::unordered_set<const Buffer *> &arrivedAt) {
    Block out;
    for (StmtPtr &stmt : block) {
      forEachBlock(*stmt, [&](Block &inner) { fenceWaits(inner, arrivedAt); });
      const auto *mbar = dynCast<MbarStmt>(stmt.get());
      bool waits =
          mbar && mbar->op == MbarOp::Wait && arrivedAt.count(mbar->barrier.buffer->storage());
      SourceRange range = stmt->range;
      out.push_back(std::move(stmt));
      if (waits)
        out.push_back(std::make_unique<FenceStmt>(range));
    }
    block = std::move(out);
  }

  void report(const Unplaceable &pair) {
    auto diagnostic = pass.diagnostics.report(diag::BarrierInDivergent, pair.later->range);
    if (pair.earlier != pair.later)
      diagnostic.label(pair.earlier->range, "other threads have to see this, or be done with it");
    if (pair.cause)
      diagnostic.label(pair.cause->range, "not the same for all threads");
  }

  unsigned depth(const Stmt *stmt) const {
    unsigned loops = 0;
    for (stmt = analysis.placeOf(*stmt).parent; stmt; stmt = analysis.placeOf(*stmt).parent)
      loops += stmt->kind == StmtKind::For || stmt->kind == StmtKind::While;
    return loops;
  }

  /// The statement of the launch's body that it is or stands in.
  const Stmt *outermost(const Stmt *stmt) const {
    while (const Stmt *parent = analysis.placeOf(*stmt).parent)
      stmt = parent;
    return stmt;
  }

  void reduce(SyncPoints &points) {
    if (points.size() < 2 || !analysis.sufficient(points))
      return;
    std::unordered_map<const Stmt *, std::size_t> perStatement;
    for (auto &[stmt, point] : points)
      ++perStatement[outermost(stmt)];
    std::vector<const Stmt *> candidates;
    for (auto &[stmt, point] : points)
      if (perStatement[outermost(stmt)] <= maxCandidates)
        candidates.push_back(stmt);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Stmt *a, const Stmt *b) { return depth(a) > depth(b); });
    std::unordered_set<const Stmt *> superfluous;
    for (const Stmt *candidate : candidates)
      if (analysis.superfluous(*candidate))
        superfluous.insert(candidate);
    std::erase_if(points, [&](const auto &entry) { return superfluous.count(entry.first); });
  }

  void insert(const SyncPoints &points, std::unordered_set<const Stmt *> fences) {
    struct Insertion {
      Place place;
      std::optional<SyncPoint> point; ///< none: only a fence
      bool fence = false;
    };
    // From behind, so that places stay right.
    std::vector<Insertion> places;
    for (auto &[stmt, point] : points)
      places.push_back({analysis.placeOf(*stmt), point, fences.erase(stmt) > 0});
    for (const Stmt *barrier : fences)
      places.push_back({analysis.placeOf(*barrier), std::nullopt, true});
    std::stable_sort(places.begin(), places.end(),
                     [](const auto &a, const auto &b) { return a.place.index > b.place.index; });
    for (auto &[place, point, fence] : places) {
      auto at = place.block->begin() + static_cast<std::ptrdiff_t>(place.index);
      // A fence of registers stands right before the products that it is for.
      while (at != place.block->begin() && isRegisterFence(**std::prev(at)))
        --at;
      SourceRange range = (*at)->range;
      Block made;
      if (point && point->drain) {
        // What was not committed yet would not be waited for.
        auto commit = std::make_unique<AsyncStmt>(range);
        commit->commit = true;
        made.push_back(std::move(commit));
        made.push_back(std::make_unique<AsyncStmt>(range));
      }
      if (point && point->drainProducts) {
        auto wait = std::make_unique<AsyncStmt>(range);
        wait->what = AsyncKind::Wgmma;
        made.push_back(std::move(wait));
      }
      if (fence)
        made.push_back(std::make_unique<FenceStmt>(range));
      if (point)
        made.push_back(barrier(*point, range));
      place.block->insert(at, std::make_move_iterator(made.begin()),
                          std::make_move_iterator(made.end()));
    }
  }

  static bool isRegisterFence(const Stmt &stmt) {
    const auto *fence = dynCast<FenceStmt>(&stmt);
    return fence && fence->what == FenceKind::Wgmma;
  }

  StmtPtr barrier(const SyncPoint &point, SourceRange range) {
    auto result = std::make_unique<BarrierStmt>(range);
    if (!point.role)
      return result;
    std::int64_t threads = point.role->count;
    if (threads <= pass.target.limits.warp) {
      result->scope = BarrierScope::Warp;
      return result;
    }
    result->scope = BarrierScope::Named;
    result->id = function.context->int32(numbers.of(*point.role));
    if (point.role->team)
      result->id = result->id + point.role->team;
    result->count = function.context->int32(threads);
    return result;
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
  SyncAnalysis analysis;
  BarrierNumbers numbers;
};

} // namespace

void insertSync(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  for (auto &launch : function.launches) {
    SyncInserter inserter(function, *launch, context);
    if (function.options.disableThreadStorageSync)
      inserter.runFences();
    else
      inserter.run();
  }
}

} // namespace tlc::passes
