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
RandomKernel generate(std::uint64_t seed);

} // namespace tlc::fuzz
