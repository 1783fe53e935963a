// The copies of fragments to global memory, additions there among them, and which of them are
// better made by way of shared memory.
#pragma once

#include "analysis/Ranges.h"
#include "passes/Schedule.h"
#include "target/Target.h"

#include <optional>
#include <vector>

namespace tlc::passes {

/// What to do with each of analysis::fragmentStores, by cost alone; whether there is room is seen
/// later (stage-stores). `ranges` must have entered the launch.
std::vector<StorePlan> planStores(ir::Launch &launch, const Target &target,
                                  analysis::Ranges &ranges);

/// For each of them, the narrowest run of columns of which every thread holds a part, so that the
/// tile can be stored run by run; 0 where that is not known.
std::vector<Index> narrowestSlices(ir::Launch &launch, const Target &target);

} // namespace tlc::passes
