#include "emit/PrintHeader.h"

#include "support/Check.h"

#include <algorithm>
#include <cstdio>

namespace tlc::emit {

namespace {

std::string hex(std::uint32_t value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "0x%08xu", static_cast<unsigned>(value));
  return buffer;
}

/// A C comment must not end early.
std::string inComment(std::string text) {
  for (std::size_t at = 0; (at = text.find("*/", at)) != text.npos; at += 3)
    text.insert(at + 1, " ");
  return text;
}

std::string guardOf(const std::string &headerName) {
  std::string out = "TLC_";
  for (char c : headerName.substr(headerName.find_last_of("/\\") + 1))
    out += std::isalnum(static_cast<unsigned char>(c))
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
               : '_';
  return out + "_INCLUDED";
}

/// What the launcher checks of sizes and scalars, in words and each once: launches of one kernel
/// often need the same, and so do the variants for several machines.
std::vector<std::string> conditions(const Unit &unit) {
  std::vector<std::string> found;
  for (const Variant &variant : unit.variants)
    for (const ir::Constraint &constraint : variant.function->constraints)
      if (!constraint.text.empty() &&
          std::find(found.begin(), found.end(), constraint.text) == found.end())
        found.push_back(constraint.text);
  return found;
}

/// What a caller must know beyond the types.
std::string describe(const Unit &unit) {
  std::string out;
  for (const CParam &p : unit.interface.params)
    if (p.buffer)
      out += "     " + p.name + ": " + p.dtype + p.shape +
             (p.input    ? ", read"
              : p.output ? ", written"
                         : ", read and written") +
             ", aligned to " + std::to_string(p.buffer->alignment) + " bytes\n";
  for (const std::string &condition : conditions(unit))
    out += "     needs " + condition + "\n";
  if (unit.interface.zeroedWorkspace)
    out += "     The workspace must be zero before the first call; it is left zero.\n";
  if (mayLackWorkspace(unit))
    out += "     Calls without workspace, or with less of it, are slower for some sizes.\n";
  return inComment(out);
}

void function(const Unit &unit, TextWriter &out) {
  const Interface &interface = unit.interface;
  const std::string &symbol = interface.symbol;
  std::string text = "/* " + symbol + "\n" + describe(unit);
  text.back() = ' ';
  out.line(text + "*/");
  out.line("#define " + interface.macro() + "_SIGNATURE " + quoted(interface.signature));
  out.line("#define " + interface.macro() + "_SIGNATURE_HASH " + hex(interface.signatureHash));
  auto declare = [&](const std::string &head, std::vector<std::string> items) {
    out.line(wrapList(head + "(", items, ");", 4));
  };
  std::vector<std::string> items = declarations(interface, true), sizes;
  for (const CParam &p : interface.params)
    if (p.kind == ParamKind::Size || p.kind == ParamKind::Stride)
      sizes.push_back("int64_t " + p.name);
  sizes.push_back("int device");
  auto with = [](std::vector<std::string> list, std::initializer_list<std::string> more) {
    list.insert(list.end(), more);
    return list;
  };
  declare("TLC_API TLC_NODISCARD tlc_status " + symbol,
          with(items, {"void *workspace", "size_t workspace_bytes", "void *stream"}));
  out.line("/* Whether the same call would run on `device`; starts nothing. */");
  declare("TLC_API TLC_NODISCARD tlc_status " + symbol + "_check",
          with(items, {"void *workspace", "size_t workspace_bytes", "int device"}));
  out.line("/* Bytes of workspace, aligned to 256; 0 if none is needed. */");
  declare("TLC_API size_t " + symbol + "_workspace_bytes", sizes);
  out.line("/* Loads the kernel on `device`; without it the first call does. */");
  out.line("TLC_API TLC_NODISCARD tlc_status " + symbol + "_prepare(int device);");
  out.line(
      "/* Of the last failure on this thread: a text, and the vendor's error code behind it. */");
  out.line("TLC_API const char *" + symbol + "_last_error(void);");
  out.line("TLC_API int " + symbol + "_last_native_error(void);");
  out.line("TLC_API const tlc_kernel_info *" + symbol + "_info(void);");
}

/// A JSON string.
std::string json(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", byte);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string paramJson(const CParam &p) {
  constexpr const char *kinds[] = {"tensor", "size", "stride", "scalar"};
  std::string out = "{\"name\": " + json(p.name) + ", \"kind\": \"" +
                    kinds[static_cast<unsigned>(p.kind)] + "\", \"dtype\": " + json(p.dtype);
  if (p.buffer)
    out += ", \"shape\": " + json(p.shape) +
           ", \"alignment\": " + std::to_string(p.buffer->alignment) + ", \"direction\": \"" +
           (p.input    ? "in"
            : p.output ? "out"
                       : "inout") +
           "\"";
  return out + "}";
}

std::string variantJson(const Variant &variant) {
  std::string out = "{\"target\": " + json(variant.target->name) + ", \"launches\": [";
  for (const PrintedKernel &kernel : variant.kernels) {
    const ir::Launch &launch = *kernel.launch;
    out += (&kernel == variant.kernels.data() ? "" : ", ") + ("{\"kernel\": " + json(kernel.name)) +
           ", \"threads\": " + std::to_string(launch.threadCount() + launch.extraThreads) +
           ", \"cluster\": [" + std::to_string(launch.cluster[0]) + ", " +
           std::to_string(launch.cluster[1]) + ", " + std::to_string(launch.cluster[2]) +
           "], \"shared_bytes\": " + std::to_string(launch.sharedBytes) + "}";
  }
  return out + "]}";
}

} // namespace

