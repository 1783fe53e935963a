// Elements of matrices, read from registers or shared memory.
#pragma once
#include "engine.h"

namespace emu {
constexpr int bits_of(Element e) {
  switch (e) {
  case Element::f16:
  case Element::bf16:
    return 16;
  case Element::f64:
    return 64;
  case Element::e4m3:
  case Element::e5m2:
  case Element::e4m3fnuz:
  case Element::e5m2fnuz:
  case Element::s8:
  case Element::u8:
    return 8;
  case Element::s4:
  case Element::u4:
    return 4;
  default:
    return 32;
  }
}
/// Element `i` of an array, as a T that holds its products and sums.
template <class T> T element(const void *array, int i, Element e) {
  const auto *bytes = static_cast<const u8 *>(array);
  u16 half;
  u32 word;
  double wide;
  switch (e) {
  case Element::f16:
  case Element::bf16:
    std::memcpy(&half, bytes + 2 * i, 2);
    return T(table(e == Element::bf16)[half]);
  case Element::tf32: // the low 13 bits are not looked at
    std::memcpy(&word, bytes + 4 * i, 4);
    return T(__builtin_bit_cast(float, word & 0xffffe000));
  case Element::f32:
    std::memcpy(&word, bytes + 4 * i, 4);
    return T(__builtin_bit_cast(float, word));
  case Element::f64:
    std::memcpy(&wide, bytes + 8 * i, 8);
    return T(wide);
  case Element::e4m3:
  case Element::e5m2:
  case Element::e4m3fnuz:
  case Element::e5m2fnuz:
    return T(small_table(e)[bytes[i]]);
  case Element::s8:
    return T(int8_t(bytes[i]));
  case Element::u8:
    return T(bytes[i]);
  case Element::s4:
    return T(int8_t(u8(bytes[i / 2] >> 4 * (i % 2)) << 4) >> 4);
  case Element::u4:
    return T(bytes[i / 2] >> 4 * (i % 2) & 15);
  default:
    return T(0);
  }
}
} // namespace emu
