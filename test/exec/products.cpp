// Matrix instructions of every input type against sums in double.
#include "products.h"
#include "hosts.h"

#define PRODUCT(name, In, Out, transA, transB, absolute, relative)                                 \
  good = exec::product<In, Out>(#name, name, name##_last_error, size, transA, transB, absolute,    \
                                relative) &&                                                       \
         good

int main() {
  using exec::BFloat, exec::Half;
  bool good = true;
  for (const exec::Size &size : {exec::Size{64, 64, 64}, {72, 80, 96}, {37, 51, 45}, {8, 16, 0}}) {
    PRODUCT(f16_nn, Half, float, false, false, 1e-3, 1e-4);
    PRODUCT(f16_nt, Half, float, false, true, 1e-3, 1e-4);
    PRODUCT(f16_tn, Half, float, true, false, 1e-3, 1e-4);
    PRODUCT(f16_tt, Half, float, true, true, 1e-3, 1e-4);
    PRODUCT(f16_f16, Half, Half, false, false, 5e-2, 1e-2);
    PRODUCT(bf16_nt, BFloat, float, false, true, 1e-3, 1e-4);
    PRODUCT(s8_nt, std::int8_t, std::int32_t, false, true, 1e-9, 0);
    PRODUCT(f32_nt, float, float, false, true, 3e-2, 3e-3); // tfloat32 inside
    PRODUCT(f64_nt, double, double, false, true, 1e-12, 1e-12);
  }
  return good ? 0 : 1;
}
