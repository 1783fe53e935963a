#include "interpret/TileNodes.h"

#include <algorithm>
#include <utility>

namespace tlc::interpret {

void TileNode::run(Group &group) {
  if (isPerThread) {
    const std::vector<std::uint32_t> lanes = group.lanes.active;
    for (std::uint32_t lane : lanes)
      once(group, lane);
    return;
  }
  if (!isAnybody)
    group.expectAll();
  once(group, group.lanes.active.front());
}

// ---- Regions

namespace {

/// Value of an operand: of one thread, or the same in all.
std::int64_t operand(Group &group, Ref r, const RegionRef &region, std::uint32_t lane,
                     const char *what) {
  return region.isLocal ? group.lanes.get(r, lane).i
                        : group.uniformValue(r, DType(Scalar::Int64), what).i;
}

} // namespace

Tile gather(Group &group, const RegionRef &region, std::uint32_t lane, bool isWrite) {
  Tile tile;
  const View &v = group.view(region.buffer);
  tile.view = &v;
  std::size_t rank = region.offsets.size();
  std::vector<std::int64_t> offset(rank), extent(rank), index(rank, 0);
  std::int64_t total = 1, base = v.base;
  for (std::size_t d = 0; d < rank; ++d) {
    offset[d] = operand(group, region.offsets[d], region, lane, "an offset");
    extent[d] =
        std::max<std::int64_t>(0, operand(group, region.extents[d], region, lane, "an extent"));
    total *= extent[d];
    if (!(region.dropped >> d & 1))
      tile.extents.push_back(extent[d]);
  }
  if (region.version.isSet()) {
    std::int64_t version = operand(group, region.version, region, lane, "the version");
    if (version < 0 || version >= v.versions) {
      group.report(ReportKind::OutOfRange, "version " + std::to_string(version) + " of %" +
                                               v.buffer->name + " does not exist");
      version = 0;
    }
    base += version * v.versionBits;
  }
  for (auto [ref, bits] : region.bases)
    base += operand(group, ref, region, lane, "a view's offset") * bits;
  if (v.threadBits)
    base += v.threadBits * group.threadOf(lane);
  tile.at.resize(static_cast<std::size_t>(total));
  std::size_t n = 0;
  std::int64_t bits = v.bits(), first = rank ? offset[rank - 1] : 0;
  std::int64_t inner = rank ? extent[rank - 1] : 1, step = rank ? v.strides[rank - 1] * bits : 0;
  bool isOut = false;
  while (n < tile.at.size()) {
    bool rowIsIn = true;
    std::int64_t row = base;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      std::int64_t i = offset[d] + index[d];
      rowIsIn &= i >= 0 && i < v.shape[d];
      row += i * v.strides[d] * bits;
    }
    for (std::int64_t k = 0; k < inner; ++k, ++n) {
      bool isIn = rowIsIn && (rank == 0 || (first + k >= 0 && first + k < v.shape[rank - 1]));
      tile.at[n] = isIn ? row + (first + k) * step : -1;
      isOut |= !isIn;
    }
    for (std::size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
      if (++index[d] < extent[d])
        break;
      index[d] = 0;
    }
  }
  if (v.strided)
    for (std::int64_t &at : tile.at) {
      if (at < 0)
        continue;
      const View &root = *v.strided;
      std::int64_t element = at / bits, from = 0;
      for (std::size_t d = root.shape.size(); d-- > 0;) {
        from += element % root.shape[d] * root.strides[d];
        element /= root.shape[d];
      }
      at = root.base + from * bits;
    }
  if (isOut && !v.isGlobal())
    group.report(ReportKind::OutOfRange, std::string("a tile ") +
                                             (isWrite ? "to write" : "to read") + " leaves %" +
                                             v.buffer->name);
  return tile;
}

std::vector<std::size_t> broadcastMap(const std::vector<std::int64_t> &extents,
                                      const std::vector<std::int64_t> &from) {
  std::size_t count = 1;
  for (std::int64_t e : extents)
    count *= static_cast<std::size_t>(e);
  std::vector<std::size_t> map(count);
  std::vector<std::int64_t> index(extents.size(), 0);
  for (std::size_t n = 0; n < count; ++n) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      std::int64_t size = d < from.size() ? from[d] : 1;
      at = at * size + (size == 1 ? 0 : index[d]);
    }
    map[n] = static_cast<std::size_t>(at);
    for (std::size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d])
        break;
      index[d] = 0;
    }
  }
  return map;
}

