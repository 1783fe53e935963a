// Tensor maps with steps between elements and with interleaved channels; reductions of every kind.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// As in hopper.h, with what tlc's own maps never have.
struct Extra {
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  uint32_t steps[5] = {1, 1, 1, 1, 1};
};
bool makeMap(CUtensorMap *map, CUtensorMapDataType type, unsigned rank, const void *base, const uint64_t *dims,
             const uint64_t *strides, const uint32_t *box, const Extra &extra) {
  using encode = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                              const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  const auto encoder = tlc::tensor_map_encoder<encode>("cuTensorMapEncodeTiled");
  return encoder && encoder(map, type, rank, const_cast<void *>(base), dims, strides, box, extra.steps, extra.interleave,
                            extra.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// ---- every third row, every second plane: a box is as large as what it spans

constexpr int columns = 20, rows = 17, planes = 6, boxColumns = 8, boxRows = 8, boxPlanes = 4, rowStep = 3, planeStep = 2;
constexpr int keptRows = (boxRows + rowStep - 1) / rowStep, keptPlanes = boxPlanes / planeStep, kept = boxColumns * keptRows * keptPlanes;

enum Steps { stepsClean, stepsWholeBox, stepsPast, stepsNotFenced };

template <int Fault>
__global__ void __launch_bounds__(32) every_third(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                                                  float *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  float *const tile = reinterpret_cast<float *>(arena + (Fault == stepsPast ? 1024 : 0));
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 1024);
  const int lane = int(threadIdx.x);
  if (lane == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    tlc::mbarrier_arrive_expect_tx(full, 4 * (Fault == stepsWholeBox ? boxColumns * boxRows * boxPlanes : kept)); // mark: expect
    tlc::tma_load_3d(tile, &from, full, -4, 10, 1); // mark: load
  }
  __syncwarp();
  tlc::mbarrier_wait(full, 0); // mark: wait
  for (int i = lane; i < kept; i += 32) {
    Y[i] = tile[i];
    tile[i] += 1000; // mark: change
  }
  if (Fault != stepsNotFenced)
    tlc::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
    tlc::tma_store_3d(&to, tile, 4, 2, 0); // mark: store
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
}
template <int Fault> bool stepped() {
  const int count = columns * rows * planes;
  std::vector<float> x(size_t(count), 0), z(size_t(count), -7);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i + 1);
  float *y = reserve<float>(kept), *to = upload(z);
  const uint64_t dims[] = {columns, rows, planes}, strides[] = {columns * 4, columns * rows * 4};
  const uint32_t box[] = {boxColumns, boxRows, boxPlanes};
  Extra extra;
  extra.steps[0] = 5; // of the innermost dimension none is looked at
  extra.steps[1] = rowStep, extra.steps[2] = planeStep;
  CUtensorMap load = {}, store = {};
  if (!makeMap(&load, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, upload(x), dims, strides, box, extra) ||
      !makeMap(&store, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, to, dims, strides, box, extra) ||
      !start(every_third<Fault>, {1, 32, 1024 + 8}, load, store, y))
    return false;
  const auto result = download(y, kept), stored = download(to, size_t(count));
  for (int i = 0; i < kept; ++i) {
    const int c = i % boxColumns - 4, r = 10 + i / boxColumns % keptRows * rowStep, p = 1 + i / (boxColumns * keptRows) * planeStep;
    const bool inside = c >= 0 && r < rows && p < planes;
    const float value = inside ? x[size_t((p * rows + r) * columns + c)] : 0;
    if (result[size_t(i)] != value)
      return false;
    // Stored with the same steps, elsewhere.
    const int at = ((p - 1) * rows + 2 + r - 10) * columns + 8 + c;
    if (stored[size_t(at)] != value + 1000)
      return false;
  }
  int touched = 0;
  for (float v : stored)
    touched += v != -7;
  return touched == kept;
}
bool stepRefused() {
  const uint64_t dims[] = {columns, rows}, strides[] = {columns * 4};
  const uint32_t box[] = {boxColumns, boxRows};
  Extra extra;
  extra.steps[1] = 9;
  CUtensorMap map = {};
  return !makeMap(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reserve<float>(columns * rows), dims, strides, box, extra);
}

