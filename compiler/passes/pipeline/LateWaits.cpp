// late-waits: products of a warpgroup are waited for where something needs them to be done.
//
//   mbar wait %q_full ; gemm %K, %q -> %S            mbar wait %q_full ; gemm %K, %q -> %S
//   async wgmma wait(0)                              mbar wait %o_full ; gemm %V, %o -> %D
//   map { … %S … }                                   async wgmma wait(1)
//   mbar wait %o_full ; gemm %V, %o -> %D            map { … %S … }
//   async wgmma wait(0)                        =>    copy %S -> %P ; gemm %P, %o -> %dV
//   copy %S -> %P ; gemm %P, %o -> %dV               async wgmma wait(1)
//   async wgmma wait(0)                              map { … %D … }
//   mbar arrive %o_empty                             async wgmma wait(0)
//   map { … %D … }                                   mbar arrive %o_empty
//
// In program order each product is waited for at once, and the tensor cores idle while the threads
// work on what it gave. Here a product stays in flight until a statement touches its sums, or
// overwrites what it reads; at most one is in flight behind the one that was issued last. What
// tells a producer that a tile is free, and has products before it in flight, comes behind the wait
// for them. A product that needs nothing of what stands between it and the one before is issued
// behind that one, where sums of the one before are needed later anyway, so that no more registers
// hold something at once; and what reads the registers of a product's operand comes before it.
//
// Only in blocks where nobody else manages products in flight, and whose barriers are our own:
// barriers by hand may be of a protocol in which somebody waits for an arrival before the next
// wait. `in_flight no` in a schedule, and --schedule=as-written, keep program order.
//
// Why here: behind overlap-products and join-tiles, which know the order of attention's products
// and look for products that are waited for at once; while tile ops are whole, so that what touches
// what is a question about a dozen statements.
#include "analysis/Effects.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/roles/Channels.h"
#include "passes/roles/Rings.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;
using analysis::Effects;

namespace {

const Buffer *sumsOf(const Stmt &product) { return cast<GemmStmt>(product).c.buffer->storage(); }

bool touches(const Effects &effects, const Buffer *storage) {
  return effects.readsStorage(storage) || effects.writesStorage(storage);
}

/// What asks about the statements of a launch.
struct Facts {
  /// Sums that something else than fills and products writes: they would have to be settled in
  /// front of a product that adds to them.
  std::unordered_set<const Buffer *> changed;
  bool ownBarriers = true; ///< none is of the program

  explicit Facts(const Launch &launch, bool specialized) : ownBarriers(specialized) {
    bool barriers = false;
    walk(launch.body, [&](const Stmt &stmt) {
      barriers |= isa<MbarStmt>(stmt);
      if (isa<FillStmt>(stmt) || isWarpgroupGemm(stmt))
        return true;
      forEachUse(stmt, [&](const BufferUse &use) {
        if (static_cast<unsigned>(use.access) & static_cast<unsigned>(Access::Write))
          changed.insert(use.buffer->storage());
      });
      return true;
    });
    ownBarriers |= !barriers;
  }

