// interleave-rows: tiles of matrices whose rows do not start at multiples of 16 bytes are loaded by
// tensor maps nevertheless, in another order of rows.
//
//   // %A: f16[%M, %K], nothing known of %K
//   copy %A[%y, %x : +64] -> %A_s                     copy %A[%y, %x : +64] -> %A_s row_period(8)
//   gemm %A_s, %B_s -> %C_l transpose_b               gemm %A_s, %B_s -> %C_l transpose_b
//   map %i in 128, %j in 128 {                 =>     map %i in 128, %j in 128 {
//     load %v = %C_l[%i, %j]                            load %v = %C_l[%i, %j]
//     store %D[%y + %i, %x + %j] = %v                   store %D[%y + %i % 16 * 8 + %i // 16,
//   }                                                            %x + %j % 16 * 8 + %j // 16] = %v
//                                                     }
//
// Every eighth row of 16-bit elements does lie at the same distance from a multiple of 16 bytes. So
// there are eight maps of such rows for a matrix; their boxes follow each other in the tile. Which
// row of a product is which does not matter to the product, and what is done with its elements
// later is done at their true place. All or nothing in a launch: where a sum is used otherwise than
// element by element, or rows run along the summation, copies stay as they are.
//
// Why here: after aligned-variants, whose other kernel this is for; before bounds, which looks at
// what the sums are stored to.
#include "analysis/Copies.h"
#include "analysis/Ranges.h"
#include "ir/Walk.h"
#include "passes/ElementwiseToMaps.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

constexpr std::int64_t unitBytes = 16;  ///< at multiples of which rows of a map lie
constexpr std::int64_t swizzleRows = 8; ///< of a tile, after which its swizzle repeats

/// Rows after which they start alike.
std::int64_t rowsAlike(DType dtype) { return unitBytes * 8 / dtype.bits(); }

/// By how much rows and columns of a sum are interleaved; 1: not.
struct Periods {
  std::int64_t rows = 1, columns = 1;
  bool any() const { return rows > 1 || columns > 1; }
  bool operator==(const Periods &) const = default;
};

class Interleaver {
public:
  Interleaver(Function &function, Launch &launch) : function(function), launch(launch) {}

  void note(CopyStmt &copy, const analysis::Ranges &ranges) {
    Buffer &matrix = *copy.source.buffer, &tile = *copy.target.buffer;
    if (matrix.storage()->scope != Scope::Global || tile.storage()->scope != Scope::Shared ||
        matrix.rank() < 2)
      return;
    std::int64_t unit = unitBytes * 8 / std::max(8u, matrix.dtype.bits());
    bool isAligned = true;
    for (unsigned d = 0; d + 1 < matrix.rank(); ++d)
      isAligned = isAligned && ranges.divisible(analysis::strideOf(matrix, d), unit);
    if (isAligned)
      return;
    auto shape = tile.constantShape();
    bool fits = matrix.rank() == 2 && !matrix.base && !tile.base && matrix.dtype == tile.dtype &&
                matrix.dtype.lanes == 1 && matrix.dtype.bits() >= 8 &&
                analysis::strideOf(matrix, 1).isConstant(1) && matrix.alignment % unitBytes == 0 &&
                shape && shape->size() == 2 && copy.target.wholeBuffer() &&
                shape->front() % (rowsAlike(tile.dtype) * swizzleRows) == 0 &&
                copy.copyKind == CopyKind::Auto && !copy.async && !copy.barrier.buffer &&
                !copy.layout && copy.source.constantTileExtents() == shape &&
                ranges.divisible(copy.source.offsets[0], rowsAlike(tile.dtype));
    if (fits)
      tiles[&tile].push_back(&copy);
    else
      possible = false;
  }

  /// Whether all tiles that were noted can be loaded so.
  bool canInterleave() {
    if (!possible || tiles.empty())
      return false;
    findSums();
    if (possible)
      checkUses(launch.body);
    return possible;
  }

  void interleave() {
    for (auto &[tile, copies] : tiles)
      for (CopyStmt *copy : copies)
        copy->rowPeriod = rowsAlike(tile->dtype);
    rewrite(launch.body, [&](StmtPtr stmt, Block &out) {
      if (auto *copy = dynCast<CopyStmt>(stmt.get()); copy && sums.count(copy->source.buffer))
        stmt = mapOfCopy(function, *copy);
      if (auto *map = dynCast<MapStmt>(stmt.get()))
        if (const Periods *periods = periodsOf(*map))
          putInPlace(*map, *periods);
      out.push_back(std::move(stmt));
    });
  }

private:
  std::int64_t periodOf(const Region &operand, bool rowsAreResults) {
    if (!tiles.count(operand.buffer))
      return 1;
    possible = possible && rowsAreResults && operand.wholeBuffer();
    return rowsAlike(operand.buffer->dtype);
  }

