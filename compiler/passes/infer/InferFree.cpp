// Layout inference, the free part: proposals and the cost model. See InferFree.h and the README of
// target/ for weights.
#include "passes/infer/InferFree.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Shape.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace tlc::passes {

using namespace ir;

namespace {

/// The pitch assumed for tensors whose strides are known at run time only.
constexpr Index assumedPitch = 1 << 14;

/// Strides of a buffer in elements, as far as they are constants.
std::vector<Index> strides(const Buffer &buffer) {
  std::vector<Index> out(buffer.shape.size(), 1);
  for (std::size_t d = buffer.shape.size(); d-- > 0;) {
    if (!buffer.strides.empty()) {
      out[d] = buffer.strides[d].constant().value_or(assumedPitch);
      continue;
    }
    if (d + 1 < buffer.shape.size()) {
      auto below = buffer.shape[d + 1].constant();
      out[d] = below ? out[d + 1] * *below : std::max(out[d + 1], Index{1}) * assumedPitch;
    }
  }
  return out;
}

/// (reg, thread) -> offset in the buffer as if it were row-major.
std::optional<Layout> plainOffset(const Buffer &buffer, const Layout &access) {
  Sizes sizes;
  for (const OutputAxis &o : access.outputs)
    sizes.emplace_back(o.name, o.size);
  std::vector<Index> steps = strides(buffer);
  for (Index &s : steps)
    s = std::max<Index>(s, 0);
  return compose(Layout::strided(sizes, steps, "offset"), access);
}

Index warpsOf(const TileOp &op, const Target &target) {
  return (op.threads + target.limits.warp - 1) / std::max(1, target.limits.warp);
}

double memoryCost(const TileOp &op, const MemoryUse &use, const InferenceGraph &graph) {
  const Target &target = *graph.target;
  const CostWeights &cost = target.cost;
  double warps = static_cast<double>(warpsOf(op, target));
  double registers = static_cast<double>(op.schedule->input("reg").size());
  auto access = memoryAccess(op, use);
  auto offset = access ? plainOffset(*use.buffer, *access) : std::nullopt;
  double bytes = use.buffer->dtype.bits() / 8.0;
  bool global = use.buffer->storage()->scope == Scope::Global;
  if (!offset) // unknown indices: every lane its own sector
    return registers * warps *
           (cost.instruction + (global ? 32 * cost.globalSector : 4 * cost.sharedWavefront));
  Index v = orderedWidth(*offset, use.vectorLimit);
  if (!global) {
    double instructions = registers / static_cast<double>(v) * warps;
    double wavefronts = std::max(1.0, bytes * static_cast<double>(v) * target.limits.warp / 128);
    return instructions * (cost.instruction + wavefronts * cost.sharedWavefront);
  }
  return globalSlots(target, *offset, v, std::max<Index>(1, use.buffer->dtype.bits() / 8),
                     use.access != Access::Read);
}

/// Threads along an axis of a schedule, in its warp and beyond.
std::pair<Index, Index> threadsOnAxis(const Layout &schedule, unsigned axis, Index warp) {
  std::pair<Index, Index> lanes{1, 1};
  for (const Term &t : schedule.outputs.at(axis).terms)
    for (DigitSet s = t.digits; s; s &= s - 1) {
      int d = std::countr_zero(s);
      auto [a, place] = schedule.place(d);
      if (schedule.inputs[static_cast<std::size_t>(a)].name == "thread")
        (place < warp ? lanes.first : lanes.second) *= schedule.radix(d);
    }
  return lanes;
}

double reduceCost(const TileOp &op, const Target &target) {
  const CostWeights &cost = target.cost;
  auto [lanes, beyond] = threadsOnAxis(*op.schedule, *op.axis, target.limits.warp);
  double results =
      static_cast<double>(reduceOutput(*op.schedule, dimName(*op.axis)).input("reg").size());
  double warps = static_cast<double>(warpsOf(op, target));
  double slots = std::ceil(std::log2(static_cast<double>(lanes))) * results *
                 (cost.shuffle + cost.instruction) * warps;
  if (beyond > 1)
    slots += 2 * cost.barrier * warps +
             results * static_cast<double>(1 + beyond) * cost.sharedWavefront * warps;
  return slots;
}

/// Moves axis `last` behind the others, gives `blocked` the rest, and puts the outputs back in
/// order.
std::optional<Layout> blockedAlong(const std::vector<Index> &box, unsigned last, Index lanes,
                                   Index threads, Index vector) {
  Sizes tile;
  for (unsigned d = 0; d < box.size(); ++d)
    if (d != last)
      tile.emplace_back(dimName(d), box[d]);
  tile.emplace_back(dimName(last), box[last]);
  if (tile.back().second % vector || threads % lanes)
    return std::nullopt;
  std::vector<Index> along(tile.size(), 1);
  along.back() = lanes;
  Index left = threads / lanes;
  for (std::size_t i = tile.size() - 1; i-- > 0;) {
    along[i] = std::gcd(left, tile[i].second);
    left /= along[i];
  }
  for (std::size_t i = 0; i + 1 < tile.size() && left > 1; ++i)
    if (tile[i].second > along[i]) { // covers more than the tile rather than copy everything
      Index most = (tile[i].second + along[i] - 1) / along[i], more = 1;
      for (Index f = left; f > 1; --f)
        if (left % f == 0 && f < 2 * most) {
          more = f;
          break;
        }
      along[i] *= more;
      left /= more;
    }
  Layout l = blocked(tile, along, vector, left);
  std::vector<std::pair<std::string, std::string>> order;
  for (unsigned d = 0; d < box.size(); ++d)
    order.emplace_back(dimName(d), dimName(d));
  return permuteOutputs(l, order);
}

/// Axes along which some memory of the op is contiguous, and can be accessed `vector` elements at a
/// time (updates cannot).
std::vector<unsigned> vectorAxes(const TileOp &op, Index vector) {
  std::vector<unsigned> axes;
  for (const MemoryUse &use : op.memories) {
    Index most = use.access == Access::ReadWrite ? 1 : use.vectorLimit;
    if (!use.map || most < vector)
      continue;
    std::vector<Index> steps = strides(*use.buffer);
    for (unsigned axis = 0; axis < op.box.size(); ++axis) {
      if (op.box[axis] == 1)
        continue;
      auto offset = plainOffset(*use.buffer, sliceToAxis(use.map->layout, dimName(axis)));
      if (offset && contiguity(*offset, dimName(axis)) > 1 &&
          std::find(axes.begin(), axes.end(), axis) == axes.end())
        axes.push_back(axis);
    }
  }
  return axes;
}

/// Axes along which some memory of the op is contiguous; the last if there is none.
std::vector<unsigned> contiguousAxes(const TileOp &op) {
  std::vector<unsigned> axes = vectorAxes(op, 1);
  if (axes.empty())
    axes.push_back(static_cast<unsigned>(op.box.size()) - 1);
  return axes;
}

void add(std::vector<Layout> &list, std::optional<Layout> l) {
  if (l && list.size() < 24 &&
      std::none_of(list.begin(), list.end(), [&](const Layout &x) { return equal(x, *l); }))
    list.push_back(std::move(*l));
}

/// The same points in the same threads, whose registers step along an axis first.
Layout registersAlong(const Layout &l, unsigned axis) {
  Layout result = l;
  int begin = 0;
  std::size_t reg = 0;
  for (; l.inputs[reg].name != "reg"; ++reg)
    begin += static_cast<int>(l.inputs[reg].radices.size());
  const Few<Index, 8> &radices = l.inputs[reg].radices;
  std::vector<int> order; // digits, those of the axis in front
  Index step = 1;
  for (bool found = true; found;) {
    found = false;
    for (const Term &t : l.outputs[axis].terms) {
      int d = std::countr_zero(t.digits);
      if (t.flip || !std::has_single_bit(t.digits) || t.weight != step || d < begin ||
          d >= begin + static_cast<int>(radices.size()) || l.radix(d) == 1)
        continue;
      order.push_back(d);
      step *= l.radix(d);
      found = true;
      break;
    }
  }
  for (int d = begin; d < begin + static_cast<int>(radices.size()); ++d)
    if (std::find(order.begin(), order.end(), d) == order.end())
      order.push_back(d);
  auto moved = [&](DigitSet digits) {
    DigitSet now = digits;
    for (std::size_t i = 0; i < order.size(); ++i)
      now &= ~(DigitSet{1} << order[i]);
    for (std::size_t i = 0; i < order.size(); ++i)
      now |= (digits >> order[i] & 1) << (begin + static_cast<int>(i));
    return now;
  };
  for (std::size_t i = 0; i < order.size(); ++i)
    result.inputs[reg].radices[i] = l.radix(order[i]);
  for (OutputAxis &o : result.outputs)
    for (Term &t : o.terms)
      t.digits = moved(t.digits);
  result.normalize();
  return result;
}

/// For scans: each thread a run of the axis, low lanes along it.
std::vector<Layout> scanProposals(const TileOp &op, const Target &target) {
  std::vector<Layout> list;
  Index n = op.box[*op.axis];
  for (Index lanes = target.limits.warp; lanes >= 1; lanes /= 2) {
    if (op.threads % lanes)
      continue;
    if (lanes > 1 && lanes >= 2 * n)
      continue;
    Index run = (n + lanes - 1) / lanes;
    std::vector<Index> box = op.box;
    box[*op.axis] = run * lanes;
    add(list, blockedAlong(box, *op.axis, lanes, op.threads, run));
  }
  return list;
}

/// A tile of which each thread has patches of `vector` elements along two axes, so that memory
/// along either is accessed `vector` elements at a time: tiles that are turned between two
/// memories.
std::optional<Layout> patches(const std::vector<Index> &box, unsigned first, unsigned second,
                              Index lanes, Index threads, Index vector) {
  if (box[first] % vector || box[second] % vector)
    return std::nullopt;
  Sizes patch;
  for (unsigned d = 0; d < box.size(); ++d)
    patch.emplace_back(dimName(d), d == first || d == second ? vector : 1);
  Layout inner = Layout::make(
      {{"reg", {{vector, dimName(first)}, {vector, dimName(second)}}}, {"thread", {}}}, patch);
  std::vector<Index> rest = box;
  rest[first] /= vector;
  rest[second] /= vector;
  auto outer = blockedAlong(rest, first, lanes, threads, 1);
  return outer ? std::optional(product(inner, *outer)) : std::nullopt;
}

/// The axis along which memory is contiguous that another op moves the fragment from or to, if that
/// is not the one of `op`, `own`.
std::optional<unsigned> turnedAxis(const TileOp &op, unsigned own, Index vector,
                                   const InferenceGraph &graph) {
  for (const TileOp &other : graph.ops) {
    bool moves = &other != &op && !other.memories.empty() && other.box == op.box;
    for (const FragmentUse &use : op.fragments)
      for (const FragmentUse &there : other.fragments)
        if (moves && there.buffer == use.buffer)
          for (unsigned axis : vectorAxes(other, vector))
            if (axis != own)
              return axis;
  }
  return std::nullopt;
}

} // namespace

