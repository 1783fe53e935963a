// Runs every mma.sp product of the runtime on numbers and patterns that a seed decides and writes what
// compare.py reads.
//
//   nvcc -std=c++17 -arch=sm_90a tools/compare_mma/compare_sparse.cu -o sparse_gpu && ./sparse_gpu sparse_gpu.txt
//   tools/emulate.sh tools/compare_mma/compare_sparse.cu -o sparse_emulated && ./sparse_emulated sparse_emulated.txt
//   tools/compare_mma/compare.py sparse_gpu.txt sparse_emulated.txt
#ifndef TLC_EMULATE
#include "../../runtime/cuda/bfloat16.cuh"
#include "../../runtime/cuda/convert.cuh"
#include "../../runtime/cuda/half.cuh"
#include "../../runtime/cuda/sparse.cuh"
#endif
#include "results.h"
#include "sparse.h"

namespace {

template <class Atom>
__global__ void multiply(const unsigned char *a, const unsigned char *b, const std::uint32_t *metadata,
                         const unsigned char *c, unsigned char *d) {
  const int lane = int(threadIdx.x);
  alignas(16) typename Atom::A left[16 / sizeof(typename Atom::A)];
  alignas(16) typename Atom::B right[16 / sizeof(typename Atom::B)];
  alignas(16) typename Atom::C sum[4];
  for (int i = 0; i < 16; ++i)
    reinterpret_cast<unsigned char *>(left)[i] = a[lane * 16 + i];
  for (int i = 0; i < 16; ++i)
    reinterpret_cast<unsigned char *>(right)[i] = b[lane * 16 + i];
  for (int i = 0; i < int(sizeof sum); ++i)
    reinterpret_cast<unsigned char *>(sum)[i] = c[lane * int(sizeof sum) + i];
  Atom::run(sum, left, right, metadata[lane]);
  for (int i = 0; i < int(sizeof sum); ++i)
    d[lane * int(sizeof sum) + i] = reinterpret_cast<unsigned char *>(sum)[i];
}

/// A matrix of random elements, in memory as its lanes have them, 16 bytes each.
std::vector<double> fragments(Element e, Numbers kind, Random &random, int rows, int columns,
                              std::vector<unsigned char> &bytes) {
  const int bits = formatOf(e).bits, together = 32 / bits, halves = rows / 8;
  std::vector<double> values(std::size_t(rows * columns));
  bytes.assign(32 * 16, 0);
  for (int i = 0; i < 32 * 128 / bits; ++i) {
    const int lane = i / (128 / bits), at = i % (128 / bits), word = at / together;
    const int row = lane / 4 + word % halves * 8, column = (word / halves * 4 + lane % 4) * together + at % together;
    const std::uint64_t x = randomBits(e, kind, random);
    setBitsAt(bytes.data(), std::size_t(i), bits, x);
    values[std::size_t(row * columns + column)] = valueOf(e, x);
  }
  return values;
}

template <class Atom> void runProduct(std::FILE *file, const char *name) {
  const int bitsC = formatOf(Atom::c).bits;
  for (int kind = 0; kind < (formatOf(Atom::a).exponent ? int(kinds) : int(spread) + 1); ++kind)
    for (int n = 0; n < 8; ++n) {
      Random random{std::uint64_t(kind) * 977 + std::uint64_t(n) * 31 + std::uint64_t(Atom::k + bitsC)};
      std::vector<unsigned char> left, right, sums(std::size_t(128 * bitsC / 8)), words(128);
      const std::vector<double> a = fragments(Atom::a, Numbers(kind), random, 16, Atom::k / 2, left);
      const std::vector<double> b = fragments(Atom::b, Numbers(kind), random, 8, Atom::k, right);
      for (std::size_t i = 0; i < 128; ++i)
        setBitsAt(sums.data(), i, bitsC, randomBits(Atom::c, kind == cancelling ? spread : Numbers(kind), random));
      const Pattern pattern(Atom::a, 16, Atom::k, random);
      for (int lane = 0; lane < 32; ++lane)
        setBitsAt(words.data(), std::size_t(lane), 32, pattern.word(lane, 0, Atom::selector));
      unsigned char *result = upload(sums);
      start(multiply<Atom>, 1, 32, 0, static_cast<const unsigned char *>(upload(left)),
            static_cast<const unsigned char *>(upload(right)), reinterpret_cast<const std::uint32_t *>(upload(words)),
            static_cast<const unsigned char *>(upload(sums)), result);
      std::vector<unsigned char> d(sums.size());
      check(cudaMemcpy(d.data(), result, d.size(), cudaMemcpyDeviceToHost));
      std::fprintf(file, "product %s %s %d\n", name, numberNames[kind], n);
      for (std::size_t i = 0; i < 128; ++i) {
        const int lane = int(i) / 4, row = lane / 4 + int(i) % 4 / 2 * 8, column = lane % 4 * 2 + int(i) % 2;
        Exact exact(valueOf(Atom::c, bitsAt(sums.data(), i, bitsC)));
        for (int k = 0; k < Atom::k / 2; ++k)
          exact.add(a[std::size_t(row * Atom::k / 2 + k)], b[std::size_t(column * Atom::k + pattern.place(row, k))]);
        exact.print(file, bitsAt(d.data(), i, bitsC));
      }
    }
}

#define EMU_PRODUCT(K, KA, KB, KC, TA, TB, TC)                                                              \
  template <int Selector> struct Atom_##K##_##KA##_##KB##_##KC {                                            \
    using A = TA;                                                                                           \
    using B = TB;                                                                                           \
    using C = TC;                                                                                           \
    static constexpr Element a = Element::KA, b = Element::KB, c = Element::KC;                             \
    static constexpr int k = K, selector = Selector;                                                        \
    static __device__ __forceinline__ void run(C *sum, const A *left, const B *right, std::uint32_t words) { \
      tlc::mma_sp_m16n8k##K##_##KA##_##KB##_##KC<Selector>(sum, left, right, words);                        \
    }                                                                                                       \
  };
#include "../../runtime/emulate/device/sparse.def"

} // namespace

int main(int argc, char **argv) {
  std::FILE *file = openResults(argc, argv);
#define EMU_PRODUCT(K, KA, KB, KC, TA, TB, TC)                                                              \
  runProduct<Atom_##K##_##KA##_##KB##_##KC<0>>(file, "mma.sp.k" #K "_" #KA "_" #KB "_" #KC);                \
  if constexpr (K < 64)                                                                                     \
    runProduct<Atom_##K##_##KA##_##KB##_##KC<(K < 64)>>(file, "mma.sp.k" #K ".lanes23_" #KA "_" #KB "_" #KC);
#include "../../runtime/emulate/device/sparse.def"
  return std::fclose(file);
}
