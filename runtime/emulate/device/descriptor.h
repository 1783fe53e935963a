// The function of cuda/descriptor.cuh, which has no place for the number of the tile.
#define wgmma_descriptor wgmma_descriptor_fields
#include "../../cuda/descriptor.cuh"
#undef wgmma_descriptor
namespace tlc {

TLC_DEVICE uint64_t wgmma_descriptor(const void *tile, int leading_bytes, int stride_bytes,
                                     int swizzle) {
  return wgmma_descriptor_fields(tile, leading_bytes, stride_bytes, swizzle) |
         ::emu::descriptor_mark(shared_address(tile));
}

} // namespace tlc
