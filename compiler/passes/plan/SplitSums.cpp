// split-sums: a second launch for sizes whose tiles do not fill the machine, in which the blocks of
// a cluster share the products of a tile.
//
//   launch main grid(g0, g1) blocks(%bx, %by) {
//     fill %C_l = 0
//     for %k in 0 .. %T pipelined { copy … ; copy … ; gemm %A_s, %B_s -> %C_l }
//     copy %C_l -> %C[…]
//   }
//     =>
//   constant computed %doublings = few tiles, long loops ? 1, 2 or 3 : 0
//   launch main grid(%doublings == 0 ? g0 : 0, g1) { as it was }
//   launch main_parts grid(%doublings == 0 ? 0 : g0 << %doublings, g1) cluster(8)
//       cluster_size(1 << %doublings) blocks(%block, %by) {
//     let %bx = %block >> %doublings ; let %part = %block - (%bx << %doublings)
//     fill %C_l = 0
//     for %k in %T * %part >> %doublings .. %T * (%part + 1) >> %doublings pipelined { … }
//     alloc %inbox: shared f32[…]
//     call send_sums(%inbox, %C_l, …) ; barrier cluster ; call add_sums(%C_l, %inbox, …)
//     if 0 % 2^%doublings == %part { columns 0 to 7 of the tile leave }
//     if 1 % 2^%doublings == %part { columns 8 to 15 … } …
//   }
//
// A product of 128 x 512 and K = 7168 has 8 tiles of 128 x 64 for 132 multiprocessors. Sums of
// float32 are then made in another order than along k; the order is the same in every run. What
// blocks send each other lies in shared memory of its own, since some may still multiply.
//
// Only where that is all there is to the kernel: one loop of loads and a product, behind which each
// column of the tile goes the same way; and on machines with clusters and warpgroup products. Not
// with --schedule=as-written; of a schedule that is given, where it has a launch of that name.
//
// Why here: behind select-atoms, by which the registers of a thread are known; before plan, which
// then plans the new launch like any other. It comes last, so the others keep their numbers.
#include "analysis/Copies.h"
#include "ir/Builder.h"
#include "ir/Unfold.h"
#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/plan/ColumnPieces.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/GemmLayouts.h"
#include "passes/prepare/PackedRows.h"
#include "passes/roles/Channels.h"

#include <algorithm>
#include <bit>

namespace tlc::passes {

using namespace ir;

namespace {

/// The most blocks that share a tile: the largest cluster that every device can hold.
constexpr std::int64_t mostParts = 8;
/// Columns of a piece are a multiple of an instruction's least.
constexpr std::int64_t leastColumns = 8;
/// What a block saves at least, in bytes that it need not load: clusters, the exchange and the
/// pieces cost some 4500 cycles, in which a multiprocessor loads 240 KB (tools/bench/gpu/LOG.md).
constexpr std::int64_t leastSaved = 320 << 10;
/// Sums of larger tiles would leave no room for the stages of the loop.
constexpr std::int64_t mostSums = 128 * 128;
/// No device has more multiprocessors.
constexpr std::int64_t mostMultiprocessors = 160;
/// Of barriers, and what alignment leaves.
constexpr std::int64_t barrierBytes = 1024;

/// A launch that can be split.
class SumSplitter {
public:
  SumSplitter(Function &function, Launch &launch, const Target &target)
      : function(function), context(*function.context), launch(launch), target(target) {}

  bool possible() {
    if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1} || launch.cooperative ||
        launch.alternates || launch.blockVars.empty() || !findLoop() || !isPlainLoop() ||
        !isPlainStart())
      return false;
    const std::int64_t columns = gemm->c.buffer->constantShape()->back();
    while (pieces * 2 <= mostParts && columns % (pieces * 2 * leastColumns) == 0)
      pieces *= 2;
    return pieces > 1 && stagesBeside(*gemmShape(*gemm)) > 1 &&
           ColumnPieces(launch, at, *gemm->c.buffer).possible() && mayBeFew() && loadsByMaps() &&
           storesWords();
  }

