// spread-tiles: tiles too large for a multiprocessor are shared out to the blocks of a cluster.
//
//   launch grid(%M) threads(1024)                  launch grid(%M * 8) threads(512) cluster(8)
//       blocks(%bm) ...                                blocks(%block) ...
//                                                    let %bm = %block // 8
//                                                    let %rank = %block % 8
//     alloc %x: fragment f32[1, 131072]              alloc %x: fragment f32[1, 16384]
//     copy %X[%bm, 0 : +131072] -> %x          =>    copy %X[%bm, %rank * 16384 : +16384] -> %x
//     reduce max %x -> %m axis(1)                    reduce max %x -> %m axis(1)
//                                                    ... each block gives its %m to all of them
//                                                    barrier cluster
//                                                    ... %m is the maximum of those
//     map %i in 1, %j in 131072 ...                  map %i in 1, %j in 16384 ...
//
// Which dims run together is the affair of plan/SpreadAxis.h; whether and how far, of
// plan/PlanSpread.h. What all blocks have alike is stored by the first. Parts lie in places of
// their own, which other blocks write from the first exchange on; in a loop blocks wait for each
// other before they write there again.
//
// Why here: the plan has counted what a block takes; everything behind sees an ordinary launch.
#include "passes/Pass.h"
#include "passes/lower/LowerReduceOps.h"
#include "passes/plan/PlanSpread.h"
#include "passes/plan/SpreadAxis.h"

#include "ir/Builder.h"
#include "ir/Walk.h"

#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

class Spreader {
public:
  Spreader(Function &function, Launch &launch, SpreadAxis axis, std::int64_t blocks)
      : function(function), launch(launch), context(*function.context), axis(std::move(axis)),
        blocks(blocks), part(this->axis.extent / blocks) {}

  void run() {
    launch.threads[0] = spreadThreads(launch, axis, blocks);
    arrange();
    narrow();
    exchanges();
    Builder b(function, front);
    if (earlyArrival)
      clusterBarrier(b, BarrierMode::Arrive);
    for (StmtPtr &stmt : launch.body)
      front.push_back(std::move(stmt));
    launch.body = std::move(front);
  }

private:
  /// The grid, and which part of which row a block has.
  void arrange() {
    Builder b(function, front);
    b.range = launch.range;
    Expr row = launch.blockVars[0];
    Expr block = context.var("block", row.dtype());
    launch.grid[0] = launch.grid[0] * blocks;
    launch.cluster[0] = blocks;
    launch.blockVars[0] = block;
    auto &let = b.add<LetStmt>();
    let.var = row;
    let.value = floorDiv(block, blocks);
    rank = b.let("rank", floorMod(block, blocks));
    start = b.let("part", rank * part);
  }

  Expr startAs(DType dtype) const { return context.cast(dtype, start); }

  // ---- Every block's part

