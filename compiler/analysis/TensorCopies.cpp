// Copies by the hardware that moves boxes of tensors (TMA): what is legal, and how a tile is cut
// into boxes.
#include "analysis/Copies.h"

#include "layout/Algebra.h"
#include "layout/Shape.h"
#include "layout/SharedTile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tlc::analysis {

using namespace ir;

namespace {

/// What descriptors and instructions can hold.
constexpr unsigned maxRank = 5;
constexpr std::int64_t maxBox = 256, maxExtent = std::int64_t{1} << 32;
/// Rows of a box, rows of a tensor, and its first byte are multiples of it.
constexpr std::int64_t unitBytes = 16;
/// Boxes without swizzle start at multiples of it in shared memory.
constexpr std::int64_t plainAlignment = 128;
/// Rows after which a swizzle repeats.
constexpr std::int64_t swizzleRows = 8;

std::int64_t bytesOf(const Buffer &buffer) { return buffer.dtype.bits() / 8; }

bool isZero(Expr value) {
  return !value || value.isConstant(0) ||
         (value.isFloat() && value->real == 0 && !std::signbit(value->real));
}

/// A tile in shared memory as it lies there: in rows, or in panels of `panel` elements.
class PlacedTile {
public:
  PlacedTile(const Region &region, TileForm form, const Ranges &ranges)
      : region(region), ranges(ranges), bytes(bytesOf(*region.buffer)),
        panel(form.panelBytes / bytes),
        alignment(form.swizzleBytes ? form.swizzleBytes * swizzleRows : plainAlignment),
        shape(*region.buffer->constantShape()) {}

  const Region &region;
  const Ranges &ranges;
  const std::int64_t bytes, panel, alignment;
  const std::vector<std::int64_t> shape;

