#include "passes/prepare/TileTurns.h"

#include "analysis/Copies.h"
#include "analysis/Monotone.h"
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Rewrite.h"
#include "passes/pipeline/Persist.h"
#include "passes/pipeline/PipelineLoops.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/GemmLayouts.h"
#include "passes/plan/SelectAtoms.h"
#include "passes/prepare/PackedRows.h"
#include "passes/prepare/TensorMoves.h"
#include "passes/prepare/WidenBlocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

/// Registers of a thread of two warpgroups, beside producers.
constexpr std::int64_t mostRegisters = 232;
/// Smaller tiles wait for their operands, and are better widened; a warpgroup cannot hold larger
/// ones.
constexpr std::int64_t sumsOfTile = 128 * 128;
/// Of others nothing was measured.
constexpr std::int64_t operandBits = 16;

// What a multiprocessor does in a cycle.
constexpr std::int64_t products = 2048;
constexpr std::int64_t operations = 128, specialOperations = 16;
constexpr std::int64_t storedBytes = 56;

// Where it gains, measured (tools/bench/gpu/LOG.md).
/// An eighth of a tile's products at least has to be hidden: tiles of 128 x 128 load more for each
/// product than those of 128 x 256, which warpgroups share otherwise.
constexpr std::int64_t leastFinish = 8;
/// What takes longer than three quarters of the products is not hidden by those of one tile.
constexpr std::int64_t mostFinish[2] = {3, 4};
/// Tiles of a multiprocessor: of few, the last one's end is a large part, and one warpgroup's.
constexpr std::int64_t leastTiles = 4;
/// No device has fewer multiprocessors.
constexpr std::int64_t leastMultiprocessors = 32;
/// Rows that begin within a line cost one line more each, and these tiles have more of them.
constexpr std::int64_t lineBits = 128 * 8;

class Candidate {
public:
  Candidate(Function &function, Launch &launch, PassContext &pass)
      : function(function), launch(launch), pass(pass), target(pass.target) {}

  TileRounds find() {
    const std::int64_t group = target.limits.groupThreads();
    const bool possible =
        target.has(Feature::Wgmma) && target.has(Feature::SetMaxRegisters) &&
        !function.options.hintsAreBinding && !function.options.disableWarpSpecialize &&
        !function.options.disableTma && !launch.clusterSize && launch.minBlocksPerSm <= 1 &&
        (launch.threadCount() == group || launch.threadCount() == 2 * group) &&
        hasFreeThreads(launch, target) && whyNotPersistent(function, launch).empty() &&
        findProduct() && isPlainLoop() && hasOnlyTilesOfLoop() && multipliesByWarpgroups() &&
        packedTensors(launch).empty() && movesByMaps(function, launch, target) &&
        registersOf(launch.body, group) <= mostRegisters;
    return possible ? rounds : TileRounds();
  }

private:
  /// One loop of the body has the only product.
  bool findProduct() {
    std::size_t gemms = 0, loops = 0;
    for (StmtPtr &stmt : launch.body)
      if (auto *found = dynCast<ForStmt>(stmt.get()); found && found->kind == ForKind::Pipelined)
        rounds.loop = found, ++loops;
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *product = dynCast<GemmStmt>(&stmt))
        rounds.gemm = product, ++gemms;
      return true;
    });
    return loops == 1 && gemms == 1;
  }

  /// All tiles take as many rounds, which do nothing but multiply whole results of 64 rows or more.
  bool isPlainLoop() const {
    const ForStmt &loop = *rounds.loop;
    const GemmStmt &gemm = *rounds.gemm;
    if (isArranged(loop) || (loop.step && !loop.step.isConstant(1)) || loop.stages < 1)
      return false;
    bool multiplies = false;
    for (const StmtPtr &stmt : loop.body) {
      multiplies |= stmt.get() == &gemm;
      if (stmt.get() != &gemm && !analysis::isSharedLoad(*stmt) && !isa<LetStmt>(*stmt) &&
          !isa<AssumeStmt>(*stmt))
        return false;
    }
    auto shape = gemmShape(gemm);
    return multiplies && shape && !gemm.async && !gemm.barrier.buffer && shape->m % 64 == 0 &&
           gemm.a.buffer->storage()->scope == Scope::Shared && gemm.c.wholeBuffer() &&
           !gemm.c.buffer->base && launcherKnows(launch, tripCount(loop));
  }

  bool multipliesByWarpgroups() const {
    const Atom *atom = atomFor(function, pass, *rounds.gemm, *gemmShape(*rounds.gemm),
                               target.limits.groupThreads());
    return atom && atom->kind == AtomKind::WarpGroup;
  }

  /// Others would need room for both.
  bool hasOnlyTilesOfLoop() const {
    bool only = true;
    walk(std::as_const(launch.body), [&](const Stmt &stmt) {
      const auto *alloc = dynCast<AllocStmt>(&stmt);
      if (!alloc || alloc->buffer->scope != Scope::Shared)
        return true;
      const Block &body = rounds.loop->body;
      only &= std::any_of(body.begin(), body.end(), [&](const StmtPtr &inner) {
        return analysis::isSharedLoad(*inner) &&
               cast<CopyStmt>(*inner).target.buffer->storage() == alloc->buffer;
      });
      return only;
    });
    return only;
  }

  Function &function;
  Launch &launch;
  PassContext &pass;
  const Target &target;
  TileRounds rounds;
};