std::optional<Layout> memoryOrder(const TileOp &op, const InferenceGraph &graph) {
  TileOp tried = op;
  auto cost = [&] {
    double sum = 0;
    for (const MemoryUse &use : tried.memories)
      sum += memoryCost(tried, use, graph);
    return sum;
  };
  double least = cost();
  std::optional<Layout> best;
  for (unsigned axis : contiguousAxes(op)) {
    tried.schedule = registersAlong(*op.schedule, axis);
    if (double now = cost(); now < least)
      least = now, best = tried.schedule;
  }
  return best;
}

double globalSlots(const Target &target, const Layout &offset, Index vector, Index elementBytes,
                   bool writes) {
  const CostWeights &cost = target.cost;
  Index warp = std::max(1, target.limits.warp);
  double perThread = static_cast<double>(offset.input("reg").size()) / static_cast<double>(vector);
  double warps = static_cast<double>((offset.input("thread").size() + warp - 1) / warp);
  // Registers behave alike: the first access of each thread stands for all.
  auto first = sliceInput(offset, "reg", 0, vector);
  double touched = 0;
  if (first) {
    auto [s, lines] = globalCost(*first, vector, elementBytes, warp);
    touched = static_cast<double>(s.wavefronts) * cost.globalSector +
              static_cast<double>(lines.wavefronts) * cost.globalLine;
    if (writes)
      touched += static_cast<double>(s.wavefronts - s.ideal) * cost.partialStoreSector;
  }
  return perThread * (warps * cost.instruction + touched);
}

