// join-tiles: the last product of a tile runs beside the first one of the next.
//
//   for %round in lo .. hi {                     the walk over tiles, as overlap-products leaves it
//     let %by = … ; fill %O = 0.0 ; mbar wait …  of %Q
//     gemm %Q, %K -> %S ; … %S … -> %P
//     for %k in 1 .. %T { … }
//     mbar wait … ; gemm %P, %V -> %O ; mbar arrive …
//     mbar arrive …                              of %Q
//     … %O, %sum … ; copy %O -> … %by …
//   }
//     =>
//   for %round in lo .. hi {
//     let %by = … ; mbar wait …
//     if %round == lo {
//       fill %O = 0.0 ; gemm %Q, %K -> %S ; … %S … -> %P
//     } else {
//       copy %sum -> %sum_done ; … %sum_done …   what of the old tile needs no product
//       gemm %Q, %K -> %S async
//       mbar wait … ; gemm %P, %V -> %O async    of the tile before
//       async wgmma wait(1) ; … %S …
//       async wgmma wait(0) ; mbar arrive …
//       … %O, %sum_done … ; copy %O -> … %by_done …
//       fill %O = 0.0 ; … -> %P
//     }
//     for %k in 1 .. %T { … } ; mbar arrive …
//     store %by_done[] = %by
//   }
//   if lo < hi { mbar wait … ; gemm %P, %V -> %O ; … ; copy %O -> … %by_done … }
//
// A short tile has few rounds in which products run beside other work; between two tiles the tensor
// cores idle while the last sums are stored and the first scores of the next tile are worked on.
// What finishes a tile needs values that the next one computes anew: sums of rows are kept, and
// where the tile lies is carried along. A loop that may not run at all in any tile is joined only
// where it does run, which must be known in front of the walk.
//
// Why here: behind stage-stores, which makes the stores that finish a tile; before layouts, since
// statements are copied and values of rows kept.
#include "analysis/Effects.h"
#include "analysis/Ranges.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/roles/Channels.h"
#include "passes/roles/Rings.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;
using analysis::Effects;

namespace {

using Indices = std::vector<std::size_t>;

bool holdsProduct(const Stmt &stmt) {
  bool found = isWarpgroupGemm(stmt);
  forEachBlock(stmt, [&](const Block &inner) {
    walk(inner, [&](const Stmt &s) { return !(found |= isWarpgroupGemm(s)); });
  });
  return found;
}

bool touches(const Effects &effects, const Buffer *storage) {
  return effects.readsStorage(storage) || effects.writesStorage(storage);
}

bool isPrivate(const Effects &effects) {
  return std::all_of(effects.memory.begin(), effects.memory.end(), [](const auto &access) {
    return access.storage()->scope == Scope::Fragment || access.storage()->scope == Scope::Local;
  });
}

bool usesAny(const Effects &effects, const analysis::ExprSet &vars) {
  return std::any_of(vars.begin(), vars.end(),
                     [&](const ExprNode *var) { return effects.uses.count(var) > 0; });
}

/// The body of a walk, by indices of its statements; branches around products are taken apart and
/// allocations are gone.
struct Parts {
  std::size_t first = 0, rounds = 0, last = 0; ///< the first product, the loop, the last product
  Indices common;            ///< where the tile lies, and waits for what the loop reads, too
  Indices start;             ///< what else comes in front of the loop, in program order
  Indices early, late;       ///< of those: beside the last product of the tile before, or behind it
  Indices release, released; ///< behind the last product: what it and the loop give back
  Indices finish;            ///< the rest
  std::vector<bool> ahead;   ///< of `finish`: what needs nothing of the last product
  std::vector<Buffer *> kept; ///< what `finish` reads and `early` computes anew
  std::vector<Expr> carried;  ///< defined in `common`, used behind the loop
};

/// Reads a body; `reason` says why it has not the form.
class Reader {
public:
  explicit Reader(const Block &body) : body(body) {
    for (const StmtPtr &stmt : body)
      effects.push_back(analysis::effectsOf(*stmt));
  }

