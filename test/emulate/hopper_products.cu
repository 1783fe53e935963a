// Products of a warpgroup: all types, both sides of operands contiguous, every swizzle, A from registers;
// and what may go wrong around one.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "hopper.h"

namespace {

// ---- the types: how elements are made, what they are worth, which function multiplies them

double small(int bits, int exponent_bits, int bias) {
  const int mantissa_bits = 7 - exponent_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const double fraction = double(mantissa) / (1 << mantissa_bits) + (exponent ? 1 : 0);
  return std::ldexp(bits & 128 ? -fraction : fraction, (exponent ? exponent : 1) - bias);
}
struct e4m3 {
  uint8_t bits;
  static e4m3 make(size_t i) { return {uint8_t((i * 89 & 127) % 0x58 | (i & 1) << 7)}; }
  double value() const { return small(bits, 4, 7); }
};
struct e5m2 {
  uint8_t bits;
  static e5m2 make(size_t i) { return {uint8_t((i * 89 & 127) % 0x44 | (i & 1) << 7)}; }
  double value() const { return small(bits, 5, 15); }
};
struct s8 {
  int8_t bits;
  static s8 make(size_t i) { return {int8_t(i * 89)}; }
  double value() const { return bits; }
};
struct u8 {
  uint8_t bits;
  static u8 make(size_t i) { return {uint8_t(i * 89)}; }
  double value() const { return bits; }
};
struct f16 {
  __half bits;
  static f16 make(size_t i) { return {__half(number(i))}; }
  double value() const { return double(float(bits)); }
};
struct bf16 {
  __nv_bfloat16 bits;
  static bf16 make(size_t i) { return {__nv_bfloat16(number(i))}; }
  double value() const { return double(float(bits)); }
};
struct tf32 {
  float bits;
  static tf32 make(size_t i) { return {number(i)}; }
  double value() const { return double(bits); }
};

template <class T>
constexpr CUtensorMapDataType map_type = sizeof(T) == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                         : sizeof(T) == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                          : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;

#define TRANSPOSABLE(Name, N, K, a, b, c, C)                                                       \
  struct Name {                                                                                    \
    using A = a;                                                                                   \
    using B = b;                                                                                   \
    using Sum = C;                                                                                 \
    static constexpr int n = N, k = K;                                                             \
    template <int TransA, int TransB, class Left>                                                  \
    static void multiply(C *sum, Left left, uint64_t right, bool add) {                            \
      if constexpr (std::is_same_v<Left, uint64_t>)                                                \
        tlc::wgmma_m64n##N##k##K##_##a##_##b##_##c##_ss<TransA, TransB>(sum, left, right, add);    \
      else                                                                                         \
        tlc::wgmma_m64n##N##k##K##_##a##_##b##_##c##_rs<TransB>(sum, left, right, add);            \
    }                                                                                              \
  };
#define PLAIN(Name, N, K, a, b, c, C)                                                              \
  struct Name {                                                                                    \
    using A = a;                                                                                   \
    using B = b;                                                                                   \
    using Sum = C;                                                                                 \
    static constexpr int n = N, k = K;                                                             \
    template <int, int, class Left>                                                                \
    static void multiply(C *sum, Left left, uint64_t right, bool add) {                            \
      if constexpr (std::is_same_v<Left, uint64_t>)                                                \
        tlc::wgmma_m64n##N##k##K##_##a##_##b##_##c##_ss(sum, left, right, add);                    \
      else                                                                                         \
        tlc::wgmma_m64n##N##k##K##_##a##_##b##_##c##_rs(sum, left, right, add);                    \
    }                                                                                              \
  };
TRANSPOSABLE(Half, 64, 16, f16, f16, f32, float)
TRANSPOSABLE(HalfSums, 128, 16, f16, f16, f16, __half)
TRANSPOSABLE(Brain, 192, 16, bf16, bf16, f32, float)
PLAIN(Tensor, 40, 8, tf32, tf32, f32, float)
PLAIN(Small, 64, 32, e4m3, e5m2, f32, float)
PLAIN(SmallSums, 32, 32, e4m3, e4m3, f16, __half)
PLAIN(Smaller, 256, 32, e5m2, e4m3, f32, float)
PLAIN(Signed, 24, 32, s8, s8, s32, int32_t)
PLAIN(Unsigned, 224, 32, u8, u8, s32, int32_t)
PLAIN(Mixed, 48, 32, s8, u8, s32, int32_t)

// ---- one product of 64 x n x 128 bytes

/// A tile of `rows` rows of `bytes` bytes lies in panels of Swizzle (0: 16) bytes, each all rows high.
template <int Swizzle> constexpr int panel = Swizzle ? Swizzle : 16;

/// An operand's descriptor for step `k` of 32 bytes along k.
template <int Swizzle, int Trans>
__device__ uint64_t operand(const unsigned char *tile, int size, int depth, int k) {
  constexpr int width = panel<Swizzle>;
  if constexpr (Trans) { // rows are k, panels go along m or n
    const unsigned char *const at = tile + k * 16 * width;
    return Swizzle ? tlc::wgmma_descriptor(at, depth * width, 8 * width, Swizzle)
                   : tlc::wgmma_descriptor(at, 8 * width, depth * width, 0);
  } else {
    const unsigned char *const at = tile + k * 32 / width * size * width + k * 32 % width;
    return tlc::wgmma_descriptor(at, size * width, 8 * width, Swizzle);
  }
}

template <class P, int Swizzle, int TransA, int TransB, bool Registers>
__global__ void __launch_bounds__(128)
    product(const __grid_constant__ CUtensorMap A_map, const __grid_constant__ CUtensorMap B_map,
            const unsigned char *__restrict__ A, typename P::Sum *__restrict__ C) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  constexpr int depth = 128 / sizeof(typename P::A), n = P::n, width = panel<Swizzle>;
  unsigned char *const A_shared = arena, *const B_shared = arena + 64 * 128;
  uint64_t *const full = reinterpret_cast<uint64_t *>(B_shared + 256 * 128);
  const int tid = int(threadIdx.x), warp = tid / 32, lane = tid % 32;
  if (tid == 0) {
    tlc::mbarrier_init(full, 1);
    tlc::fence_mbarrier_init();
  }
  __syncthreads();
  if (tid == 0) {
    constexpr int per = width / int(sizeof(typename P::A));
    tlc::mbarrier_arrive_expect_tx(full, (64 + n) * 128);
    for (int p = 0; p < (TransA ? 64 : depth) / per; ++p)
      tlc::tma_load_2d(A_shared + p * width * (TransA ? depth : 64), &A_map, full, p * per, 0);
    for (int p = 0; p < (TransB ? n : depth) / per; ++p)
      tlc::tma_load_2d(B_shared + p * width * (TransB ? depth : n), &B_map, full, p * per, 0);
  }
  tlc::mbarrier_wait(full, 0);
  alignas(16) typename P::Sum sum[n / 2];
  uint32_t a[4][4];
  if (Registers)
    for (int k = 0; k < 4; ++k)
      for (int i = 0; i < 4; ++i)
        a[k][i] = *reinterpret_cast<const uint32_t *>(A + (warp * 16 + lane / 4 + i % 2 * 8) * 128 + k * 32 +
                                                      i / 2 * 16 + lane % 4 * 4);
  tlc::wgmma_fence();
  for (int k = 0; k < 4; ++k)
    if constexpr (Registers)
      P::template multiply<0, TransB>(sum, static_cast<const uint32_t *>(a[k]), operand<Swizzle, TransB>(B_shared, n, depth, k), k > 0);
    else
      P::template multiply<TransA, TransB>(sum, operand<Swizzle, TransA>(A_shared, 64, depth, k),
                                           operand<Swizzle, TransB>(B_shared, n, depth, k), k > 0);
  tlc::wgmma_commit();
  tlc::wgmma_wait<0>();
  tlc::wgmma_pin<n / 2>(sum);
  for (int i = 0; i < n / 2; ++i)
    C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * n + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

template <class P, int Swizzle = 128, int TransA = 0, int TransB = 0, bool Registers = false> bool multiply() {
  using A = typename P::A;
  using B = typename P::B;
  constexpr int depth = 128 / sizeof(A), n = P::n, per = panel<Swizzle> / int(sizeof(A));
  std::vector<A> a(64 * depth);
  std::vector<B> b(n * depth);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = A::make(i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = B::make(i + 77777);
  const A *left = upload(a);
  const B *right = upload(b);
  auto *sums = reserve<typename P::Sum>(64 * n);
  const auto map = [&](auto *base, int size, int trans) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(base)>>;
    const int rows = trans ? depth : size, columns = trans ? size : depth;
    return matrixMap(base, rows, columns, columns, rows, per, Swizzle, map_type<T>);
  };
  if (!start(product<P, Swizzle, TransA, TransB, Registers>, {1, 128, 64 * 128 + 256 * 128 + 8},
             map(left, 64, TransA), map(right, n, TransB), reinterpret_cast<const unsigned char *>(left), sums))
    return false;
  const auto result = download(sums, 64 * n);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int k = 0; k < depth; ++k) {
        const double x = a[size_t(TransA ? k * 64 + i : i * depth + k)].value() * b[size_t(TransB ? k * n + j : j * depth + k)].value();
        sum += x, size += std::fabs(x);
      }
      if (std::fabs(sum - double(float(result[i * n + j]))) > size * (sizeof(typename P::Sum) == 2 ? 2e-3 : 1e-6))
        return false;
    }
  return true;
}

