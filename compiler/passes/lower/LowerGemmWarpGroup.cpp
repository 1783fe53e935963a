// lower-gemm for warpgroup instructions. See LowerGemm.cpp.
//
//   gemm %A_s@%v, %B_s@%v -> %C_l atom wgmma_m64n8k16_f16_f16_f32 warps 2 1
//     =>
//   call warp_uniform(%tid // 128) result(%warpgroup)                  once, in front of all loops
//   call wgmma_descriptor(&%A_s[%warpgroup * 4096], 16, 1024, 128) result(%A_desc); the same for B
//   call wgmma_pin<64>(%C_l) ; fence wgmma
//   for %k in 0 .. 4 unroll {
//     wgmma_m64n128k16_f16_f16_f32_ss<0, 1>(%C_l, %A_desc + (%v * 512 + %k * 2), %B_desc + …, true)
//   }
//   async wgmma commit ; async wgmma wait(0) ; call wgmma_pin<64>(%C_l)
//
// The columns of a warpgroup's atoms are done by as few, as wide instructions as possible. What a
// descriptor says of its tile never changes, so stages and steps are added to it. Accumulators of
// products that are on their way must not be touched: where a wait says that they are done, they
// are pinned, so that the downstream compiler moves no access over the wait. So are halves that are
// made of 32-bit fragments, unless for another product: it would make them behind branches that
// follow, as late as they are needed, and find sums read among products. And so are sums that are
// cleared in front of products in flight, which it would clear behind the fence.
#include "passes/lower/LowerGemm.h"

#include "ir/Walk.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/lower/Physical.h"
#include "passes/lower/WarpGroupOperand.h"
#include "passes/sync/SharedArena.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

const DType descriptorType = Scalar::UInt64;
constexpr Index unitBytes = 16; ///< what the address in a descriptor counts

/// One gemm.
class WarpGroupGemm {
public:
  WarpGroupGemm(const GemmContext &g, WarpGroupCode &code)
      : g(g), code(code), atom(*g.gemm.atom), c(*g.gemm.c.buffer) {
    auto map = registerMap(g.gemm.c, accumulatorLayout(atom, g.grid));
    TLC_CHECK(map && map->layout && map->runLength(atom.cRegisters()) == atom.cRegisters(),
              "an accumulator that is not at home");
    result = std::move(*map);
    registersA = g.gemm.a.buffer->storage()->scope == Scope::Fragment;
    if (registersA)
      code.operands.insert(g.gemm.a.buffer->storage());
    code.any = true;
  }

  void lower() {
    if (g.grid.warpsM * g.grid.warpsN > 1)
      numberWarpGroup();
    if (registersA)
      findRegistersA();
    else
      tileA = describe(Side::A);
    tileB = describe(Side::B);
    std::vector<Accumulators> runs = accumulators();
    // What came before must not slip behind the fence. (Where products are on their way, nobody
    // touches their sums.)
    if (!g.gemm.async && (!g.gemm.clear || g.gemm.clear.isFalse()))
      for (const Accumulators &run : runs)
        pinAccumulators(g.b, run);
    g.b.add<FenceStmt>().what = FenceKind::Wgmma;
    unrolledLoop(g.b, "k", g.grid.perK, [&](Expr k) {
      unrolledLoop(g.b, "i", g.grid.perM, [&](Expr i) { multiply(k, i); });
    });
    AsyncStmt &group = g.b.commit(AsyncKind::Wgmma);
    if (g.gemm.async) {
      code.groups.push_back({&group, std::move(runs)});
      return;
    }
    g.b.wait(0, AsyncKind::Wgmma);
    for (const Accumulators &run : runs)
      pinAccumulators(g.b, run);
  }

private:
  /// An operand in shared memory.
  struct Tile {
    PanelOperand operand;
    Expr descriptor; ///< of where the warpgroup's part of the region begins
    Pointer touched;
  };

  const GemmContext &g;
  WarpGroupCode &code;
  const Atom &atom;
  Buffer &c;
  RegisterMap result;
  Expr groupM, groupN; ///< of this warpgroup in the grid; null: 0
  bool registersA = false;
  std::optional<Tile> tileA, tileB;
  Buffer *gatheredA = nullptr; ///< null: A's registers lie as they are wanted
  std::optional<RegisterMap> homeA;

