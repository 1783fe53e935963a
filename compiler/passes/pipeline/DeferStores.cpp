// defer-stores: a finished tile leaves while the next one is computed.
//
//   for %round in … {                        the walk over tiles
//     let %by = …
//     fill %C_l = 0.0
//     for %k in 0 .. %T { … ; gemm … -> %C_l async ; async wgmma wait(1) ; … }
//     async wgmma wait(0)
//     copy %C_l -> %C_h                      and what is computed of it
//     copy %C_h[piece 0] -> %C_t ; copy %C_t -> %C[%by …] tma …
//     …                                      the other pieces
//   }
//     =>
//   alloc %C_t ; alloc %C_h
//   if 4 <= %T {                             as many pieces
//     alloc %finished: local i32 init(-1)
//     for %round in … {
//       … ; gemm … -> %C_l async clear(true) of round 0
//       if 0 <= %finished { let %by = … of that tile ; the first piece }
//       async wgmma wait(1) ; …
//       …                                    rounds 1 to 3, each with a piece
//       for %k in 4 .. %T { … }
//       async wgmma wait(0)
//       copy %C_l -> %C_h ; store %finished[] = %round
//     }
//     if 0 <= %finished { let %by = … ; all pieces }
//   } else { as it was }
//
// Between two tiles the tensor cores then wait only until the sums are packed to 16 bits. The tile
// that a piece belongs to is told by its round, of which the piece computes where it goes: beside
// products, too. In the first round products need no cleared sums.
//
// Why here: pieces exist since stage-stores, and are still single statements; before layouts, since
// statements are copied.
#include "analysis/Copies.h"
#include "ir/Builder.h"
#include "ir/Walk.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <unordered_set>

namespace tlc::passes {

using namespace ir;

namespace {

/// The body of a walk over tiles, by indices of its statements.
struct Walk {
  std::size_t products = 0; ///< the loop along k; the wait for its last product follows
  std::size_t packed = 0;   ///< the allocation of the fragment that pieces are made of
  std::size_t tile = 0;     ///< the allocation of the shared tile: behind it there are pieces only
  /// Of the loop along k: the product, and the wait for the one before.
  std::size_t product = 0, wait = 0;
  std::vector<std::size_t> pieces; ///< where each begins, and behind the last
};

bool isProductWait(const Stmt &stmt, std::int64_t pending) {
  const auto *async = dynCast<AsyncStmt>(&stmt);
  return async && async->what == AsyncKind::Wgmma && !async->commit && async->pending == pending;
}

/// Whether the loop along k is one product a round, with the one before in flight.
bool readProducts(const Block &body, Walk &walk) {
  std::size_t products = 0, waits = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto *gemm = dynCast<GemmStmt>(body[i].get());
    if (gemm && gemm->async && !gemm->clear)
      walk.product = i, ++products;
    else if (isProductWait(*body[i], 1))
      walk.wait = i, ++waits;
    else if (gemm || isa<AllocStmt>(*body[i]))
      return false;
  }
  return products == 1 && waits == 1 && walk.product < walk.wait && !leavesLoop(body);
}

/// Whether what follows the shared tile are pieces of `packed`, each ended by a store.
bool readPieces(const Block &body, const Buffer &tile, const Buffer &packed, Walk &walk) {
  walk.pieces = {walk.tile + 1};
  for (std::size_t i = walk.tile + 1; i < body.size(); ++i) {
    const auto *copy = dynCast<CopyStmt>(body[i].get());
    const auto *async = dynCast<AsyncStmt>(body[i].get());
    if (copy && copy->source.buffer == &tile && analysis::isTmaCopy(*copy))
      walk.pieces.push_back(i + 1);
    else if (!(copy && copy->source.buffer == &packed && copy->target.buffer == &tile) &&
             !(async && async->what == AsyncKind::Bulk) && !isa<BarrierStmt>(*body[i]))
      return false;
  }
  return walk.pieces.size() > 1 && walk.pieces.back() == body.size();
}

std::size_t allocationOf(const Block &body, const Buffer &buffer) {
  for (std::size_t i = 0; i < body.size(); ++i)
    if (const auto *alloc = dynCast<AllocStmt>(body[i].get()); alloc && alloc->buffer == &buffer)
      return i;
  return body.size();
}

std::optional<Walk> readWalk(const ForStmt &loop) {
  const Block &body = loop.body;
  Walk walk;
  const auto *last = body.empty() ? nullptr : dynCast<CopyStmt>(body.back().get());
  if (!last || !last->layout || !analysis::isTmaCopy(*last) || leavesLoop(body))
    return std::nullopt;
  walk.tile = allocationOf(body, *last->source.buffer);
  const Buffer *packed = nullptr;
  for (std::size_t i = walk.tile; i < body.size() && !packed; ++i)
    if (const auto *copy = dynCast<CopyStmt>(body[i].get()))
      packed = copy->source.buffer;
  if (!packed || packed->scope != Scope::Fragment || packed->dtype.bits() != 16)
    return std::nullopt;
  walk.packed = allocationOf(body, *packed);
  std::size_t loops = 0;
  for (std::size_t i = 0; i < walk.packed; ++i)
    if (isa<ForStmt>(*body[i]))
      walk.products = i, ++loops;
  if (loops != 1 || walk.packed >= walk.tile || walk.products + 1 >= walk.packed ||
      !isProductWait(*body[walk.products + 1], 0))
    return std::nullopt;
  const auto &products = cast<ForStmt>(*body[walk.products]);
  if (products.kind != ForKind::Serial || (products.step && !products.step.isConstant(1)) ||
      !readProducts(products.body, walk) || !readPieces(body, *last->source.buffer, *packed, walk))
    return std::nullopt;
  return walk;
}

/// One walk over tiles.
class Deferrer {
public:
  Deferrer(Function &function, ForStmt &loop, Walk walk)
      : function(function), context(*function.context), loop(loop), walk(std::move(walk)) {}

