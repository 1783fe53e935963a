// Deferred accumulators (T.alloc_reducer) as thread code. See LowerReducer.cpp.
#pragma once

#include "ir/Builder.h"
#include "passes/lower/LowerRole.h"

namespace tlc::passes {

/// An `init` or `finalize` of registers, by the threads of its role.
void lowerReducer(ir::ReducerStmt &s, ir::Builder &b, const RoleThreads &threads,
                  const Target &target);

/// An `update` by one thread: registers are its own, shared memory is updated by others at the same
/// time if `together`. `holder`: where it is false nothing happens, null: it is true.
void lowerUpdate(const ir::ReducerStmt &s, ir::Builder &b, bool together, ir::Expr holder);

/// The same for each update in a block and the blocks inside it; whether there was one.
bool lowerUpdates(ir::Function &function, ir::Block &block, bool together, ir::Expr holder);

} // namespace tlc::passes
