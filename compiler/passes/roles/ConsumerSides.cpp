#include "passes/roles/ConsumerSides.h"

#include "ir/Walk.h"
#include "passes/Rewrite.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

ConsumerSides::ConsumerSides(Function &function, Launch &launch, const Target &target, Rings &rings,
                             const ChannelPlan &plan, const ConsumerSplit &split)
    : function(function), context(*function.context), launch(launch), target(target), rings(rings),
      plan(plan), split(split) {
  const std::int64_t warp = target.limits.warp;
  const std::int64_t frontWarps = target.limits.groupThreads() / warp;
  const std::int64_t backWarps = launch.threadCount() / warp;
  for (const Channel &channel : plan.channels) {
    std::int64_t warps = (readingOf(channel, false).first ? frontWarps : 0) +
                         (readingOf(channel, true).first ? backWarps : 0);
    rings.make(channel, context.int32(1), warps, partsOf(channel));
  }
  for (const Handover &handover : split.handovers) {
    passages.push_back(makePassage(handover));
    passages.back().ring = &rings.make(channels.back(), context.int32(frontWarps), backWarps);
  }
}

/// The front begins with the first columns of a tile while the others are on their way, if the
/// product that it needs them for sums along them. Of a few parts each is long enough to hide the
/// wait for the next one; they end where rows of the swizzle do.
std::int64_t ConsumerSides::partsOf(const Channel &channel) const {
  constexpr std::int64_t most = 4, rowBits = 128 * 8;
  const auto *gemm = dynCast<GemmStmt>(readingOf(channel, false).first);
  if (!gemm || !channel.repeats || channel.copies.size() != 1 || channel.tiles.size() != 1)
    return 1;
  const CopyStmt &copy = *channel.copies.front();
  const Buffer &tile = *channel.tiles.front();
  if (gemm->b.buffer != &tile || !gemm->transposeB || !gemm->b.wholeBuffer() || gemm->transposeA ||
      gemm->a.buffer->storage() == &tile || !copy.target.wholeBuffer() || copy.multicast ||
      copy.source.isDropped(copy.source.buffer->rank() - 1) || !gemm->a.extents.back().constant() ||
      !copy.source.extents.back().constant())
    return 1;
  const std::int64_t bits = *tile.shape.back().constant() * tile.dtype.bits();
  for (std::int64_t parts = most; parts > 1; --parts)
    if (bits % (parts * rowBits) == 0)
      return parts;
  return 1;
}

/// The tile that it goes through, as the newest channel.
ConsumerSides::Passage ConsumerSides::makePassage(const Handover &handover) {
  Passage passage{&handover, nullptr, nullptr};
  Buffer &value = *handover.value;
  Channel channel;
  channel.repeats = true;
  channel.stages = handoverVersions(handover);
  bool inPlace = value.scope == Scope::Shared;
  if (inPlace)
    passage.registers = &function.addBuffer(value.name + "_l", value.dtype, Scope::Fragment,
                                            value.shape, value.range);
  else
    launch.body.insert(launch.body.begin(), [&] {
      Buffer &tile = function.addBuffer(value.name + "_s", value.dtype, Scope::Shared, value.shape,
                                        value.range);
      channel.tiles = {&tile};
      auto alloc = std::make_unique<AllocStmt>(launch.range);
      alloc->buffer = &tile;
      return alloc;
    }());
  if (inPlace)
    channel.tiles = {&value};
  channels.push_back(std::move(channel));
  return passage;
}

/// Whether the side executes something of the statement.
bool ConsumerSides::hasPart(const Stmt &stmt, bool back) const {
  bool found = false;
  walk(stmt, [&](const Stmt &deep) { return !(found |= own(back).count(&deep) > 0); });
  return found;
}

bool ConsumerSides::usesStorage(const Buffer &storage, bool back) const {
  bool found = false;
  auto look = [&](const Stmt &stmt) {
    forEachUse(stmt, [&](const BufferUse &use) { found |= use.buffer->storage() == &storage; });
    return !found;
  };
  for (const Stmt *stmt : own(back))
    walk(*stmt, look);
  return found;
}

ConsumerSides::Reading ConsumerSides::readingOf(const Channel &channel, bool back) const {
  Reading reading;
  auto reads = [&](const Stmt &stmt) {
    bool found = false;
    forEachUse(stmt, [&](const BufferUse &use) {
      found |= std::count(channel.tiles.begin(), channel.tiles.end(), use.buffer->storage()) > 0;
    });
    return found;
  };
  for (const StmtPtr &stmt : *channel.block) {
    bool found = false, leaf = own(back).count(stmt.get());
    walk(std::as_const(*stmt), [&](const Stmt &deep) {
      found |= (leaf || own(back).count(&deep)) && reads(deep);
      return !found;
    });
    if (!found)
      continue;
    if (!reading.first)
      reading.first = stmt.get();
    reading.last = stmt.get();
  }
  return reading;
}

Block ConsumerSides::build(bool ofBack) {
  back = ofBack;
  Block body;
  Builder b(function, body);
  b.range = launch.range;
  rings.beginSide(
      b, [](const Channel &) { return true; }, [](const Channel &) { return false; });
  if (back)
    for (const Passage &passage : passages)
      if (passage.registers)
        b.alloc(*passage.registers);
  block(launch.body, b);
  Substitution renamed;
  return freshCopy(function, body, renamed);
}

