// lower-scan: scans become register runs and shuffles.
//
//   scan sum %X[16, 128] axis 1                     X: reg(4:d1 …) thread(32:d1*4 …)
//     =>
//   each thread scans its run; lanes scan the runs' totals in log2(lanes) steps; each run gets what
//   lies before it
//
// infer-layouts gave the source an order in which the axis lies in one run of each thread's
// registers and then in consecutive low lanes. Reverse scans run the other way. Elements outside
// the tile are neutral; narrow floats are summed in float32 and rounded once.
#include "passes/Pass.h"
#include "passes/infer/InferFree.h"
#include "passes/infer/InferGraph.h"
#include "passes/infer/Registers.h"
#include "passes/lower/LineLoops.h"
#include "passes/lower/LowerReduceOps.h"
#include "passes/lower/LowerRole.h"
#include "passes/lower/Physical.h"

#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

class ScanLowering {
public:
  ScanLowering(ScanStmt &s, Builder &b, const RoleThreads &threads, const Target &target)
      : s(s), b(b), context(b.context()), threads(threads), target(target),
        folder(context, s.op, false, s.source.buffer->dtype) {}

  void run() {
    if (threads.count == 1)
      return nestedLoops();
    describe();
    values = &b.function.addBuffer("x", folder.dtype(), Scope::Local, {context.int32(registers)},
                                   s.range);
    b.alloc(*values);
    readAll();
    for (const std::vector<Index> &line : lines)
      scanLine(line);
    writeAll();
  }

private:
  ScanStmt &s;
  Builder &b;
  Context &context;
  const RoleThreads &threads;
  const Target &target;
  Folder folder;

  TileOp op;
  Layout schedule;
  Index registers = 0;
  std::vector<std::vector<Index>> lines; ///< registers of each run, in the order of the scan
  Index lanes = 1;                       ///< threads along the axis: consecutive low lanes
  Buffer *values = nullptr;

  void describe() {
    op.stmt = &s;
    op.threads = threads.count;
    InferenceGraph graph;
    graph.target = &target;
    describeOp(op, graph);
    TLC_CHECK(op.fragments.size() == 2, "a scan of something else than fragments");
    auto order = scheduleFromHome(op, op.fragments[0], *op.fragments[0].buffer->layout);
    TLC_CHECK(order && scanOrder(*order, *op.axis, target), "the source of a scan is not in order");
    schedule = std::move(*order);
    registers = schedule.input("reg").size();
    // Registers that differ only along the axis make a line.
    std::vector<std::pair<Point, Index>> sorted;
    for (Index r = 0; r < registers; ++r) {
      Point p = schedule({r, 0});
      Index along = p[*op.axis];
      p.erase(p.begin() + *op.axis);
      p.push_back(s.reverse ? -along : along);
      sorted.emplace_back(p, r);
    }
    std::sort(sorted.begin(), sorted.end());
    Point last;
    for (auto &[p, r] : sorted) {
      Point key(p.begin(), p.end() - 1);
      if (lines.empty() || key != last)
        lines.emplace_back();
      last = key;
      lines.back().push_back(r);
    }
    for (const Term &t : schedule.output(dimName(*op.axis)).terms)
      for (int d = 0; d < schedule.digitCount(); ++d)
        if ((t.digits >> d & 1) &&
            schedule.inputs[static_cast<std::size_t>(schedule.place(d).first)].name == "thread")
          lanes *= schedule.radix(d);
  }

  Element value(Index r) { return registerElement(*values, context.int32(r)); }

  void readAll() {
    auto from = registerMap(*op.fragments[0].buffer, op.fragments[0].map, schedule);
    TLC_CHECK(from.has_value(), "the source of a scan is not at home");
    each(*from, [&](Expr r, Expr reg) {
      Expr inside = insideTile(schedule, op.box, r, threads.index);
      Expr outside = inside ? context.cast(s.source.buffer->dtype, folder.neutral()) : Expr();
      Expr x = folder.prepare(
          b.load("v", registerElement(*op.fragments[0].buffer, reg), inside, outside));
      b.store(registerElement(*values, r), x);
    });
  }

  void writeAll() {
    FragmentUse &use = op.fragments[1];
    auto to = registerMap(*use.buffer, use.map, schedule);
    TLC_CHECK(to.has_value(), "the target of a scan is not where its results are");
    each(*to, [&](Expr r, Expr reg) {
      Expr x = b.load("v", registerElement(*values, r));
      b.store(registerElement(*use.buffer, reg), context.cast(use.buffer->dtype, x));
    });
  }

  template <typename F> void each(const RegisterMap &map, F &&f) {
    if (map.layout)
      return b.unrolled("r", registers, [&](Expr r) { f(r, map.at(r)); });
    for (Index r = 0; r < registers; ++r)
      f(context.int32(r), map.at(context.int32(r)));
  }

  Expr shuffled(Expr x, Index distance) {
    auto &call = b.add<CallStmt>();
    call.callee = s.reverse ? "shfl_down" : "shfl_up";
    call.args = {x, context.int32(distance)};
    call.result = context.var("before", folder.dtype());
    call.collective = Collective::Warp;
    return call.result;
  }

  void scanLine(const std::vector<Index> &line) {
    Expr running = b.load("v", value(line[0]));
    for (std::size_t i = 1; i < line.size(); ++i) {
      running = b.let("sum", folder.combine(running, b.load("v", value(line[i]))));
      b.store(value(line[i]), running);
    }
    if (lanes == 1)
      return;
    // Totals of the lanes before this one, by doubling distances; `rank` counts lanes from where
    // the scan starts.
    Expr lane = floorMod(threads.index, lanes);
    Expr rank = b.let("rank", s.reverse ? context.int32(lanes - 1) - lane : lane);
    Expr total = running;
    for (Index d = 1; d < lanes; d *= 2) {
      Expr before = shuffled(total, d);
      total =
          b.let("total", context.select(lessThan(rank, d), total, folder.combine(before, total)));
    }
    Expr before = shuffled(total, 1);
    before = b.let("carry", context.select(lessThan(rank, 1), folder.neutral(), before));
    for (Index r : line)
      b.store(value(r), folder.combine(before, b.load("v", value(r))));
  }

  void nestedLoops() {
    auto box = s.source.constantTileExtents();
    TLC_CHECK(box.has_value(), "a scan of unknown shape");
    values =
        &b.function.addBuffer("sum", folder.dtype(), Scope::Local, {context.int32(1)}, s.range);
    b.alloc(*values);
    forEachLine(b, *box, s.axis, [&](std::vector<Expr> &point) {
      b.store(value(0), folder.neutral());
      b.loop("j", context.int32(0), context.int32((*box)[s.axis]), ForKind::Serial, [&](Expr j) {
        point[s.axis] = s.reverse ? context.int32((*box)[s.axis] - 1) - j : j;
        Expr x = folder.prepare(b.load("v", elementAt(s.source, point)));
        Expr sum = b.let("total", folder.combine(b.load("v", value(0)), x));
        b.store(value(0), sum);
        b.store(elementAt(s.target, point), context.cast(s.target.buffer->dtype, sum));
      });
    });
  }
};

} // namespace

void lowerScan(Function &function, PassContext &context) {
  lowerInRoles(function, context.target,
               [&](StmtPtr &stmt, Builder &b, const RoleThreads &threads) {
                 auto *scan = dynCast<ScanStmt>(stmt.get());
                 if (scan)
                   ScanLowering(*scan, b, threads, context.target).run();
                 return scan != nullptr;
               });
}

} // namespace tlc::passes
