// lower-map: parallel loops, and through them copies, fills and tile atomics, become loops over the
// points of a thread.
//
//   map (%i, %j) in (128, 32) schedule reg(8:d1 ...) thread(4:d1*8 32:d0) { move %A_s[%i, %j] <-
//   %A[%by*128 + %i, %ko*32 + %j] }
//     =>
//   for %g in 0 .. 4 unroll {
//     let %i = %g*32 + %tid//4 ; let %j = %tid%4*8
//     move 8 %A_s{swizzle(%i, %j)} <- %A{(%by*128 + %i)*%K + %ko*32 + %j}
//   }
//
// Width and guards are decided together: registers are taken in groups as wide as the widest
// access; an access narrower than the group is made in pieces, and one whose guard may differ
// within a piece is wide where all of it is in range and element by element otherwise. Bodies that
// are more than a move compute element by element from register arrays. Additions to neighbours in
// global memory are made two or four at a time where the machine has that.
//
// Why here: all layouts are decided, and everything elementwise is one kind of statement.
#include "passes/lower/LowerMap.h"

#include "ir/Walk.h"
#include "passes/infer/Registers.h"
#include "passes/lower/LowerReducer.h"
#include "passes/lower/MapBody.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

#include <algorithm>
#include <numeric>

namespace tlc::passes {

using namespace ir;

namespace {

/// A top-level memory access of the body that is made several elements at a time.
struct WideAccess {
  Stmt *stmt = nullptr; ///< Load, Store, Move or Atomic of the map's body
  Index width = 1;
  Buffer *staging = nullptr; ///< registers of one group; null for moves
};

class MapLowering {
public:
  MapLowering(Builder &builder, MapStmt &map, const MapThread &thread)
      : b(builder), context(builder.context()), map(map), thread(thread) {}

  void run() {
    b.range = map.range;
    extents = constantExtents();
    bool walked = !extents || (thread.count == 1 && !thread.vectors);
    if (!walked) {
      TLC_CHECK(map.layout.has_value() || thread.count == 1, "map without a schedule");
      schedule = thread.count == 1 ? replicatedLayout(*extents, 1) : *map.layout;
      shape = MapShape{map.vars, *extents, &schedule, thread.divides};
      registers = schedule.input("reg").size();
      holder = holderGuard();
    }
    hasUpdates = lowerUpdates(b.function, map.body, thread.concurrent, holder);
    if (walked)
      return thread.count == 1 ? nestedLoops(0) : strideLoop();
    inlineLets(map.body, lets);
    mapFragments(map.body);
    if (thread.vectors)
      findWideAccesses();
    if (holder && !writesRegisters()) {
      b.when(holder, [&] { emitGroups(); });
      return;
    }
    guardHolders(map.body);
    emitGroups();
  }

private:
  std::optional<std::vector<Index>> constantExtents() const {
    std::vector<Index> result;
    for (Expr extent : map.extents) {
      auto value = extent.constant();
      if (!value)
        return std::nullopt;
      result.push_back(*value);
    }
    return result;
  }

  // ---- One thread, or extents known at run time only

  /// CPU: plain nested loops, the innermost one free of dependences.
  void nestedLoops(std::size_t dim) {
    if (dim == map.vars.size()) {
      toPhysical(map.body);
      for (StmtPtr &stmt : map.body)
        b.add(std::move(stmt));
      return;
    }
    auto &loop = b.add<ForStmt>();
    loop.var = map.vars[dim];
    loop.lo = context.integer(loop.var.dtype(), 0);
    loop.hi = context.cast(loop.var.dtype(), map.extents[dim]);
    loop.step = context.integer(loop.var.dtype(), 1);
    // Iterations may meet in an accumulator.
    bool independent = dim + 1 == map.vars.size() && !hasUpdates;
    loop.kind = independent ? ForKind::Vector : ForKind::Serial;
    b.in(loop.body, [&] { nestedLoops(dim + 1); });
  }

  /// Threads walk the points of the box in row-major order, a block's width at a time.
  void strideLoop() {
    DType wide = Scalar::Int64;
    Expr total = context.integer(wide, 1);
    for (Expr extent : map.extents)
      total = total * context.cast(wide, extent);
    auto &loop = b.add<ForStmt>();
    loop.var = context.var("point", wide);
    loop.lo = context.cast(wide, thread.index);
    loop.hi = total;
    loop.step = context.integer(wide, thread.count);
    b.in(loop.body, [&] {
      Expr rest = loop.var;
      std::vector<Expr> values(map.vars.size());
      for (std::size_t d = map.vars.size(); d-- > 0;) {
        Expr extent = context.cast(wide, map.extents[d]);
        values[d] = d == 0 ? rest : floorMod(rest, extent);
        rest = floorDiv(rest, extent);
      }
      for (std::size_t d = 0; d < values.size(); ++d) {
        auto &let = b.add<LetStmt>();
        let.var = map.vars[d];
        let.value = context.cast(map.vars[d].dtype(), values[d]);
      }
      toPhysical(map.body);
      for (StmtPtr &stmt : map.body)
        b.add(std::move(stmt));
    });
  }

