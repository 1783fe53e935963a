// Launches that are worth a second one made for a purpose: those that move tiles by tensor maps.
#pragma once

#include "ir/Function.h"
#include "target/Target.h"

namespace tlc::passes {

/// Whether tensor maps may do all that a launch loads to shared memory, and rows of results begin
/// where vectors do.
bool movesByMaps(const ir::Function &function, ir::Launch &launch, const Target &target);

} // namespace tlc::passes
