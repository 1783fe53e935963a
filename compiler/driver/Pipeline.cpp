#include "driver/Pipeline.h"

#include "driver/Files.h"
#include "elaborate/Elaborate.h"
#include "emit/Emit.h"
#include "ir/Parse.h"
#include "ir/Print.h"
#include "parse/Parser.h"
#include "passes/PassManager.h"
#include "support/Names.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <unistd.h>

namespace tlc {
namespace {

std::string_view familyName(Family family) {
  return family == Family::Cuda ? "CUDA" : family == Family::Hip ? "HIP" : "CPU";
}

const Target *lookUp(Session &session, const std::string &name) {
  const Target *target = findTarget(name);
  if (target && target->supported())
    return target;
  if (target) {
    session.diagnostics.report(diag::UnsupportedTarget, {}, name, target->missing)
        .note("supported are " + supportedTargetNames());
    return nullptr;
  }
  std::vector<std::string_view> names;
  for (const Target &other : allTargets())
    names.push_back(other.name);
  auto builder = session.diagnostics.report(diag::UnknownTarget, {}, name);
  if (std::string_view near = didYouMean(name, names); !near.empty())
    builder.help("did you mean `" + std::string(near) + "`?");
  else
    builder.note("supported are " + supportedTargetNames());
  return nullptr;
}

// An --instantiate value that names a file stands for the lines in it.
std::vector<std::string> instantiations(Session &session) {
  std::vector<std::string> out;
  for (const std::string &value : session.options.instantiations) {
    std::ifstream file;
    if (value.find('(') == std::string::npos)
      file.open(value);
    if (value.find_first_not_of(' ') == std::string::npos)
      session.diagnostics.report(diag::BadInstantiation, {}, value, "there is nothing in it");
    if (!file.is_open()) {
      out.push_back(value);
      continue;
    }
    for (std::string line; std::getline(file, line);)
      if (line.find_first_not_of(" \t\r") != std::string::npos &&
          line[line.find_first_not_of(" \t")] != '#')
        out.push_back(line);
  }
  return out;
}

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Prints the IR after the passes that the options name; --dump-dir makes files of it, numbered in
/// order.
class Dumper {
public:
  Dumper(Session &session, const CompiledUnit &unit) : session(session), unit(unit) {}

