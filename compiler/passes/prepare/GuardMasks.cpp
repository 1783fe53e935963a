// guard-masks: tiles that a mask leaves whole are not masked element by element.
//
//   map %i in 64, %j in 64 {
//     store %S[%i, %j] = select(%b * 64 + %i >= %k * 64 + %j, 0, -inf)
//   }
//   gemm %A, %B -> %S
//     =>
//   if not (%k * 64 + 63 <= %b * 64) { map … as before … }
//   gemm %A, %B -> %S clear(%k * 64 + 63 <= %b * 64)
//
// Attention writes a mask into the scores before it accumulates onto them. Only tiles on the
// diagonal, or at the end of a ragged sequence, need it. The condition at the worst point of the
// tile says for all of it; where that depends on no loop and no block, nothing is gained, and the
// map stays. A map whose tile no product follows gets a fill in the other branch.
//
// Only where products are warpgroups': they clear by a flag. With mma.sync the two branches cost
// more than the mask (causal attention, 128 columns, on an H200: 0.74 instead of 0.93 of
// FlashAttention 2).
//
// Why here: after bounds, which proves or guards what maps read; before select-atoms and plan, for
// which a product that clears its result is cheaper than one that does not.
#include "analysis/Monotone.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"

#include <cmath>
#include <unordered_map>

namespace tlc::passes {

using namespace ir;

namespace {

/// `left <= right`, neither of which wraps.
Expr isAtMost(Context &context, Linear left, Linear right, const analysis::Ranges &ranges) {
  if (left.constant > 0 && !analysis::fitsInt32(left, ranges)) {
    // The last element of a tile has an int32 index; one more may be none.
    Linear less = left;
    --less.constant;
    if (analysis::fitsInt32(less, ranges) && analysis::fitsInt32(right, ranges))
      return lessThan(exactSum(context, less, ranges), exactSum(context, right, ranges));
  }
  return lessEqual(exactSum(context, std::move(left), ranges),
                   exactSum(context, std::move(right), ranges));
}

/// What makes `condition` true at every point of the map; null: not known. Null operands of a
/// conjunction make it null.
Expr everywhere(Expr condition, const MapStmt &map, const analysis::Ranges &ranges) {
  if (condition.kind() == ExprKind::Binary && condition->binaryOp() == BinaryOp::LogicalAnd) {
    Expr a = everywhere(condition->operands[0], map, ranges),
         b = everywhere(condition->operands[1], map, ranges);
    return a && b ? logicalAnd(a, b) : Expr();
  }
  std::optional<Linear> sum = analysis::notNegativeWhere(condition);
  if (!sum)
    return {};
  for (std::size_t v = 0; v < map.vars.size(); ++v) {
    auto extent = map.extents[v].constant();
    if (!extent)
      return {};
    std::int64_t coefficient = 0;
    std::erase_if(sum->terms, [&](const auto &term) {
      if (term.first == map.vars[v])
        coefficient = term.second;
      return term.first == map.vars[v];
    });
    if (coefficient < 0)
      sum->constant += coefficient * (*extent - 1);
  }
  // Read best with what is taken away on the left.
  Linear left, right;
  (sum->constant < 0 ? left : right).constant = std::abs(sum->constant);
  for (auto &[term, factor] : sum->terms) {
    for (Expr var : map.vars)
      if (uses(term, var))
        return {};
    (factor < 0 ? left : right).terms.emplace_back(term, std::abs(factor));
  }
  return isAtMost(condition.context(), std::move(left), std::move(right), ranges);
}

/// A map that writes one of two constants to each element of a whole buffer.
struct Mask {
  MapStmt *map = nullptr;
  Buffer *tile = nullptr;
  Expr whole; ///< where this holds, every element gets `value`
  Expr value;
};

std::optional<Mask> maskOf(Stmt &stmt, const analysis::Ranges &ranges) {
  auto *map = dynCast<MapStmt>(&stmt);
  if (!map || map->body.size() != 1)
    return std::nullopt;
  auto *store = dynCast<StoreStmt>(map->body.front().get());
  if (!store || store->predicate || store->value.kind() != ExprKind::Select ||
      store->target.buffer->base || store->target.indices != map->vars ||
      store->target.buffer->shape != map->extents)
    return std::nullopt;
  Expr condition = store->value->operands[0], value = store->value->operands[1];
  if (!value.isConstant() || !store->value->operands[2].isConstant())
    return std::nullopt;
  Expr whole = everywhere(condition, *map, ranges);
  if (!whole || whole.isConstant())
    return std::nullopt;
  return Mask{map, store->target.buffer, whole, value};
}

bool isZero(Expr value) {
  return value.isConstant(0) || (value.isFloat() && value->real == 0 && !std::signbit(value->real));
}

class MaskGuard {
public:
  explicit MaskGuard(Function &function) : function(function) {
    analysis::walkWithRanges(function, [&](Launch &, Stmt &stmt, analysis::Ranges &ranges) {
      if (auto mask = maskOf(stmt, ranges))
        masks.emplace(&stmt, *mask);
      return !isa<MapStmt>(stmt);
    });
  }

  void run(Launch &masked) {
    launch = &masked;
    block(masked.body, false);
  }

private:
  /// `inLoop`: elsewhere a mask is written once, which costs little.
  void block(Block &b, bool inLoop) {
    Block out;
    for (std::size_t i = 0; i < b.size(); ++i) {
      StmtPtr &stmt = b[i];
      bool loops = isa<ForStmt>(*stmt) || isa<WhileStmt>(*stmt);
      if (!isa<MapStmt>(*stmt))
        forEachBlock(*stmt, [&](Block &inner) { block(inner, inLoop || loops); });
      auto found = inLoop ? masks.find(stmt.get()) : masks.end();
      if (found == masks.end()) {
        out.push_back(std::move(stmt));
        continue;
      }
      const Mask &mask = found->second;
      auto *gemm = i + 1 < b.size() ? dynCast<GemmStmt>(b[i + 1].get()) : nullptr;
      bool clears = gemm && !gemm->clear && gemm->c.buffer == mask.tile && gemm->c.wholeBuffer() &&
                    isZero(mask.value) && gemm->a.buffer->storage() != mask.tile &&
                    gemm->b.buffer->storage() != mask.tile;
      if (clears)
        gemm->clear = mask.whole;
      guard(mask, std::move(stmt), clears, out);
    }
    b = std::move(out);
  }

  void guard(const Mask &mask, StmtPtr map, bool clears, Block &out) {
    launch->note("`" + mask.tile->name +
                 "` is masked only where the mask cuts it: most tiles are left whole");
    auto branch = std::make_unique<IfStmt>(map->range);
    branch->condition = logicalNot(mask.whole);
    if (!clears) {
      auto fill = std::make_unique<FillStmt>(map->range);
      fill->target = wholeRegion(*function.context, *mask.tile);
      fill->value = mask.value;
      branch->otherwise.push_back(std::move(fill));
    }
    branch->then.push_back(std::move(map));
    out.push_back(std::move(branch));
  }

  Function &function;
  Launch *launch = nullptr; ///< the one that is changed
  std::unordered_map<const Stmt *, Mask> masks;
};

} // namespace

void guardMasks(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma))
    return;
  MaskGuard guard(function);
  for (auto &launch : function.launches)
    guard.run(*launch);
}

} // namespace tlc::passes
