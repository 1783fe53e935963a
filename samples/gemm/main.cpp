#include "eager.h"
#include "kernel.h"
#include "sample.h"

using sample::Half;

namespace {

struct Problem {
  std::int64_t m, n, k;
  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};

bool run(const Problem &p) {
  auto a = sample::random<Half>(p.m * p.k), b = sample::random<Half>(p.k * p.n);
  auto bias = sample::random<float>(p.n);
  sample::Buffer<Half> A(a), B(b), C(sample::poison<Half>(p.m * p.n)),
      D(sample::poison<Half>(p.m * p.n));
  sample::Buffer<float> Bias(bias);

  SAMPLE_CALL(gemm, A.data(), B.data(), C.data(), p.m, p.n, p.k, nullptr, 0, nullptr);
  SAMPLE_CALL(gemm_bias_relu, A.data(), B.data(), Bias.data(), D.data(), p.m, p.n, p.k, nullptr, 0,
              nullptr);
  sample::synchronize();

  auto c = C.download(), d = D.download();
  sample::Comparison plain("gemm " + p.name(), 1e-2, 2e-3),
      eager("gemm_bias_relu " + p.name(), 1e-2, 2e-3);
  for (std::size_t at : sample::chosen(c.size(), 20000)) {
    std::size_t i = at / p.n, j = at % p.n;
    double sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k)
      sum += double(a[i * p.k + k]) * double(b[k * p.n + j]);
    plain.add(c[at], sum);
    eager.add(d[at], std::fmax(sum + bias[j], 0.0));
  }
  bool good = plain.report();
  return eager.report() && good;
}

void time(const Problem &p, int repetitions) {
  sample::Buffer<Half> A(sample::random<Half>(p.m * p.k)), B(sample::random<Half>(p.k * p.n)),
      C(sample::poison<Half>(p.m * p.n));
  double seconds = sample::seconds(
      [&] { SAMPLE_CALL(gemm, A.data(), B.data(), C.data(), p.m, p.n, p.k, nullptr, 0, nullptr); },
      repetitions);
  std::printf("gemm %s: %.3f ms, %.1f GFLOP/s\n", p.name().c_str(), seconds * 1e3,
              2e-9 * p.m * p.n * p.k / seconds);
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 4) {
    Problem p{std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3])};
    bool good = run(p);
    time(p, 10);
    return good ? 0 : 1;
  }
  bool good = true;
  // Whole tiles, ragged edges, fewer rows than a tile, one step, no step.
  for (const Problem &p :
       {Problem{256, 256, 256}, {200, 136, 72}, {1, 8, 1000}, {129, 264, 32}, {130, 64, 8}})
    good = run(p) && good;
  time({512, 512, 512}, 3);
  return good ? 0 : 1;
}
