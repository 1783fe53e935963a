// tlc_syntax_check [--ast] [--quiet] [--time=N] [--diagnostics=json] FILE...    (@LIST names a file
// with one path per line)
//
// The parser alone, for comparing many files at once with Python's: prints diagnostics, or the
// tree, or with --quiet one line "1" or "0" a file; --time=N parses N times and prints the first
// and the best time in milliseconds.
#include "parse/Parser.h"
#include "support/RenderJson.h"
#include "support/RenderText.h"
#include "syntax/PrintAST.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using namespace tlc;

namespace {

struct Options {
  bool ast = false, quiet = false, json = false;
  int repeat = 0;
  std::vector<std::string> paths;
};

Options read(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--ast") {
      options.ast = true;
    } else if (argument == "--quiet") {
      options.quiet = true;
    } else if (argument == "--diagnostics=json") {
      options.json = true;
    } else if (argument.starts_with("--time=")) {
      options.repeat = std::atoi(argument.c_str() + 7);
    } else if (argument[0] == '@') {
      std::ifstream list(argument.substr(1));
      for (std::string line; std::getline(list, line);)
        options.paths.push_back(line);
    } else {
      options.paths.push_back(argument);
    }
  }
  return options;
}

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void measure(const std::string &path, int repeat) {
  double first = 0, best = 1e9;
  for (int run = 0; run < repeat; ++run) {
    SourceManager sources;
    DiagnosticEngine diagnostics;
    std::string reason;
    auto file = sources.load(path, reason);
    double start = now();
    auto module = file ? parse(sources, *file, diagnostics) : nullptr;
    double took = now() - start;
    first = run == 0 ? took : first;
    best = std::min(best, took);
  }
  std::printf("%s: first %.2f ms, best %.2f ms\n", path.c_str(), first, best);
}

bool check(const std::string &path, const Options &options) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::string reason;
  auto file = sources.load(path, reason);
  if (!file) {
    std::printf("%s: %s\n", path.c_str(), reason.c_str());
    return false;
  }
  auto module = parse(sources, *file, diagnostics);
  if (options.quiet)
    std::printf("%d\n", module != nullptr);
  else if (options.json)
    std::fprintf(stderr, "%s", renderJson(diagnostics, sources).c_str());
  else if (!module)
    std::printf("%s", renderText(diagnostics, sources).c_str());
  else if (options.ast)
    std::printf("%s", print(*module, sources).c_str());
  return module != nullptr;
}

} // namespace

int main(int argc, char **argv) {
  Options options = read(argc, argv);
  bool ok = true;
  for (const std::string &path : options.paths)
    if (options.repeat)
      measure(path, options.repeat);
    else
      ok &= check(path, options);
  return ok ? 0 : 1;
}
