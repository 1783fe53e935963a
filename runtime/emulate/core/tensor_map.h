// The emulator's contents of the opaque 128-byte CUtensorMap.
#pragma once
#include <cstdint>
namespace emu {
struct TensorMap {
  uint64_t base;
  uint32_t dims[5];
  uint32_t magic;
  uint64_t strides[4]; // bytes, of dimensions 1..4
  uint16_t box[5];     // im2col: channels, pixels
  uint8_t rank, type /* CUtensorMapDataType */,
      element_bytes /* 16, 32: of a slice of channels, which is what interleaved maps count */,
      swizzle /* 0 none, 1 32, 2 64, 3 128 bytes */, nan_fill, im2col,
      packed /* elements of 4 bits: columns are counted in pairs, which are bytes */;
  int16_t lower[3], upper[3]; // im2col: corners of the base pixels' box, of w, h, d
  uint8_t step[5];            // between elements that are copied; im2col: between base pixels
};
static_assert(sizeof(TensorMap) <= 128);
constexpr uint32_t kTensorMapMagic = 0x7e45a3b1;
// The byte address with its 16-byte units exchanged as the swizzle mode says.
inline uint64_t swizzled(uint64_t a, int mode) {
  return mode == 3   ? a ^ (a >> 3 & 0x70)
         : mode == 2 ? a ^ (a >> 3 & 0x30)
         : mode == 1 ? a ^ (a >> 3 & 0x10)
                     : a;
}
} // namespace emu
