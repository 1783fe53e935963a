// Host interface: memory, attributes, launches, the tensor-map encoder.
#include <chrono>
#include <cstdio>

#include "cuda.h"
#include "cuda_runtime.h"
#include "engine.h"
#include "tensor_map.h"

namespace emu {
void load(void *out, const void *p, size_t bytes, bool nc, Site s) {
  settle_equal_store();
  const u32 pc = site_pc(s);
  if (Address(p) % bytes)
    report("misaligned",
           format("read of %zu bytes at %s: ", bytes, describe(Address(p)).c_str()) + where(pc),
           pc);
  count_access(current, Address(p), bytes, false, pc);
  access(thread_actor(current), Address(p), bytes, false, pc, nc);
  write_registers(out, bytes, pc);
  std::memcpy(out, p, bytes);
}
void store(void *p, const void *in, size_t bytes, Site s) {
  const u32 pc = site_pc(s);
  if (Address(p) % bytes)
    report("misaligned",
           format("write of %zu bytes at %s: ", bytes, describe(Address(p)).c_str()) + where(pc),
           pc);
  if (!device_address(Address(p))) {
    report("out-of-bounds", "write outside device memory: " + where(pc), pc);
    abandon();
  }
  generic_access(Address(p), bytes, true, pc);
  read_registers(in, bytes, pc);
  std::memcpy(p, in, bytes);
}
void load_shared(void *out, u32 shared, size_t bytes, Site s) {
  const u32 pc = site_pc(s);
  const Address a = shared_to_generic(shared);
  if (a % bytes)
    report("misaligned",
           format("read of %zu bytes at %s: ", bytes, describe(a).c_str()) + where(pc), pc);
  generic_access(a, bytes, false, pc);
  write_registers(out, bytes, pc);
  std::memcpy(out, reinterpret_cast<void *>(a), bytes);
}
void store_shared(u32 shared, const void *in, size_t bytes, Site s) {
  const u32 pc = site_pc(s);
  const Address a = shared_to_generic(shared);
  if (a % bytes)
    report("misaligned",
           format("write of %zu bytes at %s: ", bytes, describe(a).c_str()) + where(pc), pc);
  generic_access(a, bytes, true, pc);
  read_registers(in, bytes, pc);
  std::memcpy(reinterpret_cast<void *>(a), in, bytes);
}
} // namespace emu

