// What the walker asks of the run-time side: everything that makes IR. Implemented in the files
// beside this one and in tile/.
//
// `Value` operands may be compile-time values mixed with run-time ones; at least one is run-time
// (Value::isRuntime) or a buffer.
#pragma once

#include "elaborate/Elaborator.h"

#include <functional>

namespace tlc::elaborate {

// ---- Reading

/// The value as an expression: literals become typed (semantics.md §1), cells and elements are
/// loaded here. Null after a report.
ir::Expr toExpr(Elaborator &, const Value &, SourceRange range);
/// As above, converted to a dtype as by assignment.
ir::Expr toExpr(Elaborator &, const Value &, DType dtype, SourceRange range);
/// What a name is bound to: loads of cells and elements happen here, once, under the name `hint`;
/// everything else is returned as it is.
Value pin(Elaborator &, const Value &, std::string_view hint, SourceRange range);

// ---- Operators

Value runtimeBinary(Elaborator &, ast::BinaryOperator, const Value &a, const Value &b,
                    SourceRange aRange, SourceRange bRange, SourceRange range);
Value runtimeUnary(Elaborator &, ast::UnaryOperator, const Value &a, SourceRange range);
/// Not `is`, `in`.
Value runtimeCompare(Elaborator &, ast::CompareOperator, const Value &a, const Value &b,
                     SourceRange range);
/// `values[first]` of the operator was evaluated to `left`, a run-time value; evaluates the rest
/// lazily.
Value runtimeBoolOp(Elaborator &, const ast::BoolOp &, std::size_t first, const Value &left);
/// a < b < c with run-time operands: `left` is the result so far; `rest` gives the next one, and
/// is run where `left` holds.
Value runtimeAnd(Elaborator &, const Value &left, const std::function<Value()> &rest,
                 SourceRange range);
Value runtimeIfExp(Elaborator &, const ast::IfExp &, const Value &condition);
/// int(x), float(x), bool(x), abs(x), min, max, round, pow, divmod … of run-time values; `name` is
/// Python's.
Value runtimeBuiltin(Elaborator &, std::string_view name, CallArgs &args);

// ---- Buffers

/// base is a Buffer or a Cell.
Value runtimeSubscript(Elaborator &, const Value &base, const Value &index,
                       const ast::Subscript &node);
void runtimeSetSubscript(Elaborator &, const Value &base, const Value &index, const Value &value,
                         const ast::Subscript &node, SourceRange valueRange);
/// `name = value` for a name that is a Cell.
void storeCell(Elaborator &, ir::Buffer &cell, const Value &value, SourceRange range);
/// shape, dtype, scope … of a Buffer, Cell or Expr; nullopt if there is no such attribute.
std::optional<Value> runtimeAttribute(Elaborator &, const Value &base, std::string_view name,
                                      SourceRange range);
std::vector<std::string_view> runtimeAttributeNames(const Value &base); ///< for did-you-mean

// ---- Statements inside a kernel

/// The condition is a run-time value.
void runtimeIf(Elaborator &, const ast::If &, const Value &condition);
/// A `while` in a kernel, whatever its condition.
Flow kernelWhile(Elaborator &, const ast::While &);
/// `for x in range(...)` in a kernel: `range` with compile-time bounds gives a Range; with run-time
/// ones makeRange's Native.
void kernelFor(Elaborator &, const ast::For &, const RangeObject &);
/// range() with run-time arguments.
Value makeRange(Elaborator &, CallArgs &args);
/// `break` and `continue` that leave a run-time loop.
void runtimeBreak(Elaborator &, SourceRange range);
void runtimeContinue(Elaborator &, SourceRange range);
/// assert on a run-time value; message may be None.
void runtimeAssert(Elaborator &, const Value &condition, const Value &message, SourceRange range);
/// `print(...)` with run-time values.
void runtimePrint(Elaborator &, CallArgs &args);
/// An expression statement in a kernel: a run-time value is dropped (a bare atomic's loads stay).
void runtimeDiscard(Elaborator &, const Value &, SourceRange range);

// ---- Functions

/// Inlines a macro.
Value callMacro(Elaborator &, FunctionObject &macro, CallArgs &args);
/// A parameter of a prim_func: `annotation` was evaluated; gives what the name is bound to and adds
/// the parameter to the function. `defaultValue` may be null.
Value declareParameter(Elaborator &, const std::string &name, const Value &annotation,
                       SourceRange nameRange, SourceRange annotationRange);
/// `A: T.Tensor(...)` in the body of an eager kernel, for a parameter not bound before; also
/// `x: T.int32 = e`, a typed binding (value not null). Returns what the name is bound to.
Value annotateName(Elaborator &, const std::string &name, const Value &annotation,
                   const Value *value, SourceRange nameRange, SourceRange annotationRange);
/// Called before the body of a kernel is executed and after it. `outIdx` and the values returned
/// say which parameters are outputs; reports what does not fit.
void beginKernel(Elaborator &, FunctionObject &kernel);
void finishKernel(Elaborator &, FunctionObject &kernel, const Value &returned,
                  SourceRange returnRange, const JitOptions &options);

// ---- The vocabulary

/// An attribute of tilelang.language; nullopt if there is no such name.
std::optional<Value> languageAttribute(Elaborator &, std::string_view name);
std::vector<std::string_view> languageNames(); ///< for did-you-mean
/// Attributes of tilelang.layout, tilelang.intrinsics … that make IR things; `module` is dotted.
std::optional<Value> tilelangAttribute(Elaborator &, std::string_view module,
                                       std::string_view name);

} // namespace tlc::elaborate
