// The planner's part for specialize-warps.
#pragma once

#include "passes/Pass.h"

namespace tlc::passes {

/// Decides whether a producer warp takes over the launch's copies, with the reason, and gives rings
/// that only feed products the stages that shared memory has room for. Hints that are binding stay.
/// `given` is the user's schedule, or null: what it asks for is an error where it cannot be done.
void planSpecialization(ir::Function &function, ir::Launch &launch, PassContext &pass,
                        LaunchPlan &plan, const LaunchPlan *given);

} // namespace tlc::passes
