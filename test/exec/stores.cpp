// Products whose results are stored by tensor maps, against sums in double.
#include "stores.h"
#include "hosts.h"

#define PRODUCT(name, In, Out, absolute, relative)                                                 \
  good = exec::product<In, Out>(#name, name, name##_last_error, size, false, false, absolute,      \
                                relative) &&                                                       \
         good

#define HALVES(name) PRODUCT(name, Half, Half, 5e-2, 2e-3)

/// 0.5 A B + row.
bool withRow(const exec::Size &s) {
  using exec::Half;
  auto a = exec::numbers<Half>(s.m * s.k), b = exec::numbers<Half>(s.k * s.n);
  auto row = exec::numbers<float>(s.n);
  sample::Buffer<Half> A(a), B(b);
  sample::Buffer<float> R(row);
  sample::Buffer<Half> C(exec::unset<Half>(s.m * s.n));
  if (with_row(A.data(), B.data(), R.data(), C.data(), s.m, s.n, s.k, nullptr, 0, nullptr) !=
      TLC_OK) {
    std::printf("with_row: %s\n", with_row_last_error());
    return false;
  }
  sample::synchronize();
  auto c = C.download();
  sample::Comparison comparison("with_row " + s.text(), 5e-2, 2e-3);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k)
        sum += double(a[i * s.k + k]) * double(b[k * s.n + j]);
      comparison.add(double(c[i * s.n + j]), 0.5 * sum + double(row[j]));
    }
  return comparison.report();
}

int main() {
  using exec::BFloat, exec::Half;
  setenv("EMU_SMS", "2", 1); // so that each block has several tiles
  bool good = true;
  // Many tiles and rounds; one tile with fewer rounds than pieces, and with none.
  for (const exec::Size &size :
       {exec::Size{200, 264, 264}, {130, 72, 232}, {40, 136, 64}, {64, 64, 0}}) {
    HALVES(pieces_2);
    HALVES(pieces_4);
    HALVES(pieces_3);
    PRODUCT(pieces_1, BFloat, BFloat, 3e-1, 1e-2);
    HALVES(narrow_7);
    HALVES(narrow_1);
    PRODUCT(words, Half, float, 2e-3, 2e-4);
    HALVES(blocks);
    HALVES(columns);
    HALVES(alone);
    HALVES(three);
    good = withRow(size) && good;
  }
  return good ? 0 : 1;
}
