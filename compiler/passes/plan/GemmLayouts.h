// What a gemm's atom and grid say about its operands: shapes, fragment layouts, accesses of shared
// memory.
#pragma once

#include "ir/Stmt.h"
#include "layout/Analysis.h"
#include "target/Atoms.h"

#include <optional>

namespace tlc::passes {

/// The problem of one gemm: c[m, n] += a[m, k] b[k, n].
struct GemmShape {
  Index m = 0, n = 0, k = 0;
};
/// From the regions; none if an extent is not constant.
std::optional<GemmShape> gemmShape(const ir::GemmStmt &gemm);

/// One side of a product: A's rows are m, B's are n.
enum class Side : std::uint8_t { A, B };

/// How often atoms are repeated, per warp (or, for scalar atoms, per thread). Rows and columns
/// round up: a grid may cover more than the tile.
struct GemmGrid {
  Index perM = 1, perN = 1, perK = 1; ///< atoms of one warp along m and n; steps along k
  Index warpsM = 1, warpsN = 1;
  Index replicas = 1; ///< threads / (atom threads * warps): all do the same
};
GemmGrid gemmGrid(const Atom &atom, const GemmShape &shape, Index warpsM, Index warpsN,
                  Index threads);

/// (reg, thread) -> (d0 = m, d1 = n): registers of an atom, then atoms along n, then along m.
Layout accumulatorLayout(const Atom &atom, const GemmGrid &grid);
/// (reg, thread) -> (row, k) as "d0", "d1"; for all of k: registers of an atom, then along k, then
/// along rows.
Layout operandLayout(const Atom &atom, const GemmGrid &grid, Side side);
/// As above for one step along k: registers of an atom, then along rows.
Layout operandStepLayout(const Atom &atom, const GemmGrid &grid, Side side);
/// The same layouts in the coordinates of the operand's tile, (rows, k) or (k, rows).
Layout inTileOrder(const Layout &operand, bool kFirst);
/// Whether the tile of an operand has k as its first dim.
bool kFirst(const ir::GemmStmt &gemm, Side side);

/// How one step's operand is loaded by ldmatrix: groups of `matrices` (4, 2 or 1) 8x8 matrices.
struct MatrixLoad {
  Index matrices = 4;
  bool transposed = false;
  /// (group, thread) -> (row, k): the start of the 16 bytes whose address the thread supplies.
  /// Groups are in the order of the step's registers.
  Layout start;
  Index groups = 1;
  Index registersPerGroup = 0; ///< elements that a thread receives
};
/// How registers, (reg, thread) -> (d0, d1), are moved by ldmatrix or stmatrix; `transposed`: the
/// 16 bytes of an address run along d0. None if they do not lie in 8x8 matrices.
std::optional<MatrixLoad> matrixMoves(const Layout &registers, unsigned bits, bool transposed);
/// None where ldmatrix cannot do it: another width than 16 bits against the grain, or a scalar
/// atom.
std::optional<MatrixLoad> matrixLoad(const Atom &atom, const GemmGrid &grid, Side side,
                                     bool rowsContiguous);
/// The shared memory access that all steps make, as (reg, thread) -> tile coordinates (d0, d1), 16
/// bytes per register run.
std::optional<Layout> matrixAccess(const Atom &atom, const GemmGrid &grid, Side side,
                                   bool rowsContiguous, bool kFirst);

} // namespace tlc::passes
