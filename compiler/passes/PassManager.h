// Runs the pipeline, or a chosen list of passes, with checks between them.
#pragma once

#include "passes/Pass.h"

#include <functional>
#include <string>
#include <vector>

namespace tlc::passes {

struct PipelineOptions {
  /// Runs only these, in this order; empty: the whole pipeline from the function's phase on.
  std::vector<std::string> only;
  /// Stops after the last pass of this name; empty: runs all.
  std::string stopAfter;
  /// Verifies the function before the first pass and after each (--no-verify turns it off).
  bool verify = true;
  /// Called before each pass, so that a fault of the compiler can name it.
  std::function<void(const Pass &)> before;
  /// Called after each pass that ran.
  std::function<void(const Pass &, const ir::Function &)> after;
};

struct PassTime {
  std::string_view name;
  double seconds = 0;
};

struct PipelineResult {
  bool ok = false; ///< no errors were reported
  std::vector<PassTime> times;
};

/// Throws InternalError if the verifier objects to what a pass left; the message names the pass.
/// Unknown names in the options are a TLC_CHECK: the driver checks them with findPass.
PipelineResult runPasses(ir::Function &function, PassContext &context,
                         const PipelineOptions &options = {});

/// The table for --list-passes.
std::string listPasses();

} // namespace tlc::passes
