// Which files a run writes and under which names, and writing them together at the end.
#pragma once

#include "driver/Session.h"
#include "target/Target.h"

#include <string>
#include <vector>

namespace tlc {

/// Empty: not written. "-": standard output.
struct OutputNames {
  std::string source, header, metadata, depfile, ir, ast;
};

/// The names that the options give, and derived ones for the rest: `-o x/gemm.cu` puts gemm.h,
/// gemm.tlc.json and gemm.d beside it; without -o everything goes to the working directory under
/// the source's name. Reports a suffix that does not fit the target. `target` may be null if only
/// the syntax tree is asked for.
OutputNames outputNames(Session &session, const Target *target);

/// The header's name as the emitted source includes it: relative to the source's folder.
std::string headerInclude(const OutputNames &names);

struct Output {
  std::string path;
  std::string text;
  bool onlyIfChanged = false;
};

/// Writes all or, at the first failure (reported), none, so that a build never sees half a result.
/// Nothing is written after errors.
void writeOutputs(Session &session, const std::vector<Output> &outputs);

} // namespace tlc