// ---- channels in slices: [image][slice][row][column][8 or 16 channels]; a box has one slice, whatever it says

constexpr int imageWide = 5, imageHigh = 4, slices = 3, pixelsWide = 8, pixelsHigh = 3, slicesTaken = 1;

enum Slices { slicesClean, slicesMisaligned, slicesAsChannels, slicesPast };

template <int Bytes, int Fault>
__global__ void __launch_bounds__(32) take_slices(const __grid_constant__ CUtensorMap map, uint16_t *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  constexpr int bytes = pixelsWide * pixelsHigh * slicesTaken * Bytes;
  unsigned char *const tile = arena + (Fault == slicesMisaligned ? 16 : Fault == slicesPast ? 1024 : 0);
  uint64_t *const full = reinterpret_cast<uint64_t *>(arena + 1024);
  const int lane = int(threadIdx.x);
  if (lane == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    tlc::mbarrier_arrive_expect_tx(full, Fault == slicesAsChannels ? bytes / Bytes * 2 : bytes); // mark: expect
    tlc::tma_load_4d(tile, &map, full, 2, -1, 1, 1); // mark: load
  }
  __syncwarp();
  tlc::mbarrier_wait(full, 0); // mark: wait
  for (int i = lane; i < bytes / 2; i += 32)
    Y[i] = reinterpret_cast<const uint16_t *>(tile)[i];
}
template <int Bytes, int Swizzle, int Fault> bool sliced() {
  constexpr int channels = Bytes / 2, images = 2, count = channels * imageWide * imageHigh * slices * images;
  std::vector<uint16_t> x(count);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint16_t(i + 1);
  constexpr int taken = pixelsWide * pixelsHigh * slicesTaken * channels;
  uint16_t *y = reserve<uint16_t>(taken);
  const uint64_t dims[] = {imageWide, imageHigh, slices, images}, row = imageWide * Bytes, strides[] = {row, row * imageHigh, row * imageHigh * slices};
  const uint32_t box[] = {pixelsWide, pixelsHigh, 2, 1};
  Extra extra;
  extra.interleave = Bytes == 32 ? CU_TENSOR_MAP_INTERLEAVE_32B : CU_TENSOR_MAP_INTERLEAVE_16B;
  extra.swizzle = tlc::tensor_map_swizzle(Swizzle);
  CUtensorMap map = {};
  if (!makeMap(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 4, upload(x), dims, strides, box, extra) ||
      !start(take_slices<Bytes, Fault>, {1, 32, 1024 + 8}, map, y))
    return false;
  const auto result = download(y, taken);
  for (int i = 0; i < taken; ++i) {
    const int pixel = i / channels, w = 2 + pixel % pixelsWide, h = -1 + pixel / pixelsWide % pixelsHigh,
              slice = 1 + pixel / (pixelsWide * pixelsHigh);
    const bool inside = w < imageWide && h >= 0 && h < imageHigh && slice < slices;
    const uint16_t wanted = inside ? x[size_t((((1 * slices + slice) * imageHigh + h) * imageWide + w) * channels + i % channels)] : 0;
    size_t at = size_t(i) * 2; // where the swizzle puts its 16 bytes
    at = Swizzle ? at ^ (at >> 3 & size_t(Swizzle - 16)) : at;
    if (result[at / 2] != wanted)
      return false;
  }
  return true;
}
template <int Rank, int Swizzle> bool slicesRefused() { // of 32 bytes
  const uint64_t dims[] = {imageWide, imageHigh, slices}, strides[] = {imageWide * 32, imageWide * imageHigh * 32};
  const uint32_t box[] = {pixelsWide, pixelsHigh, 1};
  Extra extra;
  extra.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
  extra.swizzle = tlc::tensor_map_swizzle(Swizzle);
  CUtensorMap map = {};
  return !makeMap(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, Rank, reserve<uint16_t>(imageWide * imageHigh * slices * 16), dims, strides, box, extra);
}

