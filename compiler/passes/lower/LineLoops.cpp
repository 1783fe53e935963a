#include "passes/lower/LineLoops.h"

#include "passes/lower/Physical.h"

namespace tlc::passes {

using namespace ir;

Element elementAt(const Region &region, const std::vector<Expr> &tile) {
  std::vector<Expr> indices;
  std::size_t next = 0;
  for (unsigned d = 0; d < region.offsets.size(); ++d)
    indices.push_back(region.isDropped(d) ? region.offsets[d]
                                          : region.offsets[d] + tile.at(next++));
  return physicalElement(*region.buffer, indices, region.version);
}

void forEachLine(Builder &builder, const std::vector<std::int64_t> &box, std::size_t axis,
                 const std::function<void(std::vector<Expr> &point)> &line) {
  Context &context = builder.context();
  std::vector<Expr> point(box.size());
  std::function<void(std::size_t)> loops = [&](std::size_t d) {
    if (d == box.size())
      return line(point);
    if (d == axis)
      return loops(d + 1);
    builder.loop("i", context.int32(0), context.int32(box[d]), ForKind::Serial, [&](Expr i) {
      point[d] = i;
      loops(d + 1);
    });
  };
  loops(0);
}

} // namespace tlc::passes
