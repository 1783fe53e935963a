#include "driver/Session.h"

#include "support/Names.h"
#include "support/RenderJson.h"
#include "support/RenderText.h"

#include <cstdlib>
#include <iostream>

#include <unistd.h>

namespace tlc {
namespace {

bool set(const char *name) {
  const char *value = std::getenv(name);
  return value && *value;
}

bool wantsColor(ColorMode mode) {
  if (mode != ColorMode::Auto)
    return mode == ColorMode::Always;
  if (set("NO_COLOR"))
    return false;
  const char *forced = std::getenv("CLICOLOR_FORCE");
  if (forced && *forced && std::string_view(forced) != "0")
    return true;
  const char *terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
}

// "Wname", "no-name", "error", "error=name", "no-error=name", "all": what follows -W.
bool applyWarning(DiagnosticEngine &engine, std::string_view flag, std::string_view &name) {
  auto strip = [&](std::string_view prefix) {
    bool fits = flag.starts_with(prefix);
    if (fits)
      flag.remove_prefix(prefix.size());
    return fits;
  };
  bool enable = !strip("no-");
  if (flag == "error")
    return engine.warningAsError("all", enable);
  bool asError = strip("error=");
  name = flag;
  if (!asError)
    return engine.enableWarning(name, enable);
  return engine.warningAsError(name, enable) && (!enable || engine.enableWarning(name, true));
}

} // namespace

void Session::configurePaths() {
  for (const std::string &map : options.pathPrefixMaps) {
    size_t equals = map.find('=');
    if (equals == std::string::npos || equals == 0)
      diagnostics.report(diag::BadOptionValue, {}, map, "--path-prefix-map")
          .note("it takes OLD=NEW: paths that start with OLD are written with NEW");
    else
      sources.mapPathPrefix(map.substr(0, equals), map.substr(equals + 1));
  }
  // TLC_PATH comes after -I.
  if (const char *path = std::getenv("TLC_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      size_t colon = rest.find(':');
      if (colon != 0)
        options.includeDirs.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(colon == rest.npos ? rest.size() : colon + 1);
    }
  }
}

void Session::configureDiagnostics() {
  diagnostics.setErrorLimit(options.errorLimit);
  for (const std::string &flag : options.warnings) {
    std::string_view name;
    if (applyWarning(diagnostics, flag, name))
      continue;
    auto builder = diagnostics.report(diag::UnknownWarning, {}, name);
    if (std::string_view near = didYouMean(name, warningFlags()); !near.empty())
      builder.help("did you mean `" + std::string(near) + "`?");
  }
}

void Session::printDiagnostics() {
  std::string text;
  if (options.format == DiagnosticsFormat::Json)
    text = renderJson(diagnostics, sources);
  else
    text = renderText(diagnostics, sources, {.color = wantsColor(options.color)});
  std::cerr << text;
  std::cerr.flush();
}

namespace {

// What the elaborator finds wrong with words of the command line.
bool ofCommandLine(diag::Id id) {
  switch (id) {
  case diag::BadDefine:
  case diag::UnusedDefine:
  case diag::UnknownKernel:
  case diag::BadInstantiation:
  case diag::NameNeedsOneKernel:
  case diag::BadAssumption:
    return true;
  default:
    return false;
  }
}

} // namespace

int Session::exitStatus() const {
  constexpr std::pair<std::string_view, int> statuses[] = {{"TL58", 5}, {"TL5", 2}, {"TL62", 4}};
  int status = 0;
  for (const Diagnostic &diagnostic : diagnostics.diagnostics()) {
    if (diagnostic.severity != Severity::Error)
      continue;
    if (diagnostic.id == diag::CannotRead || diagnostic.id == diag::CannotWrite)
      return 3;
    std::string_view code = info(diagnostic.id).code;
    int own = ofCommandLine(diagnostic.id) ? 2 : 1;
    for (auto [prefix, value] : statuses)
      if (own == 1 && code.starts_with(prefix))
        own = value;
    status = own == 1 || status == 0 ? own : status; // an error in the source counts most
  }
  return status;
}

} // namespace tlc
