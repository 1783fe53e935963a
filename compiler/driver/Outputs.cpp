#include "driver/Outputs.h"

#include "driver/Files.h"

#include <filesystem>
#include <iostream>

namespace tlc {
namespace {

std::vector<std::string_view> suffixes(Family family) {
  switch (family) {
  case Family::Cuda:
    return {".cu"};
  case Family::Hip:
    return {".hip"};
  case Family::Cpu:
    break;
  }
  return {".cpp", ".cc", ".cxx"};
}

// "x/gemm" of "x/gemm.cu".
std::string withoutSuffix(const std::string &path) {
  return (std::filesystem::path(path).parent_path() / std::filesystem::path(path).stem()).string();
}

std::string stemOf(const Options &options) {
  const std::string &source = options.sources.front();
  if (source == "-")
    return "kernel";
  return std::filesystem::path(source).stem().string();
}

// What -o names: the source if there is one, else the first thing asked for.
std::string *named(OutputNames &names, const EmitSet &emit) {
  if (emit.source)
    return &names.source;
  if (emit.header)
    return &names.header;
  if (emit.ir)
    return &names.ir;
  if (emit.ast)
    return &names.ast;
  return emit.metadata ? &names.metadata : &names.depfile;
}

} // namespace

OutputNames outputNames(Session &session, const Target *target) {
  const Options &options = session.options;
  const EmitSet &emit = options.emit;
  OutputNames names;
  std::string suffix = target ? std::string(suffixes(target->family).front()) : "";
  bool toStandardOutput = options.output == "-";
  std::string stem =
      options.output.empty() || toStandardOutput ? stemOf(options) : withoutSuffix(options.output);
  auto set = [](bool wanted, std::string &name, const std::string &given,
                const std::string &derived) {
    if (wanted || !given.empty())
      name = given.empty() ? derived : given;
  };
  set(emit.source, names.source, "", stem + suffix);
  // With the source on standard output there is no "beside it"; files come only where they are
  // named.
  set(emit.header && !(toStandardOutput && emit.source), names.header, options.header, stem + ".h");
  set(emit.metadata, names.metadata, options.metadata, stem + ".tlc.json");
  set(emit.depfile, names.depfile, options.depfile, stem + ".d");
  set(emit.ir, names.ir, "", stem + ".tlir");
  set(emit.ast, names.ast, "", stem + ".ast");
  if (!options.output.empty())
    *named(names, emit) = options.output;

  if (target && emit.source && !options.output.empty() && !toStandardOutput) {
    std::string found = std::filesystem::path(options.output).extension().string(), expected;
    bool fits = false;
    for (std::string_view s : suffixes(target->family)) {
      fits |= found == s;
      expected += (expected.empty() ? "" : " or ") + std::string(s);
    }
    if (!fits && std::filesystem::exists(options.output) &&
        !std::filesystem::is_regular_file(options.output))
      fits = true; // a device or pipe
    if (!fits)
      session.diagnostics.report(diag::WrongOutputSuffix, {}, options.output, target->name,
                                 expected);
  }
  return names;
}

std::string headerInclude(const OutputNames &names) {
  if (names.header.empty() || names.source.empty() || names.source == "-")
    return std::filesystem::path(names.header).filename().string();
  std::filesystem::path from = std::filesystem::path(absolutePath(names.source)).parent_path();
  return std::filesystem::path(absolutePath(names.header)).lexically_relative(from).string();
}

void writeOutputs(Session &session, const std::vector<Output> &outputs) {
  if (session.diagnostics.hasErrors())
    return;
  session.step = "writing";
  FileSet files;
  for (const Output &output : outputs) {
    if (output.path == "-")
      continue;
    std::string reason = files.add(output.path, output.text,
                                   output.onlyIfChanged ? WriteMode::IfChanged : WriteMode::Always);
    if (!reason.empty()) {
      session.diagnostics.report(diag::CannotWrite, {}, output.path, reason);
      return;
    }
  }
  for (const Output &output : outputs) {
    if (output.path != "-")
      continue;
    std::cout << output.text;
    std::cout.flush();
    if (!std::cout) {
      session.diagnostics.report(diag::CannotWrite, {}, "standard output", "it was closed");
      return;
    }
  }
  if (auto [path, reason] = files.commit(); !reason.empty())
    session.diagnostics.report(diag::CannotWrite, {}, path, reason);
}

} // namespace tlc
