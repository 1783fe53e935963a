// What runs along one dimension of a launch's grid.
#pragma once

#include "ir/Function.h"

#include <cstdint>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tlc::passes {

/// Dims of tiles and variables of parallel loops of which block b has the elements b * extent to
/// (b + 1) * extent - 1, and nothing else knows which block it is: what two blocks do is what one
/// does in which all of these are twice as long.
struct BlockAxis {
  std::int64_t extent = 0; ///< elements of a block; 0: there is no such axis
  std::set<std::pair<const ir::Buffer *, unsigned>> dims;
  std::unordered_set<const ir::ExprNode *> vars;
  /// Of the tensors that are written along it, where they end: what is beyond the last block is of
  /// no use if it is beyond these. Null: it would be something else of the tensor.
  std::vector<ir::Expr> ends;

  explicit operator bool() const { return extent > 0; }
  bool has(const ir::Buffer *buffer, unsigned dim) const { return dims.count({buffer, dim}) != 0; }
};

/// That of grid dimension `dim`, of a launch of copies, products, reductions and parallel loops.
BlockAxis findBlockAxis(const ir::Launch &launch, std::size_t dim);

} // namespace tlc::passes
