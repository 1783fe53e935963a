// Cooperative tasks, each on a stack of its own, run on one host thread.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tlc::interpret {

/// Thrown out of waits when the run is given up; unwinds a task.
struct Aborted {};

class Scheduler {
public:
  using Task = std::function<void()>;

  explicit Scheduler(std::uint64_t seed);
  ~Scheduler();
  Scheduler(const Scheduler &) = delete;
  Scheduler &operator=(const Scheduler &) = delete;

  /// Runs all tasks to their end, from outside of any task. If all that are left wait in vain,
  /// calls `deadlock` with what each waits for, then aborts them.
  void run(std::vector<Task> tasks, const std::function<void(std::vector<std::string>)> &deadlock);
  /// From inside a task: runs further tasks beside the others and waits for them.
  void fork(std::vector<Task> tasks);
  /// Lets others run until `ready`; `what` says what is waited for if nobody ever makes it so.
  void wait(std::function<bool()> ready, std::function<std::string()> what);
  /// Lets others run.
  void yield();
  /// Ends all tasks at their next wait or yield.
  void abort() { aborted = true; }
  bool isAborted() const { return aborted; }
  /// Whether anybody else could run.
  bool isShared() const { return alive > 1; }

private:
  struct Fiber;
  Fiber &start(Task task);
  void resume(Fiber &fiber);
  void suspend();
  static void entry(unsigned high, unsigned low);

  std::vector<std::unique_ptr<Fiber>> fibers, idle;
  Fiber *current = nullptr;
  std::unique_ptr<Fiber> host;
  std::exception_ptr failure;
  std::size_t alive = 0;
  bool aborted = false;
  std::uint64_t random;
};

} // namespace tlc::interpret
