// The emulator's test of sparse products on a GPU: small numbers, so that every sum is exact.
//
//   nvcc -std=c++17 -arch=sm_90a tools/compare_mma/compare_sparse.cu -o compare_sparse && ./compare_sparse
#include "../../runtime/cuda/bfloat16.cuh"
#include "../../runtime/cuda/convert.cuh"
#include "../../runtime/cuda/half.cuh"
#include "../../runtime/cuda/sparse.cuh"

#include "../../test/emulate/sparse.cu"

int main() {
  std::vector<Case> cases;
  addSparse(cases);
  const bool right = cases.front().run();
  std::printf(right ? "all sparse products are right\n" : "sparse products are wrong\n");
  return !right;
}
