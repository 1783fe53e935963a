// Where shared buffers lie in a block's arena: buffers whose lives do not overlap may lie in one
// place.
#pragma once

#include "ir/Function.h"
#include "support/Diagnostics.h"
#include "target/Target.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tlc::passes {

/// One shared buffer (no views) of a launch.
struct ArenaSlot {
  ir::Buffer *buffer = nullptr;
  std::int64_t versionBytes = 0; ///< bytes between versions, a multiple of the alignment
  std::int64_t alignment = 16;
  std::int64_t teams = 1;  ///< of a role, which have a copy each
  std::int64_t offset = 0; ///< of version 0
  /// Statements, counted in program order, between which it holds something; whole loops where
  /// contents may go around.
  std::int64_t first = 0, last = 0;
  /// Of roles that run at the same time (a number for each such group), the one that alone uses it.
  std::vector<std::pair<int, const ir::Stmt *>> roles;

  /// Bytes between the copies of teams.
  std::int64_t teamBytes() const {
    const std::int64_t bytes = versionBytes * buffer->versions;
    return teams > 1 ? (bytes + alignment - 1) / alignment * alignment : 0;
  }
  std::int64_t bytes() const { return (teams - 1) * teamBytes() + versionBytes * buffer->versions; }
};

struct ArenaPlan {
  std::vector<ArenaSlot> slots; ///< in the order of their allocation
  std::int64_t bytes = 0;       ///< what the launch needs
};

/// Bytes between the versions of a shared buffer.
std::int64_t versionBytes(const ir::Buffer &buffer);

/// Places the shared and barrier buffers that `launch` uses. What one role of several has for
/// itself lies in one place only where more than `limit` bytes would be needed otherwise, since its
/// threads then meet at barriers in between. Works in any phase after the pipeline; before layouts
/// are decided a tile counts as row-major.
ArenaPlan planArena(ir::Launch &launch, std::int64_t limit);

/// The error with the table of buffers.
void reportArenaTooLarge(const ir::Launch &launch, const ArenaPlan &plan, const Target &target,
                         DiagnosticEngine &diagnostics);

} // namespace tlc::passes
