// Staging of stores: the decision. See PlanStores.h.
//
// The threads of a matrix instruction hold two neighbouring elements of a row, so a warp that
// stores an accumulator of 16-bit elements as it lies touches many half-filled sectors. By way of
// shared memory it writes whole lines, 16 bytes a thread. That costs a trip through shared memory
// and two barriers; both ways are counted in issue slots (target/README.md).
#include "passes/plan/PlanStores.h"

#include "analysis/Copies.h"
#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "passes/infer/InferFree.h"
#include "passes/plan/FragmentHomes.h"
#include "passes/plan/TensorStores.h"

#include <algorithm>
#include <cmath>

namespace tlc::passes {

using namespace ir;

namespace {

/// Staging must save at least this part: counts are estimates, shared memory is scarce.
constexpr double worthwhile = 0.75;
/// The pitch assumed between the rows of a tensor.
constexpr Index assumedPitch = 1 << 14;

/// Whether neighbours along the tile's last dim are neighbours in memory.
bool rowsContiguous(const Region &region) {
  const Buffer &buffer = *region.buffer;
  return buffer.rank() > 0 && !region.isDropped(buffer.rank() - 1) &&
         (buffer.strides.empty() || buffer.strides.back().isConstant(1));
}

/// One store that could be staged, in slots of both ways.
class Costs {
public:
  Costs(const CopyStmt &copy, const Layout &home, const Target &target, Index piece)
      : target(target), piece(piece), bytes(copy.target.buffer->dtype.bits() / 8),
        elements(*copy.target.elementCount()) {
    auto offset = compose(Layout::strided(home.outputSizes(), {assumedPitch, 1}, "offset"), home);
    if (!offset)
      return;
    known = true;
    width = std::min(piece, orderedWidth(*offset, target.limits.maxVectorBytes / bytes));
    Index warp = target.limits.warp;
    double warps =
        std::ceil(static_cast<double>(home.input("thread").size()) / static_cast<double>(warp));
    double accesses = static_cast<double>(home.input("reg").size()) / static_cast<double>(width);
    direct = globalSlots(target, *offset, width, bytes, true);
    // stmatrix stores four 8x8 matrices where plain stores take four instructions.
    bool matrices = target.has(Feature::StMatrix) && bytes == 2;
    staged = accesses * warps * (target.cost.instruction / (matrices ? 4 : 1) + wavefronts(width)) +
             fromShared() + 2 * target.cost.barrier * warps;
  }

  bool known = false;
  double direct = 0, staged = 0;
  Index width = 1; ///< elements of a store from registers

private:
  double wavefronts(Index vector) const {
    double moved = static_cast<double>(vector * bytes * target.limits.warp);
    return std::max(1.0, moved / 128) * target.cost.sharedWavefront;
  }

  /// Whole lines, `piece` elements a thread.
  double fromShared() const {
    const CostWeights &cost = target.cost;
    double all = static_cast<double>(elements);
    double moves = all / static_cast<double>(piece * target.limits.warp);
    double memory = all * static_cast<double>(bytes);
    return moves * (2 * cost.instruction + wavefronts(piece)) + memory / 32 * cost.globalSector +
           memory / 128 * cost.globalLine;
  }

  const Target &target;
  Index piece, bytes, elements;
};

std::string slots(double value) { return std::to_string(std::llround(value)); }

/// Of additions there are two ways: tensor maps take whole lines to the cache, where a thread's
/// instructions take single elements.
StorePlan plannedAddition(const analysis::FragmentStore &store, const TensorStore &tensor) {
  StorePlan plan;
  plan.name = store.target->buffer->storage()->name;
  plan.adds = true;
  std::string fault = tensor.take(0, 0, plan);
  plan.reason =
      fault.empty() ? "each warp adds its own rows by tensor maps" : "element by element: " + fault;
  return plan;
}

StorePlan plannedCopy(const CopyStmt &copy, const FragmentHomes &homes, const TensorStore &tensor,
                      const Target &target, const analysis::Ranges &ranges) {
  StorePlan plan;
  plan.name = copy.target.buffer->storage()->name;
  auto tile = copy.target.constantTileExtents();
  const FragmentHome *home = homes.of(copy.source.buffer);
  Index bits = copy.target.buffer->dtype.bits() * copy.target.buffer->dtype.lanes;
  if (!target.isGpu() || !home || copy.layout || !tile || tile->size() != 2 ||
      !copy.source.wholeBuffer() || copy.source.constantTileExtents() != tile || bits % 8 ||
      bits > 64) {
    plan.reason =
        "only whole results of matrix instructions are worth a trip through shared memory";
    return plan;
  }
  if (std::string fault = tensor.take(0, 0, plan); fault.empty()) {
    plan.reason = "each warp stores its own rows by tensor maps";
    return plan;
  }
  if (!rowsContiguous(copy.target)) {
    plan.reason = "rows are not contiguous";
    return plan;
  }
  CopyStmt there(copy.range); // what is left of the copy once the tile is staged
  there.source = there.target = copy.target;
  there.checkHigh = copy.checkHigh;
  there.boundsKnown = copy.boundsKnown;
  Index piece = std::max<Index>(1, analysis::copyPieceBytes(there, ranges) * 8 / bits);
  Costs costs(copy, home->layout, target, piece);
  if (!costs.known) {
    plan.reason = "no cost is known";
    return plan;
  }
  // A warpgroup's threads have no registers left for the addresses of many narrow accesses.
  bool fits = home->atom->kind != AtomKind::WarpGroup || piece * bits == 128;
  if (fits && costs.staged < worthwhile * costs.direct)
    plan.way = StoreWay::Staged;
  plan.reason = std::to_string(costs.width * bits / 8) + "-byte stores from registers take " +
                slots(costs.direct) + " slots, " + std::to_string(piece * bits / 8) +
                "-byte ones by way of shared memory " + slots(costs.staged) +
                (fits ? "" : ", but registers");
  return plan;
}

/// Columns below the first that is a matter of registers alone.
Index narrowestSlice(const Layout &home) {
  Index narrowest = 1;
  for (const Term &term : home.outputs.back().terms)
    for (int digit = 0; digit < home.digitCount(); ++digit) {
      bool ofThread =
          home.inputs[static_cast<std::size_t>(home.place(digit).first)].name == "thread";
      if (ofThread && (term.digits >> digit & 1))
        narrowest = std::max(narrowest, term.weight * home.radix(digit));
    }
  return narrowest;
}

} // namespace

std::vector<Index> narrowestSlices(Launch &launch, const Target &target) {
  FragmentHomes homes(launch, target);
  std::vector<Index> slices;
  for (const analysis::FragmentStore &store : analysis::fragmentStores(launch)) {
    const FragmentHome *home = homes.of(store.source->buffer);
    slices.push_back(home && store.source->wholeBuffer() ? narrowestSlice(home->layout) : 0);
  }
  return slices;
}

std::vector<StorePlan> planStores(Launch &launch, const Target &target, analysis::Ranges &ranges) {
  FragmentHomes homes(launch, target);
  std::vector<TensorStore> tensor = tensorStores(launch, target, ranges);
  std::vector<StorePlan> plans;
  analysis::walkWithRanges(launch.body, ranges, [&](Stmt &stmt) {
    if (auto store = analysis::asFragmentStore(stmt)) {
      const TensorStore &byMap = tensor[plans.size()];
      plans.push_back(store->adds
                          ? plannedAddition(*store, byMap)
                          : plannedCopy(cast<CopyStmt>(stmt), homes, byMap, target, ranges));
    }
    return true;
  });
  return plans;
}

} // namespace tlc::passes