  std::optional<Parts> read() {
    if (!findProducts() || !findHandovers() || !findCommon() || !sortStart() || !findKept())
      return std::nullopt;
    findAhead();
    return std::move(parts);
  }
  std::string reason;

private:
  bool no(const char *why) {
    reason = why;
    return false;
  }

  bool findProducts() {
    Indices alone, loops;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (isWarpgroupGemm(*body[i]))
        alone.push_back(i);
      else if (holdsProduct(*body[i]))
        loops.push_back(i);
      const Effects &e = effects[i];
      if (e.opaque || e.breaks || e.continues || e.exits)
        return no("a tile does something whose place is fixed");
    }
    if (alone.size() != 2 || loops.size() != 1 || !isa<ForStmt>(*body[loops[0]]))
      return no("a tile is not one loop of two products, one of which is a round late");
    parts.first = alone[0], parts.rounds = loops[0], parts.last = alone[1];
    const auto &first = cast<GemmStmt>(*body[parts.first]),
               &last = cast<GemmStmt>(*body[parts.last]);
    if (parts.first > parts.rounds || parts.rounds > parts.last || first.async || last.async ||
        last.clear || last.a.buffer->storage()->scope != Scope::Fragment)
      return no("a tile is not one loop of two products, one of which is a round late");
    result = last.c.buffer->storage();
    operand = last.a.buffer->storage();
    return true;
  }

  /// Behind the loop: waits, the product, what is given back.
  bool findHandovers() {
    analysis::ExprSet own; // of the last product's ring
    std::unordered_set<const Buffer *> positions;
    for (std::size_t i = parts.rounds + 1; i < parts.last; ++i) {
      if (!isHandover(*body[i]))
        return no("something stands between the loop and the last product");
      own.insert(effects[i].defines.begin(), effects[i].defines.end());
      for (const analysis::MemoryAccess &access : effects[i].memory)
        if (access.storage()->scope == Scope::Local)
          positions.insert(access.storage());
    }
    Indices barriers;
    std::size_t i = parts.last + 1;
    for (; i < body.size() && isHandover(*body[i]); ++i) {
      barriers.push_back(i);
      if (isa<BarrierStmt>(*body[i]))
        continue;
      bool ours = usesAny(effects[i], own);
      for (const analysis::MemoryAccess &access : effects[i].memory)
        ours |= positions.count(access.storage()) > 0;
      Indices &to = ours ? parts.release : parts.released;
      to.insert(to.end(), barriers.begin(), barriers.end());
      barriers.clear();
    }
    parts.finish = barriers;
    for (; i < body.size(); ++i) {
      bool waits = false;
      walk(std::as_const(*body[i]),
           [&](const Stmt &stmt) { return !(waits |= isa<MbarStmt>(stmt)); });
      if (waits || isa<ForStmt>(*body[i]))
        return no("what finishes a tile waits for others, or is a loop");
      parts.finish.push_back(i);
    }
    return true;
  }

