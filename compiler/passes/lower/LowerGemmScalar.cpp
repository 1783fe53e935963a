// lower-gemm for everything that no matrix instruction does. See LowerGemm.cpp.
//
// GPU: each thread owns perM x perN elements; for each k it reads perM + perN elements and
// multiplies them all. CPU: one thread has everything in memory; rows of B are scaled into rows of
// C, which compilers vectorise.
//
// Narrow floats are accumulated in float32 over all of k and rounded once.
#include "passes/lower/LowerGemm.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "layout/Shape.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/lower/Physical.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

bool isNarrowFloat(DType t) { return t.isFloat() && t.bits() < 32; }

class ScalarGemm {
public:
  explicit ScalarGemm(const GemmContext &g)
      : g(g), b(g.b), context(g.context()), c(*g.gemm.c.buffer),
        sum(isNarrowFloat(c.dtype) ? DType(Scalar::Float32) : c.dtype) {}

  void run() {
    auto map = registerMap(g.gemm.c, accumulatorLayout(*g.gemm.atom, g.grid));
    TLC_CHECK(map.has_value(), "an accumulator that is not at home");
    result = std::move(*map);
    clearAccumulators(g, c, static_cast<Index>(result.table.size()), result);
    if (g.threads == 1 && g.target.family == Family::Cpu && callTile())
      return;
    if (g.threads == 1)
      return rowsInMemory();
    blockInRegisters();
  }

private:
  const GemmContext &g;
  Builder &b;
  Context &context;
  Buffer &c;
  DType sum;
  RegisterMap result;

  Buffer &local(const char *name, DType dtype, Index count) {
    Buffer &buffer =
        b.function.addBuffer(name, dtype, Scope::Local, {context.int32(count)}, g.gemm.range);
    b.alloc(buffer);
    return buffer;
  }

  Expr accumulate(Expr old, Expr x, Expr y) { return old + x * y; }

  // ---- GPU ----

  /// (step, reg, thread) -> tile coordinates of one side: the rows of a thread at step k.
  Layout sideAccess(Side side, const Layout &accumulator) const {
    unsigned keep[] = {side == Side::A ? 0u : 1u};
    Layout rows = reduceOutput(
        accumulator, dimName(side == Side::A ? 1 : 0)); // drops the other side's registers
    (void)keep;
    rows = permuteOutputs(rows, {{dimName(side == Side::A ? 0 : 1), "d0"}});
    Sizes sizes = rows.inputSizes();
    Layout pick = Layout::make({{"step", {{g.shape.k}}},
                                {"reg", {{sizes[0].second, "reg"}}},
                                {"thread", {{sizes[1].second, "thread"}}}},
                               sizes);
    Layout move = Layout::make({{"step", {{g.shape.k, "d1"}}},
                                {"reg", {{sizes[0].second}}},
                                {"thread", {{sizes[1].second}}}},
                               {{"d1", g.shape.k}});
    auto joined = joinOutputs({*compose(rows, pick), move});
    TLC_CHECK(joined.has_value(), "rows and steps of a gemm that do not join");
    return inTileOrder(*joined, g.kFirst(side));
  }

  /// Reads the side's elements of step k into `to`, as `sum`.
  void read(Side side, const Layout &access, Expr k, Buffer &to, Buffer *raw, Index width) {
    const Region &region = g.region(side);
    Index registers = access.input("reg").size();
    Index covered = side == Side::A ? g.grid.perM * g.grid.warpsM : g.grid.perN * g.grid.warpsN;
    std::vector<Index> limits;
    if (covered > g.rows(side))
      limits = g.kFirst(side) ? std::vector<Index>{0, g.rows(side)}
                              : std::vector<Index>{g.rows(side), 0};
    if (raw) {
      unrolledLoop(b, "r", registers / width, [&](Expr r) {
        auto &move = b.add<MoveStmt>();
        move.source = sharedElement(g, region, access, {k, r * width, g.thread}, limits);
        move.target = registerElement(*raw, r * width);
        move.count = width;
      });
      unrolledLoop(b, "r", registers, [&](Expr r) {
        Expr x = b.load("x", registerElement(*raw, r));
        b.store(registerElement(to, r), context.cast(sum, x));
      });
      return;
    }
    unrolledLoop(b, "r", registers, [&](Expr r) {
      Expr x = b.load("x", sharedElement(g, region, access, {k, r, g.thread}, limits));
      b.store(registerElement(to, r), context.cast(sum, x));
    });
  }

