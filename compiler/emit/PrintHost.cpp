#include "emit/PrintHost.h"

#include "emit/Wrap.h"
#include "ir/GridDependency.h"
#include "support/Check.h"

#include <algorithm>
#include <set>

namespace tlc::emit {

using namespace ir;

namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

/// A printf format that shows exactly `message`.
std::string asFormat(std::string_view message) {
  std::string out;
  for (char c : message)
    out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

class HostPrinter {
public:
  HostPrinter(const Unit &unit, const Options &options, const Dialect &dialect, RuntimeUse &runtime,
              TextWriter &out)
      : unit(unit), options(options), dialect(dialect), runtime(runtime), out(out),
        exprs(dialect, names, runtime), symbol(unit.interface.symbol), name(quoted(symbol)) {
    exprs.onHost = true;
  }

  void argumentStruct() {
    out.line("struct " + symbol + "_args {");
    {
      auto inner = out.indent();
      for (const std::string &d : declarations(unit.interface, false))
        out.line(d + ";");
      out.line("void *workspace;");
      out.line("size_t workspace_bytes;");
    }
    out.line("};");
    out.line();
  }

  void argumentChecks() {
    bind(*unit.variants[0].function, "");
    TextWriter body;
    if (options.checks != CheckLevel::None) {
      for (const CParam &p : unit.interface.params)
        if (p.kind == ParamKind::Size || p.kind == ParamKind::Stride)
          checkSize(p, body);
      checkConstraints(body);
      for (const CParam &p : unit.interface.params)
        if (p.kind == ParamKind::Tensor)
          checkTensor(p, body);
    }
    body.line("return TLC_OK;");
    function("check_arguments", {}, body.str());
  }

  void plan(const Variant &variant) {
    bind(*variant.function, "device.");
    names.enter();
    TextWriter body;
    std::vector<Expr> extents;
    for (const Buffer *part : variant.function->workspace)
      if (part->wanted)
        extents.push_back(part->wanted);
    for (const PrintedKernel &kernel : variant.kernels)
      extents.insert(extents.end(), kernel.launch->grid.begin(), kernel.launch->grid.end());
    computeConstants(*variant.function, extents, body);
    body.line("plan->workspace = 0;");
    for (std::size_t i = 0; i < variant.function->workspace.size(); ++i)
      workspacePart(*variant.function->workspace[i], i, body);
    for (std::size_t i = 0; i < variant.kernels.size(); ++i)
      grid(*variant.kernels[i].launch, i, body);
    if (options.checks != CheckLevel::None)
      for (std::size_t i = 0; i < variant.kernels.size(); ++i)
        returnOnError(
            exprs.runtimeName("check_grid") + "(" + name + ", plan->grid[" +
                text(static_cast<std::int64_t>(i)) + "], " +
                (dialect.family == Family::Cpu ? "INT32_MAX, INT32_MAX" : "INT32_MAX, 65535") + ")",
            body);
    body.line("return TLC_OK;");
    function("plan", {"const tlc::device_limits &device", planType() + " *plan"}, body.str());
    names.leave();
  }

  void start(const Variant &variant) {
    bind(*variant.function, "device.");
    names.enter();
    TextWriter body;
    std::vector<Expr> passedOn;
    for (const PrintedKernel &kernel : variant.kernels) {
      for (const KernelArgument &argument : kernel.arguments)
        if (argument.var)
          passedOn.push_back(argument.var);
      if (kernel.launch->clusterSize)
        passedOn.push_back(kernel.launch->clusterSize);
    }
    computeConstants(*variant.function, passedOn, body);
    bool returned = false;
    for (std::size_t i = 0; i < variant.kernels.size(); ++i) {
      std::string call =
          dialect.family == Family::Cpu ? cpuLaunch(variant, i) : gpuLaunch(variant, i);
      returned = i + 1 == variant.kernels.size() && !hasTensorMaps(variant.kernels[i]);
      std::string start = returned ? "return " + call + ";"
                                   : "if (tlc_status status = " + call + ")\n  return status;";
      if (hasTensorMaps(variant.kernels[i]))
        withTensorMaps(variant, i, start, body);
      else
        writeLines(body, start);
    }
    if (!returned)
      body.line("return TLC_OK;");
    function("start",
             {"const tlc::device_limits &device", "const " + planType() + " &plan", "void *stream"},
             body.str());
    names.leave();
  }

  std::string planType() const {
    std::size_t launches = 1, parts = 1;
    for (const Variant &v : unit.variants) {
      launches = std::max(launches, v.kernels.size());
      parts = std::max(parts, v.function->workspace.size());
    }
    runtime.use("launch_plan");
    return "tlc::launch_plan<" + text(static_cast<std::int64_t>(launches)) + ", " +
           text(static_cast<std::int64_t>(parts)) + ">";
  }

private:
  /// Names of the parameters as members of `a`, of launch constants as members of the device.
  void bind(const Function &function, const std::string &device) {
    // Each variant has variables of its own, in the same order.
    Interface own = interfaceOf(function, options);
    for (std::size_t i = 0; i < own.params.size(); ++i) {
      const CParam &p = own.params[i];
      if (p.buffer)
        names.alias(*p.buffer, "a." + unit.interface.params[i].name);
      else
        names.alias(p.var, "a." + unit.interface.params[i].name);
    }
    for (const LaunchConstant &constant : function.launchConstants)
      if (constant.what == LaunchConstant::What::MultiprocessorCount)
        names.alias(constant.var, device + "multiprocessors");
      else if (constant.what == LaunchConstant::What::WorkspaceBytes)
        names.alias(constant.var,
                    exprs.runtimeName("usable_bytes") + "(a.workspace, a.workspace_bytes)");
  }

  /// Those of the launch constants on which `wanted` depends, as local variables.
  void computeConstants(const Function &function, std::vector<Expr> wanted, TextWriter &to) {
    std::vector<const LaunchConstant *> used;
    const auto &constants = function.launchConstants;
    for (auto constant = constants.rbegin(); constant != constants.rend(); ++constant) {
      bool isUsed = constant->value && std::any_of(wanted.begin(), wanted.end(),
                                                   [&](Expr e) { return uses(e, constant->var); });
      if (!isUsed)
        continue;
      used.push_back(&*constant);
      wanted.push_back(constant->value);
    }
    for (auto constant = used.rbegin(); constant != used.rend(); ++constant) {
      // Sizes are wider here than in kernels.
      std::string type = exprs.storageOf((*constant)->var.dtype());
      std::string value = exprs.print((*constant)->value);
      writeWrapped(to, "const " + type + " " + names.declare((*constant)->var) + " = " +
                           ((*constant)->var.dtype().isBool() ? value : type + "(" + value + ")") +
                           ";");
    }
  }

  void returnOnError(const std::string &call, TextWriter &to) {
    writeWrapped(to, "if (tlc_status status = " + call + ")");
    auto inner = to.indent();
    to.line("return status;");
  }

  /// One of the functions of the arguments and `more`; parameters that `body` does not mention go
  /// without a name.
  void function(const std::string &what, const std::vector<std::string> &more,
                const std::string &body) {
    auto param = [&](const std::string &declared) {
      std::size_t at = declared.find_last_of(" *&") + 1;
      std::string name = declared.substr(at), bare = declared.substr(0, at);
      for (std::size_t i = 0; (i = body.find(name, i)) != body.npos; ++i)
        if ((i == 0 || !isWord(body[i - 1])) && !isWord(body[i + name.size()]))
          return declared;
      while (bare.ends_with(' '))
        bare.pop_back();
      return bare;
    };
    std::vector<std::string> items = {param("const " + symbol + "_args &a")};
    for (const std::string &declared : more)
      items.push_back(param(declared));
    writeLines(out, wrapList("inline tlc_status " + symbol + "_" + what + "(", items, ") {", 4));
    {
      auto inner = out.indent();
      writeLines(out, body.substr(0, body.size() - 1));
    }
    out.line("}");
    out.line();
  }
  static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  void checkSize(const CParam &p, TextWriter &to) {
    std::string largest = p.var.dtype().bits() <= 32 ? "INT32_MAX" : "INT64_MAX";
    returnOnError(exprs.runtimeName("check_size") + "(" + name + ", " + quoted(p.name) + ", a." +
                      p.name + ", " + largest + ")",
                  to);
  }

  /// Of all variants: passes add what the form they chose needs.
  void checkConstraints(TextWriter &to) {
    std::set<std::string> checked;
    for (const Variant &variant : unit.variants) {
      bind(*variant.function, "");
      for (const Constraint &constraint : variant.function->constraints)
        checkConstraint(constraint, checked, to);
    }
    bind(*unit.variants[0].function, "");
  }

  void checkConstraint(const Constraint &constraint, std::set<std::string> &checked,
                       TextWriter &to) {
    std::string condition = exprs.print(constraint.condition, Precedence::Primary);
    if (!checked.insert(condition).second)
      return;
    std::string said =
        constraint.text.empty() ? exprs.print(constraint.condition) : constraint.text;
    writeWrapped(to, "if (!" + condition + ")");
    auto inner = to.indent();
    to.line("return " + exprs.runtimeName("fail") + "(TLC_ERR_SHAPE, " +
            quoted(asFormat(symbol + ": needs " + said)) + ");");
  }

  void checkTensor(const CParam &p, TextWriter &to) {
    std::string shape;
    for (Expr extent : p.buffer->shape)
      shape += (shape.empty() ? "" : ", ") + exprs.print(extent);
    if (p.buffer->shape.empty())
      shape = "1";
    std::string head = "(" + name + ", " + quoted(p.name) + ", a." + p.name + ", {" + shape + "}";
    if (options.checks == CheckLevel::Cheap)
      return returnOnError(exprs.runtimeName("check_pointer") + head + ")", to);
    returnOnError(exprs.runtimeName("check_tensor") + head + ", " + text(p.buffer->dtype.bits()) +
                      ", " + text(p.buffer->alignment) + ")",
                  to);
  }

  void workspacePart(const Buffer &buffer, std::size_t number, TextWriter &to) {
    std::string shape;
    for (Expr extent : buffer.shape)
      shape += (shape.empty() ? "" : ", ") + exprs.print(extent);
    std::int64_t bits = buffer.dtype.bits();
    std::string bytes = exprs.runtimeName("product") + "({" + (shape.empty() ? "1" : shape) +
                        (bits > 8 ? ", " + text(bits / 8) : "") + "})";
    if (bits < 8)
      bytes = "(" + bytes + " * " + text(bits) + " + 7) / 8";
    if (buffer.wanted)
      bytes = exprs.print(buffer.wanted, Precedence::Or) + " ? " + bytes + " : 0";
    std::string local = "bytes_" + text(static_cast<std::int64_t>(number));
    to.line("const int64_t " + local + " = " + bytes + ";");
    to.line("if (" + local + " < 0)");
    {
      auto inner = to.indent();
      to.line("return " + exprs.runtimeName("fail") + "(TLC_ERR_SHAPE, " +
              quoted(symbol + ": the workspace does not fit 64 bits") + ");");
    }
    to.line("plan->part[" + text(static_cast<std::int64_t>(number)) +
            "] = " + exprs.runtimeName("add_part") + "(&plan->workspace, " + local + ");");
  }

  void grid(const Launch &launch, std::size_t number, TextWriter &to) {
    for (std::size_t d = 0; d < 3; ++d) {
      std::string extent = d < launch.grid.size() ? exprs.print(launch.grid[d]) : "1";
      to.line("plan->grid[" + text(static_cast<std::int64_t>(number)) + "][" +
              text(static_cast<std::int64_t>(d)) + "] = " + extent + ";");
    }
  }

  static bool hasTensorMaps(const PrintedKernel &kernel) {
    return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                       [](const KernelArgument &a) { return a.map; });
  }

  /// A launch that needs descriptors of tensors: they are made only if the kernel is started, since
  /// those of a variant that does not fit the sizes cannot be.
  void withTensorMaps(const Variant &variant, std::size_t number, const std::string &start,
                      TextWriter &to) {
    to.line("if (" + exprs.runtimeName("has_blocks") + "(plan.grid[" +
            text(static_cast<std::int64_t>(number)) + "])) {");
    {
      auto inner = to.indent();
      for (const KernelArgument &argument : variant.kernels[number].arguments)
        if (argument.map)
          tensorMap(variant, argument, to);
      writeLines(to, start);
    }
    to.line("}");
  }

  /// The name that the driver has for elements of tensor maps.
  static std::string tensorMapType(DType dtype) {
    switch (dtype.scalar) {
    case Scalar::Float16:
      return "FLOAT16";
    case Scalar::BFloat16:
      return "BFLOAT16";
    case Scalar::Float32:
    case Scalar::TFloat32:
      return "FLOAT32";
    case Scalar::Float64:
      return "FLOAT64";
    case Scalar::Int32:
    case Scalar::Int64:
      return "INT" + text(dtype.bits());
    default: // of the others the bits are copied
      return "UINT" + text(dtype.bits());
    }
  }

  void tensorMap(const Variant &variant, const KernelArgument &argument, TextWriter &to) {
    const Buffer &tensor = *argument.map->tensor;
    Context &context = tensor.shape.front().context();
    std::string shape, strides, box;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      Expr stride = context.integer(DType(Scalar::Int64), 1);
      for (std::size_t i = d + 1; i < tensor.shape.size(); ++i)
        stride = stride * context.cast(DType(Scalar::Int64), tensor.shape[i]);
      const char *comma = d ? ", " : "";
      shape += comma + exprs.print(tensor.shape[d]);
      strides += comma + exprs.print(tensor.strides.empty() ? stride : tensor.strides[d]);
      box += comma + text(argument.map->box[d]);
    }
    to.line("CUtensorMap " + argument.name + ";");
    const Buffer &storage = *tensor.storage();
    if (const auto &unfold = argument.map->unfold)
      return returnOnError(
          exprs.runtimeName("make_tensor_map_im2col") + "(" + name + ", &" + argument.name +
              ", CU_TENSOR_MAP_DATA_TYPE_" + tensorMapType(tensor.dtype) + ", " +
              text(tensor.dtype.bits() / 8) + ", " + pointerTo(variant, storage) + ", {" + shape +
              "}, {" + strides + "}, {" + text(unfold->kernel) + ", " + text(unfold->stride) +
              ", " + text(unfold->dilation) + ", " + text(unfold->pad) + "}, " +
              text(argument.map->box[2]) + ", " + text(argument.map->box[3]) + ", " +
              text(argument.map->swizzleBytes) + ")",
          to);
    returnOnError(exprs.runtimeName("make_tensor_map") + "(" + name + ", &" + argument.name +
                      ", CU_TENSOR_MAP_DATA_TYPE_" + tensorMapType(tensor.dtype) + ", " +
                      text(tensor.dtype.bits() / 8) + ", " + pointerTo(variant, storage) + ", {" +
                      shape + "}, {" + strides + "}, {" + box + "}, " +
                      text(argument.map->swizzleBytes) + ")",
                  to);
  }

