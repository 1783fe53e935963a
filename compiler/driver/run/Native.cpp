// The folder of a run:
//
//   kernel.cu kernel.h     emitted, as `tlc build` would
//   driver.h host.cpp      makes the call (HostText.h)
//   A.in B.in C.in         contents of the arguments
//   run                    the program
//   C.out outcome          what it leaves; the emulator adds findings and counts
#include "driver/Emission.h"
#include "driver/Files.h"
#include "driver/run/Execute.h"
#include "driver/run/Findings.h"
#include "driver/run/HostText.h"
#include "driver/run/Process.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace tlc::run {
namespace {

std::string setting(const char *name, const char *otherwise) {
  const char *value = std::getenv(name);
  return value && *value ? value : otherwise;
}

std::optional<std::string> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

class Native {
public:
  Native(Session &session, const Call &call, const CompiledUnit &unit)
      : session(session), call(call), unit(unit), folder(session.options.run.keepDir) {}

  std::optional<Outcome> run() {
    if (folder.path().empty()) {
      session.diagnostics.report(diag::CannotWrite, {},
                                 session.options.run.keepDir.empty() ? "a temporary folder"
                                                                     : session.options.run.keepDir,
                                 folder.error());
      return std::nullopt;
    }
    if (!writeFiles() || !compileProgram() || !start())
      return std::nullopt;
    return readResults();
  }

private:
  bool isEmulated() const { return unit.target->isGpu(); }

  bool write(const std::string &name, std::string_view text) {
    std::string reason = writeFile(folder / name, text);
    if (!reason.empty())
      session.diagnostics.report(diag::CannotWrite, {}, folder / name, reason);
    return reason.empty();
  }

  bool writeFiles() {
    OutputNames names;
    source = "kernel" + std::string(emit::sourceSuffix(unit.target->family));
    names.source = folder / source;
    names.header = folder / "kernel.h";
    std::vector<CompiledUnit> units;
    emit::EmittedFiles files = emitUnits(session, {&unit, 1}, names);
    bool zeroed = false;
    for (const auto &function : unit.functions)
      for (const ir::Buffer *buffer : function->workspace)
        zeroed |= buffer->zeroInitialised;
    bool written = write(source, files.source) && write("kernel.h", files.header) &&
                   write("driver.h", hostRuntime()) && write("host.cpp", hostText(call, zeroed));
    for (const CallArgument &a : call.arguments)
      if (a.isTensor() && written)
        written =
            write(a.param.name + ".in",
                  {reinterpret_cast<const char *>(a.storage.data.data()), a.storage.data.size()});
    return written;
  }

  bool compileProgram() {
    session.step = "compiling the program";
    std::vector<std::string> words;
    std::vector<std::pair<std::string, std::string>> environment;
    if (isEmulated()) {
      std::string script = sharedPath("tools/emulate.sh");
      if (script.empty()) {
        session.diagnostics.report(diag::ToolMissing, {}, "tools/emulate.sh",
                                   "it is not beside this tlc");
        return false;
      }
      words = {"sh", script, "-DTLC_RUN_EMULATED"};
      if (std::string compiler = setting("TLC_CXX", ""); !compiler.empty())
        environment.emplace_back("CXX", compiler);
    } else {
      words = {setting("TLC_CXX", setting("CXX", "c++").c_str()), "-std=c++17", "-O2", "-pthread"};
      words.insert(words.end(), unit.target->flags.begin(), unit.target->flags.end());
    }
    if (session.options.includeRuntime)
      addRuntimeFolder(words);
    words.insert(words.end(), {"-I" + folder.path(), folder / "host.cpp", folder / source, "-o",
                               folder / "run"});
    Ended ended = runProcess(words, environment, Streams::Captured);
    if (ended.ok())
      return true;
    if (!ended.whyNotStarted.empty())
      session.diagnostics.report(diag::ToolMissing, {}, words.front(), ended.whyNotStarted);
    else
      session.diagnostics
          .report(diag::ToolFailed, {}, isEmulated() ? words[1] : words.front(), ended.how())
          .note(ended.output);
    return false;
  }

  /// --runtime=include: the emitted file includes "tlc/cuda/async.cuh", where `tlc` is the runtime.
  void addRuntimeFolder(std::vector<std::string> &words) {
    std::string runtime = sharedPath("runtime");
    if (isEmulated() || runtime.empty()) // emulate.sh answers these includes itself
      return;
    std::error_code error;
    std::filesystem::create_directory_symlink(runtime, folder / "tlc", error);
    words.push_back("-I" + folder.path());
  }

  std::vector<std::pair<std::string, std::string>> emulatorSettings() const {
    const RunOptions &options = session.options.run;
    std::vector<std::pair<std::string, std::string>> out = {{"EMU_REPORT", folder / "findings"}};
    if (wantsCounts(options))
      out.emplace_back("EMU_COUNTS", folder / "counts");
    if (options.keepGoing)
      out.emplace_back("EMU_KEEP_GOING", "1");
    if (options.order == "early" || options.order == "late") {
      out.emplace_back("EMU_MODE", options.order);
    } else if (!options.order.empty()) {
      out.emplace_back("EMU_MODE", "random");
      out.emplace_back("EMU_SEED", options.order);
    }
    return out;
  }

  bool start() {
    session.step = "running";
    std::cout.flush();
    std::vector<std::pair<std::string, std::string>> environment;
    if (isEmulated())
      environment = emulatorSettings();
    for (const char *name : {"findings", "counts", "outcome"}) // of an earlier run, if kept
      std::remove((folder / name).c_str());
    Ended ended = runProcess({folder / "run", folder.path()}, environment, Streams::Inherited);
    bool isFaulty = reportFindings(session, readFile(folder / "findings").value_or(""));
    std::string outcome = readFile(folder / "outcome").value_or("");
    if (!ended.ok() || outcome.empty()) {
      if (!isFaulty)
        session.diagnostics.report(diag::RunEnded, {}, ended.how());
      return false;
    }
    std::size_t end = outcome.find('\n');
    if (outcome.substr(0, end) == "0")
      return true;
    if (!isFaulty)
      session.diagnostics.report(diag::RunRefused, {}, outcome.substr(end + 1));
    return false;
  }

  std::optional<Outcome> readResults() {
    Outcome outcome;
    for (const CallArgument &a : call.arguments) {
      outcome.storages.push_back(a.storage);
      if (!a.isWritten())
        continue;
      std::vector<std::byte> &data = outcome.storages.back().data;
      std::optional<std::string> bytes = readFile(folder / (a.param.name + ".out"));
      if (!bytes || bytes->size() != data.size()) {
        session.diagnostics.report(diag::CannotRead, {}, folder / (a.param.name + ".out"),
                                   "the program left something else");
        return std::nullopt;
      }
      if (!data.empty())
        std::memcpy(data.data(), bytes->data(), data.size());
    }
    outcome.counts = readCounts(readFile(folder / "counts").value_or(""));
    return outcome;
  }

  Session &session;
  const Call &call;
  const CompiledUnit &unit;
  WorkFolder folder;
  std::string source;
};

} // namespace

std::optional<Outcome> executeCall(Session &session, const Call &call, const CompiledUnit &unit) {
  return Native(session, call, unit).run();
}

} // namespace tlc::run
