#include "driver/Options.h"

#include "driver/Version.h"
#include "support/Names.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <sstream>

namespace tlc {
namespace {

constexpr std::string_view helpIntroduction =
    "tlc compiles tile kernels (.tl, or TileLang's .py) to readable CUDA, HIP or C++ and a C "
    "header.\n"
    "  tlc gemm.tl --target=sm90 -o gemm.cu      writes gemm.cu and gemm.h";

struct VerbInfo {
  Verb verb;
  const char *name;
  const char *summary;
};
constexpr std::array verbs = {
    VerbInfo{Verb::Build, "build",
             "compile a source; this verb may be left out\n"
             "  tlc gemm.tl --target=sm90 -o gemm.cu"},
    VerbInfo{Verb::Check, "check",
             "report every error and write nothing\n"
             "  tlc check gemm.tl --target=sm80"},
    VerbInfo{Verb::Run, "run",
             "run a kernel without a GPU and show what it computes\n"
             "  tlc run gemm.tl --target=sm80 --emulate M=256 N=256 K=64 --compare"},
    VerbInfo{Verb::Opt, "opt",
             "run passes over the compiler's intermediate text\n"
             "  tlc opt gemm.tlir --passes=simplify,unroll"},
    VerbInfo{Verb::Report, "report",
             "show what was decided for each launch, and why; --schedule=FILE takes it back\n"
             "  tlc report gemm.tl --target=sm90"},
    VerbInfo{Verb::Targets, "targets",
             "list what can be compiled for\n"
             "  tlc targets sm90 --flags"},
    VerbInfo{Verb::Explain, "explain",
             "tell what a diagnostic means and how to repair it\n"
             "  tlc explain TL5006"},
};

const VerbInfo *findVerb(std::string_view name) {
  auto found =
      std::find_if(verbs.begin(), verbs.end(), [&](const VerbInfo &v) { return v.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

bool compiles(Verb verb) { return verb != Verb::Targets && verb != Verb::Explain; }

bool isSource(std::string_view word) {
  return word == "-" || word.ends_with(".tl") || word.ends_with(".py") || word.ends_with(".tlir");
}

// What CLI11 fills in first, because it is translated to Options once everything is known.
struct RawOptions {
  std::vector<std::string> targets, emit, dumpAfter, passes;
  std::string schedule = "planned", runtime = "inline", checks = "full", lineDirectives = "no";
  std::string format = "text", color = "auto";
};

// An option that may be repeated, each time with one value (CLI11's vectors would swallow the words
// behind it).
CLI::Option *addList(CLI::App &app, const std::string &name, std::vector<std::string> &list,
                     const std::string &help) {
  return app.add_option(name, list, help)->expected(1)->take_all()->allow_extra_args(false);
}

void addMessageOptions(CLI::App &app, Options &options, RawOptions &raw) {
  const char *group = "Messages";
  app.add_option("--diagnostics", raw.format,
                 "text, or json: one object a line (--diagnostics=json)")
      ->check(CLI::IsMember({"text", "json"}))
      ->group(group);
  app.add_option("--color", raw.color, "auto, always or never (--color=never)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(group);
  addList(app, "-W", options.warnings,
          "-WNAME, -Wno-NAME, -Werror, -Werror=NAME, -Wall (-Werror=bank-conflict)")
      ->group(group);
  app.add_option("--error-limit", options.errorLimit,
                 "stop showing errors after so many; 0: never (--error-limit=20)")
      ->group(group);
}

void addKernelOptions(CLI::App &app, Options &options, RawOptions &raw) {
  const char *group = "What to compile";
  addList(app, "-t,--target", raw.targets, "machines of one family (--target=sm80,sm90)")
      ->group(group);
  addList(app, "-D", options.defines,
          "a compile-time argument: NAME=VALUE or KERNEL.NAME=VALUE (-D block_M=128)")
      ->group(group);
  addList(app, "--instantiate", options.instantiations,
          "one more kernel, or a file of such lines (--instantiate 'gemm_f16 = matmul(1024, "
          "dtype=T.float16)')")
      ->group(group);
  addList(app, "--assume", options.assumptions,
          "a fact, checked by the launcher (--assume 'K % 8 == 0')")
      ->group(group);
  addList(app, "--kernel", options.kernels, "only this kernel; may be repeated (--kernel=gemm)")
      ->group(group);
  app.add_option("--name", options.name,
                 "name of the C function, of a single kernel (--name=my_gemm)")
      ->group(group);
  app.add_option("--prefix", options.prefix, "put before every C name (--prefix=mylib_)")
      ->group(group);
  addList(app, "-I", options.includeDirs,
          "where imports are searched, before TLC_PATH (-I kernels)")
      ->group(group);
}

void addHowOptions(CLI::App &app, Verb verb, Options &options, RawOptions &raw) {
  const char *group = "How to compile";
  app.add_option(
         "--schedule", raw.schedule,
         "planned, as-written (hints become orders), or a schedule file (--schedule=as-written)")
      ->group(group);
  app.add_option("--runtime", raw.runtime,
                 "inline: self-contained output; include: use tlc's headers (--runtime=include)")
      ->check(CLI::IsMember({"inline", "include"}))
      ->group(group);
  app.add_option("--checks", raw.checks,
                 "what the launcher checks: full, cheap or none (--checks=cheap)")
      ->check(CLI::IsMember({"full", "cheap", "none"}))
      ->group(group);
  app.add_flag("--fast-math", options.fastMath,
               "approximate exp, log, division and the like (--fast-math)")
      ->group(group);
  if (verb != Verb::Run) // which finds the source's lines by the comments
    app.add_flag("--line-directives", raw.lineDirectives,
                 "#line instead of comments, so that profilers show the .tl (--line-directives)")
        ->group(group);
  addList(app, "--path-prefix-map", options.pathPrefixMaps,
          "OLD=NEW in paths written out (--path-prefix-map=$PWD=.)")
      ->group(group);
}

void addInspectionOptions(CLI::App &app, Options &options, RawOptions &raw) {
  const char *group = "Looking inside";
  app.add_flag("--dump-ir{all}", raw.dumpAfter,
               "print the IR after every pass, or after those named (--dump-ir=plan,pipeline)")
      ->take_all()
      ->group(group);
  app.add_option("--dump-dir", options.dumpDir,
                 "write dumps to files in this folder (--dump-dir=dumps)")
      ->group(group);
  app.add_option("--stop-after", options.stopAfter,
                 "print the IR after this pass and stop (--stop-after=infer-layouts)")
      ->group(group);
  app.add_flag("--time-passes", options.timePasses, "say how long each step took (--time-passes)")
      ->group(group);
  app.add_flag("--list-passes", options.listPasses,
               "list the passes in their order (--list-passes)")
      ->group(group);
}

void addFileOptions(CLI::App &app, Options &options, RawOptions &raw) {
  const char *group = "Files";
  app.add_option("-o", options.output, "the emitted source, or - for standard output (-o gemm.cu)")
      ->group(group);
  app.add_option("--header", options.header,
                 "the header, if not beside the source (--header=include/gemm.h)")
      ->group(group);
  app.add_flag("--no-header", options.noHeader, "write no header (--no-header)")->group(group);
  addList(app, "--emit", raw.emit,
          "what to write: src,header,json,depfile,ir,ast (--emit=src,header,json)")
      ->group(group);
  app.add_option("--metadata", options.metadata,
                 "the metadata file, implies --emit=json (--metadata=gemm.json)")
      ->group(group);
  app.add_option("--depfile", options.depfile,
                 "list of the files read, for make and Ninja (--depfile=gemm.d)")
      ->group(group);
}

void addRunOptions(CLI::App &app, RunOptions &run) {
  const char *group = "Running";
  app.footer(
      "NAME=VALUE words give sizes, strides and scalars. Tensors without a file are filled at "
      "random, outputs with\nNaN. Targets: a GPU with --emulate, cpu, or interpret (no compiler "
      "needed).\nExit status: 0 done, 4 a fault found while running or a result that differs, "
      "else as for build.");
  app.add_flag("--emulate", run.emulate, "run GPU code on the emulator (--emulate)")->group(group);
  addList(app, "--shape", run.shapes, "a tensor's shape, instead of its sizes (--shape A=1024x512)")
      ->group(group);
  addList(app, "--input", run.inputs,
          "a tensor's contents: .npy, or elements in row-major order (--input A=a.npy)")
      ->group(group);
  addList(app, "--output", run.outputs,
          "where a tensor goes afterwards: .npy, else its bytes (--output C=c.npy)")
      ->group(group);
  app.add_option("--seed", run.seed, "which random numbers (--seed=7)")->group(group);
  app.add_flag("--compare", run.compare,
               "hold the result against the interpreter's on the same inputs (--compare)")
      ->group(group);
  app.add_option(
         "--tolerance", run.tolerance,
         "allowed difference, times 1 + the largest number; else by dtype (--tolerance=1e-3)")
      ->group(group);
  app.add_flag("--keep-going", run.keepGoing,
               "behind a fault, go on with the other blocks and launches (--keep-going)")
      ->group(group);
  app.add_option("--order", run.order,
                 "asynchronous work is done early, late, or with threads and blocks in the order "
                 "of a seed (--order=7)")
      ->check([](const std::string &text) {
        bool isSeed = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        return isSeed || text == "early" || text == "late" ? std::string()
                                                           : "not early, late or a number";
      })
      ->group(group);
  app.add_flag("--counts", run.counts,
               "what each line of the source did: bytes, bank conflicts, products, barriers "
               "(--counts)")
      ->group(group);
  app.add_option("--counts-json", run.countsFile,
                 "the same as JSON, - for standard output (--counts-json=counts.json)")
      ->group(group);
  app.add_option("--keep", run.keepDir,
                 "a folder for the emitted files and the program (--keep=emulated)")
      ->group(group);
}

void addVerbOptions(CLI::App &app, Verb verb, Options &options, RawOptions &raw) {
  app.allow_extras();
  if (compiles(verb)) {
    if (verb == Verb::Build)
      addFileOptions(app, options, raw);
    if (verb == Verb::Run)
      addRunOptions(app, options.run);
    if (verb == Verb::Check)
      app.add_flag("--syntax-only", options.syntaxOnly,
                   "read the text only; needs no target (--syntax-only)");
    if (verb == Verb::Report)
      app.add_option("-o", options.output,
                     "where the text goes; standard output if left out (-o gemm.schedule)")
          ->group("Files");
    if (verb == Verb::Opt)
      addList(app, "--passes,--run-pass", raw.passes,
              "the passes to run, in this order (--passes=simplify,plan)")
          ->group("Files"),
          app.add_option("-o", options.output,
                         "where the text goes; standard output if left out (-o out.tlir)");
    addKernelOptions(app, options, raw);
    addHowOptions(app, verb, options, raw);
    if (verb != Verb::Run)
      addInspectionOptions(app, options, raw);
  }
  if (verb == Verb::Targets) {
    app.add_flag("--flags", options.showFlags,
                 "the downstream compiler's flags (targets sm90 --flags)");
    app.add_flag("--json", options.showJson, "as JSON (targets --json)");
  }
  addMessageOptions(app, options, raw);
}

std::vector<std::string> splitAll(const std::vector<std::string> &lists) {
  std::vector<std::string> out;
  for (const std::string &list : lists)
    for (std::string &part : splitList(list))
      out.push_back(std::move(part));
  return out;
}

void setEmit(const std::vector<std::string> &names, Options &options,
             DiagnosticEngine &diagnostics) {
  if (names.empty())
    return;
  options.emit = {false, false, false, false, false, false};
  const std::pair<std::string_view, bool *> known[] = {
      {"src", &options.emit.source},    {"header", &options.emit.header},
      {"json", &options.emit.metadata}, {"depfile", &options.emit.depfile},
      {"ir", &options.emit.ir},         {"ast", &options.emit.ast}};
  for (const std::string &name : names) {
    auto *found =
        std::find_if(std::begin(known), std::end(known), [&](auto &k) { return k.first == name; });
    if (found == std::end(known))
      diagnostics.report(diag::BadOptionValue, {}, name, "--emit")
          .note("--emit takes a comma list of src, header, json, depfile, ir and ast");
    else
      *found->second = true;
  }
}

void translate(const RawOptions &raw, Options &options, DiagnosticEngine &diagnostics) {
  options.targets = splitAll(raw.targets);
  options.passes = splitAll(raw.passes);
  options.dumpIr = !raw.dumpAfter.empty();
  options.dumpAfter = splitAll(raw.dumpAfter);
  std::erase(options.dumpAfter, "all");
  setEmit(splitAll(raw.emit), options, diagnostics);
  if (!options.stopAfter.empty()) { // what is not finished can only be shown
    options.emit = {.source = false, .header = false, .ir = true};
    if (options.output.empty())
      options.output = "-";
  }
  if (options.noHeader)
    options.emit.header = false;
  options.emit.metadata |= !options.metadata.empty();
  options.emit.depfile |= !options.depfile.empty();
  options.asWritten = raw.schedule == "as-written";
  if (!options.asWritten && raw.schedule != "planned")
    options.scheduleFile = raw.schedule;
  options.includeRuntime = raw.runtime == "include";
  options.checks = raw.checks == "none"    ? HostChecks::None
                   : raw.checks == "cheap" ? HostChecks::Cheap
                                           : HostChecks::Full;
  options.lineDirectives = raw.lineDirectives == "true" || raw.lineDirectives == "yes";
  options.format = raw.format == "json" ? DiagnosticsFormat::Json : DiagnosticsFormat::Text;
  options.color = raw.color == "always"  ? ColorMode::Always
                  : raw.color == "never" ? ColorMode::Never
                                         : ColorMode::Auto;
}

// Words that no option took: sources, or a slip.
void takeRest(const CLI::App &app, const VerbInfo &verb, Options &options,
              DiagnosticEngine &diagnostics) {
  std::vector<std::string> longNames;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      longNames.push_back("--" + name);
  for (const std::string &word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') {
      std::string_view name = std::string_view(word).substr(0, word.find('='));
      auto builder = diagnostics.report(diag::UnknownOption, {}, name, verb.name);
      std::vector<std::string_view> candidates(longNames.begin(), longNames.end());
      if (std::string_view near = didYouMean(name, candidates); !near.empty())
        builder.help("did you mean `" + std::string(near) + "`?");
    } else if (verb.verb == Verb::Targets || verb.verb == Verb::Explain) {
      if (!options.topic.empty())
        diagnostics.report(diag::BadCommandLine, {},
                           "`tlc " + std::string(verb.name) + "` takes one name, but got `" +
                               options.topic + "` and `" + word + "`");
      options.topic = word;
    } else if (verb.verb == Verb::Run && word.find('=') != word.npos) {
      options.run.values.push_back(word);
    } else if (isSource(word)) {
      options.sources.push_back(word);
    } else {
      auto builder = diagnostics.report(diag::UnknownVerb, {}, word);
      std::vector<std::string_view> names;
      for (const VerbInfo &v : verbs)
        names.push_back(v.name);
      if (findVerb(word))
        builder.help("the verb comes first: tlc " + word + " ...");
      else if (std::string_view near = didYouMean(word, names); !near.empty())
        builder.help("did you mean `" + std::string(near) + "`?");
      else
        builder.note("a source ends in .tl, .py or .tlir, or is - for standard input");
    }
  }
}

void requireSources(Verb verb, const Options &options, DiagnosticEngine &diagnostics) {
  if (!compiles(verb) || diagnostics.hasErrors() || options.listPasses)
    return;
  if (options.sources.empty())
    diagnostics.report(diag::BadCommandLine, {}, "no source given")
        .help("tlc gemm.tl --target=sm90 -o gemm.cu");
  else if (options.sources.size() > 1 && verb != Verb::Check)
    diagnostics.report(diag::BadCommandLine, {},
                       "one source at a time, but got `" + options.sources[0] + "` and `" +
                           options.sources[1] + "`");
}

// @FILE stands for the words in FILE, separated by white space; "..." and '...' keep it together.
bool expandResponseFiles(std::vector<std::string> &arguments, DiagnosticEngine &diagnostics) {
  std::vector<std::string> out;
  for (std::string &argument : arguments) {
    if (argument.size() < 2 || argument[0] != '@') {
      out.push_back(std::move(argument));
      continue;
    }
    std::ifstream file(argument.substr(1), std::ios::binary);
    if (!file) {
      diagnostics.report(diag::CannotRead, {}, argument.substr(1), "no such response file");
      return false;
    }
    std::string text((std::istreambuf_iterator<char>(file)), {}), word;
    char quote = 0;
    bool any = false;
    for (char c : text + "\n") {
      if (quote ? c == quote : (c == '"' || c == '\'')) {
        quote = quote ? 0 : c;
        any = true;
      } else if (!quote && std::string_view(" \t\r\n").find(c) != std::string_view::npos) {
        if (any || !word.empty())
          out.push_back(std::exchange(word, {}));
        any = false;
      } else {
        word += c;
      }
    }
  }
  arguments = std::move(out);
  return true;
}

void printHelp(const CLI::App &app, const VerbInfo *verb) {
  if (verb) {
    std::cout << app.help();
    return;
  }
  std::cout << helpIntroduction << "\n\nVerbs (`tlc VERB --help` lists the options of one):\n";
  for (const VerbInfo &v : verbs) {
    std::string_view summary = v.summary;
    size_t split = summary.find('\n');
    std::cout << "  " << v.name << std::string(10 - std::string_view(v.name).size(), ' ')
              << summary.substr(0, split) << "\n          " << summary.substr(split + 1) << "\n";
  }
  std::cout
      << "\nExit status: 0 done, 1 errors in the source, 2 bad command line, 3 file trouble, 4 "
         "a run found a fault,\n5 outside tool failed, 70 fault of tlc. Environment: TLC_PATH "
         "(import folders), TLC_CXX (compiler of run), "
         "NO_COLOR, CLICOLOR_FORCE.\n"
         "--version, --help; @FILE reads arguments from a file.\n\n"
      << "Options of build:\n\n"
      << app.help("", CLI::AppFormatMode::Sub);
}

// CLI11's own words, without its advice to run with --help.
void reportParseError(const CLI::ParseError &error, DiagnosticEngine &diagnostics) {
  std::string message = error.what();
  if (size_t end = message.find('\n'); end != std::string::npos)
    message.resize(end);
  if (!message.empty() && message.back() == '.')
    message.pop_back();
  diagnostics.report(diag::BadCommandLine, {}, message);
}

} // namespace

std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t comma = text.find(',');
    if (comma != 0)
      out.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return out;
}

ParsedCommandLine parseCommandLine(std::vector<std::string> arguments,
                                   DiagnosticEngine &diagnostics) {
  ParsedCommandLine result;
  // Said first, so that even a bad command line is reported as asked.
  for (const std::string &argument : arguments)
    if (argument == "--diagnostics=json")
      result.options.format = DiagnosticsFormat::Json;
  if (!expandResponseFiles(arguments, diagnostics)) {
    result.exit = 2;
    return result;
  }
  const VerbInfo *named = arguments.empty() ? nullptr : findVerb(arguments[0]);
  const VerbInfo &verb = named ? *named : verbs[0];
  if (named)
    arguments.erase(arguments.begin());
  for (const std::string &argument : arguments)
    if (argument == "--version" || argument == "version") {
      std::cout << versionText();
      result.exit = 0;
      return result;
    }

  RawOptions raw;
  CLI::App app(verb.summary, std::string("tlc ") + verb.name);
  addVerbOptions(app, verb.verb, result.options, raw);
  result.options.verb = verb.verb;
  if (arguments.empty() && !named) {
    printHelp(app, nullptr);
    result.exit = 2;
    return result;
  }
  // CLI11 would take the next word for the value.
  for (std::string_view argument : arguments)
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1)
      diagnostics.report(diag::BadOptionValue, {}, "", argument.substr(0, argument.size() - 1));
  if (diagnostics.hasErrors()) {
    result.exit = 2;
    return result;
  }
  try {
    std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants it
    app.parse(std::move(arguments));
    translate(raw, result.options, diagnostics);
    takeRest(app, verb, result.options, diagnostics);
    requireSources(verb.verb, result.options, diagnostics);
  } catch (const CLI::CallForHelp &) {
    printHelp(app, named);
    result.exit = 0;
    return result;
  } catch (const CLI::ParseError &error) {
    reportParseError(error, diagnostics);
  }
  if (diagnostics.hasErrors())
    result.exit = 2;
  return result;
}

} // namespace tlc
