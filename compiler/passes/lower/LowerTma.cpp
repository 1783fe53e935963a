// lower-tma: copies by tensor maps become calls of one thread; barrier objects are made ready.
//
//   alloc %full: barrier u64[1]                 alloc %full: barrier u64[1]
//   mbar init %full[0] value(1)                 if %tid == 0 {
//   …                                             call @tma_prefetch(read map(%A box(128, 64) …))
//   copy %A[%y, %x : +64] -> %A_s tma      =>     mbar init %full[0] value(1)
//        async barrier(%full[0])                  fence mbar_init
//                                               }
//                                               barrier
//                                               …
//                                               if %tid == 0 {
//                                                 mbar expect %full[0] value(16384)
//                                                 call @tma_load_2d(write %A_s![0] : 8192,
//                                                      read map(%A …), readwrite %full[0], %x, %y)
//                                               }
//
// A tile is cut into boxes (analysis/Copies.h), one call each. The first thread of the role that a
// copy stands in issues them; of a store with a layout, the first thread of each warp those boxes
// that the layout gives to its warp. Loads that follow each other on one barrier object announce
// their bytes together, and where a single thread arrives there right behind them, with its
// arrival. A store reads what other threads have written: each of them fences its writes before the
// barrier that insert-sync puts in front of the thread that issues, or, where each warp issues,
// before one of the warp; one that the program does not wait for itself is waited for at once.
//
// Why here: the layouts of shared tiles are decided, and everything elementwise, which takes the
// copies that are left, comes after it.
#include "analysis/Copies.h"
#include "ir/Unfold.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/lower/LowerRole.h"
#include "passes/lower/Physical.h"
#include "passes/plan/TensorStores.h"
#include "support/Check.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;
using analysis::TensorBoxes;

namespace {

/// Boxes of the copies and tile atomics that tensor maps do.
using Cuts = std::unordered_map<const Stmt *, TensorBoxes>;

/// Finds them, with what ranges know where they stand. A tile that has to lie in rows, because the
/// program views it in another shape, may be none that boxes fit.
Cuts cutTiles(Function &function, DiagnosticEngine &diagnostics) {
  Cuts cuts;
  auto cut = [&](const Stmt &stmt, const Region &global, const Region &shared,
                 const analysis::Ranges &ranges) {
    auto form = analysis::tileForm(*shared.buffer);
    auto boxes = form ? analysis::tensorBoxes(global, shared, *form, ranges) : std::nullopt;
    if (boxes)
      cuts.emplace(&stmt, std::move(*boxes));
    else
      diagnostics
          .report(diag::NotByTensorMap, stmt.range, "its boxes do not fit the layout of the tile")
          .label(shared.buffer->range, "allocated here");
  };
  analysis::walkWithRanges(function, [&](Launch &, Stmt &stmt, analysis::Ranges &ranges) {
    if (auto *copy = dynCast<CopyStmt>(&stmt);
        copy && analysis::isTmaCopy(*copy) && !isStoreByWarps(*copy)) {
      bool load = copy->source.buffer->storage()->scope == Scope::Global;
      cut(stmt, load ? copy->source : copy->target, load ? copy->target : copy->source, ranges);
    } else if (auto *atomic = dynCast<AtomicTileStmt>(&stmt);
               atomic && atomic->useTma && !isStoreByWarps(*atomic)) {
      cut(stmt, atomic->target, atomic->source, ranges);
    }
    return true;
  });
  return cuts;
}

/// Loads of one block that follow each other and complete on one barrier object.
struct LoadGroup {
  std::vector<const CopyStmt *> copies;
  const MbarStmt *arrival = nullptr; ///< the only thread's, right behind them

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const CopyStmt *copy : copies)
      sum += storageBytes(copy->target.buffer->dtype, *copy->target.elementCount());
    return sum;
  }
};

bool sameElement(const Element &a, const Element &b) {
  return a.buffer == b.buffer && a.indices == b.indices && a.version == b.version;
}

