// Products of waves: every MFMA and WMMA, and a pipelined product with each way to break it.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "hip.h"

namespace {

// ---- Each product on numbers that it holds exactly

enum class Kind { f16, bf16, f32, tf32, f64, s8, u8, e4m3, e5m2, e4m3fnuz, e5m2fnuz, s32 };

/// Bits of a small number (a multiple of 1/4 within 1.75, integers within 7); all formats have it.
double small(size_t i, Kind kind) {
  const int n = int(i * 2654435761u >> 20 & 15);
  const bool isInt = kind == Kind::s8 || kind == Kind::u8 || kind == Kind::s32;
  return kind == Kind::u8 ? n : isInt ? n - 8 : (n - 8) * 0.25;
}
template <class T> void put(void *to, T value) { std::memcpy(to, &value, sizeof value); }
int bytesOf(Kind kind) {
  switch (kind) {
  case Kind::f16:
  case Kind::bf16:
    return 2;
  case Kind::f32:
  case Kind::tf32:
  case Kind::s32:
    return 4;
  case Kind::f64:
    return 8;
  default:
    return 1;
  }
}
/// An 8-bit float by its exponent's bias; the numbers above are exact in all four formats.
uint8_t float8(double value, int mantissa, int bias) {
  if (value == 0)
    return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent) * 2; // in [1, 2)
  const int digits = int((fraction - 1) * (1 << mantissa));
  return uint8_t((value < 0 ? 0x80 : 0) | (exponent - 1 + bias) << mantissa | digits);
}
void encode(unsigned char *to, Kind kind, double value) {
  switch (kind) {
  case Kind::f16:
    return put(to, __half(float(value)));
  case Kind::bf16:
    return put(to, uint16_t(tlc::bit_cast<uint32_t>(float(value)) >> 16));
  case Kind::f32:
  case Kind::tf32:
    return put(to, float(value));
  case Kind::f64:
    return put(to, value);
  case Kind::s8:
    return put(to, int8_t(value));
  case Kind::u8:
    return put(to, uint8_t(value));
  case Kind::s32:
    return put(to, int32_t(value));
  case Kind::e4m3:
    return put(to, float8(value, 3, 7));
  case Kind::e5m2:
    return put(to, float8(value, 2, 15));
  case Kind::e4m3fnuz:
    return put(to, float8(value, 3, 8));
  case Kind::e5m2fnuz:
    return put(to, float8(value, 2, 16));
  }
}
double decode(const unsigned char *from, Kind kind) {
  if (kind == Kind::f64)
    return *reinterpret_cast<const double *>(from);
  if (kind == Kind::s32)
    return *reinterpret_cast<const int32_t *>(from);
  if (kind == Kind::f16)
    return float(*reinterpret_cast<const __half *>(from));
  return *reinterpret_cast<const float *>(from);
}

template <class Atom>
__global__ void multiply(const unsigned char *a, const unsigned char *b, const unsigned char *c, unsigned char *d,
                         int bytesA, int bytesB, int bytesC) {
  const int lane = int(threadIdx.x);
  alignas(16) unsigned char left[32], right[32], sum[64];
  for (int i = 0; i < bytesA; ++i)
    left[i] = a[lane * bytesA + i];
  for (int i = 0; i < bytesB; ++i)
    right[i] = b[lane * bytesB + i];
  for (int i = 0; i < bytesC; ++i)
    sum[i] = c[lane * bytesC + i];
  Atom::run(sum, left, right);
  for (int i = 0; i < bytesC; ++i)
    d[lane * bytesC + i] = sum[i];
}

