// From a source to functions that are ready to be printed: parse, elaborate, passes. Shared by all
// verbs that compile.
#pragma once

#include "driver/Session.h"
#include "ir/Function.h"
#include "passes/Schedule.h"
#include "syntax/AST.h"
#include "target/Target.h"

#include <memory>
#include <string>
#include <vector>

namespace tlc {

/// The kernels of a source for one target. The context owns the expressions of the functions.
struct CompiledUnit {
  const Target *target = nullptr;
  std::unique_ptr<ir::Context> context;
  std::vector<std::unique_ptr<ir::Function>> functions;
  std::vector<std::string> imported;       ///< files read besides the source
  std::vector<passes::Schedule> schedules; ///< of the functions that went through the pipeline
};

/// The targets that the options name, all of one family and all supported; empty after an error
/// (reported).
std::vector<const Target *> chosenTargets(Session &session);

/// Parses a file; null after an error (reported).
std::unique_ptr<ast::Module> readModule(Session &session, const std::string &path);

/// Reads the text form of the IR instead (a .tlir source).
CompiledUnit readIr(Session &session, const std::string &path, const Target &target);

/// Builds the tile IR of every kernel that the options select.
CompiledUnit elaborateUnit(Session &session, const ast::Module &module, const Target &target);

/// Runs the pipeline, or `only` these passes, over every function; dumps, times and stops as the
/// options say. Stops at the first function with errors.
void runPipeline(Session &session, CompiledUnit &unit, const std::vector<std::string> &only = {});

/// Seconds spent in each step, for --time-passes.
void addTime(Session &session, std::string_view step, double seconds);

} // namespace tlc
