// How many threads a block has where the program does not care.
#pragma once

#include "ir/Function.h"
#include "target/Target.h"

namespace tlc::passes {

/// Whether the number of warpgroups of a launch says nothing about what it computes, only how its
/// tiles are shared out.
bool hasFreeThreads(const ir::Launch &launch, const Target &target);

} // namespace tlc::passes