struct Layout {
  int lanes, countA, countB, countC, strideC;
  bool is11;
};
/// From the instruction manuals, apart from what the emulator has.
int rowOfSum(int lane, int i, int n, int lanes, bool is11) {
  if (lanes == 32)
    return is11 ? 2 * i + lane / 16 : 8 * (lane / 16) + i;
  return n == 16 ? 4 * (lane / 16) + i : 8 * (i / 4) + 4 * (lane / 32) + i % 4;
}
template <class Atom> bool product() {
  const int m = Atom::m, n = Atom::n, k = Atom::k;
  tlc::device_limits limits;
  if (tlc::query("test", 0, &limits) != TLC_OK)
    return false;
  if (limits.capability < Atom::first || limits.capability > Atom::last)
    return true; // the device does not have it; another case asks for one that does
  const bool is11 = limits.capability >= 0x1100 && limits.capability < 0x1200;
  const Layout l = {limits.wave, is11 ? k : m * k / limits.wave, is11 ? k : n * k / limits.wave,
                    m * n / limits.wave, is11 && Atom::c == Kind::f16 ? 2 : 1, is11};
  const int sizeA = bytesOf(Atom::a), sizeB = bytesOf(Atom::b), sizeC = bytesOf(Atom::c);
  const int bytesA = l.countA * sizeA, bytesB = l.countB * sizeB, bytesC = l.countC * l.strideC * sizeC;
  std::vector<unsigned char> a(size_t(l.lanes * bytesA)), b(size_t(l.lanes * bytesB)), c(size_t(l.lanes * bytesC));
  const auto A = [&](int row, int column) { return small(size_t(row * 64 + column), Atom::a); };
  const auto B = [&](int row, int column) { return small(size_t(5000 + row * 64 + column), Atom::b); };
  const auto C = [&](int row, int column) { return small(size_t(9000 + row * 64 + column), Atom::c); };
  for (int lane = 0; lane < l.lanes; ++lane) {
    for (int i = 0; i < l.countA; ++i)
      encode(&a[size_t(lane * bytesA + i * sizeA)], Atom::a, A(lane % m, l.is11 ? i : lane / m * l.countA + i));
    for (int i = 0; i < l.countB; ++i)
      encode(&b[size_t(lane * bytesB + i * sizeB)], Atom::b, B(l.is11 ? i : lane / n * l.countB + i, lane % n));
    for (int i = 0; i < l.countC; ++i)
      encode(&c[size_t(lane * bytesC + i * l.strideC * sizeC)], Atom::c,
             C(rowOfSum(lane, i, n, l.lanes, l.is11), lane % n));
  }
  unsigned char *d = reserve<unsigned char>(c.size());
  if (!startHip(multiply<Atom>, {1, unsigned(l.lanes)}, upload(a), upload(b), upload(c), d, bytesA, bytesB, bytesC))
    return false;
  const auto result = download(d, c.size());
  for (int lane = 0; lane < l.lanes; ++lane)
    for (int i = 0; i < l.countC; ++i) {
      const int row = rowOfSum(lane, i, n, l.lanes, l.is11), column = lane % n;
      double want = C(row, column);
      for (int x = 0; x < k; ++x)
        want += A(row, x) * B(x, column);
      if (decode(&result[size_t(lane * bytesC + i * l.strideC * sizeC)], Atom::c) != want) {
        std::fprintf(stderr, "%s: lane %d, element %d\n", Atom::name, lane, i);
        return false;
      }
    }
  return true;
}
#define EMU_PRODUCT(form, M, N, K, KA, KB, KC, EA, EB, TA, TB, TC, low, high)                                     \
  struct form##_m##M##n##N##k##K##_##KA##_##KB##_##KC {                                                           \
    static constexpr const char *name = #form "_m" #M "n" #N "k" #K "_" #KA "_" #KB "_" #KC;                       \
    static constexpr int m = M, n = N, k = K, first = low, last = high;                                           \
    static constexpr Kind a = Kind::EA, b = Kind::EB, c = Kind::KC;                                               \
    static __device__ void run(void *sum, const void *left, const void *right) {                                  \
      tlc::form##_m##M##n##N##k##K##_##KA##_##KB##_##KC(static_cast<TC *>(sum), static_cast<const TA *>(left),    \
                                                        static_cast<const TB *>(right));                         \
    }                                                                                                             \
  };
#include "../../runtime/emulate/device/hip/products.def"

bool allProducts() {
  bool right = true;
#define EMU_PRODUCT(form, M, N, K, KA, KB, KC, EA, EB, TA, TB, TC, low, high)                                     \
  right &= product<form##_m##M##n##N##k##K##_##KA##_##KB##_##KC>();
#include "../../runtime/emulate/device/hip/products.def"
  return right;
}

// ---- A product that gfx90a does not have, and operands that differ between the halves of a wave of gfx11

__global__ void eight_bits(float *out) {
  alignas(16) float sum[4] = {};
  alignas(16) uint8_t a[8] = {}, b[8] = {};
  tlc::mfma_m16n16k32_e4m3fnuz_e4m3fnuz_f32(sum, a, b); // mark: product
  out[threadIdx.x] = sum[0];
}
bool eightBits() { return startHip(eight_bits, {1, 64}, reserve<float>(64)); }

template <int Fault> __global__ void halves(float *out) {
  const int lane = int(threadIdx.x);
  alignas(16) float sum[8] = {};
  alignas(16) __half a[16], b[16];
  for (int i = 0; i < 16; ++i) {
    a[i] = __half(float((Fault == 1 ? lane : lane % 16) + i));
    b[i] = __half(float(lane % 16 - i));
  }
  tlc::wmma_m16n16k16_f16_f16_f32(sum, a, b); // mark: product
  for (int i = 0; i < 8; ++i)
    out[lane * 8 + i] = sum[i];
}
template <int Fault> bool halfWave() { return startHip(halves<Fault>, {1, 32}, reserve<float>(32 * 8)); }

// ---- C = A B, 32 x 32 for each block of four waves, in steps of 32 along k, loads one step ahead

