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

class Overlapper {
public:
  explicit Overlapper(Function &function) : function(function) {}

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
    Block part;
    for (std::size_t i = from; i < to; ++i)
      part.push_back(cloneStmt(*body[i]));
    return freshCopy(function, part, map);
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

} // namespace

void overlapProducts(Function &function, PassContext &context) {
  if (!context.target.has(Feature::Wgmma))
    return;
  for (auto &launch : function.launches)
    walk(launch->body, [&](Stmt &stmt) {
      if (auto *role = dynCast<RoleStmt>(&stmt))
        Overlapper(function).block(role->body);
      return !isa<RoleStmt>(stmt);
    });
}

} // namespace tlc::passes
