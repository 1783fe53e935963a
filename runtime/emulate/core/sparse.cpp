// Products of a warp whose A keeps two of four neighbours along k: mma.sp.
#include <algorithm>

#include "elements.h"

namespace emu {
namespace {
struct Call {
  const Product *product;
  void *c;
  const void *a, *b;
  u32 metadata;
  int selector;
};
/// Which of its four neighbours along k the i-th kept element of a row is, 0 to 3. Kept elements
/// have 2 bits each: see cuda/sparse.cuh for who holds them.
int kept_place(Meeting &m, const Call &x, int row, int i) {
  const bool wide = x.product->k == 32; // 16-bit elements
  const int word = i / (wide ? 8 : 16);
  const int lane = row % 8 * 4 + (wide ? 2 * x.selector + word : word * 2 + row / 8);
  const int shift = (wide ? row / 8 * 16 : 0) + i % (wide ? 8 : 16) * 2;
  return int(static_cast<Call *>(m.args[lane])->metadata >> shift & 3);
}
/// Pairs must be in ascending order: the hardware promises nothing for others.
void check_metadata(Meeting &m, const Call &x) {
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < x.product->k / 2; i += 2)
      if (kept_place(m, x, row, i) >= kept_place(m, x, row, i + 1)) {
        const u32 pc = site_pc(m.site);
        report("metadata",
               format("mma.sp keeps elements %d and %d of a four in row %d, which are not in "
                      "ascending order: ",
                      kept_place(m, x, row, i), kept_place(m, x, row, i + 1), row) +
                   where(pc),
               pc);
        return;
      }
}
int sum_at(int lane, int i) { return (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2; }

template <class T> void run(Meeting &m) {
  const Call &first = *static_cast<Call *>(m.args[0]);
  const Product &p = *first.product;
  static T a[16 * 64], b[64 * 8], c[16 * 8];
  std::fill(std::begin(a), std::end(a), T(0));
  const int together = 32 / bits_of(p.a), kept = p.k / 2;
  m.each<Call>([&](int l, Call &x) {
    for (int i = 0; i < kept * 16 / 32; ++i) { // registers: rows in turn, then further along k
      const int word = i / together, row = l / 4 + word % 2 * 8;
      const int at = (word / 2 * 4 + l % 4) * together + i % together;
      a[row * p.k + at / 2 * 4 + kept_place(m, first, row, at)] = element<T>(x.a, i, p.a);
    }
    for (int i = 0; i < p.k * 8 / 32; ++i)
      b[((i / together * 4 + l % 4) * together + i % together) * 8 + l / 4] =
          element<T>(x.b, i, p.b);
    for (int i = 0; i < 4; ++i)
      if (p.c == Element::f16)
        c[sum_at(l, i)] = element<T>(x.c, i, p.c);
      else
        std::memcpy(&c[sum_at(l, i)], static_cast<const T *>(x.c) + i, sizeof(T));
  });
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < p.k; ++k)
      for (int n = 0; n < 8; ++n)
        c[row * 8 + n] += a[row * p.k + k] * b[k * 8 + n];
  m.each<Call>([&](int l, Call &x) {
    for (int i = 0; i < 4; ++i)
      if (p.c == Element::f16)
        static_cast<u16 *>(x.c)[i] = float_to_half(float(c[sum_at(l, i)]));
      else
        std::memcpy(static_cast<T *>(x.c) + i, &c[sum_at(l, i)], sizeof(T));
  });
}
} // namespace

void mma_sparse(const Product &p, int selector, void *c, const void *a, const void *b, u32 metadata,
                Site s) {
  const u32 pc = site_pc(s);
  const auto bytes = [](int elements, Element e) { return size_t(elements / 32 * bits_of(e) / 8); };
  check_written(a, bytes(16 * p.k / 2, p.a), pc);
  check_written(b, bytes(8 * p.k, p.b), pc);
  check_written(c, bytes(16 * 8, p.c), pc);
  write_registers(c, bytes(16 * 8, p.c), pc);
  Call x{&p, c, a, b, metadata, selector};
  meet_warp("mma.sp", whole_warp(), s, &x, [](Meeting &m) {
    const u32 pc = site_pc(m.site);
    if (const Lanes missing = whole_warp() & ~m.arrived) {
      report("collective",
             format("mma.sp without the lanes %08x of its warp: ", u32(missing)) + where(pc), pc);
      return;
    }
    const Call &first = *static_cast<Call *>(m.args[0]);
    count(Counter::products, pc);
    count(Counter::multiply_adds, pc, u64(16 * 8) * u64(first.product->k) / 2);
    check_metadata(m, first);
    first.product->c == Element::s32 ? run<u32>(m) : run<float>(m);
  });
}
} // namespace emu
