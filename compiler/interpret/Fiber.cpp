#include "interpret/Fiber.h"

#include <algorithm>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tlc::interpret {
namespace {

constexpr std::size_t stackSize = 256 << 10;

} // namespace

struct Scheduler::Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  Task task;
  std::function<bool()> ready; ///< null: can go on
  std::function<std::string()> what;
  bool isDone = true;
  Scheduler *scheduler = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  void *fake = nullptr;
  const void *bottom = nullptr;
  std::size_t bytes = 0;
#endif
};

Scheduler::Scheduler(std::uint64_t seed) : host(std::make_unique<Fiber>()), random(seed) {}
Scheduler::~Scheduler() = default;

Scheduler::Fiber &Scheduler::start(Task task) {
  std::unique_ptr<Fiber> fiber;
  if (idle.empty()) {
    fiber = std::make_unique<Fiber>();
    fiber->stack = std::make_unique_for_overwrite<char[]>(stackSize);
  } else {
    fiber = std::move(idle.back());
    idle.pop_back();
  }
  fiber->task = std::move(task);
  fiber->ready = nullptr;
  fiber->isDone = false;
  fiber->scheduler = this;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = stackSize;
  fiber->context.uc_link = nullptr;
  // makecontext passes ints only.
  auto address = reinterpret_cast<std::uintptr_t>(fiber.get());
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Scheduler::entry), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  ++alive;
  fibers.push_back(std::move(fiber));
  return *fibers.back();
}

void Scheduler::entry(unsigned high, unsigned low) {
  auto *fiber = reinterpret_cast<Fiber *>(static_cast<std::uintptr_t>(high) << 32 | low);
  Scheduler &self = *fiber->scheduler;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self.host->bottom, &self.host->bytes);
#endif
  try {
    if (!self.aborted)
      fiber->task();
  } catch (const Aborted &) {
  } catch (...) {
    if (!self.failure)
      self.failure = std::current_exception();
    self.aborted = true;
  }
  fiber->task = nullptr;
  fiber->isDone = true;
  --self.alive;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, self.host->bottom, self.host->bytes);
#endif
  swapcontext(&fiber->context, &self.host->context);
}

void Scheduler::resume(Fiber &fiber) {
  current = &fiber;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&host->fake, fiber.stack.get(), stackSize);
#endif
  swapcontext(&host->context, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(host->fake, nullptr, nullptr);
#endif
  current = nullptr;
}

void Scheduler::suspend() {
  Fiber &self = *current;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&self.fake, host->bottom, host->bytes);
#endif
  swapcontext(&self.context, &host->context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(self.fake, &host->bottom, &host->bytes);
#endif
  if (aborted)
    throw Aborted{};
}

void Scheduler::yield() {
  if (aborted)
    throw Aborted{};
  if (isShared())
    suspend();
}

void Scheduler::wait(std::function<bool()> ready, std::function<std::string()> what) {
  if (aborted)
    throw Aborted{};
  if (ready())
    return;
  current->ready = std::move(ready);
  current->what = std::move(what);
  suspend();
}

void Scheduler::fork(std::vector<Task> tasks) {
  auto left = std::make_shared<std::size_t>(tasks.size());
  for (Task &task : tasks)
    start([left, task = std::move(task)] {
      struct Done {
        std::size_t &left;
        ~Done() { --left; }
      } done{*left};
      task();
    });
  wait([left] { return *left == 0; }, [] { return std::string(); });
}

void Scheduler::run(std::vector<Task> tasks,
                    const std::function<void(std::vector<std::string>)> &deadlock) {
  aborted = false;
  failure = nullptr;
  for (Task &task : tasks)
    start(std::move(task));
  while (alive > 0) {
    bool moved = false;
    std::size_t count = fibers.size(); // those forked meanwhile have their turn next time
    std::vector<Fiber *> order;
    for (std::size_t i = 0; i < count; ++i)
      order.push_back(fibers[i].get());
    if (random != 0)
      for (std::size_t i = count; i > 1; --i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        std::swap(order[i - 1], order[(random >> 33) % i]);
      }
    for (Fiber *fiber : order) {
      if (fiber->isDone || (fiber->ready && !aborted && !fiber->ready()))
        continue;
      fiber->ready = nullptr;
      resume(*fiber);
      moved = true;
    }
    for (std::unique_ptr<Fiber> &fiber : fibers)
      if (fiber->isDone)
        idle.push_back(std::move(fiber));
    std::erase(fibers, nullptr);
    if (moved || alive == 0)
      continue;
    std::vector<std::string> waits;
    for (const std::unique_ptr<Fiber> &fiber : fibers)
      if (std::string text = fiber->what(); !text.empty())
        waits.push_back(std::move(text));
    deadlock(std::move(waits));
    aborted = true;
  }
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
}

} // namespace tlc::interpret
