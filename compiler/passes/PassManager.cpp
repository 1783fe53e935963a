#include "passes/PassManager.h"

#include "ir/Verify.h"
#include "support/Check.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tlc::passes {

namespace {

constexpr bool betweenPhases(bool value) { return value; }

const Pass pipelineTable[] = {
#define TLC_PASS(FUNCTION, NAME, NEEDS, LEAVES, BETWEEN, SUMMARY)                                  \
  Pass{NAME, SUMMARY, ir::Phase::NEEDS, ir::Phase::LEAVES, betweenPhases(BETWEEN), &FUNCTION},
#include "passes/Passes.def"
#undef TLC_PASS
};

/// `fit` may ask for this pass to be run again with another schedule, so the state before it is
/// kept.
constexpr std::string_view retryPoint = "split-copies";

void check(const ir::Function &function, std::string_view after) {
  std::vector<ir::Fault> faults = ir::faults(function);
  TLC_CHECK(faults.empty(), "after " + std::string(after) + ": " + faults.front().message);
}

/// The passes to run, in order.
std::vector<const Pass *> chosen(const ir::Function &function, const PipelineOptions &options) {
  std::vector<const Pass *> list;
  if (!options.only.empty()) {
    for (const std::string &name : options.only) {
      const Pass *pass = findPass(name);
      TLC_CHECK(pass, "no pass is called " + name);
      list.push_back(pass);
    }
    return list;
  }
  for (const Pass &pass : pipelineTable)
    if (pass.needs >= function.phase)
      list.push_back(&pass);
  if (options.stopAfter.empty())
    return list;
  auto last = std::find_if(list.rbegin(), list.rend(),
                           [&](const Pass *pass) { return pass->name == options.stopAfter; });
  TLC_CHECK(last != list.rend(), "no pass is called " + options.stopAfter);
  list.erase(last.base(), list.end());
  return list;
}

} // namespace

std::span<const Pass> allPasses() { return pipelineTable; }

const Pass *findPass(std::string_view name) {
  for (const Pass &pass : pipelineTable)
    if (pass.name == name)
      return &pass;
  return nullptr;
}

PipelineResult runPasses(ir::Function &function, PassContext &context,
                         const PipelineOptions &options) {
  PipelineResult result;
  const std::vector<const Pass *> list = chosen(function, options);
  if (options.verify)
    check(function, "reading the input");
  std::unique_ptr<ir::Function> saved;
  std::size_t savedAt = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Pass &pass = *list[i];
    if (pass.name == retryPoint) {
      saved = ir::clone(function);
      savedAt = i;
    }
    if (options.before)
      options.before(pass);
    const auto start = std::chrono::steady_clock::now();
    pass.run(function, context);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    result.times.push_back({pass.name, spent.count()});
    if (context.failed())
      return result;
    // A pass picked by name may run in a later phase than its usual one (simplify).
    function.phase = std::max(function.phase, pass.leaves);
    if (options.verify && !pass.between)
      check(function, pass.name);
    if (options.after)
      options.after(pass, function);
    if (!std::exchange(context.retryFrom, {}).empty() && saved) {
      function = std::move(*saved);
      saved.reset();
      i = savedAt - 1; // the loop's increment makes it savedAt again, also from 0
    }
  }
  result.ok = true;
  return result;
}

std::string listPasses() {
  std::size_t width = 0;
  for (const Pass &pass : pipelineTable)
    width = std::max(width, pass.name.size());
  std::string text;
  for (const Pass &pass : pipelineTable) {
    text += pass.name;
    text.append(width + 2 - pass.name.size(), ' ');
    text += pass.summary;
    text += '\n';
  }
  return text;
}

} // namespace tlc::passes
