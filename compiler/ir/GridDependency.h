// Kernels that begin before the one before them in a stream has ended.
#pragma once

#include "ir/Function.h"

namespace tlc::ir {

/// Callees: a thread waits until the kernel before has ended and its memory is seen; and says that
/// the next kernel may begin.
inline constexpr const char *gridWait = "grid_dependency_wait";
inline constexpr const char *gridLaunch = "grid_dependency_launch";

/// Whether the launch waits for the one before by itself, so that it may begin earlier.
bool waitsForGrid(const Launch &launch);
/// Takes all such waits out of a block; whether there were any.
bool removeGridWaits(Block &block);

} // namespace tlc::ir
