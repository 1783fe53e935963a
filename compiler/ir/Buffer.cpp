#include "ir/Buffer.h"

#include <algorithm>

namespace tlc::ir {

const char *scopeName(Scope scope) {
  constexpr const char *names[] = {"global", "shared", "fragment", "local", "barrier"};
  return names[static_cast<unsigned>(scope)];
}

namespace {

std::optional<std::vector<std::int64_t>> constants(const std::vector<Expr> &values) {
  std::vector<std::int64_t> result;
  for (Expr value : values) {
    auto constant = value.constant();
    if (!constant)
      return std::nullopt;
    result.push_back(*constant);
  }
  return result;
}

std::optional<std::int64_t> product(const std::vector<Expr> &values) {
  std::int64_t product = 1;
  for (Expr value : values) {
    auto constant = value.constant();
    if (!constant)
      return std::nullopt;
    product *= *constant;
  }
  return product;
}

} // namespace

std::optional<std::vector<std::int64_t>> Buffer::constantShape() const { return constants(shape); }

std::optional<std::int64_t> Buffer::elementCount() const { return product(shape); }

unsigned Region::tileRank() const {
  unsigned rank = 0;
  for (unsigned d = 0; d < extents.size(); ++d)
    rank += !isDropped(d);
  return rank;
}

std::vector<Expr> Region::tileExtents() const {
  std::vector<Expr> result;
  for (unsigned d = 0; d < extents.size(); ++d)
    if (!isDropped(d))
      result.push_back(extents[d]);
  return result;
}

std::optional<std::vector<std::int64_t>> Region::constantTileExtents() const {
  return constants(tileExtents());
}

std::optional<std::int64_t> Region::elementCount() const { return product(extents); }

bool Region::wholeBuffer() const {
  return buffer && extents == buffer->shape &&
         std::all_of(offsets.begin(), offsets.end(), [](Expr e) { return e.isConstant(0); });
}

Region wholeRegion(Context &context, Buffer &buffer) {
  Region region;
  region.buffer = &buffer;
  for (Expr extent : buffer.shape)
    region.offsets.push_back(context.integer(extent.dtype(), 0));
  region.extents = buffer.shape;
  return region;
}

} // namespace tlc::ir
