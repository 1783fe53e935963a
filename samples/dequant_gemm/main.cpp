#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

constexpr std::int64_t n = 1024, k = 1024, group = 64; // fixed in kernel.tl

bool run(std::int64_t m) {
  auto a = sample::random<Half>(m * k), scales = sample::random<Half>(n * k / group, 0.01, 0.1);
  auto w = sample::randomBytes(n * k / 2);
  sample::Buffer<Half> A(a), Scales(scales), C(sample::poison<Half>(m * n));
  sample::Buffer<std::uint8_t> W(w);
  SAMPLE_CALL(dequant_gemm, A.data(), W.data(), Scales.data(), C.data(), m, nullptr, 0, nullptr);
  sample::synchronize();

  auto c = C.download();
  sample::Comparison comparison("dequant_gemm " + std::to_string(m) + " rows", 2e-2, 2e-3);
  for (std::size_t at : sample::chosen(c.size(), 4000)) {
    std::int64_t i = at / n, j = at % n;
    double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      int nibble = w[(j * k + l) / 2] >> (l % 2 * 4) & 15;
      sum +=
          double(a[i * k + l]) * double(Half((nibble - 8) * double(scales[(j * k + l) / group])));
    }
    comparison.add(c[at], sum);
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = run(64);
  good = run(1) && good;
  return run(100) && good ? 0 : 1;
}
