// skip-scaling: sums that no row of a warp wants scaled are left as they are.
//
//   for %g in 0 .. 128 unroll {                 call any(%f[0] != 1 or %f[1] != 1) result(%scales)
//     load %x = %acc[%g]                          if %scales {
//     load %y = %f[%g // 2 % 2]           =>        for %g in 0 .. 128 unroll {
//     store %acc[%g] = %x * %y                        … as before
//   }                                             }
//
// Attention scales its sums by what the maximum of a row has grown. Behind the first few tiles it
// seldom grows: then one vote of the warp saves a multiplication for each sum, and their power. A
// product with 1 is exact, so nothing else changes.
//
// Only for sums of warpgroup products of which none is on its way: the branch would make the
// assembler wait for it. Where products overlap, scaling runs beside them and costs little.
//
// Where tiles are joined (join-tiles), sums that have just become 0 stay so unless a factor is no
// finite number: in the first round of a tile there is nothing to scale, and the assembler, which
// would find that all sums of a row are one product with 0, has no registers left between tiles.
//
// Why here: on registers, whose number per factor is known; behind insert-sync, as nothing but
// registers is concerned.
#include "analysis/Uniformity.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <map>

namespace tlc::passes {

using namespace ir;

namespace {

/// Fewer multiplications than these are not worth a vote.
constexpr std::int64_t leastSums = 64;
/// More factors of a thread than these are no factors of rows.
constexpr std::size_t mostFactors = 4;

/// A loop that multiplies registers by factors.
struct Scaling {
  const Buffer *sums = nullptr;
  std::vector<Element> factors; ///< one for each register that holds a factor
};

class Skipper {
public:
  Skipper(Function &function, Launch &launch, bool joined)
      : function(function), launch(launch), uniformity(launch), joined(joined) {}

  void run(Block &block) {
    for (StmtPtr &stmt : block)
      forEachBlock(*stmt, [&](Block &inner) { run(inner); });
    const bool waited = productsAreWaitedFor(block);
    if (!waited && !joined)
      return;
    std::vector<bool> zero(block.size(), false);
    for (std::size_t i = 0; i < block.size(); ++i)
      zero[i] = joined && startsAtZero(block, i);
    Block out;
    for (std::size_t i = 0; i < block.size(); ++i) {
      StmtPtr &stmt = block[i];
      auto *loop = dynCast<ForStmt>(stmt.get());
      auto scaling = loop ? scalingOf(*loop) : std::nullopt;
      if (!scaling || uniformity.divergent(*stmt))
        out.push_back(std::move(stmt));
      else if (zero[i])
        guard(*scaling, isNotFinite, std::move(stmt), out);
      else if (waited && loop->hi.constant() >= leastSums && isAccumulator(*scaling->sums) &&
               growNext(*scaling->sums, block, i))
        guard(*scaling, isNotOne, std::move(stmt), out);
      else
        out.push_back(std::move(stmt));
    }
    block = std::move(out);
  }

private:
  /// Whether the block itself multiplies, and no product outlives the wait behind it.
  bool productsAreWaitedFor(const Block &block) {
    bool open = false, any = false;
    accumulators.clear();
    for (const StmtPtr &stmt : block) {
      for (const Buffer *sums : accumulatorsIn(*stmt))
        accumulators.push_back(sums);
      const auto *async = dynCast<AsyncStmt>(stmt.get());
      if (!async || async->what != AsyncKind::Wgmma)
        continue;
      if (async->commit && open)
        return false;
      if (!async->commit && async->pending > 0)
        return false;
      open = async->commit;
      any = true;
    }
    return any && !open;
  }

  bool isAccumulator(const Buffer &sums) const {
    return std::count(accumulators.begin(), accumulators.end(), sums.storage()) > 0;
  }

  /// Whether statement `i` scales what has just been filled with 0, all of it.
  static bool startsAtZero(const Block &block, std::size_t i) {
    const auto *loop = dynCast<ForStmt>(block[i].get());
    auto scaling = loop ? scalingOf(*loop) : std::nullopt;
    while (scaling && i-- > 0) {
      const auto *fill = dynCast<ForStmt>(block[i].get());
      const StoreStmt *store = nullptr;
      if (fill && std::all_of(fill->body.begin(), fill->body.end(), [](const StmtPtr &stmt) {
            return isa<LetStmt>(*stmt) || isa<StoreStmt>(*stmt);
          }))
        store = dynCast<StoreStmt>(fill->body.back().get());
      if (store && store->target.buffer == scaling->sums)
        return fill->kind == ForKind::Unroll && fill->lo == loop->lo && fill->hi == loop->hi &&
               store->value.isFloat() && store->value->real == 0 && !store->predicate &&
               store->target.indices == std::vector<Expr>{fill->var};
      bool touched = false;
      walk(std::as_const(*block[i]), [&](const Stmt &stmt) {
        forEachUse(stmt, [&](const BufferUse &use) {
          touched |= use.buffer->storage() == scaling->sums->storage();
        });
        return !touched;
      });
      if (touched)
        return false;
    }
    return false;
  }

