// Which values are the same in all threads of a block.
//
// Uniform means: every thread that executes a statement in one round of its loops computes the same
// value. Block variables, dims and loop variables with uniform bounds are uniform; thread indices,
// results of atomics, calls and warp operations are not. A load is as uniform as its address, a
// Local buffer as uniform as everything that is stored to it (value, index, and the conditions
// under which the store happens).
#pragma once

#include "ir/Function.h"

#include <unordered_set>

namespace tlc::analysis {

class Uniformity {
public:
  explicit Uniformity(const ir::Launch &launch);

  bool uniform(ir::Expr e) const; ///< null counts as uniform
  bool uniform(const ir::Buffer *local) const { return !varyingBuffers.count(local->storage()); }

private:
  void visit(const ir::Block &block, bool divergent);
  void visit(const ir::Stmt &stmt, bool divergent);
  bool uniform(const ir::Element &element) const;
  void vary(ir::Expr var);
  void vary(const ir::Buffer *buffer);

  std::unordered_set<const ir::ExprNode *> varying;
  std::unordered_set<const ir::Buffer *> varyingBuffers;
  bool changed = false;
};

} // namespace tlc::analysis
