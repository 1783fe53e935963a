// What a name can stand for while a program is elaborated: values of compile time, and handles to
// what exists only at run time.
//
// Values are small and copied freely. Whatever has parts or identity is an Object owned by the
// Heap, which lives as long as the elaboration: nothing is freed before, so references never
// dangle and cycles (a function in its own environment) do no harm.
#pragma once

#include "ir/Function.h"
#include "support/DType.h"
#include "support/SourceRange.h"
#include "syntax/AST.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tlc::elaborate {

using Int = __int128; ///< compile-time integers are exact; overflow is an error

class Elaborator;
struct CallArgs;
struct Scope;
struct Object;

enum class ValueKind : std::uint8_t {
  Error, ///< something went wrong and was reported: uses stay silent
  None,
  Ellipsis,
  NotImplemented,
  Bool,
  Int,
  Float,
  DType, ///< equal to its name as a string
  Expr,  ///< a scalar (or vector) known at run time; pure
  Buffer,
  Cell, ///< an alloc_var: reading it takes a snapshot, assigning to its name stores
  // From here on: an Object.
  Str,
  Bytes,
  Tuple,
  List,
  Dict,
  Set,
  Slice,
  Range,
  Iterator,
  Function,
  BoundMethod,
  Builtin,
  Module,
  Class,
  Instance,
  EnumMember,
  Poison, ///< from a module tlc does not know; carries its origin
  Native, ///< defined by one part of the elaborator: NativeObject
};

/// dtypes that have no machine format of their own but are named in kernels.
enum class DTypeExtra : std::uint8_t { None, Void, Handle, Float4Unpacked };

class Value {
public:
  Value() : kindValue(ValueKind::Error) {}
  static Value error() { return Value(); }
  static Value none() { return Value(ValueKind::None); }
  static Value ellipsis() { return Value(ValueKind::Ellipsis); }
  static Value notImplemented() { return Value(ValueKind::NotImplemented); }
  static Value boolean(bool b);
  static Value integer(Int i);
  static Value real(double d);
  static Value dtype(DType t, DTypeExtra extra = DTypeExtra::None);
  static Value expr(ir::Expr e);
  static Value buffer(ir::Buffer *b);
  static Value cell(ir::Buffer *b);
  static Value object(Object *o);

  ValueKind kind() const { return kindValue; }
  bool is(ValueKind k) const { return kindValue == k; }
  bool isError() const { return is(ValueKind::Error); }
  bool isPoison() const { return is(ValueKind::Poison); }
  bool isNone() const { return is(ValueKind::None); }
  bool isBool() const { return is(ValueKind::Bool); }
  bool isInt() const { return is(ValueKind::Int); } ///< not a bool
  bool isIntegral() const { return isInt() || isBool(); }
  bool isFloat() const { return is(ValueKind::Float); }
  bool isNumber() const { return isIntegral() || isFloat(); }
  bool isStr() const { return is(ValueKind::Str); }
  bool isDType() const { return is(ValueKind::DType); }
  /// A str, or a dtype, which is one too.
  bool isText() const { return isStr() || isDType(); }
  bool isExpr() const { return is(ValueKind::Expr); }
  bool isBuffer() const { return is(ValueKind::Buffer); }
  bool isCell() const { return is(ValueKind::Cell); }
  bool isObject() const { return kindValue >= ValueKind::Str; }
  /// Whether operators on it make IR: an Expr, a Cell, or a Native that says so (an element).
  bool isRuntime() const;

  bool asBool() const { return boolValue; }
  Int asInt() const { return is(ValueKind::Bool) ? Int(boolValue) : intValue; } ///< of isIntegral()
  double asDouble() const;                                                      ///< of isNumber()
  std::optional<std::int64_t> asInt64() const; ///< of an int or bool that fits
  DType asDType() const { return dtypeValue; }
  DTypeExtra dtypeExtra() const { return extraValue; }
  ir::Expr asExpr() const { return ir::Expr(exprValue); }
  ir::Buffer *asBuffer() const { return bufferValue; } ///< of a Buffer or Cell
  Object *asObject() const { return objectValue; }
  /// The characters of a str or the name of a dtype.
  std::string asText() const;

  /// The object as T if it is one of that kind; else null.
  template <class T> T *as() const {
    return kindValue == T::Kind ? static_cast<T *>(objectValue) : nullptr;
  }
  /// A Native of exactly this class or one derived from it; else null.
  template <class T> T *native() const;

  /// Python's `is`.
  bool identical(const Value &other) const;

private:
  explicit Value(ValueKind kind) : kindValue(kind) {}

  ValueKind kindValue;
  DTypeExtra extraValue = DTypeExtra::None;
  union {
    bool boolValue;
    Int intValue;
    double realValue;
    DType dtypeValue;
    const ir::ExprNode *exprValue;
    ir::Buffer *bufferValue;
    Object *objectValue;
  };
};

struct Object {
  const ValueKind kind;
  explicit Object(ValueKind kind) : kind(kind) {}
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  virtual ~Object() = default;
};

