// Which copies a producer can take over from the threads that compute, and what else it has to run
// to do so: tensor copies, which one thread issues, and in pipelined loops also those that the
// threads of a warpgroup make by cp.async, where rows start at no multiple of 16 bytes. What
// computes a tile for products out of loaded ones goes to warps of its own, too (Conversions.h).
//
// A channel is a group of tiles that are filled together and given free together: all their copies
// stand in one block, before all their readers, which are the same statements for all of them.
// Tiles in a loop become rings of `stages` versions. Control flow and scalars that say whether, how
// often and from where to copy are repeated by the producer; they may depend on nothing that other
// threads compute.
#pragma once

#include "ir/Function.h"
#include "passes/Schedule.h"
#include "target/Target.h"

#include <string>
#include <unordered_set>
#include <vector>

namespace tlc::passes {

struct Channel {
  ir::Block *block = nullptr;               ///< holds the copies and the statements that read
  std::vector<const ir::CopyStmt *> copies; ///< in program order
  std::unordered_set<const ir::CopyStmt *> byThreads; ///< of these; the others are tensor copies
  std::vector<ir::Buffer *> tiles;                    ///< what they fill; each owns its storage
  std::vector<const ir::Stmt *> makers;  ///< statements of `block` that compute tiles of it
  const ir::Stmt *firstReader = nullptr; ///< statements of `block`; readers may be nested in them
  const ir::Stmt *lastReader = nullptr;
  std::int64_t stages = 1;    ///< versions of each tile
  bool repeats = false;       ///< in a loop: a version is filled more than once
  bool forConversion = false; ///< read by those who compute tiles, not by the program's threads
};

struct ChannelPlan {
  std::vector<Channel> channels; ///< in the order of their first copies
  /// Statements that the producer executes for them: scalars, and the loops and branches around.
  std::unordered_set<const ir::Stmt *> control;
  std::unordered_set<const ir::Stmt *> converting; ///< what computes tiles, of `makers` and before
  std::unordered_set<const ir::Buffer *> own;      ///< fragments and variables that only it uses
  std::string reason; ///< why there is nothing to take over; empty: there is

  /// Whether the producer needs a warpgroup of threads that copy.
  bool byThreads() const;
  /// Whether it allocates what only those who compute tiles use.
  bool isOwn(const ir::Stmt &stmt) const;
};

/// Looks, and changes nothing. `plan` has the stages of pipelined loops; null: as written.
ChannelPlan findChannels(ir::Function &function, ir::Launch &launch, const Target &target,
                         const LaunchPlan *plan);

/// Whether at a statement all threads of a cluster's blocks meet, by the compiler's own wish.
bool isMeeting(const ir::Stmt &stmt);

/// Whether a statement is a product of whole warpgroups.
bool isWarpgroupGemm(const ir::Stmt &stmt);

} // namespace tlc::passes
