// The CPU's matrix products against sums in double.
#include "../../../runtime/cpu/gemm.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <memory>
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
  std::vector<T> a = numbers<T>(M * K, 37), b = numbers<T>(K * N, 29);
  std::vector<C> c = numbers<C>(M * N, 7), before = c;
  gemm_tile<M, N, K, TransposeA, TransposeB>(c.data(), a.data(), b.data(), N, TransposeA ? M : K,
                                             TransposeB ? K : N);
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
      worst = std::fmax(worst, std::fabs(to_sum<double>(c[at]) - to_sum<double>(want)));
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

TEST_CASE("blocked products of any size") {
  std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(64, (gemm_block_bytes<float>() + 63) / 64 * 64), std::free);
  auto *scratch = static_cast<unsigned char *>(memory.get());
  for (int m : {1, 5, 193, 200})
    for (int n : {1, 16, 33, 1030})
      for (int k : {1, 320, 333}) {
        std::vector<float> a = numbers<float>(m * k, 37), b = numbers<float>(k * n, 29);
        std::vector<float> flipped(b.size()), c(static_cast<std::size_t>(m * n)), d = c;
        for (int x = 0; x < k; ++x)
          for (int j = 0; j < n; ++j)
            flipped[static_cast<std::size_t>(j * k + x)] = b[static_cast<std::size_t>(x * n + j)];
        gemm_block<false, false>(m, n, k, c.data(), n, a.data(), k, b.data(), n, scratch);
        gemm_block<false, true>(m, n, k, d.data(), n, a.data(), k, flipped.data(), k, scratch);
        CHECK(c == d);
        double worst = 0;
        for (int i = 0; i < m; i += 7)
          for (int j = 0; j < n; j += 5) {
            double sum = 0;
            for (int x = 0; x < k; ++x)
              sum += double(a[static_cast<std::size_t>(i * k + x)]) *
                     double(b[static_cast<std::size_t>(x * n + j)]);
            worst =
                std::fmax(worst, std::fabs(sum - double(c[static_cast<std::size_t>(i * n + j)])));
          }
        CHECK(worst == 0);
      }
}
