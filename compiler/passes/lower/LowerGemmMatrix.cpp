// lower-gemm for matrix instructions. See LowerGemm.cpp.
#include "passes/lower/LowerGemm.h"

#include "ir/Walk.h"
#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Shape.h"
#include "passes/Rewrite.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/infer/Registers.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

Pointer pointer(Element element, Index count, Access access) {
  Pointer p;
  p.count = element.buffer->shape.empty() ? Expr() : element.indices.at(0).context().int32(count);
  p.element = std::move(element);
  p.access = access;
  return p;
}

/// One operand: where its registers for a step come from.
class Operand {
public:
  Operand(const GemmContext &g, Side side)
      : g(g), side(side), region(g.region(side)),
        atomRegisters(side == Side::A ? g.gemm.atom->aRegisters() : g.gemm.atom->bRegisters()),
        perRow(side == Side::A ? g.grid.perM : g.grid.perN) {
    bool inRegisters = region.buffer->storage()->scope == Scope::Fragment;
    if (inRegisters && findRegisters())
      return;
    slots = g.grid.perK > 1 && !inRegisters ? 2 : 1;
    DType dtype = region.buffer->dtype;
    array = &g.b.function.addBuffer(side == Side::A ? "a" : "b", dtype, Scope::Local,
                                    {g.context().int32(slots * stepRegisters())}, g.gemm.range);
    g.b.alloc(*array);
  }

  /// Whether load() has to be called for each step; else the registers are the fragment's own.
  bool loads() const { return array != nullptr; }
  Index loadsAhead() const { return slots; }

  /// Statements that bring in step `k`.
  void load(Expr k) { load(k, region); }
  /// The same from the operand's place in another round of a loop.
  void load(Expr k, const Region &from) {
    if (region.buffer->storage()->scope == Scope::Fragment)
      return gather(k);
    bool rowsContiguous = g.kFirst(side);
    auto matrix = g.target.has(Feature::LdMatrix)
                      ? matrixLoad(*g.gemm.atom, g.grid, side, rowsContiguous)
                      : std::nullopt;
    if (matrix && loadMatrices(*matrix, k, from))
      return;
    loadElements(k, from);
  }

  /// The registers of atom `row` in step `k`.
  Pointer at(Expr k, Expr row) const {
    if (!array)
      return pointer(registerElement(*region.buffer, home->at(k * atomRegisters +
                                                              row * (atomRegisters * g.grid.perK))),
                     atomRegisters, Access::Read);
    return pointer(registerElement(*array, slot(k) + row * atomRegisters), atomRegisters,
                   Access::Read);
  }

private:
  const GemmContext &g;
  Side side;
  const Region &region;
  Index atomRegisters, perRow;
  Index slots = 1;
  Buffer *array = nullptr;
  std::optional<RegisterMap> home;

  Index stepRegisters() const { return atomRegisters * perRow; }
  Expr slot(Expr k) const {
    return slots == 1 ? g.context().int32(0) : floorMod(k, slots) * stepRegisters();
  }

  /// A fragment operand: the wanted registers in the fragment. True if whole atoms lie together, in
  /// order.
  bool findRegisters() {
    Layout wanted = inTileOrder(operandLayout(*g.gemm.atom, g.grid, side), g.kFirst(side));
    home = registerMap(region, wanted);
    TLC_CHECK(home.has_value(), "a gemm operand that its threads do not hold");
    return home->layout && home->runLength(atomRegisters) == atomRegisters;
  }

  /// Copies the step's registers together.
  void gather(Expr k) {
    TLC_CHECK(k.constant().has_value(), "a step that is not unrolled");
    for (Index row = 0; row < perRow; ++row)
      for (Index e = 0; e < atomRegisters; ++e) {
        Expr r = g.context().int32(atomRegisters * (*k.constant() + g.grid.perK * row) + e);
        Expr value = g.b.load("x", registerElement(*region.buffer, home->at(r)));
        g.b.store(registerElement(*array, g.context().int32(row * atomRegisters + e)), value);
      }
  }

  /// Rows beyond the tile exist where the grid covers more than it; `run` rows are read together.
  std::vector<Index> limits(Index run = 1) const {
    Index covered = perRow * (side == Side::A ? g.grid.warpsM * g.gemm.atom->m
                                              : g.grid.warpsN * g.gemm.atom->n);
    if (covered <= g.rows(side))
      return {};
    return g.kFirst(side) ? std::vector<Index>{0, g.rows(side) - run + 1}
                          : std::vector<Index>{g.rows(side), 0};
  }

