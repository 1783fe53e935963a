// The syntax tree as text, for --emit=ast and for tests.
#pragma once

#include "support/SourceManager.h"
#include "syntax/AST.h"

#include <string>

namespace tlc::ast {

/// One node a line, children indented, with the fields of Python's `ast` module in its order:
///
///   Assign 1:1-1:10
///     targets:
///       Name 1:1-1:2 id="x"
///     value: BinOp 1:5-1:10 op=+
///       left: Name 1:5-1:6 id="a"
///       right: Constant 1:9-1:10 int 1
///
/// Ranges are line:column-line:column, from 1, in characters. Empty lists and absent parts are left
/// out.
std::string print(const Module &module, const SourceManager &sources);
std::string print(const Expr &expr, const SourceManager &sources);

} // namespace tlc::ast