/// The groups of a block and of those inside, by their first load. What belongs to one and is not
/// the first is in `members`.
class LoadGroups {
public:
  LoadGroups(const Launch &launch, const Target &target)
      : blocks(launch.cluster[0] * launch.cluster[1] * launch.cluster[2]) {
    read(launch.body, target.collectiveThreads(launch.threadCount()));
  }

  std::unordered_map<const Stmt *, LoadGroup> byFirst;
  std::unordered_set<const Stmt *> members;
  const std::int64_t blocks; ///< of a cluster

private:
  void read(const Block &block, Index threads) {
    LoadGroup *open = nullptr;
    for (const StmtPtr &stmt : block) {
      const auto *copy = dynCast<CopyStmt>(stmt.get());
      const auto *arrival = dynCast<MbarStmt>(stmt.get());
      if (copy && analysis::isTmaCopy(*copy) && copy->barrier.buffer) {
        if (!open || !sameElement(open->copies.back()->barrier, copy->barrier))
          open = &byFirst[copy];
        else
          members.insert(copy);
        open->copies.push_back(copy);
        continue;
      }
      if (open && threads == 1 && arrival && arrival->op == MbarOp::Arrive && !arrival->cta &&
          sameElement(open->copies.back()->barrier, arrival->barrier)) {
        open->arrival = arrival;
        members.insert(arrival);
      }
      open = nullptr;
      const auto *role = dynCast<RoleStmt>(stmt.get());
      forEachBlock(std::as_const(*stmt),
                   [&](const Block &inner) { read(inner, role ? role->count : threads); });
    }
  }
};

/// One box of a transfer: where it begins on either side.
struct Corner {
  std::vector<Expr> global; ///< coordinates, innermost first
  Element shared;
};

class Transfers {
public:
  Transfers(Function &function, const Target &target, DiagnosticEngine &diagnostics)
      : context(*function.context), target(target), diagnostics(diagnostics), anywhere(function),
        cuts(cutTiles(function, diagnostics)) {
    for (auto &launch : function.launches) {
      groups.emplace_back(*launch, target);
      warps.push_back({launch->tid, {}});
    }
  }

  /// Puts the warp's number in front of a launch that uses it. Behind all `lower`.
  void numberWarps(Function &function) const {
    for (std::size_t i = 0; i < warps.size(); ++i) {
      if (!warps[i].warp)
        continue;
      Block first;
      Builder b(function, first);
      b.range = function.launches[i]->range;
      auto &ask = b.add<CallStmt>();
      ask.callee = "warp_uniform";
      ask.result = warps[i].warp;
      ask.args = {floorDiv(warps[i].tid, target.limits.warp)};
      ask.collective = Collective::Warp;
      Block &body = function.launches[i]->body;
      body.insert(body.begin(), std::move(first.front()));
    }
  }

  bool lower(StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
    for (const LoadGroups &launch : groups) {
      if (launch.members.count(stmt.get()))
        return true;
      if (auto group = launch.byFirst.find(stmt.get()); group != launch.byFirst.end()) {
        load(b, threads, group->second, launch.blocks);
        return true;
      }
    }
    if (isStoreByWarps(*stmt)) {
      const auto *copy = dynCast<CopyStmt>(stmt.get());
      if (copy)
        storeByWarps(b, threads, "tma_store", Access::Write, *copy, copy->async);
      else
        storeByWarps(b, threads, "tma_reduce_add", Access::ReadWrite, cast<AtomicTileStmt>(*stmt),
                     true);
      return true;
    }
    auto found = cuts.find(stmt.get());
    if (found == cuts.end())
      return false;
    if (auto *atomic = dynCast<AtomicTileStmt>(stmt.get())) {
      store(b, threads, "tma_reduce_add", atomic->target, atomic->source, found->second,
            Access::ReadWrite, true);
      return true;
    }
    auto &copy = cast<CopyStmt>(*stmt);
    store(b, threads, "tma_store", copy.target, copy.source, found->second, Access::Write,
          !copy.async);
    return true;
  }

private:
  static TensorMap mapOf(const Region &global, const Region &shared, const TensorBoxes &boxes,
                         Access access) {
    if (global.buffer->unfold)
      return {global.buffer->base,
              {1, 1, boxes.box[0], boxes.box[1]},
              analysis::tileForm(*shared.buffer)->swizzleBytes,
              access,
              global.buffer->unfold};
    return {global.buffer, boxes.box, analysis::tileForm(*shared.buffer)->swizzleBytes, access};
  }

