#include "passes/roles/Rings.h"

#include "ir/Walk.h"
#include "passes/Rewrite.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

Ring &Rings::make(const Channel &channel, Expr filling, std::int64_t warps, std::int64_t parts) {
  Ring &ring = rings.emplace_back();
  ring.channel = &channel;
  ring.filling = filling;
  ring.blocks = blocksOf(channel);
  ring.freeing = ring.blocks * warps;
  ring.parts = parts;
  const Buffer &first = *channel.tiles.front();
  SourceRange range = !channel.copies.empty()   ? channel.copies.front()->range
                      : !channel.makers.empty() ? channel.makers.front()->range
                                                : first.range;
  Expr stages = context.int32(channel.stages);
  DType word(Scalar::UInt64);
  ring.full = &function.addBuffer(first.name + "_full", word, Scope::Barrier,
                                  {context.int32(channel.stages * parts)}, range);
  if (channel.repeats)
    ring.empty = &function.addBuffer(first.name + "_empty", word, Scope::Barrier, {stages}, range);
  for (Buffer *tile : channel.tiles)
    tile->versions = channel.stages;
  return ring;
}

Ring *Rings::filledBy(const Stmt &stmt) {
  for (Ring &ring : rings)
    for (const CopyStmt *copy : ring.channel->copies)
      if (copy == &stmt)
        return &ring;
  return nullptr;
}

void Rings::hoistTiles(Block &out) {
  std::unordered_set<const Buffer *> tiles;
  for (const Ring &ring : rings)
    tiles.insert(ring.channel->tiles.begin(), ring.channel->tiles.end());
  rewrite(launch.body, [&](StmtPtr stmt, Block &kept) {
    auto *alloc = dynCast<AllocStmt>(stmt.get());
    bool hoist = alloc && tiles.count(alloc->buffer);
    (hoist ? out : kept).push_back(std::move(stmt));
  });
}

void Rings::initialise(Block &out) {
  Builder b(function, out);
  b.range = launch.range;
  for (Ring &ring : rings) {
    b.alloc(*ring.full);
    if (ring.empty)
      b.alloc(*ring.empty);
  }
  b.when(equals(launch.tid, 0), [&] {
    for (Ring &ring : rings)
      b.unrolled("i", ring.channel->stages, [&](Expr i) {
        for (std::int64_t part = 0; part < ring.parts; ++part)
          mbar(b, MbarOp::Init, full(ring, {i, {}}, part), ring.filling);
        if (ring.empty)
          mbar(b, MbarOp::Init, {ring.empty, {i}, {}}, ring.freeing);
      });
    b.add<FenceStmt>().what = FenceKind::MbarInit;
  });
  BarrierStmt &ready = b.barrier();
  ready.userWritten = true; // what it orders are barriers, which insert-sync does not watch
  if (launch.clusterSize)
    ready.scope = BarrierScope::Cluster;
}

MbarStmt &Rings::mbar(Builder &b, MbarOp op, Element barrier, Expr value) const {
  auto &stmt = b.add<MbarStmt>();
  stmt.op = op;
  stmt.barrier = std::move(barrier);
  stmt.value = value;
  return stmt;
}

Element Rings::full(const Ring &ring, Position at, std::int64_t part) const {
  return {ring.full, {ring.parts == 1 ? at.slot : at.slot * ring.parts + part}, {}};
}

Expr Rings::blocksOf(const Channel &channel) const {
  bool together = std::any_of(channel.copies.begin(), channel.copies.end(),
                              [](const CopyStmt *copy) { return bool(copy->multicast); });
  return together && launch.clusterSize ? launch.clusterSize : context.int32(1);
}

Buffer *Rings::variable(Builder &b, const std::string &name, std::int64_t initial) const {
  Buffer &buffer = function.addBuffer(name, DType(Scalar::Int32), Scope::Local, {});
  b.alloc(buffer).init = context.int32(initial);
  return &buffer;
}

void Rings::beginSide(Builder &b, const std::function<bool(const Channel &)> &takesPart,
                      const std::function<bool(const Channel &)> &holds) {
  for (Ring &ring : rings) {
    const Channel &channel = *ring.channel;
    ring.slot = ring.phase = ring.held = nullptr;
    if (!channel.repeats || !takesPart(channel))
      continue;
    const std::string &name = channel.tiles.front()->name;
    ring.slot = channel.stages > 1 ? variable(b, name + "_slot", 0) : nullptr;
    ring.phase = variable(b, name + "_phase", 0);
    ring.held = holds(channel) ? variable(b, name + "_held", -1) : nullptr;
  }
}

