// The frame of HIP kernels: launched as emitted files launch, on the device that the case asks for.
#pragma once

#include "faults.h"

#include "../../runtime/tlc.h"

#include <cstdarg>
#include <cstdlib>
#include <initializer_list>

namespace { // as in an emitted file
#include "../../runtime/hip/launch.h"
}

template <class... P, class... A>
bool startHip(void (*kernel)(P...), const Shape &shape, A... arguments) {
  const int64_t grid[3] = {shape.grid, 1, 1};
  return tlc::launch("test", kernel, grid, {{shape.threads, 1, 1}, int(shape.shared), shape.cooperative},
                     nullptr, arguments...) == TLC_OK;
}
