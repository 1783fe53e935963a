#include "passes/sync/SharedArena.h"

#include "ir/Walk.h"
#include "passes/lower/Physical.h"
#include "passes/plan/TensorStores.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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

/// Numbers statements in program order and notes where each buffer is used. Roles of a block run at
/// the same time: what several of them use lives from the first to the last of them, what one of
/// them has for itself may share bytes with what only that one uses. Barrier objects, and tiles
/// that tensor maps may still read, live to the end; what other blocks write to, always.
class Lives {
public:
  /// `sharedInRoles`: what only one role uses may lie where others of its tiles do.
  Lives(std::vector<ArenaSlot> &slots, bool sharedInRoles)
      : slots(slots), sharedInRoles(sharedInRoles) {}

  void visit(Launch &launch) {
    visit(launch.body);
    for (Buffer *buffer : beingRead)
      note(*buffer, position, position);
    for (ArenaSlot &slot : slots)
      if ((slot.buffer->scope == Scope::Barrier || reached.count(slot.buffer)) && slot.first >= 0)
        extend(slot, 0, position);
  }

private:
  /// Statements for all of which a buffer lives that is used in them: in a loop, if it was
  /// allocated before; in roles, if more than one of them uses it.
  struct Span {
    std::int64_t begin;
    bool roles;
    std::vector<Buffer *> buffers;
    const Stmt *role = nullptr;                                  ///< the one that we are in
    std::unordered_map<const Buffer *, const Stmt *> users = {}; ///< null: several
  };

