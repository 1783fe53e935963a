// The command line, as data. Options.cpp is the only place that knows CLI11.
#pragma once

#include "support/Diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {

enum class Verb { Build, Check, Run, Opt, Report, Targets, Explain };
enum class ColorMode { Auto, Always, Never };
enum class DiagnosticsFormat { Text, Json };
enum class HostChecks { Full, Cheap, None };

/// What `--emit` can ask for beside the source and its header.
struct EmitSet {
  bool source = true;
  bool header = true;
  bool metadata = false;
  bool depfile = false;
  bool ir = false;
  bool ast = false;
};

/// What `tlc run` is told beside what to compile.
struct RunOptions {
  bool emulate = false;
  std::vector<std::string> values;  // "M=1000": sizes, strides and scalars
  std::vector<std::string> shapes;  // "A=1024x512"
  std::vector<std::string> inputs;  // "A=a.npy"
  std::vector<std::string> outputs; // "C=c.npy"
  std::uint64_t seed = 1;           // of the tensors without a file
  bool compare = false;
  std::optional<double> tolerance; // else by dtype
  bool keepGoing = false;          // with other blocks and launches behind a fault
  std::string order; // of asynchronous work: "early", "late", or a seed; empty: by EMU_MODE
  bool counts = false;
  std::string countsFile; // JSON
  std::string keepDir;    // where the emitted files and the program stay; empty: nowhere
};

struct Options {
  Verb verb = Verb::Build;
  std::vector<std::string> sources; // "-" is standard input
  std::vector<std::string> targets; // names, checked by the verb that uses them

  // Files. Empty names are derived from the output's (see Outputs).
  std::string output;
  std::string header;
  bool noHeader = false;
  EmitSet emit;
  std::string metadata;
  std::string depfile;

  // What to compile.
  std::vector<std::string> defines; // "NAME=VALUE", "KERNEL.NAME=VALUE"
  std::vector<std::string> instantiations;
  std::vector<std::string> assumptions;
  std::vector<std::string> kernels;
  std::vector<std::string> includeDirs; // -I, then TLC_PATH
  std::string name;
  std::string prefix;

  // How.
  bool asWritten = false;   // --schedule=as-written
  std::string scheduleFile; // --schedule=FILE
  bool includeRuntime = false;
  HostChecks checks = HostChecks::Full;
  bool fastMath = false;
  bool lineDirectives = false;
  std::vector<std::string> pathPrefixMaps; // "OLD=NEW"
  bool syntaxOnly = false;

  // Looking inside.
  bool dumpIr = false;
  std::vector<std::string> dumpAfter; // empty: after every pass
  std::string dumpDir;
  std::string stopAfter;
  bool timePasses = false;
  bool listPasses = false;
  std::vector<std::string> passes; // of `tlc opt`

  RunOptions run;

  // targets, explain
  std::string topic; // target or code; empty: list all
  bool showFlags = false;
  bool showJson = false;

  // Messages.
  DiagnosticsFormat format = DiagnosticsFormat::Text;
  ColorMode color = ColorMode::Auto;
  std::vector<std::string> warnings; // what follows -W
  unsigned errorLimit = 100;
};

/// Either options to act on, or the status to exit with: 0 after --help and --version (already
/// printed), 2 after errors (reported to `diagnostics`, to be rendered as `options` says as far as
/// it was understood).
struct ParsedCommandLine {
  Options options;
  std::optional<int> exit;
};

/// `arguments` without the program's name. Response files (@FILE) are expanded.
ParsedCommandLine parseCommandLine(std::vector<std::string> arguments,
                                   DiagnosticEngine &diagnostics);

/// Splits at commas, drops empty parts.
std::vector<std::string> splitList(std::string_view text);

} // namespace tlc
