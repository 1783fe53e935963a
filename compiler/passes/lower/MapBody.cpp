#include "passes/lower/MapBody.h"

namespace tlc::passes {

using namespace ir;

bool isMemory(const Buffer &buffer) {
  return buffer.scope == Scope::Global || buffer.scope == Scope::Shared;
}

const Element &memoryOf(const Stmt &stmt) {
  if (const auto *load = dynCast<LoadStmt>(&stmt))
    return load->source;
  if (const auto *atomic = dynCast<AtomicStmt>(&stmt))
    return atomic->target;
  return cast<StoreStmt>(stmt).target;
}

Expr predicateOf(const Stmt &stmt) {
  if (const auto *load = dynCast<LoadStmt>(&stmt))
    return load->predicate;
  if (const auto *atomic = dynCast<AtomicStmt>(&stmt))
    return atomic->predicate;
  return cast<StoreStmt>(stmt).predicate;
}

bool addsVectors(const AtomicStmt &atomic) {
  return atomic.op == AtomicOp::Add && !atomic.result && atomic.order == MemoryOrder::Relaxed &&
         atomic.scope == MemoryScope::Device && atomic.value.dtype() == DType(Scalar::Float32) &&
         atomic.target.buffer->scope == Scope::Global &&
         atomic.target.buffer->dtype == DType(Scalar::Float32);
}

bool takesAsync(const MoveStmt &move) {
  const std::int64_t bits =
      move.count * move.source.buffer->dtype.bits() * move.source.buffer->dtype.lanes;
  return bits == 32 || bits == 64 || bits == 128;
}

void inlineLets(const Block &block, Substitution &lets) {
  walk(block, [&](const Stmt &stmt) {
    if (const auto *let = dynCast<LetStmt>(&stmt))
      lets.emplace_back(let->var, substitute(let->value, lets));
    return true;
  });
}

void walkUses(Stmt &stmt, const std::function<void(const BufferUse &)> &f) {
  forEachUse(stmt, f);
  forEachBlock(stmt, [&](Block &inner) {
    for (StmtPtr &s : inner)
      walkUses(*s, f);
  });
}

} // namespace tlc::passes
