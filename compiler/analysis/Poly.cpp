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

} // namespace

bool Monomial::contains(Expr atom) const { return std::find(begin(), end(), atom) != end(); }

bool Monomial::remove(Expr atom) {
  auto last = factors.begin() + count, found = std::find(factors.begin(), last, atom);
  if (found == last)
    return false;
  std::copy(found + 1, last, found);
  --count;
  return true;
}

std::optional<Monomial> Monomial::product(const Monomial &a, const Monomial &b) {
  if (a.count + b.count > mostFactors)
    return std::nullopt;
  Monomial result;
  result.count = a.count + b.count;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), result.factors.begin(),
             [](Expr x, Expr y) { return x->id < y->id; });
  return result;
}

Poly Poly::atom(Expr e) { return product(Monomial(e)); }

Poly Poly::product(const Monomial &factors) {
  Poly result;
  result.terms.emplace_back(factors, 1);
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
  return std::any_of(terms.begin(), terms.end(),
                     [&](const auto &term) { return term.first.contains(atom); });
}

llvm::SmallVector<Expr, 8> Poly::atoms() const {
  llvm::SmallVector<Expr, 8> result;
  for (const auto &[monomial, coefficient] : terms)
    for (Expr atom : monomial)
      if (std::find(result.begin(), result.end(), atom) == result.end())
        result.push_back(atom);
  return result;
}

Poly Poly::replaced(Expr atom, const Poly &by) const {
  if (!valid)
    return *this;
  Poly result = constant; // with the terms that stay
  Poly changed;
  for (const auto &[monomial, coefficient] : terms) {
    if (!monomial.contains(atom)) {
      result.terms.emplace_back(monomial, coefficient);
      continue;
    }
    Poly product = coefficient;
    for (Expr factor : monomial)
      product = product * (factor == atom ? by : Poly::atom(factor));
    changed = changed + product;
  }
  return result + changed;
}

std::uint64_t Poly::hash() const {
  std::uint64_t hash = static_cast<std::uint64_t>(constant);
  auto mix = [&](std::uint64_t value) {
    hash ^= value * 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  };
  for (const auto &[monomial, coefficient] : terms) {
    for (Expr atom : monomial)
      mix(atom->id);
    mix(~static_cast<std::uint64_t>(coefficient));
  }
  return hash;
}

Poly combine(std::int64_t factorA, const Poly &a, std::int64_t factorB, const Poly &b) {
  bool valid = a.valid && b.valid;
  auto weighted = [&](std::int64_t x, std::int64_t y) {
    std::int64_t left = 0, right = 0, sum = 0;
    if (__builtin_mul_overflow(x, factorA, &left) || __builtin_mul_overflow(y, factorB, &right) ||
        __builtin_add_overflow(left, right, &sum))
      valid = false;
    return sum;
  };
  Poly result = weighted(a.constant, b.constant);
  auto add = [&](const Monomial &monomial, std::int64_t coefficient) {
    if (coefficient != 0)
      result.terms.emplace_back(monomial, coefficient);
  };
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (valid && (i != a.terms.end() || j != b.terms.end())) {
    bool onlyA = j == b.terms.end() || (i != a.terms.end() && lessMonomial(i->first, j->first));
    bool onlyB = !onlyA && (i == a.terms.end() || lessMonomial(j->first, i->first));
    add(onlyB ? j->first : i->first, weighted(onlyB ? 0 : i->second, onlyA ? 0 : j->second));
    i += !onlyB;
    j += !onlyA;
  }
  if (!valid)
    result = Poly::invalid();
  return result;
}

Poly operator+(const Poly &a, const Poly &b) { return combine(1, a, 1, b); }
Poly operator-(const Poly &a, const Poly &b) { return combine(1, a, -1, b); }

Poly operator*(const Poly &a, const Poly &b) {
  if (!a.valid || !b.valid)
    return Poly::invalid();
  if (b.terms.empty())
    return combine(b.constant, a, 0, {});
  Poly result = combine(a.constant, b, 0, {});
  for (const auto &[monomial, coefficient] : a.terms) {
    Poly row;
    for (const auto &[other, factor] : b.terms) {
      std::optional<Monomial> product = Monomial::product(monomial, other);
      if (!product)
        return Poly::invalid();
      row.terms.emplace_back(*product, factor);
    }
    std::sort(row.terms.begin(), row.terms.end(),
              [](const auto &x, const auto &y) { return lessMonomial(x.first, y.first); });
    if (b.constant != 0)
      row = combine(1, row, b.constant, Poly::product(monomial));
    result = combine(1, result, coefficient, row);
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