template <class P> bool swizzles() { // K-major operands, and A in registers
  return multiply<P, 0>() && multiply<P, 32>() && multiply<P, 64>() && multiply<P, 128>() &&
         multiply<P, 128, 0, 0, true>() && multiply<P, 32, 0, 0, true>();
}
template <class P, int TransA, int TransB> bool transposed() {
  return multiply<P, 0, TransA, TransB>() && multiply<P, 32, TransA, TransB>() &&
         multiply<P, 64, TransA, TransB>() && multiply<P, 128, TransA, TransB>();
}

// ---- operands that threads write, registers that products still use

enum Fault {
  clean,
  notFenced,
  fencedTooEarly,
  noBarrier,
  overwrittenInFlight,
  leftOverwritten,
  leftNotFenced,
  noFence,
  laneSkips,
  differentDescriptors,
  sumsWritten,
  endsInFlight,
  waitBeforeCommit,
  tileMisaligned,
  halfAWarpgroup,
};

template <int Fault>
__global__ void __launch_bounds__(128) by_threads(const __half *__restrict__ A, const __half *__restrict__ B,
                                                  float *__restrict__ C, int rounds) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 1024);
  unsigned char *const B_shared = arena + (Fault == tileMisaligned ? 128 : 0);
  const int tid = int(threadIdx.x), warp = tid / 32, lane = tid % 32;
  alignas(16) float sum[16] = {};
  uint32_t a[4];
  for (int round = 0; round < rounds; ++round) {
    // 32 columns of B, 64 elements along k each: unit u of row r lies at u ^ r % 8.
    if (Fault == fencedTooEarly)
      tlc::fence_proxy_async();
    for (int i = tid; i < 32 * 8; i += 128)
      tlc::copy<16>(B_shared + i / 8 * 128 + (i % 8 ^ i / 8 % 8) * 16, B + (round * 32 + i / 8) * 64 + i % 8 * 8); // mark: fill
    if (Fault != notFenced && Fault != fencedTooEarly)
      tlc::fence_proxy_async();
    if (Fault != noBarrier)
      __syncthreads();
    for (int k = 0; k < 4; ++k) {
      if (Fault != leftOverwritten && k > 0)
        tlc::wgmma_wait<0>();
      for (int i = 0; i < 4; ++i)
        a[i] = *reinterpret_cast<const uint32_t *>(A + (warp * 16 + lane / 4 + i % 2 * 8) * 64 + k * 16 + i / 2 * 8 + lane % 4 * 2); // mark: left
      if (Fault != noFence && (Fault != leftNotFenced || k == 0))
        tlc::wgmma_fence();
      if (Fault == laneSkips && tid == 77)
        continue;
      const int step = Fault == differentDescriptors && warp == 2 ? 0 : k;
      tlc::wgmma_m64n32k16_f16_f16_f32_rs<0>(sum, a, tlc::wgmma_descriptor(B_shared + step * 32, 16, 1024, 128), true); // mark: product
      if (Fault != waitBeforeCommit)
        tlc::wgmma_commit();
    }
    if (Fault == overwrittenInFlight)
      tlc::copy<16>(B_shared + tid * 16, B + tid * 8); // mark: overwrite
    if (Fault == sumsWritten)
      sum[3] *= 2; // mark: scale
    if (Fault != endsInFlight || round + 1 < rounds)
      tlc::wgmma_wait<0>();
    if (Fault == waitBeforeCommit)
      tlc::wgmma_commit();
    if (Fault == endsInFlight && round + 1 == rounds)
      return;
    __syncthreads();
  }
  tlc::wgmma_pin<16>(sum);
  for (int i = 0; i < 16; ++i)
    C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 32 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i]; // mark: result
}

