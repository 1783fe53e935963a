#include "analysis/Interval.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

namespace tlc::analysis {
namespace {

using Wide = __int128;
constexpr std::int64_t minf = Interval::minusInfinity, inf = Interval::infinity;

std::int64_t saturate(Wide x) {
  return x <= minf ? minf : x >= inf ? inf : static_cast<std::int64_t>(x);
}
bool infinite(std::int64_t x) { return x == minf || x == inf; }

/// Sum of two lower (or two upper) bounds: an infinite one wins.
std::int64_t addBound(std::int64_t a, std::int64_t b) {
  if (infinite(a))
    return a;
  if (infinite(b))
    return b;
  std::int64_t sum = 0;
  return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? minf : inf;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  std::int64_t product = 0;
  if (infinite(a) || infinite(b) || __builtin_mul_overflow(a, b, &product))
    return (a < 0) == (b < 0) ? inf : minf;
  return product;
}

std::int64_t quotient(std::int64_t a, std::int64_t b, bool floor) {
  if (infinite(a))
    return (a < 0) == (b < 0) ? inf : minf;
  if (infinite(b))
    return floor && a != 0 && (a < 0) != (b < 0) ? -1 : 0;
  return floor ? floorDiv(a, b) : saturate(Wide(a) / b);
}

Interval divide(Interval a, Interval b, bool floor) {
  if (b.contains(0))
    return {};
  Interval result{inf, minf};
  for (std::int64_t x : {a.lo, a.hi})
    for (std::int64_t y : {b.lo, b.hi}) {
      std::int64_t q = quotient(x, y, floor);
      result = {std::min(result.lo, q), std::max(result.hi, q)};
    }
  return result;
}

} // namespace

std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  Wide q = Wide(a) / b;
  if (Wide(a) % b != 0 && (a < 0) != (b < 0))
    --q;
  return saturate(q);
}

std::int64_t floorMod(std::int64_t a, std::int64_t b) {
  Wide r = Wide(a) % b;
  return static_cast<std::int64_t>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

Interval intersect(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Interval operator-(Interval a) {
  auto negate = [](std::int64_t x) { return x == minf ? inf : x == inf ? minf : -x; };
  return {negate(a.hi), negate(a.lo)};
}
Interval operator+(Interval a, Interval b) { return {addBound(a.lo, b.lo), addBound(a.hi, b.hi)}; }
Interval operator-(Interval a, Interval b) { return a + -b; }

Interval operator*(Interval a, Interval b) {
  if (a.isPoint()) {
    std::int64_t x = multiply(a.lo, b.lo), y = multiply(a.lo, b.hi);
    return {std::min(x, y), std::max(x, y)};
  }
  std::array<std::int64_t, 4> products = {multiply(a.lo, b.lo), multiply(a.lo, b.hi),
                                          multiply(a.hi, b.lo), multiply(a.hi, b.hi)};
  auto [lo, hi] = std::minmax_element(products.begin(), products.end());
  return {*lo, *hi};
}

Interval floorDiv(Interval a, Interval b) { return divide(a, b, true); }
Interval truncDiv(Interval a, Interval b) { return divide(a, b, false); }

Interval floorMod(Interval a, Interval b) {
  if (b.contains(0))
    return {};
  if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo)
    return a;
  if (b.isPoint() && b.lo > 0 && a.bounded() && floorDiv(a.lo, b.lo) == floorDiv(a.hi, b.lo))
    return {floorMod(a.lo, b.lo), floorMod(a.hi, b.lo)};
  return b.lo > 0 ? Interval{0, b.hi == inf ? inf : b.hi - 1}
                  : Interval{b.lo == minf ? minf : b.lo + 1, 0};
}

Interval truncMod(Interval a, Interval b) {
  if (b.contains(0))
    return {};
  if (a.lo >= 0 && b.lo > 0)
    return floorMod(a, b);
  std::int64_t largest =
      b.lo == minf || b.hi == inf ? inf : std::max(std::abs(b.lo), std::abs(b.hi)) - 1;
  return {a.lo >= 0 ? 0 : (largest == inf ? minf : -largest), a.hi <= 0 ? 0 : largest};
}

Interval minimum(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval maximum(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }

bool Congruence::divisibleBy(std::int64_t d) const {
  if (d == 0)
    return modulus == 0 && remainder == 0;
  return modulus % d == 0 && remainder % d == 0;
}

bool Congruence::allows(std::int64_t value) const {
  if (modulus == 0)
    return remainder == value;
  return floorMod(value, modulus) == remainder;
}

namespace {

/// Brings a remainder into [0, modulus); what overflows is not known.
Congruence reduced(Wide modulus, Wide remainder) {
  if (modulus == 0)
    return remainder <= minf || remainder >= inf
               ? Congruence{}
               : Congruence{0, static_cast<std::int64_t>(remainder)};
  if (modulus < 0)
    modulus = -modulus;
  if (modulus >= inf)
    return {};
  Wide r = remainder % modulus;
  return {static_cast<std::int64_t>(modulus), static_cast<std::int64_t>(r < 0 ? r + modulus : r)};
}

Wide gcd(Wide a, Wide b) {
  if (a < 0)
    a = -a;
  if (b < 0)
    b = -b;
  while (b) {
    Wide next = a % b;
    a = b;
    b = next;
  }
  return a;
}

} // namespace

Congruence operator+(Congruence a, Congruence b) {
  return reduced(gcd(a.modulus, b.modulus), Wide(a.remainder) + b.remainder);
}
Congruence operator-(Congruence a, Congruence b) {
  return reduced(gcd(a.modulus, b.modulus), Wide(a.remainder) - b.remainder);
}
Congruence operator*(Congruence a, Congruence b) {
  // (ma i + ra)(mb j + rb): every product but ra rb is a multiple of the gcd.
  Wide modulus = gcd(gcd(Wide(a.modulus) * b.modulus, Wide(a.modulus) * b.remainder),
                     Wide(b.modulus) * a.remainder);
  return reduced(modulus, Wide(a.remainder) * b.remainder);
}

Congruence join(Congruence a, Congruence b) {
  Wide modulus = gcd(gcd(a.modulus, b.modulus), Wide(a.remainder) - b.remainder);
  return reduced(modulus, a.remainder);
}

Congruence meet(Congruence a, Congruence b) {
  if (a.modulus == 0 || (b.modulus != 0 && a.modulus % b.modulus == 0))
    return a;
  if (b.modulus == 0 || b.modulus % a.modulus == 0)
    return b;
  std::int64_t g = std::gcd(a.modulus, b.modulus);
  Wide lcm = Wide(a.modulus / g) * b.modulus;
  if (floorMod(a.remainder, g) != floorMod(b.remainder, g) || lcm > (Wide(1) << 40))
    return a.modulus >= b.modulus ? a : b;
  // At most b.modulus / g steps of a.modulus lead to a value that fits b too; moduli are small.
  Wide value = a.remainder;
  for (std::int64_t i = 0; i < b.modulus / g && i < 4096; ++i, value += a.modulus)
    if (floorMod(static_cast<std::int64_t>(value), b.modulus) == b.remainder)
      return reduced(lcm, value);
  return a;
}

} // namespace tlc::analysis
