// Whether two warpgroups can take the tiles of a launch in turns (AlternateTiles.cpp), and in which
// calls that gains.
#pragma once

#include "ir/Function.h"
#include "passes/Pass.h"

namespace tlc::passes {

/// The loop and the product of a launch that does nothing else before it finishes a tile.
struct TileRounds {
  ir::ForStmt *loop = nullptr;
  ir::GemmStmt *gemm = nullptr;

  explicit operator bool() const { return gemm != nullptr; }
};

/// Those of a launch whose tiles a warpgroup can multiply alone, each in as many rounds; none: of
/// others.
TileRounds roundsForTurns(ir::Function &function, ir::Launch &launch, PassContext &pass);

/// The calls in which that is worth it where nobody said, as the launcher finds out; null: it is in
/// none.
ir::Expr gainsByTurns(ir::Function &function, ir::Launch &launch, const TileRounds &rounds);

} // namespace tlc::passes
