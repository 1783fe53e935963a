// Polynomials with integer coefficients over atoms (expressions that are not taken apart).
#pragma once

#include "ir/Expr.h"

#include <llvm/ADT/SmallVector.h>

#include <cstdint>
#include <utility>

namespace tlc::analysis {

/// Atoms in order of id, with repetition.
using Monomial = llvm::SmallVector<ir::Expr, 2>;

/// constant + sum of coefficient * monomial. A coefficient that leaves 64 bits makes the polynomial
/// invalid, and so everything computed from it: "not known".
class Poly {
public:
  bool valid = true;
  std::int64_t constant = 0;
  /// Ordered, coefficients not 0. Most sums are short, and millions are made: they live in place.
  llvm::SmallVector<std::pair<Monomial, std::int64_t>, 4> terms;

  Poly() = default;
  Poly(std::int64_t constant) : constant(constant) {}
  static Poly atom(ir::Expr e);
  static Poly product(Monomial factors);
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
