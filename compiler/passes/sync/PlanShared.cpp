// plan-shared: places shared buffers in the arena of their launch.
//
//   alloc %A_s: shared f16[128, 32] versions 3        alloc %A_s: ... at 0 version_bytes 8192
//   alloc %B_s: shared f16[32, 128] versions 3   =>   alloc %B_s: ... at 24576 version_bytes 8192
//   (after the loop)                                  (after the loop)
//   alloc %C_s: shared f16[128, 128]                  alloc %C_s: ... at 0
//
// Why here: after lowering, which adds scratch tiles; before insert-sync, which must see who shares
// bytes with whom. If the scratch is what does not fit, `fit` and what lies between have another
// turn.
#include "passes/plan/FewerStages.h"

namespace tlc::passes {

void planShared(ir::Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    ir::Launch *launch = function.launches[i].get();
    ArenaPlan plan = planArena(*launch, context.target.limits.sharedPerBlockOptIn);
    if (context.target.isGpu() && plan.bytes > context.target.limits.sharedPerBlockOptIn)
      giveUpStage(function, i, plan, context);
    for (const ArenaSlot &slot : plan.slots) {
      slot.buffer->sharedOffset = slot.offset;
      slot.buffer->versionBytes = slot.versionBytes;
      slot.buffer->teams = slot.teams;
      slot.buffer->teamBytes = slot.teamBytes();
    }
    launch->sharedBytes = plan.bytes;
  }
}

} // namespace tlc::passes
