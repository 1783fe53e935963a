// Kernels whose threads exchange values through shared memory, shuffles and atomics.
#include "tiles.h"
#include "hosts.h"

namespace {

bool columnSums(std::int64_t n, std::int64_t m) {
  auto x = exec::numbers<float>(n * m);
  sample::Buffer<float> X(x), Y(exec::unset<float>(m));
  SAMPLE_CALL(column_sums, X.data(), Y.data(), n, m, nullptr, 0, nullptr);
  auto y = Y.download();
  sample::Comparison comparison("column_sums", 1e-4, 1e-4);
  for (std::int64_t j = 0; j < m; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += x[i * m + j];
    comparison.add(y[j], sum);
  }
  return comparison.report();
}

bool rowExtremes(std::int64_t n, std::int64_t m) {
  auto x = exec::numbers<std::int32_t>(n * m);
  sample::Buffer<std::int32_t> X(x), Y(exec::unset<std::int32_t>(n * 2));
  SAMPLE_CALL(row_extremes, X.data(), Y.data(), n, m, nullptr, 0, nullptr);
  auto y = Y.download();
  sample::Comparison comparison("row_extremes", 1e-9, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    comparison.add(y[i * 2], *std::min_element(&x[i * m], &x[i * m] + m));
    comparison.add(y[i * 2 + 1], *std::max_element(&x[i * m], &x[i * m] + m));
  }
  return comparison.report();
}

bool transposition(std::int64_t n, std::int64_t m) {
  auto x = exec::numbers<exec::Half>(n * m);
  sample::Buffer<exec::Half> X(x), Y(exec::unset<exec::Half>(n * m));
  SAMPLE_CALL(transposed, X.data(), Y.data(), n, m, nullptr, 0, nullptr);
  auto y = Y.download();
  sample::Comparison comparison("transposed", 1e-9, 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      comparison.add(y[j * n + i], x[i * m + j]);
  return comparison.report();
}

bool counts(std::int64_t n) {
  std::vector<std::int32_t> x(n), expected(16);
  for (std::int32_t &value : x) {
    value = std::int32_t(sample::generator()() % 1000);
    ++expected[value % 16];
  }
  sample::Buffer<std::int32_t> X(x), H(std::vector<std::int32_t>(16));
  SAMPLE_CALL(histogram, X.data(), H.data(), n, nullptr, 0, nullptr);
  auto h = H.download();
  sample::Comparison comparison("histogram", 1e-9, 0);
  for (int i = 0; i < 16; ++i)
    comparison.add(h[i], expected[i]);
  return comparison.report();
}

bool carried(std::int64_t n) {
  auto x = exec::numbers<float>(n);
  sample::Buffer<float> X(x), Y(exec::unset<float>(n));
  SAMPLE_CALL(smoothed, X.data(), Y.data(), n, nullptr, 0, nullptr);
  auto y = Y.download();
  sample::Comparison comparison("smoothed", 1e-6, 0);
  auto at = [&](std::int64_t i) { return i >= 0 && i < n ? double(x[i]) : 0.0; };
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t tile = i / 64 * 64;
    comparison.add(y[i], at(tile + 63 - i % 64) + at(tile - 64 + (i % 64 ^ 1)));
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = true;
  for (int n : {1, 31, 32, 100})
    for (int m : {1, 64, 71, 200}) {
      good = columnSums(n, m) && good;
      good = rowExtremes(n, m) && good;
      good = transposition(n, m) && good;
    }
  for (int n : {1, 64, 65, 255, 1000}) {
    good = counts(n) && good;
    good = carried(n) && good;
  }
  return good ? 0 : 1;
}
