// `tlc run`: one call of one kernel, interpreted, on the CPU or on the emulator.
#include "driver/Outputs.h"
#include "driver/run/Results.h"
#include "passes/PassManager.h"
#include "support/Check.h"

#include <algorithm>
#include <iostream>

namespace tlc {

using namespace run;

namespace {

constexpr std::string_view interpreterName = "interpret";

bool needsEmulator(const RunOptions &options) {
  return options.keepGoing || !options.order.empty();
}

/// What the source is elaborated for if nothing is compiled: the machine with the most features.
constexpr std::string_view interpretedTarget = "sm90";

const Target *chooseTarget(Session &session, bool interprets) {
  if (!session.options.run.emulate && needsEmulator(session.options.run)) {
    session.diagnostics.report(diag::BadCommandLine, {},
                               "--order and --keep-going are for --emulate");
    return nullptr;
  }
  if (interprets)
    return findTarget(interpretedTarget);
  std::vector<const Target *> targets = chosenTargets(session);
  if (targets.empty())
    return nullptr;
  if (targets.size() > 1) {
    session.diagnostics.report(diag::BadCommandLine, {}, "one target at a time");
    return nullptr;
  }
  const Target *target = targets.front();
  if (!target->isGpu() && wantsCounts(session.options.run)) {
    session.diagnostics.report(diag::BadCommandLine, {},
                               "nothing is counted on the CPU: --counts is for --emulate and "
                               "--target=interpret");
    return nullptr;
  }
  if (target->isGpu() == session.options.run.emulate)
    return target;
  if (target->isGpu())
    session.diagnostics.report(diag::RunNeedsEmulator, {}, target->name).help("add --emulate");
  else
    session.diagnostics.report(diag::BadCommandLine, {},
                               "--emulate is for GPUs, and the target is " + target->name);
  return nullptr;
}

/// The kernels of the source as tile IR.
CompiledUnit readKernels(Session &session, const Target &target) {
  const std::string &path = session.options.sources.front();
  if (path.ends_with(".tlir"))
    return readIr(session, path, target);
  std::unique_ptr<ast::Module> module = readModule(session, path);
  return module ? elaborateUnit(session, *module, target) : CompiledUnit{};
}

bool chooseKernel(Session &session, CompiledUnit &unit) {
  const std::vector<std::string> &wanted = session.options.kernels;
  std::string names;
  // Of the text form everything was read.
  bool isChosen = wanted.size() == 1 && session.options.sources.front().ends_with(".tlir");
  if (isChosen && std::none_of(unit.functions.begin(), unit.functions.end(),
                               [&](const auto &f) { return f->name == wanted.front(); })) {
    session.diagnostics.report(diag::UnknownKernel, {}, wanted.front(), "");
    return false;
  }
  if (isChosen)
    std::erase_if(unit.functions, [&](const auto &f) { return f->name != wanted.front(); });
  if (unit.functions.size() == 1)
    return true;
  for (const auto &function : unit.functions)
    names += (names.empty() ? "" : ", ") + function->name;
  session.diagnostics
      .report(diag::RunManyKernels, {}, session.options.sources.front(), unit.functions.size())
      .help("--kernel=NAME with one of " + names);
  return false;
}

void showCounts(Session &session, const Call &call, const Outcome &outcome,
                std::string_view target) {
  const RunOptions &options = session.options.run;
  if (options.counts)
    std::cout << countsTable(session, outcome.counts);
  if (!options.countsFile.empty())
    writeOutputs(session, {{options.countsFile,
                            countsJson(session, call.function->name, target, outcome.counts)}});
}

void runCall(Session &session, CompiledUnit &unit, bool interprets) {
  // The passes change the function; the interpreter runs what the source says. It has to know which
  // threads a statement is for, where the source says so by a branch.
  std::unique_ptr<ir::Function> original = ir::clone(*unit.functions.front());
  passes::Schedule none;
  passes::PassContext context{*unit.target, session.diagnostics, none};
  passes::PipelineOptions roles;
  roles.only = {"find-roles"};
  if (!passes::runPasses(*original, context, roles).ok)
    return;
  std::optional<Call> call = bindCall(session, *original);
  if (!call)
    return;
  if (!interprets)
    runPipeline(session, unit);
  if (session.diagnostics.hasErrors())
    return;
  std::optional<Outcome> outcome =
      interprets ? interpretCall(session, *call, Prints::Shown) : executeCall(session, *call, unit);
  if (!outcome)
    return;
  std::cout << summary(*call, *outcome);
  showCounts(session, *call, *outcome,
             interprets ? interpreterName : std::string_view(unit.target->name));
  writeResults(session, *call, *outcome);
  if (!session.options.run.compare || interprets)
    return;
  if (std::optional<Outcome> expected = interpretCall(session, *call, Prints::Hidden))
    std::cout << compareResults(session, *call, *expected, *outcome);
}

} // namespace

int runRun(Session &session) {
  bool interprets =
      session.options.targets == std::vector<std::string>{std::string(interpreterName)};
  const Target *target = chooseTarget(session, interprets);
  if (!target)
    return session.exitStatus();
  CompiledUnit unit = readKernels(session, *target);
  if (!session.diagnostics.hasErrors() && chooseKernel(session, unit))
    runCall(session, unit, interprets);
  return session.exitStatus();
}

} // namespace tlc
