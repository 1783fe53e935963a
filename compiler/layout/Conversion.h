// How a fragment becomes another fragment of the same tile.
#pragma once

#include "layout/SharedTile.h"

namespace tlc {

/// Warp shuffles: in round k every thread offers register provide(k, thread) and reads from thread
/// source(k, thread) into register receive(k, thread). Rounds with the same source can share 32-bit
/// words: that is what `instructions` counts.
struct ShufflePlan {
  Layout provide, source, receive;
  Index rounds = 0, instructions = 0;
};

/// Each thread holds the same elements, up to a renaming of registers that is one for all threads,
/// and to copies.
bool sameHolders(const Layout &a, const Layout &b);

enum class ConversionKind { None, Registers, Shuffle, Shared };
struct Conversion {
  ConversionKind kind = ConversionKind::None;
  std::vector<Index> registers; // None and Registers: source register of each destination register
  std::optional<ShufflePlan> shuffle; // Shuffle
  std::optional<SharedPlan> shared;   // Shared
};
/// The cheapest way to turn fragment `from` into fragment `to` of the same tile. Elements of `to`
/// outside `shape` (when given) need no value. `maxShuffles`: with more shuffle instructions than
/// that, shared memory is taken.
Conversion planConversion(const Layout &from, const Layout &to, Index elementBytes,
                          const SharedMemory &machine = {}, const Sizes &shape = {},
                          Index maxShuffles = 32);

} // namespace tlc
