// Along what the tiles of a launch can be shared out to the blocks of a cluster.
#pragma once

#include "ir/Function.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

namespace tlc::passes {

/// Dims of tiles and variables of parallel loops that always run together, so that a block of a
/// cluster can have a part of each. Tiles without such a dim are the same in all blocks.
struct SpreadAxis {
  std::int64_t extent = 0; ///< 0: there is none
  std::set<std::pair<const ir::Buffer *, unsigned>> dims;
  /// Dims of shared tiles that hold the axis as a digit of a longer index,
  /// rest * place * extent + axis * place + lower: place.
  std::map<std::pair<const ir::Buffer *, unsigned>, std::int64_t> digits;
  std::unordered_set<const ir::ExprNode *> vars;
  std::int64_t elements = 0; ///< of the largest tile that has the axis as a dim
  std::int64_t largest = 0;  ///< of the largest that has it at all
  std::string fault;         ///< why there is none

  explicit operator bool() const { return extent > 0; }
  bool has(const ir::Buffer *buffer, unsigned dim) const {
    return dims.count({buffer, dim}) || digits.count({buffer, dim});
  }
  /// Whether the tile is shared out.
  bool has(const ir::Buffer &buffer) const;
  /// The number of the variable of `map` that runs along it; -1: none.
  int variableOf(const ir::MapStmt &map) const;
  /// The tile of a reduction over it.
  bool isReducedBy(const ir::ReduceStmt &reduce) const;
};

/// The axis of the largest tile, the longest of it, of a launch of elementwise loops, copies and
/// reductions, one of which reduces over it.
SpreadAxis findSpreadAxis(const ir::Launch &launch);

/// `index` of a dim that holds the axis as a digit, where `axis` runs over `extent / blocks`
/// only: the digits above move down. `old` is the variable that runs over all of it.
ir::Expr narrowedIndex(ir::Expr index, ir::Expr old, ir::Expr axis, std::int64_t place,
                       std::int64_t extent, std::int64_t blocks);

} // namespace tlc::passes
