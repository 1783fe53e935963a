// Products of warpgroups against sums in double.
#include "warpgroups.h"
#include "hosts.h"

#define PRODUCT(name, In, Other, Out, transA, transB, absolute, relative)                          \
  good = exec::product<In, Out, Other>(#name, name, name##_last_error, size, transA, transB,       \
                                       absolute, relative) &&                                      \
         good

#define HALF(name, transA, transB) PRODUCT(name, Half, Half, float, transA, transB, 2e-3, 2e-4)

/// A B + (A B / 8) B of 64 x 64 matrices; the factor in parentheses is rounded to float16.
bool chain() {
  using exec::Half;
  constexpr int n = 64;
  auto a = exec::numbers<Half>(n * n), b = exec::numbers<Half>(n * n);
  sample::Buffer<Half> A(a), B(b);
  sample::Buffer<float> C(exec::unset<float>(n * n));
  if (chained(A.data(), B.data(), C.data(), nullptr, 0, nullptr) != TLC_OK) {
    std::printf("chained: %s\n", chained_last_error());
    return false;
  }
  sample::synchronize();
  auto c = C.download();
  std::vector<double> product(n * n);
  for (int i = 0; i < n * n; ++i)
    for (int k = 0; k < n; ++k)
      product[i] += double(a[i / n * n + k]) * double(b[k * n + i % n]);
  sample::Comparison comparison("chained", 4e-3, 1e-3);
  for (int i = 0; i < n * n; ++i) {
    double sum = product[i];
    for (int k = 0; k < n; ++k)
      sum += double(Half(product[i / n * n + k] / 8)) * double(b[k * n + i % n]);
    comparison.add(double(c[i]), sum);
  }
  return comparison.report();
}

int main() {
  using exec::BFloat, exec::E4M3, exec::E5M2, exec::Half;
  bool good = chain();
  for (const exec::Size &size : {exec::Size{64, 64, 128}, {72, 104, 80}, {136, 200, 48}}) {
    HALF(f16_nn, false, false);
    HALF(f16_nt, false, true);
    HALF(f16_tn, true, false);
    HALF(f16_tt, true, true);
    PRODUCT(f16_f16, Half, Half, Half, false, false, 5e-2, 1e-2);
    HALF(async_nt, false, true);
    HALF(f16_registers, false, false);
    PRODUCT(bf16_nt, BFloat, BFloat, float, false, true, 2e-3, 2e-4);
    PRODUCT(bf16_nn, BFloat, BFloat, float, false, false, 2e-3, 2e-4);
    PRODUCT(s8_nt, std::int8_t, std::int8_t, std::int32_t, false, true, 1e-9, 0);
    PRODUCT(u8_s8_nt, std::uint8_t, std::int8_t, std::int32_t, false, true, 1e-9, 0);
    PRODUCT(e4m3_nt, E4M3, E4M3, float, false, true, 2e-3, 2e-4);
    PRODUCT(e4m3_e5m2_nt, E4M3, E5M2, float, false, true, 2e-3, 2e-4);
    PRODUCT(f32_nt, float, float, float, false, true, 3e-2, 3e-3); // tfloat32 inside
    PRODUCT(f32_registers, float, float, float, false, true, 3e-2, 3e-3);
    HALF(narrow_8, false, true);
    HALF(narrow_nn, false, false);
    HALF(columns_96, false, false);
    HALF(columns_40, false, false);
    PRODUCT(s8_columns_40, std::int8_t, std::int8_t, std::int32_t, false, true, 1e-9, 0);
    HALF(wide, false, true);
    HALF(wider, false, false);
    HALF(groups_m, false, false);
    HALF(groups_n, false, false);
    HALF(blocks_nn, false, false);
    HALF(blocks_tt, true, true);
    HALF(blocks_registers, false, false);
  }
  return good ? 0 : 1;
}
