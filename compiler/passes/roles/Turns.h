// Consumers that take tiles in turns: one warpgroup multiplies while the other finishes a tile.
//
//   alloc %turns: barrier[2]
//   role 0 : +128 teams(2) team(%team) {
//     for %round in %team .. rounds step 2 {
//       mbar wait %turns[%team]
//       for %k in … { mbar wait %full[%slot] … } ; mbar arrive %turns[1 - %team]
//       async wgmma wait(0) ; the last tile is given back
//       %slot and %phase go on by the rounds of the other's tile
//       … what finishes the tile
//
// One text for both: a kernel that has two does not fit into the instruction cache where finishing
// a tile is long, as it is where turns gain.
//
// Both read the same rings in one order. A barrier's phase bit does not tell a tile's use of a slot
// from the next but one, so nobody waits for tiles before the other has seen all of its own.
#pragma once

#include "passes/roles/Rings.h"

namespace tlc::passes {

class Turns {
public:
  Turns(ir::Function &function, ir::Launch &launch, const Target &target, Rings &rings);

  /// Appends the barriers' allocation and first state, which thread 0 sees to.
  void initialise(ir::Block &out);
  /// Appends what a consumer begins with: the second one leaves the first tile out, which takes
  /// `trips` rounds.
  void begin(ir::Builder &b, ir::Expr trips);
  /// Around the rounds of a tile.
  void wait(ir::Builder &b);
  void pass(ir::Builder &b);
  /// Behind a tile, when its products are done: gives back what is held, and leaves out the
  /// other's.
  void finish(ir::Builder &b, ir::Expr trips);
  /// Every other round of the walk over tiles.
  void takeEveryOther(ir::Block &body);
  /// Which of the two a consumer is: the variable of the role's teams.
  ir::Expr team() const { return number; }

private:
  void leaveOut(ir::Builder &b, ir::Expr trips);

  ir::Function &function;
  ir::Context &context;
  ir::Launch &launch;
  const Target &target;
  Rings &rings;
  ir::Expr number; ///< variable: 0 or 1
  ir::Buffer *turns = nullptr, *phase = nullptr;
};

} // namespace tlc::passes