template <ValueKind K> struct ObjectOf : Object {
  static constexpr ValueKind Kind = K;
  ObjectOf() : Object(K) {}
};

// ---- Plain data

struct StrObject : ObjectOf<ValueKind::Str> {
  std::string text;
};
struct BytesObject : ObjectOf<ValueKind::Bytes> {
  std::string bytes;
};
struct TupleObject : ObjectOf<ValueKind::Tuple> {
  std::vector<Value> items;
  /// Of a namedtuple or a dataclass seen as one: names of the items; else empty.
  std::vector<std::string> names;
};
struct ListObject : ObjectOf<ValueKind::List> {
  std::vector<Value> items;
};

/// Keeps the order of insertion. Keys must be hashable (see hashable()).
class Table {
public:
  const Value *find(const Value &key) const;
  /// True if the key is new.
  bool set(const Value &key, const Value &value);
  bool erase(const Value &key);
  void clear();
  std::size_t size() const { return live; }
  /// Calls f(key, value) in order; f may not change the table.
  template <class F> void forEach(F &&f) const {
    for (const Entry &e : entries)
      if (e.used)
        f(e.key, e.value);
  }
  std::vector<Value> keys() const;

private:
  struct Entry {
    Value key, value;
    bool used = true;
  };
  std::size_t position(const Value &key) const; // npos if absent
  std::vector<Entry> entries;
  std::unordered_multimap<std::size_t, std::size_t> index; // hash -> entry
  std::size_t live = 0;
};

struct DictObject : ObjectOf<ValueKind::Dict> {
  Table table;
};
struct SetObject : ObjectOf<ValueKind::Set> {
  Table table; ///< keys only
  bool frozen = false;
};
/// Parts may be run-time values: `A[i : i + 8]`.
struct SliceObject : ObjectOf<ValueKind::Slice> {
  Value lower, upper, step; ///< None where left out
  SourceRange lowerRange, upperRange, stepRange;
};
struct RangeObject : ObjectOf<ValueKind::Range> {
  Int start = 0, stop = 0, step = 1;
  Int size() const;
};
/// zip, map, generator expressions …: gives one value after the other.
struct IteratorObject : ObjectOf<ValueKind::Iterator> {
  std::function<std::optional<Value>()> next;
};

// ---- Things to call

/// What a decorator made of a function.
enum class FunctionRole : std::uint8_t {
  Plain,    ///< runs at compile time
  PrimFunc, ///< @T.prim_func: a kernel as written
  Macro,    ///< @T.macro: its body is inlined where it is called
  Jit,      ///< @tilelang.jit: a lazy factory or an eager kernel; see `eager`
};

/// Keywords of jit, autotune and compile, collected from the decorators of one function.
struct JitOptions {
  Value outIdx = Value::none(); ///< int, list of ints, or None
  SourceRange outIdxRange;
  Value passConfigs = Value::none(); ///< dict or None
  SourceRange passConfigsRange;
  /// @autotune's configs: a list of dicts, or something to call with the factory's arguments;
  /// None if there is none.
  Value configs = Value::none();
  SourceRange configsRange;
};

struct FunctionObject : ObjectOf<ValueKind::Function> {
  std::string name;
  const ast::FunctionDef *def = nullptr; ///< null for a lambda
  const ast::Lambda *lambda = nullptr;
  Scope *closure = nullptr; ///< where free names are looked up
  FunctionRole role = FunctionRole::Plain;
  bool eager = false; ///< Jit: the body is the kernel
  JitOptions jit;
  /// Values of defaults by parameter name, evaluated at the definition. A parameter whose default
  /// could not be evaluated is not in it and is evaluated when it is used.
  std::unordered_map<std::string, Value> defaults;
  /// Arguments fixed by functools.partial.
  std::vector<std::pair<std::string, Value>> boundKeywords;
  std::vector<Value> boundPositional;
  /// The class that the function was defined in; null if none.
  struct ClassObject *owner = nullptr;

  const ast::Arguments &parameters() const;
  SourceRange nameRange() const;
};

using NativeFunction = Value (*)(Elaborator &, CallArgs &);

/// A function written in C++: of Python, of a shim, or of T.
struct BuiltinObject : ObjectOf<ValueKind::Builtin> {
  std::string name; ///< qualified, for messages: "T.copy", "len", "str.join"
  NativeFunction function = nullptr;
  /// Set instead of `function` for those that decide which arguments to evaluate
  /// (T.if_then_else).
  Value (*lazy)(Elaborator &, const ast::Call &) = nullptr;
  /// For builtins made on the spot; used if both above are null.
  std::function<Value(Elaborator &, CallArgs &)> closure;
  /// Whether it names a type for isinstance: int, float, str, bool, list, tuple, dict, set.
  bool isType = false;
};

struct BoundMethodObject : ObjectOf<ValueKind::BoundMethod> {
  Value self;
  Value function; ///< a Function or a Builtin, which get `self` as first argument
};

// ---- Namespaces

