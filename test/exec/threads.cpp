// What threads exchange by warp functions, named barriers and atomics, against the same done in
// order.
#include "threads.h"
#include "hosts.h"

namespace {

bool run(std::int64_t n) {
  auto x = exec::numbers<float>(n * 64);
  sample::Buffer<float> X(x), W(exec::unset<float>(n * 64)), P(exec::unset<float>(n * 64)),
      parts(exec::unset<float>(n * 64)), total(exec::unset<float>(64));
  sample::Buffer<std::int32_t> ticket(std::vector<std::int32_t>(1));
  SAMPLE_CALL(warps, X.data(), W.data(), n, nullptr, 0, nullptr);
  SAMPLE_CALL(part_of_a_block, X.data(), P.data(), n, nullptr, 0, nullptr);
  SAMPLE_CALL(last_block, X.data(), parts.data(), ticket.data(), total.data(), n, nullptr, 0,
              nullptr);
  sample::synchronize();

  sample::Comparison lanes("warps", 1e-4, 1e-5), halves("part_of_a_block", 1e-9, 0),
      sums("last_block", 1e-5, 1e-5);
  auto w = W.download(), p = P.download(), s = total.download();
  for (std::int64_t row = 0; row < n; ++row)
    for (int warp = 0; warp < 64; warp += 32) {
      double pairs[32], shifted[32], all = 0;
      const float *in = &x[row * 64 + warp];
      for (int l = 0; l < 32; ++l)
        pairs[l] = double(in[l]) + in[l ^ 1];
      for (int l = 0; l < 32; ++l)
        all += shifted[l] = pairs[l] + pairs[l + 2 < 32 ? l + 2 : l];
      for (int l = 0; l < 32; ++l)
        lanes.add(w[row * 64 + warp + l], all + shifted[l]);
    }
  for (int i = 0; i < 64; ++i) {
    double sum = 0;
    for (std::int64_t row = 0; row < n; ++row) {
      sum += 2.0 * x[row * 64 + i];
      halves.add(p[row * 64 + i], x[row * 64 + 63 - i]);
    }
    sums.add(s[i], sum);
  }
  bool good = lanes.report();
  good = halves.report() && good;
  return sums.report() && good;
}

} // namespace

int main() {
  bool good = true;
  for (int n : {1, 2, 5, 8})
    good = run(n) && good;
  return good ? 0 : 1;
}
