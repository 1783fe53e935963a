// Views of shared tiles. See Views.h.
//
//   %K: shared bf16[32, 64]  d0<32 d1<64 -> offset, swizzled in pieces of 16 bytes
//   %D: shared f32[16, 64] view(%K)      -> the same pieces, counted in f32
//
// A view of elements of another width sees the bytes of the storage in row-major order, however
// they lie. A memory that moves whole elements of both widths is a permutation of such elements, so
// it serves both.
#include "passes/infer/Views.h"

#include "layout/Algebra.h"
#include "layout/Analysis.h"
#include "passes/infer/LayoutExpr.h"

namespace tlc::passes {

using namespace ir;

namespace {

Index bitsOf(const Buffer &buffer) {
  return static_cast<Index>(buffer.dtype.bits()) * buffer.dtype.lanes;
}

bool isShifted(const Buffer &view) { return view.baseOffset && !view.baseOffset.isConstant(0); }

/// flat -> offset of elements of `bits`, as a map of elements of `wanted` bits.
std::optional<Layout> counted(const Layout &flat, Index bits, Index wanted) {
  if (bits == wanted)
    return flat;
  if (bits % wanted == 0)
    return product(Layout::strided({{"flat", bits / wanted}}, {1}, flat.outputs[0].name), flat);
  Index ratio = wanted / bits;
  Index size = flat.input("flat").size();
  if (wanted % bits || size % ratio || contiguity(flat, "flat") % ratio)
    return std::nullopt;
  // The first of each run, in units of runs.
  auto firsts = compose(flat, Layout::strided({{"flat", size / ratio}}, {ratio}, "flat", size));
  if (!firsts)
    return std::nullopt;
  OutputAxis &offset = firsts->outputs[0];
  bool aligned = offset.base % ratio == 0 && offset.size % ratio == 0;
  for (Term &t : offset.terms) {
    aligned = aligned && t.weight % ratio == 0;
    t.weight /= ratio;
  }
  offset.base /= ratio;
  offset.size /= ratio;
  return aligned ? firsts : std::nullopt;
}

} // namespace

std::optional<Layout> throughView(const Buffer &view) {
  auto shape = view.constantShape(), under = view.base->constantShape();
  if (!shape || !under || shape->empty() || under->empty() || isShifted(view) ||
      bitsOf(view) != bitsOf(*view.base) || view.elementCount() != view.base->elementCount())
    return std::nullopt;
  return compose(Layout::unflatten("flat", dimSizes(*under)),
                 Layout::rowMajor(dimSizes(*shape), "flat"));
}

std::optional<Layout> viewMemory(const Buffer &view, const Layout &memory) {
  const Buffer &storage = *view.storage();
  for (const Buffer *b = &view; b->base; b = b->base)
    if (isShifted(*b))
      return std::nullopt;
  auto shape = view.constantShape(), under = storage.constantShape();
  if (!shape || !under || shape->empty() || under->empty())
    return std::nullopt;
  auto flat = compose(memory, Layout::unflatten("flat", dimSizes(*under)));
  auto own = flat ? counted(*flat, bitsOf(storage), bitsOf(view)) : std::nullopt;
  return own ? compose(*own, Layout::rowMajor(dimSizes(*shape), "flat")) : std::nullopt;
}

Buffer &countedIn(Buffer &buffer) {
  Buffer *owner = buffer.storage();
  return owner->dtype == buffer.dtype ? *owner : buffer;
}

} // namespace tlc::passes