  /// Adds the position of step k: (step, …) -> coordinates.
  std::optional<Layout> withSteps(const Layout &one) const {
    std::vector<std::pair<std::string, std::vector<Digit>>> pick{{"step", {{g.grid.perK}}}};
    std::vector<std::pair<std::string, std::vector<Digit>>> move{
        {"step", {{g.grid.perK, "d1", g.gemm.atom->k}}}};
    Sizes sizes;
    for (const InputAxis &a : one.inputs) {
      pick.push_back({a.name, {{a.size(), a.name}}});
      move.push_back({a.name, {{a.size()}}});
      sizes.emplace_back(a.name, a.size());
    }
    auto same = compose(one, Layout::make(pick, sizes));
    return same ? addLayouts(*same,
                             Layout::make(move, {{"d0", 1}, {"d1", g.grid.perK * g.gemm.atom->k}}))
                : std::nullopt;
  }

  bool loadMatrices(const MatrixLoad &matrix, Expr k, const Region &place) {
    auto access = withSteps(matrix.start);
    if (!access)
      return false;
    Layout inTile = inTileOrder(*access, g.kFirst(side));
    if (!sixteenBytes())
      return false;
    std::string callee =
        "ldmatrix_x" + std::to_string(matrix.matrices) + (matrix.transposed ? "_trans" : "");
    Index bytesRun = 128 / static_cast<Index>(region.buffer->dtype.bits());
    unrolledLoop(g.b, "g", matrix.groups, [&](Expr group) {
      Element from = sharedElement(g, place, inTile, {k, group, g.thread},
                                   limits(matrix.transposed ? bytesRun : 1));
      auto &call = g.b.add<CallStmt>();
      call.callee = callee;
      call.args.push_back(
          pointer(registerElement(*array, slot(k) + group * matrix.registersPerGroup),
                  matrix.registersPerGroup, Access::Write));
      call.args.push_back(pointer(std::move(from), bytesRun, Access::Read));
      call.collective = Collective::Warp;
    });
    return true;
  }

  /// Whether 16 bytes along the tile's last dim are together and aligned wherever a lane may start.
  bool sixteenBytes() const {
    const std::optional<Layout> &memory = region.buffer->layout;
    Index run = 128 / static_cast<Index>(region.buffer->dtype.bits());
    if (!memory || region.offsets.empty() ||
        region.isDropped(static_cast<unsigned>(region.offsets.size()) - 1))
      return false;
    std::size_t last = region.offsets.size() - 1;
    Linear l = linear(region.offsets[last]);
    bool aligned = l.constant % run == 0;
    for (auto &[term, coefficient] : l.terms)
      aligned = aligned && coefficient % run == 0;
    if (!aligned)
      return false;
    return vectorAligned(*memory, dimName(last), run);
  }

  static bool vectorAligned(const Layout &memory, const std::string &axis, Index run) {
    // As an access with the run in registers and all else in threads.
    Sizes sizes = memory.inputSizes();
    std::vector<std::pair<std::string, std::vector<Digit>>> inputs{{"reg", {{run, axis}}},
                                                                   {"thread", {}}};
    for (auto &[name, size] : sizes)
      inputs[1].second.push_back({name == axis ? size / run : size, name, name == axis ? run : 1});
    if (memory.input(axis).size() % run)
      return false;
    auto access = compose(memory, Layout::make(inputs, sizes));
    return access && vectorWidth(*access, run) == run;
  }

  /// Without ldmatrix: each thread reads its own elements, as many at a time as lie together.
  void loadElements(Expr k, const Region &place) {
    Layout step = operandStepLayout(*g.gemm.atom, g.grid, side);
    auto access = withSteps(step);
    TLC_CHECK(access.has_value(), "steps of a gemm that do not add up");
    Layout inTile = inTileOrder(*access, g.kFirst(side));
    Index registers = stepRegisters(), width = 1;
    if (limits().empty())
      if (auto offsets = sharedOffsets(region, inTile)) {
        DType dtype = region.buffer->dtype;
        Index most = std::max<Index>(1, 128 / dtype.bits()),
              least = std::max<Index>(1, 32 / dtype.bits());
        width = orderedWidth(*offsets, most);
        if (width < least || registers % width)
          width = 1;
      }
    unrolledLoop(g.b, "r", registers / width, [&](Expr r) {
      Element from = sharedElement(g, place, inTile, {k, r * width, g.thread}, limits());
      Element to = registerElement(*array, slot(k) + r * width);
      if (width == 1) {
        g.b.store(to, g.b.load("x", from));
        return;
      }
      auto &move = g.b.add<MoveStmt>();
      move.source = std::move(from);
      move.target = std::move(to);
      move.count = width;
    });
  }
};

} // namespace

