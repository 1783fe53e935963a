// Which statements the threads of a role execute together, and which each thread executes for
// itself.
#pragma once

#include "ir/Stmt.h"

namespace tlc::analysis {

/// A tile op that works on what each thread owns: a copy or fill whose memory besides global is all
/// Local. Every thread does all of it.
bool isPerThreadTileOp(const ir::Stmt &stmt);

/// Whether the statement is a tile op of another kind: one that needs all threads of its role.
bool isCollectiveTileOp(const ir::Stmt &stmt);

/// Whether the statement itself (not what is nested in it) needs the threads of its role together:
/// tile ops except the per-thread ones, barriers, and calls that say so.
bool isCollective(const ir::Stmt &stmt);

/// Whether it, or anything nested in it, does.
bool containsCollective(const ir::Stmt &stmt);
bool containsCollective(const ir::Block &block);

} // namespace tlc::analysis