  void findSums() {
    walk(launch.body, [&](Stmt &stmt) {
      auto *gemm = dynCast<GemmStmt>(&stmt);
      if (!gemm)
        return true;
      Periods periods{periodOf(gemm->a, !gemm->transposeA), periodOf(gemm->b, gemm->transposeB)};
      auto [known, isNew] = sums.emplace(gemm->c.buffer, periods);
      bool plain = gemm->c.wholeBuffer() && gemm->c.buffer->scope == Scope::Fragment &&
                   !gemm->c.buffer->base && !gemm->async;
      possible = possible && known->second == periods && (plain || !periods.any());
      return true;
    });
    std::erase_if(sums, [](const auto &sum) { return !sum.second.any(); });
    possible = possible && !sums.empty();
  }

  /// Tiles are loaded and multiplied, sums are cleared, added to, and used element by element.
  void checkUses(Block &block) {
    for (StmtPtr &stmt : block) {
      if (auto *map = dynCast<MapStmt>(stmt.get())) {
        checkMap(*map);
        continue;
      }
      forEachUse(*stmt, [&](const BufferUse &use) {
        Buffer *storage = use.buffer->storage();
        auto *copy = dynCast<CopyStmt>(stmt.get());
        bool isWhole = use.region && use.buffer == storage && use.region->wholeBuffer();
        if (tiles.count(storage))
          possible = possible && (isa<GemmStmt>(*stmt) || (copy && use.region == &copy->target));
        if (sums.count(storage))
          possible = possible && isWhole &&
                     (isa<GemmStmt>(*stmt) || isa<FillStmt>(*stmt) ||
                      (copy && copy->target.tileRank() == 2 && use.region == &copy->source &&
                       copy->target.buffer->storage()->scope == Scope::Global));
      });
      forEachBlock(*stmt, [&](Block &inner) { checkUses(inner); });
    }
  }

  void checkMap(MapStmt &map) {
    const Periods *periods = nullptr;
    bool others = false, inPlace = true;
    walk(map.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        Buffer *storage = use.buffer->storage();
        auto sum = sums.find(storage);
        possible = possible && !tiles.count(storage);
        if (sum == sums.end()) {
          others = others || storage->scope == Scope::Fragment;
          return;
        }
        inPlace = inPlace && use.buffer == storage && use.element &&
                  use.element->indices == map.vars && (!periods || *periods == sum->second);
        periods = &sum->second;
      });
      return true;
    });
    possible = possible && (!periods || (inPlace && !others && map.vars.size() == 2));
  }

  const Periods *periodsOf(MapStmt &map) const {
    const Periods *periods = nullptr;
    walk(map.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        if (auto sum = sums.find(use.buffer); sum != sums.end())
          periods = &sum->second;
      });
      return !periods;
    });
    return periods;
  }

  /// Everything but the sums themselves is where their elements belong.
  void putInPlace(MapStmt &map, const Periods &periods) const {
    auto place = [&](std::size_t d, std::int64_t period) {
      Expr run = floorDiv(map.extents[d], period);
      return floorMod(map.vars[d], run) * period + floorDiv(map.vars[d], run);
    };
    substitute(map.body,
               {{map.vars[0], place(0, periods.rows)}, {map.vars[1], place(1, periods.columns)}});
    walk(map.body, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        if (sums.count(use.buffer))
          use.element->indices = map.vars;
      });
      return true;
    });
  }

  Function &function;
  Launch &launch;
  bool possible = true;
  std::map<const Buffer *, std::vector<CopyStmt *>> tiles; ///< with their loads
  std::map<const Buffer *, Periods> sums;                  ///< of which any is interleaved
};

} // namespace

void interleaveRows(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Tma) || !context.target.has(Feature::Wgmma))
    return;
  for (auto &launch : function.launches) {
    Interleaver interleaver(function, *launch);
    analysis::Ranges ranges(function);
    ranges.enter(*launch);
    analysis::walkWithRanges(launch->body, ranges, [&](Stmt &stmt) {
      if (auto *copy = dynCast<CopyStmt>(&stmt))
        interleaver.note(*copy, ranges);
      return true;
    });
    if (interleaver.canInterleave())
      interleaver.interleave();
  }
}

} // namespace tlc::passes