  void narrow() {
    for (const auto &[tile, dim] : axis.dims)
      const_cast<Buffer *>(tile)->shape[dim] = context.int32(part);
    for (const auto &[entry, place] : axis.digits) {
      Expr &extent = const_cast<Buffer *>(entry.first)->shape[entry.second];
      extent = context.int32(*extent.constant() / blocks);
    }
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *let = dynCast<LetStmt>(&stmt))
        lets.emplace_back(let->var, substitute(let->value, lets));
      return true;
    });
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *copy = dynCast<CopyStmt>(&stmt))
        narrowCopy(*copy);
      if (auto *map = dynCast<MapStmt>(&stmt); map && axis.variableOf(*map) >= 0)
        narrowMap(*map, static_cast<std::size_t>(axis.variableOf(*map)));
      forEachUse(stmt, [&](const BufferUse &use) {
        for (unsigned d = 0; use.region && d < use.buffer->rank(); ++d)
          if (axis.has(use.buffer, d))
            use.region->extents[d] = use.buffer->shape[d];
      });
      return true;
    });
  }

  /// The tensor's side of a copy, if one is a tensor.
  void narrowCopy(CopyStmt &copy) {
    for (auto [tile, tensor] :
         {std::pair(&copy.source, &copy.target), std::pair(&copy.target, &copy.source)}) {
      if (tensor->buffer->scope != Scope::Global)
        continue;
      for (unsigned t = 0, g = 0; t < tile->buffer->rank(); ++t) {
        if (tile->isDropped(t))
          continue;
        while (tensor->isDropped(g))
          ++g;
        if (axis.has(tile->buffer, t)) {
          tensor->extents[g] = context.cast(tensor->extents[g].dtype(), context.int32(part));
          tensor->offsets[g] = tensor->offsets[g] + startAs(tensor->offsets[g].dtype());
        }
        ++g;
      }
    }
  }

  void narrowMap(MapStmt &map, std::size_t number) {
    Expr old = map.vars[number];
    Expr own = context.var(old->name, old.dtype());
    narrowed.insert(&map);
    map.vars[number] = own;
    map.extents[number] = context.cast(map.extents[number].dtype(), context.int32(part));
    walk(map.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        for (unsigned d = 0; use.element && d < use.buffer->rank(); ++d) {
          Expr &index = use.element->indices[d];
          auto digit = axis.digits.find({use.buffer, d});
          if (axis.dims.count({use.buffer, d}))
            index = own;
          else if (digit != axis.digits.end())
            index = narrowedIndex(substitute(index, lets), old, own, digit->second, axis.extent,
                                  blocks);
        }
      });
      return true;
    });
    substitute(map.body, {{old, own + startAs(old.dtype())}});
  }

  // ---- What all blocks have

  void exchanges() {
    Block body = std::move(launch.body);
    fill(body, launch.body, 0);
  }

  void fill(Block &from, Block &to, int depth) {
    Builder b(function, to);
    for (StmtPtr &stmt : from) {
      b.range = stmt->range;
      if (storesAlike(*stmt)) {
        b.when(equals(rank, 0), [&] { b.add(std::move(stmt)); });
        continue;
      }
      bool branches = !isa<MapStmt>(*stmt);
      if (branches)
        forEachBlock(*stmt, [&](Block &inner) {
          Block old = std::move(inner);
          inner.clear();
          fill(old, inner, depth + 1);
        });
      auto *reduce = dynCast<ReduceStmt>(stmt.get());
      const bool meets = reduce && axis.isReducedBy(*reduce);
      b.add(std::move(stmt));
      if (meets)
        exchange(b, *reduce, depth);
    }
  }

  /// Whether a statement stores to tensors what is the same in all blocks.
  bool storesAlike(const Stmt &stmt) const {
    bool stores = false;
    auto look = [&](const Stmt &inner) {
      forEachUse(inner, [&](const BufferUse &use) {
        stores |= use.buffer->scope == Scope::Global &&
                  (static_cast<unsigned>(use.access) & static_cast<unsigned>(Access::Write));
      });
      return true;
    };
    if (const auto *copy = dynCast<CopyStmt>(&stmt))
      return look(stmt), stores && !axis.has(*copy->source.buffer);
    if (isa<StoreStmt>(stmt))
      return look(stmt), stores;
    if (const auto *map = dynCast<MapStmt>(&stmt))
      return walk(stmt, look), stores && !runsAlong(*map);
    return false;
  }

  /// Whether the loop, or one in it, runs over the axis.
  bool runsAlong(const MapStmt &map) const {
    bool along = false;
    walk(static_cast<const Stmt &>(map), [&](const Stmt &inner) {
      along |= narrowed.count(&inner) != 0;
      return true;
    });
    return along;
  }

  static void clusterBarrier(Builder &b, BarrierMode mode) {
    auto &barrier = b.add<BarrierStmt>();
    barrier.scope = BarrierScope::Cluster;
    barrier.mode = mode;
  }

  /// A loop over the elements of a tile and, before them, `outer` times.
  template <typename F>
  void overTile(Builder &b, const Buffer &tile, std::int64_t outer, const F &body) {
    auto &map = b.add<MapStmt>();
    if (outer > 0) {
      map.vars.push_back(context.var("to", Scalar::Int32));
      map.extents.push_back(context.int32(outer));
    }
    std::vector<Expr> point;
    for (Expr extent : tile.shape) {
      map.vars.push_back(context.var("i", Scalar::Int32));
      map.extents.push_back(extent);
      point.push_back(extent.isConstant(1) ? context.int32(0) : map.vars.back());
    }
    b.in(map.body, [&] { body(map.vars.front(), point); });
  }

  /// A block may be written to when it runs, and again when it has read what it got. Nobody arrives
  /// early if others meet before that: a loop that does may also have no rounds.
  void beforeWrites(Builder &b, int depth) {
    const bool first = !met;
    met = true;
    if (depth > 0)
      return clusterBarrier(b, BarrierMode::Both);
    if (allRun)
      return;
    clusterBarrier(b, first ? BarrierMode::Wait : BarrierMode::Both);
    earlyArrival = first;
    allRun = true;
  }

  void exchange(Builder &b, const ReduceStmt &reduce, int depth) {
    Buffer &tile = *reduce.target.buffer;
    Folder folder(context, reduce.op, reduce.nanPropagate, tile.dtype);
    std::vector<Expr> shape = {context.int32(blocks)};
    shape.insert(shape.end(), tile.shape.begin(), tile.shape.end());
    Buffer &parts =
        function.addBuffer(tile.name + "_parts", tile.dtype, Scope::Shared, shape, b.range);
    Builder(function, front).alloc(parts);
    auto at = [&](Expr block, const std::vector<Expr> &point) {
      std::vector<Expr> indices = {block};
      indices.insert(indices.end(), point.begin(), point.end());
      return Element{&parts, indices, {}, false};
    };
    beforeWrites(b, depth);
    overTile(b, tile, blocks, [&](Expr to, const std::vector<Expr> &point) {
      Expr own = b.load(tile.name, Element{&tile, point, {}, false});
      auto &call = b.add<CallStmt>();
      call.callee = "put_cluster";
      call.args = {Pointer{at(rank, point), context.int32(1), Access::Write}, to, own};
      call.hasEffect = true;
    });
    clusterBarrier(b, BarrierMode::Both);
    overTile(b, tile, 0, [&](Expr, const std::vector<Expr> &point) {
      Expr all;
      for (std::int64_t i = 0; i < blocks; ++i) {
        Expr x = b.load("x", at(context.int32(i), point));
        all = all ? folder.combine(all, x) : x;
      }
      b.store(Element{&tile, point, {}, false}, all);
    });
  }

  Function &function;
  Launch &launch;
  Context &context;
  const SpreadAxis axis;
  const std::int64_t blocks, part;
  Block front; ///< what stands before the program
  Expr rank, start;
  Substitution lets;
  std::unordered_set<const Stmt *> narrowed; ///< loops of which each block runs a part
  bool met = false;                          ///< there is an exchange
  bool allRun = false;       ///< there is one that each block has come to, whatever loops do
  bool earlyArrival = false; ///< blocks say that they run at once, and wait for it where they meet
};

} // namespace

void spreadTiles(Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    LaunchPlan *plan = context.schedule.launch(i);
    if (!plan || plan->spread < 2)
      continue;
    Launch &launch = *function.launches[i];
    Spreader(function, launch, findSpreadAxis(launch), plan->spread).run();
  }
}

} // namespace tlc::passes
