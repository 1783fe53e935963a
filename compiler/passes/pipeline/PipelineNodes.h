// The body of a pipelined loop as a list of nodes, and a schedule of them over iterations.
//
// A node is a statement with the conditions under which it runs. Branches around copies are taken
// apart (`if c { copy; gemm }` is `if c copy` and `if c gemm`: conditions are pure, variables
// immutable). Scalar nodes (lets, loads of what the loop does not write) may be repeated, so they
// belong to whoever needs them.
#pragma once

#include "analysis/Effects.h"
#include "ir/Function.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tlc::passes {

struct PipelineNode {
  ir::StmtPtr stmt;
  std::vector<ir::Expr> guards; ///< outermost first
  analysis::Effects effects;    ///< with those of the guards
  bool scalar = false;          ///< may be repeated where it is needed
  /// Scalar nodes that it needs, all of them, in program order.
  std::vector<std::size_t> needs;
  /// Tile of the schedule: iteration `i` runs in step `i + stage`; within a step by `place`.
  std::int64_t stage = 0, place = 0;
  bool async = false;     ///< a copy to be started asynchronously
  unsigned statement = 0; ///< position in the body as written, for order and stage lists
};

/// What the loop's buffers need.
struct PipelineBuffer {
  ir::Buffer *storage = nullptr;
  std::int64_t versions = 1;
  /// Read outside of the loop: then the last iteration uses version 0.
  bool exposed = false;
};

class PipelineBody {
public:
  /// Takes the loop's body apart. Allocations are moved to `hoisted`.
  PipelineBody(ir::Function &function, ir::Launch &launch, ir::ForStmt &loop);

  std::vector<PipelineNode> nodes;
  ir::Block hoisted;
  unsigned statements = 0; ///< of the body as written, without lets, loads and allocations
  bool breaks = false;     ///< has a break of its own

  /// Puts the statements back into the loop, as they were but for the branches taken apart.
  void giveBack();

  /// Whether every read of `storage` in the loop sees what the same iteration wrote before it, so
  /// that versions may replace the buffer. `reason` says why not.
  bool versionable(const ir::Buffer *storage, std::string &reason) const;
  /// Whether `storage` is read somewhere outside of the loop.
  bool exposed(const ir::Buffer *storage) const;
  /// Effects of a node together with the scalar nodes it needs.
  analysis::Effects fullEffects(const PipelineNode &node) const;
  /// The node that binds a variable, if one does.
  std::optional<std::size_t> binder(const ir::ExprNode *var) const;

private:
  void flatten(ir::Block &block, std::vector<ir::Expr> guards, unsigned depth);
  void add(ir::StmtPtr stmt, const std::vector<ir::Expr> &guards, unsigned statement);
  void findScalars();
  void findNeeds();
  bool covered(const PipelineNode &reader, const analysis::MemoryAccess &read,
               std::size_t readerIndex) const;

  ir::Function &function;
  ir::Launch &launch;
  ir::ForStmt &loop;
  std::unordered_map<const ir::ExprNode *, std::size_t> binders;
};

} // namespace tlc::passes
