// The vocabulary of `T.*`: one table, Builtins.def, and what can be asked about it.
//
// Every name that TileLang exports is in the table, also what tlc cannot compile yet, so that a
// name is never "unknown" because it is unimplemented. The elaborator binds the arguments of a
// call to the parameters of a row (Resolve.h), checks their classes and scopes against it, and
// then runs the handler of the row's id.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::sema {

enum class Builtin : std::uint16_t {
#define TLC_BUILTIN(ID, ...) ID,
#include "sema/Builtins.def"
};

/// What an argument has to be.
enum class ArgClass : std::uint8_t {
  Any,
  Tile,    ///< a buffer or a region of one, in one of `scopes`
  Buffer,  ///< a whole buffer, in one of `scopes`
  Element, ///< one element of a buffer: `A[i, j]`
  Value,   ///< a scalar, of either time
  Int,     ///< a compile-time int
  Flag,    ///< a compile-time bool
  Text,    ///< a string
  Type,    ///< a dtype
  Shape,   ///< an int or a sequence of extents
  Map,     ///< a dict
  Function,
  Barrier, ///< an mbarrier: `mbar[i]`, or a whole array of one
};
std::string_view describe(ArgClass cls);

/// Memory scopes as a set; the letters of Builtins.def.
enum ScopeBit : std::uint8_t {
  GlobalBit = 1,   // g
  SharedBit = 2,   // s
  FragmentBit = 4, // f
  LocalBit = 8,    // l
  BarrierBit = 16, // b
};
using ScopeSet = std::uint8_t;
constexpr ScopeSet anyTileScope = GlobalBit | SharedBit | FragmentBit | LocalBit;
/// "shared or fragment".
std::string describeScopes(ScopeSet scopes);

/// Which element types an argument may have.
enum class TypeSet : std::uint8_t { Any, Float, Integer, Number };

struct Parameter {
  std::string_view name;
  ArgClass cls = ArgClass::Any;
  ScopeSet scopes = anyTileScope;
  TypeSet types = TypeSet::Any;
  bool required = true;
  bool keywordOnly = false;
  bool variadic = false;        ///< `*name`: takes all further positional arguments
  std::string_view defaultText; ///< as Python writes it
};

/// Who makes of the call what it means.
enum class Category : std::uint8_t {
  Launch, ///< with-items and thread or block indices
  Param,  ///< kernel parameters and dimensions
  Alloc,
  Copy,
  Gemm,
  Loop, ///< iterables of `for`
  Reduce,
  Math, ///< pure scalar expressions
  Atomic,
  Sync,
  Warp, ///< shuffles, votes and indices within a warp
  Annotation,
  Debug,
  View,
  Extern,   ///< the user's own C
  Meta,     ///< decorators, types and helpers of compile time
  Vector,   ///< vectors as values
  Raw,      ///< single machine instructions
  Schedule, ///< objects that describe a schedule
  Plumbing, ///< exported by TVM, no use in a kernel
};

enum class Effect : std::uint8_t {
  None,     ///< a value, nothing else
  Reads,    ///< reads memory
  Writes,   ///< reads and writes memory
  Tile,     ///< a tile op: collective over the threads of the role
  Warp,     ///< collective over a warp
  Barrier,  ///< synchronises
  Declares, ///< makes a name, a fact or an annotation; nothing runs
};

/// Where a call can be compiled today.
enum class Support : std::uint8_t {
  All,
  Gpu,       ///< not on cpu targets
  Cuda,      ///< NVIDIA only
  Hopper,    ///< sm90
  NotYet,    ///< meant for every target, in none yet
  NotYetHip, ///< exists on AMD only; not yet
  Blackwell, ///< exists on sm100 or sm120 only; not yet
  Metal,     ///< another vendor's; not planned
};

struct BuiltinInfo {
  Builtin id;
  std::string_view name;      ///< without `T.`
  std::string_view signature; ///< as in Builtins.def
  Category category;
  Effect effect;
  Support support;
  std::string_view hint; ///< what to use instead, if there is something
  std::vector<Parameter> parameters;

  const Parameter *parameter(std::string_view name) const;
  /// Index of a parameter; -1 if there is none of this name.
  int index(std::string_view name) const;
  /// As the user would write it: "T.gemm(A, B, C, transpose_A=False, …)".
  std::string usage() const;
};

const BuiltinInfo &info(Builtin id);
/// By name or alias, without `T.`; null if TileLang has no such name.
const BuiltinInfo *findBuiltin(std::string_view name);
std::span<const BuiltinInfo> allBuiltins();
/// All names and aliases, for suggestions.
const std::vector<std::string_view> &builtinNames();
/// "", or why the call cannot be compiled for this target: "needs sm90", "is not supported yet".
/// `isGpu` and `isCuda` describe the target; `architecture` is 80 for sm80, 942 for gfx942.
std::string unsupportedReason(const BuiltinInfo &builtin, bool isGpu, bool isCuda,
                              int architecture);

} // namespace tlc::sema
