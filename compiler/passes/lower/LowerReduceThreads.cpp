// Folding over threads. See LowerReduceThreads.h.
#include "passes/lower/LowerReduceThreads.h"

#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

#include <bit>

namespace tlc::passes {

using namespace ir;

ThreadFold::ThreadFold(Builder &b, const Folder &folder, const RoleThreads &threads,
                       const Target &target)
    : b(b), context(b.context()), folder(folder), threads(threads), target(target) {}

void ThreadFold::over(Index place, Index radix) {
  // Bits below the warp's size can be exchanged by shuffles if no odd digit stands below them in
  // the warp.
  while (radix % 2 == 0 && std::has_single_bit(static_cast<DigitSet>(place)) &&
         place < target.limits.warp) {
    lanes.push_back({place, 2});
    place *= 2;
    radix /= 2;
  }
  if (radix > 1)
    beyond.push_back({place, radix});
}

void ThreadFold::run(Buffer &acc, Index results, const Layout &held, Expr writer,
                     const std::string &name) {
  butterflies(acc, results);
  if (!beyond.empty())
    exchange(acc, results, held, writer, name);
}

void ThreadFold::butterflies(Buffer &acc, Index results) {
  for (const Digit &lane : lanes)
    b.unrolled("r", results, [&](Expr r) {
      Expr mine = b.load("s", registerElement(acc, r));
      auto &call = b.add<CallStmt>();
      call.callee = "shfl_xor";
      call.args = {mine, context.int32(lane.place)};
      call.result = context.var("other", folder.dtype());
      call.collective = Collective::Warp;
      b.store(registerElement(acc, r), folder.combine(mine, call.result));
    });
}

Expr ThreadFold::digitOf(const Digit &d) const {
  return floorMod(floorDiv(threads.index, d.place), d.radix);
}

namespace {

/// Position of a result in the exchange, by the result's number.
Layout exchangePlace(const Layout &held) {
  Layout result = dropFree(held, "reg");
  Sizes sizes;
  for (const OutputAxis &o : result.outputs)
    sizes.emplace_back(o.name, o.size);
  if (sizes.empty())
    return Layout{result.inputs, {{"offset", 1, 0, {}}}};
  auto place = compose(Layout::rowMajor(sizes), result);
  TLC_CHECK(place.has_value(), "results of a reduction have no place");
  return *place;
}

} // namespace

void ThreadFold::exchange(Buffer &acc, Index results, const Layout &held, Expr writer,
                          const std::string &name) {
  Layout place = exchangePlace(held);
  Index size = place.outputs[0].size, parts = 1;
  for (const Digit &d : beyond)
    parts *= d.radix;
  Buffer &scratch = b.function.addBuffer(name + "_x", folder.dtype(), Scope::Shared,
                                         {context.int32(size * parts)}, b.range);
  scratch.layout = Layout::rowMajor({{"d0", size * parts}});
  b.alloc(scratch);
  // One of the lanes that agree writes.
  Expr guard = writer, part = context.int32(0);
  for (const Digit &d : lanes)
    guard = logicalAnd(guard, equals(digitOf(d), 0));
  Index unit = 1;
  for (const Digit &d : beyond) {
    part = part + digitOf(d) * unit;
    unit *= d.radix;
  }
  auto at = [&](Expr r, Expr which) {
    Expr offset = offsetExpr(place, std::vector<Expr>{r, threads.index}) + which * size;
    return Element{&scratch, {offset}, {}, true};
  };
  // Everybody writes other elements in each round, which the number of the op tells insert-sync.
  std::uint32_t op = ++b.function.lastOp;
  b.unrolled("r", results, [&](Expr r) {
    b.store(at(r, part), b.load("s", registerElement(acc, r)), guard).op = op;
  });
  b.block().back()->op = op;
  b.unrolled("r", results, [&](Expr r) {
    Element mine = registerElement(acc, r);
    Expr total;
    if (parts <= 8) {
      for (Index p = 0; p < parts; ++p) {
        Expr x = b.load("x", at(r, context.int32(p)));
        total = total ? folder.combine(total, x) : x;
      }
      b.store(mine, total);
      return;
    }
    b.store(mine, folder.neutral());
    b.loop("p", context.int32(0), context.int32(parts), ForKind::Serial, [&](Expr p) {
      Expr old = b.load("s", mine);
      b.store(mine, folder.combine(old, b.load("x", at(r, p))));
    });
  });
}

} // namespace tlc::passes
