#include "saxpy.h"

#include <cstdio>
#include <cstring>

int main() {
  const int64_t n = 1000;
  alignas(16) static uint16_t x[n];
  alignas(16) static float y[n];
  for (int64_t i = 0; i < n; ++i) {
    x[i] = 0x4000; // 2
    y[i] = float(i);
  }
  tlc_status status = saxpy(x, y, n, 1.5f, nullptr, 0, nullptr);
  if (status != TLC_OK)
    return std::puts(saxpy_last_error()), 1;
  for (int64_t i = 0; i < n; ++i)
    if (y[i] != float(i) + 3)
      return std::printf("%d: %g\n", int(i), double(y[i])), 1;
  if (saxpy(nullptr, y, n, 1.5f, nullptr, 0, nullptr) != TLC_ERR_ARGUMENT)
    return std::puts("a null pointer was not refused"), 1;
  if (saxpy(nullptr, nullptr, 0, 1.5f, nullptr, 0, nullptr) != TLC_OK)
    return std::puts("an empty problem was refused"), 1;
  std::puts(std::strstr(saxpy_info()->json, "\"saxpy\"") ? "all right" : "no metadata");
  return 0;
}
