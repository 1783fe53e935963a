#include "interpret/Launcher.h"

#include "support/Check.h"

#include <algorithm>
#include <bit>

namespace tlc::interpret {

using ir::Scope;

namespace {

constexpr std::uint32_t warpSize = 32;
constexpr std::int64_t mapChunk = 256; ///< points of a map that run in step (MapNode)

std::int64_t wholeBytes(std::int64_t bits) { return (bits + 7) / 8; }

} // namespace

bool Launcher::computeGrid() {
  std::vector<Value> uniform(program->slots.uniformCount());
  for (auto [ref, value] : program->slots.constants)
    uniform[ref.number()] = value;
  Lanes lanes;
  lanes.uniform = uniform.data();
  lanes.width = 1;
  lanes.setActive({0});
  execute(program->gridCode, lanes);
  for (std::size_t d = 0; d < program->grid.size() && d < 3; ++d)
    grid[d] = lanes.get(program->grid[d], 0).i;
  return grid[0] > 0 && grid[1] > 0 && grid[2] > 0;
}

std::array<std::int64_t, 3> Launcher::clusterShape() const {
  std::array<std::int64_t, 3> shape = launch.cluster;
  if (!launch.clusterSize)
    return shape;
  std::vector<ir::Expr> vars;
  ir::collectVars(launch.clusterSize, vars);
  ir::Substitution known;
  for (ir::Expr var : vars)
    known.emplace_back(var, var.context().integer(var.dtype(), machine.arguments.at(var.get()).i));
  shape[0] = *ir::substitute(launch.clusterSize, known).constant();
  return shape;
}

unsigned Launcher::granuleOf(const ir::Buffer *owner) const {
  unsigned granule = 6;
  for (const ir::Buffer *b : machine.buffers)
    if (!owner || b->storage() == owner)
      granule = std::min(granule, static_cast<unsigned>(std::countr_zero(b->dtype.bits())));
  return granule;
}

Storage *Launcher::makeArena(BlockState &block) {
  if (!machine.isThreadPhase())
    return nullptr;
  std::int64_t end = launch.sharedBytes;
  bool isUsed = false;
  for (const ir::Buffer *b : machine.buffers)
    if (!b->base && b->scope == Scope::Shared && b->sharedOffset >= 0) {
      isUsed = true;
      std::int64_t count =
          b->layout ? b->layout->outputs.at(0).size : b->elementCount().value_or(0);
      std::int64_t bytes = std::max(b->versionBytes, wholeBytes(count * b->dtype.bits()));
      end = std::max(end, b->sharedOffset + bytes * b->versions);
    }
  if (!isUsed)
    return nullptr;
  Storage &arena = block.storages.emplace_back();
  arena.name = "shared memory";
  arena.scope = Scope::Shared;
  arena.allocate(static_cast<std::size_t>(end), true);
  arena.owner.assign(arena.size + 8, 0);
  arena.granule = granuleOf(nullptr);
  return &arena;
}

void Launcher::makeOwner(BlockState &block, const ir::Buffer &b, Storage *arena) {
  View &v = block.views[machine.numberOf(&b)];
  v.buffer = &b;
  v.number = static_cast<std::uint16_t>(machine.numberOf(&b));
  v.codec = &codec(b.dtype.scalar);
  v.dtype = b.dtype.element();
  v.versions = b.versions;
  std::int64_t pitch = b.dtype.lanes;
  v.shape.resize(b.shape.size());
  v.strides.resize(b.shape.size());
  for (std::size_t d = b.shape.size(); d-- > 0;) {
    v.shape[d] = b.shape[d].constant().value_or(0);
    v.strides[d] = pitch;
    pitch *= v.shape[d];
  }
  v.count = pitch;
  if (machine.isThreadPhase() && b.scope == Scope::Shared && b.layout)
    v.count = b.layout->outputs.at(0).size;
  std::int64_t bytes = wholeBytes(v.count * v.bits());
  bool isPlaced = arena && b.scope == Scope::Shared && b.sharedOffset >= 0;
  v.versionBits = 8 * (isPlaced && b.versionBytes > 0 ? b.versionBytes : bytes);
  if (isPlaced) {
    v.storage = arena;
    v.base = b.sharedOffset * 8;
    return;
  }
  Storage &s = block.storages.emplace_back();
  v.storage = &s;
  s.name = b.name;
  s.scope = b.scope;
  s.granule = granuleOf(&b);
  std::int64_t total = wholeBytes(v.versionBits * v.versions);
  if (b.scope == Scope::Local) {
    v.threadBits = total * 8;
    total *= std::max(threads, mapChunk);
  }
  s.allocate(static_cast<std::size_t>(total), b.scope != Scope::Barrier);
}

void Launcher::makeView(BlockState &block, const ir::Buffer &b) {
  const View &base = block.views[machine.numberOf(b.base)],
             &root = block.views[machine.numberOf(b.storage())];
  View &v = block.views[machine.numberOf(&b)];
  v.buffer = &b;
  v.storage = root.storage;
  v.number = root.number;
  v.codec = &codec(b.dtype.scalar);
  v.dtype = b.dtype.element();
  v.base = base.base;
  v.versions = root.versions;
  v.versionBits = root.versionBits;
  v.threadBits = root.threadBits;
  v.safeValue = root.safeValue;
  if (b.safeValue)
    v.safeValue = evaluate(machine, b.safeValue);
  std::int64_t pitch = b.dtype.lanes;
  v.shape.resize(b.shape.size());
  v.strides.resize(b.shape.size());
  for (std::size_t d = b.shape.size(); d-- > 0;) {
    v.shape[d] = evaluate(machine, b.shape[d]).i;
    v.strides[d] = b.strides.empty() ? pitch : evaluate(machine, b.strides[d]).i;
    pitch *= v.shape[d];
  }
  std::int64_t reach = v.threadBits    ? v.threadBits
                       : v.versionBits ? v.versionBits
                                       : static_cast<std::int64_t>(root.storage->size) * 8;
  v.count = reach / v.bits();
  // Dense numbering of a tensor whose elements are not dense.
  if (root.isGlobal() && b.strides.empty() && !b.storage()->strides.empty() &&
      v.bits() == root.bits()) {
    v.strided = &root;
    v.base = 0;
  }
}

void Launcher::makeMemory(BlockState &block) {
  block.threads = threads;
  block.views.resize(machine.buffers.size());
  block.mbars.resize(machine.buffers.size());
  block.frames.resize(program->maps);
  for (std::size_t i = 0; i < machine.globalViews.size(); ++i)
    if (machine.globalViews[i].buffer)
      block.views[i] = machine.globalViews[i];
  Storage *arena = makeArena(block);
  for (const ir::Buffer *b : machine.buffers) { // bases stand before their views
    if (b->base)
      makeView(block, *b);
    else if (b->scope != Scope::Global)
      makeOwner(block, *b, arena);
  }
  if (machine.isThreadPhase()) {
    auto warps = static_cast<std::size_t>((threads + warpSize - 1) / warpSize);
    block.clocks.assign(warps, Clock(warps, 0));
  }
}

void Launcher::resetBlock(BlockState &block, std::array<std::int64_t, 3> index) {
  block.index = index;
  block.linear = index[0] + grid[0] * (index[1] + grid[1] * index[2]);
  block.stamp = ++machine.blockStamps;
  block.live = threads;
  block.barrier = {};
  block.named.clear();
  block.cluster = {&block};
  for (auto &bars : block.mbars)
    bars.clear();
  for (Storage &s : block.storages) {
    s.setState(0, s.size, NeverWritten);
    std::fill(s.owner.begin(), s.owner.end(), 0);
  }
  // What earlier blocks did here is over for everybody.
  std::uint64_t latest = 0;
  for (const Clock &clock : block.clocks)
    latest = std::max(latest, *std::max_element(clock.begin(), clock.end()));
  for (std::size_t w = 0; w < block.clocks.size(); ++w) {
    std::fill(block.clocks[w].begin(), block.clocks[w].end(), latest);
    block.clocks[w][w] = latest + 1;
  }
}

/// Blocks are unordered: where they have no means to order each other, none may touch what another
/// writes.
void Launcher::watchBlocks() {
  machine.launchStamp = ++machine.blockStamps;
  bool isWatched = !program->mayCommunicate && grid[0] * grid[1] * grid[2] > 1;
  for (View &v : machine.globalViews) {
    if (!v.buffer)
      continue;
    Storage &s = *v.storage;
    s.granule = granuleOf(v.buffer);
    s.writer.clear();
    s.reader.clear();
    s.blockWriter.clear();
    s.blockReader.clear();
    if (isWatched && program->stored.count(v.buffer)) {
      s.blockWriter.assign(s.granules(), 0);
      s.blockReader.assign(s.granules(), 0);
    }
  }
}

std::unique_ptr<Launcher::Task> Launcher::makeTask(BlockState &block, std::uint32_t first,
                                                   std::uint32_t count) {
  auto task = std::make_unique<Task>();
  task->varying.resize(std::size_t{program->slots.width()} * count);
  task->uniform.resize(program->slots.uniformCount());
  task->states.assign(count, Running);
  for (auto [ref, value] : program->slots.constants)
    task->uniform[ref.number()] = value;
  for (std::size_t d = 0; d < program->blockVars.size(); ++d)
    task->uniform[program->blockVars[d].number()].i = block.index[d];
  task->group = std::make_unique<Group>(machine, block);
  Group &group = *task->group;
  group.lanes.varying = task->varying.data();
  group.lanes.uniform = task->uniform.data();
  group.lanes.width = count;
  group.states = &task->states;
  group.firstThread = first;
  group.warp = first / warpSize;
  group.watch = threads == 1           ? Watch::Nothing
                : block.clocks.empty() ? Watch::Statement
                                       : Watch::Threads;
  for (std::uint32_t i = 0; i < count; ++i) {
    group.scope.push_back(i);
    std::int64_t thread = first + i;
    std::int64_t index[] = {thread % launch.threads[0],
                            thread / launch.threads[0] % launch.threads[1],
                            thread / (launch.threads[0] * launch.threads[1])};
    for (std::size_t d = 0; d < 3; ++d)
      if (program->threadVars[d].isSet())
        group.lanes.at(program->threadVars[d])[i].i = index[d];
    group.lanes.at(program->tid)[i].i = thread;
  }
  group.lanes.setActive(group.scope);
  return task;
}

std::vector<Scheduler::Task> Launcher::tasksOf(BlockState &block) {
  std::vector<Scheduler::Task> list;
  auto all = static_cast<std::uint32_t>(threads);
  std::uint32_t size = block.clocks.empty() ? all : warpSize;
  for (std::uint32_t first = 0; first < all; first += size) {
    Task &task = *tasks.emplace_back(makeTask(block, first, std::min(size, all - first)));
    list.push_back([this, &task] {
      Group &group = *task.group;
      group.runList(program->body);
      group.block.live -= static_cast<std::int64_t>(group.lanes.active.size());
    });
  }
  return list;
}

bool Launcher::runTasks(std::vector<Scheduler::Task> list) {
  machine.scheduler.run(std::move(list), [&](std::vector<std::string> waits) {
    std::string text = "kernel @" + machine.function.name + ": nobody can go on:";
    for (std::size_t i = 0; i < waits.size() && i < 8; ++i)
      text += "\n  " + waits[i];
    if (waits.size() > 8)
      text += "\n  and " + std::to_string(waits.size() - 8) + " more";
    machine.report(ReportKind::Deadlock, text, launch.range, &launch);
  });
  tasks.clear();
  return !machine.scheduler.isAborted();
}

bool Launcher::runBlocks(const std::vector<std::array<std::int64_t, 3>> &indices) {
  while (blocks.size() < indices.size()) {
    blocks.push_back(std::make_unique<BlockState>());
    makeMemory(*blocks.back());
  }
  std::vector<Scheduler::Task> list;
  machine.allBlocks.clear();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    resetBlock(*blocks[i], indices[i]);
    machine.allBlocks.push_back(blocks[i].get());
  }
  const std::array<std::int64_t, 3> c = clusterShape();
  if (c[0] * c[1] * c[2] > 1)
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::vector<BlockState *> together;
      for (std::size_t j = 0; j < indices.size(); ++j)
        if (indices[i][0] / c[0] == indices[j][0] / c[0] &&
            indices[i][1] / c[1] == indices[j][1] / c[1] &&
            indices[i][2] / c[2] == indices[j][2] / c[2])
          together.push_back(blocks[j].get());
      blocks[i]->cluster = std::move(together);
    }
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (Scheduler::Task &task : tasksOf(*blocks[i]))
      list.push_back(std::move(task));
  return runTasks(std::move(list));
}

