// Polynomials with integer coefficients over atoms (expressions that are not taken apart).
#pragma once

#include "ir/Expr.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace tlc::analysis {

/// A product of atoms, in order of id, with repetition. Lies in place and is copied like a number:
/// proofs make millions.
class Monomial {
public:
  static constexpr std::size_t mostFactors = 6;

  Monomial() = default;
  explicit Monomial(ir::Expr atom) : factors{atom}, count(1) {}
  /// None if there are too many factors.
  static std::optional<Monomial> product(const Monomial &a, const Monomial &b);

  const ir::Expr *begin() const { return factors.data(); }
  const ir::Expr *end() const { return factors.data() + count; }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  ir::Expr front() const { return factors.front(); }
  bool contains(ir::Expr atom) const;
  /// Takes one `atom` away; false if there is none.
  bool remove(ir::Expr atom);
  bool operator==(const Monomial &other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

private:
  std::array<ir::Expr, mostFactors> factors;
  std::uint32_t count = 0;
};

/// constant + sum of coefficient * monomial. A coefficient that leaves 64 bits, or a product of too
/// many atoms, makes the polynomial invalid, and so everything computed from it: "not known".
class Poly {
public:
  bool valid = true;
  std::int64_t constant = 0;
  /// Ordered, coefficients not 0. Most sums are short, and millions are made: they live in place.
  llvm::SmallVector<std::pair<Monomial, std::int64_t>, 4> terms;

  Poly() = default;
  Poly(std::int64_t constant) : constant(constant) {}
  static Poly atom(ir::Expr e);
  static Poly product(const Monomial &factors);
  static Poly invalid();

  bool isConstant() const { return valid && terms.empty(); }
  /// Greatest common divisor of the coefficients of the terms; 0 without terms.
  std::int64_t content() const;
  /// The polynomial without its constant, divided by d, which must divide every coefficient.
  Poly dividedTerms(std::int64_t d) const;
  /// Whether an atom occurs.
  bool uses(ir::Expr atom) const;
  /// Every atom, each once.
  llvm::SmallVector<ir::Expr, 8> atoms() const;
  /// With `atom` replaced.
  Poly replaced(ir::Expr atom, const Poly &by) const;
  std::uint64_t hash() const;
  bool operator==(const Poly &) const = default;
};

Poly operator+(const Poly &a, const Poly &b);
Poly operator-(const Poly &a, const Poly &b);
Poly operator*(const Poly &a, const Poly &b);
/// factorA * a + factorB * b.
Poly combine(std::int64_t factorA, const Poly &a, std::int64_t factorB, const Poly &b);

/// As an expression of `dtype`; atoms of other integer types are cast. Null if invalid.
ir::Expr toExpr(ir::Context &context, DType dtype, const Poly &poly);

} // namespace tlc::analysis
