// overlap-products: the second of two dependent products runs while the next round's first result
// is worked on.
//
//   for %k in lo .. hi {
//     gemm %Q, %K -> %S
//     … %S … ; %O scaled ; %S -> %P
//     mbar wait … ; gemm %P, %V -> %O
//     mbar arrive …
//   }
//     =>
//   if lo < hi { gemm %Q, %K -> %S ; … %S … -> %P }            peeled
//   for %k in lo + 1 .. hi {
//     gemm %Q, %K -> %S async
//     mbar wait … ; gemm %P, %V -> %O async                    of the round before
//     async wgmma wait(1) ; … %S …
//     async wgmma wait(0) ; mbar arrive … ; %O scaled ; %S -> %P
//   }
//   if lo < hi { mbar wait … ; gemm %P, %V -> %O ; mbar arrive … }
//
// Attention multiplies, works on the scores, and multiplies again; in program order the tensor
// cores idle meanwhile. The last product of a round is moved behind the first of the next one,
// together with the waits right before it and the releases behind it. What touches its result or
// its register operand has to wait for it; everything else between the two products runs beside it.
//
// What the second product reads is wanted a round later than what the first one reads, so a
// producer loads in that order, too:
//
//   for %k in lo .. hi {                           if lo < hi { … copy %K[lo] -> %K_s … }
//     … copy %K[%k] -> %K_s …                      for %k in lo + 1 .. hi {
//     … copy %V[%k] -> %V_s …                 =>     … copy %K[%k] -> %K_s …
//   }                                                … copy %V[%k - 1] -> %V_s …
//                                                  }
//                                                  if lo < hi { … copy %V[hi - 1] -> %V_s … }
//
// Why here: right after specialize-warps, whose rings make the tiles of two rounds live at once;
// while tile ops are whole, so that what depends on what is a question about a dozen statements.
#include "analysis/Effects.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/roles/Channels.h"
#include "passes/roles/Rings.h"

#include <algorithm>
#include <set>

namespace tlc::passes {

using namespace ir;
using analysis::Effects;

namespace {

/// A loop body as this pass sees it: indices of its statements.
struct Parts {
  std::size_t first = 0; ///< the first product
  std::size_t moved = 0,
              second = 0; ///< the second product, and the first of the statements moved with it
  std::vector<std::size_t> early, late; ///< between the two, in program order
};

bool touches(const Effects &effects, const Buffer *storage) {
  return effects.readsStorage(storage) || effects.writesStorage(storage);
}

/// The parts of a body that has the form; none otherwise.
std::optional<Parts> partsOf(const Block &body) {
  std::vector<std::size_t> products;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (isWarpgroupGemm(*body[i]))
      products.push_back(i);
    bool nested = false;
    forEachBlock(std::as_const(*body[i]), [&](const Block &inner) {
      walk(inner, [&](const Stmt &s) { return !(nested |= isa<GemmStmt>(s)); });
    });
    if (nested || (isa<GemmStmt>(*body[i]) && !isWarpgroupGemm(*body[i])))
      return std::nullopt;
  }
  if (products.size() != 2)
    return std::nullopt;
  Parts parts;
  parts.first = products[0];
  parts.second = parts.moved = products[1];
  const auto &second = cast<GemmStmt>(*body[parts.second]);
  const auto &first = cast<GemmStmt>(*body[parts.first]);
  if (first.async || second.async || second.clear ||
      second.a.buffer->storage()->scope != Scope::Fragment ||
      first.a.buffer->storage()->scope != Scope::Shared)
    return std::nullopt;
  for (std::size_t i = parts.second + 1; i < body.size(); ++i)
    if (!isHandover(*body[i]))
      return std::nullopt;
  while (parts.moved > parts.first + 1 && isHandover(*body[parts.moved - 1]) &&
         !isa<BarrierStmt>(*body[parts.moved - 1]) && !isa<StoreStmt>(*body[parts.moved - 1]) &&
         !isa<IfStmt>(*body[parts.moved - 1]))
    --parts.moved;
  return parts;
}

/// Sorts what stands between the products; false if the second cannot be delayed.
bool sortMiddle(const Block &body, Expr loopVariable, Parts &parts) {
  Effects moved;
  for (std::size_t i = parts.moved; i < body.size(); ++i)
    analysis::addEffects(moved, analysis::effectsOf(*body[i]));
  const auto &product = cast<GemmStmt>(*body[parts.second]);
  const Buffer *result = product.c.buffer->storage(), *operand = product.a.buffer->storage();
  if (moved.uses.count(loopVariable.get()))
    return false;
  std::vector<Effects> lateEffects;
  for (std::size_t i = 0; i < parts.moved; ++i) {
    Effects effects = analysis::effectsOf(*body[i]);
    if (effects.breaks || effects.continues || effects.exits || effects.opaque)
      return false;
    for (const ExprNode *var : effects.defines)
      if (moved.uses.count(var))
        return false;
    for (const analysis::MemoryAccess &access : effects.memory)
      if (access.storage() != result && access.storage() != operand &&
          ((access.writes() && touches(moved, access.storage())) ||
           (access.reads() && moved.writesStorage(access.storage()))))
        return false;
    bool late = touches(effects, result) || touches(effects, operand);
    for (const Effects &before : lateEffects)
      late |= analysis::orderBetween(before, effects) != analysis::Order::None;
    if (i <= parts.first) {
      if (late)
        return false; // the first product, or what it needs, waits for the second
      continue;
    }
    (late ? parts.late : parts.early).push_back(i);
    if (late)
      lateEffects.push_back(std::move(effects));
  }
  return !parts.late.empty();
}

/// Statements of a body once more.
Block roundOf(Function &function, const Block &body, std::size_t from, std::size_t to,
              Substitution map) {
  Block part;
  for (std::size_t i = from; i < to; ++i)
    part.push_back(cloneStmt(*body[i]));
  return freshCopy(function, part, map);
}

class Overlapper {
public:
  explicit Overlapper(Function &function) : function(function) {}

