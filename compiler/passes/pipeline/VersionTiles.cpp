// version-tiles: a pipelined loop whose roles meet at barriers of its own gets as many tiles and
// barriers as it has stages.
//
//   for %k in 0 .. %n pipelined stages(2) {
//     role 128 : +128 {
//       mbar wait %done[0] value((%k + 1) % 2)
//       copy %A[…] -> %A_s barrier(%ready[0])
//       mbar arrive %ready[0]
//     }
//     role 0 : +128 {
//       mbar wait %ready[0] value(%k % 2)
//       gemm %A_s, … -> %C
//       mbar arrive %done[0]
//     }
//   }
//     =>
//   for %k in 0 .. %n {
//     role 128 : +128 {
//       mbar wait %done[%k % 2] value((%k // 2 + 1) % 2)
//       copy %A[…] -> %A_s@(%k % 2) barrier(%ready[%k % 2])
//       mbar arrive %ready[%k % 2]
//     }
//     role 0 : +128 {
//       mbar wait %ready[%k % 2] value(%k // 2 % 2)
//       gemm %A_s@(%k % 2), … -> %C
//       mbar arrive %done[%k % 2]
//     }
//   }
//
// The program says who waits for whom, and num_stages how far one may be ahead of the other; with
// one tile that is not at all. Before round k the producer now waits for the consumers' round
// k - stages instead of k - 1.
//
// Only where a tile belongs to the loop, is written between a wait for a barrier that lets the
// first round pass and the arrival at one that does not, and read between the wait for the latter
// and the arrival at the former, by other roles; where producers read tensors only that nobody
// writes; and where roles leave each other nothing else. --schedule=as-written keeps one tile.
//
// Why here: the schedule says how many stages fit; before pipeline, which leaves loops with
// barriers of their own alone.
#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/pipeline/PipelineLoops.h"

#include <algorithm>
#include <map>
#include <set>

namespace tlc::passes {

using namespace ir;

namespace {

/// A barrier of the loop: `full` ones let consumers go on, the others producers.
struct Barrier {
  bool full = false;
  std::set<const RoleStmt *> waiting, arriving;
};

/// What one role does with a buffer, as numbers of its statements.
struct Span {
  std::size_t first = 0, last = 0;
  bool reads = false, writes = false;
};

/// A role by its statements: where it waits and arrives, and what it touches from where to where.
struct Side {
  RoleStmt *role = nullptr;
  std::map<const Buffer *, std::size_t> waits, arrivals; ///< the last ones of a barrier
  std::map<const Buffer *, Span> tiles, tensors;
};

class Versioner {
public:
  Versioner(Launch &launch, ForStmt &loop, std::int64_t stages)
      : launch(launch), loop(loop), stages(stages) {}

  bool run() {
    if (isArranged(loop) || !loop.lo.isConstant(0) || !loop.step.isConstant(1) || !runsOnce() ||
        !collect() || !barriersAreOwn() || !collectTiles() || passesOnMore())
      return false;
    for (const Buffer *tile : tiles)
      if (!isHandedOver(tile))
        return false;
    rewriteLoop();
    return true;
  }

private:
  /// Whether no other loop is around this one: its rounds begin with the barriers' first phases.
  bool runsOnce() const {
    bool found = false;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      found |= &stmt == &loop;
      return !isa<ForStmt>(stmt) && !isa<WhileStmt>(stmt);
    });
    return found;
  }

  /// Looks at all roles; false: something else is in the loop.
  bool collect() {
    for (const StmtPtr &stmt : loop.body) {
      auto *role = dynCast<RoleStmt>(stmt.get());
      if (!role)
        return false;
      sides.emplace_back().role = role;
      for (std::size_t i = 0; i < role->body.size(); ++i)
        if (!look(sides.back(), *role->body[i], i))
          return false;
    }
    return !barriers.empty();
  }