  /// The launch for few tiles; the old one is left for the others. `limit`: of parts, 0: none.
  std::unique_ptr<Launch> split(std::int64_t limit) {
    const std::int64_t most = limit ? std::min(limit, pieces) : pieces;
    shift = launchConstant(function, "doublings", doublings(most));
    Substitution renamed;
    std::unique_ptr<Launch> parts = freshCopy(function, launch, renamed);
    parts->name += "_parts";
    parts->cluster = {most, 1, 1};
    parts->clusterSize = context.binary(BinaryOp::Shl, context.int32(1), shift);
    parts->raster = {};
    const Expr tiles = launch.grid[0], whole = equals(shift, 0);
    parts->grid[0] = shifted(BinaryOp::Shl, tiles);
    startOnlyIf(*parts, logicalNot(whole));
    startOnlyIf(launch, whole);
    SumSplitter other(function, *parts, target);
    other.shift = shift;
    other.pieces = pieces;
    other.share(whereStarted(tiles));
    return parts;
  }

private:
  // ---- Whether

  bool findLoop() {
    std::size_t loops = 0;
    for (std::size_t i = 0; i < launch.body.size(); ++i)
      if (auto *found = dynCast<ForStmt>(launch.body[i].get());
          found && found->kind == ForKind::Pipelined)
        at = i, loop = found, ++loops;
    return loops == 1;
  }

  bool isPlainLoop() {
    if (isArranged(*loop) || (loop->step && !loop->step.isConstant(1)))
      return false;
    for (const StmtPtr &stmt : loop->body) {
      if (auto *product = dynCast<GemmStmt>(stmt.get()); product && !gemm)
        gemm = product;
      else if (!analysis::isSharedLoad(*stmt) && !isa<LetStmt>(*stmt) && !isa<AssumeStmt>(*stmt))
        return false;
    }
    if (!gemm || !isWarpgroupGemm(*gemm) || gemm->async || gemm->barrier.buffer ||
        (gemm->clear && !gemm->clear.isFalse()) || !gemm->c.wholeBuffer() || gemm->c.buffer->base ||
        gemm->c.buffer->dtype.bits() != 32 || gemm->warpsN != 1)
      return false;
    auto shape = gemmShape(*gemm);
    if (!shape || shape->m * shape->n > mostSums)
      return false;
    grid = gemmGrid(*gemm->atom, *shape, gemm->warpsM, gemm->warpsN, launch.threadCount());
    // All blocks find out alike how many rounds there are.
    return grid.replicas == 1 && launcherKnows(launch, tripCount(*loop));
  }

  /// Whether what stands before the loop may be done by several blocks, and clears the sums.
  bool isPlainStart() const {
    const Buffer *sums = gemm->c.buffer;
    bool plain = true, clears = false;
    for (std::size_t i = 0; i < at && plain; ++i) {
      const Stmt &stmt = *launch.body[i];
      if (const auto *fill = dynCast<FillStmt>(&stmt); fill && fill->target.buffer == sums) {
        clears = fill->target.wholeBuffer() &&
                 (fill->value.isConstant(0) || (fill->value.isFloat() && fill->value->real == 0));
        plain = clears;
        continue;
      }
      const auto *copy = dynCast<CopyStmt>(&stmt);
      plain = isa<AllocStmt>(stmt) || isa<LetStmt>(stmt) || isa<AssumeStmt>(stmt) ||
              (copy && copy->target.buffer->storage()->scope != Scope::Global &&
               copy->target.buffer->storage() != sums);
    }
    return plain && clears;
  }

  /// Whether there may be a device that tiles of these sizes do not fill.
  bool mayBeFew() const {
    std::int64_t tiles = 1;
    for (Expr extent : launch.grid)
      tiles *= whereStarted(extent).constant().value_or(1);
    // Of most parts, it takes the fewest rounds.
    const std::int64_t least = leastRounds(std::countr_zero(std::uint64_t(pieces)));
    return tiles * 2 <= mostMultiprocessors && tripCount(*loop).constant().value_or(least) >= least;
  }

  std::int64_t inboxElements(const GemmShape &shape) const {
    return shape.m * shape.n / pieces * (pieces - 1);
  }

