// Products of a warp whose A keeps two of four neighbours along k: mma.sp.
#include <algorithm>

#include "sparse.h"

namespace emu {
namespace {
struct Call {
  const Product *product;
  void *c;
  const void *a, *b;
  u32 metadata;
  int selector;
};
Kept kept_of(Meeting &m) {
  const Call &first = *static_cast<Call *>(m.args[0]);
  Kept kept{first.product->a, first.selector, {}};
  m.each<Call>([&](int l, Call &x) { kept.words[l] = x.metadata; });
  return kept;
}
int sum_at(int lane, int i) { return (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2; }

template <class T> void run(Meeting &m, const Kept &places) {
  const Call &first = *static_cast<Call *>(m.args[0]);
  const Product &p = *first.product;
  static T a[16 * 32], b[64 * 8], c[16 * 8];
  const int together = 32 / bits_of(p.a), kept = p.k / 2;
  m.each<Call>([&](int l, Call &x) {
    for (int i = 0; i < kept * 16 / 32; ++i) { // registers: rows in turn, then further along k
      const int word = i / together, row = l / 4 + word % 2 * 8;
      const int at = (word / 2 * 4 + l % 4) * together + i % together;
      a[row * kept + at] = element<T>(x.a, i, p.a);
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
  // The rest of b may be no numbers: nobody looks at it.
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < kept; ++i)
      for (int n = 0; n < 8; ++n)
        c[row * 8 + n] += a[row * kept + i] * b[places.place(row, i) * 8 + n];
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
                const Room &room, Site s) {
  const u32 pc = site_pc(s);
  require_architecture(bits_of(p.a) == 8 && p.c == Element::f32 ? 89 : 80, "mma.sp", s);
  const auto bytes = [](int elements, Element e) { return size_t(elements / 32 * bits_of(e) / 8); };
  check_rooms(room, bytes(16 * 8, p.c), bytes(16 * p.k / 2, p.a), bytes(8 * p.k, p.b), s);
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
    const Kept places = kept_of(m);
    check_kept(places, "mma.sp", 0, pc);
    first.product->c == Element::s32 ? run<u32>(m, places) : run<float>(m, places);
  });
}
} // namespace emu
