// Lanes, elements and what is noted about each access.
#include "interpret/Machine.h"

#include "ir/Print.h"

namespace tlc::interpret {

void Group::runNode(Node &node) {
  current = &node;
  if (machine.options.counts)
    counts = &machine.counts[node.stmt];
  if (++machine.steps > machine.options.maxSteps) {
    report(ReportKind::Unfinished, "the program takes more steps than allowed");
    machine.scheduler.abort();
    throw Aborted{};
  }
  execute(node.code, lanes);
  node.run(*this);
}

void Group::runList(const NodeList &list) {
  for (const std::unique_ptr<Node> &node : list) {
    if (lanes.active.empty())
      return;
    runNode(*node);
    if (hasKilled)
      dropKilled();
  }
}

void Group::dropKilled() {
  std::vector<std::uint32_t> left;
  for (std::uint32_t lane : lanes.active)
    if ((*states)[lane] == Running)
      left.push_back(lane);
  lanes.setActive(std::move(left));
}

void Group::kill(LaneState how) {
  for (std::uint32_t lane : lanes.active)
    (*states)[lane] = how;
  hasKilled = true;
  if (how == Exited && !isMap)
    block.live -= static_cast<std::int64_t>(lanes.active.size());
}

// ---- Elements

bool Group::locate(const ElementRef &e, std::uint32_t lane, unsigned run, std::int64_t &at) const {
  const View &v = view(e.buffer);
  std::int64_t offset = 0;
  if (e.isPhysical) {
    offset = e.indices.empty() ? 0 : lanes.get(e.indices[0], lane).i;
    if (offset < 0 || offset + run > v.count)
      return false;
  } else {
    std::size_t rank = e.indices.size();
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t index = lanes.get(e.indices[d], lane).i;
      std::int64_t size = d + 1 == rank ? v.shape[d] - run + 1 : v.shape[d];
      if (index < 0 || index >= size)
        return false;
      offset += index * v.strides[d];
    }
  }
  std::int64_t bit = v.base + offset * v.bits();
  if (e.version.isSet()) {
    std::int64_t version = lanes.get(e.version, lane).i;
    if (version < 0 || version >= v.versions)
      return false;
    bit += version * v.versionBits;
  }
  for (auto [ref, bits] : e.bases)
    bit += lanes.get(ref, lane).i * bits;
  if (v.strided) { // a dense view of a tensor with strides
    std::int64_t element = bit / v.bits(), from = 0;
    const View &root = *v.strided;
    for (std::size_t d = root.shape.size(); d-- > 0;) {
      from += element % root.shape[d] * root.strides[d];
      element /= root.shape[d];
    }
    bit = root.base + from * root.bits();
  }
  if (v.threadBits)
    bit += v.threadBits * (e.isPerLane ? lane : threadOf(lane));
  if (!e.bases.empty() && (bit < 0 || bit + static_cast<std::int64_t>(run) * v.bits() >
                                          static_cast<std::int64_t>(v.storage->size) * 8))
    return false;
  at = bit;
  return true;
}

void Group::outOfRange(const ElementRef &e, std::uint32_t lane, bool isWrite) {
  const View &v = view(e.buffer);
  if ((v.isGlobal() && !e.isPhysical) || !isNew(ReportKind::OutOfRange))
    return;
  std::string index;
  for (Ref r : e.indices)
    index += (index.empty() ? "" : ", ") + std::to_string(lanes.get(r, lane).i);
  std::string text =
      threadName(lane) + (isWrite ? " writes %" : " reads %") + v.buffer->name + "[" + index + "]";
  if (e.version.isSet())
    text += " of version " + std::to_string(lanes.get(e.version, lane).i);
  text += ", which is out of range";
  report(ReportKind::OutOfRange, text);
}

std::string Group::threadName(std::uint32_t lane) const {
  if (isMap)
    return "point " + std::to_string(firstPoint + lane);
  return "thread " + std::to_string(firstThread + lane);
}

std::string Group::whereIs(const View &v, std::int64_t at) const {
  std::int64_t element = (at - v.base) / static_cast<std::int64_t>(v.bits());
  std::string version;
  if (v.versions > 1 && v.versionBits) {
    version = "@" + std::to_string((at - v.base) / v.versionBits);
    element = (at - v.base) % v.versionBits / static_cast<std::int64_t>(v.bits());
  }
  if (v.threadBits)
    element = (at - v.base) % v.threadBits / static_cast<std::int64_t>(v.bits());
  std::string index;
  bool isDense = !machine.isThreadPhase() && !v.shape.empty();
  std::int64_t left = element;
  for (std::size_t d = 0; isDense && d < v.shape.size(); ++d) {
    if (v.strides[d] == 0)
      continue;
    index += (d ? ", " : "") + std::to_string(left / v.strides[d]);
    left %= v.strides[d];
  }
  return "%" + v.buffer->name + version + "[" + (isDense ? index : std::to_string(element)) + "]";
}