  void visit(Block &block) {
    std::size_t end = 0; // of the roles that run at the same time
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i >= end && isa<RoleStmt>(*block[i])) {
        end = endOfRoles(block, i);
        open.push_back({position, true, {}});
      }
      if (i < end)
        open.back().role = block[i].get();
      visit(*block[i]);
      if (i + 1 == end)
        close();
    }
  }

  /// Behind the last role that may run at the same time as the one at `first`.
  static std::size_t endOfRoles(const Block &block, std::size_t first) {
    std::size_t end = first + 1;
    for (std::size_t i = end; i < block.size(); ++i) {
      const auto *barrier = dynCast<BarrierStmt>(block[i].get());
      if (barrier && barrier->mode == BarrierMode::Both && barrier->scope != BarrierScope::Named &&
          barrier->scope != BarrierScope::Warp)
        break;
      if (isa<RoleStmt>(*block[i]))
        end = i + 1;
    }
    return end;
  }

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
    asynchronousReads(stmt, here);
    // Another block does so whenever it has come there.
    if (const auto *call = dynCast<CallStmt>(&stmt); call && writesOtherBlocks(*call))
      forEachUse(stmt, [&](const BufferUse &use) { reached.insert(use.buffer->storage()); });
    const auto *role = dynCast<RoleStmt>(&stmt);
    const bool hasTeams = role && role->teams > 1;
    // One team may be where a tile of its own is in use while another is elsewhere.
    bool lasts = isa<ForStmt>(stmt) || isa<WhileStmt>(stmt) || hasTeams;
    if (hasTeams)
      team = {role->teams, open.size()};
    if (lasts)
      open.push_back({here, false, {}});
    forEachBlock(stmt, [&](Block &inner) { visit(inner); });
    if (lasts)
      close();
    if (hasTeams)
      team = {};
  }

  /// Tensor maps read a tile that they store until the program waits for it.
  void asynchronousReads(const Stmt &stmt, std::int64_t here) {
    if (const auto *async = dynCast<AsyncStmt>(&stmt);
        async && async->what == AsyncKind::Bulk && !async->commit && async->pending == 0) {
      for (Buffer *buffer : beingRead)
        note(*buffer, here, here);
      beingRead.clear();
    }
    const auto *call = dynCast<CallStmt>(&stmt);
    const bool whole = isStoreByWarps(stmt);
    if (whole || (call && usesTensorMap(*call)))
      forEachUse(stmt, [&](const BufferUse &use) {
        if ((whole ? use.buffer->scope == Scope::Shared : use.pointer != nullptr) &&
            use.access == Access::Read)
          beingRead.push_back(use.buffer->storage());
      });
  }

  void allocate(Buffer &buffer) {
    if (index.emplace(&buffer, slots.size()).second) {
      ArenaSlot slot;
      slot.buffer = &buffer;
      slot.first = -1;
      slot.teams = team.count;
      slots.push_back(slot);
    }
    depth[&buffer] = team.count > 1 ? team.level : open.size();
  }

  void note(Buffer &buffer, std::int64_t first, std::int64_t last) {
    auto found = index.find(&buffer);
    if (found == index.end())
      return;
    extend(slots[found->second], first, last);
    for (std::size_t level = 0; level < open.size(); ++level) {
      Span &span = open[level];
      if (!span.roles && level < depth[&buffer])
        continue;
      span.buffers.push_back(&buffer);
      if (!span.roles)
        continue;
      auto [user, fresh] = span.users.try_emplace(&buffer, span.role);
      if (!sharedInRoles || (!fresh && user->second != span.role))
        user->second = nullptr;
    }
  }

  void close() {
    Span span = std::move(open.back());
    open.pop_back();
    // What is still being read at its end is so in the next round of a loop.
    if (!span.roles)
      span.buffers.insert(span.buffers.end(), beingRead.begin(), beingRead.end());
    for (const auto &[buffer, role] : span.users)
      if (role)
        slots[index.at(buffer)].roles.emplace_back(groups, role);
    groups += span.roles;
    for (Buffer *buffer : span.buffers)
      if (!span.roles || !span.users.at(buffer))
        extend(slots[index.at(buffer)], span.begin, position - 1);
  }

  static void extend(ArenaSlot &slot, std::int64_t first, std::int64_t last) {
    slot.first = slot.first < 0 ? first : std::min(slot.first, first);
    slot.last = std::max(slot.last, last);
  }

  /// Of the role that we are in, and where its span is in `open`.
  struct Teams {
    std::int64_t count = 1;
    std::size_t level = 0;
  };

  std::vector<ArenaSlot> &slots;
  bool sharedInRoles;
  std::unordered_map<const Buffer *, std::size_t> index;
  std::unordered_map<const Buffer *, std::size_t> depth; ///< loops around the allocation
  std::vector<Span> open;
  Teams team;
  std::unordered_set<const Buffer *> reached; ///< by other blocks of the cluster
  std::vector<Buffer *> beingRead;            ///< by copies that were not waited for
  std::int64_t position = 0;
  int groups = 0;           ///< of roles, closed so far
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

/// Whether both may hold something at once: by their lives, or in roles that run beside each other.
bool meet(const ArenaSlot &a, const ArenaSlot &b) {
  if (a.first <= b.last && b.first <= a.last)
    return true;
  for (const auto &[group, role] : a.roles)
    for (const auto &[other, rival] : b.roles)
      if (group == other && role != rival)
        return true;
  return false;
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
      if (meet(*other, *slot))
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

namespace {

ArenaPlan placed(Launch &launch, bool sharedInRoles) {
  ArenaPlan plan;
  Lives(plan.slots, sharedInRoles).visit(launch);
  std::erase_if(plan.slots, [](const ArenaSlot &slot) { return slot.first < 0; }); // never used
  for (ArenaSlot &slot : plan.slots) {
    slot.alignment = alignmentOf(*slot.buffer);
    slot.versionBytes = versionBytes(*slot.buffer);
  }
  place(plan);
  return plan;
}

} // namespace

ArenaPlan planArena(Launch &launch, std::int64_t limit) {
  ArenaPlan plan = placed(launch, false);
  return plan.bytes <= limit ? plan : placed(launch, true);
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