// ---- Copies

namespace {

bool sameExtents(Group &group, const Tile &a, const Tile &b) {
  bool fits = a.extents.size() == b.extents.size();
  for (std::size_t d = 0; fits && d < a.extents.size(); ++d)
    fits = a.extents[d] == b.extents[d] || a.extents[d] == 1;
  if (!fits)
    group.report(ReportKind::OutOfRange, "the tiles differ in extent");
  return fits;
}

/// The value of an element of a tile that is used; out of range: the safe value.
Value valueAt(Group &group, const Tile &tile, std::size_t n, std::uint32_t lane) {
  return tile.at[n] < 0 ? tile.view->safeValue : group.read(*tile.view, tile.at[n], lane, false);
}

} // namespace

void CopyNode::once(Group &group, std::uint32_t lane) {
  Tile from = gather(group, source, lane, false), to = gather(group, target, lane, true);
  if (isMulticast)
    return group.report(ReportKind::Unsupported, "multicast copies are not interpreted");
  if (!sameExtents(group, from, to))
    return;
  std::vector<std::size_t> map;
  if (from.extents != to.extents)
    map = broadcastMap(to.extents, from.extents);
  MbarState *bar = hasBarrier ? mbarAt(group, barrier, lane, group.block) : nullptr;
  bool flies = isAsync && !to.view->isGlobal();
  bool isSame = from.view->dtype == to.view->dtype;
  for (std::size_t n = 0; n < to.count(); ++n) {
    std::size_t f = map.empty() ? n : map[n];
    std::int64_t at = to.at[n];
    if (at < 0)
      continue;
    Value value = from.view->safeValue;
    bool isDefined = true;
    if (from.at[f] >= 0 && to.view->isGlobal())
      value = group.read(*from.view, from.at[f], lane, false);
    else if (from.at[f] >= 0)
      isDefined = group.readToCarry(*from.view, from.at[f], lane, value);
    if (!isSame)
      value = convert(from.view->dtype, to.view->dtype, value);
    group.noteWrite(*to.view, at, lane, false, value);
    to.view->store(at, value);
    if (!isDefined)
      group.markWritten(*to.view, at, NeverWritten);
    if (!flies || !isDefined)
      continue;
    group.markWritten(*to.view, at, InFlight);
    Flight flight{
        to.view->storage,    static_cast<std::size_t>(at >> 3), to.view->bytes(), to.view, at,
        group.threadOf(lane)};
    if (bar)
      bar->flights.push_back(flight);
    else
      group.fly(flight);
  }
  // The copy announced its own bytes to `bar`; they have arrived, so nothing is outstanding.
}

void ConvertNode::once(Group &group, std::uint32_t lane) {
  const View &from = group.view(source), &to = group.view(target);
  for (std::int64_t n = 0; n < to.count; ++n) {
    std::int64_t a = from.base + n * from.bits(), b = to.base + n * to.bits();
    bool isDefined = group.isDefined(from, a);
    group.noteWrite(to, b, lane, false, from.load(a));
    to.store(b, from.load(a));
    if (!isDefined)
      group.markWritten(to, b, NeverWritten);
  }
}

void FillNode::once(Group &group, std::uint32_t lane) {
  Tile to = gather(group, target, lane, true);
  Value v = isPerThread ? group.lanes.get(value, lane)
                        : group.uniformValue(value, to.view->dtype, "the value");
  for (std::int64_t at : to.at)
    if (at >= 0)
      group.write(*to.view, at, lane, false, v);
}

// ---- Matrix products

namespace {

/// rows x columns numbers of a matrix tile, transposed if it is stored so.
template <class T>
std::vector<T> matrix(Group &group, const Tile &tile, std::uint32_t lane, std::int64_t rows,
                      std::int64_t columns, bool isTransposed) {
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  bool isFloat = tile.view->dtype.isFloat();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      auto n = static_cast<std::size_t>(isTransposed ? c * rows + r : r * columns + c);
      Value v = valueAt(group, tile, n, lane);
      out[static_cast<std::size_t>(r * columns + c)] =
          isFloat ? static_cast<T>(v.f) : static_cast<T>(v.i);
    }
  return out;
}