  /// Statements inside a role's that neither meet other threads nor leave the round.
  static bool isIndifferent(const Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Mbar:
    case StmtKind::Role:
    case StmtKind::Barrier:
    case StmtKind::Call:
    case StmtKind::Source:
    case StmtKind::Exit:
    case StmtKind::Break:
    case StmtKind::Continue:
      return false;
    default:
      return true;
    }
  }

  bool look(Side &side, Stmt &stmt, std::size_t at) {
    if (const auto *mbar = dynCast<MbarStmt>(&stmt))
      return meet(side, *mbar, at);
    bool good = true;
    walk(stmt, [&](Stmt &inner) {
      good = good && isIndifferent(inner);
      forEachUse(inner, [&](const BufferUse &use) { touch(side, use, at); });
      return good;
    });
    if (const auto *copy = dynCast<CopyStmt>(&stmt); copy && copy->barrier.buffer) {
      barriers[copy->barrier.buffer].arriving.insert(side.role);
      side.arrivals[copy->barrier.buffer] = at;
    }
    return good;
  }

  /// A wait decides what the barrier is for.
  bool meet(Side &side, const MbarStmt &mbar, std::size_t at) {
    const Buffer *buffer = mbar.barrier.buffer;
    if (mbar.cta || buffer->base || !buffer->elementCount() || *buffer->elementCount() != 1)
      return false;
    Barrier &barrier = barriers[buffer];
    if (mbar.op != MbarOp::Wait) {
      barrier.arriving.insert(side.role);
      side.arrivals[buffer] = at;
      return mbar.op != MbarOp::Init;
    }
    const bool full = mbar.value == floorMod(loop.var, 2);
    if (!full && mbar.value != floorMod(loop.var + 1, 2))
      return false;
    const bool agrees = barrier.waiting.empty() || barrier.full == full;
    barrier.full = full;
    return agrees && barrier.waiting.insert(side.role).second &&
           side.waits.emplace(buffer, at).second;
  }

  static void touch(Side &side, const BufferUse &use, std::size_t at) {
    const Buffer *buffer = use.buffer->storage();
    if (buffer->scope != Scope::Shared && buffer->scope != Scope::Global)
      return;
    auto &spans = buffer->scope == Scope::Shared ? side.tiles : side.tensors;
    Span &span = spans.try_emplace(buffer, Span{at, at, false, false}).first->second;
    span.last = at;
    span.reads |= use.access != Access::Write;
    span.writes |= use.access != Access::Read;
  }

  /// Nobody but the loop and who makes them ready uses the barriers; roles are on one side of each.
  bool barriersAreOwn() const {
    bool own = true;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      const auto *mbar = dynCast<MbarStmt>(&stmt);
      const bool ready = mbar && mbar->op == MbarOp::Init;
      if (&stmt == &loop)
        return false;
      forEachUse(stmt, [&](const BufferUse &use) {
        own = own && (ready || !barriers.count(use.buffer->storage()));
      });
      return own;
    });
    for (const auto &[buffer, barrier] : barriers) {
      own = own && !barrier.waiting.empty() && !barrier.arriving.empty();
      for (const RoleStmt *role : barrier.waiting)
        own = own && !barrier.arriving.count(role) && isProducer(*role) == !barrier.full;
    }
    return own;
  }

  bool isProducer(const RoleStmt &role) const {
    return std::none_of(barriers.begin(), barriers.end(), [&](const auto &entry) {
      return entry.second.full && entry.second.waiting.count(&role);
    });
  }

  /// What producers write; false: some of it is not the loop's own, or they do more than load.
  bool collectTiles() {
    for (const Side &side : sides) {
      if (!isProducer(*side.role))
        continue;
      for (const auto &[tile, span] : side.tiles) {
        if (span.reads || tile->versions != 1)
          return false;
        tiles.insert(tile);
      }
      for (const auto &[tensor, span] : side.tensors)
        if (span.writes || tensor->writable)
          return false;
    }
    bool own = !tiles.empty();
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      if (const auto *alloc = dynCast<AllocStmt>(&stmt); alloc && alloc->buffer->base)
        own &= !tiles.count(alloc->buffer->storage()); // there is no view of one version
      return own;
    });
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      if (&stmt == &loop)
        return false;
      forEachUse(stmt, [&](const BufferUse &use) { own &= !tiles.count(use.buffer->storage()); });
      return own;
    });
    return own;
  }

  /// Whether a role leaves something else in memory that another one touches: by way of the
  /// producers, who then wait for fewer rounds, the barriers may order that, too.
  bool passesOnMore() const {
    auto touchesWritten = [&](const Side &writer, const Side &other) {
      for (const auto *spans : {&writer.tiles, &writer.tensors})
        for (const auto &[buffer, span] : *spans)
          for (const auto *others : {&other.tiles, &other.tensors})
            for (const auto &[second, unused] : *others)
              if (span.writes && !tiles.count(buffer) && analysis::mayAlias(*buffer, *second))
                return true;
      return false;
    };
    for (const Side &writer : sides)
      for (const Side &other : sides)
        if (&writer != &other && touchesWritten(writer, other))
          return true;
    return false;
  }

  /// Whether each role touches the tile only while the barriers say that it is its turn.
  bool isHandedOver(const Buffer *tile) const {
    return std::any_of(barriers.begin(), barriers.end(), [&](const auto &full) {
      return full.second.full &&
             std::any_of(barriers.begin(), barriers.end(), [&](const auto &empty) {
               return !empty.second.full &&
                      std::all_of(sides.begin(), sides.end(), [&](const Side &side) {
                        return isTurn(side, tile, full.first, empty.first);
                      });
             });
    });
  }

  bool isTurn(const Side &side, const Buffer *tile, const Buffer *full, const Buffer *empty) const {
    auto found = side.tiles.find(tile);
    if (found == side.tiles.end())
      return true;
    const Span &span = found->second;
    const bool producer = isProducer(*side.role);
    auto wait = side.waits.find(producer ? empty : full);
    auto arrival = side.arrivals.find(producer ? full : empty);
    return (producer || !span.writes) && wait != side.waits.end() && wait->second < span.first &&
           arrival != side.arrivals.end() && arrival->second >= span.last;
  }

  void rewriteLoop() {
    Expr slot = floorMod(loop.var, stages), round = floorDiv(loop.var, stages);
    for (const Buffer *tile : tiles)
      const_cast<Buffer *>(tile)->versions = stages;
    for (const auto &[buffer, barrier] : barriers)
      const_cast<Buffer *>(buffer)->shape = {
          loop.var.context().integer(buffer->shape.front().dtype(), stages)};
    walk(loop, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        if (tiles.count(use.buffer))
          (use.region ? use.region->version : use.element->version) = slot;
      });
      if (auto *copy = dynCast<CopyStmt>(&stmt); copy && copy->barrier.buffer)
        copy->barrier.indices = {slot};
      if (auto *mbar = dynCast<MbarStmt>(&stmt)) {
        if (mbar->op == MbarOp::Wait)
          mbar->value = floorMod(barriers[mbar->barrier.buffer].full ? round : round + 1, 2);
        mbar->barrier.indices = {slot};
      }
      return true;
    });
    loop.kind = ForKind::Serial;
    makeReady();
  }

  /// One initialisation for each version of a barrier.
  void makeReady() {
    rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
      const auto *mbar = dynCast<MbarStmt>(stmt.get());
      const bool repeats = mbar && mbar->op == MbarOp::Init && barriers.count(mbar->barrier.buffer);
      out.push_back(std::move(stmt));
      for (std::int64_t i = 1; repeats && i < stages; ++i) {
        auto more = std::make_unique<MbarStmt>(*mbar);
        more->barrier.indices = {loop.var.context().int32(i)};
        out.push_back(std::move(more));
      }
    });
  }

  Launch &launch;
  ForStmt &loop;
  const std::int64_t stages;
  std::vector<Side> sides;
  std::map<const Buffer *, Barrier> barriers;
  std::set<const Buffer *> tiles;
};

} // namespace

void versionTiles(Function &function, PassContext &context) {
  if (!context.target.isGpu() || function.options.hintsAreBinding)
    return;
  std::size_t index = 0;
  for (auto &launch : function.launches)
    for (const PlannedLoop &planned : plannedLoops(*launch, context.schedule.launch(index++)))
      if (planned.stages > 1)
        Versioner(*launch, *planned.loop, planned.stages).run();
}

} // namespace tlc::passes
