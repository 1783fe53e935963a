// Layout inference, shared memory: each tile from the accesses it sees.
#pragma once

#include "layout/SharedTile.h"
#include "passes/infer/InferGraph.h"

namespace tlc::passes {

/// What accesses to shared memory cost, and memories that suit them. Answers are remembered: a loop
/// and what comes before it, and the launches of a function, ask the same.
class SharedJudge {
public:
  explicit SharedJudge(const SharedMemory &machine) : machine(machine) {}

  struct Access {
    Layout fragment; ///< (reg, thread) -> coordinates of the tile
    Index vectorLimit = 1;
    bool operator==(const Access &) const = default;
  };
  struct Judgement {
    AccessCost cost;
    bool perfect = false; ///< no memory could make it cheaper
  };
  /// None if the access does not compose with the memory.
  std::optional<Judgement> judge(const Layout &memory, const Access &access, Index elementBytes);
  /// deriveShared (layout/SharedTile.h).
  Layout derive(const Layout &store, const Layout &load, Index elementBytes, const Sizes &shape,
                Vectors vectors);

private:
  struct Judged {
    Layout memory;
    Access access;
    Index elementBytes;
    std::optional<Judgement> judgement;
  };
  struct Derived {
    Layout store, load;
    Index elementBytes;
    Sizes shape;
    std::unique_ptr<SharedSearch> search;
    std::array<std::optional<Layout>, 2> memory; ///< by Vectors
  };
  SharedMemory machine;
  std::vector<Judged> judged;
  std::vector<Derived> derived;
};

/// Gives every shared buffer that has none a layout, and views the one that follows from their
/// storage's. Homes and schedules must be decided. Reports layouts of the user that tear apart what
/// a view sees.
void layoutMemories(InferenceGraph &graph, SharedJudge &judge, DiagnosticEngine &diagnostics);

} // namespace tlc::passes