// ---- reductions: two blocks combine their tiles with what is there

enum Reduce { reduceClean, reduceNotFenced, reduceUnset, reduceBesideStores };

template <class T, tlc::tma_operation Operation, int Fault>
__global__ void __launch_bounds__(32) combine(const __grid_constant__ CUtensorMap map, const T *__restrict__ X, T *__restrict__ Y) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  T *const tile = reinterpret_cast<T *>(arena);
  const int lane = int(threadIdx.x);
  tile[lane] = X[int(blockIdx.x) * 32 + lane]; // mark: part
  if (Fault != reduceNotFenced)
    tlc::fence_proxy_async();
  __syncwarp();
  if (lane == 0) {
    tlc::tma_reduce_2d<Operation>(&map, tile, 0, 0); // mark: reduce
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
  if (Fault == reduceBesideStores && blockIdx.x == 1)
    Y[lane] = T(); // mark: store
}
template <class T> T sample(size_t i) {
  if constexpr (std::is_integral_v<T>)
    return T(i * 2654435761u) ^ T(i << 3);
  else
    return T(number(i));
}
template <class T> T combined(tlc::tma_operation operation, T a, T b) {
  using tlc::tma_operation;
  if (operation == tma_operation::min)
    return b < a ? b : a;
  if (operation == tma_operation::max)
    return a < b ? b : a;
  if (operation == tma_operation::inc)
    return a >= b ? T(0) : T(a + T(1));
  if (operation == tma_operation::dec)
    return a == T(0) || b < a ? b : T(a - T(1));
  if constexpr (std::is_integral_v<T>)
    return operation == tma_operation::bit_and ? T(a & b) : operation == tma_operation::bit_or ? T(a | b) : T(a ^ b);
  return b;
}
template <class T, tlc::tma_operation Operation, CUtensorMapDataType Type, int Fault = reduceClean> bool reduced() {
  std::vector<T> before(32), x(64);
  for (size_t i = 0; i < 64; ++i)
    x[i] = sample<T>(i);
  for (size_t i = 0; i < 32; ++i)
    before[i] = sample<T>(i % 5 ? i + 200 : i); // some equal
  T *y = Fault == reduceUnset ? reserve<T>(32) : upload(before);
  const uint64_t dims[] = {32, 1}, strides[] = {32 * sizeof(T)};
  const uint32_t box[] = {32, 1};
  CUtensorMap map = {};
  if (!makeMap(&map, Type, 2, y, dims, strides, box, {}) ||
      !start(combine<T, Operation, Fault>, {2, 32, 512}, map, static_cast<const T *>(upload(x)), y))
    return false;
  const auto result = download(y, 32);
  for (size_t i = 0; i < 32; ++i) { // the blocks come in any order
    const T one = combined(Operation, combined(Operation, before[i], x[i]), x[32 + i]),
            other = combined(Operation, combined(Operation, before[i], x[32 + i]), x[i]);
    if (result[i] != one && result[i] != other)
      return false;
  }
  return true;
}
template <class T, CUtensorMapDataType Type> bool ordered() {
  return reduced<T, tlc::tma_operation::min, Type>() && reduced<T, tlc::tma_operation::max, Type>();
}
template <class T, CUtensorMapDataType Type> bool bitwise() {
  return reduced<T, tlc::tma_operation::bit_and, Type>() && reduced<T, tlc::tma_operation::bit_or, Type>() &&
         reduced<T, tlc::tma_operation::bit_xor, Type>();
}
constexpr auto minimum = tlc::tma_operation::min, disjunction = tlc::tma_operation::bit_or, increment = tlc::tma_operation::inc,
               decrement = tlc::tma_operation::dec;

