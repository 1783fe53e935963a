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
      // standard types, functions that emitted files call, and macros of compilers
      "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
      "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "std", "main", "unix", "linux", "i386", "abs",
      "fabs", "exp", "exp2", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh",
      "cosh", "tanh", "asin", "acos", "atan", "atan2", "pow", "fmod", "fma", "floor", "ceil",
      "round", "trunc", "rint", "nearbyint", "erf", "ldexp", "isnan", "isinf", "isfinite",
      "signbit", "min", "max", "memcpy", "memset"};
  return names;
}

#include "support/LibraryNames.inc"

std::unordered_set<std::string_view> words(std::string_view text) {
  std::unordered_set<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    out.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool startsWithOneOf(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

/// Families of macros come under one beginning each; the others are listed.
bool isLibraryMacro(std::string_view name) {
  static const std::unordered_set<std::string_view> macros = words(libraryMacros);
  return macros.contains(name) ||
         startsWithOneOf(name, {"ADJ_",       "ATOMIC_",     "CCCL_", "CLOCK_",  "CLONE_", "CPU_",
                                "CUDA",       "CU_",         "DBL_",  "FLT_",    "FP_",    "LC_",
                                "LDBL_",      "LIBCUDACXX_", "MOD_",  "M_1_PI",  "M_2_PI", "M_LN",
                                "M_2_SQRTPI", "M_LOG",       "M_PI",  "M_SQRT",  "NV_",    "SNAN",
                                "PTHREAD_",   "SCHED_",      "STA_",  "THRUST_", "TIMER_"});
}

/// cudaMalloc, cuMemAlloc, hipMalloc, atomicAdd, tex2D, surf1Dread.
bool isVendorFunction(std::string_view name) {
  for (std::string_view beginning : {"cuda", "cu", "hip", "atomic", "tex", "surf"})
    if (name.size() > beginning.size() && name.starts_with(beginning)) {
      auto next = static_cast<unsigned char>(name[beginning.size()]);
      if (std::isupper(next) || std::isdigit(next))
        return true;
    }
  return false;
}

bool isLibraryGlobal(std::string_view name) {
  static const std::unordered_set<std::string_view> globals = words(libraryGlobals);
  // POSIX keeps all types for itself; these beginnings are of libraries.
  if (globals.contains(name) || name.ends_with("_t") || isVendorFunction(name) ||
      startsWithOneOf(
          name, {"CU",     "pthread_", "posix_",   "argp_",    "argz_",     "envz_",     "xdr_",
                 "svc_",   "clnt_",    "pmap_",    "authdes_", "authnone_", "authunix_", "inet_",
                 "inet6_", "ether_",   "obstack_", "aio_",     "lio_",      "thrd_",     "mtx_",
                 "cnd_",   "tss_",     "timerfd_", "epoll_",   "inotify_",  "fanotify_", "pidfd_",
                 "pkey_",  "fts_",     "strto",    "wcsto"}))
    return true;
  // sinf, sinl, sinf128; rand_r, lseek64, isdigit_l, putc_unlocked.
  for (std::string_view end :
       {"f", "l", "f32", "f64", "f128", "f32x", "f64x", "64", "_r", "_l", "_unlocked", "_np"})
    if (name.ends_with(end) && globals.contains(name.substr(0, name.size() - end.size())))
      return true;
  return false;
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
  return reservedNames().contains(name) || isLibraryMacro(name) || name.find("__") != name.npos ||
         name.starts_with("tlc_") || name.starts_with("TLC_") ||
         (name.size() > 1 && name[0] == '_' && std::isupper(static_cast<unsigned char>(name[1])));
}

bool isReservedGlobalName(std::string_view name) {
  return isReservedName(name) || isLibraryGlobal(name);
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

std::string freeName(std::string_view wanted,
                     const std::function<bool(const std::string &)> &isTaken) {
  std::string base = identifierFrom(wanted);
  if (!isReservedName(base) && !isTaken(base))
    return base;
  // "tlc_" and other beginnings stay reserved whatever follows them.
  if (isReservedName(base + "_1"))
    base = "v" + base;
  if (base.back() != '_')
    base += '_';
  for (unsigned number = 1;; ++number)
    if (std::string name = base + std::to_string(number); !isTaken(name) && !isReservedName(name))
      return name;
}

std::string NameAllocator::unique(std::string_view wanted) {
  std::string name = freeName(wanted, [&](const std::string &name) { return taken(name); });
  used.insert(name);
  return name;
}

bool NameAllocator::reserve(std::string_view name) { return used.insert(std::string(name)).second; }
bool NameAllocator::taken(std::string_view name) const { return used.contains(std::string(name)); }

} // namespace tlc
