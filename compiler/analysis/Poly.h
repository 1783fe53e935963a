// Polynomials with integer coefficients over atoms (expressions that are not taken apart).
#pragma once

#include "ir/Expr.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tlc::analysis {

/// Atoms in order of id, with repetition.
using Monomial = std::vector<ir::Expr>;

/// constant + sum of coefficient * monomial. A coefficient that leaves 64 bits makes the polynomial
/// invalid, and so everything computed from it: "not known".
class Poly {
public:
  bool valid = true;
  std::int64_t constant = 0;
  std::vector<std::pair<Monomial, std::int64_t>> terms; ///< ordered, coefficients not 0

  Poly() = default;
  Poly(std::int64_t constant) : constant(constant) {}
  static Poly atom(ir::Expr e);
  static Poly invalid();

  bool isConstant() const { return valid && terms.empty(); }
  /// Greatest common divisor of the coefficients of the terms; 0 without terms.
  std::int64_t content() const;
  /// The polynomial without its constant, divided by d, which must divide every coefficient.
  Poly dividedTerms(std::int64_t d) const;
  /// Whether an atom occurs.
  bool uses(ir::Expr atom) const;
  /// Every atom, each once.
  std::vector<ir::Expr> atoms() const;
  /// With `atom` replaced.
  Poly replaced(ir::Expr atom, const Poly &by) const;
  bool operator==(const Poly &) const = default;
};

Poly operator+(const Poly &a, const Poly &b);
Poly operator-(const Poly &a, const Poly &b);
Poly operator*(const Poly &a, const Poly &b);

/// As an expression of `dtype`; atoms of other integer types are cast. Null if invalid.
ir::Expr toExpr(ir::Context &context, DType dtype, const Poly &poly);

} // namespace tlc::analysis
