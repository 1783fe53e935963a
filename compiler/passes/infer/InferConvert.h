// Layout inference, conversions: where a use and its fragment's home disagree.
#pragma once

#include "passes/infer/InferGraph.h"

namespace tlc::passes {

/// Sources and targets of reductions and scans that are not fragments get a fragment, and copies
/// around the op.
void legalizeReductions(ir::Function &function, ir::Launch &launch);

/// Whether a fragment in the layout that the use wants would hold all of the buffer.
bool convertible(const TileOp &op, const FragmentUse &use);

/// Puts converts around the ops whose uses disagree; the ops then use the converted fragments.
void insertConversions(InferenceGraph &graph, PassContext &context);

/// Gives each use of `buffer` that disagrees with its home a shared copy of its own. Whether there
/// was such a use.
bool stageThroughShared(InferenceGraph &graph, ir::Buffer *buffer);

} // namespace tlc::passes