template <int Fault> bool byThreads() {
  const int rounds = 3;
  const std::vector<__half> a = halves(64 * 64, 0), b = halves(rounds * 32 * 64, 5);
  float *c = reserve<float>(64 * 32);
  if (!start(by_threads<Fault>, {1, Fault == halfAWarpgroup ? 96u : 128u, 32 * 128 + 1024}, upload(a), upload(b), c, rounds))
    return false;
  const auto result = download(c, 64 * 32);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 32; ++j) {
      double sum = 0;
      for (int round = 0; round < rounds; ++round)
        for (int k = 0; k < 64; ++k)
          sum += double(float(a[size_t(i * 64 + k)])) * double(float(b[size_t((round * 32 + j) * 64 + k)]));
      if (std::fabs(sum - result[i * 32 + j]) > 1e-4)
        return false;
    }
  return true;
}

} // namespace

void addHopperProducts(std::vector<Case> &cases) {
  const Case all[] = {
      {"products: f16", swizzles<Half>, "", ""},
      {"products: f16, sums in f16", swizzles<HalfSums>, "", ""},
      {"products: bf16", swizzles<Brain>, "", ""},
      {"products: tf32", swizzles<Tensor>, "", ""},
      {"products: e4m3 e5m2", swizzles<Small>, "", ""},
      {"products: e4m3, sums in f16", swizzles<SmallSums>, "", ""},
      {"products: e5m2 e4m3", swizzles<Smaller>, "", ""},
      {"products: s8", swizzles<Signed>, "", ""},
      {"products: u8", swizzles<Unsigned>, "", ""},
      {"products: s8 u8", swizzles<Mixed>, "", ""},
      {"products: A along m", transposed<Half, 1, 0>, "", ""},
      {"products: B along n", transposed<Half, 0, 1>, "", ""},
      {"products: both along m, n", transposed<Brain, 1, 1>, "", ""},
      {"products: A in registers, B along n", multiply<HalfSums, 64, 0, 1, true>, "", ""},
      {"by threads", byThreads<clean>, "", ""},
      {"by threads: operand not fenced", byThreads<notFenced>, "proxy", "fill"},
      {"by threads: fenced before it is written", byThreads<fencedTooEarly>, "proxy", "fill"},
      {"by threads: no barrier", byThreads<noBarrier>, "race,uninitialised", "fill,product"},
      {"by threads: operand overwritten in flight", byThreads<overwrittenInFlight>, "race", "overwrite,product"},
      {"by threads: A overwritten in flight", byThreads<leftOverwritten>, "in-flight", "left"},
      {"by threads: A not fenced", byThreads<leftNotFenced>, "wgmma-fence", "product"},
      {"by threads: no fence at all", byThreads<noFence>, "wgmma-fence", "product"},
      {"by threads: a lane skips products", byThreads<laneSkips>, "collective,deadlock,exit,in-flight,wgmma-fence", "product,left"},
      {"by threads: warps give different descriptors", byThreads<differentDescriptors>, "collective", "product"},
      {"by threads: sums written in flight", byThreads<sumsWritten>, "in-flight", "scale"},
      {"by threads: ends in flight", byThreads<endsInFlight>, "exit", "product"},
      {"by threads: waits before it commits", byThreads<waitBeforeCommit>, "in-flight,exit,race", "result,left,fill"},
      {"by threads: tile not at its swizzle's repeat", byThreads<tileMisaligned>, "descriptor", "product"},
      {"by threads: half a warpgroup", byThreads<halfAWarpgroup>, "collective", "product"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