/// Operations on floating-point numbers that expressions take, and those that special units do.
class Operations {
public:
  void add(Expr e) {
    if (!e || !seen.insert(e.get()).second)
      return;
    for (Expr operand : e->operands)
      add(operand);
    if (!e.dtype().isFloat() || e.isConstant() || e.isVar())
      return;
    const Cost cost = costOf(e);
    plain += cost.plain;
    special += cost.special;
  }

  std::int64_t cyclesFor(std::int64_t elements) const {
    return elements * std::max(plain * specialOperations, special * operations) /
           (operations * specialOperations);
  }

private:
  struct Cost {
    std::int64_t plain = 1, special = 0;
  };

  /// As nvcc makes them, counted in what it assembles.
  static Cost costOf(Expr e) {
    if (e.kind() == ExprKind::Binary && e->binaryOp() == BinaryOp::Div)
      return {12, 1};
    if (e.kind() != ExprKind::Math)
      return {};
    switch (e->mathFn()) {
    case MathFn::Abs:
    case MathFn::Floor:
    case MathFn::Ceil:
    case MathFn::Trunc:
    case MathFn::RoundEven:
    case MathFn::CopySign:
    case MathFn::Fma:
      return {};
    case MathFn::Exp2:
    case MathFn::FastRcp:
      return {0, 1};
    case MathFn::Tanh:
    case MathFn::Sigmoid:
      return {20, 2};
    default:
      return {8, 1};
    }
  }

  std::unordered_set<const ExprNode *> seen;
  std::int64_t plain = 0, special = 0;
};

/// Cycles of a multiprocessor for what finishes a tile and does not run beside the next one's
/// rounds: what is computed element by element, and stores but a single one of halves
/// (defer-stores). Additions to a tensor are left out: blocks that share tiles have few each.
std::int64_t finishCycles(Launch &launch, const TileRounds &rounds) {
  std::int64_t cycles = 0;
  walk(std::as_const(launch.body), [&](const Stmt &stmt) {
    const auto *map = dynCast<MapStmt>(&stmt);
    if (!map)
      return &stmt != rounds.loop;
    std::int64_t elements = 1;
    for (Expr extent : map->extents)
      elements *= extent.constant().value_or(0);
    Operations counted;
    walk(map->body, [&](const Stmt &inner) {
      forEachExpr(inner, [&](Expr e) { counted.add(e); });
      return true;
    });
    cycles += counted.cyclesFor(elements);
    return false;
  });
  const std::vector<analysis::FragmentStore> stores = analysis::fragmentStores(launch);
  for (const analysis::FragmentStore &store : stores)
    if (const DType dtype = store.target->buffer->dtype;
        !store.adds && (stores.size() > 1 || dtype.bits() != 16))
      cycles += store.source->buffer->elementCount().value_or(0) * dtype.bits() / 8 / storedBytes;
  return cycles;
}