  /// What second products that were moved read from shared memory.
  std::set<const Buffer *> wantedLater;

  void block(Block &b) {
    Block out;
    for (StmtPtr &stmt : b) {
      forEachBlock(*stmt, [&](Block &inner) { block(inner); });
      auto *loop = dynCast<ForStmt>(stmt.get());
      if (loop && loop->kind == ForKind::Serial && (!loop->step || loop->step.isConstant(1)) &&
          apply(*loop, stmt, out))
        continue;
      out.push_back(std::move(stmt));
    }
    b = std::move(out);
  }

private:
  bool apply(ForStmt &loop, StmtPtr &self, Block &out) {
    auto parts = partsOf(loop.body);
    if (!parts || !sortMiddle(loop.body, loop.var, *parts))
      return false;
    Block &body = loop.body;
    Builder b(function, out);
    b.range = loop.range;
    wantedLater.insert(cast<GemmStmt>(*body[parts->second]).b.buffer->storage());
    hoistAllocations(body, *parts, out);
    Expr runs = lessThan(loop.lo, loop.hi);
    // The first round, without its last product.
    Block peeled = copyOf(body, 0, parts->moved, {{loop.var, loop.lo}});
    b.when(runs, [&] {
      for (StmtPtr &stmt : peeled)
        b.add(std::move(stmt));
    });
    Block last = copyOf(body, parts->moved, body.size(), {});
    body = steady(body, *parts, loop.range);
    loop.lo = loop.lo + 1;
    out.push_back(std::move(self));
    b.when(runs, [&] {
      for (StmtPtr &stmt : last)
        b.add(std::move(stmt));
    });
    return true;
  }

  /// Contents start undefined in each round, so one allocation in front serves all.
  static void hoistAllocations(Block &body, Parts &parts, Block &out) {
    auto shift = [](std::vector<std::size_t> &places, std::size_t removed) {
      std::erase(places, removed);
      for (std::size_t &place : places)
        place -= place > removed;
    };
    for (std::size_t i = 0; i < body.size();) {
      auto *alloc = dynCast<AllocStmt>(body[i].get());
      if (!alloc || alloc->init) {
        ++i;
        continue;
      }
      out.push_back(std::move(body[i]));
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      parts.first -= parts.first > i;
      parts.moved -= parts.moved > i;
      parts.second -= parts.second > i;
      shift(parts.early, i);
      shift(parts.late, i);
    }
  }

  Block copyOf(const Block &body, std::size_t from, std::size_t to, Substitution map) {
    return roundOf(function, body, from, to, std::move(map));
  }

  Block steady(Block &body, const Parts &parts, SourceRange range) {
    Block out;
    auto move = [&](std::size_t i) { out.push_back(std::move(body[i])); };
    auto wait = [&](std::int64_t pending) {
      auto stmt = std::make_unique<AsyncStmt>(range);
      stmt->what = AsyncKind::Wgmma;
      stmt->pending = pending;
      out.push_back(std::move(stmt));
    };
    cast<GemmStmt>(*body[parts.first]).async = true;
    cast<GemmStmt>(*body[parts.second]).async = true;
    for (std::size_t i = 0; i <= parts.first; ++i)
      move(i);
    for (std::size_t i = parts.moved; i <= parts.second; ++i)
      move(i);
    wait(1);
    for (std::size_t i : parts.early)
      move(i);
    wait(0);
    for (std::size_t i = parts.second + 1; i < body.size(); ++i)
      move(i);
    for (std::size_t i : parts.late)
      move(i);
    return out;
  }