/// A file, a package or a shim.
struct ModuleObject : ObjectOf<ValueKind::Module> {
  std::string name; ///< dotted
  Scope *globals = nullptr;
  /// What an attribute that is not in `globals` is; null: it is an error if `closed`, else poison.
  std::optional<Value> (*fallback)(Elaborator &, ModuleObject &,
                                   std::string_view attribute) = nullptr;
  bool closed = false;    ///< every name is known: an unknown one is an error
  bool executing = false; ///< of a file being imported
  std::uint32_t file = 0;
  std::vector<std::string> exports; ///< names that `import *` gives; empty: all without _
};

struct ClassObject : ObjectOf<ValueKind::Class> {
  std::string name;
  const ast::ClassDef *def = nullptr; ///< null for those made by namedtuple and the shims
  Scope *scope = nullptr;             ///< the class's attributes, once `evaluated`
  Scope *enclosing = nullptr;
  std::vector<Value> bases;
  bool evaluated = false;
  bool isEnum = false, isDataclass = false, isException = false, frozen = false;
  std::vector<Value> members;      ///< of an enum, in order
  std::vector<std::string> fields; ///< of a dataclass, in order
};

struct InstanceObject : ObjectOf<ValueKind::Instance> {
  ClassObject *cls = nullptr;
  std::vector<std::pair<std::string, Value>> attributes;
  Value *find(std::string_view name);
  void set(std::string_view name, const Value &value);
};

struct EnumMemberObject : ObjectOf<ValueKind::EnumMember> {
  ClassObject *cls = nullptr;
  std::string name;
  Value value;
};

// ---- What is not known

struct PoisonObject : ObjectOf<ValueKind::Poison> {
  std::string origin; ///< "torch.randn": what it came from
  SourceRange range;  ///< where it came into the program
  /// Empty, or why the value is not known though its module is: shown in place of the usual
  /// reason ("`tilelang.autotuner.tune` measures on a device").
  std::string reason;
};

/// Values that one part of the elaborator defines: tensor types, loops of T, kernel frames,
/// schedulers, layouts, regions, elements. The walker asks them through these functions. Returning
/// nullopt or false means "I have no such operation", and the walker reports that.
struct NativeObject : ObjectOf<ValueKind::Native> {
  /// In words, for messages: "a tensor type", "the result of `T.Parallel`".
  virtual std::string typeName() const = 0;
  virtual std::string repr() const { return "<" + typeName() + ">"; }
  /// Operators on it make IR (an element of a buffer).
  virtual bool isRuntime() const { return false; }
  virtual std::optional<Value> attribute(Elaborator &, std::string_view, SourceRange) {
    return std::nullopt;
  }
  virtual bool setAttribute(Elaborator &, std::string_view, const Value &, SourceRange) {
    return false;
  }
  virtual std::optional<Value> call(Elaborator &, CallArgs &) { return std::nullopt; }
  virtual std::optional<Value> subscript(Elaborator &, const Value & /*index*/,
                                         const ast::Subscript &) {
    return std::nullopt;
  }
  virtual bool setSubscript(Elaborator &, const Value & /*index*/, const Value &,
                            const ast::Subscript &) {
    return false;
  }
  /// `for target in self: body` inside a kernel: makes the loop and executes the body in it (see
  /// Elaborator::execLoopBody). True if it did.
  virtual bool runFor(Elaborator &, const ast::For &) { return false; }
  /// Its items, where it can be unpacked at compile time.
  virtual std::optional<std::vector<Value>> items(Elaborator &) { return std::nullopt; }
  /// `with self as x: body`: the whole statement, the body included (Elaborator::execBlock).
  /// `bind` assigns the value of `as`, if there is one. True if it did.
  virtual bool runWith(Elaborator &, const ast::WithItem &,
                       const std::function<void(const Value &)> & /*bind*/,
                       const std::function<void()> & /*body*/) {
    return false;
  }
  /// Python's ==; nullopt: by identity.
  virtual std::optional<bool> equals(const Value &) const { return std::nullopt; }
};

template <class T> T *Value::native() const {
  return kindValue == ValueKind::Native
             ? dynamic_cast<T *>(static_cast<NativeObject *>(objectValue))
             : nullptr;
}

/// Owns all objects of one elaboration.
class Heap {
public:
  template <class T, class... Args> T *make(Args &&...args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T *raw = object.get();
    objects.push_back(std::move(object));
    return raw;
  }
  Value str(std::string text);
  Value tuple(std::vector<Value> items);
  Value list(std::vector<Value> items);
  std::size_t size() const { return objects.size(); }

private:
  std::deque<std::unique_ptr<Object>> objects;
};

// ---- Questions about values

/// "int", "str", "a buffer": for messages. With an article where English wants one: "an int".
std::string typeName(const Value &value);
std::string typeNameWithArticle(const Value &value);
/// Python's repr and str.
std::string repr(const Value &value);
std::string str(const Value &value);
std::string reprOfDouble(double value);
std::string decimal(Int value);

/// Python's == between compile-time values. Run-time values are equal if they are the same.
bool equal(const Value &a, const Value &b);
bool hashable(const Value &value);
std::size_t hash(const Value &value);

} // namespace tlc::elaborate