  /// Whether it can be told before the first tile that there are rounds for all pieces.
  bool possible() {
    const auto &products = cast<ForStmt>(*loop.body[walk.products]);
    trips = tripCount(products);
    std::vector<Expr> used;
    collectVars(trips, used);
    collectVars(products.lo, used);
    Vars inside{loop.var.get()};
    ir::walk(std::as_const(loop.body), [&](const Stmt &stmt) {
      forEachDefinition(stmt, [&](Expr var) { inside.insert(var.get()); });
      return true;
    });
    return loop.var.dtype() == DType(Scalar::Int32) &&
           std::none_of(used.begin(), used.end(),
                        [&](Expr var) { return inside.count(var.get()) > 0; });
  }

  /// Appends what replaces the walk, `self`.
  void run(StmtPtr self, Block &out) {
    Builder b(function, out);
    b.range = loop.range;
    hoist(out);
    finished = &function.addBuffer("finished", loop.var.dtype(), Scope::Local, {}, loop.range);
    b.alloc(*finished).init = context.integer(loop.var.dtype(), -1);
    Substitution renamed;
    StmtPtr late = freshCopy(function, *self, renamed);
    auto &branch = b.when(lessEqual(context.integer(trips.dtype(), pieces()), trips),
                          [&] { defer(b, std::move(late)); });
    branch.otherwise.push_back(std::move(self));
  }

private:
  using Vars = std::unordered_set<const ExprNode *>;

  std::int64_t pieces() const { return static_cast<std::int64_t>(walk.pieces.size()) - 1; }

  /// Contents start undefined in each round, so one allocation in front serves all. Behind this,
  /// `walk.tile` is where the first piece begins.
  void hoist(Block &out) {
    Block &body = loop.body;
    walk.tile = walk.pieces.front();
    for (std::size_t i = 0; i < body.size();) {
      const auto *alloc = dynCast<AllocStmt>(body[i].get());
      if (!alloc || alloc->init) {
        ++i;
        continue;
      }
      out.push_back(std::move(body[i]));
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      walk.products -= walk.products > i;
      walk.tile -= walk.tile > i;
      for (std::size_t &piece : walk.pieces)
        piece -= piece > i;
    }
  }

