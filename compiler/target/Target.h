// Machines as data: what a target has, how much of it, and what things cost there. Nothing here
// knows the IR.
#pragma once

#include "layout/Analysis.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tlc {

enum class Family : std::uint8_t { Cuda, Hip, Cpu };

enum class Feature : std::uint8_t {
#define TLC_FEATURE(NAME, TEXT) NAME,
#include "target/Feature.def"
};
std::string_view featureName(Feature feature);
/// One line for people.
std::string_view featureSummary(Feature feature);

class FeatureSet {
public:
  constexpr FeatureSet() = default;
  constexpr FeatureSet(std::initializer_list<Feature> features) {
    for (Feature f : features)
      bits |= std::uint64_t{1} << static_cast<unsigned>(f);
  }
  constexpr bool has(Feature f) const { return bits >> static_cast<unsigned>(f) & 1; }
  constexpr FeatureSet operator|(FeatureSet other) const {
    other.bits |= bits;
    return other;
  }
  constexpr FeatureSet without(Feature f) const {
    FeatureSet out = *this;
    out.bits &= ~(std::uint64_t{1} << static_cast<unsigned>(f));
    return out;
  }

private:
  std::uint64_t bits = 0;
};

/// Costs in issue slots of one quarter of an SM (on CPUs: of one core's vector unit). The order of
/// magnitude is what matters; README.md explains them.
struct CostWeights {
  double instruction = 1;        ///< any vector or scalar instruction of a warp
  double globalSector = 0.5;     ///< 32 bytes touched by a warp's access
  double globalLine = 1;         ///< 128-byte line touched by a warp's access
  double partialStoreSector = 1; ///< added for a sector that a store fills only in part
  double sharedWavefront = 1;    ///< 128 bytes through shared memory
  double shuffle = 2;
  double laneSelect = 1; ///< a register choice that depends on the lane
  double barrier = 24;
  double registerOverBudget = 4; ///< per access of a register beyond the budget
  double unknownTrips = 16;      ///< assumed trips of a loop without constant bounds
};

/// Machine numbers. Bytes unless said otherwise; 0 where the notion does not exist.
struct Limits {
  std::int64_t sharedPerBlock = 0;      ///< without opting in
  std::int64_t sharedPerBlockOptIn = 0; ///< the most a launch may ask for
  std::int64_t sharedPerSm = 0;
  std::int64_t sharedReserved = 0; ///< taken by the system per block, counts against sharedPerSm
  int registersPerThread = 0;      ///< 32-bit registers
  int registersPerSm = 0;
  int registerGranule = 8;
  int threadsPerBlock = 1024;
  int threadsPerSm = 0;
  int blocksPerSm = 0;
  int warp = 32;
  int warpsPerGroup = 4;   ///< warps that issue one warpgroup instruction
  int maxCluster = 1;      ///< portable cluster size
  int maxVectorBytes = 16; ///< of one memory instruction of a thread
  int namedBarriers = 16;

  /// Threads of a warpgroup.
  std::int64_t groupThreads() const { return std::int64_t{warp} * warpsPerGroup; }
};

/// What a register-blocked loop on a CPU can count on.
struct VectorUnit {
  int bits = 0;      ///< 0: no vectors, plain loops
  int registers = 0; ///< vector registers
  int cacheLine = 64;
  std::int64_t l1 = 32 << 10, l2 = 1 << 20; ///< bytes per core that blocking may assume
  bool fusedMultiplyAdd = false;
};

struct Target {
  std::string name;
  Family family = Family::Cpu;
  int architecture = 0; ///< 80 for sm80, 942 for gfx942, 0 for CPUs
  /// Empty if kernels can be built for it; else what is missing, for people.
  std::string missing;
  std::string summary; ///< one line for the list of targets
  FeatureSet features;
  Limits limits;
  VectorUnit vector;
  CostWeights cost;
  /// Downstream compiler flags that select the machine.
  std::vector<std::string> flags;

  bool supported() const { return missing.empty(); }
  bool has(Feature f) const { return features.has(f); }
  bool isGpu() const { return family != Family::Cpu; }
  bool isCuda() const { return family == Family::Cuda; }
  /// Shared memory as the bank analysis wants it.
  SharedMemory sharedMemory() const;
  /// Threads over which a tile op of a block with `blockThreads` threads is spread: all of them on
  /// a GPU, one on a CPU, where a block is one task.
  Index collectiveThreads(Index blockThreads) const { return isGpu() ? blockThreads : 1; }
  /// Registers that a thread may use if `threads` threads are to be resident on an SM `blocks`
  /// times.
  int registerBudget(int threads, int blocks = 1) const;
};

/// All targets in the order in which they are listed.
std::span<const Target> allTargets();
/// Null if there is none of this name.
const Target *findTarget(std::string_view name);
/// "sm75, sm80, ...": the names that can be built for.
std::string supportedTargetNames();

} // namespace tlc