  Expr elements(const TensorBoxes &boxes) const {
    std::int64_t product = 1;
    for (std::int64_t extent : boxes.box)
      product *= extent;
    return context.int32(product);
  }

  /// Runs `f` for the corner of each box.
  void forEachBox(Builder &b, const Region &global, const Region &shared, const TensorBoxes &boxes,
                  const std::function<void(const Corner &)> &f) const {
    std::vector<Expr> at = global.offsets, tile = shared.offsets;
    std::function<void(unsigned)> along = [&](unsigned d) {
      if (d == at.size()) {
        Corner corner;
        for (unsigned i = d; i-- > 0;)
          corner.global.push_back(context.cast(Scalar::Int32, at[i]));
        corner.shared = physicalElement(*shared.buffer, tile, shared.version);
        return f(corner);
      }
      b.unrolled("box", boxes.count[d], [&](Expr i) {
        Expr step = i * boxes.box[d];
        Expr &inTile = tile[boxes.sharedDim[d]];
        Expr before = at[d], tileBefore = inTile;
        if (!step.isConstant(0)) {
          at[d] = before + context.cast(before.dtype(), step);
          inTile = tileBefore + context.cast(tileBefore.dtype(), step);
        }
        along(d + 1);
        at[d] = before;
        inTile = tileBefore;
      });
    };
    along(0);
  }

  /// Runs `f` in the first thread of the role.
  static void byOne(Builder &b, const RoleThreads &threads, const std::function<void()> &f) {
    if (threads.count == 1)
      f();
    else
      b.when(equals(threads.index, 0), f);
  }

  static CallStmt &call(Builder &b, const std::string &callee) {
    auto &stmt = b.add<CallStmt>();
    stmt.callee = callee;
    stmt.hasEffect = true;
    return stmt;
  }

  static std::string named(const std::string &what, const Region &global) {
    if (global.buffer->unfold)
      return what + "_im2col_4d";
    return what + "_" + std::to_string(global.buffer->rank()) + "d";
  }

  void load(Builder &b, const RoleThreads &threads, const LoadGroup &group, std::int64_t blocks) {
    byOne(b, threads, [&] {
      auto &expect = b.add<MbarStmt>();
      expect.op = group.arrival ? MbarOp::ArriveExpect : MbarOp::Expect;
      expect.barrier = group.copies.front()->barrier;
      expect.value = context.int32(group.bytes());
      for (const CopyStmt *copy : group.copies) {
        b.range = copy->range;
        load(b, *copy, cuts.at(copy), blocks);
      }
    });
  }

  void load(Builder &b, const CopyStmt &copy, const TensorBoxes &boxes, std::int64_t blocks) {
    if (!copy.multicast)
      return loadBoxes(b, copy, boxes, {});
    if (!copy.multicast.constant())
      return loadTogether(b, copy, boxes);
    // The first block of the mask loads for all of them, the others of the cluster for themselves.
    auto mask = static_cast<std::uint64_t>(*copy.multicast.constant());
    auto &ask = b.add<CallStmt>();
    ask.callee = "cluster_rank";
    ask.result = context.var("rank", Scalar::Int32);
    IfStmt &branch = b.when(equals(ask.result, std::countr_zero(mask)), [&] {
      loadBoxes(b, copy, boxes, context.integer(Scalar::UInt16, *copy.multicast.constant()));
    });
    if (std::countr_one(mask) >= blocks)
      return;
    Expr all = context.int32(static_cast<std::int64_t>(mask));
    Expr outside =
        equals(context.binary(BinaryOp::And, context.binary(BinaryOp::Shr, all, ask.result),
                              context.int32(1)),
               0);
    b.in(branch.otherwise, [&] { b.when(outside, [&] { loadBoxes(b, copy, boxes, {}); }); });
  }

