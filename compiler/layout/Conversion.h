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
  /// None and Registers: source register of each destination register, as a table and, if the
  /// digits fit, as a layout (reg) -> reg.
  std::vector<Index> registers;
  std::optional<Layout> registerMap;
  std::optional<ShufflePlan> shuffle; // Shuffle
  std::optional<SharedPlan> shared;   // Shared
};
/// The part of planConversion that moves nothing: None or Registers, if each thread holds what it
/// needs in a register that is one for all threads. Elements of `to` outside `shape` (when given)
/// need no value.
std::optional<Conversion> heldIn(const Layout &from, const Layout &to, const Sizes &shape = {});
/// Whether heldIn finds something; cheaper than what it finds.
bool isHeldIn(const Layout &from, const Layout &to, const Sizes &shape = {});
/// The cheapest way to turn fragment `from` into fragment `to` of the same tile. Elements of `to`
/// outside `shape` (when given) need no value. `maxShuffles`: with more shuffle instructions than
/// that, shared memory is taken.
Conversion planConversion(const Layout &from, const Layout &to, Index elementBytes,
                          const SharedMemory &machine = {}, const Sizes &shape = {},
                          Index maxShuffles = 32);

} // namespace tlc