  /// A tensor of the caller, or a part of the workspace, as the C interface has it.
  std::string pointerTo(const Variant &variant, const Buffer &buffer) {
    const auto &workspace = variant.function->workspace;
    auto part = std::find(workspace.begin(), workspace.end(), &buffer);
    if (part == workspace.end())
      return names.of(buffer);
    return "static_cast<char *>(a.workspace) + plan.part[" + text(part - workspace.begin()) + "]";
  }

  /// What is passed for one parameter of a kernel.
  std::string passed(const Variant &variant, const KernelArgument &argument) {
    if (argument.map)
      return argument.name;
    if (!argument.buffer) {
      std::string value = names.of(argument.var);
      return argument.var.dtype() == DType(Scalar::Int64) || argument.type == "float" ||
                     argument.type == "double"
                 ? value
                 : argument.type + "(" + value + ")";
    }
    std::string type = std::string(argument.buffer->writable ? "" : "const ") +
                       exprs.storageOf(argument.buffer->dtype) + " *";
    std::string member = pointerTo(variant, *argument.buffer);
    if (!names.knows(*argument.buffer)) // in the workspace
      return "reinterpret_cast<" + type + ">(" + member + ")";
    std::string declared;
    for (const CParam &p : unit.interface.params)
      if ("a." + p.name == member)
        declared = p.type;
    if (declared == type || declared == "int32_t *" || declared == "const int32_t *")
      return member;
    bool isVoid = declared.find("void") != declared.npos;
    return (isVoid ? "static_cast<" : "reinterpret_cast<") + type + ">(" + member + ")";
  }

