// Runs every mma.sync product of the runtime and every conversion on numbers that a seed decides, and
// writes the bits of the results, beside what exact arithmetic gives. The same file is compiled for a
// GPU and for the emulator; compare.py holds their outputs against each other.
//
//   nvcc -std=c++17 -arch=sm_90a tools/compare_mma/compare_mma.cu -o compare_gpu && ./compare_gpu gpu.txt
//   tools/emulate.sh tools/compare_mma/compare_mma.cu -o compare_emulated && ./compare_emulated emulated.txt
//   tools/compare_mma/compare.py gpu.txt emulated.txt
#ifndef TLC_EMULATE
#include "../../runtime/cuda/bfloat16.cuh"
#include "../../runtime/cuda/convert.cuh"
#include "../../runtime/cuda/half.cuh"
#include "../../runtime/cuda/matrix.cuh"
#endif
#include "../../runtime/portable/integer.h"
#include "elements.h"
#include "results.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace {

// ---- Fragments: where a lane's i-th element lies, by the PTX manual

struct Place {
  int row, column;
};
/// Of A (rows x k): registers of 32 bits hold neighbours along k; the second register is 8 rows below if
/// there are 16, then it goes on 4 registers' width further along k. Of B the same with n for rows.
Place operandPlace(int lane, int i, int rows, int bits) {
  const int together = bits >= 32 ? 1 : 32 / bits, halves = rows / 8;
  const int word = i / together;
  return {lane / 4 + word % halves * 8, (word / halves * 4 + lane % 4) * together + i % together};
}
Place sumPlace(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

// ---- Products

template <class A, class B, class C> using Function = void (*)(C *, const A *, const B *);

template <class Atom>
__global__ void multiply(const unsigned char *a, const unsigned char *b, const unsigned char *c,
                         unsigned char *d) {
  const int thread = int(blockIdx.x) * 32 + int(threadIdx.x);
  alignas(16) typename Atom::A left[Atom::bytesA / sizeof(typename Atom::A)];
  alignas(16) typename Atom::B right[Atom::bytesB / sizeof(typename Atom::B)];
  alignas(16) typename Atom::C sum[Atom::bytesC / sizeof(typename Atom::C)];
  for (int i = 0; i < Atom::bytesA; ++i)
    reinterpret_cast<unsigned char *>(left)[i] = a[thread * Atom::bytesA + i];
  for (int i = 0; i < Atom::bytesB; ++i)
    reinterpret_cast<unsigned char *>(right)[i] = b[thread * Atom::bytesB + i];
  for (int i = 0; i < Atom::bytesC; ++i)
    reinterpret_cast<unsigned char *>(sum)[i] = c[thread * Atom::bytesC + i];
  Atom::run(sum, left, right);
  for (int i = 0; i < Atom::bytesC; ++i)
    d[thread * Atom::bytesC + i] = reinterpret_cast<unsigned char *>(sum)[i];
}

constexpr int cases = 8; ///< warps for each kind of numbers

/// A line of the output for each element: bits of the result, exact sum, sum of the magnitudes.
template <class Atom> void runProduct(std::FILE *file, const char *name) {
  constexpr Format fa = formatOf(Atom::a), fb = formatOf(Atom::b), fc = formatOf(Atom::c);
  constexpr int countA = Atom::bytesA * 8 / fa.bits, countB = Atom::bytesB * 8 / fb.bits,
                countC = Atom::bytesC * 8 / fc.bits;
  for (int kind = 0; kind < (fa.exponent ? int(kinds) : int(spread) + 1); ++kind) {
    const auto numbers = Numbers(kind);
    Random random{std::uint64_t(kind) * 977 + std::uint64_t(Atom::m * Atom::k + fa.bits + 3 * fc.bits)};
    std::vector<unsigned char> a(cases * 32 * Atom::bytesA), b(cases * 32 * Atom::bytesB),
        c(cases * 32 * Atom::bytesC);
    for (std::size_t i = 0; i < std::size_t(cases * 32 * countA); ++i)
      setBitsAt(a.data(), i, fa.bits, randomBits(Atom::a, numbers, random));
    for (std::size_t i = 0; i < std::size_t(cases * 32 * countB); ++i)
      setBitsAt(b.data(), i, fb.bits, randomBits(Atom::b, numbers, random));
    for (std::size_t i = 0; i < std::size_t(cases * 32 * countC); ++i)
      setBitsAt(c.data(), i, fc.bits, randomBits(Atom::c, numbers == cancelling ? spread : numbers, random));
    unsigned char *result = upload(c);
    start(multiply<Atom>, cases, 32, 0, static_cast<const unsigned char *>(upload(a)),
          static_cast<const unsigned char *>(upload(b)), static_cast<const unsigned char *>(upload(c)), result);
    std::vector<unsigned char> d(c.size());
    check(cudaMemcpy(d.data(), result, d.size(), cudaMemcpyDeviceToHost));
    for (int n = 0; n < cases; ++n) {
      std::vector<double> left(Atom::m * Atom::k), right(Atom::n * Atom::k);
      for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < countA; ++i) {
          const Place p = operandPlace(lane, i, Atom::m, fa.bits);
          left[std::size_t(p.row * Atom::k + p.column)] =
              valueOf(Atom::a, bitsAt(a.data(), std::size_t((n * 32 + lane) * countA + i), fa.bits));
        }
        for (int i = 0; i < countB; ++i) {
          const Place p = operandPlace(lane, i, Atom::n, fb.bits);
          right[std::size_t(p.row * Atom::k + p.column)] =
              valueOf(Atom::b, bitsAt(b.data(), std::size_t((n * 32 + lane) * countB + i), fb.bits));
        }
      }
      std::fprintf(file, "product %s %s %d\n", name, numberNames[kind], n);
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < countC; ++i) {
          const Place p = sumPlace(lane, i);
          const std::size_t at = std::size_t((n * 32 + lane) * countC + i);
          Exact exact(valueOf(Atom::c, bitsAt(c.data(), at, fc.bits)));
          for (int k = 0; k < Atom::k; ++k)
            exact.add(left[std::size_t(p.row * Atom::k + k)], right[std::size_t(p.column * Atom::k + k)]);
          exact.print(file, bitsAt(d.data(), at, fc.bits));
        }
    }
  }
}

