// Rows that tensor maps cannot load, copied to where they can.
//
//   launch main_unaligned grid(g0, g1) {
//     … copy %A[%by * 128 : +128, %k * 64 : +64] -> %A_s … gemm …
//   }
//     =>
//   workspace %A_rows: f16[%M, (%K + 63) // 64 * 64]
//   constant computed %packed = rows anywhere, loaded often, and the caller gave enough workspace
//   launch main_pack_A grid(%packed ? … : 0) { copy %A[…] -> %A_rows[…] }
//   launch main_packed grid(%packed ? g0 : 0, g1) {
//     … copy %A_rows[%by * 128 : +128, %k * 64 : +64] -> %A_s … gemm …
//   }
//   launch main_unaligned grid(%packed ? 0 : g0, g1) { as it was }
//
// Tensor maps want rows and columns at multiples of 16 bytes (a column between them is an illegal
// instruction), so rows of, say, 4097 halves come by instructions of 2 bytes, and a product of
// 4096^3 takes three times as long. Copied once, their elements are loaded as often as tiles want
// them at full speed: rows begin at lines of the cache, and what is behind their ends is zero.
// Workspace is the caller's: one who gives none, or less than NAME_workspace_bytes says, gets the
// launches that do without.
#pragma once

#include "ir/Function.h"
#include "passes/Schedule.h"
#include "target/Target.h"

#include <memory>
#include <string>
#include <vector>

namespace tlc::passes {

/// The launches that copy rows, and the condition under which they and the one that reads what they
/// copied are the ones to start: a constant of the function.
struct PackedRows {
  ir::Expr condition;
  std::vector<std::unique_ptr<ir::Launch>> copies;
  std::vector<std::pair<ir::Buffer *, ir::Buffer *>> tensors; ///< and their copies
};

/// Plans the copies for a launch of which some tensors' rows may begin anywhere, unless `aligned`
/// holds (null: never); where `half` (null: nowhere) does, threads load them at half of the speed.
/// Without condition where no tensor can be copied so; then the function is left as it is.
PackedRows packRows(ir::Function &function, const ir::Launch &launch,
                    const std::vector<ir::Buffer *> &unaligned, ir::Expr aligned, ir::Expr half);

/// The tensors whose copies a launch reads, in the order of its statements.
std::vector<const ir::Buffer *> packedTensors(const ir::Launch &launch);

} // namespace tlc::passes
