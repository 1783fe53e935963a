// The tile phase: whole kernels against loops written here.
#include "Programs.h"

#include <chrono>
#include <cmath>

using namespace tlc;
using namespace tlc::interpret;

TEST_CASE("a matrix product with ragged edges") {
  Kernel kernel(R"(
func @gemm(%A: global f16[%M, %K], %B: global f16[%K, %N], %C: global f16[%M, %N] out) dims(%M, %N, %K) {
  launch grid((%N + 31) // 32, (%M + 63) // 64) threads(128) blocks(%bx, %by) tid(%tid) {
    alloc %A_s: shared f16[64, 16]
    alloc %B_s: shared f16[16, 32]
    alloc %C_l: fragment f32[64, 32]
    fill %C_l = 0.0
    for %ko in 0 .. (%K + 15) // 16 pipelined stages(3) {
      copy %A[%by * 64 : +64, %ko * 16 : +16] -> %A_s
      copy %B[%ko * 16 : +16, %bx * 32 : +32] -> %B_s
      gemm %A_s, %B_s -> %C_l
    }
    copy %C_l -> %C[%by * 64 : +64, %bx * 32 : +32]
  }
}
)");
  std::int64_t m = 100, n = 70, k = 50;
  Tensor a = random(Scalar::Float16, {m, k}), b = random(Scalar::Float16, {k, n}, 2),
         c(Scalar::Float16, {m, n});
  Result result = kernel.run({a, b, c});
  INFO(result.text());
  CHECK(result.ok());
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a.real(i * k + l) * b.real(l * n + j);
      worst = std::max(worst, std::fabs(sum - c.real(i * n + j)) / (1 + std::fabs(sum)));
    }
  CHECK(worst < 1e-3);
}

TEST_CASE("speed of a matrix product", "[.speed]") {
  Kernel kernel(R"(
func @gemm(%A: global f16[%M, %K], %B: global f16[%K, %N], %C: global f16[%M, %N] out) dims(%M, %N, %K) {
  launch grid(%N // 128, %M // 128) threads(128) blocks(%bx, %by) tid(%tid) {
    alloc %A_s: shared f16[128, 32]
    alloc %B_s: shared f16[32, 128]
    alloc %C_l: fragment f32[128, 128]
    fill %C_l = 0.0
    for %ko in 0 .. %K // 32 pipelined stages(3) {
      copy %A[%by * 128 : +128, %ko * 32 : +32] -> %A_s
      copy %B[%ko * 32 : +32, %bx * 128 : +128] -> %B_s
      gemm %A_s, %B_s -> %C_l
    }
    copy %C_l -> %C[%by * 128 : +128, %bx * 128 : +128]
  }
}
)");
  Tensor a = random(Scalar::Float16, {256, 256}), b = random(Scalar::Float16, {256, 256}, 2),
         c(Scalar::Float16, {256, 256});
  auto start = std::chrono::steady_clock::now();
  CHECK(kernel.run({a, b, c}).ok());
  WARN(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << " s");
}
