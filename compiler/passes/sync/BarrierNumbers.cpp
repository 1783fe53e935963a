#include "passes/sync/BarrierNumbers.h"

#include "ir/Walk.h"

namespace tlc::passes {

using namespace ir;

BarrierNumbers::BarrierNumbers(const Launch &launch, const Target &target,
                               DiagnosticEngine &diagnostics)
    : target(target), diagnostics(diagnostics) {
  read(launch.body, {0, launch.threadCount() + launch.extraThreads});
}

void BarrierNumbers::read(const Block &block, Threads threads) {
  for (const StmtPtr &stmt : block) {
    Threads inside = threads;
    if (const auto *role = dynCast<RoleStmt>(stmt.get())) {
      inside = {threads.first + role->first, role->threads()};
      roles[role] = inside;
    }
    const auto *barrier = dynCast<BarrierStmt>(stmt.get());
    if (barrier && barrier->scope == BarrierScope::Named && barrier->id.constant()) {
      used.insert(*barrier->id.constant());
      // One that find-roles made of T.sync_threads() serves the same threads again.
      if (!barrier->userWritten)
        numbers.emplace(threads, *barrier->id.constant());
    }
    forEachBlock(std::as_const(*stmt), [&](const Block &inner) { read(inner, inside); });
  }
}

std::int64_t BarrierNumbers::of(const RoleStmt &role) {
  auto [entry, isNew] = numbers.emplace(roles[&role], 0);
  if (!isNew)
    return entry->second;
  const std::optional<std::int64_t> number = reserve(role.teams);
  if (!number)
    diagnostics.report(diag::NoNamedBarrier, role.range, target.name, target.limits.namedBarriers);
  return entry->second = number.value_or(1);
}

std::optional<std::int64_t> BarrierNumbers::reserve(std::int64_t count) {
  std::int64_t first = 1;
  for (std::int64_t number = first; number < first + count; ++number)
    if (used.count(number))
      first = number + 1;
  if (first + count > target.limits.namedBarriers)
    return std::nullopt;
  for (std::int64_t number = first; number < first + count; ++number)
    used.insert(number);
  return first;
}

} // namespace tlc::passes
