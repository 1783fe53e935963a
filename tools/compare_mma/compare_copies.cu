// The emulator's tests of the tensor memory accelerator on a GPU: what its clean kernels must compute.
//
//   nvcc -std=c++17 -arch=sm_90a --expt-relaxed-constexpr -diag-suppress 1886 tools/compare_mma/compare_copies.cu \
//     -o compare_copies && ./compare_copies
#include <atomic>
#include <cstdarg>
#include <initializer_list>

#include "../../runtime/tlc.h"

#include "../../runtime/cuda/barrier.cuh"
#include "../../runtime/cuda/cluster.cuh"
#include "../../runtime/cuda/mbarrier.cuh"
#include "../../runtime/cuda/tensor_map.cuh"
#include "../../runtime/cuda/tma_reduce.cuh"
#include "../../runtime/cuda/warp.cuh"

#include "../../test/emulate/hopper_copies.cu"
#include "../../test/emulate/hopper_tensors.cu"

// compare_copies [PREFIX]: only cases whose names begin so.
int main(int argc, char **argv) {
  std::vector<Case> cases;
  addHopperCopies(cases);
  addHopperTensors(cases);
  const std::string prefix = argc > 1 ? argv[1] : "";
  int wrong = 0, all = 0;
  for (const Case &c : cases)
    // The manual forbids slices of 32 bytes without their swizzle; the driver of an H200 takes them.
    if (!*c.kinds && !std::strncmp(c.name, prefix.c_str(), prefix.size()) &&
        std::strcmp(c.name, "slices: of 32 bytes without their swizzle")) {
      const bool right = c.run();
      ++all, wrong += !right;
      if (!right)
        std::printf("%s: wrong (%s)\n", c.name, cudaGetErrorString(cudaGetLastError()));
    }
  std::printf("%d of %d right\n", all - wrong, all);
  return wrong != 0;
}
