#include "passes/lower/WarpGroupOperand.h"

#include "layout/SharedTile.h"
#include "passes/infer/LayoutExpr.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::passes {

using namespace ir;

namespace {

constexpr Index unitBytes = 16;

bool divisible(const Linear &l, Index divisor) {
  return l.constant % divisor == 0 &&
         std::all_of(l.terms.begin(), l.terms.end(),
                     [&](const auto &term) { return term.second % divisor == 0; });
}

/// e / divisor, which leaves no rest.
Expr quotient(Expr e, Index divisor) {
  Linear l = linear(e);
  l.constant /= divisor;
  for (auto &[term, coefficient] : l.terms)
    coefficient /= divisor;
  return fromLinear(e.context(), e.dtype(), l);
}

} // namespace

std::optional<Index> panelsOf(const Buffer &buffer) {
  auto shape = buffer.constantShape();
  unsigned bits = buffer.dtype.bits() * buffer.dtype.lanes;
  if (buffer.scope != Scope::Shared || buffer.base || !shape || shape->size() < 2 || bits < 8 ||
      bits > 32)
    return std::nullopt;
  Sizes sizes = dimSizes(*shape);
  return buffer.layout ? panelSwizzle(*buffer.layout, sizes, bits) : widestPanels(sizes, bits);
}

Index panelAlignment(Index swizzleBytes) { return swizzleBytes ? 8 * swizzleBytes : 128; }

std::optional<PanelOperand> PanelOperand::of(const Region &region, bool kFirst, Index kStep) {
  const Buffer &buffer = *region.buffer;
  auto swizzle = panelsOf(buffer);
  unsigned rank = buffer.rank();
  if (!swizzle || region.tileRank() != 2 || region.isDropped(rank - 1) ||
      region.isDropped(rank - 2))
    return std::nullopt;
  PanelOperand operand;
  operand.region = &region;
  operand.kContiguous = !kFirst;
  operand.kStep = kStep;
  operand.swizzle = *swizzle;
  operand.elementBytes = buffer.dtype.bits() / 8;
  operand.rowBytes = *swizzle ? *swizzle : unitBytes;
  std::vector<std::int64_t> shape = *buffer.constantShape();
  operand.panelBytes = shape[rank - 2] * operand.rowBytes;
  operand.matrixBytes = shape[rank - 2] * shape[rank - 1] * operand.elementBytes;
  // Eight rows are what a descriptor steps by, and what a swizzle repeats after.
  if (shape[rank - 2] % 8 || !divisible(linear(region.offsets[rank - 2]), 8))
    return std::nullopt;
  if (kFirst && operand.elementBytes != 2)
    return std::nullopt;
  // Inside a panel only a step along k may begin.
  Linear column = linear(region.offsets[rank - 1]);
  bool atPanel = divisible(column, operand.rowBytes / operand.elementBytes);
  if (!atPanel && (kFirst || !column.terms.empty() || column.constant % kStep))
    return std::nullopt;
  return operand;
}

Index PanelOperand::leadingBytes() const {
  if (swizzle)
    return kContiguous ? unitBytes : panelBytes; // the former is not looked at
  return kContiguous ? panelBytes : 8 * rowBytes;
}

Index PanelOperand::strideBytes() const {
  return swizzle || kContiguous ? 8 * rowBytes : panelBytes;
}

/// `index` pieces of `units` along the contiguous dim.
Expr PanelOperand::acrossPanels(Expr index, Index units) const {
  Index perRow = rowBytes / unitBytes;
  if (units % perRow == 0)
    return index * (units / perRow * (panelBytes / unitBytes));
  TLC_CHECK(perRow % units == 0, "pieces that do not fit into panels");
  Index pieces = perRow / units;
  return floorDiv(index, pieces) * (panelBytes / unitBytes) + floorMod(index, pieces) * units;
}

/// Which matrix of those that leading indices choose from.
Expr PanelOperand::leading(Context &context) const {
  Expr number = context.int32(0);
  for (unsigned d = 0; d + 2 < region->buffer->rank(); ++d)
    number =
        number * region->buffer->shape[d] + context.cast(DType(Scalar::Int32), region->offsets[d]);
  return number;
}

std::pair<Expr, Index> PanelOperand::matrix(Context &context) const {
  Index elements = matrixBytes / elementBytes;
  return {leading(context) * elements, elements};
}

Expr PanelOperand::origin(Context &context) const {
  unsigned rank = region->buffer->rank();
  Expr position = leading(context) * (matrixBytes / unitBytes);
  Expr row = context.cast(DType(Scalar::Int32), region->offsets[rank - 2]);
  Expr column = context.cast(DType(Scalar::Int32), region->offsets[rank - 1]);
  position = position + row * (rowBytes / unitBytes);
  Index width = rowBytes / elementBytes;
  if (divisible(linear(column), width))
    return position + quotient(column, width) * (panelBytes / unitBytes);
  Index step = kStep * elementBytes / unitBytes;
  return position + acrossPanels(quotient(column, kStep), step);
}

Expr PanelOperand::along(Expr index, Index rows) const {
  if (kContiguous)
    return index * (rows * rowBytes / unitBytes);
  return acrossPanels(index, rows * elementBytes / unitBytes);
}

Expr PanelOperand::step(Expr k) const {
  if (!kContiguous)
    return k * (kStep * rowBytes / unitBytes);
  return acrossPanels(k, kStep * elementBytes / unitBytes);
}

namespace {

/// Views of another shape or dtype read rows where they were written as rows.
bool seenOtherwise(const Function &function, const Buffer &owner) {
  return std::any_of(function.buffers.begin(), function.buffers.end(), [&](const auto &buffer) {
    return buffer->base && buffer->storage() == &owner &&
           (buffer->dtype != owner.dtype || buffer->shape != owner.shape);
  });
}

bool describable(const Function &function, const Region &region, bool kFirst, Index kStep,
                 Index rows, Index parts) {
  auto operand = PanelOperand::of(region, kFirst, kStep);
  return operand && !seenOtherwise(function, *region.buffer) &&
         (parts == 1 || operand->splitsInto(rows));
}

} // namespace

bool warpGroupFits(const Function &function, const GemmStmt &gemm, const Atom &atom,
                   const GemmShape &shape, Index warpsM, Index warpsN) {
  if (shape.m % (atom.m * warpsM) || shape.n % (atom.n * warpsN) || shape.k % atom.k)
    return false;
  // A may also come from registers.
  if (gemm.a.buffer->storage()->scope != Scope::Fragment &&
      !describable(function, gemm.a, kFirst(gemm, Side::A), atom.k, shape.m / warpsM, warpsM))
    return false;
  return describable(function, gemm.b, kFirst(gemm, Side::B), atom.k, shape.n / warpsN, warpsN);
}

} // namespace tlc::passes