  unsigned last() const { return static_cast<unsigned>(shape.size()) - 1; }
  /// Elements from one index of a dim to the next; along the last one within a panel.
  std::int64_t stride(unsigned d) const {
    if (panel && d + 1 == last())
      return panel;
    std::int64_t product = 1;
    for (unsigned i = d + 1; i <= last(); ++i)
      product *= shape[i];
    return product;
  }
  /// Whether the tile starts where a box may start.
  bool startsRight() const {
    for (unsigned d = 0; d <= last(); ++d) {
      std::int64_t unit = panel && d == last() ? panel : unitOf(d);
      if (!ranges.divisible(region.offsets[d], unit))
        return false;
    }
    return true;
  }
  /// Extent of a box along a dim whose whole run it continues; 0: there is none.
  std::int64_t boxAlong(unsigned d, std::int64_t extent) const {
    if (panel && d == last())
      return extent % panel == 0 ? panel : 0;
    if (extent <= maxBox)
      return extent;
    for (std::int64_t box = maxBox; box > 0; --box)
      if (extent % box == 0 && box % unitOf(d) == 0)
        return box;
    return 0;
  }
  /// Steps along a dim that lead from one place where boxes may start to the next.
  std::int64_t unitOf(unsigned d) const {
    std::int64_t step = stride(d) * bytes;
    return alignment / std::gcd(alignment, step);
  }
};

/// Why the tensor cannot be described; "" if it can.
std::string tensorFault(const Buffer &tensor, const Ranges &ranges) {
  if (tensor.base && !tensor.unfold)
    return "it is a view of another tensor";
  if (tensor.dtype.lanes > 1 || tensor.dtype.bits() < 8 || tensor.dtype.isBool())
    return "elements of " + tensor.dtype.str() + " cannot be copied so";
  if (tensor.rank() == 0 || tensor.rank() > maxRank)
    return "it has " + std::to_string(tensor.rank()) + " dims, 1 to " + std::to_string(maxRank) +
           " are possible";
  if (tensor.alignment % unitBytes != 0)
    return "it may start at any multiple of " + std::to_string(tensor.alignment) + " bytes";
  for (unsigned d = 0; d < tensor.rank(); ++d)
    if (ranges.interval(tensor.shape[d]).hi >= maxExtent)
      return "dim " + std::to_string(d) + " may have 2^32 elements or more";
  if (!strideOf(tensor, tensor.rank() - 1).isConstant(1))
    return "its elements are not next to each other along the last dim";
  std::int64_t unit = unitBytes / std::gcd(unitBytes, bytesOf(tensor));
  for (unsigned d = 0; d + 1 < tensor.rank(); ++d)
    if (!ranges.divisible(strideOf(tensor, d), unit))
      return "rows are not known to be multiples of " + std::to_string(unitBytes) +
             " bytes apart (dim " + std::to_string(d) + ")";
  return "";
}

/// Why boxes of an unfolded image cannot be copied; "" if they can.
std::string unfoldedFault(const Region &region, const TensorBoxes &boxes, const Ranges &ranges) {
  constexpr std::int64_t maxCorner = 127, maxOffset = 255, maxStride = 8;
  const Buffer &image = *region.buffer->base;
  const Unfold &u = *region.buffer->unfold;
  const std::int64_t reach = u.dilation * (u.kernel - 1);
  if (u.pad > maxCorner || reach - u.pad > maxCorner || u.pad < 0 || reach > maxOffset ||
      u.stride > maxStride)
    return "kernel, stride or padding are too large for tensor maps";
  if (image.unfold)
    return "it is unfolded twice";
  std::string fault = tensorFault(image, ranges);
  if (!fault.empty())
    return fault;
  auto channels = image.shape[3].constant();
  const Expr first = region.offsets[1];
  if (!channels || *channels % boxes.box[1] || !ranges.divisible(first, boxes.box[1]))
    return "a box may have channels of two taps of the kernel";
  Expr end = first + *region.extents[1].constant();
  if (!ranges.nonNegative(first) || !ranges.nonNegative(region.offsets[0]) ||
      !ranges.lessEqual(end, region.buffer->shape[1]))
    return "columns may be of no tap of the kernel";
  return "";
}

/// What layout inference may make of a tile that tensor maps copy: its layout, if the program gives
/// it one; else swizzled panels, or where there are none, rows or panels of 16 bytes.
std::vector<TileForm> possibleForms(const Buffer &tile) {
  if (tile.layout) {
    auto form = tileForm(tile);
    return form ? std::vector{*form} : std::vector<TileForm>{};
  }
  auto shape = tile.constantShape();
  auto widest =
      shape->size() < 2 ? std::nullopt : widestPanels(dimSizes(*shape), tile.dtype.bits());
  if (!widest)
    return {TileForm{}};
  if (*widest)
    return {TileForm{*widest, *widest}};
  return {TileForm{}, TileForm{unitBytes, 0}};
}

std::string regionFault(const Region &global, const Region &shared, const Ranges &ranges,
                        bool stores) {
  if (global.buffer->dtype != shared.buffer->dtype)
    return "it converts";
  if (shared.buffer->base || !shared.buffer->constantShape())
    return "`" + shared.buffer->name + "` is a view";
  auto from = global.constantTileExtents(), to = shared.constantTileExtents();
  if (!from || !to || *from != *to)
    return "the two sides differ in shape";
  for (Expr offset : global.offsets) {
    analysis::Interval values = ranges.interval(offset);
    if (values.lo < INT32_MIN || values.hi > INT32_MAX)
      return "an offset may not fit 32 bits";
    // Loads fill what lies before the tensor with zeros, as what lies behind. Stores and additions
    // that begin there are illegal instructions (measured on an H200).
    if (stores && !ranges.nonNegative(offset))
      return "it may begin before the tensor, where the hardware cannot store";
  }
  // Else the instruction is an illegal one, with and without a swizzle, for loads and stores
  // (measured on an H200).
  if (!ranges.divisible(global.offsets.back(),
                        unitBytes / std::gcd(unitBytes, bytesOf(*global.buffer))))
    return "its columns are not known to begin at multiples of 16 bytes";
  std::string fault = tensorFault(*global.buffer, ranges);
  if (!fault.empty())
    return "`" + global.buffer->name + "`: " + fault;
  // Which of its forms the tile gets is decided later.
  for (TileForm form : possibleForms(*shared.buffer)) {
    auto boxes = tensorBoxes(global, shared, form, ranges);
    if (!boxes)
      return "the tile cannot be cut into boxes of at most 256 elements in each dim, with rows of "
             "multiples of 16 bytes that begin at multiples of 128 bytes";
    if (global.buffer->unfold)
      fault = stores ? "it is unfolded" : unfoldedFault(global, *boxes, ranges);
    if (!fault.empty())
      return "`" + global.buffer->name + "`: " + fault;
  }
  return "";
}

} // namespace

