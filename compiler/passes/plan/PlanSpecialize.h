// The planner's part for specialize-warps.
#pragma once

#include "analysis/Monotone.h"
#include "passes/Pass.h"

#include <optional>
#include <vector>

namespace tlc::passes {

/// Decides whether a producer warp takes over the launch's copies, with the reason, and gives rings
/// that only feed products the stages that shared memory has room for. Hints that are binding stay.
/// `given` is the user's schedule, or null: what it asks for is an error where it cannot be done.
void planSpecialization(ir::Function &function, ir::Launch &launch, PassContext &pass,
                        LaunchPlan &plan, const LaunchPlan *given);

/// How the trips of a launch's loop change along each dimension of the grid; none: not known for
/// one of them.
std::optional<std::vector<analysis::Direction>>
tripDirections(ir::Function &function, ir::Launch &launch, const ir::ForStmt &loop);

} // namespace tlc::passes
