// lower-reduce: reductions become register trees, shuffles and exchanges.
//
//   reduce max %S[64, 64] -> %m[64] axis 1           S: reg(2:d1 2:d0*8 8:d1*8) thread(4:d1*2 8:d0
//   4:d0*16)
//     =>
//   for %g in 0 .. 2 unroll { %acc[%g] = %S[%g * 2] ; … }             what a thread holds
//   for %r in 1 .. 8 unroll { for %g … { %acc[%g] = max(%acc[%g], %S[…]) ; … } }
//   %acc[i] = max(%acc[i], shfl_xor(%acc[i], 1)) ; … 2               lanes along the axis
//   %m[i] = %acc[i]
//
// Registers along the axis are folded in a loop with up to four partial results, which begin with
// an element each (eight instructions less in a round of attention than neutral values), lanes by
// butterflies over exactly the lane bits that lie on the axis, threads beyond a warp (or of odd
// number) by an exchange through shared memory. Copies of an element are folded by their own
// holders and agree; they never count twice. Elements outside the tile enter as the neutral value.
// Narrow floats are summed in float32 and rounded once. Sums of a loop stay in parts until it ends
// (DeferSums.h).
#include "passes/Pass.h"
#include "passes/infer/InferGraph.h"
#include "passes/infer/Registers.h"
#include "passes/lower/DeferSums.h"
#include "passes/lower/LineLoops.h"
#include "passes/lower/LowerReduceOps.h"
#include "passes/lower/LowerReduceThreads.h"
#include "passes/lower/LowerReducer.h"
#include "passes/lower/LowerRole.h"
#include "passes/lower/Physical.h"

#include "layout/Algebra.h"
#include "layout/Fit.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>
#include <bit>

namespace tlc::passes {

using namespace ir;

namespace {

class ReduceLowering {
public:
  /// `parts`: what other threads have of a result stays with them.
  ReduceLowering(ReduceStmt &s, Builder &b, const RoleThreads &threads, const Target &target,
                 bool parts)
      : s(s), b(b), context(b.context()), threads(threads), target(target), parts(parts),
        folder(context, s.op, s.nanPropagate, s.source.buffer->dtype),
        fold(b, folder, threads, target) {}

  void run() {
    if (threads.count == 1)
      return nestedLoops();
    describe();
    sortThreadDigits();
    foldRegisters();
    // One of the copies of each point takes part in an exchange.
    if (!parts)
      fold.run(*acc, results, rest, firstHolder(schedule, threads.index), s.target.buffer->name);
    finish();
  }

private:
  ReduceStmt &s;
  Builder &b;
  Context &context;
  const RoleThreads &threads;
  const Target &target;
  bool parts;
  Folder folder;
  ThreadFold fold;

  TileOp op;
  Layout schedule;                   ///< (reg, thread) -> box
  Layout rest;                       ///< the same without the axis
  RegisterMap source;                ///< registers of the source by the schedule's
  std::vector<Index> group;          ///< result number of each register of the schedule
  Index results = 0;                 ///< of a thread
  std::vector<Index> resultRegister; ///< a register of the schedule that belongs to each result
  Index partials = 1;
  Buffer *acc = nullptr; ///< [partials * results]

  void describe() {
    op.stmt = &s;
    op.threads = threads.count;
    InferenceGraph graph;
    graph.target = &target;
    describeOp(op, graph);
    TLC_CHECK(op.fragments.size() == 2, "a reduction of something else than fragments");
    auto order = scheduleFromHome(op, op.fragments[0], *op.fragments[0].buffer->layout);
    TLC_CHECK(order.has_value(), "the source of a reduction is not laid out");
    schedule = std::move(*order);
    auto map = registerMap(*op.fragments[0].buffer, op.fragments[0].map, schedule);
    TLC_CHECK(map.has_value(), "the source of a reduction is not at home");
    source = std::move(*map);
    rest = schedule;
    rest.outputs.eraseIf([&](const OutputAxis &o) { return o.name == dimName(*op.axis); });
    Layout result = dropFree(rest, "reg");
    results = result.input("reg").size();
    auto groups = heldIn(result, rest);
    TLC_CHECK(groups.has_value(), "results of a reduction that depend on the thread");
    group = groups->registers;
    resultRegister.assign(static_cast<std::size_t>(results), 0);
    for (std::size_t r = group.size(); r-- > 0;)
      resultRegister[static_cast<std::size_t>(group[r])] = static_cast<Index>(r);
  }

