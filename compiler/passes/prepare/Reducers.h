// Deferred accumulators (T.alloc_reducer) among tile ops. See Reducers.cpp.
#pragma once

#include "ir/Function.h"

namespace tlc::passes {

/// For an accumulator that moves from registers to shared memory: its begin becomes a fill, and
/// there is nothing to do at its end, since updates go to one place.
void shareReducer(ir::Function &function, ir::Launch &launch, const ir::Buffer &buffer);

} // namespace tlc::passes
