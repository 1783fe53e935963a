// Fragments while they are being lowered: which registers of a thread hold which elements.
//
// A fragment's home is its buffer's layout. A statement that works through a tile in the order of a
// schedule, (reg, thread) -> point, finds the element of its register r in some register of the
// fragment; that this is the same register in all threads is what infer-layouts saw to (otherwise
// it put a convert in between).
#pragma once

#include "ir/Function.h"
#include "layout/Conversion.h"
#include "passes/infer/LayoutExpr.h"

#include <optional>
#include <span>
#include <vector>

namespace tlc::passes {

/// Registers of a fragment for the registers of a schedule.
struct RegisterMap {
  std::vector<Index> table;     ///< by register of the schedule; empty if only `layout` is known
  std::optional<Layout> layout; ///< (reg) -> reg, where the digits fit
  ir::Expr dynamic; ///< added to both, for indices that are known at run time only; null: 0

  /// The register as an expression of the schedule's. `reg` must be a constant if there is no
  /// layout.
  ir::Expr at(ir::Expr reg) const;
  /// v such that aligned runs of v registers of the schedule are aligned runs of the fragment; at
  /// most `limit`.
  Index runLength(Index limit) const;
};

/// For an access `fragment[map(point)]` by a statement with this schedule (of box points d0, d1 …).
/// None if some thread needs what it does not hold, or in another register than others.
std::optional<RegisterMap> registerMap(const ir::Buffer &fragment, const IndexMap &map,
                                       const Layout &schedule);
/// Whether there would be one for a home that is only being considered.
bool reaches(const Layout &home, std::span<const Index> shape, const IndexMap &map,
             const Layout &schedule);
/// For a region whose tile the schedule covers.
std::optional<RegisterMap> registerMap(const ir::Region &region, const Layout &schedule);

/// The map in coordinates of the buffer that owns the storage. None if a view shifts or re-cuts it
/// in a way that indices known only at run time do not survive.
std::optional<IndexMap> onStorage(const ir::Buffer &buffer, IndexMap map);

/// What `map` wants of a fragment for this schedule: (reg, thread) -> its coordinates. None if
/// digits do not fit or an outer index is not constant.
std::optional<Layout> wantedLayout(const IndexMap &map, const Layout &schedule);

/// The home that all threads share: every thread holds everything, row-major. What scalar code
/// needs.
Layout replicatedLayout(std::span<const Index> shape, Index threads);

} // namespace tlc::passes
