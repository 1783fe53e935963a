// fill-waits: what needs no product is done while the product runs that everything waits for.
//
//   products %P, %V -> %O ; async wgmma commit          products ; async wgmma commit
//   async wgmma wait(0)                                 for %g in 0 .. 2 unroll {
//   mbar arrive %empty[%slot]                             %sum[%g] = 1 / %sum[%g]
//   for %g in 0 .. 2 unroll {                    =>     } ; call @wgmma_pin<2>(%sum)
//     %sum[%g] = 1 / %sum[%g]                           async wgmma wait(0)
//   }                                                   mbar arrive %empty[%slot]
//   for %g in 0 .. 64 unroll { %O[%g] = … }             for %g in 0 .. 64 unroll { %O[%g] = … }
//
// The last product of a tile has nothing to run beside: its warpgroup waits. What follows, but
// touches only registers that no product uses, and nothing that has to come before it, need not:
// attention brings together and inverts the sums of its rows, some hundred cycles of latency. Only
// what takes long is moved, divisions, functions and exchanges between lanes; the downstream
// compiler, which would put it back where its results are wanted, is kept from that by a pin.
//
// Why here: on registers, so that it is plain which ones products use; behind insert-sync and
// take-turns, which look for waits where they were made.
#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/lower/LowerGemm.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <set>

namespace tlc::passes {

using namespace ir;
using analysis::Effects;

namespace {

bool isWgmma(const Stmt &stmt, bool commit) {
  const auto *async = dynCast<AsyncStmt>(&stmt);
  return async && async->what == AsyncKind::Wgmma && async->commit == commit &&
         (commit || async->pending == 0);
}

/// Whether an expression is more than a few instructions.
bool takesLong(Expr e) {
  return e.kind() == ExprKind::Math ||
         (e.kind() == ExprKind::Binary && e->binaryOp() == BinaryOp::Div) ||
         std::any_of(e->operands.begin(), e->operands.end(), takesLong);
}

bool takesLong(const Stmt &stmt) {
  bool found = false;
  walk(stmt, [&](const Stmt &inner) {
    found |= isa<CallStmt>(inner);
    forEachExpr(inner, [&](Expr e) { found |= takesLong(e); });
    return !found;
  });
  return found;
}

class WaitFiller {
public:
  WaitFiller(Function &function, const Launch &launch) : function(function) {
    walk(launch.body, [&](const Stmt &stmt) {
      const auto *call = dynCast<CallStmt>(&stmt);
      if (call && call->collective == Collective::WarpGroup)
        for (const Argument &argument : call->args)
          if (const auto *pointer = std::get_if<Pointer>(&argument))
            ofProducts.insert(pointer->element.buffer->storage());
      return true;
    });
  }

  /// Whether something was moved.
  bool run(Block &block) {
    bool filled = false;
    for (StmtPtr &stmt : block)
      forEachBlock(*stmt, [&](Block &inner) { filled |= run(inner); });
    for (std::size_t wait = 1; wait < block.size(); ++wait)
      if (isWgmma(*block[wait], false) && isWgmma(*block[wait - 1], true)) {
        const std::size_t moved = fill(block, wait);
        filled |= moved > 0;
        wait += moved;
      }
    return filled;
  }

private:
  /// A statement that may stand in front of the wait.
  struct Candidate {
    std::size_t place = 0;
    Effects effects;
    bool moves = false;
  };

  /// Moves statements in front of the wait; gives their number.
  std::size_t fill(Block &block, std::size_t wait) const {
    std::vector<Candidate> candidates = candidatesBehind(block, wait);
    std::size_t moved = 0;
    llvm::SetVector<Buffer *> results;
    for (const Candidate &candidate : candidates) {
      if (!candidate.moves)
        continue;
      auto at = [&](std::size_t place) {
        return block.begin() + static_cast<std::ptrdiff_t>(place);
      };
      std::rotate(at(wait + moved), at(candidate.place), at(candidate.place + 1));
      ++moved;
      for (const analysis::MemoryAccess &access : candidate.effects.memory)
        if (access.writes())
          results.insert(access.use.buffer->storage());
    }
    Block pins;
    Builder b(function, pins);
    b.range = block[wait + moved]->range;
    for (Buffer *result : results)
      if (auto count = result->elementCount(); count && result->dtype.bits() == 32)
        pinAccumulators(b, {{result, {b.context().int32(0)}, {}}, *count});
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(wait + moved),
                 std::make_move_iterator(pins.begin()), std::make_move_iterator(pins.end()));
    return moved + pins.size();
  }

  /// What need not stay behind the wait; it moves if it takes long, or something that does needs
  /// it.
  std::vector<Candidate> candidatesBehind(const Block &block, std::size_t wait) const {
    std::vector<Candidate> found;
    std::vector<Effects> kept;
    for (std::size_t i = wait + 1; i < block.size() && !isWgmma(*block[i], true); ++i) {
      Effects effects = analysis::effectsOf(*block[i]);
      if (effects.breaks || effects.continues || effects.exits)
        break;
      if (computes(*block[i], effects) &&
          std::none_of(kept.begin(), kept.end(),
                       [&](const Effects &before) { return clash(before, effects); }))
        found.push_back({i, std::move(effects)});
      else
        kept.push_back(std::move(effects));
    }
    for (std::size_t i = found.size(); i-- > 0;)
      found[i].moves =
          takesLong(*block[found[i].place]) ||
          std::any_of(found.begin() + static_cast<std::ptrdiff_t>(i) + 1, found.end(),
                      [&](const Candidate &later) {
                        return later.moves && (clash(found[i].effects, later.effects) ||
                                               declares(*block[found[i].place], later.effects));
                      });
    return found;
  }

  static bool clash(const Effects &before, const Effects &behind) {
    analysis::Clash found = analysis::clashBetween(before, behind);
    return found.earlier || found.variable;
  }

  static bool declares(const Stmt &stmt, const Effects &user) {
    const auto *alloc = dynCast<AllocStmt>(&stmt);
    return alloc && (user.readsStorage(alloc->buffer) || user.writesStorage(alloc->buffer));
  }

  /// Whether a statement is some calculation on registers that no product uses.
  bool computes(const Stmt &stmt, const Effects &effects) const {
    if (const auto *alloc = dynCast<AllocStmt>(&stmt))
      return alloc->buffer->scope == Scope::Local && !alloc->init;
    const auto *loop = dynCast<ForStmt>(&stmt);
    return loop && loop->kind == ForKind::Unroll && !effects.synchronises && !effects.opaque &&
           std::all_of(effects.memory.begin(), effects.memory.end(), [&](const auto &access) {
             return access.storage()->scope == Scope::Local && !ofProducts.count(access.storage());
           });
  }

  Function &function;
  std::set<const Buffer *> ofProducts; ///< registers of any product of the launch
};

} // namespace

void fillWaits(Function &function, PassContext &) {
  for (auto &launch : function.launches)
    if (WaitFiller(function, *launch).run(launch->body))
      launch->note("what needs no product is done while the one that all wait for runs");
}

} // namespace tlc::passes
