// One kernel: its signature, what stands before the statements, and the statements.
#pragma once

#include "emit/Interface.h"
#include "emit/PrintStmt.h"

namespace tlc::emit {

/// A parameter of a kernel, and what the launcher passes for it.
struct KernelArgument {
  const ir::Buffer *buffer = nullptr;
  ir::Expr var;
  const ir::TensorMap *map = nullptr; ///< one of the three is set
  std::string type;                   ///< "const __half *__restrict__"
  std::string name;                   ///< in the kernel
};

struct PrintedKernel {
  const ir::Launch *launch = nullptr;
  std::string name;
  std::vector<KernelArgument> arguments;
};

/// Prints launch `number` of `function` into `out`. `guard` is a preprocessor condition around the
/// body ("" for none), `alignment` that of the shared arena in bytes.
PrintedKernel printKernel(const ir::Function &function, const ir::Launch &launch,
                          const Target &target, std::string name, const Options &options,
                          const Dialect &dialect, RuntimeUse &runtime, TextWriter &out,
                          std::string_view guard, std::int64_t alignment);

/// Text cut at commas so that lines stay within 100 columns: "head(a, b,\n    c)tail"; `before`
/// characters stand to the left of the first line.
std::string wrapList(const std::string &head, const std::vector<std::string> &items,
                     const std::string &tail, std::size_t indent, std::size_t before = 0);

/// Writes each line of `text` with the writer's indentation.
void writeLines(TextWriter &out, std::string_view text);

} // namespace tlc::emit
