#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

bool run(std::int64_t m, std::int64_t n, std::int64_t k) {
  auto a = sample::random<Half>(m * k), b = sample::random<Half>(k * n);
  // The kernel adds to C, so C starts as something known.
  auto start = sample::random<float>(m * n);
  sample::Buffer<Half> A(a), B(b);
  sample::Buffer<float> C(start);
  SAMPLE_CALL(splitk_gemm, A.data(), B.data(), C.data(), m, n, k, nullptr, 0, nullptr);
  sample::synchronize();

  auto c = C.download();
  sample::Comparison comparison("splitk_gemm " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                                    std::to_string(k),
                                1e-3, 1e-4);
  for (std::size_t at : sample::chosen(c.size(), 10000)) {
    double sum = start[at];
    for (std::int64_t i = 0; i < k; ++i)
      sum += double(a[at / n * k + i]) * double(b[i * n + at % n]);
    comparison.add(c[at], sum);
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = run(64, 128, 1024);
  good = run(16, 64, 2048) && good;
  good = run(70, 72, 264) && good;
  return run(64, 64, 16) && good ? 0 : 1;
}
