// The C entry points of a function, and the choice of a kernel for the device.
#include "emit/PrintHost.h"

#include <algorithm>

namespace tlc::emit {

namespace {

class EntryPrinter {
public:
  EntryPrinter(const Unit &unit, const Options &options, const Dialect &dialect,
               RuntimeUse &runtime, TextWriter &out)
      : unit(unit), options(options), runtime(runtime), out(out),
        gpu(dialect.family != Family::Cpu), symbol(unit.interface.symbol), name(quoted(symbol)) {}

  void inside() {
    deviceChoice();
    if (gpu)
      loading();
    ready();
    dispatch("plan", "tlc_status", "const tlc::device_limits &device, " + planType() + " *plan",
             "device, plan");
    dispatch("start", "tlc_status",
             "const tlc::device_limits &device, const " + planType() + " &plan, void *stream",
             "device, plan, stream");
  }

  void entries() {
    entry();
    checkEntry();
    workspaceEntry();
    prepareEntry();
    errorEntries();
    infoEntry();
  }

private:
  std::string tlc(std::string_view function) {
    runtime.use(function);
    return "tlc::" + std::string(function);
  }
  std::string planType() {
    std::size_t launches = 1, parts = 1;
    for (const Variant &v : unit.variants) {
      launches = std::max(launches, v.kernels.size());
      parts = std::max(parts, v.function->workspace.size());
    }
    return tlc("launch_plan") + "<" + std::to_string(launches) + ", " + std::to_string(parts) + ">";
  }
  bool single() const { return unit.variants.size() == 1; }

  static std::int64_t sharedBytes(const Variant &variant) {
    std::int64_t most = 0;
    for (const PrintedKernel &kernel : variant.kernels)
      most = std::max(most, kernel.launch->sharedBytes);
    return most;
  }

  /// "sm_90a" and whether only that very machine runs it.
  static std::string codeName(const Target &target) {
    const std::string &flag = target.flags.empty() ? target.name : target.flags[0];
    std::size_t at = flag.rfind("sm_");
    return at == flag.npos ? target.name : flag.substr(at);
  }
  static bool isExact(const Target &target) { return codeName(target).ends_with('a'); }

  void statement(const std::string &call) {
    out.line("if (tlc_status status = " + call + ")");
    auto inner = out.indent();
    out.line("return status;");
  }

  void deviceChoice() {
    out.line("inline tlc_status " + symbol + "_device(int device, " + tlc("device_limits") +
             " *limits) {");
    {
      auto inner = out.indent();
      statement(tlc("query") + "(" + name + ", device, limits)");
      std::string built;
      // The last fitting variant is the best one.
      for (std::size_t i = unit.variants.size(); i-- > 0;) {
        const Target &target = *unit.variants[i].target;
        built = built.empty() ? codeName(target) : codeName(target) + ", " + built;
        out.line(std::string(i + 1 == unit.variants.size() ? "" : "else ") + "if (" +
                 condition(target) + ")");
        auto deeper = out.indent();
        out.line("limits->variant = " + std::to_string(i) + ";");
      }
      out.line("else");
      {
        auto deeper = out.indent();
        out.line("return " + tlc("wrong_device") + "(" + name + ", *limits, " + quoted(built) +
                 ");");
      }
      if (gpu)
        out.line("return " + tlc("check_shared") + "(" + name + ", *limits, " + sharedText() +
                 ");");
      else
        out.line("return TLC_OK;");
    }
    out.line("}");
    out.line();
  }

  std::string condition(const Target &target) {
    if (gpu)
      return "limits->capability " + std::string(isExact(target) ? "== " : ">= ") +
             std::to_string(target.architecture);
    if (target.name == "cpu-avx2")
      return tlc("cpu_has_avx2") + "()";
    if (target.name == "cpu-avx512")
      return tlc("cpu_has_avx512") + "()";
    return "limits->variant == 0";
  }

  std::string sharedText() const {
    std::string out = std::to_string(sharedBytes(unit.variants.back()));
    for (std::size_t i = unit.variants.size() - 1; i-- > 0;)
      out = "limits->variant == " + std::to_string(i) + " ? " +
            std::to_string(sharedBytes(unit.variants[i])) + " : " + out;
    return out;
  }

  void loading() {
    out.line("inline tlc_status " + symbol + "_load(const tlc::device_limits &limits) {");
    {
      auto inner = out.indent();
      out.line("tlc_status status = TLC_OK;");
      if (single())
        out.line("(void)limits;");
      for (std::size_t i = 0; i < unit.variants.size(); ++i)
        for (const PrintedKernel &kernel : unit.variants[i].kernels) {
          std::string fits = single() ? "" : " && limits.variant == " + std::to_string(i);
          out.line("if (status == TLC_OK" + fits + ")");
          auto deeper = out.indent();
          out.line("status = " + tlc("load_kernel") + "(" + name + ", " + unit.variants[i].scope +
                   kernel.name + ", " + std::to_string(kernel.launch->sharedBytes) + ");");
        }
      out.line("return status;");
    }
    out.line("}");
    out.line();
  }

