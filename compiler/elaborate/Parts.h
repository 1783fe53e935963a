// What the walker keeps for itself.
#pragma once

#include "elaborate/Elaborator.h"

#include <unordered_map>
#include <unordered_set>

namespace tlc::elaborate {

inline constexpr std::uint64_t stepLimit = 20'000'000;
inline constexpr unsigned callDepthLimit = 200;
inline constexpr unsigned exprDepthLimit = 1500;

struct Elaborator::Parts {
  std::vector<std::unique_ptr<Scope>> scopes;
  std::unordered_map<const void *, std::unordered_set<std::string>> locals;
  Scope *builtins = nullptr;

  std::uint64_t steps = 0;
  unsigned callDepth = 0, exprDepth = 0;
  unsigned tryDepth = 0;

  std::vector<Define> defines;
  std::vector<Define> unitDefines;    ///< dims that the instantiation at work binds
  std::set<std::string> asked;        ///< names that something wanted a value for
  std::vector<std::string> unitNames; ///< of the kernel at work: what KERNEL. may say

  std::map<std::string, ModuleObject *> files; // by path
  std::map<std::string, ModuleObject *> shims; // by dotted name
  std::vector<ModuleObject *> importing;       // innermost last
  std::vector<std::unique_ptr<ast::Module>> trees;
  std::vector<std::string> imported; // paths, in order
  ModuleObject *mainModule = nullptr;
  ir::Expr multiprocessors;                           ///< null until asked for
  std::map<std::string, Value, std::less<>> language; // cached attributes of T
};

/// A function made by C++, to be put into a namespace.
Value makeBuiltin(Heap &heap, std::string name, NativeFunction function, bool isType = false);
Value makeClosure(Heap &heap, std::string name,
                  std::function<Value(Elaborator &, CallArgs &)> function);

// ---- Statements: Assignments.cpp, Exceptions.cpp, Matching.cpp
void execAssign(Elaborator &e, const ast::Assign &stmt);
void execAugAssign(Elaborator &e, const ast::AugAssign &stmt);
void execAnnAssign(Elaborator &e, const ast::AnnAssign &stmt);
void execRaise(Elaborator &e, const ast::Raise &stmt);
void execAssert(Elaborator &e, const ast::Assert &stmt);
Flow execTry(Elaborator &e, const ast::Try &stmt);
Flow execMatch(Elaborator &e, const ast::Match &stmt);

// ---- Builtins*.cpp
void installBuiltins(Elaborator &e, Scope &scope);
ClassObject *exceptionClass(Elaborator &e, std::string_view name); ///< null if unknown

// ---- Methods*.cpp: methods and attributes of Python's own types; nullopt if there is none.
std::optional<Value> methodOf(Elaborator &e, const Value &self, std::string_view name);
std::vector<std::string_view> methodNames(const Value &self);

// ---- Format.cpp
/// format(value, spec); reports and returns nullopt if the spec does not fit.
std::optional<std::string> formatValue(Elaborator &e, const Value &value, std::string_view spec,
                                       SourceRange range);
/// "%d items" % values
std::optional<std::string> formatPercent(Elaborator &e, std::string_view text, const Value &values,
                                         SourceRange range);
/// "{} {name}".format(...)
std::optional<std::string> formatBraces(Elaborator &e, std::string_view text, CallArgs &args);

// ---- Classes.cpp
Value defineClass(Elaborator &e, const ast::ClassDef &def);
void evaluateClass(Elaborator &e, ClassObject &cls, SourceRange range);
std::optional<Value> classAttribute(Elaborator &e, ClassObject &cls, std::string_view name);
std::optional<Value> instanceAttribute(Elaborator &e, InstanceObject &self, std::string_view name,
                                       SourceRange range);
Value instantiate(Elaborator &e, ClassObject &cls, CallArgs &args);
bool isSubclass(Elaborator &e, const ClassObject &cls, const ClassObject &base);
bool isInstance(Elaborator &e, const Value &value, const Value &type, SourceRange range);
/// Calls a method of an instance by its special name if the class has it.
std::optional<Value> callSpecial(Elaborator &e, const Value &self, std::string_view name,
                                 std::vector<Value> args, SourceRange range);

// ---- Decorators.cpp: kernels and what tilelang's decorators make of functions
/// An attribute of a function or kernel: __name__, compile, with_attr …
std::optional<Value> functionAttribute(Elaborator &e, const Value &self, std::string_view name);
/// prim_func, macro …: of T; jit, autotune, compile …: of tilelang. Nullopt if it is none of them.
std::optional<Value> decoratorAttribute(Elaborator &e, std::string_view name);
bool bodyIsKernel(const ast::FunctionDef &def);
/// Whether a prim_func or a decorated kernel defined inside is what the function returns.
bool returnsKernel(const ast::FunctionDef &def);

/// A kernel with its arguments: `matmul(1024, …)`, `tilelang.compile(prim, out_idx=…)`,
/// AutoTuner.from_kernel(…).
struct KernelValue : NativeObject {
  FunctionObject *function = nullptr;
  std::vector<std::pair<std::string, Value>> arguments; ///< by parameter name
  JitOptions options;
  SourceRange range;
  std::string typeName() const override { return "a compiled kernel"; }
  std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) override;
  std::optional<Value> call(Elaborator &, CallArgs &) override;
};

/// What a member of T.GemmWarpPolicy can be asked.
std::optional<Value> warpPolicyAttribute(Elaborator &e, const Value &policy, std::string_view name);

// ---- Modules.cpp, Shims*.cpp
void execImport(Elaborator &e, const ast::Import &stmt);
void execImportFrom(Elaborator &e, const ast::ImportFrom &stmt);
std::optional<Value> moduleAttribute(Elaborator &e, ModuleObject &module, std::string_view name,
                                     SourceRange range);
void execModule(Elaborator &e, ModuleObject &module, const ast::Module &tree);

/// Whether an annotation is written in the vocabulary of T (or of what T's names were imported
/// as), so that it says something about the IR; others are not evaluated.
bool annotationRootedInT(Elaborator &e, const ast::Expr &annotation);

// ---- Decorators of a definition
Value defineFunction(Elaborator &e, const ast::FunctionDef &def);

} // namespace tlc::elaborate
