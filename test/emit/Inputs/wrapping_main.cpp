#include "wrapping.h"

#include <cstdio>
#include <limits>

int main() {
  int32_t x[64], y[64], w[64], scale = 2000000000;
  int64_t z[64];
  for (int i = 0; i < 64; ++i)
    x[i] = i % 2 ? std::numeric_limits<int32_t>::max() - i : std::numeric_limits<int32_t>::min() + i;
  if (wrapping(x, y, z, w, scale, nullptr, 0, nullptr) != TLC_OK)
    return std::puts(wrapping_last_error());
  for (int i = 0; i < 64; ++i) {
    const uint32_t u = uint32_t(x[i]);
    const uint64_t wide = uint64_t(int64_t(x[i]));
    const int64_t difference = int32_t(u - uint32_t(scale));
    if (y[i] != int32_t(u * 1664525u + 1013904223u) || w[i] != (x[i] & 7) * 3 + i ||
        z[i] != int64_t(wide * wide * uint64_t(scale) - uint64_t(difference))) {
      std::printf("wrong at %d\n", i);
      return 1;
    }
  }
  std::puts("all right");
}