  std::string gpuLaunch(const Variant &variant, std::size_t number) {
    const PrintedKernel &kernel = variant.kernels[number];
    const Launch &launch = *kernel.launch;
    std::string i = text(static_cast<std::int64_t>(number)), grid = "plan.grid[" + i + "]";
    std::string block = launch.extraThreads
                            ? text(launch.threadCount() + launch.extraThreads) + "u, 1u, 1u"
                            : text(launch.threads[0]) + "u, " + text(launch.threads[1]) + "u, " +
                                  text(launch.threads[2]) + "u";
    std::string clusterX = launch.clusterSize ? "unsigned(" + exprs.print(launch.clusterSize) + ")"
                                              : text(launch.cluster[0]) + "u";
    std::string shape = "{{" + block + "}, {" + clusterX + ", " + text(launch.cluster[1]) + "u, " +
                        text(launch.cluster[2]) + "u}, " + text(launch.sharedBytes) + ", " +
                        (launch.cooperative ? "true" : "false") +
                        (waitsForGrid(launch) ? ", true}" : ", false}");
    std::vector<std::string> items = {name, kernel.name, grid, shape, "stream"};
    for (const KernelArgument &argument : kernel.arguments)
      items.push_back(passed(variant, argument));
    return wrapList(exprs.runtimeName("launch") + "(", items, ")", 4, 28);
  }

