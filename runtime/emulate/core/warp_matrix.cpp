// Matrix instructions of a warp: ldmatrix, stmatrix, mma.sync.
#include <algorithm>
#include <optional>

#include "elements.h"

namespace emu {
// ---- warp matrices: lane l's address is row l % 8 of matrix l / 8 ----
struct Tiles {
  u32 *regs;
  const u32 *in;
  int count;
  bool trans, store;
  Address at;
  u32 pc;
};
/// These instructions need their whole warp; a lane that has ended leaves a hole.
static bool whole(const Meeting &m) {
  const Lanes missing = whole_warp() & ~m.arrived;
  if (!missing)
    return true;
  const u32 pc = site_pc(m.site);
  report("collective",
         format("%s without the lanes %llx of its warp: ", m.what, (unsigned long long)missing) +
             where(pc),
         pc);
  return false;
}
static void run_tiles(Meeting &m) {
  if (!whole(m))
    return;
  Tiles &first = *static_cast<Tiles *>(m.args[0]);
  for (int i = 0; i < first.count; ++i) {
    u16 e[8][8];
    if (first.store)
      for (int l = 0; l < 32; ++l) {
        const u32 v = static_cast<Tiles *>(m.args[l])->in[i];
        for (int k = 0; k < 2; ++k)
          (first.trans ? e[l % 4 * 2 + k][l / 4] : e[l / 4][l % 4 * 2 + k]) = u16(v >> 16 * k);
      }
    for (int r = 0; r < 8; ++r) {
      Thread *t = m.threads[i * 8 + r];
      Tiles &x = *static_cast<Tiles *>(m.args[i * 8 + r]);
      if (x.at % 16)
        report("misaligned", format("%s row at %s: ", m.what, describe(x.at).c_str()) + where(x.pc),
               x.pc);
      Thread *was = current;
      current = t; // the row's access belongs to the lane that gave its address
      generic_access(x.at, 16, first.store, x.pc);
      current = was;
      if (!device_address(x.at))
        continue;
      if (first.store)
        std::memcpy(reinterpret_cast<void *>(x.at), e[r], 16);
      else
        std::memcpy(e[r], reinterpret_cast<void *>(x.at), 16);
    }
    if (!first.store)
      for (int l = 0; l < 32; ++l) {
        u32 v = 0;
        for (int k = 0; k < 2; ++k)
          v |= u32(first.trans ? e[l % 4 * 2 + k][l / 4] : e[l / 4][l % 4 * 2 + k]) << 16 * k;
        static_cast<Tiles *>(m.args[l])->regs[i] = v;
      }
  }
}
void ldmatrix(u32 *out, int count, bool trans, u32 at, Site s) {
  Tiles x{out, nullptr, count, trans, false, shared_to_generic(at), site_pc(s)};
  write_registers(out, size_t(count) * 4, x.pc);
  meet_warp("ldmatrix", whole_warp(), s, &x, run_tiles);
}
void stmatrix(const u32 *in, int count, bool trans, u32 at, Site s) {
  require_architecture(90, "stmatrix", s);
  Tiles x{nullptr, in, count, trans, true, shared_to_generic(at), site_pc(s)};
  read_registers(in, size_t(count) * 4, x.pc);
  meet_warp("stmatrix", whole_warp(), s, &x, run_tiles);
}

// ---- mma.sync ----
// In all shapes lane l stands for row l / 4 (and, with 16 rows, 8 below) of A and of the sum, and
// for column l / 4 of B. Along k each of its 32-bit registers holds neighbours, from (l % 4) times
// as many on; the next registers go on 4 times as many further. The sum's are columns 2 (l % 4) and
// the next.
namespace {
struct Mma {
  const Product *product;
  void *c;
  const void *a, *b;
};
// Sums in T: float for floats (the hardware keeps some bits more or fewer), unsigned for integers,
// which wrap.
template <class T> void multiply(const Product &p, const T *a, const T *b, T *c) {
  for (int m = 0; m < p.m; ++m)
    for (int k = 0; k < p.k; ++k) {
      const T x = a[m * p.k + k];
      const T *row = b + k * 8;
      T *sum = c + m * 8;
      for (int n = 0; n < 8; ++n)
        sum[n] += x * row[n];
    }
}
size_t fragment_bytes(int rows, int columns, Element e) {
  return size_t(rows * columns / 32 * bits_of(e) / 8);
}
int sum_at(int lane, int i) { return (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2; }

/// Registers that nothing has set. A tile may have fewer rows or columns than the products that
/// make it: such a row is set by nobody, and so is what comes of it, as what comes of a sum that
/// nobody set; whoever uses that is told. A row that is set in parts is a fault at once.
class Unset {
public:
  explicit Unset(Meeting &meeting)
      : meeting(meeting), p(*static_cast<Mma *>(meeting.args[0])->product) {
    const int rows = p.m / 8;
    meeting.each<Mma>([&](int l, Mma &x) {
      for (int r = 0; r < rows; ++r)
        count(row[l / 4 + r * 8], l, words(x.a, p.a, p.m * p.k, r, rows));
      count(column[l / 4], l, words(x.b, p.b, p.n * p.k, 0, 1));
    });
    judge(row, p.m), judge(column, 8);
    meeting.each<Mma>([&](int l, Mma &x) {
      for (int i = 0; i < 2 * rows; ++i)
        if (is_padding(l, i) || !all_written(sum(x, i), size_t(bits_of(p.c) / 8)))
          lost.push_back({l, i});
    });
  }
  /// What the product leaves.
  void mark() {
    for (auto &[l, i] : lost)
      mark_unwritten(sum(*static_cast<Mma *>(meeting.args[l]), i), size_t(bits_of(p.c) / 8));
  }

private:
  struct Line {
    int set = 0, unset = 0, lane = 0; ///< of its registers; a lane with one that is not
  };
  struct Counts {
    int set, unset;
  };
  /// Of one row of a fragment whose registers of 32 bits (or wider elements) belong to `rows` rows
  /// in turn.
  Counts words(const void *fragment, Element e, int elements, int first, int rows) const {
    const size_t width = std::max(4, bits_of(e) / 8);
    const int all = int(size_t(elements / 32 * bits_of(e) / 8) / width);
    Counts c{0, 0};
    for (int i = first; i < all; i += rows)
      ++(all_written(static_cast<const u8 *>(fragment) + size_t(i) * width, width) ? c.set
                                                                                   : c.unset);
    return c;
  }
  static void count(Line &line, int lane, Counts c) {
    line.set += c.set, line.unset += c.unset;
    if (c.unset)
      line.lane = lane;
  }
  void judge(const Line *lines, int n) {
    for (int i = 0; i < n; ++i)
      if (lines[i].set && lines[i].unset)
        fault(lines[i].lane);
  }
  bool is_padding(int lane, int i) const {
    const int at = sum_at(lane, i);
    return !row[at / 8].set || !column[at % 8].set;
  }
  u8 *sum(const Mma &x, int i) const {
    return static_cast<u8 *>(x.c) + size_t(i * bits_of(p.c) / 8);
  }
  void fault(int lane) {
    if (told)
      return;
    told = true;
    const u32 pc = site_pc(meeting.site);
    report("uninitialised",
           describe(meeting.threads[lane]) + " reads a register that nothing has set: " + where(pc),
           pc);
  }

  Meeting &meeting;
  const Product &p;
  Line row[16], column[8];
  std::vector<std::pair<int, int>> lost; ///< lane and number of sums that nothing has set
  bool told = false;
};
bool all_set(Meeting &meeting, const Product &p) {
  bool set = true;
  meeting.each<Mma>([&](int, Mma &x) {
    set = set && all_written(x.a, fragment_bytes(p.m, p.k, p.a)) &&
          all_written(x.b, fragment_bytes(p.k, p.n, p.b)) &&
          all_written(x.c, fragment_bytes(p.m, p.n, p.c));
  });
  return set;
}

template <class T> void run_mma(Meeting &meeting) {
  const Product &p = *static_cast<Mma *>(meeting.args[0])->product;
  static T a[16 * 64], b[64 * 8], c[16 * 8];
  const int together = bits_of(p.a) >= 32 ? 1 : 32 / bits_of(p.a);
  const int rows = p.m / 8, steps = p.k / (4 * together);
  for (int l = 0; l < 32; ++l) {
    const Mma &x = *static_cast<Mma *>(meeting.args[l]);
    for (int s = 0; s < steps; ++s)
      for (int j = 0; j < together; ++j) {
        const int k = (s * 4 + l % 4) * together + j;
        for (int r = 0; r < rows; ++r)
          a[(l / 4 + r * 8) * p.k + k] = element<T>(x.a, (s * rows + r) * together + j, p.a);
        b[k * 8 + l / 4] = element<T>(x.b, s * together + j, p.b);
      }
    for (int i = 0; i < 2 * rows; ++i)
      if (p.c == Element::f16)
        c[sum_at(l, i)] = element<T>(x.c, i, p.c);
      else
        std::memcpy(&c[sum_at(l, i)], static_cast<const T *>(x.c) + i, sizeof(T));
  }
  multiply(p, a, b, c);
  for (int l = 0; l < 32; ++l) {
    const Mma &x = *static_cast<Mma *>(meeting.args[l]);
    for (int i = 0; i < 2 * rows; ++i)
      if (p.c == Element::f16)
        static_cast<u16 *>(x.c)[i] = float_to_half(float(c[sum_at(l, i)]));
      else
        std::memcpy(static_cast<T *>(x.c) + i, &c[sum_at(l, i)], sizeof(T));
  }
}
} // namespace
/// The first architecture that has it.
static int architecture_of(const Product &p) {
  if (bits_of(p.a) == 8 && p.c == Element::f32)
    return 89;
  if (p.a == Element::f16)
    return p.k == 8 ? 75 : 80;
  const bool whole = p.c == Element::s32;
  return whole && p.m == 8 ? 75 : 80;
}
void mma(const Product &product, void *c, const void *a, const void *b, const Room &room, Site s) {
  require_architecture(architecture_of(product), "such mma.sync", s);
  check_rooms(room, fragment_bytes(product.m, product.n, product.c),
              fragment_bytes(product.m, product.k, product.a),
              fragment_bytes(product.k, product.n, product.b), s);
  Mma x{&product, c, a, b};
  const u32 pc = site_pc(s);
  touch_registers(c, fragment_bytes(product.m, product.n, product.c), pc, "write");
  meet_warp("mma.sync", whole_warp(), s, &x, [](Meeting &m) {
    if (!whole(m))
      return;
    const Product &p = *static_cast<Mma *>(m.args[0])->product;
    count(Counter::products, site_pc(m.site));
    count(Counter::multiply_adds, site_pc(m.site), u64(p.m) * u64(p.n) * u64(p.k));
    const bool set = all_set(m, p);
    std::optional<Unset> unset;
    if (!set)
      unset.emplace(m);
    const Element kind = p.c;
    kind == Element::f64   ? run_mma<double>(m)
    : kind == Element::s32 ? run_mma<u32>(m)
                           : run_mma<float>(m);
    if (set)
      return;
    Thread *was = current;
    m.each<Mma>([&](int l, Mma &x) {
      current = m.threads[l];
      mark_written(x.c, fragment_bytes(p.m, p.n, p.c));
    });
    current = was;
    unset->mark();
  });
}
} // namespace emu
