// How many blocks of a launch a multiprocessor holds at once.
#pragma once

#include "target/Target.h"

#include <algorithm>

namespace tlc::passes {

/// Blocks of so many threads, shared bytes and registers a thread (0: not looked at) that reside on
/// a multiprocessor at once; 0: none fits.
inline std::int64_t residentBlocks(const Target &target, std::int64_t threads,
                                   std::int64_t sharedBytes, std::int64_t registers = 0) {
  const Limits &limits = target.limits;
  if (sharedBytes > limits.sharedPerBlockOptIn)
    return 0;
  threads = std::max<std::int64_t>(1, threads);
  std::int64_t blocks = limits.threadsPerSm / threads;
  blocks = std::min(blocks, limits.sharedPerSm /
                                std::max<std::int64_t>(1, sharedBytes + limits.sharedReserved));
  if (registers > 0)
    blocks = std::min(blocks, limits.registersPerSm / (registers * threads));
  return blocks;
}

} // namespace tlc::passes