void Group::markWritten(const View &v, std::int64_t at, State state) {
  Storage &s = *v.storage;
  if (s.state.empty())
    return;
  auto byte = static_cast<std::size_t>(at >> 3);
  auto end = static_cast<std::size_t>((at + v.bits() + 7) >> 3);
  for (; byte < end; ++byte) {
    s.state[byte] = state;
    if (!s.owner.empty())
      s.owner[byte] = static_cast<std::uint16_t>(v.number + 1);
  }
}

void Group::noteRead(const View &v, std::int64_t at, std::uint32_t lane, bool isWatched) {
  countRead(v);
  Storage &s = *v.storage;
  if (!s.state.empty()) {
    auto byte = static_cast<std::size_t>(at >> 3);
    if (s.state[byte] != Defined || (!s.owner.empty() && s.owner[byte] != v.number + 1))
      badRead(v, at, lane);
  }
  if (isWatched && watch == Watch::Points)
    watchRead(v, at, lane);
  else if (watch == Watch::Threads && s.scope == ir::Scope::Shared)
    threadRead(v, at, lane);
  if (!s.blockWriter.empty())
    blockRead(v, at);
}

void Group::noteWrite(const View &v, std::int64_t at, std::uint32_t lane, bool isWatched,
                      Value value) {
  countWrite(v);
  Storage &s = *v.storage;
  if (!s.state.empty()) {
    if (s.state[static_cast<std::size_t>(at >> 3)] == InFlight)
      badWrite(v, at, lane);
    markWritten(v, at);
  }
  if (isWatched && (watch == Watch::Points || watch == Watch::Statement))
    watchWrite(v, at, lane, value);
  else if (watch == Watch::Threads && s.scope == ir::Scope::Shared)
    threadWrite(v, at, lane, value);
  if (!s.blockWriter.empty())
    blockWrite(v, at, value);
}

void Group::badRead(const View &v, std::int64_t at, std::uint32_t lane) {
  Storage &s = *v.storage;
  auto byte = static_cast<std::size_t>(at >> 3);
  if (!isNew(s.state[byte] == InFlight ? ReportKind::NotComplete : ReportKind::Undefined))
    return;
  std::string who = threadName(lane) + " reads " + whereIs(v, at);
  if (s.state[byte] == InFlight) {
    report(ReportKind::NotComplete, who + ", which an asynchronous operation still writes");
  } else if (s.state[byte] == NeverWritten) {
    report(ReportKind::Undefined, who + ", which was not written");
  } else if (s.owner[byte] != 0) {
    const ir::Buffer *other = machine.buffers[s.owner[byte] - 1u];
    report(ReportKind::Undefined, who + ", whose bytes were last written as %" + other->name);
  }
}

void Group::badWrite(const View &v, std::int64_t at, std::uint32_t lane) {
  report(ReportKind::NotComplete, threadName(lane) + " writes " + whereIs(v, at) +
                                      ", which an asynchronous operation still writes");
}

// ---- Who else touched it

namespace {

void makeStamps(Storage &s) {
  if (s.writer.empty()) {
    s.writer.assign(s.granules(), 0);
    s.reader.assign(s.granules(), 0);
  }
}

void makeThreadStamps(Storage &s, std::size_t warps) {
  if (s.lastWrite.empty()) {
    s.lastWrite.assign(s.granules(), 0);
    s.lastReads.assign(s.granules() * warps, 0);
  }
}

template <class F> void eachGranule(const View &v, std::int64_t at, F f) {
  std::size_t first = static_cast<std::size_t>(at) >> v.storage->granule;
  std::size_t last = static_cast<std::size_t>(at + v.bits() - 1) >> v.storage->granule;
  for (std::size_t g = first; g <= last; ++g)
    f(g);
}

} // namespace

void Group::watchRead(const View &v, std::int64_t at, std::uint32_t lane) {
  Storage &s = *v.storage;
  makeStamps(s);
  std::uint32_t id = stamp + firstPoint + lane;
  eachGranule(v, at, [&](std::size_t g) {
    if (s.writer[g] >= stamp && s.writer[g] != id && isNew(ReportKind::Race))
      report(ReportKind::Race, "points " + std::to_string(s.writer[g] - stamp) + " and " +
                                   std::to_string(id - stamp) + " of a map touch " +
                                   whereIs(v, at) + ", the first writes, the second reads");
    std::uint32_t several = stamp + points;
    s.reader[g] = s.reader[g] < stamp || s.reader[g] == id ? id : several;
  });
}

