#include "batched.h"
#include "epilogues.h"
#include "float8.h"
#include "layouts.h"
#include "sample.h"
#include "skinny.h"

using sample::Bfloat16;
using sample::Half;

namespace {

using LastError = const char *(*)();

struct Problem {
  std::int64_t m, n, k;
  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};

void require(tlc_status status, LastError lastError) {
  if (status == TLC_OK)
    return;
  std::fprintf(stderr, "status %d: %s\n", static_cast<int>(status), lastError());
  std::exit(1);
}

/// A matrix as it is stored, for reading element (row, k).
template <class T> struct Matrix {
  std::vector<T> values;
  std::int64_t rowStride, kStride;

  Matrix(std::int64_t rows, std::int64_t k, bool kRunsDown, double largest)
      : values(sample::random<T>(rows * k, -largest, largest)), rowStride(kRunsDown ? 1 : k),
        kStride(kRunsDown ? rows : 1) {}
  double at(std::int64_t row, std::int64_t k) const {
    return double(values[row * rowStride + k * kStride]);
  }
};

template <class T>
double product(const Matrix<T> &a, const Matrix<T> &b, std::int64_t i, std::int64_t j,
               std::int64_t k) {
  double sum = 0;
  for (std::int64_t x = 0; x < k; ++x)
    sum += a.at(i, x) * b.at(j, x);
  return sum;
}

/// C = A @ B, with A [M, K] or (transA) [K, M], B [K, N] or (transB) [N, K]; `tolerance` relative
/// to the size of a sum.
template <class T, class Out, class Entry>
bool layout(const char *name, Entry entry, LastError lastError, const Problem &p, bool transA,
            bool transB, double largest, double tolerance) {
  Matrix<T> a(p.m, p.k, transA, largest), b(p.n, p.k, !transB, largest);
  sample::Buffer<T> A(a.values), B(b.values);
  sample::Buffer<Out> C(std::vector<Out>(p.m * p.n, Out(-77.0)));
  require(entry(A.data(), B.data(), C.data(), p.m, p.n, p.k, nullptr, 0, nullptr), lastError);
  sample::synchronize();
  auto c = C.download();
  sample::Comparison comparison(name + (" " + p.name()),
                                tolerance * largest * largest * std::sqrt(double(p.k)), tolerance);
  for (std::size_t at : sample::chosen(c.size(), 5000))
    comparison.add(double(c[at]), product(a, b, at / p.n, at % p.n, p.k));
  return comparison.report();
}

bool layouts(const Problem &p) {
  bool good = layout<Half, Half>("nt", gemm_nt, gemm_nt_last_error, p, false, true, 1, 2e-3);
  good = layout<Half, Half>("tn", gemm_tn, gemm_tn_last_error, p, true, false, 1, 2e-3) && good;
  good = layout<Half, Half>("tt", gemm_tt, gemm_tt_last_error, p, true, true, 1, 2e-3) && good;
  good = layout<Bfloat16, Bfloat16>("bf16", gemm_bf16, gemm_bf16_last_error, p, false, true, 1,
                                    1e-2) &&
         good;
  good = layout<float, float>("tf32", gemm_tf32, gemm_tf32_last_error, p, false, true, 1, 4e-3) &&
         good;
  return layout<std::int8_t, std::int32_t>("int8", gemm_int8, gemm_int8_last_error, p, false, true,
                                           127, 1e-9) &&
         good;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

bool epilogues(const Problem &p) {
  Matrix<Bfloat16> a(p.m, p.k, false, 1), b(p.n, p.k, false, 0.3), up(p.n, p.k, false, 0.3);
  auto bias = sample::random<Bfloat16>(p.n);
  sample::Buffer<Bfloat16> A(a.values), B(b.values), Up(up.values), Bias(bias),
      D(sample::poison<Bfloat16>(p.m * p.n)), E(sample::poison<Bfloat16>(p.m * p.n));
  SAMPLE_CALL(gemm_bias_gelu, A.data(), B.data(), Bias.data(), D.data(), p.m, p.n, p.k, nullptr, 0,
              nullptr);
  SAMPLE_CALL(gemm_swiglu, A.data(), B.data(), Up.data(), E.data(), p.m, p.n, p.k, nullptr, 0,
              nullptr);
  sample::synchronize();
  auto d = D.download(), e = E.download();
  sample::Comparison gelu("bias_gelu " + p.name(), 1e-2, 1e-2),
      swiglu("swiglu " + p.name(), 2e-2, 1e-2);
  for (std::size_t at : sample::chosen(d.size(), 5000)) {
    double x = product(a, b, at / p.n, at % p.n, p.k), y = x + bias[at % p.n];
    gelu.add(d[at], y * sigmoid(2 * 0.7978845608 * (y + 0.044715 * y * y * y)));
    swiglu.add(e[at], x * sigmoid(x) * product(a, up, at / p.n, at % p.n, p.k));
  }
  bool good = gelu.report();
  return swiglu.report() && good;
}

bool batched(std::int64_t batch, const Problem &p) {
  auto a = sample::random<Half>(batch * p.m * p.k), b = sample::random<Half>(batch * p.n * p.k);
  sample::Buffer<Half> A(a), B(b), C(sample::poison<Half>(batch * p.m * p.n));
  SAMPLE_CALL(gemm_batched, A.data(), B.data(), C.data(), batch, p.m, p.n, p.k, nullptr, 0,
              nullptr);
  sample::synchronize();
  auto c = C.download();
  sample::Comparison comparison("batched " + std::to_string(batch) + "x" + p.name(), 1e-2, 2e-3);
  for (std::size_t at : sample::chosen(c.size(), 5000)) {
    std::size_t z = at / (p.m * p.n), i = at / p.n % p.m, j = at % p.n;
    double sum = 0;
    for (std::int64_t x = 0; x < p.k; ++x)
      sum += double(a[(z * p.m + i) * p.k + x]) * double(b[(z * p.n + j) * p.k + x]);
    comparison.add(c[at], sum);
  }
  return comparison.report();
}

} // namespace

int main() {
  bool good = true;
  // Whole tiles, ragged edges, rows at no multiple of 16 bytes (all, or of the result), fewer rows.
  for (const Problem &p : {Problem{128, 256, 256},
                           {200, 144, 80},
                           {130, 131, 133},
                           {130, 133, 144},
                           {5, 16, 1040},
                           {5, 18, 333}}) {
    good = layouts(p) && good;
    good = epilogues(p) && good;
    good = batched(3, p) && good;
    good = layout<Bfloat16, Bfloat16>("skinny", gemm_skinny, gemm_skinny_last_error, p, false, true,
                                      1, 1e-2) &&
           good;
  }
  return good ? 0 : 1;
}
