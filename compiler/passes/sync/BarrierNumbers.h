// Numbers of named barriers: one for each set of threads that needs a barrier of its own.
#pragma once

#include "ir/Function.h"
#include "support/Diagnostics.h"
#include "target/Target.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tlc::passes {

/// Barrier 0 is the whole block's; numbers that the launch uses already are left alone, unless they
/// are of a barrier of the same threads.
class BarrierNumbers {
public:
  BarrierNumbers(const ir::Launch &launch, const Target &target, DiagnosticEngine &diagnostics);

  /// The number for the threads of a role of the launch. Reports if none is left.
  std::int64_t of(const ir::RoleStmt &role);

  /// The first of `count` numbers in a row that nobody uses; nothing if there are none.
  std::optional<std::int64_t> reserve(std::int64_t count);

private:
  /// First thread of the block and their count.
  using Threads = std::pair<std::int64_t, std::int64_t>;
  void read(const ir::Block &block, Threads threads);

  const Target &target;
  DiagnosticEngine &diagnostics;
  std::map<const ir::RoleStmt *, Threads> roles;
  std::map<Threads, std::int64_t> numbers;
  std::set<std::int64_t> used;
};

} // namespace tlc::passes
