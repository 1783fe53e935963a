// Warps and registers of the roles that specialize-warps makes.
#pragma once

#include "passes/Schedule.h"
#include "passes/roles/Channels.h"

namespace tlc::passes {

struct RoleRegisters {
  std::int64_t producer = 0, converter = 0, front = 0, consumer = 0; ///< 0: as launched
  std::int64_t converting = 0; ///< warpgroups that compute tiles
};

/// Registers of a thread before its role says how many it has, of as many blocks as a
/// multiprocessor is to hold: what roles have together may not exceed it, or threads wait for
/// registers forever.
std::int64_t registersAtLaunch(const ir::Launch &launch, const Target &target,
                               std::int64_t threads);
/// What an instruction needs of them beside its accumulators; with less it is an error of the
/// assembler (ptxas C7602).
inline constexpr std::int64_t besideInstruction = 26;

/// What the others do not need goes to the consumers. The sum may not exceed what the launch gives,
/// registers at launch times threads, which can be less than the file; a single consumer group has
/// all it can address anyway. A front (SplitConsumers.h), which has few sums, keeps what the others
/// cannot share evenly. `launch` as it is before its roles are made.
RoleRegisters registersOf(const ir::Launch &launch, const ChannelPlan &plan, bool split,
                          const Target &target);

/// Whether the threads that compute have so little to hold that the assembler would give a thread
/// less than the launch allows, and then does not do what the roles ask for (ptxas C7508), unless
/// it is told that one block of a multiprocessor is enough.
bool needsFewRegisters(const ir::Launch &launch, const ChannelPlan &plan,
                       const LaunchPlan &schedule, const Target &target);

/// Whether products can be compiled where a warpgroup more than that of the tensor copies takes
/// registers: the assembler wants an instruction's accumulators to fit into what a thread has at
/// launch, and a single group of consumers gets no more than that.
bool leavesProductsRoom(const ir::Launch &launch, const Target &target);

} // namespace tlc::passes
