// Stages and places for the nodes of a pipelined loop: the user's, or planned.
#pragma once

#include "passes/Pass.h"
#include "passes/pipeline/PipelineNodes.h"

#include <string>
#include <unordered_set>
#include <vector>

namespace tlc::passes {

struct PipelinePlan {
  std::vector<PipelineBuffer> buffers; ///< those that get versions, or are written asynchronously
  std::vector<std::size_t> order;      ///< nodes that are not scalar, by place
  std::int64_t lastStage = 0;
  std::string reason; ///< why nothing can be done; empty: it can
};

/// Copies ahead of what uses them: asynchronous ones by stages - 1 iterations, loads into registers
/// by one, be they for a tile or, of a few elements, for whoever reads them. `asynchronous` are the
/// copies that the target can do so. On success stages, places and `async` of the nodes are set.
/// `early`: whether elements may be loaded for whoever reads them; then, whether they are.
PipelinePlan planAutomatically(PipelineBody &body, std::int64_t stages, bool &early,
                               const std::unordered_set<const ir::Stmt *> &asynchronous);

/// The lists of the loop. Reports what contradicts a dependence; then `reason` is set.
PipelinePlan planAsWritten(PipelineBody &body, const ir::ForStmt &loop, PassContext &context,
                           const std::unordered_set<const ir::Stmt *> &asynchronous);

} // namespace tlc::passes
