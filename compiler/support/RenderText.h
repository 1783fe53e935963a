// Diagnostics for people: source lines with the wrong range underlined.
#pragma once

#include "support/Diagnostics.h"
#include "support/SourceManager.h"

#include <string>

namespace tlc {

struct TextStyle {
  bool color = false;
  /// Columns of source text shown of a line; longer lines are cut around what is underlined.
  unsigned maxWidth = 140;
};

/// One diagnostic, several lines, ending in a line end.
std::string renderText(const Diagnostic &diagnostic, const SourceManager &sources,
                       const TextStyle &style = {});

/// All of them in order of their places, with an empty line after each, and the summary behind.
std::string renderText(const DiagnosticEngine &engine, const SourceManager &sources,
                       const TextStyle &style = {});

/// "2 errors and 1 warning" with a hint at `tlc explain`; empty if there was nothing.
std::string renderSummary(const DiagnosticEngine &engine);

} // namespace tlc
