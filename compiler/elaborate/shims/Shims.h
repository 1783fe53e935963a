// Modules known without their source. Each `fill` defines names in a module; each `fallback` makes
// a name when it is asked for.
#pragma once

#include "elaborate/Parts.h"

namespace tlc::elaborate {

void defineIn(ModuleObject &module, const std::string &name, const Value &value);
void defineFunctionIn(Elaborator &e, ModuleObject &module, const std::string &name,
                      NativeFunction function);
/// A class without attributes.
ClassObject *emptyClass(Elaborator &e, const std::string &name);
/// A decorator that changes nothing.
Value returnFirst(Elaborator &e, CallArgs &args);

/// The variable that stands for the number of SMs of the device: filled in by the launcher.
ir::Expr multiprocessorCount(Elaborator &e);
/// What torch.cuda.get_device_properties gives, answered from --target.
Value deviceProperties(Elaborator &e, CallArgs &args);
Value deviceCapability(Elaborator &e, CallArgs &args);
bool isTilelangModule(std::string_view dotted);
/// The import that programs bind this name by; "" if there is none.
std::string customaryImport(std::string_view name);

// ShimsPython.cpp
void fillMath(Elaborator &e, ModuleObject &m);
void fillItertools(Elaborator &e, ModuleObject &m);
void fillFunctools(Elaborator &e, ModuleObject &m);
void fillTyping(Elaborator &e, ModuleObject &m);
std::optional<Value> typingFallback(Elaborator &e, ModuleObject &m, std::string_view name);
void fillEnum(Elaborator &e, ModuleObject &m);
void fillDataclasses(Elaborator &e, ModuleObject &m);
void fillCollections(Elaborator &e, ModuleObject &m);
void fillOperator(Elaborator &e, ModuleObject &m);
void fillCopy(Elaborator &e, ModuleObject &m);

// ShimsHost.cpp
void fillTorch(Elaborator &e, ModuleObject &m);
std::optional<Value> torchFallback(Elaborator &e, ModuleObject &m, std::string_view name);
void fillTvm(Elaborator &e, ModuleObject &m);
std::optional<Value> tvmFallback(Elaborator &e, ModuleObject &m, std::string_view name);
void fillTirx(Elaborator &e, ModuleObject &m);
std::optional<Value> tirxFallback(Elaborator &e, ModuleObject &m, std::string_view name);
void fillInstrumentation(Elaborator &e, ModuleObject &m);

// ShimsKernel.cpp
void fillSparseLayout(Elaborator &e, ModuleObject &m);

} // namespace tlc::elaborate
