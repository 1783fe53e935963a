// What an access costs: vector width, bank conflicts, sectors.
#pragma once

#include "layout/Layout.h"

namespace tlc {

/// Largest v such that registers can be grouped v at a time into aligned runs of consecutive
/// offsets, v <= limit.
Index vectorWidth(const Layout &access, Index limit, const std::string &reg = "reg");
/// As vectorWidth, for accesses that cannot reorder: registers r, r + 1 ... of a group are
/// consecutive in this order.
Index orderedWidth(const Layout &access, Index limit, const std::string &reg = "reg");
/// Length of the runs of input `axis`, starting at multiples of it, that are consecutive on the
/// (single) output.
Index contiguity(const Layout &memory, const std::string &axis);

/// Shared memory of a machine. A warp's access is served in phases of `banks * bankBytes` bytes;
/// phase p takes the lanes spanned by the first generators of `laneBasis` (lanes are served in
/// counting order on NVIDIA; not so on CDNA reads).
struct SharedMemory {
  Index banks = 32;
  Index bankBytes = 4;
  std::vector<Index> laneBasis = {1, 2, 4, 8, 16};
  Index vectorBytes = 16;
  Index warp() const { return Index{1} << laneBasis.size(); }
};
/// Wavefronts that a whole-tile access takes, and the least possible for as many bytes.
struct AccessCost {
  Index wavefronts = 0, ideal = 0, instructions = 0;
  bool conflictFree() const { return wavefronts == ideal; }
};
/// `vector` consecutive elements per lane and instruction; access is (reg, thread) -> offset.
AccessCost bankConflicts(const Layout &access, Index vector, Index elementBytes,
                         const SharedMemory &memory = {});
/// The same for global memory, counted in sectors of `sectorBytes` bytes (32; 128 counts cache
/// lines).
AccessCost sectors(const Layout &access, Index vector, Index elementBytes, Index warp = 32,
                   Index sectorBytes = 32);
/// Sectors of 32 bytes and cache lines of 128, found together.
struct GlobalCost {
  AccessCost sectors, lines;
};
GlobalCost globalCost(const Layout &access, Index vector, Index elementBytes, Index warp = 32);

} // namespace tlc
