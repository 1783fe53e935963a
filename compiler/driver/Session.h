// What every verb shares: the options, the files read, and what was reported about them.
#pragma once

#include "driver/Options.h"
#include "support/Diagnostics.h"
#include "support/SourceManager.h"

#include <string>
#include <utility>
#include <vector>

namespace tlc {

class Session {
public:
  explicit Session(Options options) : options(std::move(options)) {}

  Options options;
  SourceManager sources;
  DiagnosticEngine diagnostics;
  /// What is being done, for the line that an internal error prints: a pass, a kernel.
  std::string step, kernel;
  /// Seconds of each step, in order of first use.
  std::vector<std::pair<std::string, double>> times;

  /// -W flags and the error limit; reports names that do not exist.
  void configureDiagnostics();
  /// --path-prefix-map.
  void configurePaths();

  /// Writes what was reported and not yet printed to standard error, in the asked form.
  void printDiagnostics();

  /// By what was reported: 0, 1 (source), 2 (command line), 3 (files), 4 (a run) or 5 (tools).
  int exitStatus() const;
};

/// The verbs; each returns the exit status.
int runBuild(Session &session);
int runCheck(Session &session);
int runRun(Session &session);
int runOpt(Session &session);
int runReport(Session &session);
int runTargets(Session &session);
int runExplain(Session &session);

} // namespace tlc
