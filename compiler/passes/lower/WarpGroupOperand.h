// Operands of warpgroup products in shared memory: what descriptors can say of a region.
#pragma once

#include "ir/Function.h"
#include "passes/plan/GemmLayouts.h"

#include <optional>

namespace tlc::passes {

/// A region as descriptors walk through it. Its buffer lies in panels (layout/SharedTile.h).
/// Positions are counted in units of 16 bytes, as the address in a descriptor is.
class PanelOperand {
public:
  /// None if no descriptor reaches all of it: another layout, a start between the rows at which a
  /// swizzle begins anew, elements of other than 16 bits that are contiguous along m or n.
  /// `kFirst`: the tile is (k, rows), so contiguous along m or n. `kStep`: of the instruction.
  static std::optional<PanelOperand> of(const ir::Region &region, bool kFirst, Index kStep);

  Index swizzleBytes() const { return swizzle; }
  /// The descriptor's fields.
  Index leadingBytes() const;
  Index strideBytes() const;

  /// Whether `rows` rows of m or n (for each of several warpgroups, or instructions) begin where a
  /// descriptor can begin.
  bool splitsInto(Index rows) const { return kContiguous || rows * elementBytes % rowBytes == 0; }
  /// First element and number of elements of the matrix, of all those that leading indices choose
  /// from, that the region is in.
  std::pair<ir::Expr, Index> matrix(ir::Context &context) const;
  /// Where the region begins in its version of the buffer.
  ir::Expr origin(ir::Context &context) const;
  /// How far `index * rows` rows of m or n are from the origin.
  ir::Expr along(ir::Expr index, Index rows) const;
  /// How far step `k` along k is.
  ir::Expr step(ir::Expr k) const;

private:
  const ir::Region *region = nullptr;
  bool kContiguous = true;
  Index kStep = 0;
  Index swizzle = 0;
  Index elementBytes = 2;
  Index rowBytes = 16;   ///< of a panel
  Index panelBytes = 0;  ///< all rows of it
  Index matrixBytes = 0; ///< all panels: what a leading index steps over

  ir::Expr leading(ir::Context &context) const;
  ir::Expr acrossPanels(ir::Expr index, Index units) const;
};

/// The swizzle that a shared buffer has, or gets, as an operand of warpgroup products or of tensor
/// copies: that of the user's layout, else the widest of its shape. None: it cannot be one.
std::optional<Index> panelsOf(const ir::Buffer &buffer);
/// The alignment in bytes at which the swizzle begins anew.
Index panelAlignment(Index swizzleBytes);

/// Whether warpgroup instructions can do the gemm with this grid: its shape, where its operands lie
/// and how.
bool warpGroupFits(const ir::Function &function, const ir::GemmStmt &gemm, const Atom &atom,
                   const GemmShape &shape, Index warpsM, Index warpsN);

} // namespace tlc::passes
