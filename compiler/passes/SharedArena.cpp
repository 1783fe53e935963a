#include "passes/SharedArena.h"

#include "ir/Walk.h"
#include "passes/Physical.h"

#include <algorithm>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

/// A row of banks: tiles that start at multiples of it keep the bank of each offset.
constexpr std::int64_t bankRow = 128;

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool inArena(const Buffer &buffer) {
  return buffer.scope == Scope::Shared || buffer.scope == Scope::Barrier;
}

/// Numbers statements in program order and notes where each buffer is used.
class Lives {
public:
  explicit Lives(std::vector<ArenaSlot> &slots) : slots(slots) {}

  void visit(Block &block) {
    for (StmtPtr &stmt : block)
      visit(*stmt);
  }

private:
  struct Loop {
    std::int64_t begin;
    std::vector<Buffer *> outside; ///< used inside, allocated before: they live for the whole loop
  };

  void visit(Stmt &stmt) {
    std::int64_t here = position++;
    // Threads do not wait for each other inside an elementwise op: what one of them reads first
    // another one still needs when the first already writes. So all that an op uses lives for all
    // of it.
    if (stmt.op && stmt.op != op) {
      op = stmt.op;
      opBegin = here;
    }
    if (auto *alloc = dynCast<AllocStmt>(&stmt);
        alloc && !alloc->buffer->base && inArena(*alloc->buffer))
      allocate(*alloc->buffer);
    forEachUse(stmt, [&](const BufferUse &use) {
      note(*use.buffer->storage(), stmt.op ? opBegin : here, here);
    });
    bool loops = isa<ForStmt>(stmt) || isa<WhileStmt>(stmt);
    if (loops)
      open.push_back({here, {}});
    forEachBlock(stmt, [&](Block &inner) { visit(inner); });
    if (loops)
      close();
  }

  void allocate(Buffer &buffer) {
    if (index.emplace(&buffer, slots.size()).second) {
      ArenaSlot slot;
      slot.buffer = &buffer;
      slot.first = -1;
      slots.push_back(slot);
    }
    depth[&buffer] = open.size();
  }

  void note(Buffer &buffer, std::int64_t first, std::int64_t last) {
    auto found = index.find(&buffer);
    if (found == index.end())
      return;
    extend(slots[found->second], first, last);
    for (std::size_t level = depth[&buffer]; level < open.size(); ++level)
      open[level].outside.push_back(&buffer);
  }

  void close() {
    Loop loop = std::move(open.back());
    open.pop_back();
    for (Buffer *buffer : loop.outside)
      extend(slots[index.at(buffer)], loop.begin, position - 1);
  }

  static void extend(ArenaSlot &slot, std::int64_t first, std::int64_t last) {
    slot.first = slot.first < 0 ? first : std::min(slot.first, first);
    slot.last = std::max(slot.last, last);
  }

  std::vector<ArenaSlot> &slots;
  std::unordered_map<const Buffer *, std::size_t> index;
  std::unordered_map<const Buffer *, std::size_t> depth; ///< loops around the allocation
  std::vector<Loop> open;
  std::int64_t position = 0;
  std::uint32_t op = 0;     ///< the elementwise op that the last statement of one belonged to
  std::int64_t opBegin = 0; ///< where that began
};

std::int64_t bytesOf(const Buffer &buffer) {
  return buffer.scope == Scope::Barrier ? 8 * buffer.elementCount().value_or(1)
                                        : storageBytes(buffer.dtype, physicalSize(buffer));
}

std::int64_t alignmentOf(const Buffer &buffer) {
  return bytesOf(buffer) >= bankRow ? std::max(buffer.alignment, bankRow) : buffer.alignment;
}

/// Largest first, each at the lowest place that is free for as long as it lives.
void place(ArenaPlan &plan) {
  std::vector<ArenaSlot *> order;
  for (ArenaSlot &slot : plan.slots)
    order.push_back(&slot);
  std::stable_sort(order.begin(), order.end(),
                   [](const ArenaSlot *a, const ArenaSlot *b) { return a->bytes() > b->bytes(); });
  std::vector<const ArenaSlot *> placed;
  for (ArenaSlot *slot : order) {
    std::vector<const ArenaSlot *> rivals;
    for (const ArenaSlot *other : placed)
      if (other->first <= slot->last && slot->first <= other->last)
        rivals.push_back(other);
    std::sort(rivals.begin(), rivals.end(),
              [](const ArenaSlot *a, const ArenaSlot *b) { return a->offset < b->offset; });
    std::int64_t at = 0;
    for (const ArenaSlot *rival : rivals)
      if (at + slot->bytes() > rival->offset)
        at = std::max(at, roundUp(rival->offset + rival->bytes(), slot->alignment));
    slot->offset = at;
    placed.push_back(slot);
    plan.bytes = std::max(plan.bytes, at + slot->bytes());
  }
}

} // namespace

std::int64_t versionBytes(const Buffer &buffer) {
  std::int64_t bytes = bytesOf(buffer);
  return buffer.versions > 1 ? roundUp(bytes, alignmentOf(buffer)) : bytes;
}

ArenaPlan planArena(Launch &launch) {
  ArenaPlan plan;
  Lives(plan.slots).visit(launch.body);
  std::erase_if(plan.slots, [](const ArenaSlot &slot) { return slot.first < 0; }); // never used
  for (ArenaSlot &slot : plan.slots) {
    slot.alignment = alignmentOf(*slot.buffer);
    slot.versionBytes = versionBytes(*slot.buffer);
  }
  place(plan);
  return plan;
}

void reportArenaTooLarge(const Launch &launch, const ArenaPlan &plan, const Target &target,
                         DiagnosticEngine &diagnostics) {
  auto report = diagnostics.report(diag::SharedMemoryExceeded, launch.range, plan.bytes,
                                   target.name, target.limits.sharedPerBlockOptIn);
  std::vector<const ArenaSlot *> order;
  for (const ArenaSlot &slot : plan.slots)
    order.push_back(&slot);
  std::stable_sort(order.begin(), order.end(),
                   [](const ArenaSlot *a, const ArenaSlot *b) { return a->bytes() > b->bytes(); });
  for (const ArenaSlot *slot : order) {
    std::string shape;
    for (Expr extent : slot->buffer->shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent.constant().value_or(0));
    std::string text =
        "`" + slot->buffer->name + "` " + slot->buffer->dtype.str() + "[" + shape + "]";
    if (slot->buffer->versions > 1)
      text += " x " + std::to_string(slot->buffer->versions) + " stages";
    report.note(slot->buffer->range, text + ": " + std::to_string(slot->bytes()) +
                                         " bytes at offset " + std::to_string(slot->offset));
  }
}

} // namespace tlc::passes