  /// Definitions that are used in or behind the loop, facts, and waits that need nothing else.
  bool findCommon() {
    analysis::ExprSet needed, defined;
    for (std::size_t i = parts.rounds; i < body.size(); ++i)
      needed.insert(effects[i].uses.begin(), effects[i].uses.end());
    std::vector<bool> isCommon(parts.rounds, false);
    for (std::size_t i = parts.rounds; i-- > 0;) {
      const Stmt &stmt = *body[i];
      const auto *load = dynCast<LoadStmt>(&stmt);
      bool wanted = std::any_of(effects[i].defines.begin(), effects[i].defines.end(),
                                [&](const ExprNode *var) { return needed.count(var) > 0; });
      isCommon[i] = isa<LetStmt>(stmt) || isa<AssumeStmt>(stmt) ||
                    (wanted && load && load->source.buffer->storage()->scope == Scope::Local);
      if (wanted && !isCommon[i])
        return no("a value of the first round is used behind it");
      if (isCommon[i])
        needed.insert(effects[i].uses.begin(), effects[i].uses.end());
      else
        defined.insert(effects[i].defines.begin(), effects[i].defines.end());
    }
    for (std::size_t i = 0; i < parts.rounds; ++i) {
      const auto *mbar = dynCast<MbarStmt>(body[i].get());
      if (mbar && i < parts.first && !usesAny(effects[i], defined))
        isCommon[i] = true;
      if (isCommon[i] && usesAny(effects[i], defined))
        return no("where a tile lies depends on its first round");
      (isCommon[i] ? parts.common : parts.start).push_back(i);
    }
    for (std::size_t i : parts.common)
      if (isa<LetStmt>(*body[i]) || isa<LoadStmt>(*body[i]))
        forEachDefinition(std::as_const(*body[i]), [&](Expr var) {
          auto uses = [&](std::size_t f) { return effects[f].uses.count(var.get()) > 0; };
          if (std::any_of(parts.finish.begin(), parts.finish.end(), uses))
            parts.carried.push_back(var);
        });
    return true;
  }

  /// What needs the last product's result, or overwrites its operand, comes behind it.
  bool sortStart() {
    std::vector<Effects> behind;
    for (std::size_t i : parts.start) {
      bool late = touches(effects[i], result) || touches(effects[i], operand);
      Effects inOrder = effects[i];
      // Registers are of no interest to other threads.
      if (isHandover(*body[i]) && std::all_of(behind.begin(), behind.end(), isPrivate))
        inOrder.synchronises = false;
      for (const Effects &before : behind)
        late |= analysis::orderBetween(before, inOrder) != analysis::Order::None;
      if (late && i == parts.first)
        return no("the first product needs what the last one of the tile before overwrites");
      (late ? parts.late : parts.early).push_back(i);
      if (late)
        behind.push_back(effects[i]);
    }
    return true;
  }

  /// What the new tile does before the old one is finished must leave that alone, but for values of
  /// rows, of which there can be two.
  bool findKept() {
    Effects before, finish;
    for (const Indices *part : {&parts.common, &parts.early})
      for (std::size_t i : *part)
        analysis::addEffects(before, effects[i]);
    for (std::size_t i : parts.finish)
      analysis::addEffects(finish, effects[i]);
    for (const analysis::MemoryAccess &a : before.memory)
      for (const analysis::MemoryAccess &b : finish.memory) {
        if (!analysis::mayAlias(*a.use.buffer, *b.use.buffer) || (!a.writes() && !b.writes()))
          continue;
        Buffer *storage = a.use.buffer->storage();
        if (storage->scope != Scope::Fragment || storage->rank() != 1 || a.use.buffer != storage ||
            b.use.buffer != storage)
          return no("the next tile overwrites what finishes this one");
        if (!std::count(parts.kept.begin(), parts.kept.end(), storage))
          parts.kept.push_back(storage);
      }
    return true;
  }

  /// Sums of rows are inverted in front of the products: beside them there are no registers left
  /// for a division.
  void findAhead() {
    analysis::ExprSet defined;
    for (const Effects &e : effects)
      defined.insert(e.defines.begin(), e.defines.end());
    std::vector<Effects> behind;
    for (std::size_t i : parts.finish) {
      const Effects &e = effects[i];
      bool ahead = isa<MapStmt>(*body[i]) && isPrivate(e) && !e.synchronises &&
                   !usesAny(e, defined) && !touches(e, result) && !touches(e, operand);
      for (const Effects &before : behind)
        ahead &= analysis::orderBetween(before, e) == analysis::Order::None;
      parts.ahead.push_back(ahead);
      if (!ahead)
        behind.push_back(e);
    }
  }