std::optional<Layout> memoryAccess(const TileOp &op, const MemoryUse &use) {
  if (use.fixed)
    return use.fixed;
  if (!use.map || !op.schedule)
    return std::nullopt;
  return composeExtended(use.map->layout, *op.schedule);
}

bool scanOrder(const Layout &schedule, unsigned axis, const Target &target) {
  // Terms of the axis, by weight: registers first, then lanes in order.
  std::vector<std::pair<Index, int>> digits;
  for (const Term &t : schedule.outputs.at(axis).terms) {
    if (!std::has_single_bit(t.digits) || t.flip)
      return false;
    digits.emplace_back(t.weight, std::countr_zero(t.digits));
  }
  std::sort(digits.begin(), digits.end());
  Index filled = 1, lane = 0;
  for (auto [weight, d] : digits) {
    auto [a, place] = schedule.place(d);
    if (weight != filled)
      return false;
    filled *= schedule.radix(d);
    bool thread = schedule.inputs[static_cast<std::size_t>(a)].name == "thread";
    if (!thread && lane)
      return false;
    if (thread) {
      if (place != std::max<Index>(lane, 1) ||
          !std::has_single_bit(static_cast<DigitSet>(schedule.radix(d))))
        return false;
      lane = place * schedule.radix(d);
    }
  }
  return lane <= target.limits.warp;
}

