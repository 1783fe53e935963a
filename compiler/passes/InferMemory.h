// Layout inference, shared memory: each tile from the accesses it sees.
#pragma once

#include "passes/InferGraph.h"

namespace tlc::passes {

/// Gives every shared buffer that has none a layout, and views the one that follows from their
/// storage's. Homes and schedules must be decided. Reports layouts of the user that tear apart what
/// a view sees.
void layoutMemories(InferenceGraph &graph, DiagnosticEngine &diagnostics);

} // namespace tlc::passes