  const Block &body;
  std::vector<Effects> effects;
  Parts parts;
  const Buffer *result = nullptr, *operand = nullptr;
};

/// One walk over tiles.
class Joiner {
public:
  /// `asked`: also where that takes another walk for tiles without products.
  Joiner(Function &function, analysis::Ranges &ranges, bool asked, std::string &reason)
      : function(function), context(*function.context), ranges(ranges), asked(asked),
        reason(reason) {}

  /// Appends the joined walk to `out` if it has the form; whether it has.
  bool apply(StmtPtr &self, Block &out) {
    const auto &given = cast<ForStmt>(*self);
    if (given.kind != ForKind::Serial || leavesLoop(given.body) || !guardOf(given))
      return false;
    const std::size_t known = function.buffers.size();
    Substitution renamed;
    StmtPtr copy = freshCopy(function, *self, renamed);
    auto &loop = cast<ForStmt>(*copy);
    const std::vector<Buffer *> tiles = sharedTiles(loop);
    Block allocations;
    flatten(loop.body, allocations);
    Reader reader(loop.body);
    auto parts = reader.read();
    if (!parts) {
      reason = reader.reason;
      function.buffers.resize(known);
      return false;
    }
    Builder b(function, out);
    b.range = loop.range;
    std::unordered_set<const Buffer *> outside;
    for (StmtPtr &stmt : allocations) {
      outside.insert(cast<AllocStmt>(*stmt).buffer);
      b.add(std::move(stmt));
    }
    if (!guard) {
      join(b, std::move(copy), *parts);
      return true;
    }
    IfStmt &branch = b.when(guard, [&] { join(b, std::move(copy), *parts); });
    useTiles(cast<ForStmt>(*self), tiles, outside);
    branch.otherwise.push_back(std::move(self));
    return true;
  }

private:
  /// The condition under which a tile has products, the same in all tiles; null: it always has.
  /// False if it is not known in front of the walk.
  bool guardOf(const ForStmt &loop) {
    std::unordered_set<const ExprNode *> inside{loop.var.get()};
    walk(loop.body, [&](const Stmt &stmt) {
      forEachDefinition(stmt, [&](Expr var) { inside.insert(var.get()); });
      return true;
    });
    analysis::Ranges::Scope scope(ranges);
    ranges.bind(loop);
    for (const StmtPtr &stmt : loop.body) {
      if (const auto *let = dynCast<LetStmt>(stmt.get()))
        ranges.bind(*let);
      else if (const auto *fact = dynCast<AssumeStmt>(stmt.get()))
        ranges.assume(fact->condition);
      const auto *branch = dynCast<IfStmt>(stmt.get());
      if (!branch || !holdsProduct(*stmt))
        continue;
      if (!branch->otherwise.empty())
        return no("a tile may have no products");
      if (ranges.decide(branch->condition).value_or(false))
        continue;
      std::vector<Expr> used;
      collectVars(branch->condition, used);
      bool known = std::none_of(used.begin(), used.end(),
                                [&](Expr var) { return inside.count(var.get()) > 0; });
      if (!known || !asked || (guard && guard != branch->condition))
        return no("a tile may have no products");
      guard = branch->condition;
    }
    return true;
  }

  bool no(const char *why) {
    reason = why;
    return false;
  }

  /// What the walk allocates in shared memory, in program order.
  static std::vector<Buffer *> sharedTiles(ForStmt &loop) {
    std::vector<Buffer *> tiles;
    walk(loop.body, [&](Stmt &stmt) {
      if (auto *alloc = dynCast<AllocStmt>(&stmt); alloc && alloc->buffer->scope == Scope::Shared)
        tiles.push_back(alloc->buffer);
      return true;
    });
    return tiles;
  }

