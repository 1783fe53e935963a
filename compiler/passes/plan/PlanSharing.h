// Which tiles two blocks next to each other have in common, so that one can load them for both.
#pragma once

#include "ir/Function.h"
#include "passes/Pass.h"
#include "passes/Schedule.h"

#include <optional>

namespace tlc::passes {

/// Bytes of a line of the L2 cache; rows that begin within one cost two where one would do.
constexpr std::int64_t cacheLine = 128;

/// The grid dimension along which neighbours share the most bytes of what they load, of a launch
/// that is planned to be persistent and specialised; nothing if none, or if a block beyond the grid
/// (a pair's second one, where the number is odd) could do harm: it only may load and store by
/// tensor maps, which clip.
std::optional<std::size_t> planSharing(ir::Function &function, ir::Launch &launch,
                                       PassContext &pass, const LaunchPlan &plan);

/// Whether neighbours along a dimension may, with something to share.
bool canShare(ir::Function &function, ir::Launch &launch, PassContext &pass, const LaunchPlan &plan,
              std::size_t axis);

/// Loads of a launch that are the same for all blocks along a dimension of its grid.
std::vector<ir::CopyStmt *> sharedLoads(ir::Function &function, ir::Launch &launch,
                                        std::size_t axis);

} // namespace tlc::passes
