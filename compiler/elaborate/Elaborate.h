// The door to the elaborator: parsed files in, tile IR out.
#pragma once

#include "ir/Function.h"
#include "support/Diagnostics.h"
#include "support/SourceManager.h"
#include "syntax/AST.h"
#include "target/Target.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tlc {

struct ElaborateOptions {
  std::vector<std::string> defines;        ///< "NAME=VALUE", "KERNEL.NAME=VALUE"
  std::vector<std::string> instantiations; ///< "gemm = matmul(M=64)", or files of such lines
  std::vector<std::string> kernels;        ///< only these; empty: all
  std::vector<std::string> assumptions;    ///< "K % 8 == 0"
  std::vector<std::string> includeDirs;    ///< -I, then TLC_PATH
  std::string standardLibrary;             ///< directory of the .tl library; empty: none
  std::string name;                        ///< renames the only kernel
  std::string prefix;                      ///< of all C symbols; names in the result have it not
  bool fastMath = false;
  bool hintsAreBinding = false;

  /// Parsers: `elaborate` does not see the room that parses. The first reads imports; the second
  /// one expression, the third a statement line of --instantiate.
  std::function<std::unique_ptr<ast::Module>(std::uint32_t file)> parseFile;
  std::function<std::unique_ptr<ast::Module>(std::uint32_t file)> parseExpression;
};

struct ElaborateResult {
  std::vector<std::unique_ptr<ir::Function>> functions; ///< in source order
  std::vector<std::string> imported;                    ///< files read, without the source itself
};

/// Elaborates every kernel of a file that options select, for one target. Reports everything
/// through `diagnostics`; after errors the result holds the kernels that had none.
/// `context` owns the expressions of the result, `module` and imported files must outlive nothing:
/// the result does not refer to them.
ElaborateResult elaborateModule(const ast::Module &module, SourceManager &sources,
                                DiagnosticEngine &diagnostics, const Target &target,
                                ir::Context &context, const ElaborateOptions &options);

} // namespace tlc