  /// Only one of the walk and its copy is run: the walk gets those of the copy's tiles that are
  /// allocated outside of both.
  static void useTiles(ForStmt &loop, const std::vector<Buffer *> &tiles,
                       const std::unordered_set<const Buffer *> &outside) {
    std::size_t next = 0;
    std::vector<std::pair<Buffer *, Buffer *>> same;
    rewrite(loop.body, [&](StmtPtr stmt, Block &out) {
      auto *alloc = dynCast<AllocStmt>(stmt.get());
      Buffer *tile = alloc && alloc->buffer->scope == Scope::Shared ? tiles[next++] : nullptr;
      if (tile && outside.count(tile))
        same.emplace_back(alloc->buffer, tile);
      else
        out.push_back(std::move(stmt));
    });
    for (auto [own, tile] : same)
      replaceBuffer(loop.body, own, tile);
  }

  /// Takes branches around products apart and allocations out.
  static void flatten(Block &body, Block &allocations) {
    Block flat;
    for (StmtPtr &stmt : body) {
      auto *branch = dynCast<IfStmt>(stmt.get());
      Block one;
      if (branch && holdsProduct(*stmt))
        one = std::move(branch->then);
      else
        one.push_back(std::move(stmt));
      for (StmtPtr &inner : one) {
        const auto *alloc = dynCast<AllocStmt>(inner.get());
        (alloc && !alloc->init ? allocations : flat).push_back(std::move(inner));
      }
    }
    body = std::move(flat);
  }

  void join(Builder &b, StmtPtr self, const Parts &parts) {
    auto &loop = cast<ForStmt>(*self);
    Block body = std::move(loop.body);
    for (Expr var : parts.carried) {
      carriers.push_back(
          &function.addBuffer(var->name + "_done", var.dtype(), Scope::Local, {}, loop.range));
      b.alloc(*carriers.back()).init = context.zero(var.dtype());
    }
    for (Buffer *buffer : parts.kept) {
      kept.push_back(&function.addBuffer(buffer->name + "_done", buffer->dtype, Scope::Fragment,
                                         buffer->shape, loop.range));
      b.alloc(*kept.back());
    }
    Block last;
    b.in(last, [&] { finishLast(b, body, parts); });
    Expr lo = loop.lo, hi = loop.hi;
    loop.body.clear();
    b.in(loop.body, [&] { addTile(b, body, parts, equals(loop.var, lo)); });
    b.add(std::move(self));
    b.when(lessThan(lo, hi), [&] {
      for (StmtPtr &stmt : last)
        b.add(std::move(stmt));
    });
  }

  void addTile(Builder &b, Block &body, const Parts &parts, Expr isFirst) {
    move(b, body, parts.common);
    IfStmt &branch = b.when(isFirst, [&] { copy(b, body, parts.start, {}); });
    b.in(branch.otherwise, [&] { addSeam(b, body, parts); });
    b.add(std::move(body[parts.rounds]));
    move(b, body, parts.released);
    for (std::size_t i = 0; i < carriers.size(); ++i)
      b.store(*carriers[i], {}, parts.carried[i]);
  }

