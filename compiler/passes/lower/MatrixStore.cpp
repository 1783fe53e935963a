// Matrix stores. See MatrixStore.h.
//
//   copy %C_l -> %C_t                     // as the accumulators of m16n8 lie
//     =>
//   for %g in 0 .. 16 unroll {
//     alloc %m: local f16[8] ; … %m[e] = f16(%C_l{%g * 8 + e}) …
//     call @stmatrix_x4(write 8 %C_t{row lane % 8 of matrix lane / 8}, read 8 %m)
//   }
#include "passes/lower/MatrixStore.h"

#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "passes/infer/Registers.h"
#include "passes/lower/LowerGemm.h"
#include "passes/lower/MapVectors.h"
#include "passes/lower/Physical.h"
#include "passes/plan/GemmLayouts.h"

namespace tlc::passes {

using namespace ir;

namespace {

constexpr Index rowElements = 8; ///< of a matrix, 16 bytes

class MatrixStore {
public:
  MatrixStore(Builder &builder, const CopyStmt &copy, const MapThread &thread)
      : b(builder), context(builder.context()), copy(copy), thread(thread) {}

  bool run() {
    auto tile = copy.target.constantTileExtents();
    if (!copy.layout || !tile || tile->size() != 2 || copy.source.constantTileExtents() != tile ||
        !exact(*tile))
      return false;
    registers = registerMap(copy.source, *copy.layout);
    if (!registers)
      return false;
    for (bool transposed : {false, true})
      if (auto moves = matrixMoves(*copy.layout, 16, transposed);
          moves && rowsTogether(*moves, *tile)) {
        emit(*moves);
        return true;
      }
    return false;
  }

private:
  /// Every point of the tile once: no copies in other threads, nothing beyond the tile.
  bool exact(const std::vector<Index> &tile) const {
    const Layout &schedule = *copy.layout;
    Index points = tile[0] * tile[1];
    return schedule.outputs.size() == 2 && schedule.outputs[0].size == tile[0] &&
           schedule.outputs[1].size == tile[1] &&
           schedule.input("reg").size() * schedule.input("thread").size() == points;
  }

  Element at(const std::vector<Expr> &point) const {
    Element element{copy.target.buffer, copy.target.offsets, copy.target.version};
    std::size_t next = 0;
    for (unsigned d = 0; d < element.indices.size(); ++d)
      if (!copy.target.isDropped(d))
        element.indices[d] = element.indices[d] + point[next++];
    return element;
  }

  /// Whether the 16 bytes of each matrix row lie together, in order and aligned.
  bool rowsTogether(const MatrixLoad &moves, const std::vector<Index> &tile) const {
    Index threads = moves.start.input("thread").size();
    Layout bytes = Layout::make(
        {{"reg", {{rowElements, moves.transposed ? "d0" : "d1"}, {moves.groups}}},
         {"thread", {{threads}}}},
        {{"d0", moves.transposed ? rowElements : 1}, {"d1", moves.transposed ? 1 : rowElements}});
    Layout groups = Layout::make(
        {{"reg", {{rowElements}, {moves.groups, "group"}}}, {"thread", {{threads, "thread"}}}},
        {{"group", moves.groups}, {"thread", threads}});
    auto starts = compose(moves.start, groups);
    auto access = starts ? addLayouts(*starts, bytes) : std::nullopt;
    if (!access)
      return false;
    std::vector<Expr> vars;
    for (const char *name : {"i", "j"})
      vars.push_back(context.var(name, Scalar::Int32));
    MapShape shape{vars, tile, &*access, thread.divides};
    return accessWidth(at(vars), shape, rowElements) == rowElements;
  }

  void emit(const MatrixLoad &moves) {
    DType dtype = copy.target.buffer->dtype;
    Index count = moves.registersPerGroup;
    auto group = [&](Expr g) {
      Buffer &words =
          b.function.addBuffer("m", dtype, Scope::Local, {context.int32(count)}, copy.range);
      words.alignment = 16;
      b.alloc(words);
      auto element = [&](Expr e) {
        Expr value =
            b.load("value", registerElement(*copy.source.buffer, registers->at(g * count + e)));
        b.store(registerElement(words, e), context.cast(dtype, value));
      };
      if (registers->layout)
        unrolledLoop(b, "e", count, element);
      else
        for (Index e = 0; e < count; ++e)
          element(context.int32(e));
      store(moves, g, words);
    };
    if (registers->layout)
      unrolledLoop(b, "g", moves.groups, group);
    else // register numbers must be constants
      for (Index g = 0; g < moves.groups; ++g)
        group(context.int32(g));
  }

  void store(const MatrixLoad &moves, Expr group, Buffer &words) {
    auto &call = b.add<CallStmt>();
    call.callee =
        "stmatrix_x" + std::to_string(moves.matrices) + (moves.transposed ? "_trans" : "");
    Expr inputs[] = {group, thread.index};
    Pointer row, values;
    row.element = physicalElement(at(layoutExprs(moves.start, inputs)));
    row.count = context.int32(rowElements);
    row.access = Access::Write;
    values.element = registerElement(words, context.int32(0));
    values.count = context.int32(moves.registersPerGroup);
    values.access = Access::Read;
    call.args.push_back(std::move(row));
    call.args.push_back(std::move(values));
    call.collective = Collective::Warp;
  }

  Builder &b;
  Context &context;
  const CopyStmt &copy;
  const MapThread &thread;
  std::optional<RegisterMap> registers; ///< of the schedule, in the fragment
};

} // namespace

bool storeMatrices(Builder &builder, const CopyStmt &copy, const Target &target,
                   const MapThread &thread) {
  const Buffer &from = *copy.source.buffer, &to = *copy.target.buffer;
  if (!target.has(Feature::StMatrix) || from.scope != Scope::Fragment ||
      to.scope != Scope::Shared || to.base || !to.layout || to.dtype.bits() != 16 ||
      to.dtype.lanes != 1 || from.dtype.lanes != 1 || thread.count % 32)
    return false;
  builder.range = copy.range;
  return MatrixStore(builder, copy, thread).run();
}

} // namespace tlc::passes