  /// Whether the statement is a product that may be in flight.
  bool mayFly(const Stmt &stmt) const {
    const auto *gemm = dynCast<GemmStmt>(&stmt);
    return gemm && isWarpgroupGemm(stmt) && !gemm->async && !gemm->barrier.buffer &&
           ((gemm->clear && gemm->clear.isTrue()) || !changed.count(sumsOf(stmt)));
  }
};

/// Whether somebody else manages products of the block.
bool isManaged(const Block &block) {
  return std::any_of(block.begin(), block.end(), [](const StmtPtr &stmt) {
    const auto *async = dynCast<AsyncStmt>(stmt.get());
    const auto *gemm = dynCast<GemmStmt>(stmt.get());
    return (async && async->what == AsyncKind::Wgmma) || (gemm && gemm->async);
  });
}

bool isWait(const Stmt &stmt) {
  const auto *mbar = dynCast<MbarStmt>(&stmt);
  return mbar && mbar->op == MbarOp::Wait;
}

/// Whether the statement tells others that something is free, or there.
bool isArrival(const Stmt &stmt) {
  bool arrives = false;
  if (isHandover(stmt) && (isa<MbarStmt>(stmt) || isa<IfStmt>(stmt)))
    walk(stmt, [&](const Stmt &inner) {
      const auto *mbar = dynCast<MbarStmt>(&inner);
      arrives |= mbar && mbar->op != MbarOp::Wait;
      return true;
    });
  return arrives;
}

bool isWarpBarrier(const Stmt &stmt) {
  const auto *barrier = dynCast<BarrierStmt>(&stmt);
  return barrier && barrier->scope == BarrierScope::Warp;
}

// ---- Issuing products early

/// Whether a barrier that is waited for from `begin` to `end` has been so in the block before.
bool waitsAgain(const Block &block, std::size_t begin, std::size_t end) {
  std::unordered_set<const Buffer *> before;
  for (std::size_t i = 0; i < end; ++i)
    walk(std::as_const(*block[i]), [&](const Stmt &stmt) {
      if (isWait(stmt) && i < begin)
        before.insert(cast<MbarStmt>(stmt).barrier.buffer);
      return true;
    });
  return std::any_of(block.begin() + static_cast<std::ptrdiff_t>(begin),
                     block.begin() + static_cast<std::ptrdiff_t>(end), [&](const StmtPtr &stmt) {
                       return isWait(*stmt) && before.count(cast<MbarStmt>(*stmt).barrier.buffer);
                     });
}

/// Whether the statements from `begin` to `product` may stand in front of those from `place` on.
bool commutes(const Block &block, std::size_t place, std::size_t begin, std::size_t product) {
  Effects moved;
  for (std::size_t i = begin; i <= product; ++i)
    analysis::addEffects(moved, analysis::effectsOf(*block[i]));
  for (std::size_t i = place; i < begin; ++i) {
    const Effects passed = analysis::effectsOf(*block[i]);
    const auto *barrier = dynCast<BarrierStmt>(block[i].get());
    if (passed.opaque || passed.breaks || passed.continues || passed.exits ||
        isa<AsyncStmt>(*block[i]) || (barrier && !isWarpBarrier(*barrier)))
      return false;
    for (const ExprNode *var : passed.defines)
      if (moved.uses.count(var))
        return false;
    for (const analysis::MemoryAccess &access : passed.memory)
      if ((access.writes() && touches(moved, access.storage())) ||
          (access.reads() && moved.writesStorage(access.storage())))
        return false;
  }
  return true;
}

/// Whether a statement from `from` to `to` uses the storage.
bool usedBetween(const Block &block, std::size_t from, std::size_t to, const Buffer *storage) {
  for (std::size_t i = from; i < to; ++i)
    if (touches(analysis::effectsOf(*block[i]), storage))
      return true;
  return false;
}

/// Moves products, with the waits for their tiles, behind the product before.
void issueEarly(Block &block, const Facts &facts) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (!facts.mayFly(*block[i]))
      continue;
    std::size_t begin = i, place = before.value_or(i) + 1;
    const std::size_t length = block.size();
    while (begin > place && isHandover(*block[begin - 1]) &&
           (isWait(*block[begin - 1]) || isa<LoadStmt>(*block[begin - 1])))
      --begin;
    if (before && place < begin) {
      const Buffer *sums = sumsOf(*block[*before]);
      if (usedBetween(block, place, begin, sums) && usedBetween(block, i + 1, length, sums) &&
          !waitsAgain(block, begin, i) && commutes(block, place, begin, i)) {
        auto at = [&](std::size_t n) { return block.begin() + static_cast<std::ptrdiff_t>(n); };
        std::rotate(at(place), at(begin), at(i + 1));
        before = place + (i - begin);
        continue;
      }
    }
    before = i;
  }
}

/// Moves what reads the registers of a product's operand in front of it: while it is in flight
/// nobody may look at them.
void readBefore(Block &block, const Facts &facts) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (!facts.mayFly(*block[i]))
      continue;
    const Buffer *operand = cast<GemmStmt>(*block[i]).a.buffer->storage();
    if (operand->scope != Scope::Fragment)
      continue;
    for (std::size_t j = i + 1; j < block.size(); ++j) {
      const Effects reader = analysis::effectsOf(*block[j]);
      if (!touches(reader, operand))
        continue;
      if (reader.writesStorage(operand) || isa<GemmStmt>(*block[j]) || reader.synchronises ||
          !commutes(block, i, j, j))
        break;
      auto at = [&](std::size_t n) { return block.begin() + static_cast<std::ptrdiff_t>(n); };
      std::rotate(at(i), at(j), at(j + 1));
      ++i;
    }
  }
}

// ---- Waiting late

/// Whether nothing may be in flight at the statement, whatever it touches.
bool wantsAllDone(const Stmt &stmt) {
  const auto *barrier = dynCast<BarrierStmt>(&stmt);
  if (isa<RoleStmt>(stmt) || isWarpgroupGemm(stmt) || isArrival(stmt) ||
      (barrier && !isWarpBarrier(stmt)))
    return true;
  bool nested = false;
  forEachBlock(stmt, [&](const Block &block) {
    for (const StmtPtr &inner : block)
      nested |= wantsAllDone(*inner) || isWait(*inner);
  });
  return nested;
}

class Waiter {
public:
  explicit Waiter(const Facts &facts) : facts(facts) {}

