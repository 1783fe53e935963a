// Kernels from text, passes over them, and the interpreter as the judge.
#pragma once

#include "interpret/Compare.h"
#include "ir/Parse.h"
#include "ir/Print.h"
#include "ir/Walk.h"
#include "passes/PassManager.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tlc::test {

/// A function from text with everything a pass needs around it.
class TextKernel {
public:
  explicit TextKernel(const std::string &text, const char *targetName = "sm80")
      : target(*findTarget(targetName)) {
    function = ir::parseFunction(context, text, diagnostics);
    INFO(messages());
    REQUIRE(function);
    original = ir::clone(*function);
  }

  /// Runs the named passes (none: all); true if no error was reported.
  bool run(std::vector<std::string> names = {}, const std::string &stopAfter = "") {
    passes::PassContext pass{target, diagnostics, schedule, {}};
    passes::PipelineOptions options;
    options.only = std::move(names);
    options.stopAfter = stopAfter;
    return passes::runPasses(*function, pass, options).ok;
  }
  /// As above; errors fail the test.
  void mustRun(std::vector<std::string> names = {}, const std::string &stopAfter = "") {
    bool ok = run(std::move(names), stopAfter);
    INFO(messages());
    REQUIRE(ok);
  }

  std::string messages() const {
    std::string text;
    for (const Diagnostic &d : diagnostics.diagnostics())
      text += std::string(info(d.id).code) + " " + d.message + "\n";
    return text;
  }
  bool reported(diag::Id id) const {
    for (const Diagnostic &d : diagnostics.diagnostics())
      if (d.id == id)
        return true;
    return false;
  }

  /// What the function computes did not change; races and the like are faults too.
  void checkSame(std::vector<std::int64_t> dims = {}, std::vector<double> scalars = {},
                 double tolerance = -1) {
    interpret::CompareOptions options;
    options.dims = std::move(dims);
    options.scalars = std::move(scalars);
    options.tolerance = tolerance;
    options.after.oneThread = function->phase >= ir::Phase::Thread && !target.isGpu();
    std::string difference = interpret::compare(*original, *function, options);
    INFO(difference);
    if (!difference.empty())
      UNSCOPED_INFO(ir::print(*function));
    CHECK(difference.empty());
  }

  /// The function runs to its end, and nothing is wrong on the way (races, undefined reads …).
  void checkRuns(std::vector<std::int64_t> dims = {}, std::vector<double> scalars = {}) {
    interpret::CompareOptions options;
    options.dims = std::move(dims);
    options.scalars = std::move(scalars);
    interpret::Inputs inputs = interpret::makeInputs(*function, options);
    interpret::Result result = interpret::run(*function, inputs.args, inputs.dims);
    INFO(result.text());
    if (!result.ok())
      UNSCOPED_INFO(ir::print(*function));
    CHECK(result.ok());
  }

  std::string text() const { return ir::print(*function); }
  bool contains(const std::string &piece) const { return text().find(piece) != std::string::npos; }

  template <typename T> std::vector<T *> all() {
    std::vector<T *> found;
    for (auto &launch : function->launches)
      ir::walk(launch->body, [&](ir::Stmt &stmt) {
        if (auto *s = ir::dynCast<T>(&stmt))
          found.push_back(s);
        return true;
      });
    return found;
  }

  ir::Context context;
  DiagnosticEngine diagnostics;
  const Target &target;
  passes::Schedule schedule;
  std::unique_ptr<ir::Function> function, original;
};

} // namespace tlc::test
