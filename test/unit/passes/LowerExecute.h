// Runs a kernel in the interpreter as it was made and after all lowering, and compares what it
// wrote.
#pragma once

#include "Kernels.h"

#include "interpret/Interpreter.h"
#include "passes/PassManager.h"

#include <cmath>

namespace tlc::test {

inline std::vector<interpret::Tensor> runKernel(const Function &function, bool oneThread) {
  std::vector<interpret::Tensor> tensors;
  for (const Param &p : function.params) {
    tensors.emplace_back(p.buffer->dtype, *p.buffer->constantShape());
    if (!p.buffer->output)
      tensors.back().fillRandom(7 + tensors.size());
  }
  std::vector<interpret::Argument> args(tensors.begin(), tensors.end());
  interpret::Options options;
  options.oneThread = oneThread;
  interpret::Result result = interpret::run(function, args, {}, options);
  INFO(result.text());
  if (!result.ok())
    UNSCOPED_INFO(print(function));
  CHECK(result.ok());
  return tensors;
}

/// Passes from select-atoms to insert-sync; errors of values relative to the largest value stay
/// below `tolerance`.
inline void checkLowering(Kernel &kernel, const char *targetName, double tolerance = 1e-5) {
  const Target &target = *findTarget(targetName);
  std::vector<interpret::Tensor> before = runKernel(*kernel.function, false);
  DiagnosticEngine diagnostics;
  passes::Schedule schedule;
  passes::PassContext context{target, diagnostics, schedule, {}};
  passes::PipelineOptions options;
  options.only = {"bounds",          "select-atoms", "infer-layouts", "lower-convert",
                  "lower-gemm",      "lower-reduce", "lower-scan",    "lower-map",
                  "lower-addresses", "plan-shared",  "insert-sync"};
  passes::PipelineResult done = passes::runPasses(*kernel.function, context, options);
  for (const Diagnostic &d : diagnostics.diagnostics())
    INFO(d.message);
  REQUIRE(done.ok);
  std::vector<interpret::Tensor> after = runKernel(*kernel.function, !target.isGpu());
  for (std::size_t t = 0; t < before.size(); ++t) {
    double most = 1e-30, worst = 0;
    for (std::int64_t i = 0; i < before[t].count(); ++i) {
      double x = before[t].at(i), y = after[t].at(i);
      most = std::max(most, std::abs(x));
      worst = x == y ? worst : std::max(worst, std::isfinite(x - y) ? std::abs(x - y) : 1e30);
    }
    INFO(kernel.function->params[t].name << ": " << worst << " of " << most);
    if (worst > tolerance * most)
      UNSCOPED_INFO(print(*kernel.function));
    CHECK(worst <= tolerance * most);
  }
}

} // namespace tlc::test