enum Gemm {
  clean,
  noBarrier,
  noBarrierBack,
  waveSkipsBarrier,
  sumNotCleared,
  laneSkipsProduct,
  fragmentNotLoaded,
  storePastTheEnd,
};
template <int Fault>
__global__ void __launch_bounds__(256) gemm(const __half *A, const __half *B, float *C, int n, int k) {
  TLC_DYNAMIC_SHARED(unsigned char, arena, 128);
  __half *const A_s = reinterpret_cast<__half *>(arena); // [32][32], B_s behind it [column][k]
  __half *const B_s = A_s + 1024;
  const int tid = int(threadIdx.x), lane = tid & 63, wave = tid >> 6;
  const int row = wave / 2 * 16, column = wave % 2 * 16;
  alignas(16) float sum[4];
  if (Fault != sumNotCleared)
    for (int i = 0; i < 4; ++i)
      sum[i] = 0;
  alignas(16) __half next_a[4], next_b[4];
  tlc::copy<8>(next_a, &A[tid / 8 * k + tid % 8 * 4]);
  tlc::copy<8>(next_b, &B[tid / 8 * k + tid % 8 * 4]);
  for (int at = 0; at < k; at += 32) {
    tlc::copy<8>(&A_s[tid * 4], next_a); // mark: fill
    tlc::copy<8>(&B_s[tid * 4], next_b);
    if (Fault != noBarrier && (Fault != waveSkipsBarrier || wave != 1))
      __syncthreads(); // mark: barrier
    if (at + 32 < k) {
      tlc::copy<8>(next_a, &A[tid / 8 * k + at + 32 + tid % 8 * 4]);
      tlc::copy<8>(next_b, &B[tid / 8 * k + at + 32 + tid % 8 * 4]);
    }
    for (int step = 0; step < 2; ++step) {
      alignas(16) __half a[4], b[4];
      tlc::copy<8>(a, &A_s[(row + lane % 16) * 32 + step * 16 + lane / 16 * 4]); // mark: use
      if (Fault != fragmentNotLoaded)
        tlc::copy<8>(b, &B_s[(column + lane % 16) * 32 + step * 16 + lane / 16 * 4]); // mark: use
      if (Fault != laneSkipsProduct || lane != 9)
        tlc::mfma_m16n16k16_f16_f16_f32(sum, a, b); // mark: product
    }
    if (Fault != noBarrierBack)
      __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    C[(row + lane / 16 * 4 + i) * n + column + lane % 16 + (Fault == storePastTheEnd)] = sum[i]; // mark: store
}
template <int Fault> bool runGemm() {
  const int n = 32, k = 96;
  std::vector<__half> a(n * k), b(n * k);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = __half(number(i)), b[i] = __half(number(i + 777));
  float *c = reserve<float>(n * n);
  if (!startHip(gemm<Fault>, {1, 256, 4096}, upload(a), upload(b), c, n, k))
    return false;
  const auto result = download(c, n * n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float want = 0;
      for (int x = 0; x < k; ++x)
        want += float(a[size_t(i * k + x)]) * float(b[size_t(j * k + x)]);
      if (std::fabs(result[size_t(i * n + j)] - want) > 1e-3f)
        return false;
    }
  return true;
}

} // namespace

void addHipProducts(std::vector<Case> &cases) {
  const Case all[] = {
      {"products of gfx908", allProducts, "", "", "gfx908"},
      {"products of gfx90a", allProducts, "", "", "gfx90a"},
      {"products of gfx942", allProducts, "", "", "gfx942"},
      {"products of gfx950", allProducts, "", "", "gfx950"},
      {"products of gfx1100", allProducts, "", "", "gfx1100"},
      {"products of gfx1201", allProducts, "", "", "gfx1201"},
      {"8-bit product", eightBits, "", "", "gfx942"},
      {"8-bit product: not of this device", eightBits, "device", "product", "gfx90a"},
      {"halves", halfWave<0>, "", "", "gfx1100"},
      {"halves: different operands", halfWave<1>, "wave-halves", "product", "gfx1100"},
      {"mfma", runGemm<clean>, "", "", "gfx90a"},
      {"mfma: on gfx942", runGemm<clean>, "", "", "gfx942"},
      {"mfma: no barrier", runGemm<noBarrier>, "race,uninitialised", "use,fill", "gfx90a"},
      {"mfma: no barrier on the way back", runGemm<noBarrierBack>, "race", "fill,use", "gfx942"},
      {"mfma: a wave skips the barrier", runGemm<waveSkipsBarrier>, "race,uninitialised,barrier-count,divergence,deadlock",
       "use,fill,barrier", "gfx90a"},
      {"mfma: sum not cleared", runGemm<sumNotCleared>, "uninitialised", "product", "gfx90a"},
      {"mfma: a lane skips the product", runGemm<laneSkipsProduct>, "collective,deadlock", "product,barrier", "gfx90a"},
      {"mfma: fragment not loaded", runGemm<fragmentNotLoaded>, "uninitialised", "product", "gfx942"},
      {"mfma: store past the end", runGemm<storePastTheEnd>, "out-of-bounds,race", "store", "gfx90a"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
