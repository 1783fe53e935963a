// Products whose A keeps two of four neighbours (mma.sp): what they compute, and metadata that says nothing.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "faults.h"
#include "sparse.h"

namespace {

enum Fault { clean, laneSkips, notAscending, twiceTheSame, fragmentNotLoaded, sumNotCleared };

/// Small numbers that all types hold exactly.
template <class T> T small(size_t i) {
  const int n = int(i * 2654435761u >> 20 & 15);
  if constexpr (sizeof(T) == 1 && !std::is_integral_v<T>)
    return sizeof(T) == 1 && std::is_same_v<T, tlc::float8_e4m3> ? T{tlc::to_float8_e4m3(float(n - 8)).bits}
                                                                 : T{tlc::to_float8_e5m2(float(n % 4 - 2)).bits};
  else if constexpr (std::is_unsigned_v<T>)
    return T(n);
  else
    return T(float(n - 8));
}
template <class T> double value(T x) {
  if constexpr (std::is_integral_v<T>)
    return double(x);
  else if constexpr (sizeof(T) == 1)
    return tlc::to_float(x);
  else
    return double(float(x));
}

template <class Atom, int Fault>
__global__ void multiply(const typename Atom::A *a, const typename Atom::B *b, typename Atom::C *c, const uint32_t *metadata) {
  const int lane = int(threadIdx.x);
  alignas(16) typename Atom::A left[Atom::k / 4];
  alignas(16) typename Atom::B right[Atom::k / 4];
  alignas(16) typename Atom::C sum[4];
  for (int i = 0; i < Atom::k / 4; ++i) {
    left[i] = a[lane * Atom::k / 4 + i];
    if (Fault != fragmentNotLoaded || i < 4)
      right[i] = b[lane * Atom::k / 4 + i];
  }
  for (int i = 0; i < (Fault == sumNotCleared ? 2 : 4); ++i)
    sum[i] = typename Atom::C(0);
  uint32_t words = metadata[lane];
  if (Fault == notAscending && lane == 4)
    words = (words & ~15u) | 0x1; // 1, 0
  if (Fault == twiceTheSame && lane == 5)
    words |= 0xf00;
  if (Fault != laneSkips || lane != 3)
    Atom::run(sum, left, right, words); // mark: product
  for (int i = 0; i < 4; ++i)
    c[lane * 4 + i] = sum[i];
}

template <class Atom, int Fault> bool product() {
  using A = typename Atom::A;
  using B = typename Atom::B;
  using C = typename Atom::C;
  constexpr int k = Atom::k, together = int(4 / sizeof(A));
  constexpr bool isWide = k == 16;
  std::vector<A> a(16 * k / 2);
  std::vector<B> b(8 * k);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = small<A>(i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = small<B>(i + 1000);
  // By the PTX manual: fragments of A (as stored) and B, and each lane's word of metadata.
  std::vector<A> left(32 * k / 4);
  std::vector<B> right(32 * k / 4);
  std::vector<uint32_t> metadata(32, 0);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, in = lane % 4;
    for (int i = 0; i < k / 4; ++i) {
      const int word = i / together;
      left[size_t(lane * k / 4 + i)] =
          a[size_t((group + word % 2 * 8) * k / 2 + (word / 2 * 4 + in) * together + i % together)];
      right[size_t(lane * k / 4 + i)] = b[size_t(((word * 4 + in) * together + i % together) * 8 + group)];
    }
    for (int i = 0; i < 16; ++i) { // places of kept elements, 2 bits each
      int row, at;
      if (k <= 32) { // a pair of lanes; low and high halves are two rows
        if (in / 2 != Atom::selector)
          continue;
        row = group + i / 8 * 8, at = in % 2 * 8 + i % 8;
      } else {
        row = group + in % 2 * 8, at = in / 2 * 16 + i;
      }
      const int place = isWide ? keptOf(row, at / 2, true) * 2 + at % 2 : keptOf(row, at, false);
      metadata[size_t(lane)] |= uint32_t(place) << 2 * i;
    }
  }
  C *c = reserve<C>(16 * 8);
  if (!start(multiply<Atom, Fault>, {1, 32}, static_cast<const A *>(upload(left)), static_cast<const B *>(upload(right)), c,
             static_cast<const uint32_t *>(upload(metadata))))
    return false;
  const auto result = download(c, 16 * 8);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double want = 0;
      for (int x = 0; x < k / 2; ++x)
        want += value(a[size_t(row * k / 2 + x)]) * value(b[size_t(placeOf(row, x, isWide) * 8 + column)]);
      if (value(result[size_t(lane * 4 + i)]) != want)
        return false;
    }
  return true;
}

