// Operand layouts of gemms. See GemmLayouts.h.
#include "passes/plan/GemmLayouts.h"

#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

Index ceilDivide(Index a, Index b) { return (a + b - 1) / b; }

Layout named(const Layout &l, const char *row, const char *column) {
  return permuteOutputs(l, {{l.outputs[0].name, row}, {l.outputs[1].name, column}});
}

Layout repeated(const Layout &atom, std::vector<Digit> reg, std::vector<Digit> thread,
                const Sizes &sizes) {
  return product(atom,
                 Layout::make({{"reg", std::move(reg)}, {"thread", std::move(thread)}}, sizes));
}

const Layout &atomLayout(const Atom &atom, Side side) {
  return side == Side::A ? atom.aLayout : atom.bLayout;
}

/// Warps along m vary fastest; those along the other axis hold copies of the operand.
std::vector<Digit> warpDigits(const GemmGrid &grid, Side side) {
  if (side == Side::A)
    return {{grid.warpsM, "d0", grid.perM}, {grid.warpsN}, {grid.replicas}};
  return {{grid.warpsM}, {grid.warpsN, "d0", grid.perN}, {grid.replicas}};
}

} // namespace

std::optional<GemmShape> gemmShape(const GemmStmt &gemm) {
  auto a = gemm.a.constantTileExtents(), c = gemm.c.constantTileExtents();
  if (!a || !c || a->size() < 2 || c->size() < 2)
    return std::nullopt;
  std::size_t ra = a->size(), rc = c->size();
  return GemmShape{(*c)[rc - 2], (*c)[rc - 1], (*a)[ra - (gemm.transposeA ? 2 : 1)]};
}

GemmGrid gemmGrid(const Atom &atom, const GemmShape &shape, Index warpsM, Index warpsN,
                  Index threads) {
  TLC_CHECK(warpsM > 0 && warpsN > 0 && threads % (atom.threads * warpsM * warpsN) == 0,
            "a gemm's grid that does not divide its threads");
  GemmGrid grid;
  grid.warpsM = warpsM;
  grid.warpsN = warpsN;
  grid.perM = ceilDivide(ceilDivide(shape.m, atom.m), warpsM);
  grid.perN = ceilDivide(ceilDivide(shape.n, atom.n), warpsN);
  grid.perK = ceilDivide(shape.k, atom.k);
  grid.replicas = threads / (atom.threads * warpsM * warpsN);
  return grid;
}

Layout accumulatorLayout(const Atom &atom, const GemmGrid &grid) {
  Layout unit = named(atom.cLayout, "d0", "d1");
  if (atom.kind != AtomKind::Scalar)
    return repeated(
        unit, {{grid.perN, "d1"}, {grid.perM, "d0"}},
        {{grid.warpsM, "d0", grid.perM}, {grid.warpsN, "d1", grid.perN}, {grid.replicas}},
        {{"d0", grid.perM * grid.warpsM}, {"d1", grid.perN * grid.warpsN}});
  // Scalar: threads along n vary fastest and own up to four neighbouring columns, so that rows are
  // loaded and stored as vectors; further columns and rows are a whole grid apart.
  Index run = grid.perN % 4 == 0 ? 4 : grid.perN % 2 == 0 ? 2 : 1;
  return repeated(
      unit,
      {{run, "d1"}, {grid.perN / run, "d1", run * grid.warpsN}, {grid.perM, "d0", grid.warpsM}},
      {{grid.warpsN, "d1", run}, {grid.warpsM, "d0"}, {grid.replicas}},
      {{"d0", grid.perM * grid.warpsM}, {"d1", grid.perN * grid.warpsN}});
}

Layout operandLayout(const Atom &atom, const GemmGrid &grid, Side side) {
  Index rows = side == Side::A ? grid.perM : grid.perN;
  Index warps = side == Side::A ? grid.warpsM : grid.warpsN;
  return repeated(named(atomLayout(atom, side), "d0", "d1"), {{grid.perK, "d1"}, {rows, "d0"}},
                  warpDigits(grid, side), {{"d0", rows * warps}, {"d1", grid.perK}});
}

