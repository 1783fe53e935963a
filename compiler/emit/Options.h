// What the printers are told beside the functions themselves.
#pragma once

#include "support/SourceRange.h"
#include "target/Target.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tlc::emit {

/// A line of the user's source, as comments and the metadata name it.
struct SourceLine {
  std::string file; ///< "gemm.tl"; empty: nowhere
  std::uint32_t line = 0;
  bool operator==(const SourceLine &) const = default;
};

enum class RuntimeStyle : std::uint8_t {
  Inline, ///< the used functions are pasted: the file needs nothing of ours
  Include ///< #include "tlc/cuda/async.cuh": the runtime's folder must be on the include path
};

/// What the launcher checks before it starts anything. The device is always checked.
enum class CheckLevel : std::uint8_t {
  Full,  ///< everything
  Cheap, ///< null pointers, workspace, declared constraints; no products of sizes, no alignment
  None
};

struct Options {
  /// One target, or several of one family, lowest first.
  std::vector<const Target *> targets;
  std::string sourceName = "kernel.tl"; ///< in the first comment
  std::string outputName =
      "kernel.cu"; ///< of the emitted source, for the comment that says how to build it
  /// As the emitted source includes it; empty: the source holds the declarations itself.
  std::string headerName = "kernel.h";
  std::string version = "0.1.0";
  std::string prefix; ///< before every C symbol
  RuntimeStyle runtime = RuntimeStyle::Inline;
  CheckLevel checks = CheckLevel::Full;
  bool lineDirectives = false; ///< #line instead of comments
  /// Where a range lies; empty function: no comments.
  std::function<SourceLine(SourceRange)> locate;
};

} // namespace tlc::emit