  /// Whether products are added to the sums right behind statement `i`: they are scaled round after
  /// round. What is done to them once, in the end or before a loop, is worth no vote.
  static bool growNext(const Buffer &sums, const Block &block, std::size_t i) {
    for (std::size_t next = i + 1; next < block.size(); ++next) {
      const auto *loop = dynCast<ForStmt>(block[next].get());
      if (isa<WhileStmt>(*block[next]) || (loop && loop->kind != ForKind::Unroll))
        return false;
      std::vector<const Buffer *> found = accumulatorsIn(*block[next]);
      if (std::count(found.begin(), found.end(), sums.storage()))
        return true;
    }
    return false;
  }

  /// What the products in a statement are added to.
  static std::vector<const Buffer *> accumulatorsIn(const Stmt &stmt) {
    std::vector<const Buffer *> found;
    walk(stmt, [&](const Stmt &inner) {
      const auto *call = dynCast<CallStmt>(&inner);
      if (call && call->collective == Collective::WarpGroup)
        for (const Argument &argument : call->args)
          if (const auto *pointer = std::get_if<Pointer>(&argument);
              pointer && pointer->access == Access::ReadWrite)
            found.push_back(pointer->element.buffer->storage());
      return true;
    });
    return found;
  }

  static std::optional<Scaling> scalingOf(const ForStmt &loop) {
    auto lo = loop.lo.constant(), hi = loop.hi.constant();
    if (loop.kind != ForKind::Unroll || !lo || *lo != 0 || !hi)
      return std::nullopt;
    std::vector<const LoadStmt *> loads;
    const StoreStmt *store = nullptr;
    for (const StmtPtr &stmt : loop.body) {
      if (const auto *load = dynCast<LoadStmt>(stmt.get()))
        loads.push_back(load);
      else if (const auto *last = dynCast<StoreStmt>(stmt.get()); last && !store)
        store = last;
      else if (!isa<LetStmt>(*stmt))
        return std::nullopt;
    }
    if (!store || loads.size() != 2 || store->predicate || loads[0]->predicate ||
        loads[1]->predicate)
      return std::nullopt;
    Expr x = loads[0]->var, y = loads[1]->var;
    if (!x.dtype().isFloat() || x.dtype() != y.dtype() ||
        (store->value != x * y && store->value != y * x))
      return std::nullopt;
    bool sumsFirst = loads[0]->source.buffer == store->target.buffer;
    const LoadStmt &sums = *loads[sumsFirst ? 0 : 1], &factor = *loads[sumsFirst ? 1 : 0];
    if (sums.source.buffer != store->target.buffer ||
        sums.source.indices != store->target.indices ||
        factor.source.buffer->scope == Scope::Global ||
        factor.source.buffer->scope == Scope::Shared)
      return std::nullopt;
    return withFactors({sums.source.buffer, {}}, factor.source, loop, *hi);
  }

  static std::optional<Scaling> withFactors(Scaling scaling, const Element &factor,
                                            const ForStmt &loop, std::int64_t count) {
    if (factor.indices.size() != 1)
      return std::nullopt;
    std::map<std::int64_t, Element> found;
    for (std::int64_t i = 0; i < count && found.size() <= mostFactors; ++i) {
      Expr at = substitute(factor.indices[0],
                           {{loop.var, loop.var.context().integer(loop.var.dtype(), i)}});
      if (!at.constant())
        return std::nullopt;
      Element element = factor;
      element.indices = {at};
      found.emplace(*at.constant(), std::move(element));
    }
    if (found.size() > mostFactors)
      return std::nullopt;
    for (auto &[at, element] : found)
      scaling.factors.push_back(std::move(element));
    return scaling;
  }

  static Expr isNotOne(Expr factor) {
    return logicalNot(equals(factor, factor.context().real(factor.dtype(), 1)));
  }
  static Expr isNotFinite(Expr factor) {
    Expr zero = factor.context().real(factor.dtype(), 0);
    return logicalNot(equals(factor * zero, zero));
  }

  void guard(const Scaling &scaling, Expr (*matters)(Expr), StmtPtr loop, Block &out) {
    Builder b(function, out);
    b.range = loop->range;
    Context &context = b.context();
    Expr scales;
    for (const Element &factor : scaling.factors) {
      Expr value = b.load("factor", factor);
      scales = scales ? logicalOr(scales, matters(value)) : matters(value);
    }
    auto &vote = b.add<CallStmt>();
    vote.callee = "any";
    vote.collective = Collective::Warp;
    vote.args = {scales};
    vote.result = context.var("scales", Scalar::Bool);
    b.when(vote.result, [&] { b.add(std::move(loop)); });
    launch.note("sums are scaled only where a row of the warp wants it: in most rounds none does");
  }

  Function &function;
  Launch &launch;
  analysis::Uniformity uniformity;
  const bool joined;
  std::vector<const Buffer *> accumulators; ///< of products of the block being looked at
};

} // namespace

void skipScaling(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma))
    return;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    const LaunchPlan *plan = context.schedule.launch(i);
    Launch &launch = *function.launches[i];
    Skipper(function, launch, plan && plan->joined).run(launch.body);
  }
}

} // namespace tlc::passes
