// Diagnostics for tools: one JSON object a line.
//
// {"schema":1,"code":"TL2103","name":"InnerDimsDiffer","severity":"error","flag":null,"message":"…","file":"gemm.tl",
//  "line":18,"column":17,"end_line":18,"end_column":26,"byte_start":310,"byte_end":319,"labels":[{place…,"message":"…"}],
//  "notes":[{"message":"…"[,place…]}],"fixes":[{"message":"…","applicability":"machine|placeholder|maybe",
//  "edits":[{place…,"replacement":"…"}]}],"rendered":"…"}
// and at the end {"schema":1,"summary":{"errors":1,"warnings":0,"suppressed_errors":0}}.
// Without a place, "file" is null and the numbers are missing. Lines and columns count from 1,
// columns in characters.
#pragma once

#include "support/Diagnostics.h"
#include "support/SourceManager.h"

#include <string>
#include <string_view>

namespace tlc {

/// One object, one line with its line end.
std::string renderJson(const Diagnostic &diagnostic, const SourceManager &sources);
/// All of them in order of their places, then the summary.
std::string renderJson(const DiagnosticEngine &engine, const SourceManager &sources);

/// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string jsonString(std::string_view text);

} // namespace tlc
