// Layout inference where nothing decides: candidate schedules, and what they cost.
#pragma once

#include "passes/infer/InferGraph.h"

#include <limits>

namespace tlc::passes {

/// Schedules worth trying for an op of which nothing is known; at least one, the best guess first.
std::vector<Layout> proposals(const TileOp &op, const InferenceGraph &graph);

/// All that the free choice for an op depends on that touches memory alone. Equal ones choose
/// alike.
struct FreeChoice {
  struct Use {
    std::optional<Layout> map;
    std::vector<Index> strides;
    unsigned bits = 0;
    ir::Scope scope{};
    ir::Access access{};
    Index vectorLimit = 1;
    bool operator==(const Use &) const = default;
  };
  ir::StmtKind kind{};
  std::vector<Index> box;
  Index threads = 1;
  std::vector<Use> uses;
  bool operator==(const FreeChoice &) const = default;
};
/// None for ops that hear of others, or have an axis.
std::optional<FreeChoice> freeChoice(const TileOp &op);

/// Slots per execution of the op times its trips, with the homes as they are in `graph`. Ops
/// without a schedule cost nothing. Once `limit` is reached something from there on will do.
double opCost(const TileOp &op, const InferenceGraph &graph,
              double limit = std::numeric_limits<double>::infinity());

/// The op's schedule with the registers of each thread in another order, if memory is accessed more
/// cheaply so.
std::optional<Layout> memoryOrder(const TileOp &op, const InferenceGraph &graph);

/// Slots that global memory takes for (reg, thread) -> offset, `vector` elements an access.
double globalSlots(const Target &target, const Layout &offset, Index vector, Index elementBytes,
                   bool writes);

/// Whether a scan can work in this order: the axis lies in one run of registers, then in low lanes.
bool scanOrder(const Layout &schedule, unsigned axis, const Target &target);

/// The access of memory that a use makes under the op's schedule, over its buffer's coordinates;
/// none if unknown.
std::optional<Layout> memoryAccess(const TileOp &op, const MemoryUse &use);

} // namespace tlc::passes