  CallStmt &value(std::string callee, std::string_view name, DType dtype) {
    auto &call = g.b.add<CallStmt>();
    call.callee = std::move(callee);
    call.result = g.context().var(name, dtype);
    code.values.insert(&call);
    return call;
  }

  void numberWarpGroup() {
    CallStmt &call = value("warp_uniform", "warpgroup", DType(Scalar::Int32));
    call.args = {floorDiv(g.thread, atom.threads)};
    call.collective = Collective::Warp;
    groupM = floorMod(call.result, g.grid.warpsM);
    groupN = floorMod(floorDiv(call.result, g.grid.warpsM), g.grid.warpsN);
  }

  Tile describe(Side side) {
    const Region &region = g.region(side);
    auto operand = PanelOperand::of(region, g.kFirst(side), atom.k);
    TLC_CHECK(operand.has_value(), "an operand that no descriptor describes");
    Buffer &buffer = *region.buffer;
    Context &context = g.context();
    Expr group = side == Side::A ? groupM : groupN;
    Index rows = side == Side::A ? g.grid.perM * atom.m : g.grid.perN * atom.n;
    Index elements = unitBytes * 8 / static_cast<Index>(buffer.dtype.bits());
    Expr begin = group ? operand->along(group, rows) * elements : context.int32(0);
    CallStmt &call = value("wgmma_descriptor", buffer.name + "_desc", descriptorType);
    call.args = {Pointer{Element{&buffer, {begin}, {}, true}, context.int32(0), Access::Read},
                 context.int32(operand->leadingBytes()), context.int32(operand->strideBytes()),
                 context.int32(operand->swizzleBytes())};
    Expr at = operand->origin(context);
    if (region.version)
      at = at + context.cast(DType(Scalar::Int32), region.version) *
                    context.int32(versionBytes(buffer) / unitBytes);
    Expr descriptor = call.result;
    if (!at.isConstant(0))
      descriptor =
          g.b.let(side == Side::A ? "a" : "b", call.result + context.cast(descriptorType, at));
    auto [first, count] = operand->matrix(context);
    Pointer touched{Element{&buffer, {first}, region.version, true}, context.int32(count),
                    Access::Read};
    return {*operand, descriptor, std::move(touched)};
  }

  /// Registers that are on their way may not change, so what does not lie right is copied before
  /// all products.
  void findRegistersA() {
    Layout wanted = inTileOrder(operandLayout(atom, g.grid, Side::A), g.kFirst(Side::A));
    homeA = registerMap(g.gemm.a, wanted);
    TLC_CHECK(homeA.has_value(), "a gemm operand that its threads do not hold");
    Index perAtom = atom.aRegisters(), count = perAtom * g.grid.perK * g.grid.perM;
    if (homeA->layout && homeA->runLength(perAtom) == perAtom)
      return;
    gatheredA = &g.b.function.addBuffer("a", g.gemm.a.buffer->dtype, Scope::Local,
                                        {g.context().int32(count)}, g.gemm.range);
    g.b.alloc(*gatheredA);
    for (Index r = 0; r < count; ++r) {
      Expr at = g.context().int32(r);
      Expr held = g.b.load("x", registerElement(*g.gemm.a.buffer, homeA->at(at)));
      g.b.store(registerElement(*gatheredA, at), held);
    }
  }

  Pointer fragmentA(Expr k, Expr i) const {
    Index perAtom = atom.aRegisters();
    Expr first = k * perAtom + i * (perAtom * g.grid.perK);
    Element element = gatheredA ? registerElement(*gatheredA, first)
                                : registerElement(*g.gemm.a.buffer, homeA->at(first));
    return {std::move(element), g.context().int32(perAtom), Access::Read};
  }

  Expr descriptorOf(const Tile &tile, Expr k, Expr row, Index rows) const {
    Expr at = tile.operand.step(k) + tile.operand.along(row, rows);
    return tile.descriptor + g.context().cast(descriptorType, at);
  }

