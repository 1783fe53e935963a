// What the planner decided, as an object that prints and parses.
//
//   kernel gemm                         // what follows is for this function
//   launch gemm {
//     raster row 8                      // blocks walk the grid in panels; "raster none"
//     loop ko stages 3                  // the n-th pipelined loop of the launch, in program order;
//                                       // `early`: what a round loads into registers and is small
//                                       // is loaded in the round before
//     gemm atom mma_m16n8k16_f32_f16 warps 2 2
//     store C staged                    // the n-th copy from a fragment to global memory; also
//                                       // "direct", "tensor columns 64 buffers 2 deferred"; what
//                                       // is added to the tensor is told by "add C ..."; several
//                                       // in a row that go to one tensor may have one line
//     cluster 2 1                       // blocks along the first and the second grid dimension
//     tiles 2 1                         // of a launch that is there for many tiles: how many of
//                                       // the program's blocks one does along each grid dimension
//     spread 8                          // the tiles of a block are shared out to so many, which
//                                       // form a cluster; 1: they are not
//     parts 8                           // of a launch that is there for tiles that do not fill the
//                                       // machine: up to so many blocks share a tile's sums
//     packed A B                        // of a launch that is there for rows that tensor maps
//                                       // cannot load: those of A and B are copied to the
//                                       // workspace first
//     persistent no                     // yes: as many blocks as fit, each walks over tiles;
//                                       // `stages N`: what it loads once a tile lies N-fold in
//                                       // shared memory; `fold D grows|shrinks`: tiles take the
//                                       // longer (shorter) the larger grid index D; blocks take
//                                       // them by length, back and forth; `share D`: neighbours
//                                       // along D may load together; `join`: a tile's last product
//                                       // runs beside the first one of the next (join-tiles);
//                                       // `alternate`: two warpgroups take tiles in turns
//     specialize no                     // yes: producer warps of their own load the tiles;
//                                       // `split`: what does not touch the widest sums is done by
//                                       // a warpgroup of its own, ahead of the others
//     in_flight yes                     // products are waited for where something needs them to be
//                                       // done (late-waits); no: at once
//   }
//
// `tlc report` shows it, --schedule=FILE gives it back. Loops, gemms and stores are matched by
// position; names are checked, so that a schedule for another kernel is refused. What a file does
// not mention is left to the planner.
#pragma once

#include "ir/Function.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlc::passes {

/// One T.Pipelined loop.
struct LoopPlan {
  std::string name;        ///< the loop variable's
  std::int64_t stages = 0; ///< tiles in flight, the one being used included; 0 or 1: no overlap
  bool binding = false;    ///< the user's word is final (num_stages=0, --schedule)
  std::string reason;      ///< for people; printed as a comment, not parsed
  bool early = false; ///< few elements that go to registers are loaded a round early (pipeline)
  std::int64_t written = 0; ///< what the source or a given schedule asks for
  /// Set when stages that were asked for are taken away: how many there were, and the bytes they
  /// needed.
  std::int64_t wantedStages = 0, wantedBytes = 0;
};

/// One gemm; empty or 0: left to select-atoms.
struct GemmPlan {
  std::string atom;
  std::int64_t warpsM = 0, warpsN = 0;
};

enum class StoreWay : std::uint8_t {
  Direct, ///< from registers
  Staged, ///< by way of shared memory, for wide accesses
  Tensor, ///< by way of shared memory, which tensor maps store
};

/// One copy of a fragment to global memory, or an addition of it there.
struct StorePlan {
  std::string name; ///< the tensor's
  StoreWay way = StoreWay::Direct;
  bool binding = false; ///< the user's word is final
  std::string reason;
  std::int64_t columns = 0; ///< of the tile that are staged at a time; 0: all, or left to the
                            ///< planner
  std::int64_t buffers = 0; ///< Tensor: that take turns; 0: left to the planner
  bool deferred = false;    ///< Tensor: a tile leaves while the next one is computed (defer-stores)
  std::int64_t stagingBytes = 0; ///< Tensor: shared memory of all buffers; not printed
  bool adds = false;             ///< to what is there: `add` instead of `store`, never Staged
};

