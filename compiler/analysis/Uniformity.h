// Which values are the same in all threads of a block, and which statements all threads reach
// together.
#pragma once

#include "analysis/Effects.h"
#include "ir/Function.h"

#include <unordered_map>

namespace tlc::analysis {

class Uniformity {
public:
  explicit Uniformity(const ir::Launch &launch);

  /// Whether the value is the same in all threads that evaluate it at one time.
  bool uniform(ir::Expr e) const;
  bool varies(const ir::Buffer &local) const { return buffers.count(local.storage()); }
  /// Whether only some threads may get to the statement: it stands under a condition, or in a loop
  /// with a trip count, that is not uniform, or behind a `break` or `continue` that only some take.
  /// Roles do not count.
  bool divergent(const ir::Stmt &stmt) const { return statements.count(&stmt); }
  /// The condition or loop that makes a divergent statement divergent; null if it is not.
  const ir::Stmt *cause(const ir::Stmt &stmt) const;

private:
  struct Control {
    const ir::Stmt *cause = nullptr; ///< of the divergence here; null: uniform
    bool *loopLeft = nullptr;        ///< set when a divergent break or continue of this loop is met
  };
  void visit(const ir::Block &block, Control &control);
  void visit(const ir::Stmt &stmt, Control &control);
  void visitLoop(const ir::Stmt &stmt, const ir::Block &body, bool uniformTrips, Control &control);
  void visitMemory(const ir::Stmt &stmt, bool divergent);
  void noteRoles(const ir::Block &block, const ir::Stmt *role);
  void markVar(ir::Expr var);
  void markBuffer(const ir::Buffer &buffer);
  bool uniform(const ir::Element &element) const;

  ExprSet vars; ///< that vary
  std::unordered_set<const ir::Buffer *> buffers;
  std::unordered_map<const ir::Stmt *, const ir::Stmt *> statements; ///< divergent -> cause
  std::unordered_set<const ir::Stmt *> leakyLoops; ///< with a divergent break or continue
  /// For Local buffers: a role that stores to it, and the role of its first use (or a statement
  /// that is no role, once there are several).
  std::unordered_map<const ir::Buffer *, const ir::Stmt *> writer, toucher;
  bool changed = false;
};

} // namespace tlc::analysis
