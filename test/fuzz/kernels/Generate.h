// Random kernels in the tile phase: defined, race-free, with small values, so that every form of
// them must compute the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tlc::fuzz {

struct RandomKernel {
  std::string text; ///< .tlir
  std::vector<std::int64_t> dims;
};
/// One product and a handful of operations on its tile, from every kind of statement.
RandomKernel generateTiles(std::uint64_t seed);
/// Pipelined loops of products, the operands as tensor cores want them.
RandomKernel generateProducts(std::uint64_t seed);
inline RandomKernel generate(std::uint64_t seed) {
  return seed % 2 ? generateTiles(seed) : generateProducts(seed);
}

} // namespace tlc::fuzz
