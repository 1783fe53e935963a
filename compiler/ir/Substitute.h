// Replacing variables in many expressions by one map.
#pragma once

#include "ir/Expr.h"

#include <llvm/ADT/DenseMap.h>

namespace tlc::ir {

/// Remembers what was replaced, so that what expressions share costs once.
class Substituter {
public:
  Substituter() = default;
  /// Null values of the map leave their variable alone.
  explicit Substituter(const Substitution &map);
  /// Before anything that `variable` occurs in is replaced.
  void add(Expr variable, Expr value);
  bool empty() const { return replaced.empty(); }
  Expr operator()(Expr e);

private:
  llvm::SmallDenseMap<const ExprNode *, Expr, 16> replaced;
};

} // namespace tlc::ir
