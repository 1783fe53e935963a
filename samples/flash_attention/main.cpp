#include "float8.h"
#include "kernel.h"
#include "sample.h"
#include "variable.h"

using sample::Bfloat16;
using sample::Half;

namespace {

/// Row `row` of the attention of one query head over the first `visible` of some rows of keys and
/// values that lie `step` elements apart. Returns the logarithm of the sum of exp(score).
template <class T>
double attend(const T *query, const T *keys, const T *values, std::int64_t step,
              std::int64_t visible, std::int64_t dim, std::vector<double> &out) {
  std::vector<double> weights(visible);
  double largest = -1e300, sum = 0;
  for (std::int64_t j = 0; j < visible; ++j) {
    double dot = 0;
    for (std::int64_t d = 0; d < dim; ++d)
      dot += double(query[d]) * double(keys[j * step + d]);
    weights[j] = dot / std::sqrt(double(dim));
    largest = std::fmax(largest, weights[j]);
  }
  for (double &weight : weights)
    sum += weight = std::exp(weight - largest);
  out.assign(dim, 0);
  for (std::int64_t j = 0; j < visible; ++j)
    for (std::int64_t d = 0; d < dim; ++d)
      out[d] += weights[j] / sum * double(values[j * step + d]);
  return largest + std::log(sum);
}

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
  std::vector<double> expected;
  for (std::size_t row : sample::chosen(batch * length * heads, 400)) {
    std::int64_t b = row / (length * heads), i = row / heads % length, h = row % heads,
                 kv = (b * length * kvHeads + h / groups) * dim;
    attend(&q[row * dim], &k[kv], &v[kv], kvHeads * dim, causal ? i + 1 : length, dim, expected);
    for (std::int64_t d = 0; d < dim; ++d)
      comparison.add(o[row * dim + d], expected[d]);
  }
  return comparison.report();
}

/// Sequences of these lengths behind each other; `causal` has heads in groups of two, the other is
/// wider (variable.tl).
bool variable(const std::vector<std::int64_t> &lengths, bool causal) {
  const std::int64_t heads = causal ? 4 : 2, groups = causal ? 2 : 1, dim = causal ? 128 : 256,
                     kvHeads = heads / groups;
  std::vector<std::int32_t> offsets{0};
  std::int64_t longest = 0, batch = lengths.size();
  for (std::int64_t length : lengths) {
    offsets.push_back(offsets.back() + std::int32_t(length));
    longest = std::max(longest, length);
  }
  std::int64_t rows = offsets.back();
  auto q = sample::random<Bfloat16>(rows * heads * dim, -2, 2),
       k = sample::random<Bfloat16>(rows * kvHeads * dim, -2, 2),
       v = sample::random<Bfloat16>(rows * kvHeads * dim);
  sample::Buffer<Bfloat16> Q(q), K(k), V(v), O(sample::poison<Bfloat16>(rows * heads * dim));
  sample::Buffer<std::int32_t> Offsets(offsets);
  sample::Buffer<float> Lse(sample::poison<float>(heads * rows));
  if (causal)
    SAMPLE_CALL(attention_variable_causal, Q.data(), K.data(), V.data(), Offsets.data(), O.data(),
                Lse.data(), batch, rows, longest, nullptr, 0, nullptr);
  else
    SAMPLE_CALL(attention_variable_full, Q.data(), K.data(), V.data(), Offsets.data(), O.data(),
                Lse.data(), batch, rows, longest, nullptr, 0, nullptr);
  sample::synchronize();

  auto o = O.download();
  auto lse = Lse.download();
  std::string name = std::string(causal ? "causal" : "full") + " attention, " +
                     std::to_string(batch) + " sequences";
  sample::Comparison comparison(name, 1e-2, 1e-2), sums(name + ", LSE", 1e-2, 1e-3);
  std::vector<double> expected;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::size_t at : sample::chosen(lengths[b] * heads, 100)) {
      std::int64_t i = at / heads, h = at % heads, row = offsets[b] + i,
                   kv = (offsets[b] * kvHeads + h / groups) * dim;
      double sum = attend(&q[(row * heads + h) * dim], &k[kv], &v[kv], kvHeads * dim,
                          causal ? i + 1 : lengths[b], dim, expected);
      sums.add(lse[h * rows + row], sum);
      for (std::int64_t d = 0; d < dim; ++d)
        comparison.add(o[(row * heads + h) * dim + d], expected[d]);
    }
  bool good = comparison.report();
  return sums.report() && good;
}

} // namespace

int main() {
  bool good = true;
  for (bool causal : {true, false}) {
    good = run(1, 128, causal) && good;
    good = run(2, 100, causal) && good;
    good = run(1, 1, causal) && good;
    good = run(1, 193, causal) && good;
    good = variable({64, 200, 1, 130}, causal) && good;
    good = variable({1, 2}, causal) && good;
  }
  return good ? 0 : 1;
}