/// Whether threads finish a tile with the sums that they have. Scans, values from the other side
/// of a tile, and registers that a loop numbers want another layout: that is two tiles in
/// registers, or one in shared memory for each warpgroup.
bool finishesInPlace(const Function &function, Launch &launch, const TileRounds &rounds) {
  const Buffer *sums = rounds.gemm->c.buffer;
  analysis::Ranges ranges(function);
  ranges.enter(launch);
  bool inPlace = true;
  const MapStmt *map = nullptr;
  // Dims of the sums that variables of the map walk over.
  std::unordered_map<const ExprNode *, unsigned> dims;
  std::vector<Expr> rolled; // of loops
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (isa<ScanStmt>(stmt))
      inPlace = false;
    if (const auto *loop = dynCast<ForStmt>(&stmt); loop && loop->kind != ForKind::Unroll)
      rolled.push_back(loop->var);
    if (const auto *next = dynCast<MapStmt>(&stmt)) {
      map = next;
      dims.clear();
    }
    const auto *load = dynCast<LoadStmt>(&stmt);
    if (!load || !map || load->source.buffer != sums)
      return inPlace;
    for (unsigned d = 0; d < load->source.indices.size(); ++d) {
      const Expr index = load->source.indices[d];
      inPlace = inPlace && std::none_of(rolled.begin(), rolled.end(),
                                        [&](Expr var) { return uses(index, var); });
      for (Expr var : map->vars)
        if (uses(index, var))
          inPlace = inPlace && dims.try_emplace(var.get(), d).first->second == d &&
                    analysis::directionOf(index, var, ranges) != analysis::Direction::Shrinks;
    }
    return inPlace;
  });
  return inPlace;
}

} // namespace

TileRounds roundsForTurns(Function &function, Launch &launch, PassContext &pass) {
  return Candidate(function, launch, pass).find();
}

Expr gainsByTurns(Function &function, Launch &launch, const TileRounds &rounds) {
  const GemmShape shape = *gemmShape(*rounds.gemm);
  const std::int64_t finish = finishCycles(launch, rounds);
  const std::int64_t round = shape.m * shape.n * shape.k / products;
  if (rounds.gemm->a.buffer->dtype.bits() != operandBits || shape.m * shape.n != sumsOfTile ||
      finish < round || !finishesInPlace(function, launch, rounds))
    return {};
  Context &context = *function.context;
  const DType wide(Scalar::Int64);
  const Expr tiles = blocksWhereStarted(launch);
  if (tiles.constant().value_or(INT64_MAX) < leastTiles * leastMultiprocessors)
    return {};
  const Expr multiplied = context.cast(wide, tripCount(*rounds.loop)) * round;
  Expr gains = logicalAnd(
      lessEqual(multiplied, context.integer(wide, finish * leastFinish)),
      lessEqual(context.integer(wide, finish * mostFinish[1]), multiplied * mostFinish[0]));
  for (const StmtPtr &stmt : rounds.loop->body)
    if (analysis::isSharedLoad(*stmt)) {
      const Buffer &tensor = *cast<CopyStmt>(*stmt).source.buffer;
      if (tensor.rank() < 2)
        return {};
      const Expr row = context.cast(wide, analysis::strideOf(tensor, tensor.rank() - 2));
      gains = logicalAnd(gains, equals(floorMod(row, lineBits / tensor.dtype.bits()), 0));
    }
  const Expr many = lessEqual(context.cast(wide, multiprocessors(function)) * leastTiles, tiles);
  return gains.isFalse() ? Expr() : logicalAnd(gains, many);
}

} // namespace tlc::passes