#define EMU_PRODUCT(M, N, K, KA, KB, KC, TA, TB, TC)                                                   \
  struct Atom_m##M##n##N##k##K##_##KA##_##KB##_##KC {                                                  \
    using A = TA;                                                                                      \
    using B = TB;                                                                                      \
    using C = TC;                                                                                      \
    static constexpr Element a = Element::KA, b = Element::KB, c = Element::KC;                        \
    static constexpr int m = M, n = N, k = K, bytesA = M * K / 32 * formatOf(Element::KA).bits / 8,    \
                         bytesB = N * K / 32 * formatOf(Element::KB).bits / 8,                         \
                         bytesC = M * N / 32 * formatOf(Element::KC).bits / 8;                         \
    static __device__ __forceinline__ void run(C *sum, const A *left, const B *right) {                \
      tlc::mma_m##M##n##N##k##K##_##KA##_##KB##_##KC(sum, left, right);                                \
    }                                                                                                  \
  };
#include "../../runtime/emulate/device/products.def"

void runProducts(std::FILE *file) {
#define EMU_PRODUCT(M, N, K, KA, KB, KC, TA, TB, TC)                                                   \
  runProduct<Atom_m##M##n##N##k##K##_##KA##_##KB##_##KC>(file, "mma_m" #M "n" #N "k" #K "_" #KA "_" #KB "_" #KC);
#include "../../runtime/emulate/device/products.def"
}

// ---- Conversions: results are exact, so the bits must be the same

