#include "passes/plan/Footprint.h"

#include "analysis/Copies.h"
#include "ir/Walk.h"
#include "passes/pipeline/PipelineLoops.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

std::int64_t bytesOf(const Buffer &buffer) {
  auto count = buffer.elementCount();
  return count ? storageBytes(buffer.dtype, *count) : 0;
}

std::int64_t allocatedBytes(const Block &block, Scope scope, const Copies &copies) {
  std::int64_t sum = 0;
  walk(block, [&](const Stmt &stmt) {
    const auto *alloc = dynCast<AllocStmt>(&stmt);
    if (!alloc || alloc->buffer->scope != scope || alloc->buffer->base)
      return true;
    const Buffer &buffer = *alloc->buffer;
    sum += bytesOf(buffer) * (copies ? copies(buffer) : buffer.versions);
    return true;
  });
  return sum;
}

std::int64_t plannedSharedBytes(Launch &launch, const LaunchPlan &plan) {
  std::unordered_map<const Buffer *, std::int64_t> versions;
  for (const PlannedLoop &planned : plannedLoops(launch, &plan))
    walk(std::as_const(planned.loop->body), [&](const Stmt &stmt) {
      if (analysis::isSharedLoad(stmt))
        versions[cast<CopyStmt>(stmt).target.buffer->storage()] =
            std::max<std::int64_t>(1, planned.stages);
      return true;
    });
  return allocatedBytes(launch.body, Scope::Shared, [&](const Buffer &tile) {
    auto found = versions.find(&tile);
    return found == versions.end() ? 1 : found->second;
  });
}

std::int64_t registersOf(const Block &block, std::int64_t threads) {
  constexpr std::int64_t others = 40; // addresses, counters, operands on their way
  return allocatedBytes(block, Scope::Fragment) / 4 / threads + others;
}

std::int64_t arrayRegisters(const Block &block) {
  std::int64_t own = 0, inner = 0;
  for (const StmtPtr &stmt : block) {
    const auto *alloc = dynCast<AllocStmt>(stmt.get());
    if (alloc && alloc->buffer->scope == Scope::Local && !alloc->buffer->base)
      own +=
          (storageBytes(alloc->buffer->dtype, alloc->buffer->elementCount().value_or(1)) + 3) / 4;
    forEachBlock(std::as_const(*stmt),
                 [&](const Block &b) { inner = std::max(inner, arrayRegisters(b)); });
  }
  return own + inner;
}

} // namespace tlc::passes