  std::string cpuLaunch(const Variant &variant, std::size_t number) {
    const PrintedKernel &kernel = variant.kernels[number];
    const Launch &launch = *kernel.launch;
    std::string i = text(static_cast<std::int64_t>(number)), grid = "plan.grid[" + i + "]";
    std::vector<std::string> items;
    for (const KernelArgument &argument : kernel.arguments)
      items.push_back(passed(variant, argument));
    for (std::size_t d = 0; d < launch.blockVars.size(); ++d)
      items.push_back("x[" + text(static_cast<std::int64_t>(d)) + "]");
    items.push_back("arena");
    return exprs.runtimeName("run_blocks") + "(" + name + ", " + grid + ", " +
           text(launch.sharedBytes) +
           ", stream,\n    [&](const int (&x)[3], unsigned char *arena) {\n" +
           "      (void)x;\n      " + wrapList(kernel.name + "(", items, ");", 10) + "\n    })";
  }

  const Unit &unit;
  const Options &options;
  const Dialect &dialect;
  RuntimeUse &runtime;
  TextWriter &out;
  ScopedNames names;
  ExprPrinter exprs;
  std::string symbol, name;
};

} // namespace

bool mayLackWorkspace(const Unit &unit) {
  return std::any_of(unit.variants.begin(), unit.variants.end(), [](const Variant &variant) {
    const std::vector<Buffer *> &parts = variant.function->workspace;
    return std::any_of(parts.begin(), parts.end(),
                       [](const Buffer *part) { return static_cast<bool>(part->wanted); });
  });
}

void printHostInside(const Unit &unit, const Options &options, const Dialect &dialect,
                     RuntimeUse &runtime, TextWriter &out) {
  HostPrinter printer(unit, options, dialect, runtime, out);
  printer.argumentStruct();
  printer.argumentChecks();
  for (const Variant &variant : unit.variants) {
    std::string scope =
        variant.scope.substr(0, variant.scope.size() - (variant.scope.empty() ? 0 : 2));
    if (!scope.empty())
      out.line("namespace " + scope + " {").line();
    printer.plan(variant);
    printer.start(variant);
    if (!scope.empty())
      out.line("} // namespace " + scope).line();
  }
}

} // namespace tlc::emit
