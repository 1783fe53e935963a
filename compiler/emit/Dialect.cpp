#include "emit/Dialect.h"

#include "support/Check.h"

namespace tlc::emit {

using ir::MathFn;

namespace {

struct MathRow {
  MathFn fn;
  MathSpelling single, twice; ///< of float and of double (for integer functions: both the same)
};

constexpr MathSpelling runtime(std::string_view name) { return {name, true, ""}; }

constexpr MathRow cudaMath[] = {
    {MathFn::Exp, {"expf"}, {"exp"}},
    {MathFn::Exp2, runtime("exp2"), {"exp2"}},
    {MathFn::Exp10, {"exp10f"}, {"exp10"}},
    {MathFn::Expm1, {"expm1f"}, {"expm1"}},
    {MathFn::Log, {"logf"}, {"log"}},
    {MathFn::Log2, {"log2f"}, {"log2"}},
    {MathFn::Log10, {"log10f"}, {"log10"}},
    {MathFn::Log1p, {"log1pf"}, {"log1p"}},
    {MathFn::Sqrt, {"sqrtf"}, {"sqrt"}},
    {MathFn::Rsqrt, {"rsqrtf"}, {"rsqrt"}},
    {MathFn::Sin, {"sinf"}, {"sin"}},
    {MathFn::Cos, {"cosf"}, {"cos"}},
    {MathFn::Tan, {"tanf"}, {"tan"}},
    {MathFn::Asin, {"asinf"}, {"asin"}},
    {MathFn::Acos, {"acosf"}, {"acos"}},
    {MathFn::Atan, {"atanf"}, {"atan"}},
    {MathFn::Sinh, {"sinhf"}, {"sinh"}},
    {MathFn::Cosh, {"coshf"}, {"cosh"}},
    {MathFn::Tanh, {"tanhf"}, {"tanh"}},
    {MathFn::Asinh, {"asinhf"}, {"asinh"}},
    {MathFn::Acosh, {"acoshf"}, {"acosh"}},
    {MathFn::Atanh, {"atanhf"}, {"atanh"}},
    {MathFn::Erf, {"erff"}, {"erf"}},
    {MathFn::Sigmoid, runtime("sigmoid"), runtime("sigmoid")},
    {MathFn::Abs, {"fabsf"}, {"fabs"}},
    {MathFn::Floor, {"floorf"}, {"floor"}},
    {MathFn::Ceil, {"ceilf"}, {"ceil"}},
    {MathFn::Trunc, {"truncf"}, {"trunc"}},
    {MathFn::RoundEven, {"rintf"}, {"rint"}},
    {MathFn::RoundAway, {"roundf"}, {"round"}},
    {MathFn::IsNan, runtime("is_nan"), runtime("is_nan")},
    {MathFn::IsInf, runtime("is_inf"), runtime("is_inf")},
    {MathFn::IsFinite, runtime("is_finite"), runtime("is_finite")},
    {MathFn::Popcount, runtime("popcount"), runtime("popcount")},
    {MathFn::Clz, runtime("clz"), runtime("clz")},
    {MathFn::Ffs, runtime("ffs"), runtime("ffs")},
    {MathFn::Pow, {"powf"}, {"pow"}},
    {MathFn::Fmod, {"fmodf"}, {"fmod"}},
    {MathFn::Atan2, {"atan2f"}, {"atan2"}},
    {MathFn::Hypot, {"hypotf"}, {"hypot"}},
    {MathFn::CopySign, {"copysignf"}, {"copysign"}},
    {MathFn::NextAfter, {"nextafterf"}, {"nextafter"}},
    {MathFn::Ldexp, runtime("ldexp"), runtime("ldexp")},
    {MathFn::Fma, {"fmaf"}, {"fma"}},
    {MathFn::FastExp, {"__expf"}, {"exp"}},
    {MathFn::FastExp10, {"__exp10f"}, {"exp10"}},
    {MathFn::FastLog, {"__logf"}, {"log"}},
    {MathFn::FastLog2, {"__log2f"}, {"log2"}},
    {MathFn::FastLog10, {"__log10f"}, {"log10"}},
    {MathFn::FastSin, {"__sinf"}, {"sin"}},
    {MathFn::FastCos, {"__cosf"}, {"cos"}},
    {MathFn::FastTan, {"__tanf"}, {"tan"}},
    {MathFn::FastRcp, runtime("fast_rcp"), runtime("fast_rcp")},
};

MathSpelling cudaMathName(MathFn fn, bool isDouble) {
  for (const MathRow &row : cudaMath)
    if (row.fn == fn)
      return isDouble ? row.twice : row.single;
  TLC_UNREACHABLE("a math function has no spelling");
}

/// Functions that C++ has under one name for both types.
constexpr std::pair<MathFn, std::string_view> standardMath[] = {
    {MathFn::Expm1, "std::expm1"},
    {MathFn::Log2, "std::log2"},
    {MathFn::FastLog2, "std::log2"},
    {MathFn::Log10, "std::log10"},
    {MathFn::FastLog10, "std::log10"},
    {MathFn::Log1p, "std::log1p"},
    {MathFn::Sqrt, "std::sqrt"},
    {MathFn::Sin, "std::sin"},
    {MathFn::FastSin, "std::sin"},
    {MathFn::Cos, "std::cos"},
    {MathFn::FastCos, "std::cos"},
    {MathFn::Tan, "std::tan"},
    {MathFn::FastTan, "std::tan"},
    {MathFn::Asin, "std::asin"},
    {MathFn::Acos, "std::acos"},
    {MathFn::Atan, "std::atan"},
    {MathFn::Sinh, "std::sinh"},
    {MathFn::Cosh, "std::cosh"},
    {MathFn::Asinh, "std::asinh"},
    {MathFn::Acosh, "std::acosh"},
    {MathFn::Atanh, "std::atanh"},
    {MathFn::Erf, "std::erf"},
    {MathFn::Abs, "std::fabs"},
    {MathFn::Floor, "std::floor"},
    {MathFn::Ceil, "std::ceil"},
    {MathFn::Trunc, "std::trunc"},
    {MathFn::RoundEven, "std::nearbyint"},
    {MathFn::RoundAway, "std::round"},
    {MathFn::Pow, "std::pow"},
    {MathFn::Fmod, "std::fmod"},
    {MathFn::Atan2, "std::atan2"},
    {MathFn::Hypot, "std::hypot"},
    {MathFn::CopySign, "std::copysign"},
    {MathFn::NextAfter, "std::nextafter"},
    {MathFn::Fma, "std::fma"}};

/// What C++ lacks, or what must be vectorisable, is in the runtime.
MathSpelling cppMathName(MathFn fn, bool isDouble) {
  switch (fn) {
  case MathFn::Exp:
  case MathFn::FastExp:
    return isDouble ? MathSpelling{"std::exp"} : runtime("exp");
  case MathFn::Exp2:
    return isDouble ? MathSpelling{"std::exp2"} : runtime("exp2");
  case MathFn::Exp10:
  case MathFn::FastExp10:
    return runtime("exp10");
  case MathFn::Log:
  case MathFn::FastLog:
    return isDouble ? MathSpelling{"std::log"} : runtime("log");
  case MathFn::Tanh:
    return isDouble ? MathSpelling{"std::tanh"} : runtime("tanh");
  case MathFn::Rsqrt:
    return runtime("rsqrt");
  default:
    for (const auto &[standard, name] : standardMath)
      if (standard == fn)
        return {name};
    return cudaMathName(fn, isDouble); // of the runtime everywhere
  }
}

std::string cudaHint(ir::ForKind kind, std::int64_t factor) {
  if (kind != ir::ForKind::Unroll && kind != ir::ForKind::Vector)
    return "";
  return factor > 0 ? "#pragma unroll " + std::to_string(factor) : "#pragma unroll";
}
/// Registers are the compiler's business here; that iterations are independent it cannot know.
std::string cppHint(ir::ForKind kind, std::int64_t factor) {
  if (kind == ir::ForKind::Unroll && factor > 0)
    return "TLC_UNROLL(" + std::to_string(factor) + ")";
  return kind == ir::ForKind::Vector ? "TLC_INDEPENDENT" : "";
}

constexpr Dialect cuda = {
    Family::Cuda,
    ".cu",
    "__half",
    "__nv_bfloat16",
    "__global__ void",
    "__restrict__",
    {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
    {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
    "__syncthreads()",
    {"", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or"},
    "__syncwarp",
    {"tlc::fence_proxy_async()", "tlc::fence_mbarrier_init()", "tlc::wgmma_fence()",
     "__threadfence_block()", "__threadfence()", "__threadfence_system()"},
    cudaMathName,
    "divide",
    cudaHint,
};

// The runtime of HIP is still to be written; its spellings differ from CUDA's in the types only.
constexpr Dialect hip = {
    Family::Hip,
    ".hip",
    "__half",
    "__hip_bfloat16",
    "__global__ void",
    "__restrict__",
    {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
    {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
    "__syncthreads()",
    {"", "__syncthreads_count", "__syncthreads_and", "__syncthreads_or"},
    "",
    {"", "", "", "__threadfence_block()", "__threadfence()", "__threadfence_system()"},
    cudaMathName,
    "",
    cudaHint,
};

constexpr Dialect cpp = {
    Family::Cpu,
    ".cpp",
    "tlc::float16",
    "tlc::bfloat16",
    "void",
    "TLC_RESTRICT",
    {"", "", ""},
    {"", "", ""},
    "",
    {"", "", "", ""},
    "",
    {"", "", "", "std::atomic_thread_fence(std::memory_order_seq_cst)",
     "std::atomic_thread_fence(std::memory_order_seq_cst)",
     "std::atomic_thread_fence(std::memory_order_seq_cst)"},
    cppMathName,
    "",
    cppHint,
};

} // namespace

const Dialect &dialectOf(Family family) {
  return family == Family::Cuda ? cuda : family == Family::Hip ? hip : cpp;
}

bool isHalf(DType dtype) {
  return dtype.scalar == Scalar::Float16 || dtype.scalar == Scalar::BFloat16;
}
std::string_view halfName(DType dtype) {
  return dtype.scalar == Scalar::Float16 ? "half" : "bfloat16";
}
bool isSmallFloat(DType dtype) { return dtype.isFloat() && dtype.bits() <= 8; }
bool isPacked(DType dtype) { return dtype.bits() == 4; }

std::string_view smallFloatName(DType dtype) {
  switch (dtype.scalar) {
  case Scalar::Float8E4M3FN:
    return "float8_e4m3";
  case Scalar::Float8E5M2:
    return "float8_e5m2";
  case Scalar::Float8E4M3FNUZ:
    return "float8_e4m3fnuz";
  case Scalar::Float8E5M2FNUZ:
    return "float8_e5m2fnuz";
  case Scalar::Float8E8M0FNU:
    return "float8_e8m0";
  case Scalar::Float4E2M1FN:
    return "float4_e2m1";
  default:
    TLC_UNREACHABLE("values of " + dtype.str() + " cannot be emitted yet");
  }
}

std::string scalarType(const Dialect &dialect, DType dtype) {
  switch (dtype.scalar) {
  case Scalar::Bool:
    return "bool";
  case Scalar::Int4:
  case Scalar::Int8:
    return "int8_t";
  case Scalar::Int16:
    return "int16_t";
  case Scalar::Int32:
    return "int";
  case Scalar::Int64:
    return "int64_t";
  case Scalar::UInt4:
  case Scalar::UInt8:
    return "uint8_t";
  case Scalar::UInt16:
    return "uint16_t";
  case Scalar::UInt32:
    return "uint32_t";
  case Scalar::UInt64:
    return "uint64_t";
  case Scalar::Float64:
    return "double";
  case Scalar::Float32:
  case Scalar::TFloat32:
    return "float";
  case Scalar::Float16:
    return std::string(dialect.half);
  case Scalar::BFloat16:
    return std::string(dialect.bfloat16);
  default:
    return "tlc::" + std::string(smallFloatName(dtype));
  }
}

std::string storageType(const Dialect &dialect, DType dtype) {
  return isPacked(dtype) ? "uint8_t" : scalarType(dialect, dtype);
}

std::string valueType(const Dialect &dialect, DType dtype) {
  if (!dtype.isVector())
    return scalarType(dialect, dtype);
  unsigned count = isPacked(dtype) ? (dtype.lanes + 1u) / 2 : dtype.lanes;
  return "tlc::vec<" + storageType(dialect, dtype) + ", " + std::to_string(count) + ">";
}

} // namespace tlc::emit
