// Small tools of the passes that move statements about.
#pragma once

#include "ir/Builder.h"
#include "ir/Function.h"
#include "ir/Walk.h"

#include <functional>
#include <unordered_map>

namespace tlc::passes {

/// A copy of `block` with `map` applied, in which every variable that is bound inside is a new one
/// and every buffer allocated inside is a new buffer of the function: what a second execution in
/// another place needs. The new names for the old are added to `map`.
ir::Block freshCopy(ir::Function &function, const ir::Block &block, ir::Substitution &map);
ir::StmtPtr freshCopy(ir::Function &function, const ir::Stmt &stmt, ir::Substitution &map);
/// The same of a launch: its block and thread variables are new ones, too.
std::unique_ptr<ir::Launch> freshCopy(ir::Function &function, const ir::Launch &launch,
                                      ir::Substitution &map);

/// A copy of a statement in whose blocks stands what `fill` appends to the builder for each block
/// of the original.
ir::StmtPtr refilled(const ir::Stmt &stmt, ir::Builder &b,
                     const std::function<void(const ir::Block &)> &fill);

/// Whether a break or continue in `block` belongs to the loop around it.
bool leavesLoop(const ir::Block &block);

/// The trip count of a loop as an expression of its variable's dtype (0 if it does not run).
ir::Expr tripCount(const ir::ForStmt &loop);

/// A pipelined loop becomes one that does its rounds one after the other; others stay as they are.
void makeSerial(ir::ForStmt &loop);

/// How often each variable is used in a block.
std::unordered_map<const ir::ExprNode *, unsigned> countUses(const ir::Block &block);

/// Removes lets and loads that nobody uses, writes to thread-local arrays that nobody reads, loops
/// and branches without content, and allocations of buffers that are nowhere accessed. Statements
/// whose numbers a loop's order and stages speak of stay.
void removeDeadCode(ir::Function &function);
/// The same, and removes what fills fragments and shared tiles that nobody reads.
void removeUnreadTiles(ir::Function &function);

} // namespace tlc::passes