  Function &function;
};

/// Producers load what is wanted later behind the next round's other tiles.
class LoadDelayer {
public:
  LoadDelayer(Function &function, const std::set<const Buffer *> &wantedLater)
      : function(function), wantedLater(wantedLater) {}

  void block(Block &b) {
    Block out;
    for (StmtPtr &stmt : b) {
      forEachBlock(*stmt, [&](Block &inner) { block(inner); });
      auto *loop = dynCast<ForStmt>(stmt.get());
      auto from = loop && loop->kind == ForKind::Serial && (!loop->step || loop->step.isConstant(1))
                      ? laterPart(loop->body)
                      : std::nullopt;
      if (from)
        delay(*loop, *from, std::move(stmt), out);
      else
        out.push_back(std::move(stmt));
    }
    b = std::move(out);
  }

private:
  /// Where in a body begins what loads only tiles that are wanted later, and concerns nothing that
  /// stands before; none: it has no such end.
  std::optional<std::size_t> laterPart(const Block &body) const {
    std::optional<std::size_t> from;
    bool others = false;
    for (std::size_t i = 0; i < body.size(); ++i) {
      const auto *copy = dynCast<CopyStmt>(body[i].get());
      if (!copy)
        continue;
      const bool later = wantedLater.count(copy->target.buffer->storage()) > 0;
      if (from && !later)
        return std::nullopt;
      others |= !later;
      if (later && !from)
        from = i;
    }
    if (!from || !others)
      return std::nullopt;
    while (*from > 0 && isHandover(*body[*from - 1]) && !isa<StoreStmt>(*body[*from - 1]))
      --*from;
    Effects later;
    for (std::size_t i = *from; i < body.size(); ++i)
      analysis::addEffects(later, analysis::effectsOf(*body[i]));
    for (std::size_t i = 0; i < body.size(); ++i) {
      Effects effects = analysis::effectsOf(*body[i]);
      if (effects.breaks || effects.continues || effects.exits || effects.opaque)
        return std::nullopt;
      if (i < *from && !independent(effects, later))
        return std::nullopt;
    }
    return from;
  }

  /// Whether what stands before can be done a round earlier than what comes later: they have
  /// tensors that are only read in common, and no tile, position or barrier. (Who waits for both
  /// parts at one barrier wants them together.)
  static bool independent(const Effects &before, const Effects &later) {
    return std::none_of(before.defines.begin(), before.defines.end(),
                        [&](const ExprNode *var) { return later.uses.count(var) > 0; }) &&
           std::none_of(before.memory.begin(), before.memory.end(), [&](const auto &access) {
             const bool readOnly = access.storage()->scope == Scope::Global && !access.writes() &&
                                   !later.writesStorage(access.storage());
             return !readOnly && touches(later, access.storage());
           });
  }

  void delay(ForStmt &loop, std::size_t from, StmtPtr self, Block &out) {
    Builder b(function, out);
    b.range = loop.range;
    Block &body = loop.body;
    Expr runs = lessThan(loop.lo, loop.hi);
    auto round = [&](std::size_t first, std::size_t end, Expr k) {
      return roundOf(function, body, first, end, {{loop.var, k}});
    };
    auto onlyIfItRuns = [&](Block part) {
      b.when(runs, [&] {
        for (StmtPtr &stmt : part)
          b.add(std::move(stmt));
      });
    };
    Block before = round(from, body.size(), loop.var - 1),
          last = round(from, body.size(), loop.hi - 1);
    onlyIfItRuns(round(0, from, loop.lo));
    body.resize(from);
    std::move(before.begin(), before.end(), std::back_inserter(body));
    loop.lo = loop.lo + 1;
    b.add(std::move(self));
    onlyIfItRuns(std::move(last));
  }

  Function &function;
  const std::set<const Buffer *> &wantedLater;
};

} // namespace

void overlapProducts(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma))
    return;
  for (auto &launch : function.launches) {
    Overlapper overlapper(function);
    auto inRoles = [&](auto &&change) {
      walk(launch->body, [&](Stmt &stmt) {
        if (auto *role = dynCast<RoleStmt>(&stmt))
          change(role->body);
        return !isa<RoleStmt>(stmt);
      });
    };
    inRoles([&](Block &body) { overlapper.block(body); });
    if (!overlapper.wantedLater.empty())
      launch->note("the second product of a round runs beside the work of the next one");
    inRoles([&](Block &body) { LoadDelayer(function, overlapper.wantedLater).block(body); });
  }
}

} // namespace tlc::passes
