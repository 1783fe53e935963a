// select-atoms: chooses the instruction of each gemm and the grid of warps over its result.
//
//   gemm %A_s, %B_s -> %C_l
//     =>  gemm %A_s, %B_s -> %C_l atom mma_m16n8k16_f16_f16_f32 warps 2 2
//
// The first atom (best first) whose shape divides the problem is taken; the scalar atom fits
// everything. The grid is the one with the least time per step along k, of the multiplications and
// of what all warps read from shared memory, among those that the policy admits. Operands that no
// atom can use where they are move: accumulators in shared memory get a fragment, fragment operands
// of scalar atoms get a shared tile. Warpgroup products overwrite their accumulators where zeros
// are put there just before.
//
// Before plan, which counts instructions and registers, and before infer-layouts, for which atoms
// are the strict part.
#include "passes/plan/SelectAtoms.h"

#include "passes/lower/WarpGroupOperand.h"

#include "ir/Builder.h"
#include "ir/Walk.h"
#include "support/Check.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tlc::passes {

using namespace ir;

namespace {

struct Choice {
  const Atom *atom = nullptr;
  Index warpsM = 0, warpsN = 0;
};

/// Slots per step of the atom's k, over a quarter of an SM; the larger of both units' is the time.
double gridCost(const Target &target, const Atom &atom, const GemmShape &shape, Index warpsM,
                Index warpsN, Index threads) {
  GemmGrid grid = gemmGrid(atom, shape, warpsM, warpsN, threads);
  double warps = static_cast<double>(threads) / std::max(1, target.limits.warp);
  double perM = static_cast<double>(grid.perM), perN = static_cast<double>(grid.perN);
  double k = static_cast<double>(atom.k);
  if (atom.kind == AtomKind::Scalar) {
    // Each thread multiplies perM x perN and loads perM + perN elements.
    double registers = perM * perN + perM + perN;
    double spill =
        target.isGpu() ? std::max(0.0, registers - target.limits.registersPerThread * 0.8) : 0;
    return warps / 4 * (perM * perN + 0.75 * perM + perN / 2) +
           spill * target.cost.registerOverBudget * warps;
  }
  double multiply = perM * perN * atom.cycles * warps / 4;
  double rowsA = perM * static_cast<double>(atom.m), rowsB = perN * static_cast<double>(atom.n);
  double readers = warps;
  if (atom.kind == AtomKind::WarpGroup) { // read once a warpgroup; B anew for each 64 rows
    rowsB *= perM;
    readers /= 4;
  }
  double bytes = (rowsA * atom.a.bits() / 8 + rowsB * atom.b.bits() / 8) * k * readers;
  // Shared memory serves the whole SM: 128 bytes a cycle. Waiting and multiplying overlap only in
  // part.
  double read = bytes / 128;
  double accumulators =
      perM * perN * static_cast<double>(atom.cRegisters()) * std::max(1.0, atom.c.bits() / 32.0);
  double spill = std::max(0.0, accumulators - 0.75 * target.limits.registersPerThread);
  return std::max(multiply, read) + 0.25 * std::min(multiply, read) + 1000 * spill;
}

/// 0 where the grid is what the policy asks for, more the farther it is from it.
Index policyDistance(WarpPolicy policy, Index warpsM, Index warpsN) {
  switch (policy) {
  case WarpPolicy::FullRow:
    return warpsN - 1;
  case WarpPolicy::FullCol:
    return warpsM - 1;
  case WarpPolicy::Square:
    break;
  }
  return 0;
}

/// Of the grids that `fits` admits; no atom if it admits none.
Choice chooseGrid(const Target &target, const Atom &atom, const GemmShape &shape, WarpPolicy policy,
                  Index threads, const std::function<bool(Index, Index)> &fits) {
  Index units = threads / atom.threads;
  using Key = std::tuple<Index, double, Index>;
  std::optional<Key> best;
  Choice choice;
  for (Index used = units; used >= 1; --used) {
    if (units % used || (used < units && best))
      continue; // idle copies only where nothing else fits
    for (Index m = 1; m <= used; ++m) {
      Index n = used / m;
      if (used % m)
        continue;
      // A warp without an atom of its own is waste that cost does not see well.
      if ((m > 1 && m > (shape.m + atom.m - 1) / atom.m) ||
          (n > 1 && n > (shape.n + atom.n - 1) / atom.n))
        continue;
      if (!fits(m, n))
        continue;
      Key key{policyDistance(policy, m, n), gridCost(target, atom, shape, m, n, threads),
              std::abs(m * shape.n - n * shape.m)};
      if (!best || key < *best)
        best = key, choice = {&atom, m, n};
    }
  }
  return choice;
}

/// What the operands are multiplied as: float32 is tfloat32 for tensor cores under fast math only.
DType multiplied(DType dtype, const FunctionOptions &options) {
  return dtype == DType(Scalar::Float32) && options.fastMath ? DType(Scalar::TFloat32) : dtype;
}

/// The threads that execute a gemm: so many, from this one of the block on.
struct Team {
  Index first = 0, count = 0;
};

bool fits(const Atom &atom, const GemmShape &shape, Team team) {
  if (atom.kind == AtomKind::Scalar)
    return true;
  if (team.count % atom.threads)
    return false;
  if (atom.kind == AtomKind::MicroKernel)
    return false; // needs packed panels, which nobody makes yet: loops over rows are vectorised
  if (atom.kind == AtomKind::WarpGroup && team.first % atom.threads)
    return false;
  return shape.m % atom.m == 0 && shape.n % atom.n == 0 && shape.k % atom.k == 0;
}

std::vector<const Atom *> candidates(const Function &function, const PassContext &context,
                                     const GemmStmt &gemm) {
  DType a = gemm.a.buffer->dtype, b = gemm.b.buffer->dtype, c = gemm.c.buffer->dtype;
  if (context.target.isCuda())
    return atomsFor(context.target, multiplied(a, function.options),
                    multiplied(b, function.options), c);
  return atomsFor(context.target, a, b, c);
}

Choice choose(const Function &function, PassContext &context, const GemmStmt &gemm,
              const GemmShape &shape, Team team, const GemmPlan *plan) {
  for (const Atom *atom : candidates(function, context, gemm)) {
    if (!fits(*atom, shape, team) || (plan && !plan->atom.empty() && plan->atom != atom->name) ||
        (gemm.async && atom->kind != AtomKind::WarpGroup))
      continue;
    // Warpgroups that all do the same are no faster than warps that share the work.
    auto gridFits = [&](Index warpsM, Index warpsN) {
      return atom->kind != AtomKind::WarpGroup ||
             ((gemm.async || warpsM * warpsN * atom->threads == team.count) &&
              warpGroupFits(function, gemm, *atom, shape, warpsM, warpsN));
    };
    Choice choice = chooseGrid(context.target, *atom, shape, gemm.policy, team.count, gridFits);
    if (!choice.atom)
      continue;
    if (plan && plan->warpsM * plan->warpsN * atom->threads > 0 &&
        team.count % (plan->warpsM * plan->warpsN * atom->threads) == 0 &&
        gridFits(plan->warpsM, plan->warpsN))
      choice = {atom, plan->warpsM, plan->warpsN};
    return choice;
  }
  return {};
}

/// A fresh buffer of the region's tile and a whole-buffer region of it.
Region temporary(Function &function, const Region &like, Scope scope, const char *suffix) {
  std::vector<Expr> shape = like.tileExtents();
  Buffer &buffer = function.addBuffer(like.buffer->name + suffix, like.buffer->dtype, scope, shape,
                                      like.buffer->range);
  return wholeRegion(*function.context, buffer);
}

class Selector {
public:
  Selector(Function &function, PassContext &context, const LaunchPlan *plan)
      : function(function), context(context), plan(plan) {}

