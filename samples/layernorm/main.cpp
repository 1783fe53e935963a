#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

constexpr std::int64_t hidden = 4096; // fixed in kernel.tl

bool run(std::int64_t m) {
  const float eps = 1e-5f;
  // Far from 0, so that a variance taken without the mean would be wrong.
  auto x = sample::random<Half>(m * hidden, 7, 9), weight = sample::random<Half>(hidden),
       bias = sample::random<Half>(hidden);
  sample::Buffer<Half> X(x), Weight(weight), Bias(bias), Y(sample::poison<Half>(m * hidden));
  SAMPLE_CALL(layernorm, X.data(), Weight.data(), Bias.data(), Y.data(), m, eps, nullptr, 0,
              nullptr);
  sample::synchronize();

  auto y = Y.download();
  sample::Comparison comparison("layernorm " + std::to_string(m) + " rows", 1e-3, 2e-3);
  for (std::int64_t i = 0; i < m; ++i) {
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < hidden; ++j)
      sum += double(x[i * hidden + j]);
    double mean = sum / hidden;
    for (std::int64_t j = 0; j < hidden; ++j)
      squares += (double(x[i * hidden + j]) - mean) * (double(x[i * hidden + j]) - mean);
    double scale = 1 / std::sqrt(squares / hidden + eps);
    for (std::int64_t j = 0; j < hidden; ++j)
      comparison.add(y[i * hidden + j], (x[i * hidden + j] - mean) * scale * weight[j] + bias[j]);
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = run(1);
  return run(7) && good ? 0 : 1;
}
