// Modules that are known without their source: which there are, and tilelang's own.
#include "elaborate/shims/Shims.h"
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

#include <algorithm>

namespace tlc::elaborate {

void defineIn(ModuleObject &module, const std::string &name, const Value &value) {
  Slot &slot = module.globals->slot(name);
  slot.value = value;
  slot.bound = true;
}

void defineFunctionIn(Elaborator &e, ModuleObject &module, const std::string &name,
                      NativeFunction function) {
  defineIn(module, name, makeBuiltin(e.heap, module.name + "." + name, function));
}

ClassObject *emptyClass(Elaborator &e, const std::string &name) {
  auto *cls = e.heap.make<ClassObject>();
  cls->name = name;
  cls->evaluated = true;
  cls->scope = e.makeScope(e.parts->builtins);
  cls->scope->isClass = true;
  return cls;
}

Value returnFirst(Elaborator &e, CallArgs &args) {
  if (!args.positional.empty())
    return args.positional[0].value;
  return makeBuiltin(e.heap, args.callee, returnFirst); // a decorator with arguments
}

// ---- tilelang

namespace {

Value ceilDivide(Elaborator &e, CallArgs &args) {
  auto f = languageAttribute(e, "ceildiv");
  return f ? e.call(*f, args) : Value::error();
}

Value nextPowerOf2(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "n");
  auto n = b.ok ? e.toInt(b.at(0)->value, b.at(0)->range, "the argument of `next_power_of_2`")
                : std::nullopt;
  if (!n)
    return Value::error();
  Int power = 1;
  while (power < *n)
    power *= 2;
  return Value::integer(power);
}

Value dataType(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "dtype");
  if (!b.ok || b.at(0)->value.isDType())
    return b.ok ? b.at(0)->value : Value::error();
  auto type = e.toDType(b.at(0)->value, b.at(0)->range, "the argument of `DataType`");
  return type ? Value::dtype(*type) : Value::error();
}

std::string lowered(std::string_view name) {
  std::string out(name);
  for (char &c : out)
    c = static_cast<char>(std::tolower(c));
  return out;
}

// PassConfigKey.TL_ENABLE_FAST_MATH is a member with the value "tl.enable_fast_math".
std::optional<Value> passConfigKey(Elaborator &e, ModuleObject &module, std::string_view name) {
  std::string key = lowered(name);
  for (std::string_view prefix : {"tl_", "tirx_", "tir_"})
    if (key.starts_with(prefix)) {
      key[prefix.size() - 1] = '.';
      break;
    }
  Slot &cls = module.globals->slot("__class__");
  if (!cls.bound) {
    ClassObject *made = emptyClass(e, "PassConfigKey");
    made->isEnum = true;
    cls.value = Value::object(made);
    cls.bound = true;
  }
  auto *member = e.heap.make<EnumMemberObject>();
  member->cls = cls.value.as<ClassObject>();
  member->name = std::string(name);
  member->value = e.str(key);
  return Value::object(member);
}

std::optional<Value> languageFallback(Elaborator &e, ModuleObject &module, std::string_view name) {
  if (name == "__name__")
    return std::nullopt;
  if (auto value = decoratorAttribute(e, name); value && (name == "prim_func" || name == "macro"))
    return value;
  if (ModuleObject *sub = e.shimModule(module.name + "." + std::string(name)))
    return Value::object(sub);
  return languageAttribute(e, name);
}

std::optional<Value> tilelangFallback(Elaborator &e, ModuleObject &module, std::string_view name) {
  if (module.name == "tilelang")
    if (auto value = decoratorAttribute(e, name); value && name != "prim_func" && name != "macro")
      return value;
  if (ModuleObject *sub = e.shimModule(module.name + "." + std::string(name)))
    return Value::object(sub);
  if (auto value = tilelangAttribute(e, module.name, name))
    return value;
  return std::nullopt;
}

Value numSms(Elaborator &e, CallArgs &) { return Value::expr(multiprocessorCount(e)); }

Value computeVersion(Elaborator &e, CallArgs &) {
  // Where there is no GPU: the generation that every kernel has a path for.
  int a = e.target.isGpu() ? e.target.architecture : 80;
  if (e.target.family == Family::Hip) // gfx942: 9.4
    return e.heap.tuple({Value::integer(a / 100), Value::integer(a / 10 % 10)});
  return e.heap.tuple({Value::integer(a / 10), Value::integer(a % 10)});
}

