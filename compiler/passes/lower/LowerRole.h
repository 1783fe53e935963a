// Lowering collective statements: who executes them.
#pragma once

#include "ir/Builder.h"
#include "target/Target.h"

#include <functional>

namespace tlc::passes {

/// The threads that execute a statement together.
struct RoleThreads {
  ir::Expr index;         ///< of the executing thread, from 0
  Index count = 1;        ///< over which tile ops are spread: 1 on a CPU
  bool wholeBlock = true; ///< not in a role
};

/// A thread's index in a role, or in its team of it, from the one outside.
ir::Expr indexInRole(const ir::RoleStmt &role, ir::Expr outer);

/// Replaces statements in all launches, innermost last. `lower` appends what replaces the statement
/// and returns true, or returns false to keep it (its blocks are then visited).
void lowerInRoles(
    ir::Function &function, const Target &target,
    const std::function<bool(ir::StmtPtr &, ir::Builder &, const RoleThreads &)> &lower);

/// True for the first of the threads that hold the same elements of a fragment; null: all differ.
ir::Expr firstHolder(const Layout &fragment, ir::Expr thread);
/// True if register `reg` of `thread` holds an element inside `shape`; null: always.
ir::Expr insideTile(const Layout &fragment, std::span<const Index> shape, ir::Expr reg,
                    ir::Expr thread);

} // namespace tlc::passes
