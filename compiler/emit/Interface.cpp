#include "emit/Interface.h"

#include "emit/PrintExpr.h"
#include "support/Names.h"

#include <algorithm>
#include <cctype>

namespace tlc::emit {

using namespace ir;

std::string shortName(DType dtype) {
  switch (dtype.scalar) {
  case Scalar::Float16:
    return "f16";
  case Scalar::BFloat16:
    return "bf16";
  case Scalar::Float32:
    return "f32";
  case Scalar::Float64:
    return "f64";
  case Scalar::TFloat32:
    return "tf32";
  default:
    break;
  }
  std::string name = dtype.element().str();
  if (dtype.isInteger())
    return (dtype.isUInt() ? "u" : "i") + std::to_string(dtype.bits());
  if (name.starts_with("float") && name.find('_') != name.npos) // float8_e4m3fn -> e4m3fn
    return name.substr(name.find('_') + 1);
  return name;
}

namespace {

/// Pointee in C: what has a C type is typed, the rest is void.
std::string pointee(DType dtype) {
  switch (dtype.scalar) {
  case Scalar::Float32:
    return "float";
  case Scalar::Float64:
    return "double";
  case Scalar::Bool:
    return "uint8_t";
  default:
    if (dtype.isInteger() && !dtype.isSubByte())
      return (dtype.isUInt() ? "uint" : "int") + std::to_string(dtype.bits()) + "_t";
    return "void";
  }
}

std::string scalarCType(DType dtype) {
  std::string type = pointee(dtype);
  return type == "void" ? dtype.isFloat() ? "float" : "int32_t" : type;
}

/// FNV-1a.
std::uint32_t hashOf(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

void addTensors(const Function &function, ScopedNames &names, Interface &out) {
  for (const Param &param : function.params) {
    if (!param.buffer)
      continue;
    CParam p;
    p.kind = ParamKind::Tensor;
    p.buffer = param.buffer;
    p.name = names.declare(*param.buffer);
    p.dtype = param.buffer->dtype.str();
    p.input = !param.buffer->writable;
    p.output = param.buffer->output;
    p.type = std::string(p.input ? "const " : "") + pointee(param.buffer->dtype) + " *";
    out.params.push_back(std::move(p));
  }
}

void addVariable(ParamKind kind, Expr var, std::string type, ScopedNames &names, Interface &out) {
  CParam p;
  p.kind = kind;
  p.var = var;
  p.name = names.declare(var);
  p.type = std::move(type);
  p.dtype = var.dtype().str();
  out.params.push_back(std::move(p));
}

} // namespace

std::string macroOf(std::string_view symbol) {
  std::string out;
  for (char c : symbol)
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> globalNames(const std::string &symbol) {
  std::vector<std::string> out = {symbol, macroOf(symbol) + "_SIGNATURE",
                                  macroOf(symbol) + "_SIGNATURE_HASH"};
  for (std::string_view end :
       {"check", "workspace_bytes", "prepare", "last_error", "last_native_error",
        "info", // exported
        "args", "check_arguments", "plan", "start", "device", "devices", "load", "ready"})
    out.push_back(symbol + "_" + std::string(end));
  return out;
}

std::string symbolOf(std::string_view kernelName, std::string_view prefix) {
  std::string symbol = identifierFrom(std::string(prefix) + std::string(kernelName));
  std::vector<std::string> names = globalNames(symbol);
  bool taken = std::any_of(names.begin(), names.end(),
                           [](const std::string &name) { return isReservedGlobalName(name); });
  return taken ? identifierFrom("kernel_" + symbol) : symbol;
}

std::string shapeText(const Buffer &buffer, const Interface &interface) {
  ScopedNames names;
  for (const CParam &p : interface.params)
    if (p.var)
      names.alias(p.var, p.name);
  RuntimeUse unused(RuntimeLibrary::of(Family::Cpu));
  ExprPrinter printer(dialectOf(Family::Cpu), names, unused);
  std::string out = "[";
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    std::vector<Expr> vars;
    collectVars(buffer.shape[i], vars);
    bool known = std::all_of(vars.begin(), vars.end(), [&](Expr v) { return names.knows(v); });
    out += (i ? ", " : "") + (known ? printer.print(buffer.shape[i]) : std::string("?"));
  }
  return out + "]";
}

Interface interfaceOf(const Function &function, const Options &options) {
  Interface out;
  out.symbol = symbolOf(function.name, options.prefix);
  ScopedNames names;
  for (std::string_view name :
       {"workspace", "workspace_bytes", "stream", "device", "status", "tlc"})
    names.reserve(name);
  for (const std::string &name : globalNames(out.symbol))
    names.reserve(name);
  addTensors(function, names, out);
  for (bool strides : {false, true})
    for (const Dim &dim : function.dims)
      if (dim.isStride == strides)
        addVariable(strides ? ParamKind::Stride : ParamKind::Size, dim.var, "int64_t", names, out);
  for (const Param &param : function.params)
    if (param.scalar)
      addVariable(ParamKind::Scalar, param.scalar, scalarCType(param.scalar.dtype()), names, out);
  out.signature = out.symbol + "(";
  for (CParam &p : out.params) {
    if (p.buffer)
      p.shape = shapeText(*p.buffer, out);
    std::string type =
        p.buffer ? shortName(p.buffer->dtype) + p.shape
                 : shortName(p.kind == ParamKind::Scalar ? p.var.dtype() : DType(Scalar::Int64));
    out.signature += (&p == out.params.data() ? "" : ", ") + std::string(p.output ? "out " : "") +
                     (p.buffer && !p.input && !p.output ? "inout " : "") + type + " " + p.name;
  }
  out.signature += ")";
  out.signatureHash = hashOf(out.signature);
  for (const Buffer *buffer : function.workspace)
    out.zeroedWorkspace |= buffer->zeroInitialised;
  return out;
}

std::vector<std::string> declarations(const Interface &interface, bool comments) {
  std::vector<std::string> out;
  for (const CParam &p : interface.params) {
    std::string text = p.type + (p.type.back() == '*' ? "" : " ") + p.name;
    if (comments && p.buffer)
      text += " /*" + shortName(p.buffer->dtype) + p.shape + "*/";
    else if (comments && p.kind == ParamKind::Scalar && p.type == "float" &&
             p.var.dtype().scalar != Scalar::Float32)
      text += " /*" + shortName(p.var.dtype()) + "*/";
    out.push_back(std::move(text));
  }
  return out;
}

} // namespace tlc::emit
