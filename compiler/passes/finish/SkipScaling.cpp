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
  Skipper(Function &function, Launch &launch) : function(function), uniformity(launch) {}

  void run(Block &block) {
    for (StmtPtr &stmt : block)
      forEachBlock(*stmt, [&](Block &inner) { run(inner); });
    if (!productsAreWaitedFor(block))
      return;
    Block out;
    for (std::size_t i = 0; i < block.size(); ++i) {
      StmtPtr &stmt = block[i];
      auto *loop = dynCast<ForStmt>(stmt.get());
      auto scaling = loop ? scalingOf(*loop) : std::nullopt;
      if (scaling && !uniformity.divergent(*stmt) && growNext(*scaling->sums, block, i))
        guard(*scaling, std::move(stmt), out);
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

  std::optional<Scaling> scalingOf(const ForStmt &loop) const {
    auto lo = loop.lo.constant(), hi = loop.hi.constant();
    if (loop.kind != ForKind::Unroll || !lo || *lo != 0 || !hi || *hi < leastSums)
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
        factor.source.buffer->scope == Scope::Shared ||
        !std::count(accumulators.begin(), accumulators.end(), sums.source.buffer->storage()))
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

  void guard(const Scaling &scaling, StmtPtr loop, Block &out) {
    Builder b(function, out);
    b.range = loop->range;
    Context &context = b.context();
    Expr scales;
    for (const Element &factor : scaling.factors) {
      Expr value = b.load("factor", factor);
      Expr differs = logicalNot(equals(value, context.real(value.dtype(), 1)));
      scales = scales ? logicalOr(scales, differs) : differs;
    }
    auto &vote = b.add<CallStmt>();
    vote.callee = "any";
    vote.collective = Collective::Warp;
    vote.args = {scales};
    vote.result = context.var("scales", Scalar::Bool);
    b.when(vote.result, [&] { b.add(std::move(loop)); });
  }

  Function &function;
  analysis::Uniformity uniformity;
  std::vector<const Buffer *> accumulators; ///< of products of the block being looked at
};

} // namespace

void skipScaling(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma))
    return;
  for (auto &launch : function.launches)
    Skipper(function, *launch).run(launch->body);
}

} // namespace tlc::passes