  Index widthOf(Side side, const Layout &access) const {
    Index covered = side == Side::A ? g.grid.perM * g.grid.warpsM : g.grid.perN * g.grid.warpsN;
    if (covered > g.rows(side))
      return 1;
    auto offsets = sharedOffsets(g.region(side), access);
    if (!offsets)
      return 1;
    // One step at a time: steps join the threads.
    Layout one = *offsets;
    DType dtype = g.region(side).buffer->dtype;
    Layout folded = permuteInputs(one, {{"reg", "reg"}, {"step", "step"}, {"thread", "thread"}});
    Index width = orderedWidth(folded, std::max<Index>(1, 128 / dtype.bits()));
    return width * dtype.bits() >= 32 ? width : 1;
  }

  void blockInRegisters() {
    Layout accumulator = accumulatorLayout(*g.gemm.atom, g.grid);
    Layout accessA = sideAccess(Side::A, accumulator), accessB = sideAccess(Side::B, accumulator);
    Index countA = accessA.input("reg").size(), countB = accessB.input("reg").size();
    Index widthA = widthOf(Side::A, accessA), widthB = widthOf(Side::B, accessB);
    Buffer &a = local("a", sum, countA), &bb = local("b", sum, countB);
    Buffer *rawA = widthA > 1 ? &local("a_v", g.gemm.a.buffer->dtype, countA) : nullptr;
    Buffer *rawB = widthB > 1 ? &local("b_v", g.gemm.b.buffer->dtype, countB) : nullptr;
    bool separate = sum != c.dtype;
    Buffer *acc = &c;
    Index total = accumulator.input("reg").size();
    if (separate) {
      acc = &local("sum", sum, total);
      unrolledLoop(b, "r", total, [&](Expr r) {
        b.store(registerElement(*acc, r),
                context.cast(sum, b.load("x", registerElement(c, result.at(r)))));
      });
    }
    auto place = [&](Expr r) { return separate ? r : result.at(r); };
    auto &loop =
        b.loop("k", context.int32(0), context.int32(g.shape.k), ForKind::Unroll, [&](Expr k) {
          read(Side::A, accessA, k, a, rawA, widthA);
          read(Side::B, accessB, k, bb, rawB, widthB);
          // Registers of the result: those of B's columns first, then A's rows.
          unrolledLoop(b, "i", countA, [&](Expr i) {
            Expr x = b.load("x", registerElement(a, i));
            unrolledLoop(b, "j", countB, [&](Expr j) {
              Expr y = b.load("y", registerElement(bb, j));
              Element at = registerElement(*acc, place(i * countB + j));
              Expr old = b.load("s", at);
              b.store(at, accumulate(old, x, y));
            });
          });
        });
    loop.unrollFactor = 4;
    if (separate)
      unrolledLoop(b, "r", total, [&](Expr r) {
        b.store(registerElement(c, result.at(r)),
                context.cast(c.dtype, b.load("s", registerElement(*acc, r))));
      });
  }

  // ---- CPU ----

  /// A tile that lies row by row, as the runtime's kernels want it: where it starts, and the
  /// elements from row to row.
  struct Rows {
    Element start;
    Index pitch = 0;
  };
  static std::optional<Rows> rowsOf(const Region &region) {
    Buffer &buffer = *region.buffer;
    auto shape = buffer.constantShape();
    unsigned rank = buffer.rank();
    if (!shape || rank < 2 || buffer.base || region.isDropped(rank - 1) ||
        region.isDropped(rank - 2) || region.tileRank() != 2)
      return std::nullopt;
    bool plain = buffer.scope == Scope::Fragment
                     ? equal(*buffer.layout, replicatedLayout(*shape, 1))
                     : buffer.scope == Scope::Shared &&
                           equal(*buffer.layout, Layout::rowMajor(dimSizes(*shape)));
    if (!plain)
      return std::nullopt;
    return Rows{physicalElement(buffer, region.offsets, region.version), (*shape)[rank - 1]};
  }

  /// Types for which the runtime has conversions to and from sums.
  static bool hasKernel(DType t) {
    return t.lanes == 1 && (t.isFloat() ? t.bits() >= 16 && t.scalar != Scalar::TFloat32
                                        : t.isInteger() && t.bits() >= 8 && t.bits() <= 32);
  }