Value fp8Type(Elaborator &e, CallArgs &args) {
  Binding b(e, args, "fp8_format=");
  if (!b.ok)
    return Value::error();
  Value format = b.value("fp8_format", e.str("e4m3"));
  auto text = e.toStr(format, b.range("fp8_format"), "`fp8_format`");
  if (!text)
    return Value::error();
  if (*text != "e4m3" && *text != "e5m2") {
    e.report(diag::BadValue, b.range("fp8_format"), "the format is \"e4m3\" or \"e5m2\"");
    return Value::error();
  }
  bool fnuz = e.target.family == Family::Hip && e.target.architecture / 10 == 94;
  if (*text == "e4m3")
    return Value::dtype(DType(fnuz ? Scalar::Float8E4M3FNUZ : Scalar::Float8E4M3FN));
  return Value::dtype(DType(fnuz ? Scalar::Float8E5M2FNUZ : Scalar::Float8E5M2));
}

// AutoTuner(kernel, configs=...) and AutoTuner.from_kernel(kernel=..., configs=...).
Value tunerFromKernel(Elaborator &e, CallArgs &args) {
  Value compile = *decoratorAttribute(e, "compile");
  CallArgs inner = args;
  for (std::size_t i = 0; i < inner.keywords.size(); ++i)
    if (inner.keywords[i].name == "kernel" || inner.keywords[i].name == "fn") {
      inner.positional.insert(inner.positional.begin(),
                              CallArg{inner.keywords[i].value, inner.keywords[i].range, nullptr});
      inner.keywords.erase(inner.keywords.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  if (inner.positional.size() == 2) { // configs by position
    inner.keywords.push_back({"configs", inner.positional[1].range, inner.positional[1].value,
                              inner.positional[1].range, nullptr});
    inner.positional.pop_back();
  }
  return e.call(compile, inner);
}

Value isTarget(Elaborator &e, Family family) {
  return makeClosure(e.heap, "target_is", [family](Elaborator &e, CallArgs &) {
    return Value::boolean(e.target.family == family);
  });
}

std::optional<Value> targetFallback(Elaborator &e, ModuleObject &, std::string_view name) {
  if (name == "target_is_cuda")
    return isTarget(e, Family::Cuda);
  if (name == "target_is_hip" || name == "target_is_rocm")
    return isTarget(e, Family::Hip);
  if (name == "target_is_cpu")
    return isTarget(e, Family::Cpu);
  std::string want(name);
  if (want.starts_with("target_is_gfx"))
    return makeClosure(e.heap, want, [arch = want.substr(10)](Elaborator &e, CallArgs &) {
      return Value::boolean(e.target.name == arch);
    });
  return std::nullopt;
}

void fillTilelang(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "cdiv", ceilDivide);
  defineFunctionIn(e, m, "ceildiv", ceilDivide);
  defineFunctionIn(e, m, "next_power_of_2", nextPowerOf2);
  defineIn(m, "DataType", makeBuiltin(e.heap, "DataType", dataType, true));
  defineIn(m, "dtype", makeBuiltin(e.heap, "DataType", dataType, true));
  defineIn(m, "__version__", e.str("0.1.13"));
  defineIn(m, "PassConfigKey", Value::object(e.shimModule("tilelang.PassConfigKey")));
  for (const char *sub : {"language", "math", "layout", "autotuner", "carver", "testing",
                          "profiler", "tvm", "utils", "transform", "tileop", "intrinsics"})
    defineIn(m, sub, Value::object(e.shimModule("tilelang." + std::string(sub))));
  m.exports = {"cdiv", "next_power_of_2", "jit", "autotune", "compile", "PassConfigKey"};
}

void fillAutotuner(Elaborator &e, ModuleObject &m) {
  ClassObject *tuner = emptyClass(e, "AutoTuner");
  Slot &from = tuner->scope->slot("from_kernel");
  from.value = makeBuiltin(e.heap, "AutoTuner.from_kernel", tunerFromKernel);
  from.bound = true;
  defineIn(m, "AutoTuner", Value::object(tuner));
  defineIn(m, "autotune", *decoratorAttribute(e, "autotune"));
  m.exports = {"AutoTuner", "autotune"};
}

void fillArch(Elaborator &e, ModuleObject &m) {
  auto *driver = e.heap.make<ModuleObject>();
  driver->name = "tilelang.carver.arch.driver";
  driver->globals = e.makeScope(e.parts->builtins);
  defineFunctionIn(e, *driver, "get_num_sms", numSms);
  defineFunctionIn(e, *driver, "get_cuda_device_properties", deviceProperties);
  defineIn(m, "driver", Value::object(driver));
}

} // namespace

