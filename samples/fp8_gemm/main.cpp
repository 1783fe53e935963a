#include "float8.h"
#include "kernel.h"
#include "sample.h"

using sample::Bfloat16;
using sample::Float8;

namespace {

bool run(std::int64_t m, std::int64_t n, std::int64_t k) {
  auto a = sample::random<Float8>(m * k, -4, 4), b = sample::random<Float8>(n * k, -4, 4);
  auto rows = sample::random<float>(m, 0.5, 2), columns = sample::random<float>(n, 0.5, 2);
  sample::Buffer<Float8> A(a), B(b);
  sample::Buffer<float> Rows(rows), Columns(columns);
  sample::Buffer<Bfloat16> C(sample::poison<Bfloat16>(m * n)), D(sample::poison<Bfloat16>(m * n));
  // The scales of the whole tensors are the first of the rows' and columns'.
  SAMPLE_CALL(fp8_gemm, A.data(), B.data(), Rows.data(), Columns.data(), C.data(), m, n, k, nullptr,
              0, nullptr);
  SAMPLE_CALL(fp8_gemm_rowwise, A.data(), B.data(), Rows.data(), Columns.data(), D.data(), m, n, k,
              nullptr, 0, nullptr);
  sample::synchronize();

  auto c = C.download(), d = D.download();
  std::string shape = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  // Tensor cores keep some 14 bits of the sum of e4m3 products, bfloat16 has 8.
  double absolute = 2e-3 * std::sqrt(double(k)) * 16;
  sample::Comparison whole("fp8_gemm " + shape, absolute, 5e-3),
      rowwise("fp8_gemm_rowwise " + shape, absolute, 5e-3);
  for (std::size_t at : sample::chosen(c.size(), 20000)) {
    std::size_t i = at / n, j = at % n;
    double sum = 0;
    for (std::int64_t x = 0; x < k; ++x)
      sum += double(a[i * k + x]) * double(b[j * k + x]);
    whole.add(c[at], sum * rows[0] * columns[0]);
    rowwise.add(d[at], sum * rows[i] * columns[j]);
  }
  bool good = whole.report();
  return rowwise.report() && good;
}

} // namespace

int main() {
  bool good = run(256, 256, 512);
  good = run(136, 264, 144) && good; // ragged tiles
  good = run(1, 8, 1024) && good;
  return run(70, 33, 50) && good ? 0 : 1; // rows at no multiple of 16 bytes
}
