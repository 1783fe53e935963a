#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

bool run(std::int64_t m, std::int64_t n) {
  auto x = sample::random<Half>(m * n);
  sample::Buffer<Half> X(x), Y(sample::poison<Half>(m * n));
  SAMPLE_CALL(transpose, X.data(), Y.data(), m, n, nullptr, 0, nullptr);
  sample::synchronize();

  auto y = Y.download();
  sample::Comparison comparison("transpose " + std::to_string(m) + "x" + std::to_string(n), 1e-30,
                                0);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      comparison.add(y[j * m + i], x[i * n + j]);
  return comparison.report();
}

} // namespace

int main() {
  bool good = run(128, 192);
  good = run(200, 72) && good; // ragged tiles
  good = run(1, 1000) && good;
  return run(67, 131) && good ? 0 : 1; // rows at no multiple of 16 bytes
}