/// The grid dimension along which tiles take ever longer, or ever shorter.
struct Fold {
  std::size_t axis = 0;
  bool grows = true;
};

/// Cycles of products in a round up to which the rest of a warpgroup's instructions is what counts.
constexpr std::int64_t shortRound = 512;

struct LaunchPlan {
  std::string kernel;               ///< the function; empty: whichever the schedule is given to
  std::string name;                 ///< launch.name, or the function's if that is empty
  std::optional<ir::Raster> raster; ///< none: nobody said
  std::string rasterReason;
  /// Blocks that a multiprocessor is to hold, which limits the registers of a thread and allows as
  /// many; 0: unsaid.
  std::int64_t minBlocks = 0;
  std::string minBlocksReason;
  std::vector<LoopPlan> loops;
  std::vector<GemmPlan> gemms;
  std::vector<StorePlan> stores;
  /// Blocks of a cluster along the first two grid dimensions; none: nobody said.
  std::optional<std::array<std::int64_t, 2>> cluster;
  std::string clusterReason;
  /// How many of the program's blocks one does, along each grid dimension (widen-tiles).
  std::array<std::int64_t, 3> tiles = {1, 1, 1};
  std::string tilesReason;
  /// Blocks of a cluster that the tiles of one are shared out to (spread-tiles); 0: nobody said, 1:
  /// not.
  std::int64_t spread = 0;
  std::string spreadReason;
  /// Blocks of a cluster that may share the sums of one tile (split-sums), a power of two; 0: it is
  /// no such launch.
  std::int64_t parts = 0;
  std::string partsReason;
  /// Tensors that the launch reads in the workspace, where launches before it copy their rows
  /// (PackedRows.h).
  std::vector<std::string> packed;
  std::string packedReason;
  /// None: nobody decided, which means no.
  std::optional<bool> persistent, specialize;
  /// Whether products stay in flight until something needs them; none: where that is possible.
  std::optional<bool> inFlight;
  bool split =
      false; ///< if specialised: the threads that compute have two sides (SplitConsumers.h)
  std::int64_t handoverBytes = 0; ///< if split: shared memory of what goes over; not printed
  bool loadsOnce = false; ///< if specialised: a producer loads something once a tile; not printed
  std::int64_t tileStages = 1; ///< if persistent: versions of what is loaded once a tile
  std::optional<Fold> fold;    ///< if persistent: tiles of unequal length
  bool joined = false; ///< if persistent: a tile's last product runs beside the next one's first
  bool joins = false;  ///< the planner wants that where tiles have the form; not printed
  bool alternates = false; ///< if persistent: two warpgroups take tiles in turns
  /// Of two products in a round: what a warpgroup multiplies, in cycles of the tensor cores for
  /// halves; 0: not known, or other products. Not printed.
  std::int64_t productCycles = 0;
  /// If persistent: blocks next to each other along this grid dimension may form clusters of two
  /// that load once what they have in common; whether they do depends on the sizes of the call.
  std::optional<std::size_t> sharedAxis;
  std::string persistentReason, specializeReason, inFlightReason;
};

struct Schedule {
  std::vector<LaunchPlan> launches;
  bool given = false; ///< came from a file: binding as a whole

  /// What it has of a launch of that name; null: nothing.
  const LaunchPlan *find(std::string_view name) const;
  /// Null if nothing was planned for it. Launches are matched by position.
  LaunchPlan *launch(std::size_t index) {
    return index < launches.size() ? &launches[index] : nullptr;
  }
};

/// The launches of one function.
Schedule scheduleFor(const Schedule &all, std::string_view kernel);

/// How many stores from `first` on go to one tensor, all stored or all added.
std::size_t storesInARow(const std::vector<StorePlan> &stores, std::size_t first);

std::string printSchedule(const Schedule &schedule);

struct ScheduleError {
  unsigned line = 0; ///< from 1
  std::string message;
};
/// Reads what printSchedule writes. On a fault returns nothing and fills `error`.
std::optional<Schedule> parseSchedule(std::string_view text, ScheduleError &error);

} // namespace tlc::passes