  /// Whether step `k` adds to what the accumulators hold.
  Expr accumulates(Expr k) const {
    Context &context = g.context();
    Expr clear = g.gemm.clear;
    if (!clear || clear.isFalse())
      return context.boolean(true);
    Expr later = lessThan(context.int32(0), k);
    return clear.isTrue() ? later : logicalOr(later, logicalNot(clear));
  }

  /// Registers from `first` on that lie together in the fragment, at most `limit`.
  Index together(Index first, Index limit) const {
    Context &context = g.context();
    Expr start = result.at(context.int32(first));
    Index count = 1;
    while (count < limit &&
           constantDifference(result.at(context.int32(first + count)), start) == count)
      ++count;
    return count;
  }

  /// Step k of rows i * 64 ...: all columns.
  void multiply(Expr k, Expr i) {
    Index perAtom = atom.cRegisters(), perRow = g.grid.perN * perAtom;
    for (Index j = 0; j < g.grid.perN;) {
      Index atoms = together(j * perAtom, perRow - j * perAtom) / perAtom;
      Index columns = warpGroupColumns(atom, atoms * atom.n);
      const Index words = perAtom * static_cast<Index>(atom.c.bits()) / 32;
      while (code.mostSums && columns / atom.n * words > code.mostSums && columns > atom.n)
        columns = warpGroupColumns(atom, columns / 2);
      auto &call = g.b.add<CallStmt>();
      call.callee = warpGroupFunction(atom, columns, registersA);
      call.collective = Collective::WarpGroup;
      Index count = columns / atom.n * perAtom;
      call.args.push_back(Pointer{registerElement(c, result.at(i * perRow + j * perAtom)),
                                  g.context().int32(count), Access::ReadWrite});
      if (registersA)
        call.args.push_back(fragmentA(k, i));
      else
        call.args.push_back(descriptorOf(*tileA, k, i, atom.m));
      call.args.push_back(descriptorOf(*tileB, k, g.context().int32(j), atom.n));
      call.args.push_back(accumulates(k));
      if (atom.b.bits() == 16) {
        if (!registersA)
          call.templateArgs.push_back(g.kFirst(Side::A));
        call.templateArgs.push_back(g.kFirst(Side::B));
      }
      if (!registersA)
        call.touches.push_back(tileA->touched);
      call.touches.push_back(tileB->touched);
      j += columns / atom.n;
    }
  }

  /// All of them, in runs that lie together.
  std::vector<Accumulators> accumulators() const {
    std::vector<Accumulators> runs;
    Index all = g.grid.perM * g.grid.perN * atom.cRegisters();
    for (Index r = 0; r < all;) {
      Index count = together(r, all - r);
      runs.push_back({registerElement(c, result.at(g.context().int32(r))), count});
      r += count;
    }
    return runs;
  }
};

// ---- When all gemms are lowered ----

bool same(const Element &a, const Element &b) {
  return a.buffer == b.buffer && a.indices == b.indices && a.version == b.version;
}

bool same(const Argument &a, const Argument &b) {
  auto *p = std::get_if<Pointer>(&a), *q = std::get_if<Pointer>(&b);
  if (p && q)
    return same(p->element, q->element);
  auto *e = std::get_if<Expr>(&a), *f = std::get_if<Expr>(&b);
  return e && f && *e == *f;
}

bool sameValue(const CallStmt &a, const CallStmt &b) {
  return a.callee == b.callee && a.args.size() == b.args.size() &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(),
                    [](const Argument &x, const Argument &y) { return same(x, y); });
}

/// Takes values that do not change out of loops and branches, and computes each once in a block.
class ValueHoister {
public:
  explicit ValueHoister(const std::unordered_set<const Stmt *> &values) : values(values) {}

  void visit(Block &block) {
    Block out;
    std::vector<CallStmt *> known;
    Substitution renamed;
    auto add = [&](StmtPtr stmt) {
      auto &call = cast<CallStmt>(*stmt);
      substituteIn(call, renamed);
      for (CallStmt *other : known)
        if (sameValue(*other, call)) {
          renamed.emplace_back(call.result, other->result);
          return;
        }
      known.push_back(&call);
      out.push_back(std::move(stmt));
    };
    for (StmtPtr &stmt : block) {
      if (values.count(stmt.get())) {
        add(std::move(stmt));
        continue;
      }
      forEachBlock(*stmt, [&](Block &inner) { visit(inner); });
      if (!isa<RoleStmt>(*stmt))
        for (StmtPtr &value : invariants(*stmt))
          add(std::move(value));
      out.push_back(std::move(stmt));
    }
    block = std::move(out);
    if (!renamed.empty())
      substitute(block, renamed);
  }

private:
  const std::unordered_set<const Stmt *> &values;

