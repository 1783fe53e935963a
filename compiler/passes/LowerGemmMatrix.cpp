// lower-gemm for matrix instructions. See LowerGemm.cpp.
#include "passes/LowerGemm.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Shape.h"
#include "passes/LayoutExpr.h"
#include "passes/Physical.h"
#include "passes/Registers.h"
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
  void load(Expr k) {
    if (region.buffer->storage()->scope == Scope::Fragment)
      return gather(k);
    bool rowsContiguous = g.kFirst(side);
    auto matrix = g.target.has(Feature::LdMatrix)
                      ? matrixLoad(*g.gemm.atom, g.grid, side, rowsContiguous)
                      : std::nullopt;
    if (matrix && loadMatrices(*matrix, k))
      return;
    loadElements(k);
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

  bool loadMatrices(const MatrixLoad &matrix, Expr k) {
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
      Element from = sharedElement(g, region, inTile, {k, group, g.thread},
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
    Buffer *owner = region.buffer->storage();
    Index run = 128 / static_cast<Index>(region.buffer->dtype.bits());
    if (region.buffer != owner || !owner->layout || region.offsets.empty() ||
        region.isDropped(static_cast<unsigned>(region.offsets.size()) - 1))
      return false;
    std::size_t last = region.offsets.size() - 1;
    Linear l = linear(region.offsets[last]);
    bool aligned = l.constant % run == 0;
    for (auto &[term, coefficient] : l.terms)
      aligned = aligned && coefficient % run == 0;
    if (!aligned)
      return false;
    return vectorAligned(*owner->layout, dimName(last), run);
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
  void loadElements(Expr k) {
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
      Element from = sharedElement(g, region, inTile, {k, r * width, g.thread}, limits());
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

void lowerMatrixGemm(const GemmContext &g) {
  const Atom &atom = *g.gemm.atom;
  Buffer &c = *g.gemm.c.buffer;
  Index perAtom = atom.cRegisters();
  auto result = registerMap(g.gemm.c, accumulatorLayout(atom, g.grid));
  TLC_CHECK(result && result->layout && result->runLength(perAtom) == perAtom,
            "an accumulator that is not at home");
  clearAccumulators(g, c, static_cast<Index>(result->table.size()), *result);
  Operand a(g, Side::A), b(g, Side::B);
  auto load = [&](Expr k) {
    if (a.loads())
      a.load(k);
    if (b.loads())
      b.load(k);
  };
  auto multiply = [&](Expr k) {
    unrolledLoop(g.b, "i", g.grid.perM, [&](Expr i) {
      unrolledLoop(g.b, "j", g.grid.perN, [&](Expr j) {
        Expr first = result->at((i * g.grid.perN + j) * perAtom);
        auto &call = g.b.add<CallStmt>();
        call.callee = atom.name;
        call.args.push_back(pointer(registerElement(c, first), perAtom, Access::ReadWrite));
        call.args.push_back(a.at(k, i));
        call.args.push_back(b.at(k, j));
        call.collective = Collective::Warp;
      });
    });
  };
  Context &context = g.context();
  Index steps = g.grid.perK;
  bool ahead = (!a.loads() || a.loadsAhead() == 2) && (!b.loads() || b.loadsAhead() == 2) &&
               (a.loads() || b.loads());
  if (!ahead) { // registers that are gathered step by step need constant register numbers
    for (Index k = 0; k < steps; ++k) {
      load(context.int32(k));
      multiply(context.int32(k));
    }
    return;
  }
  load(context.int32(0));
  unrolledLoop(g.b, "k", steps - 1, [&](Expr k) {
    load(k + 1);
    multiply(k);
  });
  multiply(context.int32(steps - 1));
}

} // namespace tlc::passes
