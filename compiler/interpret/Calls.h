// Runtime functions that the interpreter knows, by name.
#pragma once

#include "interpret/Nodes.h"

#include <string_view>

namespace tlc::interpret {

/// The active lanes of one warp: `lane[i]` is the group's lane of thread i of the warp, -1 if it is
/// not here.
struct WarpLanes {
  std::array<std::int32_t, 32> lane;
  std::uint32_t mask = 0; ///< who is here
};

using CallFunction = void (*)(Group &, const CallNode &, const WarpLanes &);

/// Executed for each warp that has active lanes; null if unknown.
CallFunction findCall(std::string_view name);
/// A matrix instruction of this name; null if there is none.
const Atom *findMatrixAtom(std::string_view name);
void multiplyMatrix(Group &group, const CallNode &node, const WarpLanes &warp, const Atom &atom);
/// ldmatrix_x4_trans and the like; false if the name is none of them.
bool moveMatrices(Group &group, const CallNode &node, const WarpLanes &warp);

/// Products of warpgroups, their descriptors and what goes with them; false if the name is none of
/// them.
bool warpGroupCall(Group &group, const CallNode &node, const WarpLanes &warp);
/// tma_load_2d and the like; false if the name is none of them.
bool copyBox(Group &group, const CallNode &node, const WarpLanes &warp);

/// gemm_tile: one thread's product of tiles in memory.
void multiplyTile(Group &group, const CallNode &node, const WarpLanes &warp);

/// Where a pointer argument points, as a bit offset; -1 (and reported) if it is out of range.
std::int64_t addressOf(Group &group, const ArgumentRef &arg, std::uint32_t lane, unsigned elements);

} // namespace tlc::interpret
