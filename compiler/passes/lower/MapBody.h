// Questions about the statements of a map's body.
#pragma once

#include "ir/Stmt.h"
#include "ir/Substitute.h"
#include "ir/Walk.h"

#include <functional>

namespace tlc::passes {

/// Whether threads reach it by addresses.
bool isMemory(const ir::Buffer &buffer);

/// The element of memory that a Load, Store or Atomic touches.
const ir::Element &memoryOf(const ir::Stmt &stmt);

/// When it does so; null: always.
ir::Expr predicateOf(const ir::Stmt &stmt);

/// Whether neighbours may be added at once: float32 in global memory, in any order, and nobody
/// asks for the value before.
bool addsVectors(const ir::AtomicStmt &atomic);

/// cp.async takes 4, 8 or 16 bytes; less is an ordinary copy, complete before its group is.
bool takesAsync(const ir::MoveStmt &move);

/// Adds the names bound in the block: index expressions may go through them.
void inlineLets(const ir::Block &block, ir::Substitution &lets);

/// What the statement and those in it use.
void walkUses(ir::Stmt &stmt, const std::function<void(const ir::BufferUse &)> &f);

} // namespace tlc::passes
