// Runs the products of warpgroups that tlc emits for test/exec/kernels/warpgroups.tl, one round of
// the loop each, on the numbers of compare_mma and writes what compare.py reads.
//
//   tlc test/exec/kernels/warpgroups.tl --target=sm90 -o warpgroups.cu
//   nvcc -std=c++17 -arch=sm_90a -I. -Isamples/common -DSAMPLE_CUDA -x cu
//   tools/compare_mma/compare_wgmma.cpp warpgroups.cu -o wgmma_gpu
//   ./wgmma_gpu wgmma_gpu.txt
//   tools/emulate.sh -I. -Isamples/common -DSAMPLE_CUDA tools/compare_mma/compare_wgmma.cpp
//   warpgroups.cu -o wgmma_emulated
//   ./wgmma_emulated wgmma_emulated.txt
//   tools/compare_mma/compare.py wgmma_gpu.txt wgmma_emulated.txt
#include "elements.h"

#include "sample.h"
#include "warpgroups.h"

namespace {

std::uint64_t bitsAt(const std::vector<unsigned char> &data, std::size_t index, int bits) {
  std::uint64_t out = 0;
  std::memcpy(&out, data.data() + index * std::size_t(bits / 8), std::size_t(bits / 8));
  return out;
}

struct Function {
  const char *name; ///< as compare.py knows the tolerance: the types last
  Element a, b, c;
  int columns, depth;  ///< of the tile, which is the whole product; it has 64 rows
  bool transA, transB; ///< as they lie in memory: A as [k][m], B as [n][k]
  int (*call)(const void *a, const void *b, void *c, std::int64_t m, std::int64_t n,
              std::int64_t k);
};

#define FUNCTION(name, function, a, b, c, columns, depth, transA, transB, A, B, C)                 \
  {                                                                                                \
    name, Element::a, Element::b, Element::c, columns, depth, transA, transB,                      \
        [](const void *x, const void *y, void *z, std::int64_t m, std::int64_t n,                  \
           std::int64_t k) {                                                                       \
          return int(function(static_cast<const A *>(x), static_cast<const B *>(y),                \
                              static_cast<C *>(z), m, n, k, nullptr, 0, nullptr));                 \
        }                                                                                          \
  }
using Bits = void; // of types that C has no name for
const Function functions[] = {
    FUNCTION("wgmma_f16nn_f16_f16_f32", f16_nn, f16, f16, f32, 64, 64, false, false, Bits, Bits,
             float),
    FUNCTION("wgmma_f16nt_f16_f16_f32", f16_nt, f16, f16, f32, 64, 64, false, true, Bits, Bits,
             float),
    FUNCTION("wgmma_f16tn_f16_f16_f32", f16_tn, f16, f16, f32, 64, 64, true, false, Bits, Bits,
             float),
    FUNCTION("wgmma_f16tt_f16_f16_f32", f16_tt, f16, f16, f32, 64, 64, true, true, Bits, Bits,
             float),
    FUNCTION("wgmma_f16rs_f16_f16_f32", f16_registers, f16, f16, f32, 64, 64, false, false, Bits,
             Bits, float),
    FUNCTION("wgmma_f16_f16_f16_f16", f16_f16, f16, f16, f16, 64, 64, false, false, Bits, Bits,
             Bits),
    FUNCTION("wgmma_bf16nt_bf16_bf16_f32", bf16_nt, bf16, bf16, f32, 64, 64, false, true, Bits,
             Bits, float),
    FUNCTION("wgmma_bf16nn_bf16_bf16_f32", bf16_nn, bf16, bf16, f32, 64, 64, false, false, Bits,
             Bits, float),
    FUNCTION("wgmma_tf32_tf32_tf32_f32", f32_nt, tf32, tf32, f32, 64, 32, false, true, float, float,
             float),
    FUNCTION("wgmma_tf32rs_tf32_tf32_f32", f32_registers, tf32, tf32, f32, 64, 32, false, true,
             float, float, float),
    FUNCTION("wgmma_s8_s8_s8_s32", s8_nt, s8, s8, s32, 64, 64, false, true, std::int8_t,
             std::int8_t, std::int32_t),
    FUNCTION("wgmma_u8_u8_s8_s32", u8_s8_nt, u8, s8, s32, 64, 64, false, true, std::uint8_t,
             std::int8_t, std::int32_t),
    FUNCTION("wgmma_e4m3_e4m3_e4m3_f32", e4m3_nt, e4m3, e4m3, f32, 64, 64, false, true, Bits, Bits,
             float),
    FUNCTION("wgmma_e4m3e5m2_e4m3_e5m2_f32", e4m3_e5m2_nt, e4m3, e5m2, f32, 64, 64, false, true,
             Bits, Bits, float),
    FUNCTION("wgmma_n8_f16_f16_f32", narrow_8, f16, f16, f32, 8, 16, false, true, Bits, Bits,
             float),
    FUNCTION("wgmma_n96_f16_f16_f32", columns_96, f16, f16, f32, 96, 32, false, false, Bits, Bits,
             float),
    FUNCTION("wgmma_n40_f16_f16_f32", columns_40, f16, f16, f32, 40, 64, false, false, Bits, Bits,
             float),
    FUNCTION("wgmma_n256_f16_f16_f32", wide, f16, f16, f32, 256, 128, false, true, Bits, Bits,
             float),
};

std::vector<unsigned char> random(Element e, std::size_t count, Numbers kind, Random &random) {
  const int bytes = formatOf(e).bits / 8;
  std::vector<unsigned char> out(count * std::size_t(bytes));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = randomBits(e, kind, random);
    std::memcpy(out.data() + i * std::size_t(bytes), &bits, std::size_t(bytes));
  }
  return out;
}

