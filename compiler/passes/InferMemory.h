// Layout inference, shared memory: each tile from the accesses it sees.
#pragma once

#include "passes/InferGraph.h"

namespace tlc::passes {

/// Gives every shared buffer that has none a layout. Homes and schedules must be decided.
void layoutMemories(InferenceGraph &graph);

} // namespace tlc::passes
