#include "support/Names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tlc {
namespace {

// Keywords of C23 and C++23, alternative tokens, and the names that CUDA, HIP and the usual headers
// claim as macros, qualifiers or builtin variables.
const std::unordered_set<std::string_view> &reservedNames() {
  static const std::unordered_set<std::string_view> names = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return",
      "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
      "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
      "explicit", "export", "extern", "false", "final", "float", "for", "friend", "goto", "if",
      "import", "inline", "int", "long", "module", "mutable", "namespace", "new", "noexcept", "not",
      "not_eq", "nullptr", "operator", "or", "or_eq", "override", "private", "protected", "public",
      "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed", "sizeof",
      "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
      "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof",
      "typeof_unqual", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
      "while", "xor", "xor_eq", // CUDA and HIP
      "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "hipThreadIdx_x",
      "hipThreadIdx_y", "hipThreadIdx_z", "hipBlockIdx_x", "hipBlockIdx_y", "hipBlockIdx_z",
      "hipBlockDim_x", "hipBlockDim_y", "hipBlockDim_z", "hipGridDim_x", "hipGridDim_y",
      "hipGridDim_z", "half", "half2", "nv_bfloat16", "nv_bfloat162", "dim3", "uint", "ushort",
      "uchar", "ulong", "char1", "char2", "char3", "char4", "uchar1", "uchar2", "uchar3", "uchar4",
      "short1", "short2", "short3", "short4", "ushort1", "ushort2", "ushort3", "ushort4", "int1",
      "int2", "int3", "int4", "uint1", "uint2", "uint3", "uint4", "long1", "long2", "long3",
      "long4", "float1", "float2", "float3", "float4", "double1", "double2", "double3", "double4",
      "longlong2", "ulonglong2",
      // standard types, macros and functions that emitted files include or call
      "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
      "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "std", "NULL", "INFINITY", "NAN", "HUGE_VAL",
      "INT8_MAX", "INT16_MAX", "INT32_MAX", "INT64_MAX", "INT8_MIN", "INT16_MIN", "INT32_MIN",
      "INT64_MIN", "UINT8_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX", "SIZE_MAX", "M_PI", "M_E",
      "assert", "errno", "EOF", "stdin", "stdout", "stderr", "offsetof", "main", "unix", "linux",
      "i386", "abs", "fabs", "exp", "exp2", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos",
      "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "pow", "fmod", "fma", "floor",
      "ceil", "round", "trunc", "rint", "nearbyint", "erf", "ldexp", "isnan", "isinf", "isfinite",
      "signbit", "min", "max", "memcpy", "memset"};
  return names;
}

// Functions of the C library that a local name may hide but a function of ours may not repeat.
const std::unordered_set<std::string_view> &libraryNames() {
  static const std::unordered_set<std::string_view> names = {
      "y0",     "y1",     "yn",          "j0",     "j1",      "jn",        "gamma",  "lgamma",
      "tgamma", "index",  "rindex",      "clock",  "time",    "div",       "signal", "free",
      "malloc", "calloc", "realloc",     "exit",   "abort",   "printf",    "puts",   "read",
      "write",  "open",   "close",       "link",   "select",  "send",      "recv",   "remove",
      "rename", "system", "random",      "rand",   "sort",    "sleep",     "cbrt",   "hypot",
      "drem",   "scalb",  "significand", "logb",   "ilogb",   "nextafter", "remquo", "modf",
      "frexp",  "labs",   "llabs",       "ldiv",   "lldiv",   "atoi",      "atol",   "atof",
      "strtol", "getenv", "raise",       "accept", "connect", "bind",      "listen", "access",
      "dup",    "pipe",   "fork",        "kill",   "wait",    "pause",     "alarm",  "swab",
      "sync",   "brk"};
  return names;
}

std::string folded(std::string_view name) {
  std::string out;
  for (char c : name)
    if (c != '_')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

} // namespace

std::size_t editDistance(std::string_view a, std::string_view b, std::size_t limit) {
  if ((a.size() > b.size() ? a.size() - b.size() : b.size() - a.size()) > limit)
    return limit + 1;
  // Three rows: swapping neighbours looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string_view didYouMean(std::string_view name,
                            const std::vector<std::string_view> &candidates) {
  std::string plain = folded(name);
  std::string_view best;
  std::size_t limit = std::max<std::size_t>(1, name.size() / 3), bestDistance = limit + 1;
  // A single letter is near to every other one: no guess is better than that one.
  if (name.size() < 2)
    limit = 0;
  for (std::string_view candidate : candidates) {
    if (candidate == name || candidate.empty())
      continue;
    std::size_t distance =
        !plain.empty() && folded(candidate) == plain ? 0 : editDistance(name, candidate, limit);
    if (distance <= limit && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string didYouMeanText(std::string_view name, const std::vector<std::string_view> &candidates) {
  std::string_view found = didYouMean(name, candidates);
  return found.empty() ? "" : ", did you mean `" + std::string(found) + "`?";
}

bool isReservedName(std::string_view name) {
  // Names with __ and with _Upper belong to the implementation, tlc_ and TLC_ to the emitted
  // prologue.
  return reservedNames().contains(name) || name.find("__") != name.npos ||
         name.starts_with("tlc_") || name.starts_with("TLC_") ||
         (name.size() > 1 && name[0] == '_' && std::isupper(static_cast<unsigned char>(name[1])));
}

bool isReservedGlobalName(std::string_view name) {
  return isReservedName(name) || libraryNames().contains(name);
}

std::string identifierFrom(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool ok =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    // One underscore for a run of other characters: a name with two in a row is reserved.
    if (ok ? !(c == '_' && !out.empty() && out.back() == '_') : (!out.empty() && out.back() != '_'))
      out += ok ? c : '_';
  }
  while (out.size() > 1 && out.back() == '_' && !text.empty() && text.back() != '_')
    out.pop_back();
  if (out.empty())
    return "v";
  return out[0] >= '0' && out[0] <= '9' ? "v" + out : out;
}

std::string NameAllocator::unique(std::string_view wanted) {
  std::string base = identifierFrom(wanted);
  if (!isReservedName(base) && used.insert(base).second)
    return base;
  // "_Upper" and "tlc_" stay reserved whatever follows them.
  if (isReservedName(base + "_1"))
    base = "v" + base;
  for (unsigned &number = next[base];;) {
    std::string name = base + (base.back() == '_' ? "" : "_") + std::to_string(++number);
    if (!isReservedName(name) && used.insert(name).second)
      return name;
  }
}

bool NameAllocator::reserve(std::string_view name) { return used.insert(std::string(name)).second; }
bool NameAllocator::taken(std::string_view name) const { return used.contains(std::string(name)); }

} // namespace tlc