bool run(std::FILE *file, const Function &f, Numbers kind, int number) {
  constexpr std::size_t m = 64;
  const std::size_t n = std::size_t(f.columns), k = std::size_t(f.depth);
  Random numbers{std::uint64_t(kind) * 977 + std::uint64_t(number) * 31 + n + k};
  const auto a = random(f.a, m * k, kind, numbers), b = random(f.b, n * k, kind, numbers);
  const int bits = formatOf(f.c).bits;
  sample::Buffer<unsigned char> A(a), B(b);
  sample::Buffer<unsigned char> C(std::vector<unsigned char>(m * n * std::size_t(bits / 8), 0xff));
  if (f.call(A.data(), B.data(), C.data(), std::int64_t(m), std::int64_t(n), std::int64_t(k)) !=
      0) {
    std::fprintf(stderr, "%s: refused\n", f.name);
    return false;
  }
  sample::synchronize();
  const auto c = C.download();
  std::fprintf(file, "product %s %s %d\n", f.name, numberNames[kind], number);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      long double sum = 0, magnitude = 0;
      for (std::size_t x = 0; x < k; ++x) {
        const long double product =
            (long double)(valueOf(
                f.a, bitsAt(a, f.transA ? x * m + i : i * k + x, formatOf(f.a).bits))) *
            valueOf(f.b, bitsAt(b, f.transB ? j * k + x : x * n + j, formatOf(f.b).bits));
        sum += product, magnitude += std::fabs(product);
      }
      std::fprintf(file, "%llx %a %a\n", (unsigned long long)bitsAt(c, i * n + j, bits),
                   double(sum), double(magnitude));
    }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  std::FILE *file = argc == 2 ? std::fopen(argv[1], "w") : nullptr;
  if (!file) {
    std::fprintf(stderr, "%s FILE: writes the results there\n", argv[0]);
    return 2;
  }
  bool good = true;
  for (const Function &f : functions)
    for (int kind = 0; kind < (formatOf(f.a).exponent ? int(cancelling) : int(spread) + 1); ++kind)
      for (int number = 0; number < 2; ++number)
        good = run(file, f, Numbers(kind), number) && good;
  return std::fclose(file) || !good;
}
