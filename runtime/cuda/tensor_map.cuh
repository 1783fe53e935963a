// The host's side of the tensor memory accelerator: descriptions of tensors that a launcher makes.
#pragma once

#include "launch.cuh"

#include <cuda.h>

namespace tlc {

//@ tensor_map_encoder
// The driver's function of this name, by way of the runtime library: nothing links to the driver.
// Null if the driver has none.
template <class Encode> TLC_HOST Encode tensor_map_encoder(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
#if defined(CUDART_VERSION) && CUDART_VERSION < 12050
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
    function = nullptr;
  return reinterpret_cast<Encode>(function);
}

//@ tensor_map_failed
TLC_HOST tlc_status tensor_map_failed(const char *what, int code) {
  last_native_error = code;
  return fail(TLC_ERR_NATIVE, "tensor map: %s (driver error %d)", what, code);
}

//@ tensor_map_swizzle
TLC_HOST CUtensorMapSwizzle tensor_map_swizzle(int bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

//@ tensor_map_promotion
TLC_HOST CUtensorMapL2promotion tensor_map_promotion(int bytes) {
  return bytes == 256   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
         : bytes == 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
         : bytes == 64  ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
                        : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

//@ tensor_map
// Describes a tensor and the boxes that are copied of it, innermost dimension first: `dims` in
// elements, `strides` in bytes (rank - 1 of them, multiples of 16; the innermost is dense), `box`
// in elements (at most 256; its inner row at most `swizzle` bytes wide unless that is 0). `base` is
// a multiple of 16. `swizzle`: 0, 32, 64 or 128 bytes; `promotion`: 0, 64, 128 or 256 bytes that a
// miss fetches into the second-level cache.
TLC_HOST tlc_status tensor_map(CUtensorMap *map, int dtype, int rank, void *base,
                               const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                               int swizzle, int promotion) {
  using encode = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                              const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                              const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static const encode encoder = tensor_map_encoder<encode>("cuTensorMapEncodeTiled");
  if (!encoder)
    return tensor_map_failed("the driver cannot make one", 0);
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  const CUresult result =
      encoder(map, static_cast<CUtensorMapDataType>(dtype), cuuint32_t(rank), base, dims, strides,
              box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, tensor_map_swizzle(swizzle),
              tensor_map_promotion(promotion), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? TLC_OK : tensor_map_failed("not encodable", int(result));
}

//@ make_tensor_map
// `tensor_map` of a tensor as a launcher has it, outermost dimension first: elements of `bytes`
// bytes, `strides` counts them, the last one is 1. A tensor without elements gets a map of one, of
// which no kernel copies anything. Where rows are whole lines of 256 bytes a miss fetches those.
template <int Rank>
inline tlc_status make_tensor_map(const char *function, CUtensorMap *map,
                                  CUtensorMapDataType dtype, int bytes, const void *base,
                                  const int64_t (&shape)[Rank], const int64_t (&strides)[Rank],
                                  const uint32_t (&box)[Rank], int swizzle) {
  uint64_t dims[5], pitches[5];
  uint32_t inner[5];
  int promotion = 256;
  bool empty = false;
  for (int d = 0; d < Rank; ++d)
    empty = empty || shape[d] <= 0;
  for (int d = 0; d < Rank; ++d) {
    const int from = Rank - 1 - d;
    dims[d] = empty ? 1 : uint64_t(shape[from]);
    inner[d] = box[from];
    if (d == 0)
      continue;
    const int64_t pitch = empty || shape[from] == 1 ? 256 : strides[from] * bytes;
    if (pitch < 0 || pitch % 16 != 0)
      return fail(TLC_ERR_ALIGNMENT,
                  "%s: rows of a tensor lie %lld bytes apart, which is no multiple of 16", function,
                  (long long)pitch);
    pitches[d - 1] = uint64_t(pitch);
    if (pitch % 256 != 0)
      promotion = 128;
  }
  return tensor_map(map, dtype, Rank, const_cast<void *>(base), dims, pitches, inner, swizzle,
                    promotion);
}

//@ has_blocks
// Whether a launch over this grid starts anything.
TLC_HOST bool has_blocks(const int64_t (&grid)[3]) {
  return grid[0] > 0 && grid[1] > 0 && grid[2] > 0;
}

//@ tensor_map_im2col
// `tensor_map` for convolutions, over {channel, w, (h, (d,)) n}: a copy takes `pixels` pixels with
// `channels` channels each. The base pixels run from `lower` to `upper` (corners of the padded
// image, innermost first, rank - 2 of each), `steps` apart.
TLC_HOST tlc_status tensor_map_im2col(CUtensorMap *map, int dtype, int rank, void *base,
                                      const uint64_t *dims, const uint64_t *strides,
                                      const int *lower, const int *upper, int channels, int pixels,
                                      const uint32_t *steps, int swizzle, int promotion) {
  using encode = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                              const cuuint64_t *, const cuuint64_t *, const int *, const int *,
                              cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static const encode encoder = tensor_map_encoder<encode>("cuTensorMapEncodeIm2col");
  if (!encoder)
    return tensor_map_failed("the driver cannot make one", 0);
  const CUresult result =
      encoder(map, static_cast<CUtensorMapDataType>(dtype), cuuint32_t(rank), base, dims, strides,
              lower, upper, cuuint32_t(channels), cuuint32_t(pixels), steps,
              CU_TENSOR_MAP_INTERLEAVE_NONE, tensor_map_swizzle(swizzle),
              tensor_map_promotion(promotion), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? TLC_OK : tensor_map_failed("not encodable", int(result));
}

//@ make_tensor_map_im2col
// `tensor_map_im2col` of an image [n, h, w, channel] as a launcher has it, of which a copy takes
// `pixels` pixels of the convolution's result with `channels` channels of one tap each. Strides
// count elements of `bytes` bytes.
struct unfold {
  int kernel, stride, dilation, pad;
};
TLC_HOST tlc_status make_tensor_map_im2col(const char *function, CUtensorMap *map,
                                           CUtensorMapDataType dtype, int bytes, const void *base,
                                           const int64_t (&shape)[4], const int64_t (&strides)[4],
                                           const unfold &by, int pixels, int channels,
                                           int swizzle) {
  bool empty = false;
  for (int d = 0; d < 4; ++d)
    empty = empty || shape[d] <= 0;
  uint64_t dims[4], pitches[3];
  for (int d = 0; d < 4; ++d) {
    const int from = 3 - d;
    dims[d] = empty ? (d == 0 ? uint64_t(channels) : uint64_t(by.dilation * by.kernel + 1))
                    : uint64_t(shape[from]);
    if (d == 0)
      continue;
    const int64_t pitch = strides[from] * bytes;
    if (pitch < 0 || pitch % 16 != 0)
      return fail(TLC_ERR_ALIGNMENT,
                  "%s: rows of a tensor lie %lld bytes apart, which is no multiple of 16", function,
                  (long long)pitch);
    pitches[d - 1] = uint64_t(pitch == 0 ? 16 : pitch);
  }
  const int corner = by.pad - by.dilation * (by.kernel - 1);
  const int lower[2] = {-by.pad, -by.pad}, upper[2] = {corner, corner};
  const uint32_t steps[4] = {1, uint32_t(by.stride), uint32_t(by.stride), 1};
  return tensor_map_im2col(map, dtype, 4, const_cast<void *>(base), dims, pitches, lower, upper,
                           channels, pixels, steps, swizzle, 256);
}

//@ end
} // namespace tlc