ir::Expr multiprocessorCount(Elaborator &e) {
  if (!e.parts->multiprocessors)
    e.parts->multiprocessors = e.context.var("num_sms", DType(Scalar::Int32));
  return e.parts->multiprocessors;
}

Value deviceProperties(Elaborator &e, CallArgs &args) {
  (void)args;
  auto *instance = e.heap.make<InstanceObject>();
  instance->cls = emptyClass(e, "DeviceProperties");
  auto version = computeVersion(e, args).as<TupleObject>();
  instance->set("major", version->items[0]);
  instance->set("minor", version->items[1]);
  instance->set("multi_processor_count", Value::expr(multiprocessorCount(e)));
  instance->set("warp_size", Value::integer(e.target.limits.warp));
  instance->set("gcnArchName", e.str(e.target.name));
  instance->set("name", e.str(e.target.name));
  instance->set("shared_memory_per_block_optin",
                Value::integer(e.target.limits.sharedPerBlockOptIn));
  instance->set("shared_memory_per_block", Value::integer(e.target.limits.sharedPerBlock));
  instance->set("regs_per_multiprocessor", Value::integer(e.target.limits.registersPerSm));
  return Value::object(instance);
}

Value deviceCapability(Elaborator &e, CallArgs &args) { return computeVersion(e, args); }

namespace {

struct Shim {
  void (*fill)(Elaborator &, ModuleObject &) = nullptr;
  std::optional<Value> (*fallback)(Elaborator &, ModuleObject &, std::string_view) = nullptr;
  bool closed = false; ///< every name is known
};

void fillMathHelpers(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "next_power_of_2", nextPowerOf2);
  defineFunctionIn(e, m, "cdiv", ceilDivide);
  defineFunctionIn(e, m, "ceildiv", ceilDivide);
}

void fillFp8(Elaborator &e, ModuleObject &m) {
  defineFunctionIn(e, m, "determine_fp8_type", fp8Type);
  defineFunctionIn(e, m, "determine_torch_fp8_type", fp8Type);
}

void fillDtypes(Elaborator &e, ModuleObject &m) {
  defineIn(m, "dtype", makeBuiltin(e.heap, "DataType", dataType, true));
}

void fillCarver(Elaborator &e, ModuleObject &m) {
  defineIn(m, "arch", Value::object(e.shimModule("tilelang.carver.arch")));
}

void fillTransform(Elaborator &e, ModuleObject &m) {
  defineIn(m, "PassConfigKey", Value::object(e.shimModule("tilelang.PassConfigKey")));
  defineFunctionIn(e, m, "simplify_prim_func", returnFirst);
}

void fillTileop(Elaborator &e, ModuleObject &m) {
  if (auto policy = languageAttribute(e, "GemmWarpPolicy"))
    defineIn(m, "GemmWarpPolicy", *policy);
}

std::optional<Value> futureFallback(Elaborator &, ModuleObject &, std::string_view) {
  return Value::none();
}

std::optional<Value> jitFallback(Elaborator &e, ModuleObject &, std::string_view name) {
  return decoratorAttribute(e, name);
}

