// The only door to the grammar: text in, syntax tree or diagnostics out. Shows nothing of ANTLR.
#pragma once

#include "support/Diagnostics.h"
#include "support/SourceManager.h"
#include "syntax/AST.h"

#include <cstdint>
#include <memory>

namespace tlc {

/// Parses a whole file. Null if anything was wrong; then at least one error was reported, of up
/// to 50. Decodes the file first (byte order mark, encoding comment, lone carriage returns) and
/// puts the decoded text back into `sources`, so ranges made before the call may be off. Needs less
/// than 1 MB of stack.
std::unique_ptr<ast::Module> parse(SourceManager &sources, std::uint32_t file,
                                   DiagnosticEngine &diagnostics);

/// Parses an expression, as on the command line ("(64, T.float16)"): the module's body is one
/// ExprStmt.
std::unique_ptr<ast::Module> parseExpression(SourceManager &sources, std::uint32_t file,
                                             DiagnosticEngine &diagnostics);

} // namespace tlc
