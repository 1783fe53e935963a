#include "driver/Emission.h"

#include "driver/Version.h"
#include "support/Check.h"

#include <chrono>
#include <filesystem>

namespace tlc {
namespace {

// The same kernel as each target runs it, by name.
std::vector<emit::FunctionVariants> variants(std::span<const CompiledUnit> units) {
  std::vector<emit::FunctionVariants> out;
  for (const auto &function : units.front().functions) {
    emit::FunctionVariants &entry = out.emplace_back();
    for (const CompiledUnit &unit : units)
      for (const auto &candidate : unit.functions)
        if (candidate->name == function->name)
          entry.perTarget.push_back(candidate.get());
    TLC_CHECK(entry.perTarget.size() == units.size(),
              "kernel " + function->name + " is missing for a target");
  }
  return out;
}

std::string fileName(const std::string &path) {
  return path == "-" || path.empty() ? std::string()
                                     : std::filesystem::path(path).filename().string();
}

/// How comments and line directives name a file. A comment for readers needs no folders; a tool
/// that looks the file up must find it.
std::string nameInText(const Session &session, const std::string &path) {
  bool isLookedUp = session.options.lineDirectives || session.options.verb == Verb::Run;
  return isLookedUp ? path : fileName(path);
}

} // namespace

emit::EmittedFiles emitUnits(Session &session, std::span<const CompiledUnit> units,
                             const OutputNames &names) {
  session.step = "emit";
  const Options &options = session.options;
  auto start = std::chrono::steady_clock::now();
  emit::Options settings;
  for (const CompiledUnit &unit : units)
    settings.targets.push_back(unit.target);
  std::string suffix(emit::sourceSuffix(units.front().target->family));
  const std::string &source = options.sources.front();
  settings.sourceName = source == "-" ? "standard input" : fileName(source);
  settings.outputName =
      names.source == "-" || names.source.empty() ? "kernel" + suffix : fileName(names.source);
  settings.headerName = names.header.empty() ? std::string() : headerInclude(names);
  settings.version = versionNumber();
  settings.prefix = options.prefix;
  settings.runtime =
      options.includeRuntime ? emit::RuntimeStyle::Include : emit::RuntimeStyle::Inline;
  settings.checks = options.checks == HostChecks::Full    ? emit::CheckLevel::Full
                    : options.checks == HostChecks::Cheap ? emit::CheckLevel::Cheap
                                                          : emit::CheckLevel::None;
  settings.lineDirectives = options.lineDirectives;
  settings.locate = [&](SourceRange range) -> emit::SourceLine {
    if (!range.valid())
      return {};
    return {nameInText(session, session.sources.displayPath(range.file)),
            session.sources.begin(range).line};
  };
  emit::EmittedFiles files = emit::emit(variants(units), settings);
  addTime(session, "emit",
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return files;
}

} // namespace tlc
