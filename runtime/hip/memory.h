// Loads from global to shared memory past the registers, and accesses by descriptor.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/hip/memory.h stands for it
#include "../gpu/copy.h"

namespace tlc {

//@ load_to_shared
// Each lane's Bytes go to base + lane * Bytes, which is the same for all lanes of the wave;
// complete after wait_loads. gfx942 and gfx950; Bytes: 4, on gfx950 also 16. (Text, because LLVM 19
// fails on the built-in function for constant bases.)
template <int Bytes> TLC_DEVICE void load_to_shared(void *base, const void *from TLC_AT) {
  static_assert(Bytes == 4 || Bytes == 16, "loads to shared memory move 4 or 16 bytes");
  const auto offset = uint32_t(uintptr_t((__attribute__((address_space(3))) char *)(base)));
  const uint32_t target = uint32_t(__builtin_amdgcn_readfirstlane(int(offset)));
  if constexpr (Bytes == 16)
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_dwordx4 %1, off"
                 :
                 : "s"(target), "v"(from)
                 : "memory");
  else
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0\n\tglobal_load_lds_dword %1, off"
                 :
                 : "s"(target), "v"(from)
                 : "memory");
}

//@ buffer
// A range of global memory: outside of it zeros are read and nothing is written.
struct buffer {
  __amdgpu_buffer_rsrc_t descriptor;
};

//@ make_buffer
// Of the first `bytes` bytes behind a pointer; the same for all lanes of the wave.
TLC_DEVICE buffer make_buffer(const void *base, uint32_t bytes) {
#if defined(__GFX11__) || defined(__GFX12__)
  constexpr int format = 0x31004000;
#else
  constexpr int format = 0x00020000;
#endif
  return {__builtin_amdgcn_make_buffer_rsrc(const_cast<void *>(base), 0, int(bytes), format)};
}

//@ buffer_load
// Bytes: 1, 2, 4, 8 or 16 from `offset` bytes on.
template <int Bytes>
TLC_DEVICE void buffer_load(void *to, const buffer &from, uint32_t offset TLC_AT) {
  if constexpr (Bytes == 1) {
    const auto value = __builtin_amdgcn_raw_buffer_load_b8(from.descriptor, int(offset), 0, 0);
    memcpy(to, &value, Bytes);
  } else if constexpr (Bytes == 2) {
    const auto value = __builtin_amdgcn_raw_buffer_load_b16(from.descriptor, int(offset), 0, 0);
    memcpy(to, &value, Bytes);
  } else if constexpr (Bytes == 4) {
    const auto value = __builtin_amdgcn_raw_buffer_load_b32(from.descriptor, int(offset), 0, 0);
    memcpy(to, &value, Bytes);
  } else if constexpr (Bytes == 8) {
    const auto value = __builtin_amdgcn_raw_buffer_load_b64(from.descriptor, int(offset), 0, 0);
    memcpy(to, &value, Bytes);
  } else {
    static_assert(Bytes == 16, "buffer loads move up to 16 bytes");
    const auto value = __builtin_amdgcn_raw_buffer_load_b128(from.descriptor, int(offset), 0, 0);
    memcpy(to, &value, Bytes);
  }
}

//@ buffer_store
template <int Bytes>
TLC_DEVICE void buffer_store(const buffer &to, uint32_t offset, const void *from TLC_AT) {
  using word = typename unit<(Bytes > 4 ? 4 : Bytes)>::type;
  constexpr int count = Bytes / int(sizeof(word));
  using words = word __attribute__((ext_vector_type(count)));
  words value;
  memcpy(&value, from, Bytes);
  if constexpr (Bytes == 1)
    __builtin_amdgcn_raw_buffer_store_b8(value.x, to.descriptor, int(offset), 0, 0);
  else if constexpr (Bytes == 2)
    __builtin_amdgcn_raw_buffer_store_b16(value.x, to.descriptor, int(offset), 0, 0);
  else if constexpr (Bytes == 4)
    __builtin_amdgcn_raw_buffer_store_b32(value.x, to.descriptor, int(offset), 0, 0);
  else if constexpr (Bytes == 8)
    __builtin_amdgcn_raw_buffer_store_b64(value, to.descriptor, int(offset), 0, 0);
  else
    __builtin_amdgcn_raw_buffer_store_b128(value, to.descriptor, int(offset), 0, 0);
}

//@ end
} // namespace tlc
#endif
