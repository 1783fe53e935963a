// The hand-written Hopper GEMM as a shared library with a C name, for gemm_bench: compiled together with the gemm_sm90.cu of the
// folder that bench.py is told (--hand-gemm).
#include "gemm_sm90.h"

extern "C" int hand_gemm(const void *a, const void *b, void *c, int m, int n, int k, int bfloat, int bIsKN) {
  return static_cast<int>(gemm_sm90({a, b, c, m, n, k, bfloat != 0, bIsKN != 0}, nullptr));
}
