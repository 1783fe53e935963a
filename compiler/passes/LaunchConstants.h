// Numbers that the launcher finds out for the kernels.
#pragma once

#include "ir/Function.h"

#include <string_view>

namespace tlc::passes {

/// How many multiprocessors the device of the call has.
ir::Expr multiprocessors(ir::Function &function);
/// What the launcher computes once for all blocks; constants and variables are returned as they
/// are.
ir::Expr launchConstant(ir::Function &function, std::string_view name, ir::Expr value);

} // namespace tlc::passes
