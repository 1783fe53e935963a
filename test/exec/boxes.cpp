// Tiles that tensor maps copied, against the elements that they should hold.
#include "boxes.h"
#include "hosts.h"

namespace {

using exec::Half;
using std::int64_t;

bool lines(int64_t n) {
  auto x = exec::numbers<float>(n);
  sample::Buffer<float> X(x), Y(exec::unset<float>(n));
  SAMPLE_CALL(line, X.data(), Y.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto y = Y.download();
  sample::Comparison doubled("line", 1e-9, 0);
  for (int64_t i = 0; i < n; ++i)
    doubled.add(y[i], 2.0 * x[i]);
  return doubled.report();
}

bool matrices(int64_t n) {
  auto x = exec::numbers<Half>(n * 72);
  sample::Buffer<Half> X(x), Y(exec::unset<Half>(n * 72));
  SAMPLE_CALL(matrix, X.data(), Y.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto y = Y.download();
  sample::Comparison more("matrix", 2e-3, 0);
  for (int64_t i = 0; i < n * 72; ++i)
    more.add(double(y[i]), double(x[i]) + 1);
  return more.report();
}

bool manyDims(int64_t n) {
  auto x = exec::numbers<float>(2 * n * 3 * 16 * 40);
  auto u = exec::numbers<std::int8_t>(n * 3 * 64);
  sample::Buffer<float> X(x), Y(exec::unset<float>(x.size()));
  sample::Buffer<std::int8_t> U(u), V(exec::unset<std::int8_t>(u.size()));
  SAMPLE_CALL(dims, X.data(), Y.data(), U.data(), V.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto y = Y.download();
  auto v = V.download();
  sample::Comparison five("dims, five", 1e-9, 0), three("dims, three", 1e-9, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % 40 >= 16)
      five.add(y[i], x[i]);
  for (std::size_t i = 0; i < u.size(); ++i)
    three.add(v[i], u[i]);
  bool good = five.report();
  return three.report() && good;
}

bool rings(int64_t n) {
  auto x = exec::numbers<Half>(n * 64);
  sample::Buffer<Half> X(x), Y(exec::unset<Half>(n * 64));
  SAMPLE_CALL(ring, X.data(), Y.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto y = Y.download();
  sample::Comparison same("ring", 1e-9, 0);
  for (int64_t i = 0; i < n * 64; ++i)
    same.add(double(y[i]), double(x[i]));
  return same.report();
}

bool products() {
  bool good = true;
  for (const exec::Size &size : {exec::Size{64, 64, 64}, {72, 80, 96}, {37, 56, 40}, {8, 16, 0}})
    good = exec::product<Half, float>("product", product, product_last_error, size, false, false,
                                      1e-3, 1e-4) &&
           good;
  // Rows that tensor maps cannot reach are refused, not multiplied wrongly.
  tlc_status status = product(nullptr, nullptr, nullptr, 8, 8, 9, nullptr, 0, nullptr);
  if (status == TLC_ERR_SHAPE)
    return good;
  std::printf("product with odd rows: status %d\n", int(status));
  return false;
}

bool clusters(int64_t n) {
  auto x = exec::numbers<float>(n * 64);
  sample::Buffer<float> X(x), Y(exec::unset<float>(2 * n * 64));
  SAMPLE_CALL(pairs, X.data(), Y.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto y = Y.download();
  sample::Comparison both("pairs", 1e-9, 0);
  for (int64_t i = 0; i < 2 * n * 64; ++i)
    both.add(y[i], x[i % (n * 64)]);
  return both.report();
}

bool additions(int64_t n) {
  auto x = exec::numbers<float>(n * 32);
  sample::Buffer<float> X(x), S(std::vector<float>(16 * 32));
  SAMPLE_CALL(sums, X.data(), S.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto s = S.download();
  sample::Comparison total("sums", 1e-4, 1e-5);
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 32; ++j) {
      double sum = 0;
      for (int64_t row = i; row < n; row += 16)
        sum += x[row * 32 + j];
      total.add(s[i * 32 + j], sum);
    }
  return total.report();
}

bool reversed(int64_t n) {
  auto x = exec::numbers<float>(n * 128);
  sample::Buffer<float> X(x), Y(exec::unset<float>(n * 128));
  SAMPLE_CALL(roles, X.data(), Y.data(), n, nullptr, 0, nullptr);
  sample::synchronize();
  auto y = Y.download();
  sample::Comparison back("roles", 1e-9, 0);
  for (int64_t i = 0; i < n * 128; ++i)
    back.add(y[i], x[i - i % 128 + 127 - i % 128]);
  return back.report();
}

} // namespace

int main() {
  bool good = true;
  for (int64_t n : {1, 5, 33, 100, 333}) {
    good = lines(n * 11) && good;
    good = matrices(n) && good;
    good = rings(n) && good;
    good = additions(n) && good;
  }
  for (int64_t n : {1, 3}) {
    good = manyDims(n) && good;
    good = reversed(n) && good;
    good = clusters(n * 20) && good;
  }
  good = products() && good;
  // A tensor without rows: nothing is started, and no map is made.
  if (tlc_status status = matrix(nullptr, nullptr, 0, nullptr, 0, nullptr)) {
    std::printf("matrix without rows: status %d: %s\n", int(status), matrix_last_error());
    good = false;
  }
  return good ? 0 : 1;
}
