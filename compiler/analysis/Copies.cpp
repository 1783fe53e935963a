#include "analysis/Copies.h"

#include "ir/Walk.h"

#include <algorithm>
#include <cmath>

namespace tlc::analysis {

using namespace ir;

namespace {

/// The buffer dim that is the tile's last one; none if all are dropped.
std::optional<unsigned> lastTileDim(const Region &region) {
  for (unsigned d = region.buffer->rank(); d-- > 0;)
    if (!region.isDropped(d))
      return d;
  return std::nullopt;
}

} // namespace

bool isSharedLoad(const Stmt &stmt) {
  const auto *copy = dynCast<CopyStmt>(&stmt);
  return copy && copy->source.buffer->storage()->scope == Scope::Global &&
         copy->target.buffer->storage()->scope == Scope::Shared;
}

std::optional<FragmentStore> asFragmentStore(Stmt &stmt) {
  FragmentStore store{&stmt};
  if (auto *copy = dynCast<CopyStmt>(&stmt)) {
    store.source = &copy->source, store.target = &copy->target;
    store.scheduled = copy->layout.has_value();
  } else if (auto *atomic = dynCast<AtomicTileStmt>(&stmt);
             atomic && atomic->op == AtomicOp::Add && atomic->source.buffer) {
    store.source = &atomic->source, store.target = &atomic->target;
    store.adds = true;
    store.scheduled = atomic->layout.has_value();
  }
  if (!store.source || store.source->buffer->storage()->scope != Scope::Fragment ||
      store.target->buffer->storage()->scope != Scope::Global)
    return std::nullopt;
  return store;
}

std::vector<FragmentStore> fragmentStores(Launch &launch) {
  std::vector<FragmentStore> stores;
  walk(launch.body, [&](Stmt &stmt) {
    if (auto store = asFragmentStore(stmt))
      stores.push_back(*store);
    return true;
  });
  return stores;
}

Expr strideOf(const Buffer &buffer, unsigned d) {
  if (!buffer.strides.empty())
    return buffer.strides[d];
  Context &context = buffer.shape[d].context();
  DType wide(Scalar::Int64);
  Expr stride = context.integer(wide, 1);
  for (unsigned i = d + 1; i < buffer.rank(); ++i)
    stride = stride * context.cast(wide, buffer.shape[i]);
  return stride;
}

namespace {

/// Largest power of two, at most `limit` elements, into which runs along the last dim can be cut.
std::int64_t pieceElements(const Region &region, const Ranges &ranges, std::int64_t limit) {
  auto last = lastTileDim(region);
  const Buffer &buffer = *region.buffer;
  if (!last || *last + 1 != buffer.rank() || !strideOf(buffer, *last).isConstant(1))
    return 1;
  std::int64_t piece = std::min(limit, ranges.alignment(region.extents[*last], limit));
  piece = std::min(piece, ranges.alignment(region.offsets[*last], limit));
  for (unsigned d = 0; d < *last; ++d) {
    bool moves = !region.offsets[d].isConstant(0) || !region.extents[d].isConstant(1);
    if (!moves)
      continue;
    // offset * stride as a whole may be aligned where the stride is not.
    std::int64_t stride = ranges.alignment(strideOf(buffer, d), limit);
    piece = std::min(piece, stride);
  }
  if (buffer.base && buffer.baseOffset)
    piece = std::min(piece, ranges.alignment(buffer.baseOffset, limit));
  return piece;
}

} // namespace

std::int64_t copyPieceBits(const CopyStmt &copy) {
  std::int64_t bits = 0;
  for (const Buffer *buffer : {copy.source.buffer, copy.target.buffer})
    if (buffer->storage()->scope != Scope::Fragment)
      bits = std::max<std::int64_t>(bits, buffer->dtype.bits());
  return bits ? bits : copy.source.buffer->dtype.bits();
}

std::int64_t copyPieceBytes(const CopyStmt &copy, const Ranges &ranges, std::int64_t limit) {
  const Buffer &from = *copy.source.buffer;
  std::int64_t bits = copyPieceBits(copy);
  std::int64_t elements = std::max<std::int64_t>(1, limit * 8 / bits);
  bool fromGlobal = from.storage()->scope == Scope::Global;
  const Region &global = fromGlobal ? copy.source : copy.target;
  const std::vector<bool> &high = copy.checkHigh;
  std::int64_t piece = std::min(pieceElements(copy.source, ranges, elements),
                                pieceElements(copy.target, ranges, elements));
  auto last = lastTileDim(global);
  if (last && copy.boundsKnown && *last < high.size() && high[*last])
    piece = std::min(piece, ranges.alignment(global.buffer->shape[*last], elements));
  if (!copy.boundsKnown)
    piece = 1;
  return piece * bits / 8;
}

bool canCopyAsync(const CopyStmt &copy, const Target &target, const Ranges &ranges) {
  const Buffer &from = *copy.source.buffer, &to = *copy.target.buffer;
  if (!target.has(Feature::CpAsync) || from.storage()->scope != Scope::Global ||
      to.storage()->scope != Scope::Shared || from.dtype != to.dtype || from.dtype.bits() < 8)
    return false;
  if (copy.copyKind == CopyKind::Sync || copy.copyKind == CopyKind::Tma || copy.barrier.buffer ||
      copy.multicast)
    return false;
  // What is out of range is filled with zero bits.
  if (from.safeValue && !from.safeValue.isConstant(0) &&
      !(from.safeValue.isFloat() && from.safeValue->real == 0 &&
        !std::signbit(from.safeValue->real)))
    return false;
  auto source = copy.source.constantTileExtents(), tile = copy.target.constantTileExtents();
  if (!source || !tile || *source != *tile)
    return false;
  return copyPieceBytes(copy, ranges) >= 4;
}

} // namespace tlc::analysis
