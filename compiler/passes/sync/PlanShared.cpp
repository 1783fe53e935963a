// plan-shared: places shared buffers in the arena of their launch.
//
//   alloc %A_s: shared f16[128, 32] versions 3        alloc %A_s: ... at 0 version_bytes 8192
//   alloc %B_s: shared f16[32, 128] versions 3   =>   alloc %B_s: ... at 24576 version_bytes 8192
//   (after the loop)                                  (after the loop)
//   alloc %C_s: shared f16[128, 128]                  alloc %C_s: ... at 0
//
// Why here: after lowering, which adds scratch tiles; before insert-sync, which must see who shares
// bytes with whom.
#include "passes/Pass.h"
#include "passes/sync/SharedArena.h"

namespace tlc::passes {

void planShared(ir::Function &function, PassContext &context) {
  for (auto &launch : function.launches) {
    ArenaPlan plan = planArena(*launch);
    if (context.target.isGpu() && plan.bytes > context.target.limits.sharedPerBlockOptIn) {
      reportArenaTooLarge(*launch, plan, context.target, context.diagnostics);
      continue;
    }
    for (const ArenaSlot &slot : plan.slots) {
      slot.buffer->sharedOffset = slot.offset;
      slot.buffer->versionBytes = slot.versionBytes;
    }
    launch->sharedBytes = plan.bytes;
  }
}

} // namespace tlc::passes
