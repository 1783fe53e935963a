// Fragments that tensor maps store, or add to what is there, by way of shared memory: each warp on
// its own.
//
// The threads of a warp hold whole rows of a fragment between them, a block of neighbouring ones or
// several. So no warp has to wait for another: it writes its rows of a tile in shared memory, and
// one of its threads starts the copies of those rows.
#pragma once

#include "analysis/Copies.h"
#include "analysis/Ranges.h"
#include "passes/Schedule.h"
#include "passes/plan/FragmentHomes.h"

#include <string>
#include <vector>

namespace tlc::passes {

/// What a warp holds of a tile, in boxes of neighbouring rows and `columns` columns.
struct WarpBoxes {
  Index rows = 1, columns = 1;
  /// Where they begin: the register of each warp's first lane.
  std::vector<Index> registers;
};
/// Of a schedule (reg, thread) -> d0, d1; none if some warp's part is not of this form, or not of
/// the same one as the others'.
std::optional<WarpBoxes> warpBoxes(const Layout &schedule, Index columns, Index warp);

/// Whether the statement is such a store, as stage-stores makes them.
bool isStoreByWarps(const ir::Stmt &stmt);

/// `count` columns of a region from column `first` on; its last dim that is not dropped.
ir::Region columnsOf(ir::Region region, Index first, Index count);

/// One fragment store, as tensor maps would do it.
class TensorStore {
public:
  TensorStore(const ir::Launch &launch, const analysis::FragmentStore &store,
              const FragmentHome *home, const Target &target, const analysis::Ranges &ranges);

  /// Writes into `plan` that it is done so, `columns` at a time with `buffers` that take turns (0:
  /// as is best). Says why it cannot be, and leaves the plan alone; "" if it can.
  std::string take(Index columns, Index buffers, StorePlan &plan) const;

private:
  std::string unfit(const ir::Launch &launch, const analysis::Ranges &ranges) const;
  std::string inFlight(const ir::Launch &launch, const analysis::Ranges &ranges) const;
  std::string unfit(Index columns, const Target &target, const analysis::Ranges &ranges) const;

  analysis::FragmentStore store;
  const FragmentHome *home;
  std::string fault;                 ///< whatever the columns
  std::vector<Index> possible;       ///< columns, the best first
  std::vector<std::int64_t> extents; ///< of the tile
};

/// Of all fragment stores, in program order. `ranges` must have entered the launch.
std::vector<TensorStore> tensorStores(ir::Launch &launch, const Target &target,
                                      analysis::Ranges &ranges);

} // namespace tlc::passes