namespace {

/// The parts of a gemm's code, for whoever puts them in order.
class MatrixGemm {
public:
  explicit MatrixGemm(const GemmContext &g)
      : g(g), c(*g.gemm.c.buffer), perAtom(g.gemm.atom->cRegisters()), a(g, Side::A),
        b(g, Side::B) {
    auto map = registerMap(g.gemm.c, accumulatorLayout(*g.gemm.atom, g.grid));
    TLC_CHECK(map && map->layout && map->runLength(perAtom) == perAtom,
              "an accumulator that is not at home");
    result = std::move(*map);
  }

  Index steps() const { return g.grid.perK; }
  /// Whether both operands can be loaded a step ahead of their use.
  bool ahead() const {
    return (!a.loads() || a.loadsAhead() == 2) && (!b.loads() || b.loadsAhead() == 2) &&
           (a.loads() || b.loads());
  }

  void clear() { clearAccumulators(g, c, static_cast<Index>(result.table.size()), result); }
  void load(Expr k) {
    if (a.loads())
      a.load(k);
    if (b.loads())
      b.load(k);
  }
  /// Step k of another round of the loop.
  void load(Expr k, const Substitution &round) {
    for (auto [operand, side] : {std::pair(&a, Side::A), {&b, Side::B}}) {
      Region place = g.region(side);
      for (Expr &offset : place.offsets)
        offset = substitute(offset, round);
      if (place.version)
        place.version = substitute(place.version, round);
      operand->load(k, place);
    }
  }
  void multiply(Expr k) {
    unrolledLoop(g.b, "i", g.grid.perM, [&](Expr i) {
      unrolledLoop(g.b, "j", g.grid.perN, [&](Expr j) {
        Expr first = result.at((i * g.grid.perN + j) * perAtom);
        auto &call = g.b.add<CallStmt>();
        call.callee = g.gemm.atom->name;
        call.args.push_back(pointer(registerElement(c, first), perAtom, Access::ReadWrite));
        call.args.push_back(a.at(k, i));
        call.args.push_back(b.at(k, j));
        call.collective = Collective::Warp;
      });
    });
  }

private:
  const GemmContext &g;
  Buffer &c;
  Index perAtom;
  RegisterMap result;
  Operand a, b;
};

} // namespace

void lowerMatrixGemm(const GemmContext &g) {
  MatrixGemm code(g);
  code.clear();
  Context &context = g.context();
  Index steps = code.steps();
  if (!code.ahead()) { // registers that are gathered step by step need constant register numbers
    for (Index k = 0; k < steps; ++k) {
      code.load(context.int32(k));
      code.multiply(context.int32(k));
    }
    return;
  }
  code.load(context.int32(0));
  unrolledLoop(g.b, "k", steps - 1, [&](Expr k) {
    code.load(k + 1);
    code.multiply(k);
  });
  code.multiply(context.int32(steps - 1));
}

// ---- Loops ----
//
//   for %k in 0 .. %n {                                wait(2) ; barrier
//     wait(2)                                          if 0 < %n { operands of step 0 of round 0 }
//     if %k + 3 < %n { copy … -> %A_s@(%k + 3) % 4 }   if 3 < %n { copy … } ; commit
//     commit                                    =>     for %k in 0 .. %n {
//     gemm %A_s@%k % 4, … -> %C_l                        operands of step 1 ; products of step 0
//   }                                                    wait(2)
//                                                        operands of step 0 of round %k + 1
//                                                        if %k + 4 < %n { copy … } ; commit
//                                                        products of step 1
//                                                      }
//
// The head of a round runs before the last products of the round before, which touch registers
// only: so no warp stands at the barrier, or waits for its first operands, without products to
// issue. The downstream compiler does not do this by itself, as it moves nothing over the end of a
// loop.

