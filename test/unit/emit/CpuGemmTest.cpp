// The CPU's matrix products against sums in double.
#include "../../../runtime/cpu/gemm.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

using namespace tlc;

namespace {

template <class T> std::vector<T> numbers(int count, int seed) {
  std::vector<T> out(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    from_sum(out[static_cast<std::size_t>(i)], static_cast<float>((i * seed) % 13 - 6) / 4);
  return out;
}

/// Largest error of one tile product, in units of the result's own rounding.
template <int M, int N, int K, bool TransposeA, bool TransposeB, class T, class C>
double tileError() {
  const std::vector<T> a = numbers<T>(M * K, 37), b = numbers<T>(K * N, 29);
  const std::vector<C> before = numbers<C>(M * N, 7);
  constexpr int lda = TransposeA ? M : K, ldb = TransposeB ? K : N;
  std::vector<C> c = before, plain = before;
  gemm_tile<M, N, K, TransposeA, TransposeB>(c.data(), a.data(), b.data(), N, lda, ldb);
  // What processors run that have nothing better; the difference to `c` must be none, too.
  using narrowest = gemm_registers<TLC_VECTOR_BYTES, TLC_GEMM_ROWS>;
  gemm_tile_with<narrowest, M, N, K, TransposeA, TransposeB>(plain.data(), a.data(), b.data(), N,
                                                             lda, ldb);
  double worst = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      auto at = static_cast<std::size_t>(i * N + j);
      double sum = to_sum<double>(before[at]);
      for (int k = 0; k < K; ++k) {
        auto x = static_cast<std::size_t>(TransposeA ? k * M + i : i * K + k);
        auto y = static_cast<std::size_t>(TransposeB ? j * K + k : k * N + j);
        sum += to_sum<double>(a[x]) * to_sum<double>(b[y]);
      }
      C want;
      from_sum(want, static_cast<float>(sum));
      for (C got : {c[at], plain[at]})
        worst = std::fmax(worst, std::fabs(to_sum<double>(got) - to_sum<double>(want)));
    }
  return worst;
}

} // namespace

TEST_CASE("tile products of all types, sizes and orders") {
  // Multiples of 1/4, 1/16 in products: exact in float.
  CHECK(tileError<64, 64, 32, false, false, float, float>() == 0);
  CHECK(tileError<64, 64, 32, true, true, float, float>() == 0);
  CHECK(tileError<7, 19, 5, false, true, float, float>() == 0);
  CHECK(tileError<13, 3, 5, true, false, double, double>() == 0);
  CHECK(tileError<64, 48, 32, false, true, float16, float>() == 0);
  CHECK(tileError<64, 48, 32, false, false, float16, float16>() == 0);
  CHECK(tileError<30, 48, 32, false, false, bfloat16, bfloat16>() == 0);
  CHECK(tileError<30, 47, 32, false, true, std::int8_t, std::int32_t>() == 0);
}
