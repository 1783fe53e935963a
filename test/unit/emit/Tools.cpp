#include "Tools.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace tlc::emit::test {

namespace fs = std::filesystem;

namespace {

/// Removed when the tests end, unless TLC_KEEP_FILES is set.
struct Root {
  fs::path path = fs::temp_directory_path() / ("tlc-emit-" + std::to_string(getpid()));
  ~Root() {
    std::error_code ignored;
    if (!std::getenv("TLC_KEEP_FILES"))
      fs::remove_all(path, ignored);
  }
};

} // namespace

std::string freshFolder(const std::string &name) {
  static const Root root;
  fs::path path = root.path / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path.string();
}

void writeText(const std::string &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out)
    throw std::runtime_error("cannot write " + path);
}

std::string complaints(const std::string &command) {
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe)
    return "cannot run " + command;
  std::string out;
  std::array<char, 4096> buffer;
  while (std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), n);
  int status = pclose(pipe);
  if (status != 0)
    out += "\n" + command + " ended with status " +
           std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return out;
}

bool hasProgram(const std::string &name) {
  return complaints("command -v " + name + " > /dev/null").empty();
}

std::string nvcc() {
  if (const char *set = std::getenv("TLC_NVCC"))
    return set;
  if (hasProgram("nvcc"))
    return "nvcc";
  return fs::exists("/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda/bin/nvcc" : "";
}

Options optionsFor(const std::string &target, const std::string &name) {
  Options options;
  options.targets = {findTarget(target)};
  options.sourceName = name + ".tl";
  options.outputName = name + std::string(sourceSuffix(options.targets[0]->family));
  options.headerName = name + ".h";
  return options;
}

EmittedFiles emitOne(const ir::Function &function, const Options &options) {
  FunctionVariants variants;
  variants.perTarget.assign(options.targets.size(), &function);
  return emit(std::span(&variants, 1), options);
}

std::string writeFiles(const std::string &folder, const EmittedFiles &files,
                       const Options &options) {
  writeText(folder + "/" + options.outputName, files.source);
  writeText(folder + "/" + options.headerName, files.header);
  return folder + "/" + options.outputName;
}

} // namespace tlc::emit::test