std::optional<TileForm> tileForm(const Buffer &tile) {
  auto shape = tile.constantShape();
  if (!shape || tile.base)
    return std::nullopt;
  Sizes sizes = dimSizes(*shape);
  if (!tile.layout || equal(*tile.layout, Layout::rowMajor(sizes)))
    return TileForm{};
  auto swizzle = panelSwizzle(*tile.layout, sizes, tile.dtype.bits());
  if (!swizzle)
    return std::nullopt;
  return TileForm{*swizzle ? *swizzle : unitBytes, *swizzle};
}

std::optional<TensorBoxes> tensorBoxes(const Region &global, const Region &shared, TileForm form,
                                       const Ranges &ranges) {
  PlacedTile tile(shared, form, ranges);
  unsigned rank = global.buffer->rank();
  if (shared.isDropped(tile.last()) || global.isDropped(rank - 1) || !tile.startsRight())
    return std::nullopt;
  TensorBoxes boxes;
  boxes.box.assign(rank, 1);
  boxes.count.assign(rank, 1);
  boxes.sharedDim.assign(rank, 0);
  // From the inside: a box takes in each dim that continues the run of shared memory it is so far.
  std::int64_t run = 1;
  unsigned d = tile.last() + 1;
  for (unsigned g = rank; g-- > 0;) {
    if (global.isDropped(g))
      continue;
    do
      --d;
    while (shared.isDropped(d));
    std::int64_t extent = *global.extents[g].constant();
    bool continues = tile.stride(d) == run;
    std::int64_t box = continues ? tile.boxAlong(d, extent) : 1;
    if (box == 0 ||
        (box < extent && !(tile.panel && d == tile.last()) && box % tile.unitOf(d) != 0))
      return std::nullopt;
    boxes.box[g] = box;
    boxes.count[g] = extent / box;
    boxes.sharedDim[g] = d;
    run *= box;
  }
  if (boxes.box.back() * tile.bytes % unitBytes != 0)
    return std::nullopt;
  return boxes;
}

std::string whyNotTma(const CopyStmt &copy, const Target &target, const Ranges &ranges) {
  if (!target.has(Feature::Tma))
    return target.name + " has no such hardware";
  bool load = copy.source.buffer->storage()->scope == Scope::Global;
  // Of a store by tensor maps the layout says which warp issues what.
  bool byThreads = copy.layout && (load || copy.copyKind != CopyKind::Tma);
  if (copy.copyKind == CopyKind::Sync || copy.copyKind == CopyKind::CpAsync || byThreads)
    return "the program wants it otherwise";
  const Region &global = load ? copy.source : copy.target;
  const Region &shared = load ? copy.target : copy.source;
  if (global.buffer->storage()->scope != Scope::Global ||
      shared.buffer->storage()->scope != Scope::Shared)
    return "it is not between global and shared memory";
  if (load && !isZero(global.buffer->safeValue))
    return "what is out of range is not 0";
  return regionFault(global, shared, ranges, !load);
}

std::string whyNotTma(const AtomicTileStmt &atomic, const Target &target, const Ranges &ranges) {
  if (!target.has(Feature::Tma))
    return target.name + " has no such hardware";
  if (atomic.op != AtomicOp::Add || atomic.order != MemoryOrder::Relaxed || !atomic.source.buffer)
    return "only relaxed additions of tiles can be done so";
  if (atomic.target.buffer->storage()->scope != Scope::Global ||
      atomic.source.buffer->storage()->scope != Scope::Shared)
    return "it is not from shared to global memory";
  DType dtype = atomic.target.buffer->dtype;
  bool adds = dtype.scalar == Scalar::Float16 || dtype.scalar == Scalar::BFloat16 ||
              dtype.scalar == Scalar::Float32 || dtype.scalar == Scalar::Int32 ||
              dtype.scalar == Scalar::UInt32 || dtype.scalar == Scalar::UInt64;
  if (!adds)
    return "there is no addition of " + dtype.str();
  return regionFault(atomic.target, atomic.source, ranges, true);
}

bool canUseTma(const CopyStmt &copy, const Target &target, const Ranges &ranges) {
  return whyNotTma(copy, target, ranges).empty();
}

bool isTmaCopy(const CopyStmt &copy) {
  return copy.copyKind == CopyKind::Tma &&
         (copy.barrier.buffer || copy.target.buffer->storage()->scope == Scope::Global);
}

} // namespace tlc::analysis
