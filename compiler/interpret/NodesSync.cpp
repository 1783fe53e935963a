#include "interpret/Nodes.h"

#include <bit>

namespace tlc::interpret {

using ir::BarrierMode;
using ir::BarrierScope;
using ir::MbarOp;
using ir::Vote;

namespace {

/// Arrives with the active lanes; the last one opens the barrier.
void arrive(Group &group, BarrierState &b, std::int64_t expected) {
  b.arrived += static_cast<std::int64_t>(group.lanes.active.size());
  group.release(b.clock);
  if (b.arrived < expected)
    return;
  if (group.counts)
    ++group.counts->barriers;
  b.arrived = 0;
  ++b.generation;
  b.passed = std::exchange(b.clock, {});
  b.resultCount = std::exchange(b.counted, 0);
  b.resultOr = b.resultCount > 0;
  b.resultAnd = b.resultCount == expected;
}

/// Waits for the end of `generation`; what is expected may shrink as threads end.
void await(Group &group, BarrierState &b, std::uint64_t generation,
           std::function<std::int64_t()> expected, const std::string &name) {
  BarrierState *state = &b;
  group.machine.scheduler.wait(
      [=] {
        if (state->generation == generation && state->arrived > 0 && state->arrived >= expected()) {
          state->arrived = 0;
          ++state->generation;
          state->passed = std::exchange(state->clock, {});
          state->resultCount = std::exchange(state->counted, 0);
          state->resultOr = state->resultCount > 0;
          state->resultAnd = state->resultCount == expected();
        }
        return state->generation != generation;
      },
      [=, &group] {
        return group.threadName(group.lanes.active.front()) + " and " +
               std::to_string(group.lanes.active.size() - 1) + " more of block " +
               std::to_string(group.block.linear) + " wait at " + name + ", where " +
               std::to_string(state->arrived) + " of " + std::to_string(expected()) +
               " threads have arrived";
      });
  group.acquire(b.passed);
}

} // namespace

namespace {

std::int64_t voteResult(Vote vote, std::int64_t count, std::int64_t total) {
  return vote == Vote::Count ? count : vote == Vote::And ? count == total : count > 0;
}

} // namespace

/// The group is one warp, or runs in step anyway: only order and the vote are left.
void BarrierNode::ofWarp(Group &group) {
  Lanes &lanes = group.lanes;
  group.tick();
  if (!result.isSet())
    return;
  std::unordered_map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> votes;
  for (std::uint32_t lane : lanes.active) {
    auto &[count, total] = votes[group.threadOf(lane) / 32];
    count += value.isSet() && lanes.get(value, lane).i != 0;
    ++total;
  }
  for (std::uint32_t lane : lanes.active) {
    auto [count, total] = votes[group.threadOf(lane) / 32];
    lanes.at(result)[lane].i = voteResult(barrier->vote, count, total);
  }
}

void BarrierNode::ofBlock(Group &group) {
  Lanes &lanes = group.lanes;
  BlockState &block = group.block;
  BarrierState &b = block.barrier;
  std::int64_t yes = 0;
  for (std::uint32_t lane : lanes.active)
    yes += value.isSet() && lanes.get(value, lane).i != 0;
  auto give = [&](std::int64_t count, std::int64_t total) {
    for (std::uint32_t lane : lanes.active)
      if (result.isSet())
        lanes.at(result)[lane].i = voteResult(barrier->vote, count, total);
  };
  // In step, a barrier in a branch that others do not take is never completed by them.
  if (group.isDiverged()) {
    group.expectAll();
    return give(yes, static_cast<std::int64_t>(lanes.active.size()));
  }
  b.counted += yes;
  std::uint64_t generation = b.generation;
  if (barrier->mode != BarrierMode::Wait)
    arrive(group, b, block.live);
  group.tick();
  if (barrier->mode != BarrierMode::Arrive)
    await(
        group, b, generation, [&block] { return block.live; }, "the block's barrier");
  give(b.resultCount, block.live);
}

void BarrierNode::ofSome(Group &group) {
  std::int64_t number = group.uniformValue(id, DType(Scalar::Int32), "the barrier").i;
  std::int64_t threads = group.uniformValue(count, DType(Scalar::Int32), "the count").i;
  BarrierState &b = group.block.named[number];
  std::uint64_t generation = b.generation;
  if (barrier->mode != BarrierMode::Wait)
    arrive(group, b, threads);
  group.tick();
  if (barrier->mode != BarrierMode::Arrive)
    await(
        group, b, generation, [threads] { return threads; }, "barrier " + std::to_string(number));
}

/// One barrier for all blocks concerned: that of the first.
void BarrierNode::ofBlocks(Group &group) {
  const std::vector<BlockState *> *blocks = barrier->scope == BarrierScope::Grid
                                                ? &group.machine.allBlocks
                                                : &group.block.cluster.front()->cluster;
  BarrierState &b = blocks->front()->named[-1];
  auto expected = [blocks] {
    std::int64_t live = 0;
    for (const BlockState *each : *blocks)
      live += each->live;
    return live;
  };
  group.expectAll();
  // Who has arrived waits for the others of that time, who may have come long ago.
  std::uint64_t generation = b.generation;
  if (barrier->mode == BarrierMode::Wait)
    generation = std::exchange(group.arrivedIn, std::nullopt).value_or(generation);
  else
    arrive(group, b, expected());
  group.tick();
  if (barrier->mode == BarrierMode::Arrive)
    group.arrivedIn = generation;
  else
    await(group, b, generation, expected, "the barrier of all blocks");
}

void BarrierNode::run(Group &group) {
  switch (barrier->scope) {
  case BarrierScope::Warp:
    return ofWarp(group);
  case BarrierScope::Block:
    return ofBlock(group);
  case BarrierScope::Named:
    return ofSome(group);
  case BarrierScope::Cluster:
  case BarrierScope::Grid:
    return ofBlocks(group);
  }
}

MbarState *mbarAt(Group &group, const ElementRef &e, std::uint32_t lane, BlockState &block) {
  const View &v = group.view(e.buffer);
  std::int64_t at = 0;
  if (!group.locate(e, lane, 1, at)) {
    group.outOfRange(e, lane, true);
    return nullptr;
  }
  auto &list = block.mbars[e.buffer];
  auto index = static_cast<std::size_t>((at - v.base) / static_cast<std::int64_t>(v.bits()));
  if (index >= list.size())
    list.resize(index + 1);
  return &list[index];
}

namespace {

void maybeComplete(MbarState &bar) {
  if (bar.pending > 0 || bar.bytes != 0)
    return;
  ++bar.phase;
  bar.pending = bar.expected;
  bar.passed = std::exchange(bar.clock, {});
}

} // namespace

void bytesArrived(MbarState &bar, std::int64_t bytes) {
  bar.bytes -= bytes;
  maybeComplete(bar);
}

void MbarNode::run(Group &group) {
  Lanes &lanes = group.lanes;
  if (op == MbarOp::Wait) {
    std::vector<std::pair<MbarState *, std::uint64_t>> bars;
    for (std::uint32_t lane : lanes.active)
      if (MbarState *bar = mbarAt(group, barrier, lane, group.block)) {
        std::pair<MbarState *, std::uint64_t> wanted(
            bar, static_cast<std::uint64_t>(lanes.get(value, lane).i & 1));
        if (bars.empty() || bars.back() != wanted)
          bars.push_back(wanted);
      }
    for (auto [bar, parity] : bars) {
      if (!bar->isInitialised)
        group.report(ReportKind::Undefined, "a wait on a barrier that was not initialised");
      group.machine.scheduler.wait(
          [bar = bar, parity = parity] { return (bar->phase & 1) != parity; },
          [&group, bar = bar, parity = parity, node = this] {
            return group.threadName(group.lanes.active.front()) + " of block " +
                   std::to_string(group.block.linear) + " waits for parity " +
                   std::to_string(parity) + " of %" +
                   group.view(node->barrier.buffer).buffer->name + ", which lacks " +
                   std::to_string(bar->pending) + " arrivals and " + std::to_string(bar->bytes) +
                   " bytes";
          });
      group.current = this;
      group.acquire(bar->passed);
      group.land(bar->flights, true);
    }
    return;
  }
  bool isInit = op == MbarOp::Init;
  for (std::uint32_t lane : lanes.active) {
    BlockState *block = &group.block;
    if (cta.isSet()) {
      std::int64_t rank = lanes.get(cta, lane).i;
      if (rank < 0 || rank >= static_cast<std::int64_t>(block->cluster.size()))
        return group.report(ReportKind::OutOfRange,
                            "the cluster has no block " + std::to_string(rank));
      block = block->cluster[static_cast<std::size_t>(rank)];
    }
    MbarState *bar = mbarAt(group, barrier, lane, *block);
    if (!bar)
      continue;
    std::int64_t number = value.isSet() ? lanes.get(value, lane).i : 0;
    if (isInit) {
      *bar = {};
      bar->isInitialised = true;
      bar->expected = bar->pending = number;
      continue;
    }
    if (!bar->isInitialised)
      group.report(ReportKind::Undefined, "an arrival at a barrier that was not initialised");
    if (op == MbarOp::Expect || op == MbarOp::ArriveExpect)
      bar->bytes += number;
    if (op == MbarOp::Expect)
      continue;
    if (op == MbarOp::CpAsyncArrive) { // its earlier copies count as complete for those who wait
      Group::AsyncQueue &copies = group.queue(ir::AsyncKind::CpAsync);
      for (auto &closed : copies.closed)
        bar->flights.insert(bar->flights.end(), closed.begin(), closed.end());
      bar->flights.insert(bar->flights.end(), copies.open.begin(), copies.open.end());
      copies = {};
    }
    group.release(bar->clock);
    if (--bar->pending < 0) {
      group.report(ReportKind::Divergence,
                   "more arrivals at %" + group.view(barrier.buffer).buffer->name +
                       " than it expects (" + std::to_string(bar->expected) + ")");
      bar->pending = 0;
    }
    maybeComplete(*bar);
  }
  group.tick();
}

void AsyncNode::run(Group &group) {
  if (commit)
    group.commit(what);
  else
    group.waitFor(what, pending);
}

} // namespace tlc::interpret
