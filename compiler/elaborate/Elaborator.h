// The walker: executes statements and evaluates expressions, at compile time where it can; where
// it cannot, Runtime.h makes IR of them.
//
// Errors: whoever finds one reports it at the narrowest range and returns Value::error(); whoever
// gets an error value stays silent and returns one too.
#pragma once

#include "elaborate/Elaborate.h"
#include "elaborate/Environment.h"
#include "elaborate/Value.h"
#include "elaborate/python/Call.h"
#include "ir/Builder.h"
#include "support/Diagnostics.h"

#include <map>
#include <set>

namespace tlc::elaborate {

/// What happened at the end of a statement.
enum class Flow : std::uint8_t { Next, Break, Continue, Return };

/// Ends the unit being elaborated; what is wrong has been reported.
struct AbortUnit {};

/// An exception of the program: `raise`, a failed assert, or an error inside `try`.
struct RaisedException {
  Value exception; ///< an instance, or a class of exceptions
  SourceRange range;
};

/// One call being executed.
struct Frame {
  FunctionObject *function = nullptr; ///< null: the top of a module, a class body
  Scope *scope = nullptr;
  /// The statements stand lexically in a prim_func, an eager kernel or a macro: `range`,
  /// T.serial … become loops, run-time conditions become `if`s.
  bool inKernel = false;
  bool isMacro = false;
  Value returned = Value::none();
  SourceRange returnRange;
  std::vector<Value> *yields = nullptr; ///< of a generator function
  std::size_t firstRegion = 0;          ///< regions.size() at the call
  struct Loop {
    bool runtime;
    std::size_t region; ///< regions.size() in its body
  };
  std::vector<Loop> loops; ///< enclosing loops of this frame, outermost first
  SourceRange callRange;
};

struct RuntimeState; // what Runtime.h keeps per kernel
struct Language;     // what Runtime.h keeps per elaboration: the values of T's names

/// One kernel being elaborated.
struct KernelState {
  KernelState(ir::Function &function, ir::Block &top)
      : function(function), builder(function, top) {}
  ir::Function &function;
  ir::Builder builder;          ///< builder.range is kept at the current statement
  ir::Launch *launch = nullptr; ///< inside `with T.Kernel`
  std::string unit;             ///< the kernel's name for -D KERNEL.NAME
  FunctionObject *kernel = nullptr;
  std::shared_ptr<RuntimeState> runtime;
};

/// A -D.
struct Define {
  std::string kernel, name; ///< kernel may be empty
  std::string text;
  Value value;
  bool dynamic = false; ///< NAME=dynamic
  SourceRange range;    ///< of the option
  mutable bool used = false;
};

class Elaborator {
public:
  Elaborator(SourceManager &sources, DiagnosticEngine &diagnostics, const Target &target,
             ir::Context &context, const ElaborateOptions &options);
  ~Elaborator();

  SourceManager &sources;
  DiagnosticEngine &diagnostics;
  const Target &target;
  ir::Context &context;
  const ElaborateOptions &options;
  Heap heap;

  // ---- The kernel being elaborated; null at module level and in factories
  KernelState *kernel = nullptr;
  ir::Builder &builder() { return kernel->builder; }
  bool inKernel() const { return !frames.empty() && frames.back()->inKernel && kernel; }
  Frame &frame() { return *frames.back(); }

  // ---- Expressions
  Value eval(const ast::Expr &expr);
  /// Evaluated and pinned: what a name would be bound to. What T.alloc_var just made stays a cell.
  Value evalPinned(const ast::Expr &expr, std::string_view hint = {});
  /// As a compile-time condition; nullopt after an error (reported) or poison.
  std::optional<bool> evalCondition(const ast::Expr &expr);
  /// Python truth of a compile-time value. Run-time values: nullopt without a report.
  std::optional<bool> truth(const Value &value, SourceRange range);

  // ---- Statements
  Flow exec(const ast::Stmt &stmt);
  Flow execBlock(const ast::Block &block);
  /// Assigns to any target. `pin` reads elements and cells first.
  void assign(const ast::Expr &target, Value value, SourceRange valueRange);
  /// Binds a name of the current frame.
  void bindName(const std::string &name, const Value &value, SourceRange range);
  /// A body of a run-time loop: names bound in it end with it; `break` and `continue` in it make
  /// IR (Runtime.h). `body` elaborates one iteration.
  void runtimeLoop(const std::function<void()> &body);
  /// runtimeLoop that assigns `item` to the loop's target and executes its body.
  void execLoopBody(const ast::For &loop, const Value &item);
  /// The arms of a run-time branch, one after the other: each sees the names as they were before
  /// the branch; names bound in one of them end with it.
  void runtimeBranches(const std::vector<std::function<void()>> &arms);
  void enterRegion(bool isLoop);
  void leaveRegion();

