#include "analysis/Poly.h"

#include <algorithm>
#include <numeric>

namespace tlc::analysis {

using ir::Expr;

namespace {

bool lessMonomial(const Monomial &a, const Monomial &b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](Expr x, Expr y) { return x->id < y->id; });
}

/// a + factor * b.
Poly combine(const Poly &a, const Poly &b, std::int64_t factor) {
  if (!a.valid || !b.valid)
    return Poly::invalid();
  Poly result;
  std::int64_t scaled = 0;
  if (__builtin_mul_overflow(b.constant, factor, &scaled) ||
      __builtin_add_overflow(a.constant, scaled, &result.constant))
    return Poly::invalid();
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && lessMonomial(i->first, j->first))) {
      result.terms.push_back(*i++);
      continue;
    }
    bool same = i != a.terms.end() && i->first == j->first;
    std::int64_t sum = 0;
    if (__builtin_mul_overflow(j->second, factor, &sum) ||
        (same && __builtin_add_overflow(sum, i->second, &sum)))
      return Poly::invalid();
    if (sum != 0)
      result.terms.emplace_back(j->first, sum);
    i += same;
    ++j;
  }
  return result;
}

} // namespace

Poly Poly::atom(Expr e) {
  Poly result;
  result.terms.push_back({{e}, 1});
  return result;
}

Poly Poly::invalid() {
  Poly result;
  result.valid = false;
  return result;
}

std::int64_t Poly::content() const {
  std::int64_t result = 0;
  for (const auto &[monomial, coefficient] : terms)
    result = std::gcd(result, coefficient);
  return result;
}

Poly Poly::dividedTerms(std::int64_t d) const {
  Poly result = *this;
  result.constant = 0;
  for (auto &[monomial, coefficient] : result.terms)
    coefficient /= d;
  return result;
}

bool Poly::uses(Expr atom) const {
  return std::any_of(terms.begin(), terms.end(), [&](const auto &term) {
    return std::find(term.first.begin(), term.first.end(), atom) != term.first.end();
  });
}

std::vector<Expr> Poly::atoms() const {
  std::vector<Expr> result;
  for (const auto &[monomial, coefficient] : terms)
    for (Expr atom : monomial)
      if (std::find(result.begin(), result.end(), atom) == result.end())
        result.push_back(atom);
  return result;
}

Poly Poly::replaced(Expr atom, const Poly &by) const {
  if (!valid)
    return *this;
  Poly result = constant;
  for (const auto &[monomial, coefficient] : terms) {
    Poly product = coefficient;
    for (Expr factor : monomial)
      product = product * (factor == atom ? by : Poly::atom(factor));
    result = result + product;
  }
  return result;
}

Poly operator+(const Poly &a, const Poly &b) { return combine(a, b, 1); }
Poly operator-(const Poly &a, const Poly &b) { return combine(a, b, -1); }

Poly operator*(const Poly &a, const Poly &b) {
  if (!a.valid || !b.valid)
    return Poly::invalid();
  if (b.terms.empty())
    return combine({}, a, b.constant);
  Poly result = combine({}, b, a.constant);
  for (const auto &[monomial, coefficient] : a.terms) {
    Poly row;
    for (const auto &[other, factor] : b.terms) {
      Monomial product;
      std::merge(monomial.begin(), monomial.end(), other.begin(), other.end(),
                 std::back_inserter(product), [](Expr x, Expr y) { return x->id < y->id; });
      row.terms.emplace_back(std::move(product), factor);
    }
    std::sort(row.terms.begin(), row.terms.end(),
              [](const auto &x, const auto &y) { return lessMonomial(x.first, y.first); });
    if (b.constant != 0) {
      Poly own;
      own.terms.emplace_back(monomial, b.constant);
      row = combine(row, own, 1);
    }
    result = combine(result, row, coefficient);
  }
  return result;
}

Expr toExpr(ir::Context &context, DType dtype, const Poly &poly) {
  if (!poly.valid)
    return {};
  Expr sum;
  for (const auto &[monomial, coefficient] : poly.terms) {
    Expr product;
    for (Expr atom : monomial) {
      Expr factor = context.cast(dtype, atom);
      product = product ? product * factor : factor;
    }
    Expr term = coefficient == 1 ? product : product * context.integer(dtype, coefficient);
    sum = sum ? sum + term : term;
  }
  Expr constant = context.integer(dtype, poly.constant);
  return sum ? sum + constant : constant;
}

} // namespace tlc::analysis
