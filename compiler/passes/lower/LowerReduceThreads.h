// Values of which the threads of a role hold parts, folded over digits of the thread index: what
// reductions and deferred accumulators have in common.
#pragma once

#include "layout/Layout.h"
#include "passes/lower/LowerReduceOps.h"
#include "passes/lower/LowerRole.h"

#include <string>
#include <vector>

namespace tlc::passes {

/// Lanes of a warp are folded by butterflies over exactly the bits asked for, threads beyond a warp
/// (or of odd number) by an exchange through shared memory.
class ThreadFold {
public:
  ThreadFold(ir::Builder &b, const Folder &folder, const RoleThreads &threads,
             const Target &target);

  /// The digit of the thread index at `place` tells parts apart.
  void over(Index place, Index radix);
  /// Folds the first `results` values of `acc` (registers, of the folder's type); afterwards all
  /// threads that held parts hold the result. `held`: (reg, thread) -> coordinates of the result
  /// that a thread has there. `writer` is true in one of the threads that hold equal parts; null:
  /// all differ. `name` is for the exchange's tile.
  void run(ir::Buffer &acc, Index results, const Layout &held, ir::Expr writer,
           const std::string &name);

private:
  /// A digit of the thread index.
  struct Digit {
    Index place = 1, radix = 1;
  };

  ir::Expr digitOf(const Digit &d) const;
  void butterflies(ir::Buffer &acc, Index results);
  void exchange(ir::Buffer &acc, Index results, const Layout &held, ir::Expr writer,
                const std::string &name);

  ir::Builder &b;
  ir::Context &context;
  const Folder &folder;
  const RoleThreads &threads;
  const Target &target;
  std::vector<Digit> lanes, beyond;
};

} // namespace tlc::passes
