// What a copy between global and shared memory allows: the widest aligned pieces, and whether the
// target's asynchronous copy can do it. Shared by the planner, the pipeliner and the lowering.
#pragma once

#include "analysis/Ranges.h"
#include "target/Target.h"

namespace tlc::analysis {

/// Bytes (a power of two, at most `limit`) of the widest pieces along the last dim of the tile such
/// that on both sides every piece is contiguous and aligned, and lies wholly inside or wholly
/// outside of the global tensor. At least one element; less than a byte counts as 0. Base pointers
/// are taken to be aligned to `limit`; swizzles of the shared side are the lowering's affair.
std::int64_t copyPieceBytes(const ir::CopyStmt &copy, const Ranges &ranges,
                            std::int64_t limit = 16);

/// Whether the copy can be started with the target's asynchronous copy from global to shared memory
/// (4, 8 or 16 bytes a piece, no conversion, zero where out of range).
bool canCopyAsync(const ir::CopyStmt &copy, const Target &target, const Ranges &ranges);

} // namespace tlc::analysis