std::string commonBlock() {
  for (const RuntimeFile &file : runtimeFiles()) {
    if (file.name != "tlc.h")
      continue;
    constexpr std::string_view begin = "/*@ TLC_ABI_1 */\n", end = "/*@ end */";
    std::size_t from = file.text.find(begin), to = file.text.find(end);
    TLC_CHECK(from != file.text.npos && to != file.text.npos, "tlc.h has lost its marks");
    from += begin.size();
    return std::string(file.text.substr(from, to - from));
  }
  TLC_UNREACHABLE("tlc.h is not embedded");
}

std::string buildCommand(const Options &options) {
  const Target &first = *options.targets[0];
  std::string out = first.family == Family::Cuda  ? "nvcc -std=c++17"
                    : first.family == Family::Hip ? "hipcc -std=c++17"
                                                  : "c++ -std=c++17 -O3";
  for (const Target *target : options.targets)
    for (const std::string &flag : target->flags)
      out += " " + flag;
  return out + " -c " + options.outputName;
}

std::string printDeclarations(std::span<const Unit> units) {
  TextWriter out;
  out << commonBlock();
  out.line();
  out.line("#ifdef __cplusplus");
  out.line("extern \"C\" {");
  out.line("#endif");
  for (const Unit &unit : units) {
    out.line();
    function(unit, out);
  }
  out.line();
  out.line("#ifdef __cplusplus");
  out.line("}");
  out.line("#endif");
  return out.take();
}

std::string printHeader(std::span<const Unit> units, const Options &options) {
  TextWriter out;
  std::string guard = guardOf(options.headerName);
  out.line(
      inComment("/* " + options.headerName + ": generated by tlc " + options.version + " from " +
                options.sourceName + ". Do not edit.\n   Build: " + buildCommand(options) +
                "\n\n") +
      "   A call returns TLC_OK once its kernels are started on the stream (for CPU targets: once\n"
      "   they have run); faults of a running kernel appear where the caller synchronises. */");
  out.line("#ifndef " + guard);
  out.line("#define " + guard);
  out.line();
  out << printDeclarations(units);
  out.line("#endif");
  return out.take();
}

std::string unitJson(const Unit &unit, const Options &options) {
  const Interface &interface = unit.interface;
  std::string out = "{\"name\": " + json(unit.variants[0].function->name) +
                    ", \"symbol\": " + json(interface.symbol) +
                    ",\n \"signature\": " + json(interface.signature) +
                    ", \"signature_hash\": " + std::to_string(interface.signatureHash) +
                    ",\n \"params\": [";
  for (std::size_t i = 0; i < interface.params.size(); ++i)
    out += (i ? ",\n  " : "\n  ") + paramJson(interface.params[i]);
  out += "],\n \"constraints\": [";
  const std::vector<std::string> needed = conditions(unit);
  for (std::size_t i = 0; i < needed.size(); ++i)
    out += (i ? ", " : "") + json(needed[i]);
  out += "],\n \"workspace\": {\"zeroed\": " +
         std::string(interface.zeroedWorkspace ? "true" : "false") +
         (mayLackWorkspace(unit)
              ? std::string(", \"optional\": true, \"parts\": 0")
              : ", \"parts\": " + std::to_string(unit.variants[0].function->workspace.size())) +
         "},\n \"variants\": [";
  for (std::size_t i = 0; i < unit.variants.size(); ++i)
    out += (i ? ",\n  " : "\n  ") + variantJson(unit.variants[i]);
  (void)options;
  return out + "]}";
}

std::string printMetadata(std::span<const Unit> units, const Options &options) {
  std::string out = "{\"schema\": 1, \"tlc\": " + json(options.version) +
                    ", \"abi\": 1,\n\"source\": " + json(options.sourceName) +
                    ", \"build\": " + json(buildCommand(options)) + ",\n\"kernels\": [";
  for (const Unit &unit : units)
    out += (&unit == units.data() ? "\n" : ",\n") + unit.json;
  return out + "]}\n";
}

} // namespace tlc::emit
