// Going back for fewer pipeline stages where shared memory does not suffice.
#pragma once

#include "passes/Pass.h"
#include "passes/sync/SharedArena.h"

#include <cstddef>

namespace tlc::passes {

/// Takes a stage from the longest pipeline of launch `index` whose tiles, as planned, do not fit,
/// and has the passes from split-copies on run again. When nothing can be given up, the error shows
/// every buffer.
void giveUpStage(ir::Function &function, std::size_t index, const ArenaPlan &plan,
                 PassContext &context);

} // namespace tlc::passes
