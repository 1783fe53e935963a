// Loops of no, one, two rounds, of as many as the pipeline has stages, and one more and less;
// ragged edges, whole tiles, sizes that no vector divides.
#include "pipelines.h"
#include "hosts.h"

int main() {
  using namespace exec;
  struct Kernel {
    const char *name;
    decltype(ring0) *gemm;
    const char *(*error)();
    int step;
  };
  const Kernel kernels[] = {
      {"ring0", ring0, ring0_last_error, 32},
      {"ring1", ring1, ring1_last_error, 32},
      {"ring2", ring2, ring2_last_error, 32},
      {"ring3", ring3, ring3_last_error, 32},
      {"ring4", ring4, ring4_last_error, 32},
      {"ring_narrow", ring_narrow, ring_narrow_last_error, 64},
      {"ring_wide", ring_wide, ring_wide_last_error, 16},
  };
  bool good = true;
  for (const Kernel &kernel : kernels) {
    for (int rounds = 0; rounds <= 6; ++rounds)
      good = product<Half, float>(kernel.name, kernel.gemm, kernel.error,
                                  {rounds % 2 ? 64 : 40, 72, rounds * kernel.step}, false, false,
                                  1e-3, 1e-4) &&
             good;
    for (const Size &size : {Size{64, 64, 8}, {65, 136, 104}, {33, 65, 77}, {1, 1, 1}, {3, 8, 200}})
      good = product<Half, float>(kernel.name, kernel.gemm, kernel.error, size, false, false, 1e-3,
                                  1e-4) &&
             good;
  }
  return good ? 0 : 1;
}
