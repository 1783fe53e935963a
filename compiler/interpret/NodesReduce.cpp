// Reductions, scans, tile atomics, reducers and maps.
#include "interpret/TileNodes.h"

#include "ir/Fold.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlc::interpret {

using ir::ReduceOp;

Value neutral(ReduceOp op, DType type) {
  bool isFloat = type.isFloat();
  switch (op) {
  case ReduceOp::Max:
    return isFloat ? Value{.f = -HUGE_VAL} : Value{.i = minInteger(type)};
  case ReduceOp::Min:
    return isFloat ? Value{.f = HUGE_VAL}
                   : Value{.i = type.scalar == Scalar::UInt64 ? -1 : maxInteger(type)};
  case ReduceOp::And:
    return {.i = type.isBool() ? 1 : wrapInteger(type, -1)};
  default:
    return {.i = 0};
  }
}

Value reduceStep(ReduceOp op, DType type, Value a, Value b, bool nanPropagate) {
  if (type.isFloat()) {
    if (op == ReduceOp::AbsSum || op == ReduceOp::AbsMax)
      b.f = std::fabs(b.f);
    if (op == ReduceOp::Sum || op == ReduceOp::AbsSum)
      return {.f = a.f + b.f};
    if (nanPropagate && (std::isnan(a.f) || std::isnan(b.f)))
      return {.f = std::numeric_limits<double>::quiet_NaN()};
    return {.f = op == ReduceOp::Min ? std::fmin(a.f, b.f) : std::fmax(a.f, b.f)};
  }
  if ((op == ReduceOp::AbsSum || op == ReduceOp::AbsMax) && type.isInt() && b.i < 0)
    b.i = wrapInteger(type, -b.i);
  ir::BinaryOp binary = ir::BinaryOp::Add;
  switch (op) {
  case ReduceOp::Max:
  case ReduceOp::AbsMax:
    binary = ir::BinaryOp::Max;
    break;
  case ReduceOp::Min:
    binary = ir::BinaryOp::Min;
    break;
  case ReduceOp::And:
    binary = ir::BinaryOp::And;
    break;
  case ReduceOp::Or:
    binary = ir::BinaryOp::Or;
    break;
  case ReduceOp::Xor:
    binary = ir::BinaryOp::Xor;
    break;
  default:
    break;
  }
  return {.i = ir::evaluateInteger(binary, type, a.i, b.i).value_or(0)};
}

Value settled(DType type, Value v) {
  return type.isFloat() ? Value{.f = roundTo(type, v.f)} : Value{.i = wrapInteger(type, v.i)};
}

namespace {

/// Row-major strides around an axis: element (outer, along, inner).
struct AxisSizes {
  std::size_t outer = 1, along = 1, inner = 1;
  AxisSizes(const std::vector<std::int64_t> &extents, unsigned axis) {
    for (std::size_t d = 0; d < extents.size(); ++d)
      (d < axis ? outer : d == axis ? along : inner) *= static_cast<std::size_t>(extents[d]);
  }
  std::size_t at(std::size_t o, std::size_t a, std::size_t i) const {
    return (o * along + a) * inner + i;
  }
};

Value used(Group &group, const Tile &tile, std::size_t n, std::uint32_t lane) {
  return tile.at[n] < 0 ? tile.view->safeValue : group.read(*tile.view, tile.at[n], lane, false);
}

} // namespace

void ReduceNode::once(Group &group, std::uint32_t lane) {
  Tile from = gather(group, source, lane, false), to = gather(group, target, lane, true);
  if (axis >= from.extents.size())
    return group.report(ReportKind::OutOfRange, "there is no such axis");
  AxisSizes sizes(from.extents, axis);
  if (to.count() != sizes.outer * sizes.inner)
    return group.report(ReportKind::OutOfRange, "the target has another extent");
  DType type = from.view->dtype, result = to.view->dtype;
  std::vector<Value> values(to.count());
  for (std::size_t o = 0; o < sizes.outer; ++o)
    for (std::size_t i = 0; i < sizes.inner; ++i) {
      Value sum = neutral(op, type);
      for (std::size_t a = 0; a < sizes.along; ++a)
        sum = reduceStep(op, type, sum, used(group, from, sizes.at(o, a, i), lane), nanPropagate);
      values[o * sizes.inner + i] = sum;
    }
  for (std::size_t n = 0; n < to.count(); ++n) {
    if (to.at[n] < 0)
      continue;
    // Sums are rounded once, as their order is free.
    Value v = type.isFloat() == result.isFloat() ? values[n]
                                                 : convert(type, result, settled(type, values[n]));
    if (!clear)
      v = reduceStep(op, result, used(group, to, n, lane), v, nanPropagate);
    group.write(*to.view, to.at[n], lane, false, settled(result, v));
  }
}

void ScanNode::once(Group &group, std::uint32_t lane) {
  Tile from = gather(group, source, lane, false), to = gather(group, target, lane, true);
  if (axis >= from.extents.size() || to.extents != from.extents)
    return group.report(ReportKind::OutOfRange, "the tiles of a scan differ");
  AxisSizes sizes(from.extents, axis);
  DType type = from.view->dtype, result = to.view->dtype;
  for (std::size_t o = 0; o < sizes.outer; ++o)
    for (std::size_t i = 0; i < sizes.inner; ++i) {
      Value sum = neutral(op, type);
      for (std::size_t a = 0; a < sizes.along; ++a) {
        std::size_t n = sizes.at(o, reverse ? sizes.along - 1 - a : a, i);
        sum = reduceStep(op, type, sum, used(group, from, n, lane), false);
        if (to.at[n] >= 0)
          group.write(*to.view, to.at[n], lane, false, convert(type, result, settled(type, sum)));
      }
    }
}