  // ---- Operators (compile time, or handed to Runtime.h)
  Value binary(ast::BinaryOperator op, const Value &a, const Value &b, SourceRange aRange,
               SourceRange bRange, SourceRange range);
  Value unary(ast::UnaryOperator op, const Value &a, SourceRange range);
  Value compare(ast::CompareOperator op, const Value &a, const Value &b, SourceRange range);
  Value subscript(const Value &base, const Value &index, const ast::Subscript &node);
  void setSubscript(const Value &base, const Value &index, const Value &value,
                    const ast::Subscript &node, SourceRange valueRange);

  // ---- Names and attributes
  Value lookup(const std::string &name, SourceRange range);
  Value attribute(const Value &base, std::string_view name, SourceRange nameRange,
                  SourceRange range);
  void setAttribute(const Value &base, std::string_view name, const Value &value,
                    SourceRange range);
  /// nullopt if there is none; never reports.
  std::optional<Value> findAttribute(const Value &base, std::string_view name);

  // ---- Calls
  Value call(const Value &callee, CallArgs &args);
  Value callFunction(FunctionObject &function, CallArgs &args);
  /// Executes a function's body (or lambda) in a frame of its own with parameters already bound in
  /// `scope`; gives what it returns, pinned. `likeKernel`: run-time control flow is allowed.
  Value runBody(FunctionObject &function, Scope *scope, bool likeKernel, bool isMacro,
                SourceRange callRange);
  /// Calls with values that did not stand in the source.
  Value callWith(const Value &callee, std::vector<Value> args, SourceRange range);
  bool callable(const Value &value);
  CallArgs evalArguments(const ast::Call &call);
  Scope *bindParameters(FunctionObject &function, CallArgs &args);

  // ---- Iteration
  /// All items of an iterable at compile time; nullopt after a report.
  std::optional<std::vector<Value>> items(const Value &value, SourceRange range);
  /// An iterator over it; null after a report.
  IteratorObject *iterate(const Value &value, SourceRange range);

  // ---- Conversions that report (`what` as in "the `dim` of `T.reduce_sum`")
  /// Python int (or bool) that fits 64 bits.
  std::optional<std::int64_t> toInt(const Value &value, SourceRange range, std::string_view what);
  std::optional<bool> toBool(const Value &value, SourceRange range, std::string_view what);
  std::optional<double> toDouble(const Value &value, SourceRange range, std::string_view what);
  std::optional<std::string> toStr(const Value &value, SourceRange range, std::string_view what);
  /// A dtype: T.float16, "float16", torch.float16, T.dtype("float16").
  std::optional<DType> toDType(const Value &value, SourceRange range, std::string_view what);
  /// One value or a tuple/list of values.
  std::vector<Value> toList(const Value &value);

  // ---- Reporting
  template <class... Args>
  DiagnosticBuilder report(diag::Id id, SourceRange range, const Args &...args) {
    return diagnostics.report(id, range, args...);
  }
  /// Reports that poison was used where its value matters; returns an error value.
  Value poisonError(const Value &poison, SourceRange range, std::string_view use);
  Value makePoison(std::string origin, SourceRange range, std::string reason = {});
  /// Silent if one of the values is an error; reports poison. True if all can be used.
  bool usable(const Value &value, SourceRange range, std::string_view use);

  /// Work done at compile time, in steps; past the limit the unit is aborted with an error.
  void charge(std::uint64_t steps, SourceRange range);
  /// Memory counts as work, so that no value outgrows the machine before the budget ends.
  void chargeBytes(std::uint64_t bytes, SourceRange range = {}) { charge(bytes / 16, range); }

  // ---- Values given on the command line
  /// The -D for a name, for the kernel being elaborated; null if there is none. Marks it used.
  const Define *findDefine(std::string_view name);
  /// The -D OWNER.NAME, such as `A.strides` of a tensor.
  const Define *findDefine(std::string_view name, std::string_view owner);
  /// What a global of a file is bound to: the -D of its name, if there is one, else `value`.
  Value overrideGlobal(const std::string &name, const Value &value);

  // ---- Modules
  ModuleObject *importModule(const std::string &dotted, unsigned level, ModuleObject *from,
                             SourceRange range);
  ModuleObject *shimModule(const std::string &dotted);

  // The parts of the walker below are spread over the .cpp files of this room.
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<Region> regions;
  SourceRange currentRange; ///< of the statement being executed

  Scope *makeScope(Scope *parent);
  Value str(std::string text) {
    chargeBytes(text.size());
    return heap.str(std::move(text));
  }

  struct Parts; // modules, defines, caches, budgets
  std::unique_ptr<Parts> parts;
  std::shared_ptr<Language> language;
};

} // namespace tlc::elaborate
