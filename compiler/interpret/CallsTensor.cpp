// Copies of boxes by tensor maps. They are done at once; loads are known as complete when a wait on
// their barrier object returns.
#include "interpret/Calls.h"

#include "interpret/TileNodes.h"

#include <optional>

namespace tlc::interpret {

namespace {

enum class Transfer { Load, Store, Add };

/// Element `n` of a box: where it is in the tensor.
class BoxWalk {
public:
  BoxWalk(const View &tensor, const std::vector<std::int64_t> &box,
          std::vector<std::int64_t> corner)
      : tensor(tensor), box(box), corner(std::move(corner)) {}

  std::int64_t count() const {
    std::int64_t product = 1;
    for (std::int64_t extent : box)
      product *= extent;
    return product;
  }
  /// Bit offset; none if it is outside.
  std::optional<std::int64_t> at(std::int64_t n) const {
    std::int64_t element = 0;
    for (std::size_t d = box.size(); d-- > 0; n /= box[d]) {
      std::int64_t index = corner[d] + n % box[d];
      if (index < 0 || index >= tensor.shape[d])
        return std::nullopt;
      element += index * tensor.strides[d];
    }
    return tensor.base + element * tensor.bits();
  }

private:
  const View &tensor;
  const std::vector<std::int64_t> &box;
  std::vector<std::int64_t> corner; ///< outermost first, as the box
};

/// The hardware exchanges units of 16 bytes by bits of the address.
std::int64_t swizzled(std::int64_t bit, std::int64_t swizzleBytes) {
  std::int64_t byte = bit >> 3, units = swizzleBytes / 16;
  std::int64_t exchanged = units ? byte ^ (byte >> 7 & (units - 1)) << 4 : byte;
  return exchanged << 3 | (bit & 7);
}

void transferElement(Group &group, Transfer what, const View &tensor, const View &tile,
                     std::optional<std::int64_t> from, std::int64_t at, std::uint32_t lane,
                     MbarState *bar) {
  if (what == Transfer::Load) {
    Value value = from ? group.read(tensor, *from, lane, false)
                       : (tile.dtype.isFloat() ? Value{.f = 0} : Value{.i = 0});
    group.write(tile, at, lane, false, value);
    group.markWritten(tile, at, InFlight);
    bar->flights.push_back({tile.storage, static_cast<std::size_t>(at >> 3), tile.bytes(), &tile,
                            at, group.threadOf(lane)});
    return;
  }
  if (!from)
    return;
  Value value = group.read(tile, at, lane, false);
  if (what == Transfer::Add)
    value = settled(tensor.dtype,
                    reduceStep(ir::ReduceOp::Sum, tensor.dtype, value, tensor.load(*from), false));
  group.write(tensor, *from, lane, false, value);
}

void transferBox(Group &group, const CallNode &node, std::uint32_t lane, Transfer what) {
  bool load = what == Transfer::Load;
  std::size_t mapAt = load ? 1 : 0, tileAt = load ? 0 : 1, first = load ? 3 : 2;
  const auto &map = std::get<ir::TensorMap>(node.call->args[mapAt]);
  const View &tensor = group.view(node.args[mapAt].element.buffer);
  const View &tile = group.view(node.args[tileAt].element.buffer);
  std::size_t rank = map.box.size();
  if (node.args.size() != first + rank)
    return group.report(ReportKind::Unsupported,
                        "@" + node.call->callee + " with other operands is not interpreted");
  std::vector<std::int64_t> corner;
  for (std::size_t d = rank; d-- > 0;)
    corner.push_back(group.lanes.get(node.args[first + d].value[0], lane).i);
  BoxWalk walk(tensor, map.box, std::move(corner));
  std::int64_t start =
      addressOf(group, node.args[tileAt], lane, static_cast<unsigned>(walk.count()));
  MbarState *bar = load ? mbarAt(group, node.args[2].element, lane, group.block) : nullptr;
  if (start < 0 || (load && !bar))
    return;
  for (std::int64_t n = 0; n < walk.count(); ++n)
    transferElement(group, what, tensor, tile, walk.at(n),
                    swizzled(start + n * tile.bits(), map.swizzleBytes), lane, bar);
  if (!bar)
    return;
  // Who waits for the bytes sees them, whenever the arrivals were.
  group.release(bar->clock);
  group.tick();
  bytesArrived(*bar, walk.count() * tile.bits() / 8);
}

} // namespace

bool copyBox(Group &group, const CallNode &node, const WarpLanes &warp) {
  const std::string &name = node.call->callee;
  std::optional<Transfer> what;
  if (name.starts_with("tma_load_"))
    what = Transfer::Load;
  else if (name.starts_with("tma_store_"))
    what = Transfer::Store;
  else if (name.starts_with("tma_reduce_add_"))
    what = Transfer::Add;
  if (!what)
    return false;
  for (std::int32_t lane : warp.lane)
    if (lane >= 0)
      transferBox(group, node, static_cast<std::uint32_t>(lane), *what);
  return true;
}

} // namespace tlc::interpret
