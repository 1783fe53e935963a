#include "float8.h"
#include "kernel.h"
#include "sample.h"

using sample::Bfloat16;

namespace {

constexpr std::int64_t dim = 512, rope = 64, width = dim + rope, splits = 2; // fixed in kernel.tl

bool run(std::int64_t batch, std::int64_t length, std::int64_t heads) {
  auto q = sample::random<Bfloat16>(batch * heads * width, -2, 2),
       kv = sample::random<Bfloat16>(batch * length * width, -2, 2);
  sample::Buffer<Bfloat16> Q(q), KV(kv), O(sample::poison<Bfloat16>(batch * heads * dim));
  sample::Buffer<float> Partial(sample::poison<float>(splits * batch * heads * dim)),
      Lse(sample::poison<float>(splits * batch * heads));
  if (heads == 128)
    SAMPLE_CALL(mla_decode, Q.data(), KV.data(), Partial.data(), Lse.data(), O.data(), batch,
                length, nullptr, 0, nullptr);
  else
    SAMPLE_CALL(mla_decode_16, Q.data(), KV.data(), Partial.data(), Lse.data(), O.data(), batch,
                length, nullptr, 0, nullptr);
  sample::synchronize();

  auto o = O.download();
  sample::Comparison comparison("mla_decode, batch " + std::to_string(batch) + ", length " +
                                    std::to_string(length) + ", " + std::to_string(heads) +
                                    " heads",
                                1e-2, 1e-2);
  std::vector<double> weights(length);
  for (std::size_t row : sample::chosen(batch * heads, 40)) {
    const Bfloat16 *latents = &kv[row / heads * length * width];
    double largest = -1e300, sum = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < width; ++d)
        dot += double(q[row * width + d]) * double(latents[j * width + d]);
      weights[j] = dot / std::sqrt(double(width));
      largest = std::fmax(largest, weights[j]);
    }
    for (double &weight : weights)
      sum += weight = std::exp(weight - largest);
    for (std::int64_t d = 0; d < dim; ++d) {
      double expected = 0;
      for (std::int64_t j = 0; j < length; ++j)
        expected += weights[j] * double(latents[j * width + d]);
      comparison.add(o[row * dim + d], expected / sum);
    }
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = true;
  for (std::int64_t heads : {128, 16}) {
    good = run(1, 256, heads) && good;
    good = run(2, 200, heads) && good; // ragged
    good = run(1, 1, heads) && good;   // the second part has no position
  }
  return good ? 0 : 1;
}