  void toPhysical(Block &block) {
    walk(block, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        if (use.element)
          *use.element = physicalElement(*use.element);
      });
      return true;
    });
  }

  // ---- Fragments

  std::vector<Expr> resolved(const std::vector<Expr> &indices) const {
    std::vector<Expr> result;
    for (Expr index : indices)
      result.push_back(substitute(index, lets));
    return result;
  }

  /// How the map's registers find those of a fragment, for one way of indexing it.
  struct FragmentAccess {
    const Buffer *buffer;
    std::vector<Expr> indices;
    std::optional<RegisterMap> registers; ///< none: every thread holds all of it
  };

  const FragmentAccess *fragmentAccess(const Element &element) const {
    for (const FragmentAccess &access : fragments)
      if (access.buffer == element.buffer && access.indices == element.indices)
        return &access;
    return nullptr;
  }

  void mapFragments(Block &block) {
    walk(block, [&](Stmt &stmt) {
      forEachUse(stmt, [&](const BufferUse &use) {
        if (!use.element || use.buffer->scope != Scope::Fragment || use.element->physical ||
            fragmentAccess(*use.element))
          return;
        FragmentAccess access{use.buffer, use.element->indices, std::nullopt};
        if (auto index = indexMap(map.vars, *extents, resolved(access.indices)))
          access.registers = registerMap(*use.buffer, *index, schedule);
        needsConstants |= access.registers && !access.registers->layout;
        fragments.push_back(std::move(access));
      });
      return true;
    });
  }

  /// Where an element of the body is in register `reg`, before names of the body are replaced.
  Element located(const Element &element, Expr reg) const {
    if (element.physical)
      return element;
    const FragmentAccess *access = fragmentAccess(element);
    if (access && access->registers)
      return registerElement(*element.buffer, access->registers->at(reg));
    if (access && !heldByAll(*element.buffer)) {
      thread.diagnostics->report(diag::NoLayout, map.range, element.buffer->name,
                                 "each thread would need elements that other threads hold; copy it "
                                 "to shared memory first");
      return registerElement(*element.buffer, context.int32(0));
    }
    return physicalElement(element);
  }

  // ---- Guards

  /// True in one of the threads that hold the same points; null if there is one only.
  Expr holderGuard() const {
    DigitSet used = 0;
    for (const OutputAxis &output : schedule.outputs)
      for (const Term &term : output.terms)
        used |= term.digits;
    Expr guard;
    for (int digit = 0; digit < schedule.digitCount(); ++digit) {
      auto [axis, place] = schedule.place(digit);
      if (schedule.inputs[static_cast<std::size_t>(axis)].name != "thread" || (used >> digit & 1))
        continue;
      Expr value = floorMod(floorDiv(thread.index, place), schedule.radix(digit));
      guard = logicalAnd(guard, equals(value, 0));
    }
    return guard;
  }

  /// Nothing but values known beforehand stored to fragments: what lies outside the tile may be set
  /// too, and has to be where a gemm's grid covers more than its tile.
  bool onlyFillsRegisters() const {
    return std::all_of(map.body.begin(), map.body.end(), [](const StmtPtr &stmt) {
      auto *store = dynCast<StoreStmt>(stmt.get());
      return store && !store->predicate && store->target.buffer->scope == Scope::Fragment &&
             store->value.isConstant();
    });
  }

  /// True where the schedule's cover lies in the box; null: everywhere. Over the map's variables.
  Expr coverGuard() const {
    if (onlyFillsRegisters())
      return {};
    Expr guard;
    for (std::size_t d = 0; d < map.vars.size(); ++d)
      if (schedule.outputs[d].size > (*extents)[d])
        guard = logicalAnd(guard, lessThan(map.vars[d], (*extents)[d]));
    return guard;
  }

  bool writesRegisters() const {
    bool writes = false;
    for (StmtPtr &stmt : map.body)
      walkUses(*stmt, [&](const BufferUse &use) {
        writes |= !isMemory(*use.buffer) &&
                  (static_cast<unsigned>(use.access) & static_cast<unsigned>(Access::Write));
      });
    return writes;
  }

  /// Copies of a point must not repeat effects on memory, while every copy computes its registers.
  void guardHolders(Block &block) {
    if (!holder)
      return;
    walk(block, [&](Stmt &stmt) {
      if (auto *store = dynCast<StoreStmt>(&stmt); store && isMemory(*store->target.buffer))
        store->predicate = logicalAnd(holder, store->predicate);
      else if (auto *atomic = dynCast<AtomicStmt>(&stmt))
        atomic->predicate = logicalAnd(holder, atomic->predicate);
      return true;
    });
  }

  // ---- Wide accesses

  /// Whether another statement of the body touches the storage in a way that hoisting (sinking)
  /// this access past it would change: a write before a load, any use after a store.
  bool crossesUse(std::size_t position, const Buffer &buffer, bool isLoad) const {
    bool crosses = false;
    for (std::size_t i = 0; i < map.body.size(); ++i) {
      if (i == position || (isLoad ? i > position : i < position))
        continue;
      walkUses(*map.body[i], [&](const BufferUse &use) {
        bool writes = static_cast<unsigned>(use.access) & static_cast<unsigned>(Access::Write);
        if (use.buffer->storage() == buffer.storage() && (writes || !isLoad))
          crosses = true;
      });
    }
    return crosses;
  }

  Index widthOf(const Element &element) const {
    if (!isMemory(*element.buffer))
      return 1;
    Element logical = element;
    logical.indices = resolved(element.indices);
    auto known = [&](Expr index) { return dependsOnMapOnly(index, {}); };
    return accessWidth(logical, shape, registers, std::ranges::all_of(logical.indices, known));
  }

  void findWideAccesses() {
    for (std::size_t i = 0; i < map.body.size(); ++i) {
      Stmt &stmt = *map.body[i];
      WideAccess access{&stmt, 1, nullptr};
      if (auto *load = dynCast<LoadStmt>(&stmt)) {
        if (!load->var.dtype().isVector() && dependsOnMapOnly(load->predicate, load->otherwise) &&
            !crossesUse(i, *load->source.buffer, true))
          access.width = widthOf(load->source);
      } else if (auto *store = dynCast<StoreStmt>(&stmt)) {
        if (!store->value.dtype().isVector() && dependsOnMapOnly(store->predicate, {}) &&
            !crossesUse(i, *store->target.buffer, false))
          access.width = widthOf(store->target);
      } else if (auto *move = dynCast<MoveStmt>(&stmt)) {
        access.width = std::min(widthOf(move->source), widthOf(move->target));
      } else if (auto *atomic = dynCast<AtomicStmt>(&stmt); atomic && thread.atomicVectors) {
        if (addsVectors(*atomic) && dependsOnMapOnly(atomic->predicate, {}) &&
            !crossesUse(i, *atomic->target.buffer, false))
          access.width = widthOf(atomic->target);
      }
      if (access.width > 1)
        wide.push_back(access);
    }
    for (const WideAccess &access : wide)
      group = std::max(group, access.width);
  }

  /// Hoisted guards may use the map's variables and what is bound outside, not what the body loads.
  bool dependsOnMapOnly(Expr predicate, Expr otherwise) const {
    std::vector<Expr> vars;
    collectVars(substitute(predicate, lets), vars);
    collectVars(substitute(otherwise, lets), vars);
    bool bound = false;
    walk(map.body, [&](const Stmt &stmt) {
      if (!isa<LetStmt>(stmt))
        forEachDefinition(
            stmt, [&](Expr v) { bound |= std::find(vars.begin(), vars.end(), v) != vars.end(); });
      return true;
    });
    return !bound;
  }

  // ---- Emission

  void emitGroups() {
    for (WideAccess &access : wide) {
      if (isa<MoveStmt>(*access.stmt))
        continue;
      const Buffer *buffer = memoryOf(*access.stmt).buffer;
      access.staging = &b.function.addBuffer(buffer->name + "_v", buffer->dtype, Scope::Local,
                                             {context.int32(group)}, map.range);
    }
    auto one = [&](Expr g) {
      Expr first = g * group;
      for (WideAccess &access : wide)
        if (access.staging)
          b.alloc(*access.staging);
      for (WideAccess &access : wide)
        if (isa<LoadStmt>(*access.stmt))
          emitPieces(access, first);
      if (onlyMoves())
        for (WideAccess &access : wide) {
          auto &move = cast<MoveStmt>(*access.stmt);
          emitMovePieces(access, first, move);
        }
      else
        inGroup(group, first, [&](Expr reg, Expr lane) { emitPoint(reg, lane); });
      for (WideAccess &access : wide)
        if (isa<StoreStmt>(*access.stmt) || isa<AtomicStmt>(*access.stmt))
          emitPieces(access, first);
    };
    if (needsConstants)
      for (Index g = 0; g < registers / group; ++g)
        one(context.int32(g));
    else
      b.unrolled("g", registers / group, one);
  }

  /// The registers of one group, as a loop or, where register numbers must be constants, one after
  /// the other.
  void inGroup(Index count, Expr first, const std::function<void(Expr reg, Expr lane)> &f) {
    if (needsConstants)
      for (Index e = 0; e < count; ++e)
        f(first + e, context.int32(e));
    else
      b.unrolled("e", count, [&](Expr e) { f(first + e, e); });
  }

  bool onlyMoves() const {
    auto moves = [](const StmtPtr &s) { return isa<MoveStmt>(*s); };
    return wide.size() == map.body.size() && std::ranges::all_of(map.body, moves);
  }

  /// Values of the map's variables in a register, as expressions.
  Substitution pointAt(Expr reg) const {
    std::vector<Expr> inputs = {reg, thread.index};
    Substitution values;
    for (std::size_t d = 0; d < map.vars.size(); ++d)
      values.emplace_back(
          map.vars[d],
          context.cast(map.vars[d].dtype(), layoutExpr(schedule, schedule.outputs[d], inputs)));
    return values;
  }

  /// `e` in a register: names of the body are inlined, variables replaced.
  Expr at(Expr e, const Substitution &point) const {
    return e ? substitute(substitute(e, lets), point) : e;
  }
  Element at(const Element &element, const Substitution &point) const {
    Element result = element;
    for (Expr &index : result.indices)
      index = at(index, point);
    result.version = at(result.version, point);
    return physicalElement(result);
  }

  /// A guarded piece: `whole` where all of it may be accessed, else `single` for each element that
  /// may.
  void guarded(Expr condition, Expr first, Index width,
               const std::function<void(Expr guard)> &whole,
               const std::function<void(Expr reg, Expr lane, Expr guard)> &single) {
    Expr begin = at(condition, pointAt(first));
    if (!condition || uniformInGroup(condition, shape, width))
      return whole(begin);
    // In range at both ends is in range between: guards are comparisons of sums.
    Expr all = logicalAnd(begin, at(condition, pointAt(first + (width - 1))));
    auto &branch = b.when(all, [&] { whole({}); });
    b.in(branch.otherwise, [&] {
      inGroup(width, first,
              [&](Expr reg, Expr lane) { single(reg, lane, at(condition, pointAt(reg))); });
    });
  }

  /// `count` elements from register `r` of the schedule on, to or from `slot` of the staging
  /// registers.
  void transfer(const WideAccess &access, Expr r, Expr slot, Index count, Expr guard) {
    Element there = at(memoryOf(*access.stmt), pointAt(r)),
            here = registerElement(*access.staging, slot);
    if (const auto *atomic = dynCast<AtomicStmt>(access.stmt)) {
      auto &value = b.add<LoadStmt>();
      DType dtype = there.buffer->dtype;
      dtype.lanes = static_cast<decltype(dtype.lanes)>(count);
      value.var = context.var("value", dtype);
      value.source = here;
      auto &stmt = b.add<AtomicStmt>();
      stmt.op = atomic->op;
      stmt.target = there;
      stmt.value = value.var;
      stmt.predicate = guard;
      return;
    }
    const auto *load = dynCast<LoadStmt>(access.stmt);
    auto &stmt = b.add<MoveStmt>();
    stmt.source = load ? there : here;
    stmt.target = load ? here : there;
    stmt.count = count;
    stmt.predicate = guard;
    if (guard && load)
      stmt.fill =
          load->otherwise ? at(load->otherwise, pointAt(r)) : context.zero(there.buffer->dtype);
  }

  /// The group's accesses to memory, `access.width` elements at a time, to or from the staging
  /// registers.
  void emitPieces(const WideAccess &access, Expr first) {
    auto piece = [&](Expr p) {
      Expr offset = p * access.width, reg = first + offset;
      guarded(
          logicalAnd(coverGuard(), substitute(predicateOf(*access.stmt), lets)), reg, access.width,
          [&](Expr guard) { transfer(access, reg, offset, access.width, guard); },
          [&](Expr r, Expr lane, Expr guard) { transfer(access, r, offset + lane, 1, guard); });
    };
    Index pieces = group / access.width;
    if (needsConstants)
      for (Index p = 0; p < pieces; ++p)
        piece(context.int32(p));
    else
      b.unrolled("p", pieces, piece);
  }

  /// Memory to memory without a stop in named registers; asynchronous if the copy engine takes the
  /// width. Where the predicate is false the target is filled, but only within the tile: what the
  /// schedule covers beyond it belongs to others.
  void emitMovePieces(const WideAccess &access, Expr first, const MoveStmt &move) {
    auto emit = [&](Expr r, Index count, Expr guard) {
      Substitution point = pointAt(r);
      auto &stmt = b.add<MoveStmt>();
      stmt.source = at(move.source, point);
      stmt.target = at(move.target, point);
      stmt.count = count;
      stmt.async = move.async && takesAsync(stmt);
      stmt.predicate = guard;
      if (guard)
        stmt.fill = at(move.fill, point);
    };
    Expr cover = coverGuard(), inRange = substitute(move.predicate, lets);
    b.unrolled("p", group / access.width, [&](Expr p) {
      Expr reg = first + p * access.width;
      auto piece = [&] {
        guarded(
            inRange, reg, access.width, [&](Expr guard) { emit(reg, access.width, guard); },
            [&](Expr r, Expr, Expr guard) { emit(r, 1, guard); });
      };
      auto single = [&](Expr r, Expr) {
        b.when(at(cover, pointAt(r)), [&] { emit(r, 1, at(inRange, pointAt(r))); });
      };
      if (!cover)
        piece();
      else if (uniformInGroup(cover, shape, access.width))
        b.when(at(cover, pointAt(reg)), piece);
      else
        inGroup(access.width, reg, single);
    });
  }

  /// The body for one register; wide accesses use lane `lane` of their staging registers.
  void emitPoint(Expr reg, Expr lane) {
    Substitution point = pointAt(reg);
    Substitution renamed;
    Block body = cloneBlock(map.body);
    auto emit = [&] {
      bindPoint(body, point, renamed);
      for (std::size_t i = 0; i < body.size(); ++i)
        emitStmt(std::move(body[i]), accessOf(map.body[i].get()), reg, lane, renamed);
    };
    if (Expr guard = coverGuard())
      b.when(substitute(guard, point), emit);
    else
      emit();
  }

  const WideAccess *accessOf(const Stmt *stmt) const {
    for (const WideAccess &access : wide)
      if (access.stmt == stmt)
        return &access;
    return nullptr;
  }

  /// Names the map's variables that the body uses, and gives fresh names to what it binds (it is
  /// emitted more than once).
  void bindPoint(Block &body, const Substitution &point, Substitution &renamed) {
    for (const auto &[var, value] : point)
      renamed.emplace_back(var, b.let(var->name, value));
    walk(body, [&](Stmt &stmt) {
      forEachDefinition(stmt, [&](Expr &var) {
        Expr fresh = context.var(var->name, var.dtype());
        renamed.emplace_back(var, fresh);
        var = fresh;
      });
      return true;
    });
  }

  void emitStmt(StmtPtr stmt, const WideAccess *access, Expr reg, Expr lane,
                const Substitution &renamed) {
    if (access) {
      if (auto *load = dynCast<LoadStmt>(stmt.get())) {
        load->source = registerElement(*access->staging, lane);
        load->predicate = load->otherwise = {};
      } else if (auto *store = dynCast<StoreStmt>(stmt.get())) {
        store->target = registerElement(*access->staging, lane);
        store->predicate = {};
      } else if (auto *atomic = dynCast<AtomicStmt>(stmt.get())) {
        auto staged = std::make_unique<StoreStmt>(atomic->range);
        staged->target = registerElement(*access->staging, lane);
        staged->value = atomic->value;
        stmt = std::move(staged);
      }
    }
    Block one;
    one.push_back(std::move(stmt));
    walk(one, [&](Stmt &inner) {
      forEachUse(inner, [&](const BufferUse &use) {
        if (use.element)
          *use.element = located(*use.element, reg);
      });
      if (auto *move = dynCast<MoveStmt>(&inner))
        move->async = move->async && takesAsync(*move);
      return true;
    });
    substitute(one, renamed);
    b.add(std::move(one[0]));
  }

  Builder &b;
  Context &context;
  MapStmt &map;
  const MapThread &thread;
  std::optional<std::vector<Index>> extents;
  Layout schedule;
  MapShape shape;
  Index registers = 1, group = 1;
  Expr holder;
  Substitution lets;
  std::vector<FragmentAccess> fragments;
  bool needsConstants = false, hasUpdates = false;
  std::vector<WideAccess> wide;
};

} // namespace

void lowerMapStmt(Builder &builder, MapStmt &map, const MapThread &thread) {
  MapLowering(builder, map, thread).run();
}

} // namespace tlc::passes
