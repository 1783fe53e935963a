#include "passes/lower/Physical.h"

#include "layout/Algebra.h"
#include "passes/infer/LayoutExpr.h"
#include "passes/infer/Views.h"
#include "support/Check.h"

namespace tlc::passes {

using namespace ir;

namespace {

const DType int64 = Scalar::Int64;

/// Element counts below this are addressed with 32 bits.
constexpr std::int64_t wide = std::int64_t{1} << 31;

/// Row-major position of `indices` in `shape`.
Expr flatten(std::span<const Expr> indices, const std::vector<Expr> &shape) {
  Expr offset;
  for (std::size_t d = 0; d < indices.size(); ++d)
    offset = offset ? offset * shape[d] + indices[d] : indices[d];
  return offset;
}

/// The coordinates at a row-major position.
std::vector<Expr> unflatten(Expr position, const std::vector<Expr> &shape) {
  std::vector<Expr> indices(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    indices[d] = d == 0 ? position : floorMod(position, shape[d]);
    position = floorDiv(position, shape[d]);
  }
  return indices;
}

std::vector<Expr> widened(std::span<const Expr> indices) {
  std::vector<Expr> result;
  for (Expr index : indices)
    result.push_back(index.context().cast(int64, index));
  return result;
}

/// Elements between the first and the last of a global tensor, if known.
std::optional<std::int64_t> globalSpan(const Buffer &buffer) {
  auto shape = buffer.constantShape();
  if (!shape)
    return std::nullopt;
  if (buffer.strides.empty())
    return buffer.elementCount();
  __int128 span = 1;
  for (std::size_t d = 0; d < shape->size(); ++d) {
    auto stride = buffer.strides[d].constant();
    if (!stride)
      return std::nullopt;
    span += static_cast<__int128>((*shape)[d] - 1) * std::abs(*stride);
  }
  return span < wide ? std::optional(static_cast<std::int64_t>(span)) : std::nullopt;
}

Expr globalOffset(const Buffer &buffer, std::span<const Expr> logical) {
  auto span = globalSpan(buffer);
  bool narrow = span && *span < wide;
  std::vector<Expr> indices =
      narrow ? std::vector<Expr>(logical.begin(), logical.end()) : widened(logical);
  if (buffer.strides.empty())
    return flatten(indices, buffer.shape);
  Expr offset;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    Expr term = indices[d] * buffer.strides[d];
    offset = offset ? offset + term : term;
  }
  return offset;
}

/// The register of a fragment that every thread holds whole.
Expr replicatedRegister(const Buffer &fragment, std::span<const Expr> indices) {
  TLC_CHECK(heldByAll(fragment),
            "scalar access to fragment '" + fragment.name + "', which is spread over threads");
  auto inverse = invert(*fragment.layout);
  return layoutExpr(*inverse, inverse->output("reg"), indices);
}

Element onBase(Buffer &view, std::span<const Expr> indices, Expr version) {
  if (view.scope == Scope::Shared && view.layout)
    return Element{&countedIn(view), {offsetExpr(*view.layout, indices)}, version, true};
  Buffer &base = *view.base;
  bool isWide = view.scope == Scope::Global && !globalSpan(view);
  std::vector<Expr> own =
      isWide ? widened(indices) : std::vector<Expr>(indices.begin(), indices.end());
  Expr position = own.empty() ? Expr() : flatten(own, view.shape);
  if (!position)
    if (Expr sample = !base.shape.empty() ? base.shape[0] : view.baseOffset)
      position = sample.context().int32(0);
  bool shifted = view.baseOffset && !view.baseOffset.isConstant(0);
  if (base.dtype.bits() * base.dtype.lanes != view.dtype.bits() * view.dtype.lanes ||
      (base.dtype != view.dtype && shifted)) { // counted from where the view begins
    TLC_CHECK(!base.layout || base.scope != Scope::Shared ||
                  equal(*base.layout, Layout::rowMajor(base.layout->inputSizes())),
              "view of another width over a tile that is not row-major");
    return Element{&view, {position}, version, true};
  }
  if (shifted)
    position = position + view.baseOffset;
  std::vector<Expr> onto =
      base.shape.empty() ? std::vector<Expr>{} : unflatten(position, base.shape);
  Element result = physicalElement(base, onto, version);
  if (base.dtype != view.dtype && result.buffer == &base)
    result.buffer = &view; // same width: the numbers agree, the type is the view's
  return result;
}

} // namespace

bool heldByAll(const Buffer &fragment) {
  const Buffer &owner = *fragment.storage();
  auto inverse = owner.layout ? invert(*owner.layout) : std::nullopt;
  return inverse && inverse->output("thread").terms.empty();
}

std::int64_t registerCount(const Buffer &fragment) {
  const Buffer *owner = fragment.storage();
  TLC_CHECK(owner->layout.has_value(), "fragment '" + fragment.name + "' has no layout");
  return owner->layout->input("reg").size();
}

std::int64_t physicalSize(const Buffer &buffer) {
  if (buffer.scope == Scope::Fragment)
    return registerCount(buffer);
  if (buffer.scope == Scope::Shared && buffer.layout)
    return buffer.layout->outputs.at(0).size;
  auto count = buffer.elementCount();
  TLC_CHECK(count.has_value(), "buffer '" + buffer.name + "' has no constant size");
  return *count;
}

Element physicalElement(Buffer &buffer, std::span<const Expr> indices, Expr version) {
  TLC_CHECK(indices.size() == buffer.rank(), "rank of an access to '" + buffer.name + "'");
  if (buffer.base)
    return onBase(buffer, indices, version);
  Expr offset;
  if (buffer.shape.empty()) // alloc_var: one element
    return Element{&buffer, {}, version, true};
  switch (buffer.scope) {
  case Scope::Global:
    offset = globalOffset(buffer, indices);
    break;
  case Scope::Fragment:
    offset = replicatedRegister(buffer, indices);
    break;
  case Scope::Shared:
    offset = buffer.layout ? offsetExpr(*buffer.layout, indices) : flatten(indices, buffer.shape);
    break;
  case Scope::Local:
  case Scope::Barrier:
    offset = flatten(indices, buffer.shape);
    break;
  }
  return Element{&buffer, {offset}, version, true};
}

Element registerElement(Buffer &fragment, Expr index) {
  Buffer *buffer = &fragment;
  while (buffer->base && buffer->base->dtype == buffer->dtype)
    buffer = buffer->base;
  return Element{buffer, {index}, {}, true};
}

} // namespace tlc::passes