  /// Whether a product is in flight beside something.
  bool run(Block &block) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      Stmt &stmt = *block[i];
      if (!flights.empty() && facts.ownBarriers &&
          (isArrival(stmt) ||
           (isWarpBarrier(stmt) && i + 1 < block.size() && isArrival(*block[i + 1])))) {
        held.push_back({std::move(block[i]), flights.back().number});
        continue;
      }
      land(unfinishedAt(stmt));
      const bool product = facts.mayFly(stmt);
      for (Flight &flight : flights)
        flight.beside |= product || !isHandover(stmt);
      out.push_back(std::move(block[i]));
      if (!product)
        continue;
      flights.push_back({&cast<GemmStmt>(stmt), ++issued});
      // Who waits for a tile does so as briefly as possible.
      if (!held.empty())
        land(flights.size() - 1);
    }
    land(flights.size());
    block = std::move(out);
    return flew;
  }

private:
  struct Flight {
    GemmStmt *product;
    std::size_t number;
    bool beside = false; ///< whether something else happens meanwhile
  };
  struct Held {
    StmtPtr stmt;
    std::size_t behind; ///< the last product before it
  };

  /// How many of those in flight, oldest first, have to be done before the statement.
  std::size_t unfinishedAt(const Stmt &stmt) {
    if (isWait(stmt) && !waited.insert(cast<MbarStmt>(stmt).barrier.buffer).second && !held.empty())
      return flights.size(); // a tile that comes once more, for which its place must be free
    const Effects effects = analysis::effectsOf(stmt);
    if (!facts.mayFly(stmt) && (wantsAllDone(stmt) || effects.opaque || effects.breaks ||
                                effects.continues || effects.exits))
      return flights.size();
    for (std::size_t n = flights.size(); n > 0; --n) {
      const GemmStmt &product = *flights[n - 1].product;
      const Buffer *a = product.a.buffer->storage();
      if (touches(effects, sumsOf(product)) || effects.writesStorage(a) ||
          (a->scope == Scope::Fragment && effects.readsStorage(a)) ||
          effects.writesStorage(product.b.buffer->storage()))
        return n;
    }
    return 0;
  }

  /// The first `count` of those in flight are done from here on.
  void land(std::size_t count) {
    if (count == 0)
      return;
    const std::size_t landed = flights[count - 1].number;
    if (flights.size() > 1 || flights.front().beside) {
      auto wait = std::make_unique<AsyncStmt>(flights[count - 1].product->range);
      wait->what = AsyncKind::Wgmma;
      wait->pending = static_cast<std::int64_t>(flights.size() - count);
      out.push_back(std::move(wait));
      for (Flight &flight : flights)
        flight.product->async = flight.beside = flew = true;
    }
    flights.erase(flights.begin(), flights.begin() + static_cast<std::ptrdiff_t>(count));
    std::size_t free = 0;
    for (; free < held.size() && held[free].behind <= landed; ++free)
      out.push_back(std::move(held[free].stmt));
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(free));
  }

  const Facts &facts;
  Block out;
  std::vector<Flight> flights; ///< oldest first
  std::vector<Held> held;
  std::unordered_set<const Buffer *> waited; ///< barriers, since the block began
  std::size_t issued = 0;
  bool flew = false;
};

bool visit(Block &block, const Facts &facts) {
  bool changed = false;
  for (StmtPtr &stmt : block)
    forEachBlock(*stmt, [&](Block &inner) { changed |= visit(inner, facts); });
  const bool products = std::any_of(block.begin(), block.end(),
                                    [&](const StmtPtr &stmt) { return facts.mayFly(*stmt); });
  if (!products || isManaged(block))
    return changed;
  if (facts.ownBarriers)
    issueEarly(block, facts);
  readBefore(block, facts);
  return Waiter(facts).run(block) || changed;
}

} // namespace

void lateWaits(Function &function, PassContext &context) {
  if (function.options.hintsAreBinding)
    return;
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    Launch &launch = *function.launches[i];
    LaunchPlan *plan = context.schedule.launch(i);
    if (plan && !plan->inFlight.value_or(true))
      continue;
    const bool possible = context.target.has(Feature::Wgmma) && !(plan && plan->split);
    const bool changed =
        possible && visit(launch.body, Facts(launch, plan && plan->specialize.value_or(false)));
    if (!plan)
      continue;
    if (changed && !plan->inFlight) {
      plan->inFlight = true;
      plan->inFlightReason = "products are waited for where something needs them to be done";
    } else if (!changed && plan->inFlight && context.schedule.given) {
      context.diagnostics.report(diag::ScheduleMismatch, launch.range, plan->name)
          .note(plan->split ? "`in_flight` is not for warpgroups of which one runs ahead: nothing "
                              "is there to run beside a product"
                            : "`in_flight` is for products of warpgroups, where something beside "
                              "them does not need them to be done");
    }
  }
}

} // namespace tlc::passes