namespace {

/// The parts of `for k { wait(n); … later copies …; gemm }`.
struct GemmLoop {
  ForStmt *loop = nullptr;
  AsyncStmt *wait = nullptr;
  GemmStmt *gemm = nullptr;
};

/// Whether nothing in the body but asynchronous copies writes the tiles that the gemm reads.
bool tilesComeFromCopies(const Block &body, const GemmStmt &gemm) {
  bool only = true;
  walk(body, [&](const Stmt &stmt) {
    auto *copy = dynCast<CopyStmt>(&stmt);
    if (isa<GemmStmt>(stmt) && &stmt != &gemm)
      only = false;
    forEachUse(stmt, [&](const BufferUse &use) {
      bool tile = use.buffer && (use.buffer->storage() == gemm.a.buffer->storage() ||
                                 use.buffer->storage() == gemm.b.buffer->storage());
      bool writes = static_cast<unsigned>(use.access) & static_cast<unsigned>(Access::Write);
      only = only && !(tile && writes && !(copy && copy->async));
    });
    return true;
  });
  return only;
}

/// Whether there is nothing in the block but asynchronous copies under conditions, which say that
/// there is a round to copy for.
bool onlyGuardedCopies(const Block &block, bool guarded = false) {
  return std::all_of(block.begin(), block.end(), [&](const StmtPtr &stmt) {
    if (auto *branch = dynCast<IfStmt>(stmt.get()))
      return onlyGuardedCopies(branch->then, true) && branch->otherwise.empty();
    auto *copy = dynCast<CopyStmt>(stmt.get());
    auto *group = dynCast<AsyncStmt>(stmt.get());
    return (copy && copy->async && guarded) ||
           (group && group->commit && group->what == AsyncKind::CpAsync);
  });
}

std::optional<GemmLoop> gemmLoop(Stmt &stmt) {
  auto *loop = dynCast<ForStmt>(&stmt);
  if (!loop || loop->body.size() < 2 || !loop->step.isConstant(1) ||
      (loop->kind != ForKind::Serial && loop->kind != ForKind::Pipelined))
    return std::nullopt;
  GemmLoop parts{loop, dynCast<AsyncStmt>(loop->body.front().get()),
                 dynCast<GemmStmt>(loop->body.back().get())};
  if (!parts.wait || parts.wait->commit || parts.wait->what != AsyncKind::CpAsync || !parts.gemm ||
      !parts.gemm->atom || parts.gemm->atom->kind != AtomKind::Matrix)
    return std::nullopt;
  for (const Region *r : {&parts.gemm->a, &parts.gemm->b})
    if (r->buffer->storage()->scope != Scope::Shared || !r->version || !uses(r->version, loop->var))
      return std::nullopt; // not in registers, and a tile of its own in each round
  if (!tilesComeFromCopies(loop->body, *parts.gemm))
    return std::nullopt;
  return parts;
}

} // namespace

bool lowerGemmLoop(StmtPtr &stmt, Builder &b, const Target &target, const RoleThreads &threads) {
  auto found = threads.wholeBlock ? gemmLoop(*stmt) : std::nullopt;
  if (!found)
    return false;
  ForStmt &loop = *found->loop;
  GemmContext g = gemmContext(*found->gemm, b, target, threads);
  if (g.grid.perK < 2 || g.grid.perK % 2) // the slots of step 0 must be free during the last
    return false;
  StmtPtr wait = std::move(loop.body.front()), gemm = std::move(loop.body.back());
  loop.body.erase(loop.body.begin());
  loop.body.pop_back();
  Block copies = std::move(loop.body);
  loop.body.clear();
  b.range = gemm->range;
  MatrixGemm code(g);
  Context &context = b.context();
  Expr first = context.int32(0), last = context.int32(code.steps() - 1);
  auto addAll = [&](Block &&block) {
    for (StmtPtr &one : block)
      b.add(std::move(one));
  };
  // Copies of the next round may come at the end of this one.
  bool early = onlyGuardedCopies(copies);
  // The first round's tiles must be there. The barrier is written out, since it must not depend on
  // there being a round.
  b.add(cloneStmt(*wait));
  b.barrier();
  b.when(lessThan(loop.lo, loop.hi), [&] { code.load(first, {{loop.var, loop.lo}}); });
  if (early) {
    Substitution firstRound{{loop.var, loop.lo}};
    addAll(freshCopy(b.function, copies, firstRound));
    substitute(copies, {{loop.var, loop.var + 1}});
  }
  b.in(loop.body, [&] {
    code.clear();
    if (!early)
      addAll(std::move(copies));
    unrolledLoop(b, "k", code.steps() - 1, [&](Expr k) {
      code.load(k + 1);
      code.multiply(k);
    });
    b.add(std::move(wait));
    // The last round loads its own once more: a branch would keep the products from running beside
    // the loads.
    code.load(first, {{loop.var, minimum(loop.var + 1, loop.hi - 1)}});
    // Behind all loads, which may not pass what writes shared memory, and beside products.
    if (early)
      addAll(std::move(copies));
    code.multiply(last);
  });
  b.add(std::move(stmt));
  return true;
}

} // namespace tlc::passes
