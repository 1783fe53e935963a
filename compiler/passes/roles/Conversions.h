// Statements of a loop that compute a tile for products of warpgroups out of tiles that a producer
// loads: weights of few bits, for example, that become float16. Warps of their own can do that
// ahead of the products.
//
//   copy %W_s -> %W_l                   // uint8, from a tile that is loaded
//   map … { store %V_l[…] = … %W_l … }
//   copy %V_l -> %V_s                   // the tile
//   gemm %A_s, %V_s -> %C_l
#pragma once

#include "ir/Function.h"

#include <optional>
#include <unordered_set>
#include <vector>

namespace tlc::passes {

struct Conversion {
  ir::Block *block = nullptr; ///< the loop's
  ir::Buffer *tile = nullptr;
  std::vector<const ir::Stmt *> statements; ///< of `block`, in program order
  std::vector<const ir::Stmt *> makers;     ///< those of them that write the tile
  const ir::Stmt *firstReader = nullptr;    ///< products of `block`
  const ir::Stmt *lastReader = nullptr;
  std::unordered_set<ir::Buffer *> inputs;    ///< shared tiles that nobody else reads
  std::unordered_set<const ir::Buffer *> own; ///< fragments and variables that nobody else uses
};

/// None if something else has a part in the tile, or what computes it does more than that.
std::optional<Conversion> conversionOf(ir::Launch &launch, ir::Block &block, ir::Buffer &tile);

} // namespace tlc::passes
