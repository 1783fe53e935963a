// Waves of AMD's devices: matrix instructions, moves between lanes, loads past the registers,
// buffers.
#include <algorithm>

#include "elements.h"

namespace emu {
namespace {

// ---- Matrix instructions: where a lane's elements lie
//
//   MFMA (waves of 64): lane l has row l % m of A, column l % n of B, and there k l / m times as
//   many on
//     as it has elements. Of the sum it has column l % n, four rows at a time: from 4 (l / n) on,
//     the next four as many rows further as the wave covers.
//   WMMA of gfx11: lane l has row (column) l % 16 with every k: the upper 16 lanes repeat the lower
//   ones. Of
//     the sum it has column l % 16, every second row from l / 16 on; 16-bit sums fill every second
//     place.
//   WMMA of gfx12: 8 elements along k from 8 (l / 16) on; of the sum 8 rows from 8 (l / 16) on.
struct Place {
  int row, column;
};
bool is_gfx11() { return settings.gfx >= 0x1100 && settings.gfx < 0x1200; }
bool is_wmma() { return settings.lanes == 32; }
/// Elements of A (rows = m) or B (rows = n) that a lane has.
int operand_count(int rows, int k) { return is_gfx11() ? k : rows * k / settings.lanes; }
Place operand_place(int lane, int i, int rows, int k) {
  return {lane % rows, is_gfx11() ? i : lane / rows * operand_count(rows, k) + i};
}
Place sum_place(int lane, int i, const WaveProduct &p) {
  if (is_gfx11())
    return {2 * i + lane / 16, lane % 16};
  if (is_wmma())
    return {lane / 16 * 8 + i, lane % 16};
  return {i / 4 * (4 * 64 / p.n) + lane / p.n * 4 + i % 4, lane % p.n};
}
int sum_stride(const WaveProduct &p) { return is_gfx11() && p.c == Element::f16 ? 2 : 1; }

struct Call {
  const WaveProduct *product;
  void *c;
  const void *a, *b;
};

/// Both halves of a wave of gfx11 must hold the same operands.
void check_halves(Meeting &m, const WaveProduct &p) {
  const auto differs = [&](const void *x, const void *y, Element e) {
    return std::memcmp(x, y, size_t(p.k * bits_of(e) / 8)) != 0;
  };
  for (int l = 0; l < 16; ++l) {
    const Call &low = *static_cast<Call *>(m.args[l]), &high = *static_cast<Call *>(m.args[l + 16]);
    if (differs(low.a, high.a, p.a) || differs(low.b, high.b, p.b)) {
      report(
          "wave-halves",
          format(
              "lanes %d and %d give a matrix instruction different operands, which on this device "
              "must be the same: ",
              l, l + 16) +
              where(site_pc(m.site)),
          site_pc(m.site));
      return;
    }
  }
}
template <class T> void gather(Meeting &m, const WaveProduct &p, T *a, T *b, T *c) {
  m.each<Call>([&](int l, Call &x) {
    for (int i = 0; i < operand_count(p.m, p.k); ++i) {
      const Place at = operand_place(l, i, p.m, p.k);
      a[at.row * p.k + at.column] = element<T>(x.a, i, p.a);
    }
    for (int i = 0; i < operand_count(p.n, p.k); ++i) {
      const Place at = operand_place(l, i, p.n, p.k);
      b[at.column * p.n + at.row] = element<T>(x.b, i, p.b);
    }
    for (int i = 0; i < p.m * p.n / settings.lanes; ++i) {
      const Place at = sum_place(l, i, p);
      if (p.c == Element::f16)
        c[at.row * p.n + at.column] = element<T>(x.c, i * sum_stride(p), p.c);
      else
        std::memcpy(&c[at.row * p.n + at.column], static_cast<const T *>(x.c) + i, sizeof(T));
    }
  });
}
template <class T> void run_product(Meeting &m) {
  const WaveProduct &p = *static_cast<Call *>(m.args[0])->product;
  static T a[32 * 32], b[32 * 32], c[32 * 32];
  gather(m, p, a, b, c);
  for (int row = 0; row < p.m; ++row)
    for (int k = 0; k < p.k; ++k)
      for (int column = 0; column < p.n; ++column)
        c[row * p.n + column] += a[row * p.k + k] * b[k * p.n + column];
  m.each<Call>([&](int l, Call &x) {
    for (int i = 0; i < p.m * p.n / settings.lanes; ++i) {
      const Place at = sum_place(l, i, p);
      const T sum = c[at.row * p.n + at.column];
      if (p.c == Element::f16)
        static_cast<u16 *>(x.c)[i * sum_stride(p)] = float_to_half(float(sum));
      else
        std::memcpy(static_cast<T *>(x.c) + i, &sum, sizeof(T));
    }
  });
}
void run_any_product(Meeting &m) {
  const u32 pc = site_pc(m.site);
  if (const Lanes missing = whole_warp() & ~m.arrived) {
    report("collective",
           format("%s without the lanes %llx of its wave: ", m.what, (unsigned long long)missing) +
               where(pc),
           pc);
    return;
  }
  const WaveProduct &p = *static_cast<Call *>(m.args[0])->product;
  count(Counter::products, pc);
  count(Counter::multiply_adds, pc, u64(p.m) * u64(p.n) * u64(p.k));
  if (is_gfx11())
    check_halves(m, p);
  p.c == Element::f64   ? run_product<double>(m)
  : p.c == Element::s32 ? run_product<u32>(m)
                        : run_product<float>(m);
}

/// A function that only some devices have.
void require_device(bool has, const char *what, u32 pc) {
  if (has)
    return;
  report("device", format("gfx%x has no %s: ", settings.gfx, what) + where(pc), pc);
  abandon();
}
} // namespace

void wave_multiply(const WaveProduct &p, void *c, const void *a, const void *b, const Room &room,
                   Site s) {
  const u32 pc = site_pc(s);
  require_device(settings.gfx >= p.from && settings.gfx <= p.to, "such matrix instruction", pc);
  const auto bytes = [](int count, Element e) { return size_t(count * bits_of(e) / 8); };
  check_rooms(room, bytes(p.m * p.n / settings.lanes * sum_stride(p), p.c),
              bytes(operand_count(p.m, p.k), p.a), bytes(operand_count(p.n, p.k), p.b), s);
  check_written(a, bytes(operand_count(p.m, p.k), p.a), pc);
  check_written(b, bytes(operand_count(p.n, p.k), p.b), pc);
  const int sums = p.m * p.n / settings.lanes;
  for (int i = 0; i < sums; ++i) {
    void *sum = static_cast<u8 *>(c) + bytes(i * sum_stride(p), p.c);
    check_written(sum, bytes(1, p.c), pc);
    write_registers(sum, bytes(1, p.c), pc);
  }
  Call x{&p, c, a, b};
  meet_warp(is_wmma() ? "wmma" : "mfma", whole_warp(), s, &x, run_any_product);
}

// ---- Moves between lanes
namespace {
struct Move {
  u32 word, out;
  int control, rows, banks, lane;
};
/// The lane that `lane` reads; -1: none.
int source_of(int lane, int control) {
  const int row = lane / 16 * 16, in_row = lane % 16, amount = control & 15;
  const auto inside = [&](int at) { return at >= 0 && at < 16 ? row + at : -1; };
  switch (control & ~15) {
  case 0x100:
    return inside(in_row + amount); // row_shl: from the lane further on
  case 0x110:
    return inside(in_row - amount);
  case 0x120:
    return row + (in_row + 16 - amount) % 16;
  case 0x150: // row_share, row_newbcast
    return row + amount;
  case 0x160:
    return row + (in_row ^ amount);
  default:
    break;
  }
  const int last = settings.lanes - 1;
  switch (control) {
  case 0x130:
    return lane < last ? lane + 1 : -1;
  case 0x134:
    return lane < last ? lane + 1 : 0;
  case 0x138:
    return lane - 1;
  case 0x13c:
    return lane ? lane - 1 : last;
  case 0x140:
    return row + 15 - in_row;
  case 0x141:
    return lane / 8 * 8 + 7 - lane % 8;
  case 0x142:
    return row - 1;
  case 0x143:
    return lane >= 32 ? 31 : -1;
  default: // quad_perm
    return lane / 4 * 4 + (control >> 2 * (lane % 4) & 3);
  }
}
bool has_control(int control) {
  const bool gfx9 = settings.lanes == 64;
  if (control < 0x100)
    return control >= 0;
  if (control < 0x130)
    return (control & 15) != 0;
  if (control == 0x140 || control == 0x141)
    return true;
  if (control >= 0x150 && control < 0x160)
    return !gfx9 || settings.gfx >= 0x90a;
  if (control >= 0x160 && control < 0x170)
    return !gfx9;
  return gfx9 && (control == 0x130 || control == 0x134 || control == 0x138 || control == 0x13c ||
                  control == 0x142 || control == 0x143);
}
} // namespace
u32 wave_move(u32 old, u32 word, int control, int rows, int banks, Site s) {
  require_device(has_control(control), "such data parallel move", site_pc(s));
  Move x{word, old, control, rows, banks, 0};
  meet_warp("dpp", whole_warp(), s, &x, [](Meeting &m) {
    m.each<Move>([&](int l, Move &x) {
      const int from = source_of(l, x.control);
      const bool written = (x.rows >> l / 16 & 1) && (x.banks >> l % 16 / 4 & 1);
      if (written && from >= 0 && (m.arrived & lane_bit(from)))
        x.out = static_cast<Move *>(m.args[from])->word;
    });
  });
  return x.out;
}
u32 wave_read(u32 word, int lane, Site s) {
  Move x{word, 0, 0, 0, 0, lane};
  meet_warp("readlane", whole_warp(), s, &x, [](Meeting &m) {
    const int first = __builtin_ctzll(m.arrived), lane = static_cast<Move *>(m.args[first])->lane;
    const int from = lane < 0 ? first : lane % settings.lanes;
    const u32 pc = site_pc(m.site);
    bool uniform = true;
    m.each<Move>([&](int, Move &x) { uniform = uniform && x.lane == lane; });
    if (!uniform)
      report("collective", "the lanes of a wave ask readlane for different lanes: " + where(pc),
             pc);
    if (!(m.arrived & lane_bit(from))) {
      report("collective", format("readlane of lane %d, which takes no part: ", from) + where(pc),
             pc);
      return;
    }
    m.each<Move>([&](int, Move &x) { x.out = static_cast<Move *>(m.args[from])->word; });
  });
  return x.out;
}
u32 wave_permute(u32 word, int lane, Site s) {
  return u32(shuffle(whole_warp(), word, kIndex, lane, settings.lanes, s));
}

// ---- Loads past the registers: each is a group of its own of the thread's copies
namespace {
struct LdsLoad {
  u32 base;
};
} // namespace
void lds_load(u32 base, const void *from, int bytes, Site s) {
  const u32 pc = site_pc(s);
  require_device(settings.lanes == 64 && (bytes == 1 || bytes == 2 || bytes == 4 ||
                                          (bytes == 16 && settings.gfx >= 0x950)),
                 format("load of %d bytes to shared memory", bytes).c_str(), pc);
  LdsLoad x{base};
  meet_warp("load to shared memory", whole_warp(), s, &x, [](Meeting &m) {
    const int first = __builtin_ctzll(m.arrived);
    const u32 base = static_cast<LdsLoad *>(m.args[first])->base, pc = site_pc(m.site);
    bool uniform = true;
    m.each<LdsLoad>([&](int, LdsLoad &x) { uniform = uniform && x.base == base; });
    if (!uniform)
      report("collective",
             "the lanes of a wave give a load to shared memory different bases, of which the first "
             "counts: " +
                 where(pc),
             pc);
    m.each<LdsLoad>([&](int, LdsLoad &x) { x.base = base; });
  });
  start_copy("a load to shared memory", x.base + u32(current->lane * bytes), from, bytes,
             from ? bytes : 0, pc);
  cp_async_commit();
}
void lds_wait(int pending) { cp_async_wait(pending); }
void lds_settle() { current->unsettled = 0; }

// ---- Buffers
const void *buffer_address(const BufferAccess &a) {
  const bool inside = u64(a.offset) + u64(a.bytes) <= a.size;
  return inside ? static_cast<const u8 *>(a.base) + a.offset : nullptr;
}
void buffer_load(void *to, const BufferAccess &a, Site s) {
  if (const void *from = buffer_address(a)) {
    load(to, from, size_t(a.bytes), false, s);
    return;
  }
  write_registers(to, size_t(a.bytes), site_pc(s));
  std::memset(to, 0, size_t(a.bytes));
}
void buffer_store(const void *from, const BufferAccess &a, Site s) {
  read_registers(from, size_t(a.bytes), site_pc(s));
  if (const void *to = buffer_address(a))
    store(const_cast<void *>(to), from, size_t(a.bytes), s);
}
} // namespace emu
