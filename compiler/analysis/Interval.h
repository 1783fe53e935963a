// Integer intervals and congruences, saturating at 64 bits.
#pragma once

#include <cstdint>
#include <limits>

namespace tlc::analysis {

/// lo <= x <= hi; the extremes of int64 stand for "no bound".
struct Interval {
  static constexpr std::int64_t minusInfinity = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();

  std::int64_t lo = minusInfinity, hi = infinity;

  static Interval point(std::int64_t value) { return {value, value}; }
  bool bounded() const { return lo != minusInfinity && hi != infinity; }
  bool isPoint() const { return lo == hi; }
  bool empty() const { return lo > hi; }
  bool contains(std::int64_t value) const { return lo <= value && value <= hi; }
  bool within(Interval other) const { return other.lo <= lo && hi <= other.hi; }
  bool operator==(const Interval &) const = default;
};

Interval intersect(Interval a, Interval b);
Interval hull(Interval a, Interval b);
Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator-(Interval a);
Interval operator*(Interval a, Interval b);
/// Divisor intervals that contain 0 give no bounds.
Interval floorDiv(Interval a, Interval b);
Interval floorMod(Interval a, Interval b);
Interval truncDiv(Interval a, Interval b);
Interval truncMod(Interval a, Interval b);
Interval minimum(Interval a, Interval b);
Interval maximum(Interval a, Interval b);

std::int64_t floorDiv(std::int64_t a, std::int64_t b);
std::int64_t floorMod(std::int64_t a, std::int64_t b);

/// x = remainder (mod modulus); modulus 0: x is remainder; modulus 1: nothing known.
struct Congruence {
  std::int64_t modulus = 1, remainder = 0;

  static Congruence constant(std::int64_t value) { return {0, value}; }
  /// Whether every such x is a multiple of `d`.
  bool divisibleBy(std::int64_t d) const;
  /// Whether some such x may be `value`.
  bool allows(std::int64_t value) const;
  bool operator==(const Congruence &) const = default;
};
Congruence operator+(Congruence a, Congruence b);
Congruence operator-(Congruence a, Congruence b);
Congruence operator*(Congruence a, Congruence b);
/// What holds if either holds.
Congruence join(Congruence a, Congruence b);
/// What holds if both hold; one of them where they contradict.
Congruence meet(Congruence a, Congruence b);

} // namespace tlc::analysis
