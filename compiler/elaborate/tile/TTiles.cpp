#include "elaborate/tile/TTiles.h"

namespace tlc::elaborate {

using ir::Expr;

std::string extentsText(const ir::Region &r) {
  std::vector<Expr> extents = r.tileExtents();
  return shapeText(extents);
}

namespace {

std::string tileText(const Tile &t) {
  return (t.region.buffer->name.empty() ? "the tile" : "`" + t.region.buffer->name + "`") + " " +
         extentsText(t.region);
}

/// Dims of the tile, in order.
std::vector<unsigned> tileDims(const ir::Region &r) {
  std::vector<unsigned> dims;
  for (unsigned d = 0; d < r.extents.size(); ++d)
    if (!r.isDropped(d))
      dims.push_back(d);
  return dims;
}

bool same(Expr a, Expr b) {
  return a == b || (a.constant() && a.constant() == b.constant()) ||
         ir::constantDifference(a, b) == std::int64_t(0);
}

void dropUnits(ir::Region &r) {
  for (unsigned d : tileDims(r))
    if (r.extents[d].isConstant(1))
      r.dropped |= std::uint64_t(1) << d;
}

/// The corner's last dims take the extents of the tile, the last one the last.
bool extendCorner(Elaborator &e, std::string_view op, Tile &corner, Tile &tile) {
  ir::Region &c = corner.region, &t = tile.region;
  std::vector<unsigned> dims = tileDims(t);
  unsigned rank = static_cast<unsigned>(c.extents.size());
  // More dims than the corner has: what is 1 wide can go.
  for (std::size_t i = 0; dims.size() > rank && i < dims.size();)
    if (t.extents[dims[i]].isConstant(1)) {
      t.dropped |= std::uint64_t(1) << dims[i];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  if (dims.size() > rank) {
    e.report(diag::CornerRank, corner.range, op, c.buffer->name, rank, tileText(tile));
    return false;
  }
  unsigned lead = rank - static_cast<unsigned>(dims.size());
  for (unsigned d = lead; d < rank; ++d) {
    c.extents[d] = t.extents[dims[d - lead]];
    c.dropped &= ~(std::uint64_t(1) << d);
  }
  corner.corner = false;
  return checkRegion(e, c, corner.range);
}

bool extentsFit(const ir::Region &a, const ir::Region &b, bool broadcast) {
  std::vector<Expr> x = a.tileExtents(), y = b.tileExtents();
  if (x.size() != y.size())
    return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same(x[i], y[i]) && !(broadcast && x[i].isConstant(1)))
      return false;
  return true;
}

} // namespace

bool matchTiles(Elaborator &e, std::string_view op, Tile &source, Tile &target, bool broadcast,
                SourceRange range) {
  if (source.corner && !target.corner) {
    if (!extendCorner(e, op, source, target))
      return false;
  } else if (target.corner && !source.corner) {
    if (!extendCorner(e, op, target, source))
      return false;
  }
  if (extentsFit(source.region, target.region, broadcast))
    return true;
  // Right-aligned, dims of extent 1 count for nothing.
  ir::Region s = source.region, t = target.region;
  dropUnits(s);
  dropUnits(t);
  if (s.tileRank() < t.tileRank() && broadcast) {
    // A row or a scalar spread over a larger tile: source dims of extent 1 stay where they were.
    s = source.region;
    while (s.tileRank() > t.tileRank()) {
      std::uint64_t before = s.dropped;
      for (unsigned d : tileDims(s))
        if (s.extents[d].isConstant(1)) {
          s.dropped |= std::uint64_t(1) << d;
          break;
        }
      if (s.dropped == before)
        break;
    }
  }
  if (extentsFit(s, t, broadcast)) {
    source.region = s;
    target.region = t;
    return true;
  }
  auto report = e.report(diag::TilesDiffer, range, op, tileText(source), tileText(target));
  report.label(source.range, "tile " + extentsText(source.region))
      .label(target.range, "tile " + extentsText(target.region));
  return false;
}

ir::Element elementAt(const ir::Region &r, const std::vector<Expr> &index) {
  ir::Element element{r.buffer, r.offsets, r.version};
  std::size_t i = 0;
  for (unsigned d = 0; d < r.extents.size(); ++d) {
    if (r.isDropped(d))
      continue;
    Expr x = index[i++];
    if (r.extents[d].isConstant(1))
      continue; // broadcast
    Expr offset = r.offsets[d];
    if (offset.dtype() != x.dtype()) {
      DType wide = Scalar::Int64;
      ir::Context &c = x.context();
      offset = c.cast(wide, offset);
      x = c.cast(wide, x);
    }
    element.indices[d] = offset + x;
  }
  return element;
}

void elementMap(Elaborator &e, const std::vector<Expr> &extents,
                const std::function<void(const std::vector<Expr> &)> &body) {
  auto &map = e.builder().add<ir::MapStmt>();
  for (std::size_t d = 0; d < extents.size(); ++d)
    map.vars.push_back(e.context.var("i" + std::to_string(d), extents[d].dtype()));
  map.extents = extents;
  e.builder().in(map.body, [&] { body(map.vars); });
}

bool dropTo(ir::Region &r, unsigned rank) {
  for (unsigned d : tileDims(r)) {
    if (r.tileRank() <= rank)
      break;
    if (!r.extents[d].isConstant(1))
      return false;
    r.dropped |= std::uint64_t(1) << d;
  }
  return r.tileRank() == rank;
}

std::optional<std::vector<std::int64_t>> constantExtents(Elaborator &e, std::string_view op,
                                                         const Tile &tile) {
  std::optional<std::vector<std::int64_t>> extents = tile.region.constantTileExtents();
  if (!extents)
    e.report(diag::TileNotConstant, tile.range, op, tileText(tile));
  return extents;
}

} // namespace tlc::elaborate