  /// The register-blocked kernel of the runtime, if tiles are plain and fit a core's cache and
  /// stack.
  bool callTile() {
    auto a = rowsOf(g.gemm.a), b2 = rowsOf(g.gemm.b), c2 = rowsOf(g.gemm.c);
    Index elements = g.shape.m * g.shape.k + g.shape.k * g.shape.n + g.shape.m * g.shape.n;
    for (const Region *r : {&g.gemm.a, &g.gemm.b, &g.gemm.c})
      if (!hasKernel(r->buffer->dtype) || r->buffer->dtype.isFloat() != c.dtype.isFloat())
        return false;
    if (!a || !b2 || !c2 || elements > (1 << 18))
      return false;
    auto pointer = [&](const Rows &rows, const Region &region, Access access) {
      auto tile = *region.constantTileExtents();
      Pointer p;
      p.element = rows.start;
      p.count = context.int32((tile[0] - 1) * rows.pitch + tile[1]);
      p.access = access;
      return p;
    };
    auto &call = b.add<CallStmt>();
    call.callee = "gemm_tile";
    call.templateArgs = {g.shape.m, g.shape.n, g.shape.k, g.gemm.transposeA, g.gemm.transposeB};
    call.args = {pointer(*c2, g.gemm.c, Access::ReadWrite),
                 pointer(*a, g.gemm.a, Access::Read),
                 pointer(*b2, g.gemm.b, Access::Read),
                 context.int32(c2->pitch),
                 context.int32(a->pitch),
                 context.int32(b2->pitch)};
    return true;
  }

  Expr operand(Side side, Expr row, Expr k) {
    const Region &region = g.region(side);
    std::vector<Expr> tile = g.kFirst(side) ? std::vector<Expr>{k, row} : std::vector<Expr>{row, k};
    return context.cast(sum, b.load(side == Side::A ? "x" : "y", element(region, tile)));
  }

  Element element(const Region &region, const std::vector<Expr> &tile) const {
    std::vector<Expr> indices;
    std::size_t next = 0;
    for (unsigned d = 0; d < region.offsets.size(); ++d)
      indices.push_back(region.isDropped(d) ? region.offsets[d] : region.offsets[d] + tile[next++]);
    return physicalElement(*region.buffer, indices, region.version);
  }

  void rowsInMemory() {
    bool separate = sum != c.dtype;
    Buffer *row = separate ? &local("sum", sum, g.shape.n) : nullptr;
    auto count = [&](Index n) { return context.int32(n); };
    auto at = [&](Expr i, Expr j) {
      return separate ? registerElement(*row, j) : element(g.gemm.c, {i, j});
    };
    bool dot = !g.kFirst(
        Side::B); // B is [N, K]: its rows are contiguous along k, so products are summed up
    b.loop("i", count(0), count(g.shape.m), ForKind::Serial, [&](Expr i) {
      if (separate)
        b.loop("j", count(0), count(g.shape.n), ForKind::Vector, [&](Expr j) {
          b.store(at(i, j), context.cast(sum, b.load("s", element(g.gemm.c, {i, j}))));
        });
      auto add = [&](Expr j, Expr k, Expr x) {
        Expr y = operand(Side::B, j, k), old = b.load("s", at(i, j));
        b.store(at(i, j), accumulate(old, x, y));
      };
      if (dot)
        b.loop("j", count(0), count(g.shape.n), ForKind::Serial, [&](Expr j) {
          b.loop("k", count(0), count(g.shape.k), ForKind::Serial,
                 [&](Expr k) { add(j, k, operand(Side::A, i, k)); });
        });
      else
        b.loop("k", count(0), count(g.shape.k), ForKind::Serial, [&](Expr k) {
          Expr x = operand(Side::A, i, k);
          b.loop("j", count(0), count(g.shape.n), ForKind::Vector, [&](Expr j) { add(j, k, x); });
        });
      if (separate)
        b.loop("j", count(0), count(g.shape.n), ForKind::Vector, [&](Expr j) {
          b.store(element(g.gemm.c, {i, j}), context.cast(c.dtype, b.load("s", at(i, j))));
        });
    });
  }
};

} // namespace

void lowerScalarGemm(const GemmContext &g) { ScalarGemm(g).run(); }

} // namespace tlc::passes
