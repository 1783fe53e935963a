// select-atoms: chooses the instruction of each gemm and the grid of warps over its result.
//
//   gemm %A_s, %B_s -> %C_l
//     =>  gemm %A_s, %B_s -> %C_l atom mma_m16n8k16_f16_f16_f32 warps 2 2
//
// The first atom (best first) whose shape divides the problem is taken; the scalar atom fits
// everything. The grid is the one with the least time per step along k, of the multiplications and
// of what all warps read from shared memory, among those that the policy admits. Operands that no
// atom can use where they are move: accumulators in shared memory get a fragment, fragment operands
// of scalar atoms get a shared tile.
//
// Before plan, which counts instructions and registers, and before infer-layouts, for which atoms
// are the strict part.
#include "passes/GemmLayouts.h"
#include "passes/Pass.h"

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
  double bytes = (perM * static_cast<double>(atom.m) * atom.a.bits() / 8 +
                  perN * static_cast<double>(atom.n) * atom.b.bits() / 8) *
                 k * warps;
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

Choice chooseGrid(const Target &target, const Atom &atom, const GemmShape &shape, WarpPolicy policy,
                  Index threads) {
  Index units = threads / atom.threads;
  using Key = std::tuple<Index, double, Index>;
  std::optional<Key> best;
  Choice choice{&atom, 1, 1};
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

bool fits(const Atom &atom, const GemmShape &shape, Index threads) {
  if (atom.kind == AtomKind::Scalar)
    return true;
  if (threads % atom.threads)
    return false;
  if (atom.kind == AtomKind::MicroKernel)
    return false; // needs packed panels, which nobody makes yet: loops over rows are vectorised
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
              const GemmShape &shape, Index threads, const GemmPlan *plan) {
  for (const Atom *atom : candidates(function, context, gemm)) {
    if (!fits(*atom, shape, threads) || (plan && !plan->atom.empty() && plan->atom != atom->name))
      continue;
    Choice choice = chooseGrid(context.target, *atom, shape, gemm.policy, threads);
    if (plan && plan->warpsM * plan->warpsN * atom->threads > 0 &&
        threads % (plan->warpsM * plan->warpsN * atom->threads) == 0)
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
  Selector(Function &function, PassContext &context, LaunchPlan *plan)
      : function(function), context(context), plan(plan) {}

  void run(Launch &launch) { visit(launch.body, launch.threadCount()); }

private:
  Function &function;
  PassContext &context;
  LaunchPlan *plan;
  std::size_t position = 0;

  void visit(Block &block, Index threads) {
    Block out;
    for (StmtPtr &stmt : block) {
      auto *role = dynCast<RoleStmt>(stmt.get());
      forEachBlock(*stmt, [&](Block &inner) { visit(inner, role ? role->count : threads); });
      if (auto *gemm = dynCast<GemmStmt>(stmt.get()))
        place(*gemm, context.target.collectiveThreads(threads), stmt, out);
      else
        out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

  /// Decides the gemm and puts it, with copies around it, at the end of `out`.
  void place(GemmStmt &gemm, Index threads, StmtPtr &stmt, Block &out) {
    auto shape = gemmShape(gemm);
    TLC_CHECK(shape.has_value(), "a gemm of unknown shape");
    GemmPlan *wanted = plan && position < plan->gemms.size() ? &plan->gemms[position] : nullptr;
    ++position;
    Choice choice = choose(function, context, gemm, *shape, threads, wanted);
    if (!choice.atom) {
      context.diagnostics.report(diag::NoSuchAtom, gemm.range, wanted ? wanted->atom : "",
                                 context.target.name);
      out.push_back(std::move(stmt));
      return;
    }
    gemm.atom = choice.atom;
    gemm.warpsM = choice.warpsM;
    gemm.warpsN = choice.warpsN;
    Builder builder(function, out);
    builder.range = gemm.range;
    bool scalar = choice.atom->kind != AtomKind::Matrix;
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

void selectAtoms(Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i)
    Selector(function, context, context.schedule.launch(i)).run(*function.launches[i]);
}

} // namespace tlc::passes
