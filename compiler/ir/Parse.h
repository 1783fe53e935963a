// Reads the text form of the tile IR; the grammar is in README.md.
#pragma once

#include "ir/Function.h"
#include "support/Diagnostics.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tlc::ir {

/// All functions of `text`. On an error (TL6001 to TL6003, at most one) the result is empty. Ranges
/// point into `text` as file number `file` of the source manager. Only the form is checked, names
/// and dtypes of operations included; the rest is for Verify.h.
std::vector<std::unique_ptr<Function>> parse(Context &context, std::string_view text,
                                             DiagnosticEngine &diagnostics, std::uint32_t file = 0);

/// A text with exactly one function; null on an error.
std::unique_ptr<Function> parseFunction(Context &context, std::string_view text,
                                        DiagnosticEngine &diagnostics, std::uint32_t file = 0);

/// Inverse of Layout::str(); none if `text` is malformed or no layout.
std::optional<Layout> parseLayout(std::string_view text);

/// Inverse of shortName; canonical names ("float16") are read too.
std::optional<DType> parseShortName(std::string_view name);

} // namespace tlc::ir