  void defer(Builder &b, StmtPtr self) {
    auto &late = cast<ForStmt>(*self);
    Block body = std::move(late.body);
    Block before, after, stores;
    for (std::size_t i = 0; i < body.size(); ++i)
      if (i != walk.products)
        (i < walk.products ? before : i < walk.tile ? after : stores).push_back(std::move(body[i]));
    auto &products = cast<ForStmt>(*body[walk.products]);
    const Block places = placesOf(before, stores);
    const bool clears = takeFill(before, cast<GemmStmt>(*products.body[walk.product]));
    dropUnused(before, products, after);
    Builder inner(function, late.body);
    inner.range = loop.range;
    for (StmtPtr &stmt : before)
      inner.add(std::move(stmt));
    Done done;
    for (std::int64_t s = 0; s < pieces(); ++s) {
      Block round = roundOf(products, s, s == 0 && clears);
      for (std::size_t i = 0; i < round.size(); ++i) {
        if (i == walk.wait && s == 0)
          done = announce(inner, late.var, places);
        if (i == walk.wait)
          piece(inner, stores, s, done);
        inner.add(std::move(round[i]));
      }
    }
    products.lo = products.lo + pieces();
    inner.add(std::move(body[walk.products]));
    for (StmtPtr &stmt : after)
      inner.add(std::move(stmt));
    inner.store(*finished, {}, late.var);
    const Expr tile = late.var;
    b.add(std::move(self));
    Expr last = b.load("last", *finished, {});
    b.when(lessEqual(context.integer(last.dtype(), 0), last), [&] {
      Substitution names{{tile, last}};
      addCopy(b, places, names);
      addCopy(b, stores, names);
    });
  }

  void addCopy(Builder &b, const Block &block, Substitution &names) {
    for (StmtPtr &stmt : freshCopy(function, block, names))
      b.add(std::move(stmt));
  }

  /// The round of the tile that is being stored, below 0: none, and new names of where it goes.
  struct Done {
    Expr round;
    Substitution places;
  };

  /// Piece `s`, if there is a tile; what it waits for is waited for in any case.
  void piece(Builder &b, const Block &stores, std::int64_t s, const Done &done) {
    Block part, copies;
    const auto at = static_cast<std::size_t>(s);
    for (std::size_t i = walk.pieces[at]; i < walk.pieces[at + 1]; ++i) {
      const Stmt &stmt = *stores[i - walk.tile];
      (isa<CopyStmt>(stmt) ? copies : part).push_back(cloneStmt(stmt));
    }
    Substitution names = done.places;
    addCopy(b, part, names);
    b.when(lessEqual(context.integer(done.round.dtype(), 0), done.round),
           [&] { addCopy(b, copies, names); });
  }

  /// Round `s` along k by itself.
  Block roundOf(const ForStmt &products, std::int64_t s, bool clears) {
    Substitution here{{products.var, products.lo + s}};
    Block round = freshCopy(function, products.body, here);
    if (clears)
      cast<GemmStmt>(*round[walk.product]).clear = context.boolean(true);
    return round;
  }

  /// In a form that keeps arithmetic on it behind the products in front.
  Done announce(Builder &b, Expr tile, const Block &places) {
    Expr before = b.load("before", *finished, {});
    auto &ask = b.add<CallStmt>();
    ask.callee = "warp_uniform";
    ask.args = {before};
    ask.result = context.var("done", before.dtype());
    ask.collective = Collective::Warp;
    Done done{ask.result, {}};
    done.places.emplace_back(tile, maximum(done.round, context.integer(done.round.dtype(), 0)));
    addCopy(b, places, done.places);
    return done;
  }

  static void addUses(const Stmt &stmt, Vars &used) {
    auto collect = [&](const Stmt &inner) {
      forEachExpr(inner, [&](Expr e) {
        std::vector<Expr> vars;
        collectVars(e, vars);
        for (Expr var : vars)
          used.insert(var.get());
      });
      return true;
    };
    collect(stmt);
    forEachBlock(stmt, [&](const Block &block) { ir::walk(block, collect); });
  }

  /// The definitions in front of the products that stores need.
  static Block placesOf(const Block &before, const Block &stores) {
    Vars used;
    for (const StmtPtr &stmt : stores)
      addUses(*stmt, used);
    Block places;
    for (std::size_t i = before.size(); i-- > 0;)
      if (const auto *let = dynCast<LetStmt>(before[i].get()); let && used.count(let->var.get())) {
        addUses(*let, used);
        places.insert(places.begin(), cloneStmt(*let));
      }
    return places;
  }