void Group::watchWrite(const View &v, std::int64_t at, std::uint32_t lane, Value value) {
  Storage &s = *v.storage;
  makeStamps(s);
  std::uint32_t id = stamp + firstPoint + lane;
  eachGranule(v, at, [&](std::size_t g) {
    bool isMapPoint = watch == Watch::Points;
    const char *kind = isMapPoint ? "points " : "threads ";
    std::uint32_t other = s.writer[g] >= stamp && s.writer[g] != id                 ? s.writer[g]
                          : isMapPoint && s.reader[g] >= stamp && s.reader[g] != id ? s.reader[g]
                                                                                    : 0;
    // Threads that store the same value need not be told apart: it may be done once.
    if (other && (isMapPoint || !sameValue(v.dtype, v.load(at), value)) && isNew(ReportKind::Race))
      report(
          ReportKind::Race,
          kind +
              (isMapPoint && other == stamp + points ? "several" : std::to_string(other - stamp)) +
              " and " + std::to_string(id - stamp) +
              (isMapPoint ? " of a map touch " : " store different values into ") + whereIs(v, at) +
              (isMapPoint ? ", the second writes" : " in one statement"));
    s.writer[g] = id;
  });
}

bool Group::isOrdered(std::uint64_t access, std::uint32_t thread) const {
  std::uint32_t otherThread = static_cast<std::uint32_t>(access >> 44) - 1;
  std::uint64_t when = access & ((std::uint64_t{1} << 44) - 1);
  if (otherThread == thread)
    return true;
  std::uint32_t otherWarp = otherThread / 32;
  const Clock &mine = block.clocks[warp];
  return otherWarp == warp ? when < mine[warp] : when <= mine[otherWarp];
}

void Group::threadRead(const View &v, std::int64_t at, std::uint32_t lane) {
  Storage &s = *v.storage;
  std::uint32_t thread = threadOf(lane);
  std::size_t warps = block.clocks.size();
  makeThreadStamps(s, warps);
  std::uint64_t now = block.clocks[warp][warp];
  eachGranule(v, at, [&](std::size_t g) {
    if (s.lastWrite[g] && !isOrdered(s.lastWrite[g], thread) && isNew(ReportKind::Race))
      report(ReportKind::Race, "thread " + std::to_string((s.lastWrite[g] >> 44) - 1) +
                                   " writes and thread " + std::to_string(thread) + " reads " +
                                   whereIs(v, at) + " without a barrier between them");
    std::uint64_t &mine = s.lastReads[g * warps + warp];
    std::uint64_t who = thread % 32 + 1;
    mine = now << 8 | (mine >> 8 == now && (mine & 255) != who ? 255 : who);
  });
}

void Group::threadWrite(const View &v, std::int64_t at, std::uint32_t lane, Value value) {
  Storage &s = *v.storage;
  std::uint32_t thread = threadOf(lane);
  std::size_t warps = block.clocks.size();
  makeThreadStamps(s, warps);
  const Clock &mine = block.clocks[warp];
  eachGranule(v, at, [&](std::size_t g) {
    if (s.lastWrite[g] && !isOrdered(s.lastWrite[g], thread) &&
        !sameValue(v.dtype, v.load(at), value) && isNew(ReportKind::Race))
      report(ReportKind::Race, "threads " + std::to_string((s.lastWrite[g] >> 44) - 1) + " and " +
                                   std::to_string(thread) + " both write " + whereIs(v, at) +
                                   " without a barrier between them");
    for (std::size_t w = 0; w < warps; ++w) {
      std::uint64_t read = s.lastReads[g * warps + w];
      bool isRace = read && (w == warp ? read >> 8 == mine[w] && (read & 255) != thread % 32 + 1
                                       : read >> 8 > mine[w]);
      if (isRace && !sameValue(v.dtype, v.load(at), value) && isNew(ReportKind::Race))
        report(ReportKind::Race, "a thread of warp " + std::to_string(w) + " reads and thread " +
                                     std::to_string(thread) + " writes " + whereIs(v, at) +
                                     " without a barrier between them");
    }
    s.lastWrite[g] = std::uint64_t{thread + 1} << 44 | mine[warp];
  });
}

void Group::blockRead(const View &v, std::int64_t at) {
  Storage &s = *v.storage;
  eachGranule(v, at, [&](std::size_t g) {
    if (s.blockWriter[g] >= machine.launchStamp && s.blockWriter[g] != block.stamp)
      report(ReportKind::Race, "another block of the launch has written " + whereIs(v, at) +
                                   ", which this one reads");
    std::uint32_t several = machine.launchStamp;
    s.blockReader[g] = s.blockReader[g] < machine.launchStamp || s.blockReader[g] == block.stamp
                           ? block.stamp
                           : several;
  });
}

