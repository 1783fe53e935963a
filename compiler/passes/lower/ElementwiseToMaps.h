// Copies, fills and tile atomics as maps over their tile: one lowering for everything elementwise.
//
//   copy %A[by*128 : +128, ko*32 : +32] -> %A_s    schedule L
//     =>
//   map (i, j) in (128, 32) schedule L { move %A_s[i, j] <- %A[by*128 + i, ko*32 + j] }
//
// Memory to memory of one dtype is a move, so that it may stay asynchronous; everything else is a
// load, a cast and a store.
#pragma once

#include "ir/Builder.h"
#include "ir/Function.h"

namespace tlc::passes {

ir::StmtPtr mapOfCopy(ir::Function &function, const ir::CopyStmt &copy);
ir::StmtPtr mapOfFill(ir::Function &function, const ir::FillStmt &fill);
ir::StmtPtr mapOfAtomic(ir::Function &function, const ir::AtomicTileStmt &atomic);

} // namespace tlc::passes
