// Runs every product of a warpgroup on numbers that a seed decides, dense and sparse, A from shared
// memory and from registers, operands contiguous along k and not, in all swizzles, and writes what
// compare.py reads. All widths multiply the same operands, so that each must give what the widest does.
//
//   build/bin/print_wgmma > wgmma_functions.h
//   nvcc -std=c++17 -arch=sm_90a -I. tools/compare_mma/compare_wgmma.cu -o wgmma_gpu && ./wgmma_gpu wgmma_gpu.txt
//   tools/emulate.sh -I. tools/compare_mma/compare_wgmma.cu -o wgmma_emulated
//   EMU_ARCH=90 ./wgmma_emulated wgmma_emulated.txt
//   tools/compare_mma/compare.py wgmma_gpu.txt wgmma_emulated.txt
#include <cstdint>
#ifndef TLC_EMULATE
#include "../../runtime/cuda/async.cuh"
#include "../../runtime/cuda/bfloat16.cuh"
#include "../../runtime/cuda/convert.cuh"
#include "../../runtime/cuda/descriptor.cuh"
#include "../../runtime/cuda/half.cuh"
#include "../../runtime/cuda/matrix.cuh"
#include "../../runtime/cuda/mbarrier.cuh"
#include "../../runtime/cuda/wgmma.cuh"
#endif
#include "results.h"
#include "sparse.h"

#include <string>

#include "wgmma_functions.h"

