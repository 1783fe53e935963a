// What the host programs of the samples share: inputs, comparison with a reference, status checks,
// timing output.
#pragma once

#include "half.h"
#include "memory.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace sample {

/// One seed a run, printed so that a failure can be repeated: TLC_SAMPLE_SEED=N, else random.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char *given = std::getenv("TLC_SAMPLE_SEED");
    std::uint64_t chosen = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("seed %llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return value;
}

inline std::mt19937_64 &generator() {
  static std::mt19937_64 engine(seed());
  return engine;
}

/// `count` numbers, evenly spread over [low, high) and rounded to T.
template <class T> std::vector<T> random(std::size_t count, double low = -1, double high = 1) {
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<T> out(count);
  for (T &value : out)
    value = T(distribution(generator()));
  return out;
}

inline std::vector<std::uint8_t> randomBytes(std::size_t count) {
  std::vector<std::uint8_t> out(count);
  for (std::uint8_t &value : out)
    value = static_cast<std::uint8_t>(generator()());
  return out;
}

/// `count` NaNs: an output that the kernel forgets is seen.
template <class T> std::vector<T> poison(std::size_t count) {
  return std::vector<T>(count, T(std::numeric_limits<double>::quiet_NaN()));
}

/// Every entry of a tlc header returns a status; its text is in NAME_last_error().
#define SAMPLE_CALL(name, ...)                                                                     \
  do {                                                                                             \
    tlc_status status = name(__VA_ARGS__);                                                         \
    if (status != TLC_OK) {                                                                        \
      std::fprintf(stderr, #name ": status %d: %s\n", static_cast<int>(status),                    \
                   name##_last_error());                                                           \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

class Comparison {
public:
  /// |actual - expected| may be `absolute` + `relative` * |expected|.
  Comparison(std::string what, double absolute, double relative)
      : what(std::move(what)), absolute(absolute), relative(relative) {}

  void add(double actual, double expected) {
    double error = std::abs(actual - expected), limit = absolute + relative * std::abs(expected);
    if (!(error <= limit) && failures++ == 0)
      std::printf("%s: element %zu is %g, expected %g\n", what.c_str(), count, actual, expected);
    if (error / limit > worst)
      worst = error / limit;
    ++count;
  }
  /// Prints one line; true if all was near enough and anything was compared.
  bool report() const {
    bool good = failures == 0 && count > 0;
    std::printf("%s: %s (%zu elements, worst at %.0f %% of the tolerance", what.c_str(),
                good ? "ok" : "WRONG", count, worst * 100);
    std::printf(failures ? ", %zu wrong)\n" : ")\n", failures);
    return good;
  }

private:
  std::string what;
  double absolute, relative, worst = 0;
  std::size_t count = 0, failures = 0;
};

/// Indices at which a large result is compared: all of them up to `limit`, else so many drawn at
/// random.
inline std::vector<std::size_t> chosen(std::size_t count, std::size_t limit) {
  std::vector<std::size_t> out(count < limit ? count : limit);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = count <= limit ? i : generator()() % count;
  return out;
}

} // namespace sample