  static void substituteIn(CallStmt &call, const Substitution &map) {
    forEachExpr(call, [&](Expr &e) { e = ir::substitute(e, map); });
  }

  /// Values in the statement's blocks that nothing in it decides, in order; they are taken out.
  std::vector<StmtPtr> invariants(Stmt &stmt) const {
    std::vector<StmtPtr> found;
    std::vector<Expr> defined;
    std::vector<const Buffer *> allocated;
    auto define = [&](const Stmt &inner) {
      forEachDefinition(inner, [&](Expr var) { defined.push_back(var); });
      if (auto *alloc = dynCast<AllocStmt>(&inner))
        allocated.push_back(alloc->buffer->storage());
    };
    define(stmt);
    forEachBlock(stmt, [&](Block &block) {
      for (StmtPtr &inner : block)
        if (!values.count(inner.get())) {
          define(*inner);
          forEachBlock(*inner, [&](Block &deeper) {
            walk(deeper, [&](Stmt &s) { return define(s), true; });
          });
        }
    });
    forEachBlock(stmt, [&](Block &block) {
      Block rest;
      for (StmtPtr &inner : block) {
        if (!values.count(inner.get())) {
          rest.push_back(std::move(inner));
          continue;
        }
        bool free = true;
        forEachExpr(std::as_const(*inner), [&](Expr e) {
          for (Expr var : defined)
            free = free && !uses(e, var);
        });
        forEachUse(std::as_const(*inner), [&](const BufferUse &use) {
          free = free && !std::count(allocated.begin(), allocated.end(), use.buffer->storage());
        });
        if (!free)
          define(*inner);
        (free ? found.push_back(std::move(inner)) : rest.push_back(std::move(inner)));
      }
      block = std::move(rest);
    });
    return found;
  }
};

/// Pins the accumulators of the groups that each wait completes.
class WaitPinner {
public:
  WaitPinner(Function &function, const WarpGroupCode &code) : function(function), code(code) {}

  void visitRole(Block &body) {
    std::vector<const WarpGroupCode::Group *> outer = std::move(role);
    role.clear();
    walk(std::as_const(body), [&](const Stmt &stmt) {
      if (const WarpGroupCode::Group *group = groupOf(stmt))
        role.push_back(group);
      return !isa<RoleStmt>(stmt);
    });
    visit(body);
    role = std::move(outer);
  }

private:
  Function &function;
  const WarpGroupCode &code;
  std::vector<const WarpGroupCode::Group *> role; ///< of the role that we are in
  std::vector<const Buffer *> visible;

  const WarpGroupCode::Group *groupOf(const Stmt &stmt) const {
    for (const WarpGroupCode::Group &group : code.groups)
      if (group.commit == &stmt)
        return &group;
    return nullptr;
  }

  void visit(Block &block) {
    std::size_t outside = visible.size();
    Block out;
    std::vector<const WarpGroupCode::Group *> inFlight; ///< those of this block, oldest first
    for (StmtPtr &stmt : block) {
      if (auto *alloc = dynCast<AllocStmt>(stmt.get()))
        visible.push_back(alloc->buffer->storage());
      if (auto *inner = dynCast<RoleStmt>(stmt.get()))
        visitRole(inner->body);
      else
        forEachBlock(*stmt, [&](Block &b) { visit(b); });
      auto *async = dynCast<AsyncStmt>(stmt.get());
      if (const WarpGroupCode::Group *group = groupOf(*stmt))
        inFlight.push_back(group);
      out.push_back(std::move(stmt));
      if (async && !async->commit && async->what == AsyncKind::Wgmma)
        pin(*async, inFlight, out);
    }
    block = std::move(out);
    visible.resize(outside);
  }

