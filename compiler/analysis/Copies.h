// What a copy between global and shared memory allows: the widest aligned pieces, and whether the
// target's asynchronous copy can do it. Shared by the planner, the pipeliner and the lowering.
#pragma once

#include "analysis/Ranges.h"
#include "target/Target.h"

#include <optional>
#include <string>
#include <vector>

namespace tlc::analysis {

/// Bytes (a power of two, at most `limit`) of the widest pieces along the last dim of the tile such
/// that on both sides every piece is contiguous and aligned, and lies wholly inside or wholly
/// outside of the global tensor. At least one element; less than a byte counts as 0. Base pointers
/// are taken to be aligned to `limit`; swizzles of the shared side are the lowering's affair.
std::int64_t copyPieceBytes(const ir::CopyStmt &copy, const Ranges &ranges,
                            std::int64_t limit = 16);

/// Bits of an element as such pieces count it: of the wider of the two where dtypes differ. Those
/// in registers don't count, which are converted one by one.
std::int64_t copyPieceBits(const ir::CopyStmt &copy);

/// Whether the copy can be started with the target's asynchronous copy from global to shared memory
/// (4, 8 or 16 bytes a piece, no conversion, zero where out of range).
bool canCopyAsync(const ir::CopyStmt &copy, const Target &target, const Ranges &ranges);

/// Whether a statement copies from global to shared memory.
bool isSharedLoad(const ir::Stmt &stmt);
/// A copy of a fragment to global memory, or an addition of it to what is there.
struct FragmentStore {
  ir::Stmt *stmt = nullptr;
  const ir::Region *source = nullptr, *target = nullptr;
  bool adds = false;
  bool scheduled = false; ///< the program says which thread does what
};
/// The statement as one; none: it is something else.
std::optional<FragmentStore> asFragmentStore(ir::Stmt &stmt);
/// All of them, in program order: the order of LaunchPlan::stores.
std::vector<FragmentStore> fragmentStores(ir::Launch &launch);

/// Elements between neighbours along dim `d` of a global tensor.
ir::Expr strideOf(const ir::Buffer &buffer, unsigned d);

// ---- Copies of boxes by tensor maps (TMA)

/// Why the copy cannot be done by the target's tensor-map hardware; "" if it can: global to shared
/// or back, one dtype, zeros where out of range, rows of the tensor proven to be 16-byte multiples
/// apart (a variant for aligned rows has that as an assumption), and a tile that boxes fit. Base
/// pointers are taken to have the alignment that their buffer says.
std::string whyNotTma(const ir::CopyStmt &copy, const Target &target, const Ranges &ranges);
/// The same for additions of a tile to a tensor.
std::string whyNotTma(const ir::AtomicTileStmt &atomic, const Target &target, const Ranges &ranges);
bool canUseTma(const ir::CopyStmt &copy, const Target &target, const Ranges &ranges);

/// Whether a copy is to be done by tensor maps: a load with a barrier to complete on, or a store. A
/// load without a barrier only has the wish.
bool isTmaCopy(const ir::CopyStmt &copy);

/// How a tile that tensor maps copy lies in shared memory.
struct TileForm {
  std::int64_t panelBytes = 0;   ///< width of its panels; 0: rows one after another
  std::int64_t swizzleBytes = 0; ///< 0: none
};
/// The form of a tile whose layout is decided; none if it is another one.
std::optional<TileForm> tileForm(const ir::Buffer &tile);

/// How a tile is cut into boxes, each a run of shared memory; by dims of the tensor.
struct TensorBoxes {
  std::vector<std::int64_t> box;   ///< elements
  std::vector<std::int64_t> count; ///< of boxes
  std::vector<unsigned> sharedDim; ///< the dim of the shared buffer that it runs along
};
/// None if there is no such cut of a tile that lies in this form.
std::optional<TensorBoxes> tensorBoxes(const ir::Region &global, const ir::Region &shared,
                                       TileForm form, const Ranges &ranges);

} // namespace tlc::analysis