using namespace emu;
static cudaError_t last_error;
cudaError_t cudaMalloc(void **p, size_t bytes) {
  ensure_maps();
  static Address next = kGlobalBase + (1 << 20);
  if (next + bytes + (1 << 20) > kGlobalBase + kGlobalSize)
    return cudaErrorMemoryAllocation;
  *p = reinterpret_cast<void *>(next);
  allocations().push_back({next, next + bytes});
  fill_state(next, bytes, 0);
  next = (next + bytes + 4096 + 255) & ~Address(255); // a gap on each side catches strays
  return cudaSuccess;
}
void emu_name(const void *p, const char *name) {
  for (Allocation &a : allocations())
    if (a.lo == Address(p))
      a.name = name;
}
cudaError_t cudaFree(void *p) {
  finish_launches();
  auto &v = allocations();
  for (size_t i = 0; i < v.size(); ++i)
    if (v[i].lo == Address(p))
      return v.erase(v.begin() + ptrdiff_t(i)), cudaSuccess;
  return p ? cudaErrorInvalidValue : cudaSuccess;
}
/// Whether all of it lies in one allocation, or is the host's.
static bool allocated(const void *p, size_t bytes) {
  const Address at = Address(p);
  if (!bytes || !device_address(at))
    return true;
  return std::any_of(allocations().begin(), allocations().end(),
                     [=](const Allocation &a) { return at >= a.lo && at + bytes <= a.hi; });
}
cudaError_t cudaMemcpy(void *d, const void *s, size_t bytes, cudaMemcpyKind) {
  finish_launches();
  if (!allocated(d, bytes) || !allocated(s, bytes))
    return cudaErrorInvalidValue;
  std::memcpy(d, s, bytes);
  if (device_address(Address(d)))
    fill_state(Address(d), bytes, kInitialised);
  return cudaSuccess;
}
cudaError_t cudaMemset(void *d, int v, size_t bytes) {
  finish_launches();
  if (!allocated(d, bytes))
    return cudaErrorInvalidValue;
  std::memset(d, v, bytes);
  fill_state(Address(d), bytes, kInitialised);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *d) { return *d = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int d) { return d ? cudaErrorInvalidDevice : cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *n) { return *n = 1, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int device) {
  ensure_maps();
  if (device)
    return cudaErrorInvalidDevice;
  switch (a) {
  case cudaDevAttrMultiProcessorCount:
    *v = settings.sms;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *v = shared_limit();
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *v = settings.architecture / 10;
    break;
  case cudaDevAttrComputeCapabilityMinor:
    *v = settings.architecture % 10;
    break;
  default:
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  finish_launches();
  return last_error;
}
cudaError_t cudaGetLastError() {
  const cudaError_t e = last_error;
  return last_error = cudaSuccess, e;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
  case cudaSuccess:
    return "no error";
  case cudaErrorInvalidValue:
    return "invalid value";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorInvalidDevice:
    return "there is one emulated device";
  case cudaErrorLaunchFailure:
    return "the emulator reported errors";
  case cudaErrorInvalidConfiguration:
    return "no device starts such grids or blocks";
  case cudaErrorCooperativeLaunchTooLarge:
    return "too many blocks for a cooperative launch";
  case cudaErrorNotSupported:
    return "the device has no clusters";
  case cudaErrorInvalidClusterSize:
    return "clusters too large, or not a part of the grid";
  }
  return "unknown error";
}
struct emu_event {
  std::chrono::steady_clock::time_point at;
};
cudaError_t cudaEventCreate(cudaEvent_t *e) { return *e = new emu_event, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t) {
  return e->at = std::chrono::steady_clock::now(), cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  return *ms = std::chrono::duration<float, std::milli>(to->at - from->at).count(), cudaSuccess;
}
unsigned __fns(unsigned mask, unsigned base, int n) {
  if (n == 0)
    return mask >> base & 1 ? base : ~0u;
  int left = n > 0 ? n : -n;
  for (int at = int(base); at >= 0 && at<32; at += n> 0 ? 1 : -1)
    if ((mask >> at & 1) && --left == 0)
      return unsigned(at);
  return ~0u;
}
cudaError_t emu_launch(const cudaLaunchConfig_t *c, const void *kernel,
                       const std::function<void()> &body) {
  Launch l;
  l.grid = {c->gridDim.x, c->gridDim.y, c->gridDim.z};
  l.block = {c->blockDim.x, c->blockDim.y, c->blockDim.z};
  l.shared = c->dynamicSmemBytes, l.kernel = kernel;
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
      l.cluster = {c->attrs[i].val.clusterDim.x, c->attrs[i].val.clusterDim.y,
                   c->attrs[i].val.clusterDim.z};
    if (c->attrs[i].id == cudaLaunchAttributeCooperative)
      l.cooperative = c->attrs[i].val.cooperative != 0;
    if (c->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization)
      l.dependent = c->attrs[i].val.programmaticStreamSerializationAllowed != 0;
  }
  if (const cudaError_t error = launch_error(l))
    return last_error = error;
  if (const int error = launch(l, body))
    last_error = cudaError_t(error);
  else if (!settings.keep_going)
    last_error = cudaSuccess;
  // Else the host goes on, and hears of it when it waits.
  return settings.keep_going && last_error == cudaErrorLaunchFailure ? cudaSuccess : last_error;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **f, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *found) {
  *f = !std::strcmp(name, "cuTensorMapEncodeTiled")
           ? reinterpret_cast<void *>(&cuTensorMapEncodeTiled)
       : !std::strcmp(name, "cuTensorMapEncodeIm2col")
           ? reinterpret_cast<void *>(&cuTensorMapEncodeIm2col)
           : nullptr;
  if (found)
    *found = cudaDriverEntryPointSuccess;
  return *f ? cudaSuccess : cudaErrorInvalidValue;
}

