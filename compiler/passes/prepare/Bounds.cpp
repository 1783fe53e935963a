// bounds: global accesses never leave their tensor.
//
//   copy %A[%by * 128 : +128, 0 : +32] -> %s         … check_low(0, 0) check_high(1, 0)
//   bounds_known load %v = %A[%i, 0]                      =>      load %v = %A[%i, 0] if(%i < %M)
//
// What ranges prove needs nothing; copies and tile atomics are marked per dim of the global side,
// and loads, stores and atomics get predicates. Lower and upper end of a box are looked at
// together: an offset that may be negative marks the low side, offset + extent beyond the shape the
// high side. A masked read gives the buffer's safe value. Stands before layouts, while a tile is
// one question, and after find-roles, so that thread ranges are known. Tiles in shared memory and
// registers are not checked at run time; what is certainly outside is an error.
#include "analysis/Ranges.h"
#include "ir/Print.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"

namespace tlc::passes {

using namespace ir;
using analysis::Ranges;

namespace {

class BoundsPass {
public:
  BoundsPass(PassContext &pass, Ranges &ranges) : pass(pass), ranges(ranges) {}

  bool visit(Stmt &stmt) {
    switch (stmt.kind) {
    case StmtKind::Load: {
      auto &s = cast<LoadStmt>(stmt);
      if (!unreachable(s.predicate) && guard(s.source, s.predicate, stmt, lanesOf(s.var)) &&
          !s.otherwise && s.source.buffer->safeValue)
        s.otherwise = otherwise(*s.source.buffer, s.var.dtype());
      break;
    }
    case StmtKind::Store: {
      auto &s = cast<StoreStmt>(stmt);
      if (!unreachable(s.predicate))
        guard(s.target, s.predicate, stmt, lanesOf(s.value));
      break;
    }
    case StmtKind::Atomic: {
      auto &s = cast<AtomicStmt>(stmt);
      if (!unreachable(s.predicate))
        guard(s.target, s.predicate, stmt, s.value ? lanesOf(s.value) : 1);
      break;
    }
    case StmtKind::Copy: {
      auto &s = cast<CopyStmt>(stmt);
      box(s.source, stmt);
      box(s.target, stmt);
      bool fromGlobal = isGlobal(s.source);
      if (fromGlobal || isGlobal(s.target)) {
        mark(fromGlobal ? s.source : s.target, s.checkLow, s.checkHigh);
        s.boundsKnown = true;
      }
      break;
    }
    case StmtKind::AtomicTile: {
      auto &s = cast<AtomicTileStmt>(stmt);
      box(s.target, stmt);
      if (isGlobal(s.target)) {
        mark(s.target, s.checkLow, s.checkHigh);
        s.boundsKnown = true;
      }
      break;
    }
    case StmtKind::Gemm:
    case StmtKind::Fill:
    case StmtKind::Reduce:
    case StmtKind::Scan:
      forEachUse(stmt, [&](const BufferUse &use) {
        if (use.region)
          box(*use.region, stmt);
      });
      break;
    default:
      break;
    }
    return true;
  }

private:
  static bool isGlobal(const Region &r) {
    return r.buffer && r.buffer->storage()->scope == Scope::Global;
  }
  static unsigned lanesOf(Expr e) { return e.dtype().lanes; }

  static Expr otherwise(const Buffer &buffer, DType dtype) {
    Context &context = buffer.safeValue.context();
    Expr value = context.cast(dtype.element(), buffer.safeValue);
    return dtype.isVector() ? context.broadcast(value, dtype.lanes) : value;
  }

  bool unreachable(Expr predicate) const { return predicate && ranges.decide(predicate) == false; }