  /// Which thread digits lie on the axis.
  void sortThreadDigits() {
    DigitSet onAxis = 0, elsewhere = 0;
    for (const OutputAxis &o : schedule.outputs)
      for (const Term &t : o.terms) {
        TLC_CHECK(std::has_single_bit(t.digits) || o.name != dimName(*op.axis),
                  "a reduction along XORed digits");
        (o.name == dimName(*op.axis) ? onAxis : elsewhere) |= t.digits;
      }
    for (int d = 0; d < schedule.digitCount(); ++d) {
      auto [axis, place] = schedule.place(d);
      if (schedule.inputs[static_cast<std::size_t>(axis)].name != "thread" || !(onAxis >> d & 1) ||
          (elsewhere >> d & 1))
        continue;
      fold.over(place, schedule.radix(d));
    }
  }

  // ---- Registers ----

  Index registers() const { return static_cast<Index>(group.size()); }

  /// Independent partial results that the upper registers can go to.
  Index choosePartials() const {
    for (Index parts : {4, 2}) {
      Index chunk = registers() / parts;
      bool fits = registers() % parts == 0 && registers() / results >= 4 * parts;
      for (Index r = 0; fits && r < registers(); ++r)
        fits = group[static_cast<std::size_t>(r)] == group[static_cast<std::size_t>(r % chunk)];
      if (fits)
        return parts;
    }
    return 1;
  }

  Element accumulator(Expr index) { return registerElement(*acc, index); }
  Element accumulator(Index index) { return accumulator(context.int32(index)); }

  void foldInto(Element at, Expr value) {
    Expr old = b.load("s", at);
    b.store(at, folder.combine(old, value));
  }

  /// What a register of the schedule has to add.
  Expr element(Expr reg) {
    Expr inside = insideTile(schedule, op.box, reg, threads.index);
    Expr outside = inside ? context.cast(s.source.buffer->dtype, folder.neutral()) : Expr();
    return folder.prepare(
        b.load("x", registerElement(*op.fragments[0].buffer, source.at(reg)), inside, outside));
  }

  void foldRegisters() {
    partials = choosePartials();
    acc = &b.function.addBuffer("acc", folder.dtype(), Scope::Local,
                                {context.int32(partials * results)}, s.range);
    b.alloc(*acc);
    const Index chunk = registers() / partials;
    const auto members = membersOfResults(chunk);
    const auto order = source.layout ? inOrder(members, chunk) : std::nullopt;
    auto one = [&](Expr result, Expr reg, bool begins) {
      for (Index part = 0; part < partials; ++part) {
        Element at = accumulator(result + part * results);
        Expr x = element(reg + part * chunk);
        begins ? static_cast<void>(b.store(at, x)) : foldInto(at, x);
      }
    };
    if (!order) {
      for (std::size_t m = 0; m < members[0].size(); ++m)
        for (std::size_t g = 0; g < members.size(); ++g)
          if (m < members[g].size())
            one(context.int32(static_cast<Index>(g)), context.int32(members[g][m]), m == 0);
    } else {
      auto all = [&](Expr m, bool begins) {
        b.unrolled("g", results, [&](Expr g) {
          const Expr place[] = {m, g};
          one(g, layoutExpr(*order, order->outputs[0], place), begins);
        });
      };
      all(context.int32(0), true);
      const auto count = static_cast<Index>(members[0].size());
      if (count > 1)
        b.loop("r", context.int32(1), context.int32(count), ForKind::Unroll,
               [&](Expr m) { all(m, false); });
    }
    for (Index part = partials; part > 1; part /= 2)
      b.unrolled("r", part / 2 * results, [&](Expr r) {
        Expr other = b.load("x", accumulator(r + part / 2 * results));
        foldInto(accumulator(r), other);
      });
  }

  /// Of the first `chunk` registers, those that belong to each result.
  std::vector<std::vector<Index>> membersOfResults(Index chunk) const {
    std::vector<std::vector<Index>> members(static_cast<std::size_t>(results));
    for (Index r = 0; r < chunk; ++r)
      members[static_cast<std::size_t>(group[static_cast<std::size_t>(r)])].push_back(r);
    return members;
  }

  /// (member, result) -> register, where that is a layout.
  std::optional<Layout> inOrder(const std::vector<std::vector<Index>> &members, Index chunk) const {
    const std::size_t count = members[0].size();
    if (std::any_of(members.begin(), members.end(),
                    [&](const auto &mine) { return mine.size() != count; }))
      return std::nullopt;
    auto fitted = tlc::fit(
        {{"member", static_cast<Index>(count)}, {"result", results}}, {{"reg", chunk}},
        [&](const Point &at) {
          return Point{members[static_cast<std::size_t>(at[1])][static_cast<std::size_t>(at[0])]};
        });
    auto *layout = std::get_if<Layout>(&fitted);
    return layout ? std::optional(*layout) : std::nullopt;
  }