/// Products exact, sums in double or wrapping int64: no order of summation can be told from another
/// by more than the rounding of the result, except where terms of c's own precision cancel.
template <class T>
void multiply(Group &group, std::uint32_t lane, const Tile &a, const Tile &b, const Tile &c,
              const GemmNode &node, bool isCleared) {
  std::int64_t m = c.extents[0], n = c.extents[1], k = a.extents[node.transposeA ? 0 : 1];
  std::vector<T> x = matrix<T>(group, a, lane, m, k, node.transposeA);
  std::vector<T> y = matrix<T>(group, b, lane, k, n, node.transposeB);
  std::vector<T> sum(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(sum.begin(), sum.end(), T{});
    for (std::int64_t j = 0; j < k; ++j) {
      T factor = x[static_cast<std::size_t>(i * k + j)];
      const T *row = y.data() + j * n;
      T *out = sum.data();
      for (std::int64_t l = 0; l < n; ++l)
        out[l] += factor * row[l];
    }
    for (std::int64_t l = 0; l < n; ++l) {
      auto at = static_cast<std::size_t>(i * n + l);
      Value old{};
      if (!isCleared)
        old = valueAt(group, c, at, lane);
      Value v;
      if constexpr (std::is_same_v<T, double>)
        v = c.view->dtype.isFloat()
                ? Value{.f = roundTo(c.view->dtype,
                                     sum[static_cast<std::size_t>(l)] + (isCleared ? 0.0 : old.f))}
                : Value{.i = static_cast<std::int64_t>(sum[static_cast<std::size_t>(l)]) +
                             (isCleared ? 0 : old.i)};
      else
        v = {.i = wrapInteger(
                 c.view->dtype,
                 static_cast<std::int64_t>(sum[static_cast<std::size_t>(l)] +
                                           (isCleared ? 0u : static_cast<std::uint64_t>(old.i))))};
      if (c.at[at] >= 0)
        group.write(*c.view, c.at[at], lane, false, v);
    }
  }
}

} // namespace

void GemmNode::once(Group &group, std::uint32_t lane) {
  Tile x = gather(group, a, lane, false), y = gather(group, b, lane, false),
       z = gather(group, c, lane, true);
  bool isCleared =
      clear.isSet() && group.uniformValue(clear, DType(Scalar::Bool), "the clear flag").i;
  bool fits = x.extents.size() == 2 && y.extents.size() == 2 && z.extents.size() == 2 &&
              x.extents[transposeA] == z.extents[0] && y.extents[!transposeB] == z.extents[1] &&
              x.extents[!transposeA] == y.extents[transposeB];
  if (!fits)
    return group.report(ReportKind::OutOfRange, "the matrices do not fit each other");
  group.countProduct(z.extents[0], z.extents[1], x.extents[!transposeA]);
  // Products of one accumulator are done in their order, whoever waits for which.
  if (z.view->storage->scope == ir::Scope::Fragment)
    for (std::int64_t at : z.at)
      if (at >= 0 && group.stateOf(*z.view, at) == InFlight)
        group.markWritten(*z.view, at);
  if (x.view->dtype.isFloat() || y.view->dtype.isFloat() || z.view->dtype.isFloat())
    multiply<double>(group, lane, x, y, z, *this, isCleared);
  else
    multiply<std::uint64_t>(group, lane, x, y, z, *this, isCleared);
  if (!isAsync)
    return;
  MbarState *bar = hasBarrier ? mbarAt(group, barrier, lane, group.block) : nullptr;
  for (std::int64_t at : z.at) {
    group.markWritten(*z.view, at, InFlight);
    Flight flight{
        z.view->storage,     static_cast<std::size_t>(at >> 3), z.view->bytes(), z.view, at,
        group.threadOf(lane)};
    if (bar)
      bar->flights.push_back(flight);
    else
      group.fly(flight, ir::AsyncKind::Wgmma);
  }
  if (!bar) // each is a group of its own
    group.commit(ir::AsyncKind::Wgmma);
}

} // namespace tlc::interpret