Layout operandStepLayout(const Atom &atom, const GemmGrid &grid, Side side) {
  GemmGrid step = grid;
  step.perK = 1;
  return operandLayout(atom, step, side);
}

Layout inTileOrder(const Layout &operand, bool kFirst) {
  return kFirst ? permuteOutputs(operand, {{"d1", "d0"}, {"d0", "d1"}}) : operand;
}

bool kFirst(const GemmStmt &gemm, Side side) {
  return side == Side::A ? gemm.transposeA : !gemm.transposeB;
}

std::optional<MatrixLoad> matrixMoves(const Layout &registers, unsigned bits, bool transposed) {
  Index word = 32 / static_cast<Index>(bits), words = registers.input("reg").size() / word;
  Layout unit = named(matrixLayout(bits), "d0", "d1");
  if (words == 0 || !divide(registers, unit))
    return std::nullopt;
  MatrixLoad moves;
  moves.transposed = transposed;
  moves.matrices = words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1;
  moves.groups = words / moves.matrices;
  moves.registersPerGroup = moves.matrices * word;
  // Lane l supplies row l % 8 of matrix l / 8, which is what registers [l / 8 * word, ...) of
  // thread 0 start.
  Index threads = registers.input("thread").size();
  Layout origin = Layout::make(
      {{"group", {{moves.groups, "reg", moves.registersPerGroup}}},
       {"thread",
        {{8}, {moves.matrices, "reg", word}, {4 / moves.matrices}, {threads / 32, "thread", 32}}}},
      {{"reg", registers.input("reg").size()}, {"thread", threads}});
  auto start = compose(registers, origin);
  if (!start)
    return std::nullopt;
  Layout row = Layout::make(
      {{"group", {{moves.groups}}}, {"thread", {{8, transposed ? "d1" : "d0"}, {threads / 8}}}},
      {{"d0", transposed ? 1 : 8}, {"d1", transposed ? 8 : 1}});
  auto sum = addLayouts(*start, row);
  if (!sum)
    return std::nullopt;
  moves.start = std::move(*sum);
  return moves;
}

std::optional<MatrixLoad> matrixLoad(const Atom &atom, const GemmGrid &grid, Side side,
                                     bool rowsContiguous) {
  unsigned bits = (side == Side::A ? atom.a : atom.b).bits();
  if (atom.kind != AtomKind::Matrix || bits > 32 || (rowsContiguous && bits != 16))
    return std::nullopt;
  return matrixMoves(operandStepLayout(atom, grid, side), bits, rowsContiguous);
}

std::optional<Layout> matrixAccess(const Atom &atom, const GemmGrid &grid, Side side,
                                   bool rowsContiguous, bool kFirst) {
  auto load = matrixLoad(atom, grid, side, rowsContiguous);
  if (!load)
    return std::nullopt;
  unsigned bits = (side == Side::A ? atom.a : atom.b).bits();
  Index run = 128 / static_cast<Index>(bits), threads = load->start.input("thread").size();
  // Registers: the 16 bytes, then the groups, then the steps along k.
  Layout bytes =
      Layout::make({{"reg", {{run, rowsContiguous ? "d0" : "d1"}, {load->groups}, {grid.perK}}},
                    {"thread", {{threads}}}},
                   {{"d0", rowsContiguous ? run : 1}, {"d1", rowsContiguous ? 1 : run}});
  Layout groups = Layout::make(
      {{"reg", {{run}, {load->groups, "group"}, {grid.perK}}}, {"thread", {{threads, "thread"}}}},
      {{"group", load->groups}, {"thread", threads}});
  Layout steps = Layout::make(
      {{"reg", {{run * load->groups}, {grid.perK, "d1", atom.k}}}, {"thread", {{threads}}}},
      {{"d0", 1}, {"d1", atom.k * grid.perK}});
  auto starts = compose(load->start, groups);
  auto one = starts ? addLayouts(*starts, bytes) : std::nullopt;
  auto all = one ? addLayouts(*one, steps) : std::nullopt;
  if (!all)
    return std::nullopt;
  return inTileOrder(*all, kFirst);
}

} // namespace tlc::passes
