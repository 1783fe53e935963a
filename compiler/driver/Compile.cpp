// `tlc build`, `tlc check` and `tlc opt`: which steps a verb takes, and what it writes.
#include "driver/Emission.h"
#include "driver/Files.h"
#include "driver/Outputs.h"
#include "driver/Pipeline.h"
#include "driver/Report.h"
#include "emit/Interface.h"
#include "ir/Print.h"
#include "passes/PassManager.h"
#include "syntax/PrintAST.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>

namespace tlc {
namespace {

std::string irText(const std::vector<CompiledUnit> &units) {
  std::string text;
  for (const CompiledUnit &unit : units)
    for (const auto &function : unit.functions)
      text += (text.empty() ? "" : "\n") + ir::print(*function);
  return text;
}

void printTimes(const Session &session) {
  double total = 0;
  for (const auto &[step, seconds] : session.times)
    total += seconds;
  for (const auto &[step, seconds] : session.times)
    std::cerr << std::left << std::setw(24) << step << std::right << std::fixed
              << std::setprecision(3) << std::setw(10) << seconds * 1e3 << " ms" << std::setw(8)
              << std::setprecision(1) << (total > 0 ? 100 * seconds / total : 0) << " %\n";
  std::cerr << std::left << std::setw(24) << "total" << std::right << std::setw(10)
            << std::setprecision(3) << total * 1e3 << " ms\n";
}

// The C names of kernels are unlike each other and unlike what C, C++ and CUDA have. The latter are
// renamed, because TileLang files call kernels `main`.
void checkSymbols(Session &session, const CompiledUnit &unit) {
  std::map<std::string, const ir::Function *> owners;
  for (const auto &function : unit.functions) {
    std::string plain = session.options.prefix + function->name;
    std::string symbol = emit::symbolOf(function->name, session.options.prefix);
    if (symbol == "kernel_" + plain)
      session.diagnostics.report(diag::KernelRenamed, function->range, function->name, symbol)
          .help("--name or --prefix choose another name");
    for (const std::string &name : emit::globalNames(symbol)) {
      auto [it, isNew] = owners.emplace(name, function.get());
      if (isNew)
        continue;
      session.diagnostics
          .report(diag::SymbolsClash, function->range, it->second->name, function->name, name)
          .label(it->second->range, "the other one");
      break;
    }
  }
}

// Every kernel of `path` for every target, as far as the options say. Stops early after errors.
std::vector<CompiledUnit> compile(Session &session, const std::string &path,
                                  const std::vector<const Target *> &targets,
                                  const ast::Module *module) {
  std::vector<CompiledUnit> units;
  for (const Target *target : targets) {
    units.push_back(module ? elaborateUnit(session, *module, *target)
                           : readIr(session, path, *target));
    if (target == targets.front())
      checkSymbols(session, units.back());
    if (session.diagnostics.hasErrors())
      continue; // errors in the source may differ between targets: show them all
    runPipeline(session, units.back());
  }
  return units;
}

void addEmitted(Session &session, const std::vector<CompiledUnit> &units, const OutputNames &names,
                std::vector<Output> &outputs) {
  emit::EmittedFiles files = emitUnits(session, units, names);
  // The header first: whoever waits for the source finds it there.
  if (!names.header.empty())
    outputs.push_back({names.header, std::move(files.header), true});
  if (!names.metadata.empty())
    outputs.push_back({names.metadata, std::move(files.metadata), true});
  if (!names.source.empty())
    outputs.push_back({names.source, std::move(files.source)});
}

std::string dependencies(const Session &session, const std::vector<CompiledUnit> &units,
                         const OutputNames &names) {
  std::vector<std::string> made, read;
  // One target only: a header that is left alone when nothing changed would make Make rebuild for
  // ever.
  for (const std::string &name : {names.source, names.header, names.metadata})
    if (made.empty() && !name.empty() && name != "-")
      made.push_back(name);
  auto add = [&](const std::string &path) {
    if (path != "-" && std::find(read.begin(), read.end(), path) == read.end())
      read.push_back(path);
  };
  add(session.options.sources.front());
  for (const CompiledUnit &unit : units)
    for (const std::string &path : unit.imported)
      add(path);
  if (!session.options.scheduleFile.empty())
    add(session.options.scheduleFile);
  for (const std::string &value : session.options.instantiations)
    if (std::filesystem::is_regular_file(value))
      add(value);
  return depfileText(made, read);
}

bool isIr(const std::string &path) { return path.ends_with(".tlir"); }

int buildSource(Session &session) {
  const Options &options = session.options;
  const std::string &path = options.sources.front();
  std::vector<const Target *> targets;
  bool onlySyntax = options.emit.ast && !options.emit.source && !options.emit.header &&
                    !options.emit.ir && !options.emit.metadata;
  if (!onlySyntax && (targets = chosenTargets(session)).empty())
    return session.exitStatus();
  OutputNames names = outputNames(session, targets.empty() ? nullptr : targets.front());
  if (session.diagnostics.hasErrors())
    return session.exitStatus();

  std::unique_ptr<ast::Module> module;
  if (!isIr(path) && !(module = readModule(session, path)))
    return session.exitStatus();
  std::vector<Output> outputs;
  if (!names.ast.empty() && module)
    outputs.push_back({names.ast, ast::print(*module, session.sources)});
  std::vector<CompiledUnit> units = compile(session, path, targets, module.get());
  if (session.diagnostics.hasErrors())
    return session.exitStatus();

  if (!names.ir.empty())
    outputs.push_back({names.ir, irText(units)});
  if (!names.source.empty() || !names.header.empty() || !names.metadata.empty())
    addEmitted(session, units, names, outputs);
  if (!names.depfile.empty())
    outputs.push_back({names.depfile, dependencies(session, units, names)});
  writeOutputs(session, outputs);
  return session.exitStatus();
}

} // namespace

int runBuild(Session &session) {
  if (session.options.listPasses) {
    std::cout << passes::listPasses();
    return 0;
  }
  int status = buildSource(session);
  if (session.options.timePasses)
    printTimes(session);
  return status;
}

int runCheck(Session &session) {
  std::vector<const Target *> targets;
  if (!session.options.syntaxOnly && (targets = chosenTargets(session)).empty())
    return session.exitStatus();
  for (const std::string &path : session.options.sources) {
    std::unique_ptr<ast::Module> module;
    if (!isIr(path) && !(module = readModule(session, path)))
      continue;
    if (!session.options.syntaxOnly)
      compile(session, path, targets, module.get());
  }
  if (session.options.timePasses)
    printTimes(session);
  return session.exitStatus();
}

int runReport(Session &session) {
  std::vector<const Target *> targets = chosenTargets(session);
  if (targets.empty())
    return session.exitStatus();
  if (targets.size() > 1) { // a schedule is one target's
    session.diagnostics.report(diag::BadCommandLine, {}, "a report is for one target at a time");
    return session.exitStatus();
  }
  const std::string &path = session.options.sources.front();
  std::unique_ptr<ast::Module> module;
  if (!isIr(path) && !(module = readModule(session, path)))
    return session.exitStatus();
  std::vector<CompiledUnit> units = compile(session, path, targets, module.get());
  if (!session.diagnostics.hasErrors())
    writeOutputs(session, {{session.options.output.empty() ? "-" : session.options.output,
                            reportText(units.front())}});
  return session.exitStatus();
}

int runOpt(Session &session) {
  const Options &options = session.options;
  if (options.listPasses) {
    std::cout << passes::listPasses();
    return 0;
  }
  std::vector<const Target *> targets = chosenTargets(session);
  if (targets.empty())
    return session.exitStatus();
  std::vector<CompiledUnit> units;
  for (const Target *target : targets) {
    units.push_back(readIr(session, options.sources.front(), *target));
    if (!session.diagnostics.hasErrors())
      runPipeline(session, units.back(), options.passes);
  }
  writeOutputs(session, {{options.output.empty() ? "-" : options.output, irText(units)}});
  if (options.timePasses)
    printTimes(session);
  return session.exitStatus();
}

} // namespace tlc