template <class T> __device__ std::uint64_t bitsOf(T value) {
  std::uint64_t out = 0;
  memcpy(&out, &value, sizeof value);
  return out;
}
template <class T> __device__ T fromBits(std::uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// CONVERSION(name, type of what comes in, kind of its numbers, what is computed of x)
#define CONVERSIONS(CONVERSION)                                                                        \
  CONVERSION(to_half, float, f32, tlc::to_half(x))                                                     \
  CONVERSION(to_half_double, double, f64, tlc::to_half(x))                                             \
  CONVERSION(to_half_saturate, float, f32, tlc::to_half_saturate(x))                                   \
  CONVERSION(to_bfloat16, float, f32, tlc::to_bfloat16(x))                                             \
  CONVERSION(to_bfloat16_double, double, f64, tlc::to_bfloat16(x))                                     \
  CONVERSION(to_bfloat16_saturate, float, f32, tlc::to_bfloat16_saturate(x))                           \
  CONVERSION(to_tfloat32, float, f32, tlc::to_tfloat32(x))                                             \
  CONVERSION(to_float8_e4m3, float, f32, tlc::to_float8_e4m3(x))                                       \
  CONVERSION(to_float8_e5m2, float, f32, tlc::to_float8_e5m2(x))                                       \
  CONVERSION(to_float8_e5m2_infinite, float, f32, tlc::to_float8_e5m2_infinite(x))                     \
  CONVERSION(to_float8_e4m3fnuz, float, f32, tlc::to_float8_e4m3fnuz(x))                               \
  CONVERSION(to_float8_e5m2fnuz, float, f32, tlc::to_float8_e5m2fnuz(x))                               \
  CONVERSION(to_float8_e8m0, float, f32, tlc::to_float8_e8m0(x))                                       \
  CONVERSION(to_float4_e2m1, float, f32, tlc::to_float4_e2m1(x))                                       \
  CONVERSION(to_float_half, __half, f16, tlc::to_float(x))                                             \
  CONVERSION(to_float_bfloat16, __nv_bfloat16, bf16, tlc::to_float(x))                                 \
  CONVERSION(to_float_e4m3, tlc::float8_e4m3, u8, tlc::to_float(x))                                    \
  CONVERSION(to_float_e5m2, tlc::float8_e5m2, u8, tlc::to_float(x))                                    \
  CONVERSION(to_float_e4m3fnuz, tlc::float8_e4m3fnuz, u8, tlc::to_float(x))                            \
  CONVERSION(to_float_e5m2fnuz, tlc::float8_e5m2fnuz, u8, tlc::to_float(x))                            \
  CONVERSION(to_float_e8m0, tlc::float8_e8m0, u8, tlc::to_float(x))                                    \
  CONVERSION(to_float_e2m1, tlc::float4_e2m1, u4, tlc::to_float(x))                                    \
  CONVERSION(float_to_int8, float, f32, (tlc::float_to_int<std::int8_t>(x)))                           \
  CONVERSION(float_to_uint8, float, f32, (tlc::float_to_int<std::uint8_t>(x)))                         \
  CONVERSION(float_to_int32, float, f32, (tlc::float_to_int<std::int32_t>(x)))                         \
  CONVERSION(float_to_uint32, float, f32, (tlc::float_to_int<std::uint32_t>(x)))                       \
  CONVERSION(float_to_int64, double, f64, (tlc::float_to_int<std::int64_t>(x)))                        \
  CONVERSION(float_to_uint64, double, f64, (tlc::float_to_int<std::uint64_t>(x)))

#define CONVERSION(name, type, kind, result)                                                           \
  __global__ void convert_##name(const std::uint64_t *in, std::uint64_t *out) {                        \
    const int i = int(blockIdx.x) * 128 + int(threadIdx.x);                                            \
    const type x = fromBits<type>(in[i]);                                                              \
    out[i] = bitsOf(result);                                                                           \
  }
CONVERSIONS(CONVERSION)
#undef CONVERSION

/// All patterns of up to 16 bits; of wider types random ones of every kind and the edges of others.
std::vector<std::uint64_t> conversionInputs(Element e) {
  const Format f = formatOf(e);
  std::vector<std::uint64_t> out;
  if (f.bits <= 16) {
    for (std::uint64_t bits = 0; bits < std::uint64_t(1) << f.bits; ++bits)
      out.push_back(bits);
  } else {
    Random random{12345};
    const int shift = f.bits - 32;
    for (int i = 0; i < 8192; ++i) {
      out.push_back(randomFloat(f, Numbers(i % cancelling), random));
      // Half way between neighbours of narrower types: low bits all zero or a single one.
      std::uint64_t bits = (random.next() & 0xffffffff) << shift;
      bits &= ~((std::uint64_t(1) << (f.mantissa - random.below(12))) - 1);
      out.push_back(bits | (std::uint64_t(random.below(3)) & 1) << random.below(f.mantissa));
    }
  }
  while (out.size() % 128)
    out.push_back(0);
  return out;
}

template <class Kernel> void runConversion(std::FILE *file, const char *name, Element e, Kernel kernel) {
  const std::vector<std::uint64_t> in = conversionInputs(e);
  std::vector<std::uint64_t> out(in.size());
  std::vector<unsigned char> bytes(in.size() * 8);
  std::memcpy(bytes.data(), in.data(), bytes.size());
  unsigned char *from = upload(bytes), *to = upload(bytes);
  start(kernel, int(in.size() / 128), 128, 0, reinterpret_cast<const std::uint64_t *>(from),
        reinterpret_cast<std::uint64_t *>(to));
  check(cudaMemcpy(out.data(), to, bytes.size(), cudaMemcpyDeviceToHost));
  std::fprintf(file, "conversion %s\n", name);
  for (std::size_t i = 0; i < in.size(); ++i)
    std::fprintf(file, "%llx %llx\n", (unsigned long long)in[i], (unsigned long long)out[i]);
}
void runConversions(std::FILE *file) {
#define CONVERSION(name, type, kind, result) runConversion(file, #name, Element::kind, convert_##name);
  CONVERSIONS(CONVERSION)
#undef CONVERSION
}

} // namespace

int main(int argc, char **argv) {
  std::FILE *file = openResults(argc, argv);
  runProducts(file);
  runConversions(file);
  return std::fclose(file);
}