namespace {

template <bool Sparse, bool Registers, int Selector, int TransA, int TransB> struct Way {
  static constexpr bool sparse = Sparse, registers = Registers;
  static constexpr int selector = Selector, transA = TransA, transB = TransB;
};

// ---- on the device

struct Operand { // what its descriptor says; the tile lies at a multiple of 1024
  int bytes, offset, leading, stride, swizzle;
};
struct Input {
  const unsigned char *left, *right;
  const std::uint32_t *registers, *metadata; // of each thread 4 words, one
  const unsigned char *sums;                 // 64 x 256
  Operand a, b;
};
constexpr int rightAt = 64 * 128, arenaBytes = rightAt + 256 * 128;

template <class Types, class Way, int N>
__device__ void multiply(const Input &in, const unsigned char *arena, bool add, typename Types::Sum *out) {
  using Sum = typename Types::Sum;
  const int thread = int(threadIdx.x), lane = thread % 32;
  const auto place = [&](int i) {
    return (thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * 256 + i / 4 * 8 + lane % 4 * 2 + i % 2;
  };
  alignas(16) Sum sum[N / 2];
  for (int i = 0; i < N / 2; ++i)
    sum[i] = reinterpret_cast<const Sum *>(in.sums)[place(i)];
  std::uint32_t a[4];
  for (int i = 0; i < 4; ++i)
    a[i] = in.registers[thread * 4 + i];
  const std::uint64_t left = tlc::wgmma_descriptor(arena + in.a.offset, in.a.leading, in.a.stride, in.a.swizzle),
                      right = tlc::wgmma_descriptor(arena + rightAt + in.b.offset, in.b.leading, in.b.stride, in.b.swizzle);
  tlc::wgmma_fence();
  if constexpr (Way::registers)
    Types::template multiply<Way, N>(sum, static_cast<const std::uint32_t *>(a), right, in.metadata[thread], add);
  else
    Types::template multiply<Way, N>(sum, left, right, in.metadata[thread], add);
  tlc::wgmma_commit();
  tlc::wgmma_wait<0>();
  tlc::wgmma_pin<N / 2>(sum);
  for (int i = 0; i < N / 2; ++i)
    out[(N / 8 - 1) * 64 * 256 + place(i)] = sum[i];
}

/// All widths where operands lie as everybody has them; of other ways some.
template <class Types, class Way> __host__ __device__ constexpr bool isCompared(int n) {
  const bool isPlain = !Way::registers && !Way::transA && !Way::transB;
  return (Types::allWidths || n % 16 == 0 || n <= 24) &&
         (isPlain || n == 8 || n == 24 || n == 64 || n == 192 || n == 256);
}
template <class Types, class Way, int N>
__device__ void multiplyFrom(const Input &in, const unsigned char *arena, bool add, typename Types::Sum *out) {
  if constexpr (isCompared<Types, Way>(N))
    multiply<Types, Way, N>(in, arena, add, out);
  if constexpr (N < 256)
    multiplyFrom<Types, Way, N + 8>(in, arena, add, out);
}
template <class Types, class Way>
__global__ void __launch_bounds__(128) products(Input in, bool add, typename Types::Sum *out) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  for (int i = int(threadIdx.x); i < in.a.bytes; i += 128)
    arena[i] = in.left[i];
  for (int i = int(threadIdx.x); i < in.b.bytes; i += 128)
    arena[rightAt + i] = in.right[i];
  tlc::fence_proxy_async();
  __syncthreads();
  multiplyFrom<Types, Way, 8>(in, arena, add, out);
}

// ---- on the host: matrices, and how they lie in shared memory

struct Matrix { // [rows][k] elements; rows are those of m or n
  Element type;
  int rows, k;
  std::vector<std::uint64_t> bits;
  std::vector<double> values;
  Matrix(Element e, int rows, int k, Numbers kind, Random &random) : type(e), rows(rows), k(k) {
    for (int i = 0; i < rows * k; ++i) {
      bits.push_back(randomBits(e, kind, random));
      values.push_back(valueOf(e, bits.back()));
    }
  }
  double value(int row, int i) const { return values[std::size_t(row * k + i)]; }
};

std::size_t swizzled(std::size_t at, int swizzle) {
  return swizzle ? at ^ (at >> 3 & std::size_t(swizzle - 16)) : at;
}
/// Whether rows of so many bytes along k fit the swizzle.
bool fits(int swizzle, int bytes) { return !swizzle || bytes <= swizzle; }

/// A tile's bytes, and its description.
Operand layOut(const Matrix &m, int swizzle, bool isTransposed, std::vector<unsigned char> &tile) {
  const int size = formatOf(m.type).bits / 8, width = swizzle ? swizzle : 16, across = m.k * size;
  Operand out{};
  if (isTransposed)
    out = swizzle ? Operand{0, 0, m.k * width, 8 * width, swizzle} : Operand{0, 0, 8 * width, m.k * width, 0};
  else // a row's last bytes, as of the last step along k
    out = swizzle ? Operand{0, width - across, 16, 8 * width, swizzle} : Operand{0, 0, m.rows * 16, 8 * 16, 0};
  tile.assign(32 << 10, 0);
  std::size_t end = 0;
  for (int row = 0; row < m.rows; ++row)
    for (int k = 0; k < m.k; ++k) {
      std::size_t at;
      if (isTransposed)
        at = std::size_t(row * size / width * m.k * width + k * width + row * size % width);
      else if (swizzle)
        at = std::size_t(row * width + out.offset + k * size);
      else
        at = std::size_t(k * size / 16 * m.rows * 16 + row * 16 + k * size % 16);
      at = swizzled(at, swizzle);
      std::memcpy(tile.data() + at, &m.bits[std::size_t(row * m.k + k)], std::size_t(size));
      end = std::max(end, at + std::size_t(size));
    }
  out.bytes = int((end + 1023) / 1024 * 1024);
  return out;
}
/// A as threads have it: register i holds neighbours along k of row lane / 4 (+ 8).
std::vector<unsigned char> registersOf(const Matrix &a) {
  const int bits = formatOf(a.type).bits, together = 32 / bits;
  std::vector<unsigned char> out(128 * 16);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 4 * together; ++i) {
      const int word = i / together, row = t / 32 * 16 + t % 32 / 4 + word % 2 * 8;
      setBitsAt(out.data(), std::size_t(t * 4 * together + i), bits,
                a.bits[std::size_t(row * a.k + (word / 2 * 4 + t % 4) * together + i % together)]);
    }
  return out;
}