  /// Takes the statement that clears the sums, if nothing else does something with them.
  static bool takeFill(Block &before, const GemmStmt &gemm) {
    std::size_t fill = before.size();
    for (std::size_t i = 0; i < before.size(); ++i) {
      bool touches = false;
      auto look = [&](const Stmt &stmt) {
        forEachUse(stmt, [&](const BufferUse &use) {
          touches |= use.buffer->storage() == gemm.c.buffer->storage();
        });
        return true;
      };
      look(*before[i]);
      forEachBlock(std::as_const(*before[i]), [&](const Block &inner) { ir::walk(inner, look); });
      if (!touches)
        continue;
      const auto *stmt = dynCast<FillStmt>(before[i].get());
      bool zero =
          stmt && (stmt->value.isConstant(0) || (stmt->value.isFloat() && stmt->value->real == 0));
      if (!zero || fill < before.size() || !stmt->target.wholeBuffer() || !gemm.c.wholeBuffer())
        return false;
      fill = i;
    }
    if (fill == before.size())
      return false;
    before.erase(before.begin() + static_cast<std::ptrdiff_t>(fill));
    return true;
  }

  /// Drops definitions, and facts about them, that only stores needed.
  static void dropUnused(Block &before, const ForStmt &products, const Block &after) {
    Vars used, defined;
    addUses(products, used);
    for (const StmtPtr &stmt : after)
      addUses(*stmt, used);
    for (std::size_t i = before.size(); i-- > 0;) {
      const auto *let = dynCast<LetStmt>(before[i].get());
      if (let)
        defined.insert(let->var.get());
      if (let ? used.count(let->var.get()) > 0 : !isa<AssumeStmt>(*before[i]))
        addUses(*before[i], used);
    }
    std::erase_if(before, [&](const StmtPtr &stmt) {
      const auto *let = dynCast<LetStmt>(stmt.get());
      Vars own;
      if (let)
        own.insert(let->var.get());
      else if (isa<AssumeStmt>(*stmt))
        addUses(*stmt, own);
      return std::any_of(own.begin(), own.end(), [&](const ExprNode *var) {
        return defined.count(var) && !used.count(var);
      });
    });
  }

  Function &function;
  Context &context;
  ForStmt &loop;
  Walk walk;
  Expr trips;                 ///< rounds along k
  Buffer *finished = nullptr; ///< the round whose tile is packed but not stored; -1: none
};

/// Whether some walk of a role is done so now.
bool deferIn(Function &function, Block &role) {
  bool any = false;
  Block out;
  for (StmtPtr &stmt : role) {
    auto *loop = dynCast<ForStmt>(stmt.get());
    auto walk = loop ? readWalk(*loop) : std::nullopt;
    if (walk) {
      Deferrer deferrer(function, *loop, std::move(*walk));
      if (deferrer.possible()) {
        deferrer.run(std::move(stmt), out);
        any = true;
        continue;
      }
    }
    out.push_back(std::move(stmt));
  }
  role = std::move(out);
  return any;
}

} // namespace

void deferStores(Function &function, PassContext &context) {
  for (std::size_t i = 0; i < function.launches.size(); ++i) {
    LaunchPlan *plan = context.schedule.launch(i);
    if (!plan || std::none_of(plan->stores.begin(), plan->stores.end(),
                              [](const StorePlan &store) { return store.deferred; }))
      continue;
    Launch &launch = *function.launches[i];
    bool any = false;
    walk(launch.body, [&](Stmt &stmt) {
      if (auto *role = dynCast<RoleStmt>(&stmt))
        any |= deferIn(function, role->body);
      return !isa<RoleStmt>(stmt);
    });
    if (any)
      continue;
    for (StorePlan &store : plan->stores) {
      if (store.deferred && store.binding)
        context.diagnostics.report(diag::ScheduleMismatch, launch.range, plan->name)
            .note("`" + store.name +
                  "` cannot be stored beside the next tile's products: that takes a walk over "
                  "tiles with one loop of products, as many in each");
      store.deferred = false;
    }
  }
}

} // namespace tlc::passes
