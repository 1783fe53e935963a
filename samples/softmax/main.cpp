#include "kernel.h"
#ifdef SAMPLE_CUDA
#include "long.h"
#endif
#include "sample.h"

using sample::Half;

namespace {

enum class Form { Any, Kept, Long, Registers };

bool run(std::int64_t m, std::int64_t n, Form form = Form::Any) {
  auto x = sample::random<Half>(m * n, -8, 8);
  sample::Buffer<Half> X(x), Y(sample::poison<Half>(m * n));
  std::string name = "softmax";
  if (form == Form::Registers) {
    SAMPLE_CALL(softmax_4096, X.data(), Y.data(), m, nullptr, 0, nullptr);
    name += "_4096";
  } else if (form == Form::Kept) {
    SAMPLE_CALL(softmax_kept, X.data(), Y.data(), m, n, nullptr, 0, nullptr);
    name += "_kept";
#ifdef SAMPLE_CUDA
  } else if (form == Form::Long) {
    SAMPLE_CALL(softmax_long, X.data(), Y.data(), m, n, nullptr, 0, nullptr);
    name += "_long";
#endif
  } else {
    SAMPLE_CALL(softmax, X.data(), Y.data(), m, n, nullptr, 0, nullptr);
  }
  sample::synchronize();

  auto y = Y.download();
  sample::Comparison comparison(name + " " + std::to_string(m) + "x" + std::to_string(n), 1e-6,
                                2e-3);
  for (std::int64_t i = 0; i < m; ++i) {
    double largest = x[i * n], sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      largest = std::fmax(largest, x[i * n + j]);
    for (std::int64_t j = 0; j < n; ++j)
      sum += std::exp(x[i * n + j] - largest);
    for (std::int64_t j = 0; j < n; ++j)
      comparison.add(y[i * n + j], std::exp(x[i * n + j] - largest) / sum);
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = run(8, 512);
  // The last is longer than what is kept of a row.
  for (std::int64_t n : {1, 512, 1000, 2049, 9000, 12000})
    good = run(3, n, Form::Kept) && good;
#ifdef SAMPLE_CUDA
  for (std::int64_t n : {1, 1001, 2048, 4096, 6000, 9000})
    good = run(3, n, Form::Long) && good;
#endif
  good = run(5, 1000) && good;
  good = run(1, 1) && good;
  good = run(3, 4096, Form::Registers) && good;
  return run(33, 2049) && good ? 0 : 1;
}
