#include "passes/roles/Turns.h"

#include "ir/Walk.h"
#include "passes/Rewrite.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

Turns::Turns(Function &function, Launch &launch, const Target &target, Rings &rings)
    : function(function), context(*function.context), launch(launch), target(target), rings(rings),
      number(context.var("team", Scalar::Int32)) {}

void Turns::initialise(Block &out) {
  Builder b(function, out);
  b.range = launch.range;
  turns = &function.addBuffer("turns", DType(Scalar::UInt64), Scope::Barrier, {context.int32(2)},
                              launch.range);
  b.alloc(*turns);
  const std::int64_t warps = launch.threadCount() / target.limits.warp;
  b.when(equals(launch.tid, 0), [&] {
    for (std::int64_t i : {0, 1})
      rings.mbar(b, MbarOp::Init, {turns, {context.int32(i)}, {}}, context.int32(warps));
  });
}

void Turns::begin(Builder &b, Expr trips) {
  phase = &function.addBuffer("turn", DType(Scalar::Int32), Scope::Local, {});
  // The first one finds its turn come, as producers find rings free.
  b.alloc(*phase).init = context.int32(1) - number;
  b.when(equals(number, 1), [&] { leaveOut(b, trips); });
}

void Turns::wait(Builder &b) {
  Expr now = b.load("turn", *phase, {});
  rings.mbar(b, MbarOp::Wait, {turns, {number}, {}}, now);
  b.store(*phase, {}, context.int32(1) - now);
}

void Turns::pass(Builder &b) {
  b.add<BarrierStmt>().scope = BarrierScope::Warp;
  b.when(equals(floorMod(launch.tid, target.limits.warp), 0), [&] {
    rings.mbar(b, MbarOp::Arrive, {turns, {context.int32(1) - number}, {}});
  });
}

void Turns::finish(Builder &b, Expr trips) {
  for (const Ring &ring : rings)
    if (ring.held)
      rings.giveBackHeld(b, ring, context.int32(-1));
  leaveOut(b, trips);
}

void Turns::leaveOut(Builder &b, Expr trips) {
  for (const Ring &ring : rings) {
    if (!ring.phase)
      continue;
    const Position at = rings.position(b, ring);
    const Expr next = at.slot + context.cast(DType(Scalar::Int32), trips);
    const std::int64_t stages = ring.channel->stages;
    b.store(*ring.phase, {}, floorMod(at.phase + floorDiv(next, stages), 2));
    if (ring.slot)
      b.store(*ring.slot, {}, floorMod(next, stages));
  }
}

void Turns::takeEveryOther(Block &body) {
  ForStmt *walkOfTiles = nullptr;
  for (StmtPtr &stmt : body)
    if (auto *loop = dynCast<ForStmt>(stmt.get())) {
      TLC_CHECK(!walkOfTiles, "a launch that walks over tiles does nothing else");
      walkOfTiles = loop;
    }
  TLC_CHECK(walkOfTiles && walkOfTiles->lo.isConstant(0), "no walk over tiles");
  walkOfTiles->lo = number;
  walkOfTiles->step = context.int32(2);
}

} // namespace tlc::passes