  /// Finds what is known of the current device, or makes it known.
  void ready() {
    if (gpu)
      out.line(tlc("device_cache") + " " + symbol + "_devices;").line();
    out.line("inline tlc_status " + symbol + "_ready(tlc::device_limits *limits) {");
    {
      auto inner = out.indent();
      if (!gpu) {
        out.line("return " + symbol + "_device(0, limits);");
      } else {
        out.line("int device = 0;");
        out.line("const cudaError_t error = cudaGetDevice(&device);");
        out.line("if (error != cudaSuccess)");
        {
          auto deeper = out.indent();
          out.line("return " + tlc("fail_native") + "(" + name +
                   ", \"no current device\", error);");
        }
        out.line("if (" + symbol + "_devices.find(device, limits))");
        {
          auto deeper = out.indent();
          out.line("return TLC_OK;");
        }
        statement(symbol + "_device(device, limits)");
        statement(symbol + "_load(*limits)");
        out.line(symbol + "_devices.store(device, *limits);");
        out.line("return TLC_OK;");
      }
    }
    out.line("}");
    out.line();
  }

  /// With several variants: one function that calls that of the device's.
  void dispatch(const std::string &what, const std::string &result, const std::string &params,
                const std::string &args) {
    if (single())
      return;
    out.line("inline " + result + " " + symbol + "_" + what + "(const " + symbol + "_args &a,");
    out.line("    " + params + ") {");
    {
      auto inner = out.indent();
      for (std::size_t i = 0; i + 1 < unit.variants.size(); ++i) {
        out.line("if (device.variant == " + std::to_string(i) + ")");
        auto deeper = out.indent();
        out.line("return " + unit.variants[i].scope + symbol + "_" + what + "(a, " + args + ");");
      }
      out.line("return " + unit.variants.back().scope + symbol + "_" + what + "(a, " + args + ");");
    }
    out.line("}");
    out.line();
  }

  std::vector<std::string> parameters(std::initializer_list<std::string> more) const {
    std::vector<std::string> items = declarations(unit.interface, false);
    items.insert(items.end(), more);
    return items;
  }

  std::string argumentList() const {
    std::string list;
    for (const CParam &p : unit.interface.params)
      list += p.name + ", ";
    return list;
  }

  void entry() {
    writeLines(out,
               wrapList("tlc_status " + symbol + "(",
                        parameters({"void *workspace", "size_t workspace_bytes", "void *stream"}),
                        ") {", 4));
    {
      auto inner = out.indent();
      out.line("const " + symbol + "_args tlc_args = {" + argumentList() +
               "workspace, workspace_bytes};");
      out.line("tlc::device_limits tlc_device;");
      out.line(planType() + " tlc_plan;");
      statement(symbol + "_ready(&tlc_device)");
      statement(symbol + "_check_arguments(tlc_args)");
      statement(symbol + "_plan(tlc_args, tlc_device, &tlc_plan)");
      if (!mayLackWorkspace(unit))
        statement(tlc("check_workspace") + "(" + name +
                  ", workspace, workspace_bytes, tlc_plan.workspace)");
      out.line("return " + symbol + "_start(tlc_args, tlc_device, tlc_plan, stream);");
    }
    out.line("}");
    out.line();
  }

  void checkEntry() {
    writeLines(out,
               wrapList("tlc_status " + symbol + "_check(",
                        parameters({"void *workspace", "size_t workspace_bytes", "int device"}),
                        ") {", 4));
    {
      auto inner = out.indent();
      out.line("const " + symbol + "_args tlc_args = {" + argumentList() +
               "workspace, workspace_bytes};");
      out.line("tlc::device_limits tlc_device;");
      out.line(planType() + " tlc_plan;");
      statement(symbol + "_device(device, &tlc_device)");
      statement(symbol + "_check_arguments(tlc_args)");
      statement(symbol + "_plan(tlc_args, tlc_device, &tlc_plan)");
      out.line("return " +
               (mayLackWorkspace(unit) ? "TLC_OK"
                                       : tlc("check_workspace") + "(" + name +
                                             ", workspace, workspace_bytes, tlc_plan.workspace)") +
               ";");
    }
    out.line("}");
    out.line();
  }

  void workspaceEntry() {
    std::vector<std::string> items;
    std::string values;
    for (const CParam &p : unit.interface.params) {
      bool size = p.kind == ParamKind::Size || p.kind == ParamKind::Stride;
      if (size)
        items.push_back("int64_t " + p.name);
      values += size ? p.name + ", " : p.buffer ? "nullptr, " : "0, ";
    }
    items.push_back("int device");
    writeLines(out, wrapList("size_t " + symbol + "_workspace_bytes(", items, ") {", 4));
    {
      auto inner = out.indent();
      out.line("const " + symbol + "_args tlc_args = {" + values + "nullptr, 0};");
      out.line("tlc::device_limits tlc_device;");
      out.line(planType() + " tlc_plan;");
      out.line("if (" + symbol + "_device(device, &tlc_device) != TLC_OK || " + symbol +
               "_plan(tlc_args, tlc_device, &tlc_plan) != TLC_OK)");
      {
        auto deeper = out.indent();
        out.line("return 0;");
      }
      out.line("return size_t(tlc_plan.workspace);");
    }
    out.line("}");
    out.line();
  }