  /// A mask that only the launch decides has all blocks of the cluster, or is 0: each loads for
  /// itself.
  void loadTogether(Builder &b, const CopyStmt &copy, const TensorBoxes &boxes) {
    IfStmt &alone = b.when(equals(copy.multicast, 0), [&] { loadBoxes(b, copy, boxes, {}); });
    b.in(alone.otherwise, [&] {
      auto &ask = b.add<CallStmt>();
      ask.callee = "cluster_rank";
      ask.result = context.var("rank", Scalar::Int32);
      b.when(equals(ask.result, 0),
             [&] { loadBoxes(b, copy, boxes, context.cast(Scalar::UInt16, copy.multicast)); });
    });
  }

  void loadBoxes(Builder &b, const CopyStmt &copy, const TensorBoxes &boxes, Expr mask) {
    std::string callee = named("tma_load", copy.source) + (mask ? "_multicast" : "");
    forEachBox(b, copy.source, copy.target, boxes, [&](const Corner &corner) {
      CallStmt &stmt = call(b, callee);
      stmt.args.emplace_back(Pointer{corner.shared, elements(boxes), Access::Write});
      stmt.args.emplace_back(mapOf(copy.source, copy.target, boxes, Access::Read));
      stmt.args.emplace_back(Pointer{copy.barrier, context.int32(1), Access::ReadWrite});
      if (copy.source.buffer->unfold)
        unfolded(stmt, *copy.source.buffer, corner);
      else
        stmt.args.insert(stmt.args.end(), corner.global.begin(), corner.global.end());
      if (mask)
        stmt.args.emplace_back(mask);
    });
  }

  /// The first pixel that a box has for the kernel's first tap, and how far its own tap is from
  /// there.
  void unfolded(CallStmt &stmt, const Buffer &view, const Corner &corner) const {
    UnfoldedPixel p = unfoldedPixel(view, corner.global[1], corner.global[0]);
    const std::int64_t dilation = view.unfold->dilation;
    for (Expr e : {p.channel, p.startX, p.startY, p.n, p.kernelX * dilation, p.kernelY * dilation})
      stmt.args.emplace_back(context.cast(Scalar::Int32, e));
  }

  void store(Builder &b, const RoleThreads &threads, const std::string &what, const Region &global,
             const Region &shared, const TensorBoxes &boxes, Access access, bool waits) {
    b.add<FenceStmt>().what = FenceKind::ProxyAsync;
    byOne(b, threads, [&] {
      storeBoxes(b, what, global, shared, boxes, access);
      close(b, waits);
    });
  }

  void storeBoxes(Builder &b, const std::string &what, const Region &global, const Region &shared,
                  const TensorBoxes &boxes, Access access) const {
    forEachBox(b, global, shared, boxes, [&](const Corner &corner) {
      CallStmt &stmt = call(b, named(what, global));
      stmt.args.emplace_back(mapOf(global, shared, boxes, access));
      stmt.args.emplace_back(Pointer{corner.shared, elements(boxes), Access::Read});
      stmt.args.insert(stmt.args.end(), corner.global.begin(), corner.global.end());
    });
  }

  static void close(Builder &b, bool waits) {
    b.commit(AsyncKind::Bulk);
    if (waits)
      b.wait(0, AsyncKind::Bulk);
  }

