// widen-tiles: a second launch, whose blocks do the tiles of several that are neighbours.
//
//   launch main grid((%N + 127) // 128, (%M + 127) // 128) threads(128) blocks(%bx, %by) {
//     alloc %A_s: shared f16[128, 64] ; %B_s: shared f16[64, 128] ; %C_l: fragment f32[128, 128]
//     for %k … pipelined {
//       copy %A[%by * 128 : +128, %k * 64 : +64] -> %A_s
//       copy %B[%k * 64 : +64, %bx * 128 : +128] -> %B_s
//       gemm %A_s, %B_s -> %C_l
//     }
//     copy %C_l -> %C[%by * 128 : +128, %bx * 128 : +128]
//   }
//     =>
//   constant computed %wide = rounds of small tiles, each so long > rounds of wide ones
//   launch main grid(select(%wide, 0, …), …) { as it was }
//   launch main_wide grid(select(%wide, ((%N + 127) // 128 + 1) // 2, 0), …) tiles(2) {
//     alloc %A_s: shared f16[128, 64] ; %B_s: shared f16[64, 256] ; %C_l: fragment f32[128, 256]
//     … copy %B[%k * 64 : +64, %bx * 256 : +256] -> %B_s …
//   }
//
// How large a tile is says nothing about what is computed. Kernels are written with tiles of 128 x
// 128, or smaller ones, because other compilers and machines ask for them; where warpgroups
// multiply, such a tile waits for its operands: it loads 32 KB for products that take 512 cycles,
// and a multiprocessor gets some 56 bytes a cycle (tools/bench/gpu/LOG.md). Tiles of 128 x 256 load
// a quarter less for each product, and are as large as two warpgroups can hold. Where there are
// few, or they leave more of the machine empty in the last round, the small ones are better, which
// the launcher finds out.
//
// Tiles that two warpgroups take in turns (alternate-tiles) stay as they are.
//
// Only where blocks do the same with their rows and columns, wherever those are (BlockAxis.h), and
// what the last one may do too much of lies outside of the results. Not with
// --schedule=as-written; of a schedule that is given, where it has a launch of that name.
//
// Why here: after aligned-variants, whose kernel for aligned rows this is for, and deepen-loops;
// before bounds and select-copies, which look at the copies as they will be.
#include "analysis/Copies.h"
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/LaunchConstants.h"
#include "passes/Rewrite.h"
#include "passes/lower/MapBody.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/SelectAtoms.h"
#include "passes/prepare/BlockAxis.h"
#include "passes/prepare/PackedRows.h"
#include "passes/prepare/TensorMoves.h"

#include <algorithm>
#include <numeric>

namespace tlc::passes {

using namespace ir;

namespace {

/// Of the sums of a tile that two warpgroups hold.
constexpr std::int64_t mostSums = 128 * 256, mostRows = 256, mostColumns = 256;
/// Rows of a product that two warpgroups share.
constexpr std::int64_t rowsOfTwo = 128;
/// Registers of a thread for tiles; it needs the others for addresses and what an epilogue
/// computes.
constexpr std::int64_t mostRegisters = 160;
/// Bytes of shared memory for barriers, and for a part of a tile on its way out, twice.
constexpr std::int64_t besideStages = 33 << 10;
/// Bytes that a multiprocessor loads in a cycle where all do.
constexpr std::int64_t loadedBytes = 56;
/// Products of 16-bit numbers that it makes in a cycle.
constexpr std::int64_t products = 2048;
/// Launches with fewer tiles fill no device.
constexpr std::int64_t leastTiles = 64;

class TileWidener {
public:
  TileWidener(Function &function, Launch &launch, PassContext &pass)
      : function(function), context(*function.context), launch(launch), pass(pass),
        target(pass.target) {}

  /// Finds out by how much tiles could be wider, as far as a schedule that is given wants them to
  /// be; false: by nothing.
  bool possible(const LaunchPlan *given) {
    if (launch.cluster != std::array<std::int64_t, 3>{1, 1, 1} || launch.cooperative ||
        launch.alternates || launch.threads[1] != 1 || launch.threads[2] != 1 || !findProduct() ||
        isFew() || !movesByMaps(function, launch, target) || !packedTensors(launch).empty())
      return false;
    for (std::size_t dim = 0; dim < launch.blockVars.size(); ++dim)
      if (BlockAxis axis = findBlockAxis(launch, dim); axis)
        for (unsigned side : {0u, 1u})
          if (axis.has(product->c.buffer, side)) {
            ends[side] = endsInNothing(axis, dim);
            axes[side] = {dim, std::move(axis)};
            break;
          }
    // Columns first: an instruction that has more of them reads less for each product.
    grow(1, mostColumns, given);
    grow(0, mostRows, given);
    return factors[0] * factors[1] > 1 && multipliesByMatrices();
  }

