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

//@ tensor_map_im2col
// The same for convolutions, over {channel, w, (h, (d,)) n}: a copy takes `pixels` pixels with
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

//@ end
} // namespace tlc