// ---- tensor maps: the driver's rules (CUDA driver interface, "Tensor Map Object Management") ----
namespace {
struct Tensor {
  CUtensorMapDataType type;
  u32 rank;
  void *base;
  const cuuint64_t *dims, *strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapFloatOOBfill fill;
};
constexpr int kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, /*a pair of 4 bits*/ 1};
/// What both kinds of map share; why not, or null.
const char *fill_in(TensorMap &m, const Tensor &t) {
  if (u32(t.type) >= std::size(kElementBytes))
    return "elements of this type are not emulated";
  m.packed = t.type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
  if (m.packed && (settings.architecture < 100 || t.dims[0] % 2))
    return "rows of 4-bit elements are whole bytes, and no device before sm_100 has them";
  const u32 slice = t.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE  ? 0
                    : t.interleave == CU_TENSOR_MAP_INTERLEAVE_16B ? 16
                                                                   : 32;
  if (t.rank < (slice ? 3 : 1) || t.rank > 5)
    return slice ? "rank outside 3..5" : "rank outside 1..5";
  const u32 multiple = std::max(slice, 16u);
  if (Address(t.base) % multiple)
    return "base not aligned to 16 bytes, or to a slice of 32";
  if (slice == 32 && t.swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
    return "slices of 32 bytes without their swizzle";
  for (u32 i = 0; i < t.rank; ++i) {
    if (t.dims[i] < 1 || t.dims[i] > 1ull << 32)
      return "dimension outside 1..2^32";
    m.dims[i] = u32(std::min<u64>(i == 0 ? t.dims[i] >> m.packed : t.dims[i], 0xffffffff));
    if (i && (t.strides[i - 1] % multiple || t.strides[i - 1] >= 1ull << 40))
      return "stride not a multiple of 16 bytes, or of a slice, below 2^40";
    if (i)
      m.strides[i - 1] = t.strides[i - 1];
  }
  m.base = Address(t.base), m.magic = kTensorMapMagic, m.rank = u8(t.rank), m.type = u8(t.type);
  m.element_bytes = u8(slice ? slice : u32(kElementBytes[t.type])), m.swizzle = u8(t.swizzle),
  m.nan_fill = u8(t.fill);
  return nullptr;
}
const char *fill_in_box(TensorMap &m, u32 i, u32 size, u32 most) {
  if (size < 1 || size > most)
    return "box outside its limits";
  if (i == 0 && m.packed && size % 2)
    return "inner box not a multiple of 16 bytes";
  size >>= i == 0 ? m.packed : 0;
  m.box[i] = u16(size);
  const u32 bytes = size * u32(kElementBytes[m.type]); // also where the dimension counts slices
  if (i == 0 && bytes % 16)
    return "inner box not a multiple of 16 bytes";
  if (i == 0 && m.element_bytes < 16 && m.swizzle && bytes > 16u << m.swizzle)
    return "inner box wider than the swizzle";
  return nullptr;
}
/// Steps between elements. The innermost dimension has none, unless it counts slices.
const char *fill_in_step(TensorMap &m, u32 i, u32 step) {
  m.step[i] = u8(i == 0 && m.element_bytes < 16 ? 1 : step);
  return step < 1 || step > 8 ? "element stride outside 1..8" : nullptr;
}
CUresult finish(CUtensorMap *map, const TensorMap &m, const char *why) {
  if (why) {
    std::fprintf(stderr, "emu: tensor map refused: %s\n", why);
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &m, sizeof m);
  return CUDA_SUCCESS;
}
} // namespace
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *dims, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  TensorMap m{};
  const char *why = fill_in(m, {type, rank, base, dims, strides, interleave, swizzle, fill});
  for (u32 i = 0; i < rank && !why; ++i) {
    why = fill_in_box(m, i, box[i], 256);
    if (!why)
      why = fill_in_step(m, i, element_strides[i]);
  }
  return finish(map, m, why);
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                 void *base, const cuuint64_t *dims, const cuuint64_t *strides,
                                 const int *lower, const int *upper, cuuint32_t channels,
                                 cuuint32_t pixels, const cuuint32_t *element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  TensorMap m{};
  const char *why = rank < 3
                        ? "rank outside 3..5"
                        : fill_in(m, {type, rank, base, dims, strides, interleave, swizzle, fill});
  if (!why)
    why = fill_in_box(m, 0, channels, 256);
  if (!why)
    why = fill_in_box(m, 1, pixels, 1024);
  // Corners have 16, 8 or 5 bits by rank.
  const int most = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
  m.im2col = 1;
  for (u32 i = 0; i < rank && !why; ++i) {
    why = fill_in_step(m, i, element_strides[i]);
    if (i + 2 >= rank)
      continue;
    if (lower[i] < -most || lower[i] >= most || upper[i] < -most || upper[i] >= most)
      why = "corner outside its limits";
    m.lower[i] = int16_t(lower[i]), m.upper[i] = int16_t(upper[i]);
  }
  return finish(map, m, why);
}
