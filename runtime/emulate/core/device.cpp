// The device that is played: which instructions it has, and which launches it takes.
#include "cuda_runtime.h"
#include "engine.h"

namespace emu {
void require_architecture(int least, const char *what, Site s) {
  if (settings.gfx || settings.architecture >= least)
    return;
  const u32 pc = site_pc(s);
  report("device", format("sm_%d has no %s: ", settings.architecture, what) + where(pc), pc);
  abandon();
}
void require_hopper(const char *what, Site s) {
  if (settings.gfx || settings.architecture == 90)
    return;
  const u32 pc = site_pc(s);
  report("device",
         format("sm_%d has no %s, only sm_90a has: ", settings.architecture, what) + where(pc), pc);
  abandon();
}

namespace {
struct Multiprocessor {
  int threads, blocks, shared; // KiB, of which one block may have one less
};
Multiprocessor multiprocessor() { // CUDA programming guide, "Compute Capabilities"
  switch (settings.architecture) {
  case 75:
    return {1024, 16, 64};
  case 80:
  case 87:
    return {2048, 32, 164};
  case 86:
    return {1536, 16, 100};
  case 89:
    return {1536, 24, 100};
  case 120:
  case 121:
    return {1536, 24, 100};
  default:
    return {2048, 32, 228};
  }
}
/// How many of these blocks are resident at most: their registers are not known.
u64 resident_blocks(const Launch &l, u32 threads) {
  const Multiprocessor m = multiprocessor();
  const u64 warps = (threads + 31) / 32, system = settings.architecture >= 80 ? 1024 : 0;
  const u64 by_threads = u64(m.threads) / (warps * 32);
  const u64 by_shared = (u64(m.shared) << 10) / std::max<u64>(l.shared + system, 1);
  return u64(settings.sms) * std::min({by_threads, by_shared, u64(m.blocks)});
}
struct Allowed { // what the host has asked for on behalf of a kernel
  size_t shared = 48 << 10;
  bool large_clusters = false;
};
std::map<const void *, Allowed> &allowed() {
  static std::map<const void *, Allowed> of;
  return of;
}
} // namespace

int shared_limit() { // bytes that one block may have
  return (multiprocessor().shared - (settings.architecture == 75 ? 0 : 1)) << 10;
}
void allow(const void *kernel, cudaFuncAttribute what, int value) {
  Allowed &of = allowed()[kernel];
  if (what == cudaFuncAttributeMaxDynamicSharedMemorySize)
    of.shared = std::max<size_t>(of.shared, size_t(value));
  else
    of.large_clusters = value != 0;
}
cudaError_t launch_error(const Launch &l) {
  ensure_maps();
  const u32 threads = l.block.x * l.block.y * l.block.z;
  const u64 blocks = u64(l.grid.x) * l.grid.y * l.grid.z;
  const u32 cluster = l.cluster.x * l.cluster.y * l.cluster.z;
  if (!threads || threads > 1024 || l.block.z > 64 || !blocks || l.grid.x > 0x7fffffff ||
      l.grid.y > 65535 || l.grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  if (settings.gfx)
    return cudaSuccess;
  const Allowed of = allowed()[l.kernel];
  if (l.shared > of.shared || l.shared > size_t(shared_limit()))
    return cudaErrorInvalidValue;
  if (cluster > 1 && settings.architecture < 90)
    return cudaErrorNotSupported;
  if (cluster > (of.large_clusters ? 16 : 8) || l.grid.x % l.cluster.x || l.grid.y % l.cluster.y ||
      l.grid.z % l.cluster.z)
    return cudaErrorInvalidClusterSize;
  if (l.cooperative && blocks > resident_blocks(l, threads))
    return cudaErrorCooperativeLaunchTooLarge;
  return cudaSuccess;
}
} // namespace emu