Position Rings::position(Builder &b, const Ring &ring) const {
  auto read = [&](Buffer *variable, const char *name) {
    return variable ? b.load(name, *variable, {}) : context.int32(0);
  };
  return {read(ring.slot, "slot"), read(ring.phase, "phase")};
}

void Rings::advance(Builder &b, const Ring &ring, Position at) const {
  if (!ring.phase)
    return;
  Expr flipped = context.int32(1) - at.phase;
  if (!ring.slot) {
    b.store(*ring.phase, {}, flipped);
    return;
  }
  Expr next = at.slot + 1, wraps = equals(next, ring.channel->stages);
  b.store(*ring.phase, {}, context.select(wraps, flipped, at.phase));
  b.store(*ring.slot, {}, context.select(wraps, context.int32(0), next));
}

void Rings::waitFull(Builder &b, const Ring &ring, Position at) const {
  for (std::int64_t part = 0; part < ring.parts; ++part)
    waitPart(b, ring, at, part);
}

void Rings::waitPart(Builder &b, const Ring &ring, Position at, std::int64_t part) const {
  mbar(b, MbarOp::Wait, full(ring, at, part), at.phase);
}

void Rings::waitEmpty(Builder &b, const Ring &ring, Position at) const {
  if (ring.empty)
    mbar(b, MbarOp::Wait, {ring.empty, {at.slot}, {}}, context.int32(1) - at.phase);
}

Region Rings::partOf(const Region &region, std::int64_t part, std::int64_t parts) {
  Region result = region;
  const std::size_t last = region.extents.size() - 1;
  const std::int64_t width = *region.extents[last].constant() / parts;
  result.offsets[last] = region.offsets[last] + part * width;
  result.extents[last] =
      region.extents[last].context().integer(region.extents[last].dtype(), width);
  return result;
}

void Rings::announce(Builder &b, const Ring &ring, Expr slot) const {
  b.add<BarrierStmt>().scope = BarrierScope::Warp;
  b.when(equals(floorMod(launch.tid, target.limits.warp), 0), [&] {
    mbar(b, MbarOp::Arrive, full(ring, {slot, {}}));
  });
}

void Rings::giveBack(Builder &b, const Ring &ring, Expr slot, Expr condition) const {
  if (!ring.empty)
    return;
  b.add<BarrierStmt>().scope = BarrierScope::Warp;
  Expr lane = floorMod(launch.tid, target.limits.warp);
  bool alone = ring.blocks.isConstant(1);
  Expr chosen = alone ? equals(lane, 0) : lessThan(lane, ring.blocks);
  b.when(logicalAnd(chosen, condition), [&] {
    MbarStmt &arrival = mbar(b, MbarOp::Arrive, {ring.empty, {slot}, {}});
    if (!alone)
      arrival.cta = lane;
  });
}

void Rings::giveBackHeld(Builder &b, const Ring &ring, Expr slot) const {
  Expr held = b.load("held", *ring.held, {});
  giveBack(b, ring, held, lessEqual(context.int32(0), held));
  b.store(*ring.held, {}, slot);
}

void Rings::useVersion(Stmt &stmt, const Ring &ring, Position at) const {
  Expr chosen = version(ring, at);
  if (!chosen)
    return;
  walk(stmt, [&](Stmt &inner) {
    forEachUse(inner, [&](const BufferUse &use) {
      if (!std::count(ring.channel->tiles.begin(), ring.channel->tiles.end(),
                      use.buffer->storage()))
        return;
      if (use.element)
        use.element->version = chosen;
      else if (use.region)
        use.region->version = chosen;
    });
    return true;
  });
}

bool isHandover(const Stmt &stmt) {
  switch (stmt.kind) {
  case StmtKind::Load:
    return cast<LoadStmt>(stmt).source.buffer->storage()->scope == Scope::Local;
  case StmtKind::Store:
    return cast<StoreStmt>(stmt).target.buffer->storage()->scope == Scope::Local;
  case StmtKind::Mbar:
    return true;
  case StmtKind::Barrier:
    return cast<BarrierStmt>(stmt).scope == BarrierScope::Warp;
  case StmtKind::If: {
    const auto &branch = cast<IfStmt>(stmt);
    auto all = [](const Block &b) {
      return std::all_of(b.begin(), b.end(), [](const StmtPtr &s) { return isHandover(*s); });
    };
    return all(branch.then) && all(branch.otherwise);
  }
  default:
    return false;
  }
}

} // namespace tlc::passes