  /// The first lane of each warp stores what the layout gives to the warp.
  template <typename Store>
  void storeByWarps(Builder &b, const RoleThreads &threads, const std::string &what, Access access,
                    const Store &store, bool async) {
    const Index warp = target.limits.warp;
    const std::vector<Index> tile = *store.source.constantTileExtents();
    auto form = analysis::tileForm(*store.source.buffer);
    Index panel = form && form->panelBytes
                      ? form->panelBytes * 8 / store.source.buffer->dtype.bits()
                      : tile.back();
    auto parts = form ? warpBoxes(*store.layout, panel, warp) : std::nullopt;
    if (!parts)
      return notByMap(store.range, store.source);
    b.add<FenceStmt>().what = FenceKind::ProxyAsync;
    b.barrier().scope = BarrierScope::Warp;
    Expr first = warpOf(threads) * warp;
    b.when(equals(floorMod(threads.index, warp), 0), [&] {
      for (Index reg : parts->registers) {
        Expr inputs[] = {context.int32(reg), first};
        std::vector<Expr> corner = layoutExprs(*store.layout, inputs);
        Region global = partOf(store.target, corner, {parts->rows, parts->columns});
        Region shared = partOf(store.source, corner, {parts->rows, parts->columns});
        auto boxes = analysis::tensorBoxes(global, shared, *form, anywhere);
        if (!boxes)
          return notByMap(store.range, store.source);
        storeBoxes(b, what, global, shared, *boxes, access);
      }
      close(b, !async);
    });
  }

  /// The number of the executing warp in its role, in a form that is plainly the same in all lanes:
  /// what tensor copies take must be.
  Expr warpOf(const RoleThreads &threads) {
    const Index warp = target.limits.warp;
    for (LaunchWarp &launch : warps)
      if (uses(threads.index, launch.tid)) {
        if (!launch.warp)
          launch.warp = context.var("warp", Scalar::Int32);
        return floorDiv(substitute(threads.index, {{launch.tid, launch.warp * warp}}), warp);
      }
    TLC_UNREACHABLE("a thread of no launch");
  }

  void notByMap(SourceRange range, const Region &tile) const {
    diagnostics.report(diag::NotByTensorMap, range, "its boxes do not fit the layout of the tile")
        .label(tile.buffer->range, "allocated here");
  }

  /// A box of a region's tile.
  Region partOf(Region region, const std::vector<Expr> &corner,
                const std::vector<Index> &extents) const {
    std::size_t next = 0;
    for (unsigned d = 0; d < region.offsets.size(); ++d) {
      if (region.isDropped(d))
        continue;
      DType dtype = region.offsets[d].dtype();
      region.offsets[d] = region.offsets[d] + context.cast(dtype, corner[next]);
      region.extents[d] = context.integer(region.extents[d].dtype(), extents[next]);
      ++next;
    }
    return region;
  }

  /// The warp's number in a launch; null: nobody asked.
  struct LaunchWarp {
    Expr tid, warp;
  };

  Context &context;
  const Target &target;
  DiagnosticEngine &diagnostics;
  const analysis::Ranges anywhere; ///< what is known all over the function
  Cuts cuts;
  std::vector<LoadGroups> groups; ///< of the launches
  std::vector<LaunchWarp> warps;  ///< of the launches
};

/// Takes initialisations of barrier objects out of a block, unless the program itself says which
/// thread does them, and the allocations of those objects with them.
void takeInits(Block &block, std::vector<StmtPtr> &allocs, std::vector<StmtPtr> &inits) {
  Block kept;
  for (StmtPtr &stmt : block) {
    auto *alloc = dynCast<AllocStmt>(stmt.get());
    auto *mbar = dynCast<MbarStmt>(stmt.get());
    if (alloc && alloc->buffer->scope == Scope::Barrier) {
      allocs.push_back(std::move(stmt));
    } else if (mbar && mbar->op == MbarOp::Init && mbar->value.constant()) {
      inits.push_back(std::move(stmt));
    } else {
      if (!isa<IfStmt>(*stmt))
        forEachBlock(*stmt, [&](Block &inner) { takeInits(inner, allocs, inits); });
      kept.push_back(std::move(stmt));
    }
  }
  block = std::move(kept);
}