  // ---- Result ----

  void finish() {
    FragmentUse &use = op.fragments[1];
    auto to = registerMap(*use.buffer, use.map, schedule);
    TLC_CHECK(to.has_value(), "the target of a reduction is not where its results are");
    auto store = [&](Expr result, Expr reg) {
      Expr value = b.load("s", accumulator(result));
      Element at = registerElement(*use.buffer, to->at(reg));
      value = s.clear ? folder.settled(value)
                      : folder.combine(folder.prepareOld(b.load("old", at)), value);
      b.store(at, context.cast(use.buffer->dtype, value));
    };
    auto fitted = tlc::fit({{"result", results}}, {{"reg", registers()}}, [&](const Point &g) {
      return Point{resultRegister[static_cast<std::size_t>(g[0])]};
    });
    if (auto *first = std::get_if<Layout>(&fitted); first && to->layout)
      return b.unrolled("r", results, [&](Expr r) {
        store(r, layoutExpr(*first, first->outputs[0], std::span(&r, 1)));
      });
    for (Index g = 0; g < results; ++g)
      store(context.int32(g), context.int32(resultRegister[static_cast<std::size_t>(g)]));
  }

  // ---- One thread ----

  void nestedLoops() {
    auto box = s.source.constantTileExtents();
    TLC_CHECK(box.has_value(), "a reduction of unknown shape");
    acc = &b.function.addBuffer("acc", folder.dtype(), Scope::Local, {context.int32(1)}, s.range);
    b.alloc(*acc);
    forEachLine(b, *box, s.axis, [&](std::vector<Expr> &point) {
      b.store(accumulator(Index{0}), folder.neutral());
      b.loop("j", context.int32(0), context.int32((*box)[s.axis]), ForKind::Serial, [&](Expr j) {
        point[s.axis] = j;
        foldInto(accumulator(Index{0}), folder.prepare(b.load("x", elementAt(s.source, point))));
      });
      std::vector<Expr> target = point;
      if (s.target.tileRank() < box->size())
        target.erase(target.begin() + s.axis);
      else
        target[s.axis] = context.int32(0);
      target.resize(s.target.tileRank(), context.int32(0));
      Element to = elementAt(s.target, target);
      Expr value = b.load("s", accumulator(Index{0}));
      if (!s.clear)
        value = folder.combine(folder.prepareOld(b.load("old", to)), value);
      b.store(to, context.cast(s.target.buffer->dtype, value));
    });
  }
};

/// Up to how many elements of a thread for a sum the parts of sums that rounds of products keep
/// stay with their lanes until a tile ends. As measured on an H200: where products are short; under
/// a causal mask, whose rounds are few, or between longer ones also of 128 columns (1 % of
/// attention with 128 dimensions, and under a mask with 64), but not where a block holds one tile
/// of what it loads once, and registers are short (1 to 3 % slower with 256).
Index elementsInParts(const LaunchPlan &plan) {
  if (!plan.productCycles || plan.productCycles > 2 * shortRound)
    return 0;
  const bool wide = plan.tileStages > 1 && (plan.fold || plan.productCycles > shortRound);
  return wide ? 32 : plan.productCycles <= shortRound ? 16 : 0;
}

} // namespace

void lowerReduce(Function &function, PassContext &context) {
  std::set<const ReduceStmt *> parts;
  for (std::size_t i = 0; i < function.launches.size() && context.target.isGpu(); ++i) {
    const LaunchPlan *plan = context.schedule.launch(i);
    const Index lanes = plan ? elementsInParts(*plan) : 0;
    parts.merge(deferSums(*function.launches[i], context.target.limits.warp, lanes));
  }
  lowerInRoles(
      function, context.target, [&](StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
        if (auto *reduce = dynCast<ReduceStmt>(stmt.get()))
          ReduceLowering(*reduce, b, threads, context.target, parts.count(reduce) > 0).run();
        else if (auto *reducer = dynCast<ReducerStmt>(stmt.get());
                 reducer && reducer->action != ReducerAction::Update)
          lowerReducer(*reducer, b, threads, context.target);
        else
          return false;
        return true;
      });
}

} // namespace tlc::passes