// ---- elements of 4 bits, which later devices have: coordinates count them, two are a byte

enum Nibbles { nibblesClean, nibblesBetween, nibblesTooMany };

template <int Fault>
__global__ void __launch_bounds__(32) move_nibbles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  TLC_SHARED_TILE(uint8_t, tile, 128, arena); // 4 rows of 64 elements
  TLC_SHARED_TILE(uint64_t, full, 1, arena + 128);
  if (threadIdx.x == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
    tlc::mbarrier_arrive_expect_tx(full, Fault == nibblesTooMany ? 256 : 128); // mark: expect
    tlc::tma_load_2d(tile, &from, full, Fault == nibblesBetween ? 48 : 32, 3); // mark: load
    tlc::mbarrier_wait(full, 0); // mark: wait
    tlc::tma_store_2d(&to, tile, 0, 0);
    tlc::tma_store_commit();
    tlc::tma_store_wait<0>();
  }
}
template <int Fault> bool nibblesMoved() {
  constexpr int columns = 70, rows = 6, pitch = 48; // bytes; the box reaches past both ends
  std::vector<uint8_t> x(rows * pitch), y(4 * 32, 0xff);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint8_t(i * 37 + 1);
  const uint8_t *from = upload(x);
  uint8_t *to = upload(y);
  CUtensorMap fromMap = {}, toMap = {};
  const uint64_t size[] = {columns, rows}, strides[] = {pitch}, all[] = {64, 4}, dense[] = {32}, odd[] = {columns - 1, rows};
  const uint32_t box[] = {64, 4}, half[] = {48, 4};
  const auto type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
  if (tlc::tensor_map(&fromMap, type, 2, const_cast<uint8_t *>(from), odd, strides, box, 0, 0) == TLC_OK ||
      tlc::tensor_map(&fromMap, type, 2, const_cast<uint8_t *>(from), size, strides, half, 0, 0) == TLC_OK)
    return false;
  if (tlc::tensor_map(&fromMap, type, 2, const_cast<uint8_t *>(from), size, strides, box, 0, 0) != TLC_OK ||
      tlc::tensor_map(&toMap, type, 2, to, all, dense, box, 0, 0) != TLC_OK ||
      !start(move_nibbles<Fault>, {1, 32, 136}, fromMap, toMap))
    return false;
  const auto result = download(to, y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = 3 + i / 32, byte = 16 + i % 32;
    if (result[i] != (row < rows && byte < columns / 2 ? x[row * pitch + byte] : 0))
      return false;
  }
  return true;
}
bool nibblesUnknown() {
  CUtensorMap map = {};
  const uint64_t size[] = {64, 4}, strides[] = {32};
  const uint32_t box[] = {64, 4};
  return tlc::tensor_map(&map, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, 2, reserve<uint8_t>(128), size, strides, box, 0, 0) == TLC_ERR_NATIVE;
}

} // namespace

