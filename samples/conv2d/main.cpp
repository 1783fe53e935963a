#include "kernel.h"
#include "sample.h"

#include <utility>

using sample::Half;

namespace {

struct Shape {
  std::int64_t n, h, w; ///< of the images
};

/// A kernel, and what it was made with.
struct Convolution {
  const char *name;
  decltype(&conv2d) call;
  decltype(&conv2d_last_error) lastError;
  std::int64_t channels, filters, kernel, stride, dilation, pad;

  std::int64_t extent(std::int64_t size) const {
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

/// A pixel of the result for one filter.
double expected(const Convolution &c, const Shape &s, const std::vector<Half> &x,
                const std::vector<Half> &weights, std::int64_t n, std::int64_t y,
                std::int64_t column, std::int64_t filter) {
  double sum = 0;
  for (std::int64_t u = 0; u < c.kernel; ++u)
    for (std::int64_t v = 0; v < c.kernel; ++v) {
      const std::int64_t iy = y * c.stride + u * c.dilation - c.pad;
      const std::int64_t ix = column * c.stride + v * c.dilation - c.pad;
      if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w)
        continue;
      const Half *pixel = &x[((n * s.h + iy) * s.w + ix) * c.channels];
      const Half *tap = &weights[(u * c.kernel + v) * c.channels * c.filters + filter];
      for (std::int64_t channel = 0; channel < c.channels; ++channel)
        sum += double(pixel[channel]) * double(tap[channel * c.filters]);
    }
  return sum;
}

bool run(const Convolution &c, const Shape &s) {
  auto x = sample::random<Half>(s.n * s.h * s.w * c.channels);
  auto weights = sample::random<Half>(c.kernel * c.kernel * c.channels * c.filters, -0.1, 0.1);
  const std::int64_t height = c.extent(s.h), width = c.extent(s.w);
  sample::Buffer<Half> X(x), W(weights), Y(sample::poison<Half>(s.n * height * width * c.filters));
  if (c.call(X.data(), W.data(), Y.data(), s.n, s.h, s.w, nullptr, 0, nullptr) != TLC_OK) {
    std::fprintf(stderr, "%s: %s\n", c.name, c.lastError());
    return false;
  }
  sample::synchronize();

  auto y = Y.download();
  sample::Comparison comparison(std::string(c.name) + " " + std::to_string(s.n) + "x" +
                                    std::to_string(s.h) + "x" + std::to_string(s.w),
                                5e-3, 2e-3);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t row = 0; row < height; ++row)
      for (std::int64_t column = 0; column < width; ++column)
        for (std::int64_t filter = 0; filter < c.filters; ++filter)
          comparison.add(y[i++], expected(c, s, x, weights, n, row, column, filter));
  return comparison.report();
}

} // namespace

#define KERNEL(name) #name, name, name##_last_error

int main() {
  const std::pair<Convolution, std::vector<Shape>> all[] = {
      {{KERNEL(conv2d), 64, 64, 3, 1, 1, 1}, {{1, 12, 11}, {3, 7, 9}, {2, 1, 1}}},
      {{KERNEL(conv2d_5x5), 32, 72, 5, 2, 1, 2}, {{2, 13, 10}, {1, 1, 6}}},
      {{KERNEL(conv2d_wide), 64, 64, 3, 1, 2, 3}, {{2, 9, 8}, {1, 2, 5}}},
      {{KERNEL(conv2d_deep), 256, 64, 3, 1, 1, 1}, {{1, 5, 5}, {2, 9, 8}}},
  };
  bool good = true;
  for (const auto &[convolution, shapes] : all)
    for (const Shape &shape : shapes)
      good = run(convolution, shape) && good;
  return good ? 0 : 1;
}
