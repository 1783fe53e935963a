#include "passes/plan/Footprint.h"

#include "ir/Walk.h"

#include <algorithm>

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
