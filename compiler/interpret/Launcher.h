// One launch: its blocks, their memory, and the groups that run them.
#pragma once

#include "interpret/Machine.h"

namespace tlc::interpret {

/// A pure expression over arguments, dims and constants.
Value evaluate(Machine &machine, ir::Expr e);

class Launcher {
public:
  Launcher(Machine &machine, const ir::Launch &launch) : machine(machine), launch(launch) {}
  /// False if the launch was given up.
  bool run();

private:
  /// A group of threads with the memory of its values.
  struct Task {
    std::unique_ptr<Group> group;
    std::vector<Value> varying, uniform;
    std::vector<std::uint8_t> states;
  };

  bool computeGrid();
  unsigned granuleOf(const ir::Buffer *owner) const;
  /// Blocks of a cluster along each dimension, as the arguments decide.
  std::array<std::int64_t, 3> clusterShape() const;
  void makeMemory(BlockState &block);
  void makeOwner(BlockState &block, const ir::Buffer &b, Storage *arena);
  void makeView(BlockState &block, const ir::Buffer &b);
  Storage *makeArena(BlockState &block);
  void resetBlock(BlockState &block, std::array<std::int64_t, 3> index);
  void watchBlocks();
  std::vector<Scheduler::Task> tasksOf(BlockState &block);
  std::unique_ptr<Task> makeTask(BlockState &block, std::uint32_t first, std::uint32_t count);
  bool runBlocks(const std::vector<std::array<std::int64_t, 3>> &indices);
  bool runTasks(std::vector<Scheduler::Task> tasks);

  Machine &machine;
  const ir::Launch &launch;
  std::unique_ptr<Program> program;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::int64_t threads = 0;
  std::vector<std::unique_ptr<BlockState>> blocks;
  std::vector<std::unique_ptr<Task>> tasks;
};

} // namespace tlc::interpret
