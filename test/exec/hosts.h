// Shared by the hosts of test/exec: numbers of every type, and what a kernel should give.
#pragma once

#include "sample.h"

#include <functional>

namespace exec {

using sample::Half;

/// bfloat16 as the kernels store it; rounds to nearest even.
struct BFloat {
  std::uint16_t bits = 0;
  BFloat() = default;
  BFloat(double value) {
    float narrow = static_cast<float>(value);
    std::uint32_t word;
    std::memcpy(&word, &narrow, sizeof word);
    bits = static_cast<std::uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  operator double() const {
    std::uint32_t word = std::uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

/// An 8-bit float as the kernels store it, by the table of its values: the nearest one below
/// infinity.
template <int Mantissa, bool HasInfinity> struct Float8 {
  std::uint8_t bits = 0;
  Float8() = default;
  Float8(double value) {
    for (int i = 0; i < 256; ++i) {
      double candidate = decode(i), best = decode(bits);
      if (std::isfinite(candidate) && std::abs(candidate - value) < std::abs(best - value))
        bits = static_cast<std::uint8_t>(i);
    }
  }
  operator double() const { return decode(bits); }

private:
  static double decode(int bits) {
    int mantissa = bits & ((1 << Mantissa) - 1), exponent = bits >> Mantissa & (127 >> Mantissa);
    double sign = bits & 128 ? -1 : 1;
    if (exponent == 127 >> Mantissa && (HasInfinity || mantissa == (1 << Mantissa) - 1))
      return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    double fraction = double(mantissa) / (1 << Mantissa) + (exponent ? 1 : 0);
    return sign * std::ldexp(fraction, (exponent ? exponent : 1) - (63 >> Mantissa));
  }
};
using E4M3 = Float8<3, false>;
using E5M2 = Float8<2, true>;

template <class T> std::vector<T> numbers(std::size_t count) {
  if constexpr (std::is_integral_v<T>)
    return sample::random<T>(count, std::is_signed_v<T> ? -100 : 0, 100);
  else
    return sample::random<T>(count, -1, 1);
}

/// An output before the launch: what the kernel forgets is seen.
template <class T> std::vector<T> unset(std::size_t count) {
  if constexpr (std::is_integral_v<T>)
    return std::vector<T>(count, T(0x5a5a5a5a));
  else
    return sample::poison<T>(count);
}

struct Size {
  std::int64_t m, n, k;
  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};

/// C = A B with both operands as they lie in memory; prints one line.
template <class In, class Out, class Other = In, class Gemm>
bool product(const char *name, Gemm *gemm, const char *(*error)(), const Size &s, bool transA,
             bool transB, double absolute, double relative) {
  auto a = numbers<In>(s.m * s.k);
  auto b = numbers<Other>(s.k * s.n);
  sample::Buffer<In> A(a);
  sample::Buffer<Other> B(b);
  sample::Buffer<Out> C(unset<Out>(s.m * s.n));
  if (gemm(A.data(), B.data(), C.data(), s.m, s.n, s.k, nullptr, 0, nullptr) != TLC_OK) {
    std::printf("%s %s: %s\n", name, s.text().c_str(), error());
    return false;
  }
  sample::synchronize();
  auto c = C.download();
  sample::Comparison comparison(name + (" " + s.text()), absolute, relative);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k)
        sum += double(transA ? a[k * s.m + i] : a[i * s.k + k]) *
               double(transB ? b[j * s.k + k] : b[k * s.n + j]);
      comparison.add(double(c[i * s.n + j]), sum);
    }
  return comparison.report();
}

} // namespace exec
