// How the printers spell one family's C++: types, qualifiers, indices, barriers, math functions.
// Tables only; what is said is decided by the passes.
#pragma once

#include "ir/Expr.h"
#include "ir/Stmt.h"
#include "target/Target.h"

#include <array>
#include <string>
#include <string_view>

namespace tlc::emit {

/// A math function of one type: `name(args)`.
struct MathSpelling {
  std::string_view name;        ///< "expf", "sigmoid"
  bool ofRuntime = false;       ///< printed with tlc::
  std::string_view suffix = ""; ///< printed behind the call: " != 0"
};

struct Dialect {
  Family family = Family::Cpu;
  std::string_view sourceSuffix;    ///< ".cu"
  std::string_view half, bfloat16;  ///< types of these floats
  std::string_view kernelQualifier; ///< before a kernel's name
  std::string_view restrictWord;
  std::array<std::string_view, 3> blockIndex, threadIndex;
  std::string_view blockBarrier;             ///< a statement without its semicolon
  std::array<std::string_view, 4> blockVote; ///< by ir::Vote; None unused
  std::string_view warpBarrier;              ///< function that takes a mask
  std::array<std::string_view, 6> fences; ///< by ir::FenceKind; runtime functions start with tlc::
  MathSpelling (*math)(ir::MathFn fn, bool isDouble);
  std::string_view divide; ///< function of the runtime for quotients of floats; "": `/`
  /// The line before a loop that says more about it: "#pragma unroll", "TLC_INDEPENDENT"; "" if
  /// nothing need be said. `factor` 0: unrolled wholly.
  std::string (*loopHint)(ir::ForKind kind, std::int64_t factor);
};

const Dialect &dialectOf(Family family);

/// The C++ type of one element: "float", "__half", "tlc::float8_e4m3"; of a packed 4-bit element
/// its value's type ("int8_t").
std::string scalarType(const Dialect &dialect, DType dtype);
/// The element type of an array in memory: as above, "uint8_t" for packed pairs.
std::string storageType(const Dialect &dialect, DType dtype);
/// The type of a value, lanes included: "tlc::vec<float, 4>".
std::string valueType(const Dialect &dialect, DType dtype);

/// float16, bfloat16.
bool isHalf(DType dtype);
/// "half" or "bfloat16": the runtime's sections for it.
std::string_view halfName(DType dtype);
/// Floats stored narrower than float that are no halves.
bool isSmallFloat(DType dtype);
/// int4, uint4, float4: two to a byte.
bool isPacked(DType dtype);
/// "float8_e4m3": the runtime's name of a small float.
std::string_view smallFloatName(DType dtype);

} // namespace tlc::emit
