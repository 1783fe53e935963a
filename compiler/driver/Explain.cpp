// `tlc explain`: the long text of a code, and the lists of codes and warnings.
#include "driver/Session.h"

#include <iostream>

namespace tlc {
namespace {

std::string_view severityName(Severity severity) {
  switch (severity) {
  case Severity::Remark:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    break;
  }
  return "error";
}

// Messages have places for arguments; shown alone they read better with dots.
std::string withoutPlaces(std::string_view message) {
  return formatMessage(message, std::vector<std::string>(10, "…"));
}

void listAll() {
  for (unsigned i = 0; i < diag::count; ++i) {
    const DiagnosticInfo &entry = info(static_cast<diag::Id>(i));
    std::cout << entry.code << "  " << severityName(entry.severity) << ": "
              << withoutPlaces(entry.message);
    if (!entry.flag.empty())
      std::cout << "  [-W" << entry.flag << "]";
    std::cout << "\n";
  }
}

} // namespace

int runExplain(Session &session) {
  const std::string &code = session.options.topic;
  if (code.empty()) {
    listAll();
    return 0;
  }
  const DiagnosticInfo *entry = findDiagnostic(code);
  if (!entry) {
    session.diagnostics.report(diag::UnknownCode, {}, code).help("`tlc explain` lists all codes");
    return 2;
  }
  std::cout << severityName(entry->severity) << "[" << entry->code
            << "]: " << withoutPlaces(entry->message) << "\n";
  if (!entry->flag.empty())
    std::cout << "switched by -W" << entry->flag << " and -Wno-" << entry->flag << "\n";
  std::cout << "\n" << entry->explain;
  return 0;
}

} // namespace tlc
