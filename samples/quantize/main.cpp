#include "float8.h"
#include "kernel.h"
#include "sample.h"

using sample::Bfloat16;
using sample::Float8;

namespace {

constexpr std::int64_t hidden = 4096; // fixed in kernel.tl

/// `row`: one row of zeros, whose scale must not be 0.
bool run(std::int64_t m, std::int64_t group, std::int64_t zeros) {
  auto x = sample::random<Bfloat16>(m * hidden, -30, 30);
  for (std::int64_t j = 0; j < hidden; ++j)
    x[zeros * hidden + j] = Bfloat16(0.0);
  std::int64_t groups = hidden / group;
  sample::Buffer<Bfloat16> X(x);
  sample::Buffer<Float8> Q(sample::poison<Float8>(m * hidden));
  sample::Buffer<float> Scale(sample::poison<float>(m * groups));
  if (group == hidden)
    SAMPLE_CALL(quantize_rows, X.data(), Q.data(), Scale.data(), m, nullptr, 0, nullptr);
  else
    SAMPLE_CALL(quantize_groups, X.data(), Q.data(), Scale.data(), m, nullptr, 0, nullptr);
  sample::synchronize();

  auto q = Q.download();
  auto scale = Scale.download();
  std::string name =
      "quantize " + std::to_string(m) + " rows in groups of " + std::to_string(group);
  sample::Comparison scales(name + ", scales", 1e-12, 1e-5), values(name, 1e-6, 0);
  for (std::int64_t g = 0; g < m * groups; ++g) {
    double largest = 0;
    for (std::int64_t j = 0; j < group; ++j)
      largest = std::fmax(largest, std::fabs(x[g * group + j]));
    scales.add(scale[g], largest / 448);
    for (std::int64_t j = 0; j < group; ++j) {
      // Not the same bits: the quotient may lie on the other side of the middle between two
      // numbers.
      double exact = x[g * group + j] / scale[g], got = q[g * group + j], nearest = Float8(exact);
      values.add(std::fabs(got - exact) <= std::fabs(nearest - exact) * (1 + 1e-5) + 1e-6 ? 0 : got,
                 0);
    }
  }
  bool good = scales.report();
  return values.report() && good;
}

} // namespace

int main() {
  bool good = run(1, hidden, 0);
  good = run(5, hidden, 2) && good;
  good = run(1, 128, 0) && good;
  return run(5, 128, 2) && good ? 0 : 1;
}
