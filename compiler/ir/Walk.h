// Visiting and rewriting statements.
#pragma once

#include "ir/Function.h"

#include <functional>

namespace tlc::ir {

/// Calls `f` for each nested block of a statement (If: then, otherwise; While: conditionBlock,
/// body; …).
void forEachBlock(Stmt &stmt, const std::function<void(Block &)> &f);
void forEachBlock(const Stmt &stmt, const std::function<void(const Block &)> &f);

/// Pre-order over all statements of a block, nested ones included. `f` returns whether to go into
/// the statement's blocks.
void walk(Block &block, const std::function<bool(Stmt &)> &f);
void walk(const Block &block, const std::function<bool(const Stmt &)> &f);
/// The same, from a statement on.
void walk(Stmt &stmt, const std::function<bool(Stmt &)> &f);
void walk(const Stmt &stmt, const std::function<bool(const Stmt &)> &f);

/// Calls `f` on each expression slot of one statement itself (not of nested statements):
/// conditions, indices, offsets, extents, versions, values, predicates, pointer counts. Binding
/// slots (Let.var, Load.var, For.var, Map.vars, results) are not included; see forEachDefinition.
/// `f` may replace the expression. Null slots are skipped.
void forEachExpr(Stmt &stmt, const std::function<void(Expr &)> &f);
void forEachExpr(const Stmt &stmt, const std::function<void(Expr)> &f);
/// Calls `f` on each variable slot that the statement binds.
void forEachDefinition(Stmt &stmt, const std::function<void(Expr &)> &f);
void forEachDefinition(const Stmt &stmt, const std::function<void(Expr)> &f);

/// One use of a buffer by a statement itself. `element` or `region` is set, or neither (Alloc,
/// Convert: the whole buffer).
struct BufferUse {
  Buffer *buffer = nullptr;
  Access access = Access::Read;
  Element *element = nullptr;
  Region *region = nullptr;
  Pointer *pointer = nullptr; ///< set (with `element`) for call arguments
  TensorMap *map = nullptr;   ///< set where a call uses the tensor through a map
};
/// Reads and writes of one statement itself, reads before writes. Atomics and accumulators are
/// ReadWrite; Alloc is not a use.
void forEachUse(Stmt &stmt, const std::function<void(const BufferUse &)> &f);
/// As above for const statements; the pointers must not be used to change anything.
void forEachUse(const Stmt &stmt, const std::function<void(const BufferUse &)> &f);

/// Replaces variables in a block and everything nested in it (uses only, not definitions).
void substitute(Block &block, const Substitution &map);
/// Points every use of a buffer (and views' bases) to another one.
void replaceBuffer(Block &block, Buffer *from, Buffer *to);

/// Rewrites bottom-up: `f` gets each statement after its nested blocks were rewritten and appends
/// what replaces it to `out` (moving the statement itself to keep it).
void rewrite(Block &block, const std::function<void(StmtPtr stmt, Block &out)> &f);

} // namespace tlc::ir
