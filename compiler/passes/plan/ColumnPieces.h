// What follows a loop of products, done for some columns of their tile at a time.
//
//   copy %C_l -> %C[%by * 128 : +128, %bx * 64 : +64]
//     =>                                                     columns 8 to 15
//   alloc %C_l_p: fragment f32[128, 8]
//   copy %C_l[0 : +128, 8 : +8] -> %C_l_p
//   copy %C_l_p -> %C[%by * 128 : +128, %bx * 64 + 8 : +8]
#pragma once

#include "ir/Builder.h"

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace tlc::passes {

/// The statements of a launch behind one of its loops, which use the tile of sums that the loop
/// leaves; with loads of fragments in front of the loop that only those use.
class ColumnPieces {
public:
  /// `loop`: its number among the statements of the launch.
  ColumnPieces(ir::Launch &launch, std::size_t loop, ir::Buffer &sums);

  /// Whether every statement does the same to each column: copies of whole tiles or rows, fills of
  /// them, and T.Parallel over a tile's elements; and none leaves in a tensor what another column
  /// needs, which may be another block's.
  bool possible() const { return fine; }
  /// Whether pieces do what the statement does, each for its columns.
  bool covers(const ir::Stmt &stmt) const { return members.count(&stmt) > 0; }
  /// Appends what is done to columns [column, column + width), with names of its own.
  void add(ir::Builder &b, std::int64_t column, std::int64_t width) const;

private:
  void consider(ir::Buffer &tile, std::size_t loop);
  bool isPieceOf(const ir::Buffer &tile) const { return tiles.count(&tile) > 0; }
  bool hasShape(const std::optional<std::vector<std::int64_t>> &extents) const;
  bool fits(const ir::Stmt &stmt) const;
  bool fits(const ir::Region &region) const;
  bool fits(const ir::MapStmt &map) const;
  bool passesOn() const;
  void narrow(ir::Stmt &stmt, std::int64_t column, std::int64_t width) const;

  ir::Launch &launch;
  ir::Buffer &sums;
  std::vector<std::int64_t> shape;
  /// `sums`, and tiles of its shape, or of one of its rows, that nothing else uses.
  std::unordered_set<const ir::Buffer *> tiles;
  std::vector<ir::Buffer *> order;              ///< of them, without `sums`
  std::unordered_set<const ir::Stmt *> members; ///< done in pieces, allocations of tiles included
  bool fine = false;
};

} // namespace tlc::passes
