#include "ir/Expr.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::ir {
namespace {

void accumulate(Expr e, std::int64_t factor, Linear &result) {
  if (auto value = e.constant()) {
    result.constant += factor * *value;
    return;
  }
  if (e.kind() == ExprKind::Binary) {
    Expr a = e->operands[0], b = e->operands[1];
    switch (e->binaryOp()) {
    case BinaryOp::Add:
      accumulate(a, factor, result);
      accumulate(b, factor, result);
      return;
    case BinaryOp::Sub:
      accumulate(a, factor, result);
      accumulate(b, -factor, result);
      return;
    case BinaryOp::Mul:
      if (auto value = b.constant()) {
        accumulate(a, factor * *value, result);
        return;
      }
      break;
    default:
      break;
    }
  }
  if (e.kind() == ExprKind::Unary && e->unaryOp() == UnaryOp::Neg) {
    accumulate(e->operands[0], -factor, result);
    return;
  }
  result.terms.emplace_back(e, factor);
}

} // namespace

Linear linear(Expr e) {
  TLC_CHECK(!e.dtype().isFloat(), "linear form of a float");
  Linear result;
  accumulate(e, 1, result);
  auto &terms = result.terms;
  std::sort(terms.begin(), terms.end(),
            [](const auto &a, const auto &b) { return a.first->id < b.first->id; });
  std::size_t out = 0;
  for (std::size_t i = 0; i < terms.size();) {
    auto sum = terms[i];
    for (++i; i < terms.size() && terms[i].first == sum.first; ++i)
      sum.second += terms[i].second;
    if (sum.second != 0)
      terms[out++] = sum;
  }
  terms.resize(out);
  return result;
}

Expr fromLinear(Context &context, DType dtype, const Linear &l) {
  Expr sum;
  for (const auto &[term, coefficient] : l.terms) {
    Expr product = term * context.integer(term.dtype(), coefficient);
    sum = sum ? sum + product : product;
  }
  Expr constant = context.integer(dtype, l.constant);
  if (!sum)
    return constant;
  return context.cast(dtype, sum) + constant;
}

std::optional<std::int64_t> constantDifference(Expr a, Expr b) {
  if (a == b)
    return 0;
  if (a.dtype().isFloat() || b.dtype().isFloat())
    return std::nullopt;
  Linear la = linear(a), lb = linear(b);
  if (la.terms != lb.terms)
    return std::nullopt;
  return la.constant - lb.constant;
}

} // namespace tlc::ir
