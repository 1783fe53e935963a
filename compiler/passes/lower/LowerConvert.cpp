// lower-convert: conversions between fragment layouts become register moves, shuffles or a trip
// through shared memory.
//
//   convert %S -> %P          (plan: shuffle)
//     =>
//   let %offer = tid % 4 < 2 ? %S[0] : %S[2] ; call shfl(%offer, …) -> %got ; %P[…] = %got
//
// The plan was made by infer-layouts; see layout/Conversion.h for what its rounds mean. Barriers
// around the trip through shared memory are insert-sync's affair.
//
// First of the lowerings: converts define fragments that the others use.
#include "passes/Pass.h"
#include "passes/lower/LowerRole.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Shape.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

#include <algorithm>
#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

class ConvertLowering {
public:
  ConvertLowering(const ConvertStmt &s, Builder &b, const RoleThreads &threads)
      : s(s), b(b), context(b.context()), threads(threads) {}

  void run() {
    switch (s.plan.kind) {
    case ConversionKind::None:
    case ConversionKind::Registers:
      return rename();
    case ConversionKind::Shuffle:
      return shuffle(*s.plan.shuffle);
    case ConversionKind::Shared:
      return throughShared(*s.plan.shared);
    }
  }

private:
  const ConvertStmt &s;
  Builder &b;
  Context &context;
  const RoleThreads &threads;

  Expr read(Index reg) { return b.load("x", registerElement(*s.source, context.int32(reg))); }

  void rename() {
    for (std::size_t r = 0; r < s.plan.registers.size(); ++r)
      b.store(registerElement(*s.target, context.int32(static_cast<Index>(r))),
              read(s.plan.registers[r]));
  }

  /// Values of a map over (round, thread) in one round, by value: the threads that have it, as a
  /// condition.
  std::vector<Index> valuesIn(const Layout &map, Index round) const {
    std::vector<Index> values;
    for (Index t = 0; t < threads.count; ++t) {
      Index v = map({round, t})[0];
      if (std::find(values.begin(), values.end(), v) == values.end())
        values.push_back(v);
    }
    return values;
  }

  Expr valueAt(const Layout &map, Index round) {
    return layoutExpr(map, map.outputs[0], std::vector<Expr>{context.int32(round), threads.index});
  }

  /// The register that the thread offers in a round; lanes choose among few.
  Expr offered(const ShufflePlan &plan, Index round) {
    std::vector<Index> choices = valuesIn(plan.provide, round);
    Expr which = choices.size() > 1 ? b.let("which", valueAt(plan.provide, round)) : Expr();
    Expr value = read(choices[0]);
    for (std::size_t i = 1; i < choices.size(); ++i)
      value = context.select(equals(which, choices[i]), read(choices[i]), value);
    return value;
  }

  void shuffle(const ShufflePlan &plan) {
    std::vector<Expr> got;
    for (Index k = 0; k < plan.rounds; ++k) {
      Expr value = offered(plan, k);
      bool stays = true;
      for (Index t = 0; t < threads.count && stays; ++t)
        stays = plan.source({k, t})[0] == t;
      if (stays) {
        got.push_back(b.let("got", value));
        continue;
      }
      Expr offer = b.let("offer", value);
      auto &call = b.add<CallStmt>();
      call.callee = "shfl";
      call.args = {offer, floorMod(valueAt(plan.source, k), 32)};
      call.result = context.var("got", s.source->dtype);
      call.collective = Collective::Warp;
      got.push_back(call.result);
    }
    // A destination register gets the round whose number the lane's Q sends there.
    for (Index r = 0; r < plan.receive.outputs[0].size; ++r) {
      Expr value;
      for (Index k = 0; k < plan.rounds; ++k) {
        std::vector<Index> places = valuesIn(plan.receive, k);
        if (std::find(places.begin(), places.end(), r) == places.end())
          continue;
        Expr mine = got[static_cast<std::size_t>(k)];
        value = value ? context.select(equals(valueAt(plan.receive, k), r), mine, value) : mine;
      }
      TLC_CHECK(bool(value), "a register that no shuffle fills");
      b.store(registerElement(*s.target, context.int32(r)), value);
    }
  }

  /// `count` elements at a time between registers and the scratch tile, where a guard holds.
  void access(const Layout &memory, const Buffer &fragment, Buffer &scratch, Index width,
              bool store) {
    const Layout &layout = *fragment.layout;
    auto shape = *fragment.constantShape();
    Layout extended = memory;
    for (const OutputAxis &o : layout.outputs)
      extended = extendInput(extended, o.name, o.size);
    auto offsets = compose(extended, layout);
    TLC_CHECK(offsets.has_value(), "a scratch tile that does not fit its fragment");
    Index registers = layout.input("reg").size();
    unsigned bits = fragment.dtype.bits() * fragment.dtype.lanes;
    width = orderedWidth(*offsets, width);
    if (static_cast<Index>(bits) * width < 32 || registers % width)
      width = 1;
    // A vector may straddle the edge of the tile only if vectors divide the tile's rows.
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (layout.outputs[d].size > shape[d] && shape[d] % width)
        width = 1;
    b.unrolled("r", registers / width, [&](Expr r) {
      Expr reg = r * width;
      Expr guard = insideTile(layout, shape, reg, threads.index);
      if (store)
        guard = logicalAnd(guard, firstHolder(layout, threads.index));
      Element inside{
          &scratch, {offsetExpr(*offsets, std::vector<Expr>{reg, threads.index})}, {}, true};
      Element own = registerElement(const_cast<Buffer &>(fragment), reg);
      if (width == 1 && store) {
        // Nothing has set a register whose place the tile does not have.
        b.store(inside, b.load("x", own, guard), guard);
      } else if (width == 1) {
        b.store(own, b.load("x", inside, guard));
      } else {
        auto &move = b.add<MoveStmt>();
        move.target = store ? inside : own;
        move.source = store ? own : inside;
        move.count = width;
        move.predicate = guard;
        if (guard && !store) // products of threads use whole register tiles
          move.fill = context.zero(fragment.dtype);
      }
    });
  }

  void throughShared(const SharedPlan &plan) {
    Index size = plan.memory.outputs.at(0).size;
    Buffer &scratch = b.function.addBuffer(s.source->name + "_x", s.source->dtype, Scope::Shared,
                                           {context.int32(size)}, s.range);
    scratch.layout = Layout::rowMajor({{"d0", size}});
    scratch.alignment = 128;
    b.alloc(scratch);
    access(plan.memory, *s.source, scratch, plan.storeVector, true);
    access(plan.memory, *s.target, scratch, plan.loadVector, false);
  }
};

} // namespace

void lowerConvert(Function &function, PassContext &context) {
  lowerInRoles(function, context.target, [](StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
    auto *convert = dynCast<ConvertStmt>(stmt.get());
    if (convert)
      ConvertLowering(*convert, b, threads).run();
    return convert != nullptr;
  });
}

} // namespace tlc::passes
