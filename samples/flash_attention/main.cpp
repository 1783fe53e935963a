#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

constexpr std::int64_t heads = 8, groups = 4, dim = 64; // fixed in kernel.tl
constexpr std::int64_t kvHeads = heads / groups;

bool run(std::int64_t batch, std::int64_t length, bool causal) {
  std::size_t queries = batch * length * heads * dim, keys = batch * length * kvHeads * dim;
  auto q = sample::random<Half>(queries, -2, 2), k = sample::random<Half>(keys, -2, 2),
       v = sample::random<Half>(keys);
  sample::Buffer<Half> Q(q), K(k), V(v), O(sample::poison<Half>(queries));
  if (causal)
    SAMPLE_CALL(attention_causal, Q.data(), K.data(), V.data(), O.data(), batch, length, nullptr, 0,
                nullptr);
  else
    SAMPLE_CALL(attention_full, Q.data(), K.data(), V.data(), O.data(), batch, length, nullptr, 0,
                nullptr);
  sample::synchronize();

  auto o = O.download();
  sample::Comparison comparison(std::string(causal ? "causal" : "full") + " attention, batch " +
                                    std::to_string(batch) + ", length " + std::to_string(length),
                                3e-3, 3e-3);
  std::vector<double> weights(length);
  for (std::size_t row : sample::chosen(batch * length * heads, 400)) {
    std::int64_t b = row / (length * heads), i = row / heads % length, h = row % heads;
    auto kv = [&](std::int64_t j) { return ((b * length + j) * kvHeads + h / groups) * dim; };
    std::int64_t visible = causal ? i + 1 : length;
    double largest = -1e300, sum = 0;
    for (std::int64_t j = 0; j < visible; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < dim; ++d)
        dot += double(q[row * dim + d]) * double(k[kv(j) + d]);
      weights[j] = dot / std::sqrt(double(dim));
      largest = std::fmax(largest, weights[j]);
    }
    for (std::int64_t j = 0; j < visible; ++j)
      sum += weights[j] = std::exp(weights[j] - largest);
    for (std::int64_t d = 0; d < dim; ++d) {
      double expected = 0;
      for (std::int64_t j = 0; j < visible; ++j)
        expected += weights[j] * double(v[kv(j) + d]);
      comparison.add(o[row * dim + d], expected / sum);
    }
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = true;
  for (bool causal : {true, false}) {
    good = run(1, 128, causal) && good;
    good = run(2, 100, causal) && good;
    good = run(1, 1, causal) && good;
    good = run(1, 193, causal) && good;
  }
  return good ? 0 : 1;
}