std::vector<TensorMap> mapsOf(const Launch &launch) {
  std::vector<TensorMap> maps;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) {
      if (use.map && std::none_of(maps.begin(), maps.end(),
                                  [&](const TensorMap &m) { return m.sameAs(*use.map); }))
        maps.push_back(*use.map);
    });
    return true;
  });
  return maps;
}

bool hasCluster(const Launch &launch) {
  return launch.cluster != std::array<std::int64_t, 3>{1, 1, 1};
}

/// Whether blocks of a cluster write, or arrive, in each other's shared memory.
bool reachesOthers(const Launch &launch) {
  bool found = false;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *call = dynCast<CallStmt>(&stmt);
    const auto *mbar = dynCast<MbarStmt>(&stmt);
    found |= (call && usesTensorMap(*call) && call->callee.ends_with("_multicast")) ||
             (mbar && mbar->cta);
    return !found;
  });
  return found;
}

/// A part at the kernel's start that its first thread executes alone already; null: there is none.
IfStmt *startOfFirstThread(Launch &launch) {
  for (StmtPtr &stmt : launch.body) {
    const auto *call = dynCast<CallStmt>(stmt.get());
    if (isa<AllocStmt>(*stmt) || isa<LetStmt>(*stmt) || isa<AssumeStmt>(*stmt) ||
        (call && !call->hasEffect))
      continue;
    auto *branch = dynCast<IfStmt>(stmt.get());
    return branch && branch->condition == equals(launch.tid, 0) ? branch : nullptr;
  }
  return nullptr;
}

/// What one thread does before all others begin: fetch descriptors, make barrier objects ready.
void addPrologue(Function &function, Launch &launch) {
  std::vector<StmtPtr> allocs, inits;
  takeInits(launch.body, allocs, inits);
  std::vector<TensorMap> maps = mapsOf(launch);
  Block prologue, alone;
  Builder b(function, prologue);
  b.range = launch.range;
  for (StmtPtr &alloc : allocs)
    b.add(std::move(alloc));
  b.in(alone, [&] {
    for (TensorMap &map : maps) {
      map.access = Access::Read;
      auto &fetch = b.add<CallStmt>();
      fetch.callee = "tma_prefetch";
      fetch.args.emplace_back(map);
      fetch.hasEffect = true;
    }
    for (StmtPtr &init : inits)
      b.add(std::move(init));
    if (!inits.empty())
      b.add<FenceStmt>().what = FenceKind::MbarInit;
  });
  auto moveTo = [](Block &to, Block &from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
  };
  if (IfStmt *start = inits.empty() ? startOfFirstThread(launch) : nullptr) {
    moveTo(alone, start->then);
    start->then = std::move(alone);
  } else if (!alone.empty()) {
    b.when(equals(launch.tid, 0), [&] { moveTo(b.block(), alone); });
  }
  if (!inits.empty())
    b.barrier().scope = hasCluster(launch) ? BarrierScope::Cluster : BarrierScope::Block;
  // No block may be gone while another one can still reach its memory.
  bool staysForOthers = hasCluster(launch) && reachesOthers(launch);
  moveTo(prologue, launch.body);
  if (staysForOthers)
    b.barrier().scope = BarrierScope::Cluster;
  launch.body = std::move(prologue);
}

} // namespace

void lowerTma(Function &function, PassContext &context) {
  if (!context.target.isGpu())
    return;
  Transfers transfers(function, context.target, context.diagnostics);
  if (context.failed())
    return;
  lowerInRoles(function, context.target,
               [&](StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
                 return transfers.lower(stmt, b, threads);
               });
  transfers.numberWarps(function);
  expandUnfolded(function, [](const CopyStmt &) { return true; }); // views have done their part
  for (auto &launch : function.launches)
    addPrologue(function, *launch);
}

} // namespace tlc::passes
