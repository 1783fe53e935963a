#include "kernel.h"
#include "sample.h"

namespace {

bool run(std::int64_t n) {
  auto a = sample::random<float>(n), b = sample::random<float>(n);
  sample::Buffer<float> A(a), B(b), C(sample::poison<float>(n));
  SAMPLE_CALL(vector_add, A.data(), B.data(), C.data(), n, nullptr, 0, nullptr);
  sample::synchronize();

  auto c = C.download();
  sample::Comparison comparison("vector_add " + std::to_string(n), 0x1p-149, 0);
  for (std::int64_t i = 0; i < n; ++i)
    comparison.add(c[i], a[i] + b[i]);
  return comparison.report();
}

} // namespace

int main() {
  bool good = true;
  for (std::int64_t n : {1, 2, 3, 1023, 1024, 1025, 100000})
    good = run(n) && good;
  return good ? 0 : 1;
}