void addHopperTensors(std::vector<Case> &cases) {
  const Case all[] = {
      {"steps", stepped<stepsClean>, "", ""},
      {"steps: the whole box is expected", stepped<stepsWholeBox>, "deadlock,mbarrier", "expect,wait"},
      {"steps: past the shared memory", stepped<stepsPast>, "out-of-bounds,barrier-object", "load"},
      {"steps: store not fenced", stepped<stepsNotFenced>, "proxy", "change"},
      {"steps: too long", stepRefused, "", ""},
      {"slices: 16 bytes", sliced<16, 0, slicesClean>, "", ""},
      {"slices: 16 bytes, swizzled", sliced<16, 128, slicesClean>, "", ""},
      {"slices: 32 bytes", sliced<32, 32, slicesClean>, "", ""},
      {"slices: tile misaligned", sliced<16, 0, slicesMisaligned>, "misaligned", "load"},
      {"slices: tile at no multiple of its swizzle", sliced<16, 128, slicesMisaligned>, "misaligned,swizzle", "load"},
      {"slices: bytes of channels expected", sliced<16, 0, slicesAsChannels>, "deadlock,mbarrier,race,uninitialised", "expect,wait,load"},
      {"slices: past the shared memory", sliced<32, 32, slicesPast>, "out-of-bounds,barrier-object", "load"},
      {"slices: of 32 bytes without their swizzle", slicesRefused<3, 0>, "", ""},
      {"slices: of two dimensions", slicesRefused<2, 32>, "", ""},
      {"reductions: min, max of uint32", ordered<uint32_t, CU_TENSOR_MAP_DATA_TYPE_UINT32>, "", ""},
      {"reductions: min, max of int32", ordered<int32_t, CU_TENSOR_MAP_DATA_TYPE_INT32>, "", ""},
      {"reductions: min, max of uint64", ordered<uint64_t, CU_TENSOR_MAP_DATA_TYPE_UINT64>, "", ""},
      {"reductions: min, max of int64", ordered<int64_t, CU_TENSOR_MAP_DATA_TYPE_INT64>, "", ""},
      {"reductions: min, max of float16", ordered<__half, CU_TENSOR_MAP_DATA_TYPE_FLOAT16>, "", ""},
      {"reductions: min, max of bfloat16", ordered<__nv_bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16>, "", ""},
      {"reductions: bits of uint32", bitwise<uint32_t, CU_TENSOR_MAP_DATA_TYPE_UINT32>, "", ""},
      {"reductions: bits of int32", bitwise<int32_t, CU_TENSOR_MAP_DATA_TYPE_INT32>, "", ""},
      {"reductions: bits of uint64", bitwise<uint64_t, CU_TENSOR_MAP_DATA_TYPE_UINT64>, "", ""},
      {"reductions: bits of int64", bitwise<int64_t, CU_TENSOR_MAP_DATA_TYPE_INT64>, "tensor-map", "reduce"},
      {"reductions: inc", reduced<uint32_t, increment, CU_TENSOR_MAP_DATA_TYPE_UINT32>, "", ""},
      {"reductions: dec", reduced<uint32_t, decrement, CU_TENSOR_MAP_DATA_TYPE_UINT32>, "", ""},
      {"reductions: not fenced", reduced<int32_t, minimum, CU_TENSOR_MAP_DATA_TYPE_INT32, reduceNotFenced>, "proxy", "part"},
      {"4-bit elements", nibblesMoved<nibblesClean>, "", "", "100"},
      {"4-bit elements: no such device", nibblesUnknown, "", ""},
      {"4-bit elements: not at a multiple of 16 bytes", nibblesMoved<nibblesBetween>, "tensor-map", "load", "100"},
      {"4-bit elements: counted as bytes", nibblesMoved<nibblesTooMany>, "deadlock,mbarrier", "expect,wait", "100"},
      {"reductions: into nothing", reduced<int32_t, minimum, CU_TENSOR_MAP_DATA_TYPE_INT32, reduceUnset>, "uninitialised", "reduce"},
      {"reductions: beside a plain store", reduced<int32_t, minimum, CU_TENSOR_MAP_DATA_TYPE_INT32, reduceBesideStores>, "race", "store,reduce"},
      {"reductions: min of float32", reduced<float, minimum, CU_TENSOR_MAP_DATA_TYPE_FLOAT32>, "tensor-map", "reduce"},
      {"reductions: bits of float32", reduced<float, disjunction, CU_TENSOR_MAP_DATA_TYPE_FLOAT32>, "tensor-map", "reduce"},
      {"reductions: inc of int32", reduced<int32_t, increment, CU_TENSOR_MAP_DATA_TYPE_INT32>, "tensor-map", "reduce"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
