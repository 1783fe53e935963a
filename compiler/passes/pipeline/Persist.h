// Persistent launches: as many blocks as the machine holds, each walks over tiles.
#pragma once

#include "ir/Function.h"

#include <string>

namespace tlc::passes {

/// Why the blocks of a launch cannot become iterations; empty if they can.
std::string whyNotPersistent(const ir::Function &function, const ir::Launch &launch);

} // namespace tlc::passes
