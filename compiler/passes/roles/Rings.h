// Tiles that some threads of a block fill while others use them: versions in turn, with a barrier
// for "filled" and one for "free" each.
#pragma once

#include "ir/Builder.h"
#include "passes/roles/Channels.h"

#include <deque>
#include <functional>

namespace tlc::passes {

/// The barriers of a channel, and who stands where in its ring.
struct Ring {
  const Channel *channel = nullptr;
  ir::Buffer *full = nullptr;
  ir::Buffer *empty = nullptr; ///< null: filled once, never reused
  ir::Expr filling, freeing;   ///< arrivals that complete a phase of either
  ir::Expr blocks;        ///< whose consumers free a tile: all of the cluster if one loads for all
  std::int64_t parts = 1; ///< of the tile, by columns, each with a barrier for "filled" of its own
  /// Of the side being built; null where constant.
  ir::Buffer *slot = nullptr, *phase = nullptr;
  /// Consumers that multiply behind their wait: the slot not yet given back.
  ir::Buffer *held = nullptr;
};

/// One step of a ring: which version, and the phase bit of its barriers.
struct Position {
  ir::Expr slot, phase; ///< int32
};

/// The rings of one launch. Each side that is built has its own copies of their positions.
class Rings {
public:
  Rings(ir::Function &function, ir::Launch &launch, const Target &target)
      : function(function), context(*function.context), launch(launch), target(target) {}

  /// A new ring; gives the channel's tiles their versions. A tile is free when `warps` of each
  /// block that reads it are done.
  Ring &make(const Channel &channel, ir::Expr filling, std::int64_t warps, std::int64_t parts = 1);
  auto begin() { return rings.begin(); }
  auto end() { return rings.end(); }
  /// The ring that a copy of the channels fills; null: none.
  Ring *filledBy(const ir::Stmt &stmt);

  /// Tiles of rings belong to all sides: their allocations go in front.
  void hoistTiles(ir::Block &out);
  /// Makes the barriers ready, and lets all threads know.
  void initialise(ir::Block &out);
  /// A side's own positions in the rings that it takes part in, before their first use, and `held`
  /// in those that want it.
  void beginSide(ir::Builder &b, const std::function<bool(const Channel &)> &takesPart,
                 const std::function<bool(const Channel &)> &holds);

  Position position(ir::Builder &b, const Ring &ring) const;
  void advance(ir::Builder &b, const Ring &ring, Position at) const;

  /// The barrier that tells that a part of a tile is there.
  ir::Element full(const Ring &ring, Position at, std::int64_t part = 0) const;
  /// Waits for all parts, or for one.
  void waitFull(ir::Builder &b, const Ring &ring, Position at) const;
  void waitPart(ir::Builder &b, const Ring &ring, Position at, std::int64_t part) const;
  void waitEmpty(ir::Builder &b, const Ring &ring, Position at) const;
  /// One lane of each warp arrives, when all of it is done.
  void announce(ir::Builder &b, const Ring &ring, ir::Expr slot) const;
  /// The same at the barrier of free tiles; one lane for each block that waits for it.
  void giveBack(ir::Builder &b, const Ring &ring, ir::Expr slot, ir::Expr condition = {}) const;
  /// Of consumers that multiply behind their wait: the slot that was held, if any, and `slot` is
  /// from now on (-1: none).
  void giveBackHeld(ir::Builder &b, const Ring &ring, ir::Expr slot) const;
  ir::MbarStmt &mbar(ir::Builder &b, ir::MbarOp op, ir::Element barrier, ir::Expr value = {}) const;

  /// One of the `parts` of a region, along its last dimension.
  static ir::Region partOf(const ir::Region &region, std::int64_t part, std::int64_t parts);

  ir::Expr version(const Ring &ring, Position at) const { return ring.slot ? at.slot : ir::Expr(); }
  /// Uses of the ring's tiles in a statement mean the version at `at`.
  void useVersion(ir::Stmt &stmt, const Ring &ring, Position at) const;

private:
  ir::Expr blocksOf(const Channel &channel) const;
  ir::Buffer *variable(ir::Builder &b, const std::string &name, std::int64_t initial) const;

  ir::Function &function;
  ir::Context &context;
  ir::Launch &launch;
  const Target &target;
  std::deque<Ring> rings; ///< which stay where they are
};

/// Whether a statement is nothing but waits, arrivals and ring positions, as rings make them: what
/// may move with the product that uses a tile.
bool isHandover(const ir::Stmt &stmt);

} // namespace tlc::passes
