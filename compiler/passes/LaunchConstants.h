// Numbers that the launcher finds out for the kernels, and which of them it starts, in what order.
#pragma once

#include "ir/Function.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tlc::passes {

/// How many multiprocessors the device of the call has.
ir::Expr multiprocessors(ir::Function &function);
/// How many bytes of workspace the caller has given, int64.
ir::Expr workspaceBytes(ir::Function &function);
/// What the launcher computes once for all blocks; constants and variables are returned as they
/// are.
ir::Expr launchConstant(ir::Function &function, std::string_view name, ir::Expr value);

/// Whether an expression is the same in all blocks and threads of a launch, and known in front of
/// them.
bool launcherKnows(const ir::Launch &launch, ir::Expr e);

/// Puts what `make` gives for each launch directly behind it: launches that follow in the program
/// need the results of whichever of them a call starts.
void addLaunches(ir::Function &function,
                 const std::function<std::vector<std::unique_ptr<ir::Launch>>(ir::Launch &)> &make);

/// The launch is started only in calls of which `condition` holds: its grid is empty in others.
void startOnlyIf(ir::Launch &launch, ir::Expr condition);
/// An extent of a grid, apart from the outermost condition under which it is not 0.
struct StartedIf {
  ir::Expr condition, extent;
};
/// None: it is not 0 because of a condition.
std::optional<StartedIf> startedIf(ir::Expr extent);
/// The extent in calls that start the launch.
ir::Expr whereStarted(ir::Expr extent);
/// How many blocks such calls have, int64.
ir::Expr blocksWhereStarted(const ir::Launch &launch);

} // namespace tlc::passes
