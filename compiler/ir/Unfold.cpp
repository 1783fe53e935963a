#include "ir/Unfold.h"

#include "ir/Builder.h"
#include "ir/Walk.h"

#include <set>
#include <utility>

namespace tlc::ir {

Expr unfoldedExtent(const Buffer &image, unsigned dim, const Unfold &unfold) {
  std::int64_t reach = unfold.dilation * (unfold.kernel - 1) + 1;
  return floorDiv(image.shape[dim] + (2 * unfold.pad - reach), unfold.stride) + 1;
}

Buffer &unfoldedView(Function &function, Buffer &image, const Unfold &unfold, DType index) {
  Context &context = *function.context;
  auto wide = [&](Expr e) { return context.cast(index, e); };
  Expr rows = wide(image.shape[0]) * wide(unfoldedExtent(image, 1, unfold)) *
              wide(unfoldedExtent(image, 2, unfold));
  Expr columns = wide(image.shape[3]) * (unfold.kernel * unfold.kernel);
  Buffer &view = function.addBuffer(image.name + "_unfolded", image.dtype, Scope::Global,
                                    {rows, columns}, image.range);
  view.base = &image;
  view.unfold = unfold;
  view.writable = image.writable;
  view.alignment = image.alignment;
  return view;
}

UnfoldedPixel unfoldedPixel(const Buffer &view, Expr row, Expr column) {
  const Buffer &image = *view.base;
  const Unfold &u = *view.unfold;
  Context &context = row.context();
  auto wide = [&](Expr e) { return context.cast(row.dtype(), e); };
  Expr height = wide(unfoldedExtent(image, 1, u)), width = wide(unfoldedExtent(image, 2, u));
  Expr channels = context.cast(column.dtype(), image.shape[3]);
  UnfoldedPixel p;
  p.n = floorDiv(row, width * height);
  p.startY = floorMod(floorDiv(row, width), height) * u.stride - u.pad;
  p.startX = floorMod(row, width) * u.stride - u.pad;
  p.kernelY = floorDiv(column, channels * u.kernel);
  p.kernelX = floorMod(floorDiv(column, channels), u.kernel);
  p.y = p.startY + context.cast(row.dtype(), floorMod(p.kernelY, u.kernel)) * u.dilation;
  p.x = p.startX + context.cast(row.dtype(), p.kernelX) * u.dilation;
  p.channel = floorMod(column, channels);
  return p;
}

namespace {

bool readsUnfolded(const Stmt &stmt) {
  const auto *copy = dynCast<CopyStmt>(&stmt);
  return copy && copy->source.buffer->unfold;
}

/// Whether `e` is plainly a multiple of `unit`.
bool isMultiple(Expr e, std::int64_t unit) {
  Linear sum = linear(e);
  bool multiple = sum.constant % unit == 0;
  for (const auto &[term, coefficient] : sum.terms)
    multiple = multiple && coefficient % unit == 0;
  return multiple;
}

/// Whether the tile's columns are of one tap of the kernel: then they are neighbours in the image.
bool isOfOneTap(const CopyStmt &copy) {
  auto channels = copy.source.buffer->base->shape[3].constant();
  auto width = copy.target.tileExtents()[1].constant();
  return channels && width && *width > 0 && *channels % *width == 0 &&
         isMultiple(copy.source.offsets[1], *width);
}

/// The copy element by element.
void expand(Function &function, const CopyStmt &copy, Block &out) {
  Context &context = *function.context;
  Builder b(function, out);
  b.range = copy.range;
  Buffer &view = *copy.source.buffer, &image = *view.base;
  auto &map = b.add<MapStmt>();
  map.extents = copy.target.tileExtents();
  map.vars = {context.var("i", map.extents[0].dtype()), context.var("j", map.extents[1].dtype())};
  DType type = copy.source.offsets[0].dtype();
  Expr row = copy.source.offsets[0] + context.cast(type, map.vars[0]);
  Expr column = copy.source.offsets[1] + context.cast(copy.source.offsets[1].dtype(), map.vars[1]);
  UnfoldedPixel p = unfoldedPixel(view, row, column);
  if (isOfOneTap(copy)) {
    p = unfoldedPixel(view, row, copy.source.offsets[1]);
    p.channel = p.channel + context.cast(p.channel.dtype(), map.vars[1]);
  }
  auto wide = [&](Expr e) { return context.cast(type, e); };
  Expr zero = context.zero(type);
  // Rows below the image and columns right of it are the padding: reads there give 0.
  Expr inside = logicalAnd(logicalAnd(lessEqual(zero, p.y), lessThan(p.y, wide(image.shape[1]))),
                           logicalAnd(lessEqual(zero, p.x), lessThan(p.x, wide(image.shape[2]))));
  Expr last = isOfOneTap(copy) ? copy.source.offsets[1] : column;
  inside = logicalAnd(inside, lessThan(last, context.cast(column.dtype(), view.shape[1])));
  inside = logicalAnd(inside, lessThan(p.n, wide(image.shape[0])));
  b.in(map.body, [&] {
    Expr value = b.load("pixel", Element{&image, {p.n, p.y, p.x, p.channel}, {}, false}, inside,
                        context.zero(image.dtype));
    std::vector<Expr> at;
    for (unsigned d = 0, k = 0; d < copy.target.buffer->rank(); ++d) {
      Expr offset = copy.target.offsets[d];
      at.push_back(copy.target.isDropped(d) ? offset
                                            : offset + context.cast(offset.dtype(), map.vars[k++]));
    }
    b.store(Element{copy.target.buffer, at, copy.target.version, false},
            context.cast(copy.target.buffer->dtype, value));
  });
}

} // namespace

void expandUnfolded(Function &function, const std::function<bool(const CopyStmt &)> &keeps) {
  std::set<const Buffer *> used;
  for (auto &launch : function.launches)
    rewrite(launch->body, [&](StmtPtr stmt, Block &out) {
      if (!readsUnfolded(*stmt))
        return out.push_back(std::move(stmt));
      const auto &copy = cast<CopyStmt>(*stmt);
      if (!keeps(copy))
        return expand(function, copy, out);
      used.insert(copy.source.buffer);
      out.push_back(std::move(stmt));
    });
  for (auto &launch : function.launches)
    rewrite(launch->body, [&](StmtPtr stmt, Block &out) {
      const auto *alloc = dynCast<AllocStmt>(stmt.get());
      if (!alloc || !alloc->buffer->unfold || used.count(alloc->buffer))
        out.push_back(std::move(stmt));
    });
}

bool hasUnfolded(const Function &function) {
  bool found = false;
  for (const auto &launch : function.launches)
    walk(std::as_const(launch->body), [&](const Stmt &stmt) {
      found |= readsUnfolded(stmt);
      return !found;
    });
  return found;
}

} // namespace tlc::ir
