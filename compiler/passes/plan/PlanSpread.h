// Whether the tiles of a launch are shared out to the blocks of a cluster, and to how many.
#pragma once

#include "passes/Pass.h"
#include "passes/plan/SpreadAxis.h"

namespace tlc::passes {

/// Threads of a block that has one of `blocks` parts of the tiles: each has some 32 elements of the
/// largest one, as far as the program has so many threads.
std::int64_t spreadThreads(const ir::Launch &launch, const SpreadAxis &axis, std::int64_t blocks);

/// Sets `plan.spread` and its reason. `given`: what the user asks for; a wish that cannot be
/// followed is reported.
void planSpread(ir::Launch &launch, PassContext &pass, LaunchPlan &plan, const LaunchPlan *given);

} // namespace tlc::passes
