#include "interpret/Nodes.h"

#include "interpret/TileNodes.h"

#include "ir/Fold.h"

#include <algorithm>
#include <cinttypes>

namespace tlc::interpret {

using ir::AtomicOp;

void AllocNode::run(Group &group) {
  if (isView)
    return;
  const View &v = group.view(buffer);
  Storage &s = *v.storage;
  if (v.buffer->scope == ir::Scope::Local) {
    auto bytes = static_cast<std::size_t>(v.threadBits / 8);
    group.lanes.each([&](std::uint32_t lane) {
      std::size_t copy = isPerLane ? lane : group.threadOf(lane);
      s.setState(copy * bytes, bytes, NeverWritten);
      if (init.isSet())
        group.write(v, v.base + v.threadBits * static_cast<std::int64_t>(copy), lane, false,
                    group.lanes.get(init, lane));
    });
    return;
  }
  if (!keepsContents)
    s.setState(0, s.size, NeverWritten);
  if (init.isSet() && !group.lanes.active.empty())
    group.write(v, v.base, group.lanes.active.front(), false,
                group.lanes.get(init, group.lanes.active.front()));
}

void LoadNode::run(Group &group) {
  const View &v = group.view(source.buffer);
  auto count = static_cast<unsigned>(to.size());
  Lanes &lanes = group.lanes;
  std::int64_t step = v.bits();
  if (!source.isPhysical && !v.strides.empty())
    step *= v.strides.back();
  auto otherValue = [&](unsigned k, std::uint32_t lane) {
    return otherwise.empty() ? Value{.i = 0} : lanes.get(otherwise[k], lane); // all bits 0 is 0.0
  };
  lanes.each([&](std::uint32_t lane) {
    if (predicate.isSet() && !lanes.get(predicate, lane).i) {
      for (unsigned k = 0; k < count; ++k)
        *(lanes.at(to[k]) + lane) = otherValue(k, lane);
      return;
    }
    std::int64_t at = 0;
    if (!group.locate(source, lane, count, at)) {
      group.outOfRange(source, lane, false);
      for (unsigned k = 0; k < count; ++k)
        *(lanes.at(to[k]) + lane) = v.safeValue;
      return;
    }
    for (unsigned k = 0; k < count; ++k, at += step)
      *(lanes.at(to[k]) + lane) = group.read(v, at, lane, source.isWatched);
  });
}

void StoreNode::run(Group &group) {
  const View &v = group.view(target.buffer);
  auto count = static_cast<unsigned>(value.size());
  Lanes &lanes = group.lanes;
  std::int64_t step = v.bits();
  if (!target.isPhysical && !v.strides.empty())
    step *= v.strides.back();
  bool isWatched = target.isWatched;
  if (group.watch == Watch::Statement && v.buffer->scope != ir::Scope::Local) {
    isWatched = true;
    group.stamp = group.machine.takeStamps(lanes.width + 1);
  }
  lanes.each([&](std::uint32_t lane) {
    if (predicate.isSet() && !lanes.get(predicate, lane).i)
      return;
    std::int64_t at = 0;
    if (!group.locate(target, lane, count, at)) {
      group.outOfRange(target, lane, true);
      return;
    }
    for (unsigned k = 0; k < count; ++k, at += step)
      group.write(v, at, lane, isWatched, lanes.get(value[k], lane));
  });
}

Value atomicStep(AtomicOp op, DType type, Value old, Value value, Value compare) {
  auto number = [&](ir::BinaryOp binary) -> Value {
    if (type.isFloat()) {
      double a = old.f, b = value.f;
      double r = op == AtomicOp::Add   ? a + b
                 : op == AtomicOp::Min ? std::fmin(a, b)
                                       : std::fmax(a, b);
      return {.f = roundTo(type, r)};
    }
    return {.i = ir::evaluateInteger(binary, type, old.i, value.i).value_or(0)};
  };
  switch (op) {
  case AtomicOp::Add:
    return number(ir::BinaryOp::Add);
  case AtomicOp::Min:
    return number(ir::BinaryOp::Min);
  case AtomicOp::Max:
    return number(ir::BinaryOp::Max);
  case AtomicOp::And:
    return {.i = old.i & value.i};
  case AtomicOp::Or:
    return {.i = old.i | value.i};
  case AtomicOp::Xor:
    return {.i = old.i ^ value.i};
  case AtomicOp::CompareExchange:
    return sameValue(type, old, compare) ? value : old;
  case AtomicOp::Load:
    return old;
  default:
    return value;
  }
}

void AtomicNode::run(Group &group) {
  const View &v = group.view(target.buffer);
  Lanes &lanes = group.lanes;
  auto count = static_cast<unsigned>(std::max(value.size(), result.size()));
  count = std::max(count, 1u);
  lanes.each([&](std::uint32_t lane) {
    if (predicate.isSet() && !lanes.get(predicate, lane).i)
      return;
    std::int64_t at = 0;
    if (!group.locate(target, lane, count, at)) {
      group.outOfRange(target, lane, true);
      return;
    }
    for (unsigned k = 0; k < count; ++k, at += v.bits()) {
      Value old = v.load(at), none{};
      if (op != AtomicOp::Store && op != AtomicOp::Exchange && !group.isDefined(v, at))
        group.noteRead(v, at, lane, false);
      Value operand = value.empty() ? none : lanes.get(value[k], lane);
      if (op != AtomicOp::Load) {
        v.store(at, atomicStep(op, v.dtype, old, operand,
                               compare.empty() ? none : lanes.get(compare[k], lane)));
        group.markWritten(v, at);
      }
      if (!result.empty())
        *(lanes.at(result[k]) + lane) = old;
    }
  });
}

void MoveNode::run(Group &group) {
  const View &from = group.view(source.buffer), &to = group.view(target.buffer);
  Lanes &lanes = group.lanes;
  lanes.each([&](std::uint32_t lane) {
    bool happens = !predicate.isSet() || lanes.get(predicate, lane).i;
    if (!happens && !fill.isSet())
      return;
    std::int64_t a = 0, b = 0;
    if (happens && !group.locate(source, lane, count, a))
      return group.outOfRange(source, lane, false);
    if (!group.locate(target, lane, count, b))
      return group.outOfRange(target, lane, true);
    for (unsigned k = 0; k < count; ++k, a += from.bits(), b += to.bits()) {
      bool isDefined = true;
      Value value{};
      if (!happens)
        value = lanes.get(fill, lane);
      else if (to.isGlobal())
        value = group.read(from, a, lane, false);
      else
        isDefined = group.readToCarry(from, a, lane, value);
      if (happens && from.dtype != to.dtype) { // same width: the bits move
        std::byte bits[16] = {};
        from.codec->store(bits, 0, value);
        value = to.codec->load(bits, 0);
      }
      group.write(to, b, lane, false, value);
      if (!isDefined)
        group.markWritten(to, b, NeverWritten);
      if (!isAsync || !isDefined)
        continue;
      group.markWritten(to, b, InFlight);
      group.fly(
          {to.storage, static_cast<std::size_t>(b >> 3), to.bytes(), &to, b, group.threadOf(lane)});
    }
  });
}

namespace {

std::string formatted(DType dtype, Value value) {
  char text[64];
  if (dtype.isFloat())
    std::snprintf(text, sizeof text, "%.6f", value.f);
  else
    std::snprintf(text, sizeof text, "%" PRId64, value.i);
  return text;
}

} // namespace

void PrintNode::run(Group &group) {
  const auto &print = ir::cast<ir::PrintStmt>(*stmt);
  std::string &out = group.machine.result.printed;
  if (hasBuffer) {
    const View &v = group.view(buffer);
    std::int64_t elements = 1;
    for (std::int64_t extent : v.shape)
      elements *= extent;
    for (std::int64_t i = 0; i < elements; ++i)
      out += print.message + (print.message.empty() ? "" : " ") + v.buffer->name + "[" +
             std::to_string(i) + "] = " + formatted(v.dtype, v.load(v.base + i * v.bits())) + "\n";
    return;
  }
  std::vector<std::string> lines;
  group.lanes.each([&](std::uint32_t lane) {
    std::string &line = lines.emplace_back(print.message);
    if (!index.empty())
      line += "[" + std::to_string(group.lanes.get(index[0], lane).i) + "] =";
    for (std::size_t k = 0; k < value.size(); ++k)
      line += (line.empty() ? "" : " ") + formatted(dtype, group.lanes.get(value[k], lane));
  });
  bool same = std::all_of(lines.begin(), lines.end(),
                          [&](const std::string &line) { return line == lines.front(); });
  for (std::size_t i = 0; i < (same ? std::min<std::size_t>(1, lines.size()) : lines.size()); ++i)
    out += lines[i] + "\n";
}

void AssertNode::run(Group &group) {
  group.lanes.each([&](std::uint32_t lane) {
    if (!group.lanes.get(condition, lane).i)
      group.report(ReportKind::Assertion,
                   group.threadName(lane) +
                       (isAssumption ? ": what is assumed does not hold" : ": assertion failed") +
                       (message.empty() ? "" : ": " + message));
  });
}

void UnsupportedNode::run(Group &group) { group.report(ReportKind::Unsupported, message); }

} // namespace tlc::interpret
