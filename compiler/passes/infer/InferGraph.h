// What layout inference works on: the tile ops of a launch, and how each walks through the buffers
// it uses.
//
// An op runs over a box of points (the tile of a copy, the extents of a map, the source of a
// reduction) in the order of a schedule, (reg, thread) -> point. Each of its uses of a buffer is an
// index map, point -> coordinate. So every rule of inference is about two kinds of things:
// schedules of ops and homes of fragments, joined by index maps.
#pragma once

#include "ir/Function.h"
#include "passes/Pass.h"
#include "passes/infer/LayoutExpr.h"

#include <map>
#include <optional>
#include <vector>

namespace tlc::passes {

/// One access of an op to a fragment (its storage: views are resolved in `map`).
struct FragmentUse {
  ir::Buffer *buffer = nullptr;
  IndexMap map;
  ir::Access access = ir::Access::Read;
  /// The layout that the op insists on, over the buffer's coordinates, whatever its schedule
  /// (operands of gemms).
  std::optional<Layout> fixed;
  /// An update of a deferred accumulator: each thread adds to its own part of the element, so the
  /// holders do not hold the same.
  bool partial = false;
  /// Where the use is written: a region, or an element of a map's body.
  ir::Region *region = nullptr;
  ir::Element *element = nullptr;

  bool reads() const { return access != ir::Access::Write; }
  bool writes() const { return access != ir::Access::Read; }
};

/// One access of an op to shared or global memory.
struct MemoryUse {
  ir::Buffer *buffer = nullptr; ///< as written, perhaps a view
  /// Point -> coordinates of `buffer`; none if the indices are no such function.
  std::optional<IndexMap> map;
  ir::Access access = ir::Access::Read;
  /// Accesses that do not follow the op's schedule: ldmatrix. (reg, thread) -> coordinates.
  std::optional<Layout> fixed;
  /// Reached by descriptors: the buffer must lie in panels (layout/SharedTile.h).
  bool panels = false;
  /// Copied by tensor maps: the buffer must lie in panels that are swizzled, or else in rows.
  bool boxes = false;
  /// The most elements of one access of a thread.
  Index vectorLimit = 1;
  bool async = false;
};

struct TileOp {
  ir::Stmt *stmt = nullptr;
  ir::Block *block = nullptr; ///< that holds the statement
  std::size_t order = 0;      ///< in program order
  unsigned depth = 0;         ///< of loops around it
  double trips = 1;           ///< estimated executions per block
  Index threads = 1;          ///< over which it is spread

  std::vector<Index> box;
  std::optional<Layout> schedule; ///< (reg, thread) -> d0, d1 … of the box
  ir::LayoutOrigin origin = ir::LayoutOrigin::None;
  std::vector<FragmentUse> fragments;
  /// Uses that no layout can follow; without maps.
  std::vector<FragmentUse> unplaced;
  std::vector<MemoryUse> memories;
  /// Reductions and scans: the axis of the box.
  std::optional<unsigned> axis;
  bool scans = false;
  /// Whether layouts may come from this op: not from fills, which take any.
  bool propagates = true;
  /// Gemms have no schedule; all their uses are fixed.
  bool scheduled = true;

  Index points() const;
};

/// Where a fragment's layout came from.
struct Home {
  Layout layout;
  ir::LayoutOrigin origin = ir::LayoutOrigin::None;
  const TileOp *from = nullptr; ///< null: the user's, or scalar code's
};

/// A fragment that cannot stay one, and why.
struct Misplaced {
  ir::Buffer *buffer = nullptr;
  std::string reason;
  SourceRange range;
};

struct InferenceGraph {
  ir::Function *function = nullptr;
  ir::Launch *launch = nullptr;
  const Target *target = nullptr;
  std::vector<TileOp> ops; ///< in program order
  std::map<ir::Buffer *, Home> homes;
  /// All fragments that own storage, in order of first use, with the threads over which they are
  /// spread.
  std::vector<std::pair<ir::Buffer *, Index>> fragments;
  /// Fragments that scalar code indexes: every thread holds everything.
  std::vector<ir::Buffer *> scalarFragments;
  std::vector<Misplaced> misplaced;
  /// Of copies to global memory, and of asynchronous ones: the bytes that a thread may move at
  /// once, by alignment and limits.
  std::map<const ir::Stmt *, Index> pieceBytes;

  const Home *home(ir::Buffer *b) const {
    auto at = homes.find(b);
    return at == homes.end() ? nullptr : &at->second;
  }
};

/// Reads the ops of a launch. Fragments with indices that are no layouts end up in `misplaced`.
InferenceGraph buildGraph(ir::Function &function, ir::Launch &launch, const Target &target);

/// Whether every coordinate of `shape` is reached.
bool covers(const Layout &l, std::span<const Index> shape);

/// The schedule that walks through a fragment as it lies, if the op's box is (a sub-box of) the
/// fragment in another order.
std::optional<Layout> scheduleFromHome(const TileOp &op, const FragmentUse &use,
                                       const Layout &home);
/// The home in which a use by this schedule finds each element in its own thread; dims that the box
/// does not span lie in registers. None if it would not cover the fragment.
std::optional<Layout> homeFromSchedule(const TileOp &op, const FragmentUse &use,
                                       const Layout &schedule);
/// Whether the use works without a conversion.
bool agrees(const TileOp &op, const FragmentUse &use, const Layout &home);

// Rules, one per op: box, uses and peculiarities. See InferRules.cpp.
void describeOp(TileOp &op, InferenceGraph &graph);

} // namespace tlc::passes