const std::map<std::string_view, Shim> &knownModules() {
  static const std::map<std::string_view, Shim> table = {
      {"tilelang", {fillTilelang, tilelangFallback, false}},
      {"tilelang.language", {nullptr, languageFallback, true}},
      {"tilelang.language.fp8", {fillFp8, nullptr, false}},
      {"tilelang.language.dtypes", {fillDtypes, nullptr, false}},
      {"tilelang.PassConfigKey", {nullptr, passConfigKey, true}},
      {"tilelang.math", {fillMathHelpers, tilelangFallback, false}},
      {"tilelang.autotuner", {fillAutotuner, tilelangFallback, false}},
      {"tilelang.jit", {nullptr, jitFallback, false}},
      {"tilelang.carver", {fillCarver, tilelangFallback, false}},
      {"tilelang.carver.arch", {fillArch, tilelangFallback, false}},
      {"tilelang.transform", {fillTransform, tilelangFallback, false}},
      {"tilelang.utils.target", {nullptr, targetFallback, false}},
      {"tilelang.rocm.target", {nullptr, targetFallback, false}},
      {"tilelang.cuda.target", {nullptr, targetFallback, false}},
      {"tilelang.cuda.intrinsics.sparse_layout", {fillSparseLayout, tilelangFallback, false}},
      {"tilelang.tileop.base", {fillTileop, tilelangFallback, false}},
      {"tilelang.tools.cuda", {fillInstrumentation, tilelangFallback, false}},
      {"tilelang.tvm", {fillTvm, tvmFallback, false}},
      {"tvm", {fillTvm, tvmFallback, false}},
      {"tvm.tir", {fillTirx, tirxFallback, false}},
      {"tvm.tirx", {fillTirx, tirxFallback, false}},
      {"torch", {fillTorch, torchFallback, false}},
      {"math", {fillMath, nullptr, true}},
      {"itertools", {fillItertools, nullptr, true}},
      {"functools", {fillFunctools, nullptr, true}},
      {"typing", {fillTyping, typingFallback, false}},
      {"typing_extensions", {fillTyping, typingFallback, false}},
      {"collections.abc", {fillTyping, typingFallback, false}},
      {"enum", {fillEnum, nullptr, true}},
      {"dataclasses", {fillDataclasses, nullptr, true}},
      {"collections", {fillCollections, nullptr, false}},
      {"operator", {fillOperator, nullptr, false}},
      {"copy", {fillCopy, nullptr, true}},
      {"__future__", {nullptr, futureFallback, false}},
  };
  return table;
}

} // namespace

std::string customaryImport(std::string_view name) {
  if (name == "T")
    return "import tilelang.language as T";
  return knownModules().contains(name) ? "import " + std::string(name) : "";
}

ModuleObject *Elaborator::shimModule(const std::string &dotted) {
  if (auto it = parts->shims.find(dotted); it != parts->shims.end())
    return it->second;
  // The dialects share one vocabulary; what a target cannot do is said where it is used.
  static const std::set<std::string_view> dialects = {
      "tilelang.cuda.language", "tilelang.rocm.language", "tilelang.cpu.language",
      "tilelang.metal.language", "tilelang.webgpu.language"};
  if (dialects.contains(dotted))
    return shimModule("tilelang.language");
  Shim shim;
  if (auto it = knownModules().find(dotted); it != knownModules().end())
    shim = it->second;
  else if (isTilelangModule(dotted))
    shim.fallback = tilelangFallback;
  else
    return nullptr;
  auto *module = heap.make<ModuleObject>();
  module->name = dotted;
  module->globals = makeScope(parts->builtins);
  module->fallback = shim.fallback;
  module->closed = shim.closed;
  parts->shims[dotted] = module;
  if (shim.fill)
    shim.fill(*this, *module);
  return module;
}

bool isTilelangModule(std::string_view dotted) {
  static const std::string_view modules[] = {
      "tilelang.layout",
      "tilelang.utils",
      "tilelang.profiler",
      "tilelang.testing",
      "tilelang.tools",
      "tilelang.tileop",
      "tilelang.engine",
      "tilelang.contrib",
      "tilelang.intrinsics",
      "tilelang.intrinsics.mma_layout",
      "tilelang.intrinsics.utils",
      "tilelang.cuda",
      "tilelang.cuda.intrinsics",
      "tilelang.cuda.intrinsics.layout",
      "tilelang.cuda.intrinsics.layout.mma_layout",
      "tilelang.cuda.intrinsics.layout.utils",
      "tilelang.cuda.intrinsics.sparse_layout",
      "tilelang.cuda.intrinsics.macro",
      "tilelang.cuda.intrinsics.macro.mma_macro_generator",
      "tilelang.rocm",
      "tilelang.rocm.intrinsics",
      "tilelang.rocm.intrinsics.utils",
      "tilelang.rocm.intrinsics.mfma_layout",
      "tilelang.rocm.intrinsics.mfma_macro_generator",
      "tilelang.env",
      "tilelang.cache",
      "tilelang.utils.language",
      "tilelang.utils.tensor",
      "tilelang.carver.template",
      "tilelang.carver.roller",
      "tilelang.carver.roller.rasterization",
      "tilelang.engine.callback",
  };
  return std::find(std::begin(modules), std::end(modules), dotted) != std::end(modules);
}

} // namespace tlc::elaborate
