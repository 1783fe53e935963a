#include "interpret/Calls.h"

#include "interpret/TileNodes.h"

#include <algorithm>
#include <bit>

namespace tlc::interpret {

std::int64_t addressOf(Group &group, const ArgumentRef &arg, std::uint32_t lane,
                       unsigned elements) {
  std::int64_t at = 0;
  if (group.locate(arg.element, lane, elements, at))
    return at;
  group.outOfRange(arg.element, lane, arg.access != ir::Access::Read);
  return -1;
}

namespace {

template <class F> void eachLane(const WarpLanes &warp, F f) {
  for (unsigned i = 0; i < 32; ++i)
    if (warp.lane[i] >= 0)
      f(i, static_cast<std::uint32_t>(warp.lane[i]));
}

std::int64_t integerArgument(Group &group, const CallNode &node, std::size_t i, std::uint32_t lane,
                             std::int64_t usual) {
  return i < node.args.size() && !node.args[i].value.empty()
             ? group.lanes.get(node.args[i].value[0], lane).i
             : usual;
}

void give(Group &group, const CallNode &node, std::uint32_t lane, std::size_t k, Value value) {
  if (k < node.result.size())
    group.lanes.at(node.result[k])[lane] = value;
}

/// `from(lane of the warp, operand, width)`: the lane that is read.
template <class F> void shuffle(Group &group, const CallNode &node, const WarpLanes &warp, F from) {
  const Refs &value = node.args[0].value;
  std::array<std::vector<Value>, 32> offered;
  eachLane(warp, [&](unsigned i, std::uint32_t lane) {
    for (Ref r : value)
      offered[i].push_back(group.lanes.get(r, lane));
  });
  eachLane(warp, [&](unsigned i, std::uint32_t lane) {
    auto operand = static_cast<int>(integerArgument(group, node, 1, lane, 0));
    auto width = static_cast<int>(integerArgument(group, node, 2, lane, 32));
    auto source = static_cast<unsigned>(from(static_cast<int>(i), operand, width));
    if (source > 31 || warp.lane[source] < 0) {
      group.report(ReportKind::Divergence, group.threadName(lane) + " reads lane " +
                                               std::to_string(source) + ", which is not here");
      source = i;
    }
    for (std::size_t k = 0; k < value.size(); ++k)
      give(group, node, lane, k, offered[source][k]);
  });
}

void shfl(Group &g, const CallNode &n, const WarpLanes &w) {
  shuffle(g, n, w,
          [](int i, int lane, int width) { return (i & ~(width - 1)) | (lane & (width - 1)); });
}
void shflXor(Group &g, const CallNode &n, const WarpLanes &w) {
  shuffle(g, n, w, [](int i, int bits, int width) {
    int source = i ^ bits;
    return source / width > i / width ? i : source;
  });
}
void shflDown(Group &g, const CallNode &n, const WarpLanes &w) {
  shuffle(g, n, w,
          [](int i, int delta, int width) { return i % width + delta < width ? i + delta : i; });
}
void shflUp(Group &g, const CallNode &n, const WarpLanes &w) {
  shuffle(g, n, w,
          [](int i, int delta, int width) { return i % width - delta >= 0 ? i - delta : i; });
}

template <class F> void vote(Group &group, const CallNode &node, const WarpLanes &warp, F f) {
  std::uint32_t yes = 0;
  eachLane(warp, [&](unsigned i, std::uint32_t lane) {
    if (integerArgument(group, node, 0, lane, 0))
      yes |= 1u << i;
  });
  eachLane(warp, [&](unsigned, std::uint32_t lane) { give(group, node, lane, 0, {.i = f(yes)}); });
}

void match(Group &group, const CallNode &node, const WarpLanes &warp, bool all) {
  const ArgumentRef &arg = node.args[0];
  eachLane(warp, [&](unsigned, std::uint32_t lane) {
    std::uint32_t same = 0;
    eachLane(warp, [&](unsigned j, std::uint32_t other) {
      if (sameValue(arg.dtype, group.lanes.get(arg.value[0], lane),
                    group.lanes.get(arg.value[0], other)))
        same |= 1u << j;
    });
    give(group, node, lane, 0, {.i = all && same != warp.mask ? 0 : same});
  });
}

/// Butterfly order, as the runtime's: each step rounds.
void reduce(Group &group, const CallNode &node, const WarpLanes &warp, ir::ReduceOp op) {
  const ArgumentRef &arg = node.args[0];
  unsigned width =
      node.call->templateArgs.empty() ? 32 : static_cast<unsigned>(node.call->templateArgs[0]);
  for (std::size_t k = 0; k < arg.value.size(); ++k) {
    std::array<Value, 32> values{};
    DType type = arg.dtype.element();
    eachLane(warp, [&](unsigned i, std::uint32_t lane) {
      values[i] = group.lanes.get(arg.value[k], lane);
    });
    for (unsigned bits = width / 2; bits > 0; bits /= 2) {
      std::array<Value, 32> next = values;
      eachLane(warp, [&](unsigned i, std::uint32_t) {
        if (warp.lane[i ^ bits] >= 0)
          next[i] = settled(type, reduceStep(op, type, values[i], values[i ^ bits], false));
      });
      values = next;
    }
    eachLane(warp, [&](unsigned i, std::uint32_t lane) { give(group, node, lane, k, values[i]); });
  }
}

/// Position of the n-th set bit from `base` on, both ends counted; -1 if there is none.
std::int64_t nthSet(std::uint32_t mask, int base, int n) {
  if (n == 0)
    return base >= 0 && base < 32 && mask >> base & 1 ? base : -1;
  for (int at = base, step = n > 0 ? 1 : -1; at >= 0 && at < 32; at += step)
    if ((mask >> at & 1) && (n -= step) == 0)
      return at;
  return -1;
}

void copyAsync(Group &group, const CallNode &node, const WarpLanes &warp) {
  const View &to = group.view(node.args[0].element.buffer),
             &from = group.view(node.args[1].element.buffer);
  auto bytes =
      static_cast<unsigned>(node.call->templateArgs.empty() ? 16 : node.call->templateArgs[0]);
  eachLane(warp, [&](unsigned, std::uint32_t lane) {
    bool happens = integerArgument(group, node, 2, lane, 1);
    unsigned elements = bytes * 8 / to.bits();
    std::int64_t b = addressOf(group, node.args[0], lane, elements);
    std::int64_t a = happens ? addressOf(group, node.args[1], lane, bytes * 8 / from.bits()) : 0;
    if (a < 0 || b < 0)
      return;
    for (unsigned i = 0; i < elements; ++i, b += to.bits()) {
      Value v = happens ? group.read(from, a + i * from.bits(), lane, false) : Value{.i = 0};
      group.write(to, b, lane, false, v);
      group.markWritten(to, b, InFlight);
      group.fly(
          {to.storage, static_cast<std::size_t>(b >> 3), to.bytes(), &to, b, group.threadOf(lane)});
    }
  });
}

void electOne(Group &group, const CallNode &node, const WarpLanes &warp) {
  eachLane(warp, [&](unsigned i, std::uint32_t lane) {
    give(group, node, lane, 0, {.i = i == static_cast<unsigned>(std::countr_zero(warp.mask))});
  });
}

void clusterRank(Group &group, const CallNode &node, const WarpLanes &warp) {
  const auto &blocks = group.block.cluster;
  auto rank = std::find(blocks.begin(), blocks.end(), &group.block) - blocks.begin();
  eachLane(warp, [&](unsigned, std::uint32_t lane) { give(group, node, lane, 0, {.i = rank}); });
}

/// A value, to its place in another block of the cluster.
void storeToBlock(Group &group, const CallNode &node, const WarpLanes &warp) {
  const std::uint32_t buffer = node.args[0].element.buffer;
  const View &here = group.view(buffer);
  const auto &blocks = group.block.cluster;
  eachLane(warp, [&](unsigned, std::uint32_t lane) {
    std::int64_t rank = integerArgument(group, node, 1, lane, 0);
    std::int64_t to = addressOf(group, node.args[0], lane, 1);
    if (rank < 0 || rank >= static_cast<std::int64_t>(blocks.size()))
      return group.report(ReportKind::OutOfRange,
                          "the cluster has no block " + std::to_string(rank));
    if (to < 0)
      return;
    const View &there = blocks[static_cast<std::size_t>(rank)]->views[buffer];
    // Where a block's storage begins is the same in all of them.
    group.write(there, to - here.base + there.base, lane, false,
                group.lanes.get(node.args[2].value[0], lane));
    group.markWritten(there, to - here.base + there.base);
  });
}

/// Register budgets and prefetches change nothing that is computed.
void nothing(Group &, const CallNode &, const WarpLanes &) {}

struct Row {
  std::string_view name;
  CallFunction function;
};

constexpr Row rows[] = {
    {"shfl", shfl},
    {"shfl_xor", shflXor},
    {"shfl_down", shflDown},
    {"shfl_up", shflUp},
    {"any",
     [](Group &g, const CallNode &n, const WarpLanes &w) {
       vote(g, n, w, [](std::uint32_t yes) { return std::int64_t{yes != 0}; });
     }},
    {"all",
     [](Group &g, const CallNode &n, const WarpLanes &w) {
       vote(g, n, w, [&](std::uint32_t yes) { return std::int64_t{yes == w.mask}; });
     }},
    {"ballot",
     [](Group &g, const CallNode &n, const WarpLanes &w) {
       vote(g, n, w, [](std::uint32_t yes) { return std::int64_t{yes}; });
     }},
    {"active_mask",
     [](Group &g, const CallNode &n, const WarpLanes &w) {
       vote(g, n, w, [&](std::uint32_t) { return std::int64_t{w.mask}; });
     }},
    {"match_any", [](Group &g, const CallNode &n, const WarpLanes &w) { match(g, n, w, false); }},
    {"match_all", [](Group &g, const CallNode &n, const WarpLanes &w) { match(g, n, w, true); }},
    {"warp_reduce_sum",
     [](Group &g, const CallNode &n, const WarpLanes &w) { reduce(g, n, w, ir::ReduceOp::Sum); }},
    {"warp_reduce_max",
     [](Group &g, const CallNode &n, const WarpLanes &w) { reduce(g, n, w, ir::ReduceOp::Max); }},
    {"warp_reduce_min",
     [](Group &g, const CallNode &n, const WarpLanes &w) { reduce(g, n, w, ir::ReduceOp::Min); }},
    {"warp_reduce_and",
     [](Group &g, const CallNode &n, const WarpLanes &w) { reduce(g, n, w, ir::ReduceOp::And); }},
    {"warp_reduce_or",
     [](Group &g, const CallNode &n, const WarpLanes &w) { reduce(g, n, w, ir::ReduceOp::Or); }},
    {"find_nth_set",
     [](Group &g, const CallNode &n, const WarpLanes &w) {
       eachLane(w, [&](unsigned, std::uint32_t lane) {
         auto mask = static_cast<std::uint32_t>(integerArgument(g, n, 0, lane, 0));
         auto base = static_cast<int>(integerArgument(g, n, 1, lane, 0)),
              nth = static_cast<int>(integerArgument(g, n, 2, lane, 0));
         give(g, n, lane, 0, {.i = nthSet(mask, base, nth)});
       });
     }},
    {"cp_async", copyAsync},
    {"gemm_tile", multiplyTile},
    {"elect_one", electOne},
    {"cluster_rank", clusterRank},
    {"put_cluster", storeToBlock},
    {"tma_prefetch", nothing},
    {"grid_dependency_wait", nothing}, // launches follow each other here
    {"grid_dependency_launch", nothing},
    {"setmaxnreg_inc", nothing},
    {"setmaxnreg_dec", nothing},
};

} // namespace

CallFunction findCall(std::string_view name) {
  for (const Row &row : rows)
    if (row.name == name)
      return row.function;
  return nullptr;
}

void CallNode::run(Group &group) {
  const CallFunction function = call->isExtern ? nullptr : findCall(call->callee);
  const Atom *atom = function || call->isExtern ? nullptr : findMatrixAtom(call->callee);
  if (call->isExtern)
    return group.report(ReportKind::Unsupported, "the interpreter does not know @" + call->callee);
  std::map<std::uint32_t, WarpLanes> warps;
  for (std::uint32_t lane : group.lanes.active) {
    // Points of a map are no threads yet: each is by itself.
    std::uint32_t thread = group.isMap ? 32 * lane : group.threadOf(lane);
    auto [at, isNew] = warps.try_emplace(thread / 32);
    if (isNew)
      at->second.lane.fill(-1);
    at->second.lane[thread % 32] = static_cast<std::int32_t>(lane);
    at->second.mask |= 1u << thread % 32;
  }
  if (call->collective != ir::Collective::Thread) {
    std::map<std::uint32_t, std::uint32_t> live;
    for (std::uint32_t lane : group.scope)
      if ((*group.states)[lane] != Exited)
        live[group.threadOf(lane) / 32] |= 1u << group.threadOf(lane) % 32;
    for (const auto &[number, warp] : warps)
      if (warp.mask != live[number])
        group.report(ReportKind::Divergence,
                     "only " + std::to_string(std::popcount(warp.mask)) + " of " +
                         std::to_string(std::popcount(live[number])) + " threads of warp " +
                         std::to_string(number) + " reach this together");
  }
  for (const auto &[number, warp] : warps) {
    if (function)
      function(group, *this, warp);
    else if (atom)
      multiplyMatrix(group, *this, warp, *atom);
    else if (!moveMatrices(group, *this, warp) && !warpGroupCall(group, *this, warp) &&
             !copyBox(group, *this, warp))
      return group.report(ReportKind::Unsupported,
                          "the interpreter does not know @" + call->callee);
  }
}

} // namespace tlc::interpret
