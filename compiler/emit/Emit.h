// From functions whose passes have run to the text of files. Decides nothing.
#pragma once

#include "emit/Options.h"
#include "ir/Function.h"

#include <span>
#include <string>
#include <vector>

namespace tlc::emit {

/// One C entry point: the same function as each of Options::targets runs it, in their order.
struct FunctionVariants {
  std::vector<const ir::Function *> perTarget;
};

struct EmittedFiles {
  std::string source, header;
  std::string metadata; ///< JSON
};

/// Prints functions of the thread or named phase. Throws InternalError on what the passes should
/// not have left (a tile operation, a runtime function that the family does not have).
///
/// Requires: Options::targets not empty, of one family; several CUDA targets in ascending order of
/// architecture, one CPU target only.
EmittedFiles emit(std::span<const FunctionVariants> functions, const Options &options);

/// Whether `targets` can share a file, else the reason for people ("" if they can): one family, one
/// CPU target, each architecture once.
std::string whyNotTogether(std::span<const Target *const> targets);
/// The same targets in the order that emit wants.
std::vector<const Target *> sortedTargets(std::span<const Target *const> targets);
/// ".cu", ".hip", ".cpp".
std::string_view sourceSuffix(Family family);

} // namespace tlc::emit