  void run(Launch &launch) { visit(launch.body, {0, launch.threadCount()}); }

private:
  Function &function;
  PassContext &context;
  const LaunchPlan *plan;
  std::size_t position = 0;

  void visit(Block &block, Team team) {
    Block out;
    for (StmtPtr &stmt : block) {
      auto *role = dynCast<RoleStmt>(stmt.get());
      Team inside = role ? Team{team.first + role->first, role->count} : team;
      forEachBlock(*stmt, [&](Block &inner) { visit(inner, inside); });
      if (auto *gemm = dynCast<GemmStmt>(stmt.get()))
        place(*gemm, {team.first, context.target.collectiveThreads(team.count)}, stmt, out);
      else
        out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  /// Decides the gemm and puts it, with copies around it, at the end of `out`.
  void place(GemmStmt &gemm, Team team, StmtPtr &stmt, Block &out) {
    auto shape = gemmShape(gemm);
    TLC_CHECK(shape.has_value(), "a gemm of unknown shape");
    const GemmPlan *wanted =
        plan && position < plan->gemms.size() ? &plan->gemms[position] : nullptr;
    ++position;
    Choice choice = choose(function, context, gemm, *shape, team, wanted);
    if (!choice.atom) {
      if (gemm.async)
        context.diagnostics.report(diag::NoWarpGroupGemm, gemm.range, context.target.name,
                                   whyNoWarpGroup(gemm, *shape, team));
      else
        context.diagnostics.report(diag::NoSuchAtom, gemm.range, wanted ? wanted->atom : "",
                                   context.target.name);
      out.push_back(std::move(stmt));
      return;
    }
    if (wanted && wanted->warpsM > 0 &&
        (choice.warpsM != wanted->warpsM || choice.warpsN != wanted->warpsN))
      context.diagnostics.report(diag::ScheduleMismatch, gemm.range, plan->name)
          .note(std::to_string(wanted->warpsM) + " x " + std::to_string(wanted->warpsN) +
                " warps do not divide the " + std::to_string(team.count) + " threads of this gemm");
    gemm.atom = choice.atom;
    gemm.warpsM = choice.warpsM;
    gemm.warpsN = choice.warpsN;
    if (choice.atom->kind == AtomKind::WarpGroup)
      takeFill(gemm, out);
    Builder builder(function, out);
    builder.range = gemm.range;
    bool scalar = choice.atom->kind == AtomKind::Scalar;
    for (Region *operand : {&gemm.a, &gemm.b}) {
      Scope scope = operand->buffer->storage()->scope;
      bool move = scalar && context.target.isGpu()
                      ? scope != Scope::Shared
                      : scope == Scope::Global || scope == Scope::Local;
      if (move)
        stage(builder, *operand, Scope::Shared, "_s", true);
    }
    std::optional<Region> result;
    if (gemm.c.buffer->storage()->scope != Scope::Fragment) {
      result = gemm.c;
      bool needed = !gemm.clear || !gemm.clear.isTrue();
      stage(builder, gemm.c, Scope::Fragment, "_l", needed);
    }
    Region made = gemm.c;
    out.push_back(std::move(stmt));
    if (result) {
      auto &copy = builder.add<CopyStmt>();
      copy.source = made;
      copy.target = *result;
      copy.boundsKnown = true;
    }
  }

  std::string whyNoWarpGroup(const GemmStmt &gemm, const GemmShape &shape, Team team) const {
    const Atom *atom = candidates(function, context, gemm).front();
    if (atom->kind != AtomKind::WarpGroup)
      return "there is none for " + gemm.a.buffer->dtype.str() + " and " +
             gemm.b.buffer->dtype.str() + " into " + gemm.c.buffer->dtype.str();
    if (team.count % atom->threads || team.first % atom->threads)
      return "it is executed by " + std::to_string(team.count) + " threads from thread " +
             std::to_string(team.first) + " on, which is no whole number of warpgroups";
    if (shape.m % atom->m || shape.n % atom->n || shape.k % atom->k)
      return "M, N, K are " + std::to_string(shape.m) + ", " + std::to_string(shape.n) + ", " +
             std::to_string(shape.k) + ", not multiples of " + std::to_string(atom->m) + ", " +
             std::to_string(atom->n) + ", " + std::to_string(atom->k);
    return "an operand does not lie in shared memory in a way that they can address";
  }

  /// A product may overwrite what the accumulators hold, so zeros need not be put there just
  /// before.
  static void takeFill(GemmStmt &gemm, Block &out) {
    auto *fill = out.empty() ? nullptr : dynCast<FillStmt>(out.back().get());
    if (!fill || (gemm.clear && !gemm.clear.isFalse()) || fill->target.buffer != gemm.c.buffer ||
        fill->target.offsets != gemm.c.offsets || fill->target.extents != gemm.c.extents)
      return;
    bool zero = fill->value.isFloat() ? fill->value->real == 0 : fill->value.isConstant(0);
    if (!zero)
      return;
    gemm.clear = fill->value.context().boolean(true);
    out.pop_back();
  }

  /// Replaces the operand by a copy of it.
  void stage(Builder &builder, Region &operand, Scope scope, const char *suffix, bool filled) {
    Region fresh = temporary(function, operand, scope, suffix);
    builder.alloc(*fresh.buffer);
    if (filled) {
      auto &copy = builder.add<CopyStmt>();
      copy.source = operand;
      copy.target = fresh;
      copy.boundsKnown = operand.buffer->storage()->scope != Scope::Global;
    }
    operand = fresh;
  }
};

} // namespace

const Atom *atomFor(const Function &function, PassContext &context, const GemmStmt &gemm,
                    const GemmShape &shape, Index threads) {
  const Team team{0, context.target.collectiveThreads(threads)};
  return choose(function, context, gemm, shape, team, nullptr).atom;
}

void selectAtoms(Function &function, PassContext &context) {
  // By name: between these launches there may be one more when the schedule is complete.
  for (auto &launch : function.launches)
    Selector(function, context,
             context.schedule.find(launch->name.empty() ? function.name : launch->name))
        .run(*launch);
}

} // namespace tlc::passes