#define EMU_PRODUCT(K, KA, KB, KC, TA, TB, TC)                                                                    \
  template <int Selector> struct sp##K##_##KA##_##KB##_##KC {                                                     \
    using A = TA;                                                                                                 \
    using B = TB;                                                                                                 \
    using C = TC;                                                                                                 \
    static constexpr int k = K, selector = Selector;                                                              \
    static __device__ void run(C *c, const A *a, const B *b, uint32_t metadata TLC_AT) {                          \
      tlc::mma_sp_m16n8k##K##_##KA##_##KB##_##KC<Selector>(c, a, b, metadata TLC_HERE);                           \
    }                                                                                                             \
  };
#include "../../runtime/emulate/device/sparse.def"

bool allProducts() {
  bool right = true;
#define EMU_PRODUCT(K, KA, KB, KC, TA, TB, TC) right &= product<sp##K##_##KA##_##KB##_##KC<0>, clean>();
#include "../../runtime/emulate/device/sparse.def"
  return right && product<sp32_f16_f16_f32<1>, clean>() && product<sp32_f16_f16_f16<1>, clean>() &&
         product<sp32_bf16_bf16_f32<1>, clean>() && product<sp16_tf32_tf32_f32<1>, clean>();
}
using pairs_of_halves = sp32_f16_f16_f32<0>;
using pairs_of_bytes = sp64_s8_s8_s32<0>;

/// What A does not keep is not looked at: no numbers in B that it would meet.
bool besideNoNumbers() {
  const __half infinite = __half(INFINITY);
  std::vector<__half> left(32 * 8, __half(1.f)), right(32 * 8);
  for (size_t i = 0; i < right.size(); ++i)
    right[i] = i % 2 ? infinite : __half(2.f); // each lane has neighbours along k in pairs
  float *c = reserve<float>(16 * 8);
  const std::vector<uint32_t> metadata(32, 0x88888888); // elements 0 and 2 of each four
  if (!start(multiply<pairs_of_halves, clean>, {1, 32}, static_cast<const __half *>(upload(left)),
             static_cast<const __half *>(upload(right)), c, static_cast<const uint32_t *>(upload(metadata))))
    return false;
  for (float x : download(c, 16 * 8))
    if (x != 32)
      return false;
  return true;
}

} // namespace

void addSparse(std::vector<Case> &cases) {
  const Case all[] = {
      {"sparse", allProducts, "", ""},
      {"sparse: beside no numbers", besideNoNumbers, "", ""},
      {"sparse: a lane skips the product", product<pairs_of_halves, laneSkips>, "collective,deadlock", "product"},
      {"sparse: places not in order", product<pairs_of_halves, notAscending>, "metadata", "product"},
      {"sparse: a place twice", product<pairs_of_bytes, twiceTheSame>, "metadata", "product"},
      {"sparse: fragment not loaded", product<pairs_of_bytes, fragmentNotLoaded>, "uninitialised", "product"},
      {"sparse: sum not cleared", product<pairs_of_halves, sumNotCleared>, "uninitialised", "product"},
  };
  cases.insert(cases.end(), std::begin(all), std::end(all));
}