template <class Types, class Way> struct Run {
  static constexpr int k = Types::k * (Way::sparse ? 2 : 1);
  std::FILE *file;
  std::string name;

  Run(std::FILE *f) : file(f) {
    name = std::string("wgmma") + (Way::sparse ? ".sp" : "") + (Way::registers ? ".rs" : ".ss") +
           (Way::transA ? ".t" : ".n") + (Way::transB ? "t" : "n") + (Way::sparse && Way::selector ? ".lanes23" : "") +
           "_" + Types::name;
    int number = 0;
    for (int kind = 0; kind < (formatOf(Types::a).exponent ? int(kinds) : int(spread) + 1); ++kind)
      for (int n = 0; n < 2; ++n)
        run(Numbers(kind), number++);
  }
  int swizzleOf(int number, bool isTransposed, int bytes) {
    static constexpr int all[] = {128, 0, 64, 32};
    while (!isTransposed && !fits(all[number % 4], bytes))
      ++number;
    return all[number % 4];
  }
  void run(Numbers kind, int number) {
    Random random{std::uint64_t(number) * 977 + std::uint64_t(Types::k) + std::uint64_t(Way::sparse) * 5};
    const int bitsC = formatOf(Types::c).bits, size = formatOf(Types::a).bits / 8;
    const bool add = number % 2;
    const Matrix a(Types::a, 64, Types::k, kind, random), b(Types::b, 256, k, kind, random);
    const Pattern pattern(Types::a, 64, Types::k * 2, random);
    std::vector<unsigned char> sums(std::size_t(64 * 256 * bitsC / 8)), words(128 * 4), left, right;
    for (std::size_t i = 0; i < 64 * 256; ++i)
      setBitsAt(sums.data(), i, bitsC, randomBits(Types::c, kind == cancelling ? spread : kind, random));
    for (int t = 0; t < 128; ++t)
      setBitsAt(words.data(), std::size_t(t), 32, pattern.word(t % 32, t / 32 * 16, Way::selector));
    Input in{};
    in.a = layOut(a, swizzleOf(number, Way::transA, Types::k * size), Way::transA, left);
    in.b = layOut(b, swizzleOf(number + number / 4, Way::transB, k * size), Way::transB, right);
    in.left = upload(left), in.right = upload(right), in.sums = upload(sums);
    in.registers = reinterpret_cast<const std::uint32_t *>(upload(registersOf(a)));
    in.metadata = reinterpret_cast<const std::uint32_t *>(upload(words));
    std::vector<unsigned char> result(32 * sums.size());
    unsigned char *out = upload(result);
    start(products<Types, Way>, 1, 128, arenaBytes, in, add, reinterpret_cast<typename Types::Sum *>(out));
    check(cudaMemcpy(result.data(), out, result.size(), cudaMemcpyDeviceToHost));
    for (const void *p : {static_cast<const void *>(in.left), static_cast<const void *>(in.right),
                          static_cast<const void *>(in.sums), static_cast<const void *>(in.registers),
                          static_cast<const void *>(in.metadata), static_cast<const void *>(out)})
      check(cudaFree(const_cast<void *>(p)));
    const unsigned char *widest = result.data() + 31 * sums.size();
    std::fprintf(file, "product %s %s %d\n", name.c_str(), numberNames[kind], number);
    for (int i = 0; i < 64; ++i)
      for (int j = i % 16; j < 256; j += 16) {
        Exact exact(add ? valueOf(Types::c, bitsAt(sums.data(), std::size_t(i * 256 + j), bitsC)) : 0);
        for (int x = 0; x < Types::k; ++x)
          exact.add(a.value(i, x), b.value(j, Way::sparse ? pattern.place(i, x) : x));
        exact.print(file, bitsAt(widest, std::size_t(i * 256 + j), bitsC));
      }
    for (int n = 8; n < 256; n += 8)
      if (isCompared<Types, Way>(n))
        compareWidth(n, result.data() + std::size_t(n / 8 - 1) * sums.size(), widest, bitsC);
  }
  /// A narrower product's sums are the first columns of the widest one's.
  void compareWidth(int n, const unsigned char *narrow, const unsigned char *widest, int bits) {
    int differ = 0;
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < n; ++j)
        differ += bitsAt(narrow, std::size_t(i * 256 + j), bits) != bitsAt(widest, std::size_t(i * 256 + j), bits);
    std::fprintf(file, "width %s %d %d\n", name.c_str(), n, differ);
  }
};

template <class Types, bool Sparse> void runTypes(std::FILE *file) {
  if constexpr (Types::k == 16) {
    Run<Types, Way<Sparse, false, 0, 0, 0>>{file};
    Run<Types, Way<Sparse, false, 1, 0, 1>>{file};
    Run<Types, Way<Sparse, false, 1, 1, 0>>{file};
    Run<Types, Way<Sparse, false, 0, 1, 1>>{file};
    Run<Types, Way<Sparse, true, 0, 0, 0>>{file};
    Run<Types, Way<Sparse, true, 1, 0, 1>>{file};
  } else {
    Run<Types, Way<Sparse, false, 0, 0, 0>>{file};
    Run<Types, Way<Sparse, true, Types::k == 8, 0, 0>>{file};
  }
}

} // namespace

int main(int argc, char **argv) {
  std::FILE *file = openResults(argc, argv);
#define COMPARE_ONE(Types)                                                                                  \
  runTypes<Types, false>(file);                                                                             \
  runTypes<Types, true>(file);
  COMPARE_ALL(COMPARE_ONE)
  return std::fclose(file);
}
