// For gemm(A, B, C, M, N, K):
//
//   tlc_run::Folder folder(argv[1]);
//   void *A = folder.array("A", 32768, false, true);
//   ...
//   std::size_t bytes = gemm_workspace_bytes(256, 256, 64, 0);
//   return folder.finish(gemm(static_cast<const void *>(A), ..., 256, 256, 64, ...), ...);
#include "driver/run/HostText.h"

#include "emit/Runtime.h"
#include "support/Check.h"

#include <cmath>
#include <cstdio>

namespace tlc::run {
namespace {

std::string realText(double value) {
  if (std::isnan(value))
    return "std::nan(\"\")";
  if (std::isinf(value))
    return value < 0 ? "-INFINITY" : "INFINITY";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%a", value);
  return buffer;
}

std::string valueText(const CallArgument &a) {
  if (a.isTensor()) // the header's type: const void *, float *, ...
    return "static_cast<" + a.param.type + ">(t_" + a.param.name + ")";
  if (a.param.kind == emit::ParamKind::Scalar && a.param.var.dtype().isFloat())
    return "static_cast<" + a.param.type + ">(" + realText(a.real) + ")";
  // Of 64 bits as unsigned, so that the smallest number needs no rule of its own.
  return "static_cast<" + a.param.type + ">(" +
         std::to_string(static_cast<std::uint64_t>(a.integer)) + "u)";
}

} // namespace

std::string_view hostRuntime() {
  for (const emit::RuntimeFile &file : emit::runtimeFiles())
    if (file.name == "run/driver.h")
      return file.text;
  TLC_UNREACHABLE("run/driver.h is not embedded");
}

std::string hostText(const Call &call, bool zeroedWorkspace) {
  std::string arrays, sizes, arguments;
  for (const CallArgument &a : call.arguments) {
    if (a.isTensor())
      arrays += "  void *t_" + a.param.name + " = folder.array(\"" + a.param.name + "\", " +
                std::to_string(a.storage.data.size()) + "u, " + (a.isWritten() ? "true" : "false") +
                ", " + (a.param.output ? "false" : "true") + ");\n";
    arguments += valueText(a) + ", ";
    if (a.param.kind == emit::ParamKind::Size || a.param.kind == emit::ParamKind::Stride)
      sizes += valueText(a) + ", ";
  }
  return "// Made by tlc run: one call of " + call.symbol +
         ".\n#include \"kernel.h\"\n#include \"driver.h\"\n#include <cmath>\n\n"
         "int main(int, char **argv) {\n  tlc_run::Folder folder(argv[1]);\n" +
         arrays + "  std::size_t bytes = " + call.symbol + "_workspace_bytes(" + sizes +
         "0);\n  void *workspace = folder.workspace(bytes, " +
         (zeroedWorkspace ? "true" : "false") + ");\n  tlc_status status = " + call.symbol + "(" +
         arguments + "workspace, bytes, nullptr);\n  return folder.finish(status, " + call.symbol +
         "_last_error());\n}\n";
}

} // namespace tlc::run
