#include "driver/Report.h"

#include "ir/Walk.h"
#include "passes/plan/Footprint.h"
#include "passes/plan/Occupancy.h"
#include "support/TextWriter.h"

#include <algorithm>

namespace tlc {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

/// What one launch takes of a multiprocessor, read off the finished code.
class Resources {
public:
  Resources(const ir::Launch &launch, const Target &target) : launch(launch), target(target) {
    registers = passes::arrayRegisters(launch.body);
    ir::walk(launch.body, [&](const ir::Stmt &stmt) {
      if (auto *alloc = ir::dynCast<ir::AllocStmt>(&stmt); alloc && !alloc->buffer->base)
        note(*alloc->buffer);
      if (auto *barrier = ir::dynCast<ir::BarrierStmt>(&stmt))
        ++(barrier->scope == ir::BarrierScope::Block ? blockBarriers : otherBarriers);
      return true;
    });
  }

  void print(TextWriter &out) const {
    for (const std::string &note : launch.notes)
      out.line("// " + note);
    const std::int64_t producers = std::min(launch.extraThreads, target.limits.groupThreads());
    const std::int64_t ahead =
        launch.extraThreads - producers - (launch.computingThreads() - launch.threadCount());
    out.line("// threads " + text(launch.computingThreads()) +
             (ahead ? " + " + text(ahead) + " ahead of them" : "") +
             (producers ? " + " + text(producers) + " producers" : ""));
    out.line("// registers: " + text(registers) + " of " + text(target.limits.registersPerThread) +
             " for arrays of a thread");
    out.line("// shared memory: " + text(launch.sharedBytes) + " of " +
             text(target.limits.sharedPerBlockOptIn) + " bytes");
    for (const ir::Buffer *buffer : shared)
      out.line("//   " + described(*buffer));
    if (target.isGpu())
      out.line("// blocks on a multiprocessor: " + text(resident()) +
               " by threads and shared memory");
    out.line("// barriers: " + text(blockBarriers) + " of the block, " + text(otherBarriers) +
             " others");
  }

private:
  void note(const ir::Buffer &buffer) {
    if (buffer.scope == ir::Scope::Shared || buffer.scope == ir::Scope::Barrier)
      shared.push_back(&buffer);
  }

  static std::string described(const ir::Buffer &buffer) {
    std::string shape;
    for (ir::Expr extent : buffer.shape)
      shape += (shape.empty() ? "" : ", ") + text(extent.constant().value_or(0));
    std::string line = buffer.name + " ";
    line += buffer.scope == ir::Scope::Barrier ? "barriers" : buffer.dtype.str();
    line += "[" + shape + "]";
    if (buffer.versions > 1)
      line +=
          " x " + text(buffer.versions) + " stages, " + text(buffer.versionBytes) + " bytes each,";
    if (buffer.teams > 1)
      line += " x " + text(buffer.teams) + " teams, " + text(buffer.teamBytes) + " bytes apart,";
    return line + " at " + text(buffer.sharedOffset);
  }

  std::int64_t resident() const {
    std::int64_t threads = launch.threadCount() + launch.extraThreads;
    return passes::residentBlocks(target, threads, launch.sharedBytes);
  }

  const ir::Launch &launch;
  const Target &target;
  std::int64_t registers = 0, blockBarriers = 0, otherBarriers = 0;
  std::vector<const ir::Buffer *> shared;
};

} // namespace

std::string reportText(const CompiledUnit &unit) {
  TextWriter out;
  out.line("// for " + unit.target->name);
  for (std::size_t i = 0; i < unit.schedules.size(); ++i) {
    const ir::Function &function = *unit.functions[i];
    out.line("kernel " + function.name);
    const std::vector<passes::LaunchPlan> &plans = unit.schedules[i].launches;
    for (std::size_t l = 0; l < std::min(plans.size(), function.launches.size()); ++l) {
      passes::Schedule one;
      one.launches.push_back(plans[l]);
      one.launches.front().kernel.clear(); // said above
      out << passes::printSchedule(one);
      Resources(*function.launches[l], *unit.target).print(out);
    }
  }
  return out.take();
}

} // namespace tlc
