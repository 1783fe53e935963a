// The table of targets. Numbers are those of the vendors' programming guides.
#include "target/Target.h"

#include <algorithm>
#include <iterator>

namespace tlc {

namespace {

constexpr std::int64_t KiB = 1024;

struct FeatureText {
  std::string_view name, summary;
};
constexpr FeatureText featureTexts[] = {
#define TLC_FEATURE(NAME, TEXT) {#NAME, TEXT},
#include "target/Feature.def"
};

const FeatureSet volta{Feature::NamedBarrier, Feature::F16Atomics, Feature::CooperativeLaunch};
const FeatureSet turing = volta | FeatureSet{Feature::LdMatrix};
const FeatureSet ampere = turing | FeatureSet{Feature::CpAsync, Feature::MBarrier, Feature::BF16,
                                              Feature::BF16Atomics, Feature::WarpReduce};
/// What sm_90 code may use and later architectures keep.
const FeatureSet hopperGeneric =
    ampere |
    FeatureSet{Feature::StMatrix, Feature::MBarrierTx,    Feature::BulkCopy,       Feature::Tma,
               Feature::Cluster,  Feature::VectorAtomics, Feature::DependentLaunch};
const FeatureSet hopper = hopperGeneric | FeatureSet{Feature::Wgmma, Feature::SetMaxRegisters};

struct SmSizes {
  std::int64_t sharedOptIn, sharedPerSm;
  int threadsPerSm, blocksPerSm;
};

Target sm(std::string name, int architecture, std::string summary, FeatureSet features,
          SmSizes sizes, const std::string &code) {
  Target t;
  t.name = std::move(name);
  t.family = Family::Cuda;
  t.architecture = architecture;
  t.summary = std::move(summary);
  t.features = features;
  t.limits.sharedPerBlock = 48 * KiB;
  t.limits.sharedPerBlockOptIn = sizes.sharedOptIn;
  t.limits.sharedPerSm = sizes.sharedPerSm;
  t.limits.sharedReserved = architecture >= 80 ? KiB : 0;
  t.limits.registersPerThread = 255;
  t.limits.registersPerSm = 64 * 1024;
  t.limits.threadsPerSm = sizes.threadsPerSm;
  t.limits.blocksPerSm = sizes.blocksPerSm;
  t.limits.maxCluster = features.has(Feature::Cluster) ? 8 : 1;
  t.flags = {"-gencode=arch=compute_" + code + ",code=sm_" + code};
  return t;
}

Target gfx(int architecture, const std::string &name, std::string summary, int wave) {
  Target t;
  t.name = "gfx" + name;
  t.family = Family::Hip;
  t.architecture = architecture;
  t.summary = std::move(summary);
  t.missing = "not yet: the HIP runtime functions and matrix instructions are still to be written";
  t.features = {Feature::CooperativeLaunch, Feature::BF16};
  t.limits.sharedPerBlock = t.limits.sharedPerBlockOptIn = t.limits.sharedPerSm =
      (name == "950" ? 160 : 64) * KiB;
  t.limits.registersPerThread = wave == 64 ? 512 : 256;
  t.limits.registersPerSm = 128 * 1024;
  t.limits.threadsPerSm = wave == 64 ? 2048 : 1024;
  t.limits.blocksPerSm = 32;
  t.limits.warp = wave;
  t.flags = {"--offload-arch=gfx" + name};
  return t;
}

Target cpu(std::string name, std::string summary, VectorUnit vector,
           std::vector<std::string> flags) {
  Target t;
  t.name = std::move(name);
  t.family = Family::Cpu;
  t.summary = std::move(summary);
  t.vector = vector;
  // A block's arena lives in one core's cache; more works, slowly.
  t.limits.sharedPerBlock = t.limits.sharedPerBlockOptIn = 64 * 1024 * KiB;
  t.limits.warp = 1;
  t.limits.maxVectorBytes = std::max(8, vector.bits / 8);
  t.limits.namedBarriers = 0;
  t.flags = std::move(flags);
  return t;
}

std::vector<Target> makeTargets() {
  std::vector<Target> all;
  all.push_back(sm("sm70", 70, "Volta (V100)", volta, {96 * KiB, 96 * KiB, 2048, 32}, "70"));
  all.back().missing = "not yet: its matrix instructions and barriers differ from all later ones";
  all.push_back(
      sm("sm75", 75, "Turing (T4, RTX 20)", turing, {64 * KiB, 64 * KiB, 1024, 16}, "75"));
  all.push_back(sm("sm80", 80, "Ampere (A100)", ampere, {163 * KiB, 164 * KiB, 2048, 32}, "80"));
  all.push_back(
      sm("sm86", 86, "Ampere (A10, RTX 30)", ampere, {99 * KiB, 100 * KiB, 1536, 16}, "86"));
  all.push_back(
      sm("sm89", 89, "Ada (L4, L40, RTX 40)", ampere, {99 * KiB, 100 * KiB, 1536, 24}, "89"));
  all.push_back(sm("sm90", 90, "Hopper (H100, H200), with its own instructions", hopper,
                   {227 * KiB, 228 * KiB, 2048, 32}, "90a"));
  all.push_back(sm("sm90-generic", 90, "Hopper, instructions that later machines keep",
                   hopperGeneric, {227 * KiB, 228 * KiB, 2048, 32}, "90"));
  all.push_back(sm("sm100", 100, "Blackwell (B200), without tensor memory", hopperGeneric,
                   {227 * KiB, 228 * KiB, 2048, 32}, "100"));
  all.push_back(sm("sm120", 120, "Blackwell (RTX 50)", hopperGeneric,
                   {99 * KiB, 100 * KiB, 1536, 24}, "120"));
  all.push_back(gfx(908, "908", "CDNA 1 (MI100)", 64));
  all.push_back(gfx(910, "90a", "CDNA 2 (MI200)", 64));
  all.push_back(gfx(942, "942", "CDNA 3 (MI300)", 64));
  all.push_back(gfx(950, "950", "CDNA 4 (MI350)", 64));
  all.push_back(gfx(1100, "1100", "RDNA 3 (RX 7900)", 32));
  all.push_back(gfx(1201, "1201", "RDNA 4 (RX 9070)", 32));
  all.push_back(cpu("cpu", "portable C++", {128, 16, 64, 32 * KiB, 512 * KiB, false}, {}));
  all.push_back(cpu("cpu-avx2", "x86-64 with AVX2 and FMA",
                    {256, 16, 64, 32 * KiB, 512 * KiB, true}, {"-mavx2", "-mfma", "-mf16c"}));
  all.push_back(cpu("cpu-avx512", "x86-64 with AVX-512", {512, 32, 64, 32 * KiB, 1024 * KiB, true},
                    {"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c"}));
  all.push_back(
      cpu("cpu-neon", "AArch64 with NEON", {128, 32, 64, 64 * KiB, 1024 * KiB, true}, {}));
  return all;
}

} // namespace

std::string_view featureName(Feature feature) {
  return featureTexts[static_cast<std::size_t>(feature)].name;
}

std::string_view featureSummary(Feature feature) {
  return featureTexts[static_cast<std::size_t>(feature)].summary;
}

SharedMemory Target::sharedMemory() const {
  SharedMemory memory;
  memory.laneBasis.clear();
  for (Index lane = 1; lane < limits.warp; lane *= 2)
    memory.laneBasis.push_back(lane);
  if (family == Family::Hip && limits.warp == 64)
    memory.laneBasis = {1, 2, 20, 4, 8, 32}; // the order in which CDNA serves 16-byte reads
  memory.vectorBytes = limits.maxVectorBytes;
  return memory;
}

int Target::registerBudget(int threads, int blocks) const {
  if (!isGpu() || threads <= 0 || blocks <= 0)
    return limits.registersPerThread;
  int warps = (threads + limits.warp - 1) / limits.warp;
  int each = limits.registersPerSm / (warps * limits.warp * blocks);
  each -= each % limits.registerGranule;
  return std::min(each, limits.registersPerThread);
}

std::span<const Target> allTargets() {
  static const std::vector<Target> all = makeTargets();
  return all;
}

const Target *findTarget(std::string_view name) {
  for (const Target &t : allTargets())
    if (t.name == name)
      return &t;
  return nullptr;
}

std::string supportedTargetNames() {
  std::string names;
  for (const Target &t : allTargets())
    if (t.supported())
      names += (names.empty() ? "" : ", ") + t.name;
  return names;
}

} // namespace tlc
