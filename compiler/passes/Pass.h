// What a pass is, and what it is given.
//
// A pass is a function in a file of its own that changes one ir::Function in place. It reports what
// the user did wrong to `diagnostics` and returns; what cannot happen is a TLC_CHECK. It asks
// `target` for features and atoms and does nothing where they are absent: targets do not fork the
// pipeline.
#pragma once

#include "ir/Function.h"
#include "passes/Schedule.h"
#include "support/Diagnostics.h"
#include "target/Target.h"

#include <span>
#include <string>
#include <string_view>

namespace tlc::passes {

struct PassContext {
  const Target &target;
  DiagnosticEngine &diagnostics;
  /// What was decided for each launch: given by the user (--schedule=FILE), completed by `plan`,
  /// followed by the passes after it.
  Schedule &schedule;
  /// Set by `fit` after it changed the schedule: the manager goes back to the state before this
  /// pass.
  std::string_view retryFrom = {};

  /// Fails the function: later passes are not run. Reporting an error has the same effect.
  bool failed() const { return diagnostics.hasErrors(); }
};

using PassFunction = void (*)(ir::Function &, PassContext &);

struct Pass {
  std::string_view name;    ///< as in --dump-ir and --passes
  std::string_view summary; ///< one line for --list-passes
  ir::Phase needs, leaves;  ///< phase of the function before and after
  /// Whether the function may lie between two phases afterwards (some tile ops are lowered, some
  /// are not): then it is not verified.
  bool between;
  PassFunction run;
};

/// The pipeline in its order; a name may occur twice.
std::span<const Pass> allPasses();
/// The first of that name; null if there is none.
const Pass *findPass(std::string_view name);

#define TLC_PASS(FUNCTION, NAME, NEEDS, LEAVES, BETWEEN, SUMMARY)                                  \
  void FUNCTION(ir::Function &, PassContext &);
#include "passes/Passes.def"
#undef TLC_PASS

} // namespace tlc::passes