bool Launcher::run() {
  program = compile(machine, launch);
  machine.program = program.get();
  if (!computeGrid())
    return true; // nothing to do
  bool isOneThread =
      program->usesThreadLoops || (machine.isThreadPhase() && machine.options.oneThread);
  threads = isOneThread ? 1 : launch.threadCount() + launch.extraThreads;
  watchBlocks();
  std::vector<std::array<std::int64_t, 3>> all;
  for (std::int64_t z = 0; z < grid[2]; ++z)
    for (std::int64_t y = 0; y < grid[1]; ++y)
      for (std::int64_t x = 0; x < grid[0]; ++x)
        all.push_back({x, y, z});
  if (program->isResident)
    return runBlocks(all);
  const std::array<std::int64_t, 3> c = clusterShape();
  if (c[0] * c[1] * c[2] == 1) {
    for (const auto &index : all)
      if (!runBlocks({index}))
        return false;
    return true;
  }
  std::map<std::array<std::int64_t, 3>, std::vector<std::array<std::int64_t, 3>>> clusters;
  for (const auto &index : all)
    clusters[{index[2] / c[2], index[1] / c[1], index[0] / c[0]}].push_back(index);
  for (const auto &[cluster, indices] : clusters)
    if (!runBlocks(indices))
      return false;
  return true;
}

} // namespace tlc::interpret