  /// The launch for tiles that are wider; the old one is left for calls with few.
  std::unique_ptr<Launch> widen() {
    Substitution renamed;
    std::unique_ptr<Launch> made = freshCopy(function, launch, renamed);
    made->name += "_wide";
    for (unsigned side : {0u, 1u})
      if (factors[side] > 1)
        widen(*made, axes[side]->first, factors[side]);
    TileWidener other(function, *made, pass);
    other.findProduct();
    other.loop->stages = std::min(loop->stages, stages());
    const Expr small = cycles("small_tiles"), large = other.cycles("wide_tiles");
    const Expr wide = launchConstant(function, "wide", lessThan(large, small));
    startOnlyIf(launch, logicalNot(wide));
    startOnlyIf(*made, wide);
    return made;
  }

private:
  // ---- Whether

  /// The one product of the one pipelined loop.
  bool findProduct() {
    std::size_t gemms = 0, loops = 0;
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *gemm = dynCast<GemmStmt>(&stmt))
        product = gemm, ++gemms;
      if (auto *found = dynCast<ForStmt>(&stmt); found && found->kind == ForKind::Pipelined)
        loop = found, ++loops;
      return true;
    });
    if (gemms != 1 || loops != 1 || loop->stages < 2)
      return false;
    auto found = gemmShape(*product);
    if (!found || product->c.buffer->dtype.bits() != 32 || !product->c.wholeBuffer())
      return false;
    shape = *found;
    return std::any_of(loop->body.begin(), loop->body.end(),
                       [&](const StmtPtr &stmt) { return stmt.get() == product; });
  }

  GemmShape wideShape() const { return {shape.m * factors[0], shape.n * factors[1], shape.k}; }

  /// Whether matrix instructions of whole warpgroups' threads will do the product of wider tiles:
  /// others could not hold them.
  bool multipliesByMatrices() const {
    const std::int64_t threads = launch.threadCount();
    const Atom *atom = atomFor(function, pass, *product, wideShape(), threads);
    return threads % target.limits.groupThreads() == 0 && atom && atom->kind != AtomKind::Scalar;
  }

  bool isFew() const {
    return blocksWhereStarted(launch).constant().value_or(leastTiles) < leastTiles;
  }

  /// Whether what is beyond the last block is beyond the results.
  bool endsInNothing(const BlockAxis &axis, std::size_t dim) const {
    analysis::Ranges ranges(function);
    const DType wide(Scalar::Int64);
    Expr end = context.cast(wide, whereStarted(launch.grid[dim])) * axis.extent;
    return std::all_of(axis.ends.begin(), axis.ends.end(), [&](Expr of) {
      return of && ranges.lessEqual(context.cast(wide, of), end);
    });
  }

  void grow(unsigned side, std::int64_t most, const LaunchPlan *given) {
    if (!axes[side])
      return;
    const std::size_t dim = axes[side]->first;
    const std::int64_t now = side ? shape.n : shape.m;
    if (given)
      most = std::min(most, now * given->tiles[dim]);
    auto tiles = whereStarted(launch.grid[dim]).constant();
    for (std::int64_t &factor = factors[side]; now * factor * 2 <= most; factor *= 2) {
      const bool even = tiles && *tiles % (factor * 2) == 0;
      factors[side] *= 2;
      const bool good = (ends[side] || even) && fits();
      factors[side] /= 2;
      if (!good)
        return;
    }
  }

  /// How often a tile is there in a wider one.
  std::int64_t timesOf(const Buffer &tile) const {
    std::int64_t times = 1;
    for (unsigned side : {0u, 1u})
      for (unsigned d = 0; axes[side] && d < tile.rank(); ++d)
        if (axes[side]->second.has(&tile, d))
          times *= factors[side];
    return times;
  }

  /// Whether it is a row of the sums' columns, of which each thread has a quarter: four hold a row.
  bool isRow(const Buffer &tile) const {
    return tile.rank() == 1 && axes[1] && axes[1]->second.has(&tile, 0);
  }

  /// Whether warpgroups can hold the tiles, and shared memory two stages of the loop.
  bool fits() const {
    const GemmShape wide = wideShape();
    if (wide.m * wide.n > mostSums || stages() < 2)
      return false;
    // Rows of two warpgroups get two (widen-blocks).
    const std::int64_t two = wide.m % rowsOfTwo == 0 ? 2 * target.limits.groupThreads() : 0;
    const std::int64_t threads = std::max(launch.threadCount(), two);
    auto bytes = [&](bool rows) {
      return allocatedBytes(launch.body, Scope::Fragment, [&](const Buffer &tile) {
        return isRow(tile) == rows ? timesOf(tile) : 0;
      });
    };
    return bytes(false) / 4 / threads + bytes(true) / 4 / 4 <= mostRegisters;
  }

  /// For which shared memory has room.
  std::int64_t stages() const {
    std::int64_t round = 0;
    for (const StmtPtr &stmt : loop->body)
      if (analysis::isSharedLoad(*stmt)) {
        const Buffer &tile = *cast<CopyStmt>(*stmt).target.buffer;
        round += bytesOf(tile) * timesOf(tile);
      }
    const std::int64_t all = allocatedBytes(launch.body, Scope::Shared,
                                            [&](const Buffer &tile) { return timesOf(tile); });
    const std::int64_t room = target.limits.sharedPerBlockOptIn - (all - round) - besideStages;
    return room / std::max<std::int64_t>(1, round);
  }

  // ---- How

  /// The extent of a grid whose blocks do so many of the blocks of `extent`.
  static Expr ofSeveral(Expr extent, std::int64_t factor) {
    auto started = startedIf(extent);
    if (!started)
      return ceilDiv(extent, factor);
    Context &context = extent.context();
    return context.select(started->condition, ofSeveral(started->extent, factor),
                          context.zero(extent.dtype()));
  }

  static void widen(Launch &made, std::size_t dim, std::int64_t factor) {
    const BlockAxis axis = findBlockAxis(made, dim);
    Expr block = made.blockVars[dim];
    Context &context = block.context();
    auto longer = [&](Expr extent) {
      return context.integer(extent.dtype(), *extent.constant() * factor);
    };
    for (auto [buffer, d] : axis.dims) {
      Expr &extent = const_cast<Buffer *>(buffer)->shape[d];
      extent = longer(extent);
    }
    auto stretch = [&](Region &region) {
      for (unsigned d = 0; d < region.buffer->rank(); ++d)
        if (axis.has(region.buffer, d))
          region.extents[d] = region.buffer->shape[d];
    };
    Substitution lets;
    inlineLets(made.body, lets);
    walk(made.body, [&](Stmt &stmt) {
      if (auto *map = dynCast<MapStmt>(&stmt))
        for (std::size_t i = 0; i < map->vars.size(); ++i)
          if (axis.vars.count(map->vars[i].get()))
            map->extents[i] = longer(map->extents[i]);
      forEachUse(stmt, [&](const BufferUse &use) {
        if (!use.region)
          return;
        stretch(*use.region);
        for (unsigned d = 0; d < use.region->buffer->rank(); ++d)
          if (use.region->buffer->scope == Scope::Global &&
              uses(substitute(use.region->offsets[d], lets), block))
            use.region->extents[d] = longer(use.region->extents[d]);
      });
      return true;
    });
    substitute(made.body, {{block, block * factor}});
    made.grid[dim] = ofSeveral(made.grid[dim], factor);
    made.tiles[dim] = factor;
  }

  /// What a call takes, in cycles for each round of a loop: `tiles` are done in rounds of the
  /// machine, and either products or loads of a tile take their time.
  Expr cycles(std::string_view tiles) const {
    const DType wide(Scalar::Int64);
    const Expr count = launchConstant(function, tiles, blocksWhereStarted(launch));
    const std::int64_t a = product->a.buffer->dtype.bits(), b = product->b.buffer->dtype.bits();
    const std::int64_t loads = (shape.m * a + shape.n * b) * shape.k / 8 / loadedBytes;
    const std::int64_t computes = shape.m * shape.n * shape.k * std::max(a, b) / 16 / products;
    Expr machine = context.cast(wide, multiprocessors(function));
    return floorDiv(count + machine - 1, machine) * std::max(loads, computes);
  }

  Function &function;
  Context &context;
  Launch &launch;
  PassContext &pass;
  const Target &target;
  ForStmt *loop = nullptr;
  GemmStmt *product = nullptr;
  GemmShape shape;
  /// What rows and columns run along, and the dimension of the grid that does.
  std::array<std::optional<std::pair<std::size_t, BlockAxis>>, 2> axes;
  std::array<bool, 2> ends = {};                ///< whether results end with the last block
  std::array<std::int64_t, 2> factors = {1, 1}; ///< by which tiles become longer along them
};

} // namespace

void widenTiles(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma) || function.options.hintsAreBinding ||
      function.options.disableWarpSpecialize || function.options.disableTma)
    return;
  addLaunches(function, [&](Launch &launch) {
    std::vector<std::unique_ptr<Launch>> more;
    const LaunchPlan *given = context.schedule.find(launch.name + "_wide");
    if (context.schedule.given && !given)
      return more;
    if (TileWidener widener(function, launch, context); widener.possible(given))
      more.push_back(widener.widen());
    return more;
  });
}

} // namespace tlc::passes
