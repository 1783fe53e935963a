#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

bool run(std::int64_t n, std::int64_t k) {
  auto a = sample::random<Half>(n * k), x = sample::random<Half>(k);
  sample::Buffer<Half> A(a), X(x), Y(sample::poison<Half>(n));
  SAMPLE_CALL(gemv, A.data(), X.data(), Y.data(), n, k, nullptr, 0, nullptr);
  sample::synchronize();

  auto y = Y.download();
  sample::Comparison comparison("gemv " + std::to_string(n) + "x" + std::to_string(k), 5e-3, 2e-3);
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j)
      sum += double(a[i * k + j]) * double(x[j]);
    comparison.add(y[i], sum);
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = run(64, 1024);
  good = run(5, 1000) && good;
  good = run(1, 3) && good;
  return run(333, 768) && good ? 0 : 1;
}