  void pin(const AsyncStmt &wait, std::vector<const WarpGroupCode::Group *> &inFlight, Block &out) {
    std::vector<const WarpGroupCode::Group *> done;
    if (wait.pending == 0) {
      done = role;
      inFlight.clear();
    } else {
      while (static_cast<std::int64_t>(inFlight.size()) > wait.pending) {
        done.push_back(inFlight.front());
        inFlight.erase(inFlight.begin());
      }
    }
    Builder b(function, out);
    b.range = wait.range;
    std::vector<const Element *> pinned;
    for (const WarpGroupCode::Group *group : done)
      for (const Accumulators &run : group->accumulators) {
        const Buffer *owner = run.first.buffer->storage();
        bool known = std::count(visible.begin(), visible.end(), owner);
        // Of another product that is on its way with the same sums.
        bool busy = std::any_of(inFlight.begin(), inFlight.end(), [&](const auto *other) {
          return std::any_of(other->accumulators.begin(), other->accumulators.end(),
                             [&](const Accumulators &a) { return same(a.first, run.first); });
        });
        bool before = std::any_of(pinned.begin(), pinned.end(),
                                  [&](const Element *e) { return same(*e, run.first); });
        if (!known || busy || before)
          continue;
        pinned.push_back(&run.first);
        pinAccumulators(b, run);
      }
  }
};

/// Whether a statement makes halves of 32-bit values, not for another product.
bool packsHalves(const Stmt &stmt, const WarpGroupCode &code) {
  const auto *copy = dynCast<CopyStmt>(&stmt);
  if (!copy)
    return false;
  const Buffer &from = *copy->source.buffer, &to = *copy->target.buffer;
  return from.scope == Scope::Fragment && to.scope == Scope::Fragment && !to.base &&
         from.dtype.bits() == 32 && to.dtype.bits() == 16 && copy->target.wholeBuffer() &&
         !code.operands.count(&to) && registerCount(to) % 2 == 0;
}

/// Whether a statement sets sums of products that are then on their way beside others.
bool setsSums(const Stmt &stmt, const WarpGroupCode &code) {
  const auto *fill = dynCast<FillStmt>(&stmt);
  if (!fill || fill->target.buffer->base || !fill->target.wholeBuffer())
    return false;
  return std::any_of(code.groups.begin(), code.groups.end(), [&](const auto &group) {
    return std::any_of(group.accumulators.begin(), group.accumulators.end(),
                       [&](const Accumulators &run) {
                         return run.first.buffer->storage() == fill->target.buffer;
                       });
  });
}

/// Pins halves behind the copies that make them, and cleared sums, which would otherwise be cleared
/// between the fence and the first product.
void pinMade(Function &function, Block &block, const WarpGroupCode &code) {
  Block out;
  for (StmtPtr &stmt : block) {
    forEachBlock(*stmt, [&](Block &inner) { pinMade(function, inner, code); });
    Buffer *made = packsHalves(*stmt, code) ? cast<CopyStmt>(*stmt).target.buffer
                   : setsSums(*stmt, code)  ? cast<FillStmt>(*stmt).target.buffer
                                            : nullptr;
    const SourceRange range = stmt->range;
    out.push_back(std::move(stmt));
    if (!made)
      continue;
    Builder b(function, out);
    b.range = range;
    pinAccumulators(b, {registerElement(*made, function.context->int32(0)), registerCount(*made)});
  }
  block = std::move(out);
}

} // namespace

void pinAccumulators(Builder &b, const Accumulators &run) {
  auto &call = b.add<CallStmt>();
  call.callee = "wgmma_pin";
  call.templateArgs = {run.count};
  call.args = {Pointer{run.first, b.context().int32(run.count), Access::ReadWrite}};
}

void lowerWarpGroupGemm(const GemmContext &g, WarpGroupCode &code) {
  WarpGroupGemm(g, code).lower();
}

void finishWarpGroups(Function &function, const WarpGroupCode &code) {
  // Statements are known by their addresses, so those that are made come before any is dropped.
  if (!code.groups.empty())
    for (auto &launch : function.launches)
      WaitPinner(function, code).visitRole(launch->body);
  if (code.any)
    for (auto &launch : function.launches)
      pinMade(function, launch->body, code);
  if (!code.values.empty())
    for (auto &launch : function.launches)
      ValueHoister(code.values).visit(launch->body);
}

} // namespace tlc::passes