  /// The last product of the tile before and the first of this one.
  void addSeam(Builder &b, Block &body, const Parts &parts) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      auto &copy = b.add<CopyStmt>();
      copy.source = wholeRegion(context, *parts.kept[i]);
      copy.target = wholeRegion(context, *kept[i]);
    }
    Block ahead, finish;
    for (std::size_t i = 0; i < parts.finish.size(); ++i)
      (parts.ahead[i] ? ahead : finish).push_back(cloneStmt(*body[parts.finish[i]]));
    for (std::size_t i = 0; i < kept.size(); ++i)
      for (Block *part : {&ahead, &finish})
        replaceBuffer(*part, parts.kept[i], kept[i]);
    Substitution renamed;
    for (StmtPtr &stmt : freshCopy(function, ahead, renamed))
      b.add(std::move(stmt));
    cast<GemmStmt>(*body[parts.first]).async = true;
    cast<GemmStmt>(*body[parts.last]).async = true;
    auto [upTo, beyond] = divided(parts.early, parts.first);
    move(b, body, upTo);
    for (std::size_t i = parts.rounds + 1; i <= parts.last; ++i)
      b.add(std::move(body[i]));
    b.wait(1, AsyncKind::Wgmma);
    move(b, body, beyond);
    b.wait(0, AsyncKind::Wgmma);
    move(b, body, parts.release);
    Substitution names = carriedNames(b, parts);
    for (StmtPtr &stmt : freshCopy(function, finish, names))
      b.add(std::move(stmt));
    move(b, body, parts.late);
  }

  /// Behind the walk: the last product of the last tile, and what finishes it.
  void finishLast(Builder &b, const Block &body, const Parts &parts) {
    Substitution names = carriedNames(b, parts);
    Indices behind;
    for (std::size_t i = parts.rounds + 1; i <= parts.last; ++i)
      behind.push_back(i);
    for (const Indices *part : {&parts.release, &parts.finish})
      behind.insert(behind.end(), part->begin(), part->end());
    copy(b, body, behind, std::move(names));
  }

  Substitution carriedNames(Builder &b, const Parts &parts) {
    Substitution names;
    for (std::size_t i = 0; i < carriers.size(); ++i)
      names.emplace_back(parts.carried[i], b.load(carriers[i]->name, *carriers[i], {}));
    return names;
  }

  static std::pair<Indices, Indices> divided(const Indices &all, std::size_t at) {
    std::pair<Indices, Indices> parts;
    for (std::size_t i : all)
      (i <= at ? parts.first : parts.second).push_back(i);
    return parts;
  }

  static void move(Builder &b, Block &body, const Indices &which) {
    for (std::size_t i : which)
      b.add(std::move(body[i]));
  }

  void copy(Builder &b, const Block &body, const Indices &which, Substitution names) {
    Block part;
    for (std::size_t i : which)
      part.push_back(cloneStmt(*body[i]));
    for (StmtPtr &stmt : freshCopy(function, part, names))
      b.add(std::move(stmt));
  }

  Function &function;
  Context &context;
  analysis::Ranges &ranges;
  const bool asked;
  std::string &reason;
  Expr guard;
  std::vector<Buffer *> carriers, kept; ///< as Parts::carried and Parts::kept
};

/// Whether some walk of a role is joined now.
bool joinIn(Function &function, Block &role, analysis::Ranges &ranges, bool asked,
            std::string &reason) {
  bool any = false;
  Block out;
  for (StmtPtr &stmt : role) {
    if (isa<ForStmt>(*stmt) && Joiner(function, ranges, asked, reason).apply(stmt, out))
      any = true;
    else
      out.push_back(std::move(stmt));
  }
  role = std::move(out);
  return any;
}

} // namespace

void joinTiles(Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    LaunchPlan *plan = context.schedule.launch(i);
    if (!plan || (!plan->joined && !plan->joins))
      continue;
    Launch &launch = *function.launches[i];
    analysis::Ranges ranges(function);
    ranges.enter(launch);
    bool any = false;
    std::string reason = "no role walks over tiles and multiplies";
    walk(launch.body, [&](Stmt &stmt) {
      auto *role = dynCast<RoleStmt>(&stmt);
      if (role && role->count >= context.target.limits.groupThreads())
        any |= joinIn(function, role->body, ranges, plan->joined, reason);
      return !role || role->count > context.target.limits.groupThreads();
    });
    if (!any && !plan->joins)
      context.diagnostics.report(diag::ScheduleMismatch, launch.range, plan->name)
          .note("its tiles cannot be joined: " + reason);
    if (any && plan->joins)
      plan->persistentReason += "; its last product runs beside the next one's first";
    plan->joined = any;
  }
}

} // namespace tlc::passes