void Group::blockWrite(const View &v, std::int64_t at, Value value) {
  Storage &s = *v.storage;
  eachGranule(v, at, [&](std::size_t g) {
    bool differs = !sameValue(v.dtype, v.load(at), value);
    if (s.blockWriter[g] >= machine.launchStamp && s.blockWriter[g] != block.stamp && differs)
      report(ReportKind::Race,
             "two blocks of the launch write different values to " + whereIs(v, at));
    if (s.blockReader[g] >= machine.launchStamp && s.blockReader[g] != block.stamp && differs)
      report(ReportKind::Race,
             "another block of the launch has read " + whereIs(v, at) + ", which this one writes");
    s.blockWriter[g] = block.stamp;
  });
}

// ---- Collectives

bool Group::isDiverged() const {
  std::size_t live = 0;
  for (std::uint32_t lane : scope)
    live += (*states)[lane] != Exited;
  return lanes.active.size() != live;
}

void Group::expectAll() {
  if (!isDiverged())
    return;
  std::size_t live = 0;
  for (std::uint32_t lane : scope)
    live += (*states)[lane] != Exited;
  report(ReportKind::Divergence, "only " + std::to_string(lanes.active.size()) + " of " +
                                     std::to_string(live) + " threads reach this together");
}

Value Group::uniformValue(Ref r, DType type, const char *what) {
  Value first = lanes.get(r, lanes.active.front());
  if (r.isUniform())
    return first;
  for (std::uint32_t lane : lanes.active)
    if (!sameValue(type, lanes.get(r, lane), first)) {
      report(ReportKind::Divergence, std::string(what) + " differs between threads " +
                                         std::to_string(threadOf(lanes.active.front())) + " and " +
                                         std::to_string(threadOf(lane)));
      break;
    }
  return first;
}

// ---- Asynchronous operations

void Group::land(std::vector<Flight> &flights, bool ordered) {
  for (const Flight &f : flights) {
    auto &state = f.storage->state;
    for (std::size_t byte = f.begin; byte < f.begin + f.bytes && byte < state.size(); ++byte)
      if (state[byte] == InFlight)
        state[byte] = Defined;
    if (ordered || watch != Watch::Threads || f.storage->scope != ir::Scope::Shared)
      continue;
    // For other threads, the issuer has written it now.
    Storage &s = *f.storage;
    makeThreadStamps(s, block.clocks.size());
    std::size_t last = ((f.begin + f.bytes) * 8 - 1) >> s.granule;
    for (std::size_t g = (f.begin * 8) >> s.granule; g <= last; ++g)
      s.lastWrite[g] = std::uint64_t{f.thread + 1} << 44 | block.clocks[warp][warp];
  }
  flights.clear();
}

void Group::commit(ir::AsyncKind kind) {
  queue(kind).closed.push_back(std::exchange(queue(kind).open, {}));
}

void Group::waitFor(ir::AsyncKind kind, std::size_t pending) {
  auto &closed = queue(kind).closed;
  std::size_t done = closed.size() > pending ? closed.size() - pending : 0;
  for (std::size_t i = 0; i < done; ++i)
    land(closed[i]);
  closed.erase(closed.begin(), closed.begin() + static_cast<std::ptrdiff_t>(done));
}

// ---- Order between threads

void Group::release(Clock &into) {
  if (block.clocks.empty())
    return;
  const Clock &mine = block.clocks[warp];
  into.resize(mine.size());
  for (std::size_t w = 0; w < mine.size(); ++w)
    into[w] = std::max(into[w], mine[w]);
}

void Group::acquire(const Clock &from) {
  if (block.clocks.empty())
    return;
  Clock &mine = block.clocks[warp];
  for (std::size_t w = 0; w < from.size(); ++w)
    if (w != warp)
      mine[w] = std::max(mine[w], from[w]);
}

void Group::tick() {
  if (!block.clocks.empty())
    ++block.clocks[warp][warp];
}

bool Group::isNew(ReportKind kind) const {
  return machine.isNew(kind, current ? current->stmt : nullptr);
}

void Group::report(ReportKind kind, const std::string &text) {
  if (!isNew(kind))
    return;
  std::string message = "kernel @" + machine.function.name;
  if (machine.program && !machine.program->launch->name.empty())
    message += ", launch @" + machine.program->launch->name;
  message += ", block (" + std::to_string(block.index[0]) + ", " + std::to_string(block.index[1]) +
             ", " + std::to_string(block.index[2]) + "): " + text;
  SourceRange range;
  if (current && current->stmt) {
    std::string stmt = ir::print(*current->stmt);
    message += "\n  in: " + stmt.substr(0, stmt.find('\n'));
    range = current->stmt->range;
  }
  machine.report(kind, message, range, current ? current->stmt : nullptr);
}

} // namespace tlc::interpret