void AtomicTileNode::once(Group &group, std::uint32_t lane) {
  Tile to = gather(group, target, lane, true);
  DType type = to.view->dtype;
  Tile from;
  std::vector<std::size_t> map;
  if (hasSource) {
    from = gather(group, source, lane, false);
    map = broadcastMap(to.extents, from.extents);
  }
  Value same{};
  if (!hasSource)
    same = isPerThread ? group.lanes.get(value, lane)
                       : group.uniformValue(value, valueType, "the value");
  for (std::size_t n = 0; n < to.count(); ++n) {
    if (to.at[n] < 0)
      continue;
    Value operand = hasSource ? convert(from.view->dtype, type, used(group, from, map[n], lane))
                              : convert(valueType, type, same);
    if (!group.isDefined(*to.view, to.at[n]) && op != ir::AtomicOp::Store &&
        op != ir::AtomicOp::Exchange)
      group.noteRead(*to.view, to.at[n], lane, false);
    to.view->store(to.at[n], atomicStep(op, type, to.view->load(to.at[n]), operand, {}));
    group.markWritten(*to.view, to.at[n]);
  }
}

void ReducerNode::once(Group &group, std::uint32_t lane) {
  Tile tile = gather(group, reducer, lane, isInit);
  DType type = tile.view->dtype;
  if (isInit) {
    Value v = value.isSet() ? group.uniformValue(value, type, "the value") : neutral(op, type);
    for (std::int64_t at : tile.at)
      group.write(*tile.view, at, lane, false, v);
    return;
  }
  if (!hasTarget)
    return;
  Tile to = gather(group, target, lane, true);
  if (to.count() != tile.count())
    return group.report(ReportKind::OutOfRange, "the target has another extent than the reducer");
  for (std::size_t n = 0; n < to.count(); ++n)
    if (to.at[n] >= 0)
      group.write(*to.view, to.at[n], lane, false,
                  convert(type, to.view->dtype, used(group, tile, n, lane)));
}

void UpdateNode::run(Group &group) {
  const View &v = group.view(element.buffer);
  group.lanes.each([&](std::uint32_t lane) {
    std::int64_t at = 0;
    if (!group.locate(element, lane, 1, at))
      return group.outOfRange(element, lane, true);
    if (!group.isDefined(v, at))
      group.noteRead(v, at, lane, false);
    v.store(at, settled(v.dtype,
                        reduceStep(op, v.dtype, v.load(at), group.lanes.get(value, lane), false)));
    group.markWritten(v, at);
  });
}

void MapNode::run(Group &group) {
  constexpr std::int64_t chunk = 256;
  group.expectAll();
  std::vector<std::int64_t> sizes;
  std::int64_t total = 1;
  for (Ref extent : extents) {
    sizes.push_back(
        std::max<std::int64_t>(0, group.uniformValue(extent, DType(Scalar::Int64), "an extent").i));
    total *= sizes.back();
  }
  if (total == 0)
    return;
  BlockState::MapFrame &memory = group.block.frames[frame];
  memory.values.resize(std::size_t{slots.width()} * chunk);
  memory.states.assign(chunk, Running);
  Group points(group.machine, group.block);
  points.isMap = true;
  points.firstThread = group.threadOf(group.lanes.active.front());
  points.roleFirst = group.roleFirst;
  points.states = &memory.states;
  points.lanes.varying = memory.values.data();
  points.lanes.uniform = group.lanes.uniform;
  points.lanes.width = chunk;
  points.warp = group.warp;
  if (isWatched) {
    points.watch = Watch::Points;
    points.points = static_cast<std::uint32_t>(total);
    points.stamp = group.machine.takeStamps(points.points + 1);
  }
  for (const SlotTable::Captured &c : slots.captured) {
    Value v = group.uniformValue(c.outside, c.dtype, c.name.c_str());
    std::fill_n(points.lanes.at(c.inside), chunk, v);
  }
  std::vector<std::uint32_t> all(chunk);
  for (std::uint32_t i = 0; i < chunk; ++i)
    all[i] = i;
  for (std::int64_t first = 0; first < total; first += chunk) {
    auto count = static_cast<std::uint32_t>(std::min(chunk, total - first));
    points.firstPoint = static_cast<std::uint32_t>(first);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::int64_t left = first + i;
      for (std::size_t d = vars.size(); d-- > 0;) {
        points.lanes.at(vars[d])[i].i = left % sizes[d];
        left /= sizes[d];
      }
    }
    points.lanes.setActive({all.begin(), all.begin() + count});
    points.runList(body);
    if (points.hasKilled)
      std::fill(memory.states.begin(), memory.states.end(), Running);
  }
  // What the points wrote into the threads' own memory holds for all of them.
  for (std::uint32_t buffer : outerLocals) {
    const View &v = group.view(buffer);
    auto bytes = static_cast<std::size_t>(v.threadBits / 8), from = points.firstThread * bytes;
    Storage &s = *v.storage;
    for (std::uint32_t lane : group.lanes.active) {
      std::size_t to = group.threadOf(lane) * bytes;
      if (to == from)
        continue;
      std::memcpy(s.data + to, s.data + from, bytes);
      std::copy_n(s.state.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                  s.state.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
}

} // namespace tlc::interpret