  /// Adds what is not proven about the indices to the predicate; true if it added something.
  bool guard(Element &element, Expr &predicate, Stmt &stmt, unsigned lanes) {
    const Buffer &buffer = *element.buffer;
    Scope scope = buffer.storage()->scope;
    if (scope == Scope::Barrier || element.indices.size() != buffer.shape.size())
      return false;
    Ranges::Scope inner(ranges);
    if (predicate)
      ranges.assume(predicate);
    Expr added;
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      // A run of lanes lies along the last dim.
      std::int64_t run = d + 1 == buffer.shape.size() ? lanes : 1;
      Expr index = element.indices[d], extent = buffer.shape[d];
      unify(index, extent);
      if (scope != Scope::Global) {
        certainlyOutside(buffer, d, index, extent, stmt);
        continue;
      }
      if (certain(index, extent))
        pass.diagnostics.report(diag::GlobalOutOfRange, stmt.range, buffer.name, d, print(index),
                                print(extent));
      if (!ranges.nonNegative(index))
        added = logicalAnd(added, lessEqual(index.context().zero(index.dtype()), index));
      if (!ranges.lessEqual(index + run, extent))
        added =
            logicalAnd(added, run == 1 ? lessThan(index, extent) : lessEqual(index + run, extent));
    }
    if (added)
      predicate = predicate ? logicalAnd(predicate, added) : added;
    return static_cast<bool>(added);
  }

  /// Brings both to the wider dtype.
  static void unify(Expr &a, Expr &b) {
    if (a.dtype() == b.dtype())
      return;
    Context &context = a.context();
    DType wide(Scalar::Int64);
    a = context.cast(wide, a);
    b = context.cast(wide, b);
  }

  bool certain(Expr index, Expr extent) const {
    return !ranges.unreachable() &&
           (ranges.interval(index).hi < 0 || ranges.lessEqual(extent, index));
  }

  void certainlyOutside(const Buffer &buffer, std::size_t d, Expr index, Expr extent, Stmt &stmt) {
    if (certain(index, extent))
      pass.diagnostics
          .report(diag::TileOutOfRange, stmt.range, buffer.name, print(index), d, print(extent))
          .label(buffer.range, "allocated here");
  }

  /// Boxes of tiles must lie inside; of global tensors, not be wholly outside.
  void box(Region &region, Stmt &stmt) {
    const Buffer &buffer = *region.buffer;
    bool global = isGlobal(region);
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      Expr low = region.offsets[d], count = region.extents[d], extent = buffer.shape[d];
      unify(low, count);
      unify(low, extent);
      unify(count, extent);
      if (ranges.interval(count).hi <= 0 || ranges.unreachable())
        continue;
      if (global) {
        Expr end = low + count;
        if (ranges.interval(end).hi <= 0 || ranges.lessEqual(extent, low))
          pass.diagnostics.report(diag::GlobalOutOfRange, stmt.range, buffer.name, d, print(low),
                                  print(extent));
      } else if (ranges.interval(count).lo > 0) {
        Expr last = low + count - 1;
        if (ranges.interval(low).hi < 0)
          certainlyOutside(buffer, d, low, extent, stmt);
        else if (ranges.lessEqual(extent, last))
          certainlyOutside(buffer, d, last, extent, stmt);
      }
    }
  }

  void mark(const Region &region, std::vector<bool> &low, std::vector<bool> &high) {
    const Buffer &buffer = *region.buffer;
    low.assign(buffer.shape.size(), false);
    high.assign(buffer.shape.size(), false);
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      Expr offset = region.offsets[d], count = region.extents[d], extent = buffer.shape[d];
      unify(offset, count);
      unify(offset, extent);
      unify(count, extent);
      low[d] = !ranges.nonNegative(offset);
      high[d] = !ranges.lessEqual(offset + count, extent);
    }
  }

  PassContext &pass;
  Ranges &ranges;
};

} // namespace

void bounds(Function &function, PassContext &context) {
  analysis::walkWithRanges(function, [&](Launch &, Stmt &stmt, Ranges &ranges) {
    return BoundsPass(context, ranges).visit(stmt);
  });
}

} // namespace tlc::passes
