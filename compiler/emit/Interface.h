// The C interface of one function, as header, launcher and metadata agree on it.
#pragma once

#include "emit/Dialect.h"
#include "emit/Options.h"
#include "ir/Function.h"

#include <string>
#include <vector>

namespace tlc::emit {

enum class ParamKind : std::uint8_t { Tensor, Size, Stride, Scalar };

/// One argument of the C entry, before workspace and stream.
struct CParam {
  ParamKind kind = ParamKind::Tensor;
  std::string name;  ///< unique and valid in C
  std::string type;  ///< "const void *", "int64_t": as declared
  std::string dtype; ///< "float16"
  std::string shape; ///< "[M, K]"; of tensors
  const ir::Buffer *buffer = nullptr;
  ir::Expr var; ///< of sizes, strides and scalars
  bool input = false, output = false;
};

/// "gemm" -> "GEMM".
std::string macroOf(std::string_view symbol);

/// Order: tensors as declared, sizes, strides, scalars.
struct Interface {
  std::string symbol; ///< with prefix
  std::vector<CParam> params;
  bool zeroedWorkspace = false; ///< some of the workspace must start as zero
  std::string signature;        ///< "gemm(f16[M, K] A, …)": what callers may compare
  std::uint32_t signatureHash = 0;

  /// The beginning of its macros: GEMM.
  std::string macro() const { return macroOf(symbol); }
};

/// The C symbol of a kernel: its name behind the prefix. One that C, C++ or CUDA have taken gets
/// "kernel_" in front.
std::string symbolOf(std::string_view kernelName, std::string_view prefix);
/// All names that the file and the header of a kernel with this symbol claim at global scope.
std::vector<std::string> globalNames(const std::string &symbol);

Interface interfaceOf(const ir::Function &function, const Options &options);

/// "float16" -> "f16", "int32" -> "i32": as in signatures and comments.
std::string shortName(DType dtype);
/// The C text of an extent in terms of the parameters: "M * 2".
std::string shapeText(const ir::Buffer &buffer, const Interface &interface);

/// Declared in the header's order, "const void *A, int64_t M"; with `comments`, "/*f16[M, K]*/"
/// behind tensors.
std::vector<std::string> declarations(const Interface &interface, bool comments);

} // namespace tlc::emit
