// The pipelined loops of a launch and what the plan says about each.
#pragma once

#include "ir/Function.h"
#include "passes/Schedule.h"

#include <unordered_set>
#include <vector>

namespace tlc::passes {

struct PlannedLoop {
  ir::ForStmt *loop = nullptr;
  std::int64_t stages = 0; ///< as planned, else as written
  std::string reason;      ///< for reports
};

/// In program order, outer before inner: the order of LaunchPlan::loops.
std::vector<PlannedLoop> plannedLoops(ir::Launch &launch, const LaunchPlan *plan);

/// Whether the program says of each statement of a loop, by its number, when it is done.
inline bool isArranged(const ir::ForStmt &loop) {
  return !loop.order.empty() || !loop.stage.empty() || !loop.group.empty();
}

} // namespace tlc::passes