  void prepareEntry() {
    out.line("tlc_status " + symbol + "_prepare(int device) {");
    {
      auto inner = out.indent();
      out.line("tlc::device_limits tlc_device;");
      statement(symbol + "_device(device, &tlc_device)");
      if (gpu) {
        statement(tlc("on_device") + "(" + name + ", device, [&] { return " + symbol +
                  "_load(tlc_device); })");
        out.line(symbol + "_devices.store(device, tlc_device);");
      } else {
        std::int64_t most = 0;
        for (const Variant &v : unit.variants)
          most = std::max(most, sharedBytes(v));
        out.line(tlc("prepare_threads") + "(" + std::to_string(most) + ");");
      }
      out.line("return TLC_OK;");
    }
    out.line("}");
    out.line();
  }

  void errorEntries() {
    runtime.use("last_error");
    out.line("const char *" + symbol + "_last_error(void) { return tlc::last_error; }");
    out.line("int " + symbol + "_last_native_error(void) { return tlc::last_native_error; }");
    out.line();
  }

  void infoEntry() {
    out.line("const tlc_kernel_info *" + symbol + "_info(void) {");
    {
      auto inner = out.indent();
      const auto &params = unit.interface.params;
      if (!params.empty()) {
        out.line("static const tlc_param_info params[] = {");
        for (const CParam &p : params) {
          auto deeper = out.indent();
          constexpr const char *kinds[] = {"TLC_PARAM_TENSOR", "TLC_PARAM_SIZE", "TLC_PARAM_STRIDE",
                                           "TLC_PARAM_SCALAR"};
          std::string flags = p.output ? "TLC_PARAM_OUTPUT" : p.input ? "TLC_PARAM_INPUT" : "0";
          out.line("{" + quoted(p.name) + ", " + quoted(p.dtype) + ", " + quoted(p.shape) + ", " +
                   kinds[static_cast<unsigned>(p.kind)] + ", " +
                   std::to_string(p.buffer ? p.buffer->rank() : 0) + ", " +
                   std::to_string(p.buffer ? p.buffer->alignment : 0) + ", " + flags + "},");
        }
        out.line("};");
      }
      variants();
      out.line("static const tlc_kernel_info info = {");
      {
        auto deeper = out.indent();
        out.line("sizeof(tlc_kernel_info), TLC_ABI, " + name + ", " +
                 quoted("tlc " + options.version) + ",");
        out.line(quoted(unit.interface.signature) + ",");
        out.line(std::to_string(unit.interface.signatureHash) + "u, " +
                 std::to_string(params.size()) + ", " + std::to_string(unit.variants.size()) +
                 ", " + (params.empty() ? "nullptr" : "params") + ", variants,");
        printJson();
      }
      out.line("return &info;");
    }
    out.line("}");
  }

  void variants() {
    out.line("static const tlc_variant_info variants[] = {");
    for (const Variant &v : unit.variants) {
      auto deeper = out.indent();
      std::int64_t threads = 1;
      std::string cluster = "1, 1, 1", launch;
      if (!v.kernels.empty()) {
        const ir::Launch &first = *v.kernels[0].launch;
        threads = first.threadCount() + first.extraThreads;
        cluster = std::to_string(first.cluster[0]) + ", " + std::to_string(first.cluster[1]) +
                  ", " + std::to_string(first.cluster[2]);
        launch = v.kernels[0].name;
      }
      out.line("{" + quoted(v.target->name) + ", " + quoted(launch) + ", " +
               std::to_string(threads) + ", {" + cluster + "}, " + std::to_string(sharedBytes(v)) +
               "},");
    }
    out.line("};");
  }

  /// As lines of one string literal.
  void printJson() {
    std::string_view rest = unit.json;
    while (!rest.empty()) {
      std::size_t end = rest.find('\n');
      std::string_view part = rest.substr(0, end == rest.npos ? end : end + 1);
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
      out.line(quoted(part) + (rest.empty() ? "};" : ""));
    }
  }

  const Unit &unit;
  const Options &options;
  RuntimeUse &runtime;
  TextWriter &out;
  bool gpu;
  std::string symbol, name;
};

} // namespace

void printChoice(const Unit &unit, const Options &options, const Dialect &dialect,
                 RuntimeUse &runtime, TextWriter &out) {
  EntryPrinter(unit, options, dialect, runtime, out).inside();
}

void printEntries(const Unit &unit, const Options &options, const Dialect &dialect,
                  RuntimeUse &runtime, TextWriter &out) {
  EntryPrinter(unit, options, dialect, runtime, out).entries();
}

} // namespace tlc::emit