std::vector<Layout> proposals(const TileOp &op, const InferenceGraph &graph) {
  if (op.scans)
    return scanProposals(op, *graph.target);
  std::vector<Layout> list;
  std::vector<Index> box = op.box;
  if (box.empty())
    return list;
  if (op.threads == 1) {
    add(list, blockedAlong(box, static_cast<unsigned>(box.size()) - 1, 1, 1, 1));
    return list;
  }
  Index most = 1, together = 1; // elements of a byte in memory are stored by one thread if they can
  for (const MemoryUse &use : op.memories) {
    most = std::max(most, use.vectorLimit);
    if (use.access != Access::Read && use.buffer->dtype.isSubByte())
      together = 2;
  }
  if (op.memories.empty())
    most = 4;
  for (unsigned axis : contiguousAxes(op))
    for (Index vector = most; vector >= 1; vector /= 2) {
      if (box[axis] % vector || (vector % together && box[axis] % together == 0))
        continue;
      Index units = box[axis] / vector;
      for (Index lanes = 1; lanes <= op.threads; ++lanes) {
        if (op.threads % lanes || (lanes > 1 && lanes >= 2 * units))
          continue;
        bool power = std::has_single_bit(static_cast<DigitSet>(lanes));
        if (!power && lanes != op.threads && units % lanes)
          continue;
        add(list, blockedAlong(box, axis, lanes, op.threads, vector));
      }
    }
  // Not among those above, which are many.
  for (unsigned axis : contiguousAxes(op))
    if (most > 1 && op.points() >= op.threads * most * most)
      if (auto turned = turnedAxis(op, axis, most, graph))
        for (Index lanes = 1; lanes <= std::min(op.threads, box[axis] / most); lanes *= 2)
          if (auto patch = patches(box, axis, *turned, lanes, op.threads, most))
            list.push_back(std::move(*patch));
  return list;
}

std::optional<FreeChoice> freeChoice(const TileOp &op) {
  if (!op.fragments.empty() || op.axis)
    return std::nullopt;
  FreeChoice choice{op.stmt->kind, op.box, op.threads, {}};
  for (const MemoryUse &use : op.memories) {
    if (use.fixed)
      return std::nullopt;
    choice.uses.push_back({use.map ? std::optional(use.map->layout) : std::nullopt,
                           strides(*use.buffer), use.buffer->dtype.bits(),
                           use.buffer->storage()->scope, use.access, use.vectorLimit});
  }
  return choice;
}

double opCost(const TileOp &op, const InferenceGraph &graph, double limit) {
  if (!op.schedule || !op.scheduled)
    return 0;
  const Target &target = *graph.target;
  double warps = static_cast<double>(warpsOf(op, target));
  double registers = static_cast<double>(op.schedule->input("reg").size());
  double slots = 0;
  bool moves = op.stmt->kind == StmtKind::Copy || op.stmt->kind == StmtKind::Fill;
  slots += registers * warps * target.cost.instruction * (moves ? 0.25 : 2);
  for (const MemoryUse &use : op.memories) {
    slots += memoryCost(op, use, graph);
    if (slots * op.trips >= limit)
      return slots * op.trips;
  }
  for (const FragmentUse &use : op.fragments) {
    double words = registers * std::max(1.0, use.buffer->dtype.bits() / 32.0);
    double budget = target.limits.registersPerThread * 0.5;
    if (target.isGpu() && words > budget)
      slots += (words - budget) * target.cost.registerOverBudget * warps;
    if (const Home *home = graph.home(use.buffer); home && !agrees(op, use, home->layout))
      slots +=
          2 * target.cost.barrier * warps + 2 * registers * warps * target.cost.sharedWavefront;
  }
  if (op.axis && !op.scans)
    slots += reduceCost(op, target);
  return slots * op.trips;
}

} // namespace tlc::passes