  /// Stages that shared memory has room for beside the inbox.
  std::int64_t stagesBeside(const GemmShape &shape) const {
    const std::int64_t round = bytesOfRound();
    const std::int64_t others = allocatedBytes(launch.body, Scope::Shared) - round;
    return (target.limits.sharedPerBlockOptIn - others - barrierBytes - inboxElements(shape) * 4) /
           round;
  }

  bool loadsByMaps() const {
    ChannelPlan channels = findChannels(function, launch, target, nullptr);
    return channels.reason.empty() && !channels.byThreads();
  }

  /// Whether rows of results begin where vectors do. (For others, which are rare, there is no
  /// second launch.)
  bool storesWords() const {
    bool words = true;
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
      if (auto store = analysis::asFragmentStore(stmt); store && isa<CopyStmt>(stmt))
        words = words && analysis::copyPieceBytes(cast<CopyStmt>(stmt), ranges) >= 16;
      return words;
    });
    return words;
  }

  std::int64_t bytesOfRound() const {
    std::int64_t bytes = 0;
    for (const StmtPtr &stmt : loop->body)
      if (analysis::isSharedLoad(*stmt))
        bytes += bytesOf(*cast<CopyStmt>(*stmt).target.buffer);
    return std::max<std::int64_t>(1, bytes);
  }

  /// Rounds of a loop that is worth 2^k parts.
  std::int64_t leastRounds(int k) const {
    const std::int64_t parts = std::int64_t{1} << k, saved = bytesOfRound() * (parts - 1);
    return std::max(parts, (leastSaved * parts + saved - 1) / saved);
  }

  // ---- How

  /// A grid's extent or a block's number times, or through, the number of parts.
  Expr shifted(BinaryOp op, Expr value) {
    return context.binary(op, value, context.cast(value.dtype(), shift));
  }

  /// How often the number of a tile's blocks is doubled: as often as they then still are on the
  /// machine at a time. Clusters cannot use each multiprocessor, and the less the larger they are.
  Expr doublings(std::int64_t most) {
    DType wide(Scalar::Int64);
    const Expr tiles = launchConstant(function, "all", blocksWhereStarted(launch));
    Expr rounds = launchConstant(function, "rounds", context.cast(wide, tripCount(*loop)));
    Expr machine = context.cast(wide, multiprocessors(function));
    Expr result = context.int32(0);
    for (int k = 1; (std::int64_t{1} << k) <= most; ++k) {
      Expr room = k == 1 ? machine : machine - floorDiv(machine, std::int64_t{64} >> k);
      Expr fits = logicalAnd(lessEqual(tiles * (std::int64_t{1} << k), room),
                             lessEqual(context.integer(wide, leastRounds(k)), rounds));
      result = context.select(fits, context.int32(k), result);
    }
    return result;
  }

  /// Makes the launch, which has all rounds of all tiles, the one that shares them.
  void share(Expr tiles) {
    findLoop();
    for (StmtPtr &stmt : loop->body)
      if (auto *product = dynCast<GemmStmt>(stmt.get()))
        gemm = product;
    auto shape = gemmShape(*gemm);
    grid = gemmGrid(*gemm->atom, *shape, gemm->warpsM, gemm->warpsN, launch.threadCount());
    Block body;
    Builder b(function, body);
    b.range = launch.range;
    Expr part = placeBlock(b, tiles);
    const ColumnPieces columns(launch, at, *gemm->c.buffer);
    takePart(part);
    loop->stages = std::min(loop->stages, stagesBeside(*shape));
    // The rest has to stay where the pieces are made of it.
    for (std::size_t i = 0; i < launch.body.size(); ++i) {
      if (i == at + 1)
        exchange(b, part, *shape);
      if (!columns.covers(*launch.body[i]))
        b.add(std::move(launch.body[i]));
    }
    const std::int64_t width = shape->n / pieces;
    Expr mask = context.binary(BinaryOp::Shl, context.int32(1), shift) - 1;
    for (std::int64_t p = 0; p < pieces; ++p)
      b.when(equals(context.binary(BinaryOp::And, context.int32(p), mask), part),
             [&] { columns.add(b, p * width, width); });
    launch.body = std::move(body);
  }

  /// Names the tile, of `tiles` along the first dimension, and the part of a block, which is
  /// returned.
  Expr placeBlock(Builder &b, Expr tiles) {
    Expr tile = launch.blockVars[0];
    Expr block = context.var("block", tile.dtype());
    launch.blockVars[0] = block;
    auto assume = [&](Expr condition) { b.add<AssumeStmt>().condition = condition; };
    assume(logicalAnd(lessEqual(context.int32(0), shift), lessEqual(shift, context.int32(3))));
    auto &let = b.add<LetStmt>();
    let.var = tile;
    let.value = shifted(BinaryOp::Shr, block);
    assume(logicalAnd(lessEqual(context.integer(tile.dtype(), 0), tile),
                      lessThan(tile, context.cast(tile.dtype(), tiles))));
    Expr part =
        b.let("part", context.cast(DType(Scalar::Int32), block - shifted(BinaryOp::Shl, tile)));
    assume(logicalAnd(lessEqual(context.int32(0), part),
                      lessThan(part, context.int32(std::int64_t{1} << 3))));
    return part;
  }

  /// The loop does the rounds of one part, which are some of those that it had.
  void takePart(Expr part) {
    Expr trips = tripCount(*loop), mine = context.cast(trips.dtype(), part), lo = loop->lo;
    if (hasUnfolded(function)) { // whose columns have to be known to be there
      auto known = std::make_unique<AssumeStmt>(loop->range);
      known->condition = logicalAnd(lessEqual(lo, loop->var), lessThan(loop->var, loop->hi));
      loop->body.insert(loop->body.begin(), std::move(known));
    }
    loop->hi = lo + shifted(BinaryOp::Shr, trips * (mine + 1));
    loop->lo = lo + shifted(BinaryOp::Shr, trips * mine);
  }

  void exchange(Builder &b, Expr part, const GemmShape &shape) {
    Buffer &sums = *gemm->c.buffer;
    const std::int64_t room = inboxElements(shape);
    Buffer &inbox =
        function.addBuffer("inbox", sums.dtype, Scope::Shared, {context.int32(room)}, launch.range);
    b.alloc(inbox);
    auto pointer = [&](Buffer &buffer, std::int64_t count, Access access) {
      std::vector<Expr> origin(buffer.rank(), context.int32(0));
      return Pointer{Element{&buffer, origin, {}, false}, context.int32(count), access};
    };
    auto call = [&](const char *callee, std::vector<Argument> arguments) {
      auto &stmt = b.add<CallStmt>();
      stmt.callee = callee;
      stmt.templateArgs = {pieces, grid.perM};
      stmt.args = std::move(arguments);
      for (Expr value : {launch.tid, part, shift})
        stmt.args.emplace_back(value);
      stmt.hasEffect = true;
    };
    const std::int64_t all = shape.m * shape.n;
    call("send_sums", {pointer(inbox, room, Access::Write), pointer(sums, all, Access::Read)});
    b.barrier().scope = BarrierScope::Cluster;
    call("add_sums", {pointer(sums, all, Access::ReadWrite), pointer(inbox, room, Access::Read)});
  }

  Function &function;
  Context &context;
  Launch &launch;
  const Target &target;
  std::size_t at = 0; ///< the loop's number in the body
  ForStmt *loop = nullptr;
  GemmStmt *gemm = nullptr;
  GemmGrid grid;
  std::int64_t pieces = 1; ///< of a tile's columns, a power of two
  Expr shift;              ///< logarithm of the number of parts; 0: none
};

} // namespace

void splitSums(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma) || context.target.limits.maxCluster < mostParts ||
      function.options.hintsAreBinding || function.options.disableWarpSpecialize ||
      function.options.disableTma)
    return;
  addLaunches(function, [&](Launch &launch) {
    std::vector<std::unique_ptr<Launch>> more;
    const LaunchPlan *plan = context.schedule.find(launch.name + "_parts");
    const std::int64_t given = plan ? plan->parts : 0;
    if ((context.schedule.given && !given) || !packedTensors(launch).empty())
      return more; // rows are copied where there are many tiles
    if (SumSplitter splitter(function, launch, context.target); splitter.possible())
      more.push_back(splitter.split(given));
    return more;
  });
}

} // namespace tlc::passes