void ConsumerSides::block(const Block &source, Builder &b) {
  Open open;
  for (const StmtPtr &stmt : source) {
    b.range = stmt->range;
    if (rings.filledBy(*stmt) || !(split.both.count(stmt.get()) || own(back).count(stmt.get())))
      continue;
    if (const auto *alloc = dynCast<AllocStmt>(stmt.get());
        alloc && !usesStorage(*alloc->buffer->storage(), back))
      continue;
    bool scalar = isa<LetStmt>(*stmt) || isa<AssumeStmt>(*stmt) || isa<AllocStmt>(*stmt);
    if (!scalar && !hasPart(*stmt, back))
      continue;
    before(*stmt, b, open);
    if (!inParts(*stmt, b, open)) {
      StmtPtr part = sideOf(*stmt, b);
      for (auto &[ring, at] : open)
        rings.useVersion(*part, *ring, at);
      b.add(std::move(part));
    }
    behind(*stmt, b, open);
  }
}

/// The statement as the side executes it.
StmtPtr ConsumerSides::sideOf(const Stmt &stmt, Builder &b) {
  StmtPtr copy = own(back).count(&stmt)
                     ? cloneStmt(stmt)
                     : refilled(stmt, b, [&](const Block &inner) { block(inner, b); });
  adapt(*copy);
  return copy;
}

/// The front's product with a tile that comes in parts: each is multiplied as soon as it is there.
bool ConsumerSides::inParts(const Stmt &stmt, Builder &b, Open &open) {
  for (auto &[ring, at] : open) {
    if (back || ring->parts == 1 || readingOf(*ring->channel, false).first != &stmt)
      continue;
    for (std::int64_t part = 0; part < ring->parts; ++part) {
      rings.waitPart(b, *ring, at, part);
      StmtPtr product = sideOf(stmt, b);
      auto &gemm = cast<GemmStmt>(*product);
      gemm.a = Rings::partOf(gemm.a, part, ring->parts);
      gemm.b = Rings::partOf(gemm.b, part, ring->parts);
      gemm.async = true; // all add to the same sums, one after the other
      if (part > 0)
        gemm.clear = {};
      for (auto &[used, where] : open)
        rings.useVersion(gemm, *used, where);
      b.add(std::move(product));
    }
    b.wait(0, AsyncKind::Wgmma);
    return true;
  }
  return false;
}

void ConsumerSides::adapt(Stmt &stmt) {
  if (auto *loop = dynCast<ForStmt>(&stmt))
    makeSerial(*loop);
  auto *gemm = dynCast<GemmStmt>(&stmt);
  if (!gemm)
    return;
  if (!back) // one warpgroup
    gemm->warpsM = gemm->warpsN = 1;
  for (const Passage &passage : passages)
    if (back && passage.registers && gemm->a.buffer == passage.handover->value)
      gemm->a = wholeRegion(context, *passage.registers);
}

/// What has to be waited for.
void ConsumerSides::before(const Stmt &stmt, Builder &b, Open &open) {
  for (Ring &ring : rings)
    if (!ring.channel->copies.empty() && readingOf(*ring.channel, back).first == &stmt) {
      open[&ring] = rings.position(b, ring);
      if (back || ring.parts == 1)
        rings.waitFull(b, ring, open[&ring]);
    }
  for (const Passage &passage : passages)
    for (const HandoverSite &site : passage.handover->sites) {
      const Ring &ring = *passage.ring;
      if (!back && passage.registers && site.firstWriter == &stmt) {
        open[&ring] = rings.position(b, ring);
        rings.waitEmpty(b, ring, open[&ring]);
      } else if (back && site.firstReader == &stmt) {
        Position at = rings.position(b, ring);
        rings.waitFull(b, ring, at);
        copy(b, passage, at, false);
        rings.giveBack(b, ring, at.slot);
        rings.advance(b, ring, at);
      }
    }
}

/// What can be given away.
void ConsumerSides::behind(const Stmt &stmt, Builder &b, Open &open) {
  for (Ring &ring : rings)
    if (!ring.channel->copies.empty() && readingOf(*ring.channel, back).last == &stmt) {
      rings.giveBack(b, ring, open.at(&ring).slot);
      rings.advance(b, ring, open.at(&ring));
      open.erase(&ring);
    }
  for (const Passage &passage : passages)
    for (const HandoverSite &site : passage.handover->sites) {
      const Ring &ring = *passage.ring;
      if (back || site.lastWriter != &stmt)
        continue;
      if (!passage.registers) {
        open[&ring] = rings.position(b, ring);
        rings.waitEmpty(b, ring, open[&ring]);
        copy(b, passage, open[&ring], true);
      }
      rings.announce(b, ring, open.at(&ring).slot);
      rings.advance(b, ring, open.at(&ring));
      open.erase(&ring);
    }
}

/// Between the tile and what each side holds of it in registers.
CopyStmt &ConsumerSides::copy(Builder &b, const Passage &passage, Position at, bool toTile) {
  Region tile = wholeRegion(context, *passage.ring->channel->tiles.front());
  tile.version = rings.version(*passage.ring, at);
  Region held =
      wholeRegion(context, passage.registers ? *passage.registers : *passage.handover->value);
  auto &stmt = b.add<CopyStmt>();
  stmt.source = toTile ? held : tile;
  stmt.target = toTile ? tile : held;
  stmt.boundsKnown = true;
  return stmt;
}

} // namespace tlc::passes
