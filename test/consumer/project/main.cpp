#include "scale.h"

#include <cstdio>
#include <vector>

int main() {
  std::vector<float> a(1000, 1.0f), b(1000, -1.0f);
  // A wrong call is refused, says why, and writes nothing.
  if (scale(nullptr, b.data(), 1000, nullptr, 0, nullptr) == TLC_OK || b[0] != -1.0f || !*scale_last_error())
    return 3;
  if (scale(a.data(), b.data(), 0, nullptr, 0, nullptr) != TLC_OK || b[0] != -1.0f)
    return 4;
  if (scale(a.data(), b.data(), 1000, nullptr, 0, nullptr) != TLC_OK)
    return 1;
  for (float value : b)
    if (value != b[0])
      return 2;
  std::printf("factor %g, kernel %s\n", double(b[0]), scale_info()->name);
}