  void operator()(std::string_view pass, const ir::Function &function) {
    const Options &options = session.options;
    ++number;
    if (!options.dumpIr)
      return;
    if (!options.dumpAfter.empty() && std::find(options.dumpAfter.begin(), options.dumpAfter.end(),
                                                pass) == options.dumpAfter.end())
      return;
    std::string text = ir::print(function);
    if (options.dumpDir.empty()) {
      std::cerr << "// " << function.name << " for " << unit.target->name << " after " << pass
                << "\n"
                << text << "\n";
      return;
    }
    std::error_code error;
    std::filesystem::create_directories(options.dumpDir, error);
    std::string count = std::to_string(number);
    std::string path = options.dumpDir + "/" + function.name + "." + unit.target->name + "." +
                       std::string(count.size() < 2 ? "0" : "") + count + "." + std::string(pass) +
                       ".tlir";
    if (std::string reason = writeFile(path, text); !reason.empty())
      session.diagnostics.report(diag::CannotWrite, {}, path, reason);
  }

private:
  Session &session;
  const CompiledUnit &unit;
  unsigned number = 0;
};

bool knownPasses(Session &session, const std::vector<std::string> &names) {
  bool known = true;
  std::vector<std::string_view> all;
  for (const passes::Pass &pass : passes::allPasses())
    all.push_back(pass.name);
  for (const std::string &name : names) {
    if (passes::findPass(name) || name == "elaborate")
      continue;
    known = false;
    auto builder = session.diagnostics.report(diag::UnknownPass, {}, name);
    if (std::string_view near = didYouMean(name, all); !near.empty())
      builder.help("did you mean `" + std::string(near) + "`?");
  }
  return known;
}

// False after an error (reported). An empty schedule leaves everything to the planner.
bool readSchedule(Session &session, passes::Schedule &schedule) {
  const std::string &path = session.options.scheduleFile;
  if (path.empty())
    return true;
  std::string error;
  std::optional<std::uint32_t> file = session.sources.load(path, error);
  if (!file) {
    session.diagnostics.report(diag::CannotRead, {}, path, error)
        .note("--schedule takes planned, as-written, or a schedule file");
    return false;
  }
  passes::ScheduleError fault;
  std::optional<passes::Schedule> parsed =
      passes::parseSchedule(session.sources.text(*file), fault);
  if (!parsed) {
    std::uint32_t begin = session.sources.lineStart(*file, std::max(1u, fault.line));
    SourceRange range{*file, begin,
                      begin +
                          static_cast<std::uint32_t>(
                              session.sources.lineText(*file, std::max(1u, fault.line)).size())};
    session.diagnostics.report(diag::BadSchedule, range, fault.message);
    return false;
  }
  schedule = std::move(*parsed);
  schedule.given = true;
  return true;
}

// A schedule file is for some kernel of the source, or it is a mistake.
bool speaksOf(Session &session, const passes::Schedule &schedule, const CompiledUnit &unit) {
  bool any = schedule.launches.empty();
  for (const auto &function : unit.functions)
    any |= !passes::scheduleFor(schedule, function->name).launches.empty();
  if (!any)
    session.diagnostics.report(diag::BadSchedule, {},
                               "it is for kernel `" + schedule.launches.front().kernel +
                                   "`, which is not compiled here");
  return any;
}

} // namespace

void addTime(Session &session, std::string_view step, double seconds) {
  auto found = std::find_if(session.times.begin(), session.times.end(),
                            [&](auto &entry) { return entry.first == step; });
  if (found == session.times.end())
    session.times.emplace_back(step, seconds);
  else
    found->second += seconds;
}

std::vector<const Target *> chosenTargets(Session &session) {
  std::vector<const Target *> out;
  if (session.options.targets.empty()) {
    session.diagnostics.report(diag::MissingTarget, {})
        .help("add --target=sm90, --target=cpu or another of `tlc targets`");
    return {};
  }
  for (const std::string &name : session.options.targets) {
    const Target *target = lookUp(session, name);
    if (!target)
      return {};
    if (!out.empty() && out.front()->family != target->family) {
      session.diagnostics.report(diag::MixedFamilies, {}, out.front()->name, name,
                                 familyName(out.front()->family), familyName(target->family));
      return {};
    }
    if (std::find(out.begin(), out.end(), target) == out.end())
      out.push_back(target);
  }
  if (std::string reason = emit::whyNotTogether(out); !reason.empty()) {
    session.diagnostics.report(diag::TargetsApart, {}, reason);
    return {};
  }
  return emit::sortedTargets(out);
}

std::unique_ptr<ast::Module> readModule(Session &session, const std::string &path) {
  session.step = "parse";
  Stopwatch watch;
  std::string error;
  std::optional<std::uint32_t> file = session.sources.load(path, error);
  if (!file) {
    session.diagnostics.report(diag::CannotRead, {}, path, error);
    return nullptr;
  }
  std::unique_ptr<ast::Module> module = parse(session.sources, *file, session.diagnostics);
  addTime(session, "parse", watch.seconds());
  return module;
}

CompiledUnit readIr(Session &session, const std::string &path, const Target &target) {
  session.step = "reading IR";
  CompiledUnit unit{&target, std::make_unique<ir::Context>(), {}, {}, {}};
  std::string error;
  std::optional<std::uint32_t> file = session.sources.load(path, error);
  if (!file)
    session.diagnostics.report(diag::CannotRead, {}, path, error);
  else
    unit.functions =
        ir::parse(*unit.context, session.sources.text(*file), session.diagnostics, *file);
  return unit;
}

CompiledUnit elaborateUnit(Session &session, const ast::Module &module, const Target &target) {
  session.step = "elaborate";
  Stopwatch watch;
  const Options &options = session.options;
  ElaborateOptions settings;
  settings.defines = options.defines;
  settings.instantiations = instantiations(session);
  settings.kernels = options.kernels;
  settings.assumptions = options.assumptions;
  settings.includeDirs = options.includeDirs;
  settings.standardLibrary = sharedPath("stdlib");
  settings.name = options.name;
  settings.prefix = options.prefix;
  settings.fastMath = options.fastMath;
  settings.hintsAreBinding = options.asWritten;
  settings.parseFile = [&](std::uint32_t file) {
    return parse(session.sources, file, session.diagnostics);
  };
  settings.parseExpression = [&](std::uint32_t file) {
    return parseExpression(session.sources, file, session.diagnostics);
  };

  CompiledUnit unit{&target, std::make_unique<ir::Context>(), {}, {}, {}};
  ElaborateResult result = elaborateModule(module, session.sources, session.diagnostics, target,
                                           *unit.context, settings);
  unit.functions = std::move(result.functions);
  unit.imported = std::move(result.imported);
  addTime(session, "elaborate", watch.seconds());
  return unit;
}

void runPipeline(Session &session, CompiledUnit &unit, const std::vector<std::string> &only) {
  const Options &options = session.options;
  std::vector<std::string> named = only;
  named.insert(named.end(), options.dumpAfter.begin(), options.dumpAfter.end());
  if (!options.stopAfter.empty())
    named.push_back(options.stopAfter);
  passes::Schedule given;
  if (!knownPasses(session, named) || !readSchedule(session, given) ||
      !speaksOf(session, given, unit))
    return;

  for (std::unique_ptr<ir::Function> &function : unit.functions) {
    session.kernel = function->name + " for " + unit.target->name;
    Dumper dump(session, unit);
    dump("elaborate", *function);
    if (options.stopAfter == "elaborate")
      continue;
    passes::Schedule &schedule =
        unit.schedules.emplace_back(passes::scheduleFor(given, function->name));
    passes::PassContext context{*unit.target, session.diagnostics, schedule};
    passes::PipelineOptions settings;
    settings.only = only;
    settings.stopAfter = options.stopAfter;
    settings.before = [&](const passes::Pass &pass) {
      session.step = "pass " + std::string(pass.name);
    };
    settings.after = [&](const passes::Pass &pass, const ir::Function &f) { dump(pass.name, f); };
    passes::PipelineResult result = passes::runPasses(*function, context, settings);
    for (const passes::PassTime &time : result.times)
      addTime(session, time.name, time.seconds);
    if (!result.ok)
      return;
  }
  session.kernel.clear();
}

} // namespace tlc
