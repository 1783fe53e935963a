// Matrix instructions of a warpgroup.
#include <algorithm>
#include <cmath>

#include "sparse.h"
#include "tensor_map.h"

namespace emu {
// ---- wgmma: descriptors ----
struct Operand { // shared-memory matrix operand, decoded
  Address start;
  u64 lbo, sbo;
  int swizzle; // as in TensorMap
  bool mn_major;
  // A 16-byte unit: K-major the k-th along k of row mn, MN-major the 8 elements from mn on of row
  // k.
  Address unit(int mn, int k) const {
    const u64 width = u64(16) << swizzle; // bytes of an atom's row: 16, 32, 64, 128
    u64 o;
    if (!mn_major) {
      o = u64(mn / 8) * sbo + u64(mn % 8) * width + u64(k) * (swizzle ? 16 : lbo);
    } else {
      const u64 across = width / 2;
      if (swizzle)
        o = u64(mn) / across * lbo + u64(k / 8) * sbo + u64(k % 8) * width + u64(mn) % across * 2;
      else
        o = u64(mn / 8) * sbo + u64(k / 8) * lbo + u64(k % 8) * 16;
    }
    return swizzled(start + o, swizzle);
  }
};
struct Reading { // what an operand is to be read as
  bool mn_major;
  int bytes; // along k
  const char *which;
};
static Operand decode(u64 desc, const Reading &reading, Block *b, u32 pc) {
  static constexpr int kSwizzle[4] = {0, 3, 2, 1};
  Operand o;
  const u32 low = u32(desc & 0x3fff) << 4, base_offset = u32(desc >> 49 & 7);
  o.start = b->base() + (desc >> kDescriptorMark & (kWindows - 1)) * kWindowBytes + low;
  o.lbo = (desc >> 16 & 0x3fff) << 4, o.sbo = (desc >> 32 & 0x3fff) << 4;
  o.swizzle = kSwizzle[desc >> 62];
  o.mn_major = reading.mn_major;
  if (o.swizzle) {
    const u32 row = u32(16) << o.swizzle, phase = low / row % 8;
    if ((low & ((16u << o.swizzle) * 8 - 1)) >= row && base_offset != phase)
      report(
          "descriptor",
          format("%s starts %u rows into its %u-byte swizzle atom, but the base offset says %u: ",
                 reading.which, phase, row, base_offset) +
              where(pc),
          pc);
    if (!reading.mn_major && low % row + u32(reading.bytes) > row)
      report("descriptor",
             format("%s has %d bytes along k, %u bytes into its swizzle's rows of %u: ",
                    reading.which, reading.bytes, low % row, row) +
                 where(pc),
             pc);
  }
  return o;
}

/// Reads an operand's `k` x `count` elements: out[k][mn].
template <class T> struct Fetch {
  const Operand &operand;
  const Actor &actor;
  Element kind;
  u32 pc;
  bool mixed = false;

  void unit(Address at, u8 *bytes) {
    access(actor, at, 16, false, pc);
    if (settings.checks && !mixed && device_address(at)) {
      const int written = swizzle_at(at);
      if (written >= 0 && written != operand.swizzle) {
        mixed = true;
        report("swizzle",
               format("wgmma reads %s with %d-byte swizzle, TMA wrote it with %d-byte swizzle: ",
                      describe(at).c_str(), operand.swizzle ? 16 << operand.swizzle : 0,
                      written ? 16 << written : 0) +
                   where(pc),
               pc);
      }
    }
    if (device_address(at))
      std::memcpy(bytes, reinterpret_cast<void *>(at), 16);
  }
  void run(int k, int count, T *out) {
    const int together = 128 / bits_of(kind); // elements of a unit
    const bool mn = operand.mn_major;
    u8 bytes[16] = {};
    for (int row = 0; row < (mn ? k : count); ++row)
      for (int first = 0; first < (mn ? count : k); first += together) {
        unit(mn ? operand.unit(first, row) : operand.unit(row, first / together), bytes);
        for (int i = 0; i < together; ++i) {
          const int across = first + i;
          out[mn ? row * count + across : across * count + row] = element<T>(bytes, i, kind);
        }
      }
  }
};

/// d[64][n] += a[k][64]^T b[k][n]
template <class T>
__attribute__((always_inline)) inline void multiply_by(T *d, const T *a, const T *b, int n, int k) {
  for (int m = 0; m < 64; ++m)
    for (int i = 0; i < k; ++i) {
      const T x = a[i * 64 + m];
      T *row = d + m * n;
      const T *col = b + i * n;
      for (int j = 0; j < n; ++j)
        row[j] += x * col[j];
    }
}
#if defined(__x86_64__) && defined(__GNUC__)
#define EMU_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define EMU_CLONES
#endif
EMU_CLONES static void multiply(float *d, const float *a, const float *b, int n, int k) {
  multiply_by(d, a, b, n, k);
}
EMU_CLONES static void multiply(u32 *d, const u32 *a, const u32 *b, int n, int k) {
  multiply_by(d, a, b, n, k); // wraps
}

/// A as it is stored, from registers or shared memory: out[k][64], of a sparse one what it keeps.
template <class T> static void fetch_left(Block *b, const Actor &actor, const WgmmaOp &op, T *out) {
  const WgmmaShape &s = op.shape;
  if (!op.from_registers) {
    const int k = s.sparse ? s.k / 2 : s.k;
    const Operand a = decode(op.desc_a, {s.trans_a, k * bits_of(s.a) / 8, "wgmma's A"}, b, op.pc);
    return Fetch<T>{a, actor, s.a, op.pc}.run(k, 64, out);
  }
  // Register i of a thread: row t / 4 of its warp's 16 (+ 8 if i is odd), neighbours along k.
  const int together = 32 / bits_of(s.a);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < together; ++j)
        out[((i / 2 * 4 + t % 4) * together + j) * 64 + t / 32 * 16 + t % 32 / 4 + i % 2 * 8] =
            element<T>(op.a[t] + i, j, s.a);
}
static Kept kept_of(const WgmmaOp &op, int warp) {
  Kept kept{op.shape.a, op.shape.selector, {}};
  std::copy(op.metadata + warp * 32, op.metadata + warp * 32 + 32, kept.words);
  return kept;
}
/// As `multiply`, of what A keeps: the hardware does not look at the rest of B, which may be no
/// numbers.
template <class T> static void multiply_kept(const WgmmaOp &op, T *d, const T *a, const T *b) {
  const int n = op.shape.n;
  for (int m = 0; m < 64; ++m) {
    const Kept kept = kept_of(op, m / 16);
    for (int i = 0; i < kept.count(); ++i) {
      const T x = a[i * 64 + m];
      const T *row = b + kept.place(m % 16, i) * n;
      for (int j = 0; j < n; ++j)
        d[m * n + j] += x * row[j];
    }
  }
}

/// Sums in T: float, or unsigned for integers.
template <class T> static void run_as(Block *b, Warpgroup &w, WgmmaOp &op) {
  static T A[32 * 64], B[64 * 256], D[64 * 256];
  const WgmmaShape &s = op.shape;
  const Actor actor = agent(epoch(b->realm->id, w.slot, op.group + 1), op.start, "wgmma");
  fetch_left(b, actor, op, A);
  const Operand right =
      decode(op.desc_b, {s.trans_b, s.k * bits_of(s.b) / 8, "wgmma's B"}, b, op.pc);
  Fetch<T>{right, actor, s.b, op.pc}.run(s.k, s.n, B);
  // Sum i of a thread: row t / 4 of its warp's 16 (+ 8), 8 columns from i / 4 * 8 on.
  const auto place = [&](int t, int i) {
    return (t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * s.n + i / 4 * 8 + t % 4 * 2 + i % 2;
  };
  const bool half = s.c == Element::f16;
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < s.n / 2; ++i) {
      T &sum = D[place(t, i)];
      if (!op.accumulate)
        sum = 0;
      else if (half)
        sum = element<T>(op.d[t], i, Element::f16);
      else
        sum = static_cast<T *>(op.d[t])[i];
    }
  if (s.sparse)
    multiply_kept(op, D, A, B);
  else
    multiply(D, A, B, s.n, s.k);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < s.n / 2; ++i)
      if (half)
        static_cast<u16 *>(op.d[t])[i] = float_to_half(float(D[place(t, i)]));
      else
        static_cast<T *>(op.d[t])[i] = D[place(t, i)];
}
static void run_wgmma(Block *b, Warpgroup &w, WgmmaOp &op) {
  op.shape.c == Element::s32 ? run_as<u32>(b, w, op) : run_as<float>(b, w, op);
}

static Warpgroup &group_of(Thread *t) { return t->block->warpgroups[size_t(t->warp / 4)]; }
void wgmma_fence(Site) {
  Thread *t = current;
  t->fence_epoch = ++fence_counter;
  ++t->fences;
}
void wgmma_commit(Site) { ++current->commits; }

void wgmma_wait(int pending, Site s) {
  Thread *t = current;
  Warpgroup &w = group_of(t);
  const u32 limit = t->commits > u32(pending) ? t->commits - u32(pending) : 0;
  if (w.gathering) { // another warp has not issued yet what this one already waits for
    const u32 pc = site_pc(s);
    if (w.gathering->group < limit)
      park(pc, "wgmma wait for warps that have not issued");
  }
  while (!w.queue.empty() && w.queue.front()->group < limit) {
    run_wgmma(t->block, w, *w.queue.front());
    w.queue.pop_front();
  }
  t->waited = limit;
  if (w.slot) {
    const u32 slot = w.slot + u32(t->warp % 4);
    t->c.g.raise(slot, limit), t->c.v.raise(slot, limit);
  }
  auto &fl = t->flights;
  fl.erase(std::remove_if(fl.begin(), fl.end(), [&](const Flight &f) { return f.group < limit; }),
           fl.end());
  t->flight_lo = ~Address(0), t->flight_hi = 0;
  for (const Flight &f : fl)
    t->flight_lo = std::min(t->flight_lo, f.lo), t->flight_hi = std::max(t->flight_hi, f.hi);
}

static void take_off(Thread *t, const void *p, size_t bytes, u32 pc, const char *what) {
  const Address lo = Address(p), hi = lo + bytes;
  if (settings.checks && lo - t->stack < kStackBytes) {
    const u32 *touched =
        reinterpret_cast<const u32 *>(kTouchBase + ((lo - kStackBase) & ~Address(3)));
    for (size_t i = 0; i < bytes / 4; ++i)
      if (touched[i] == t->fence_epoch) {
        report("wgmma-fence",
               format("%s of wgmma were touched by %s since its last wgmma.fence: ", what,
                      describe(t).c_str()) +
                   where(pc),
               pc);
        break;
      }
  }
  t->flight_lo = std::min(t->flight_lo, lo), t->flight_hi = std::max(t->flight_hi, hi);
  for (Flight &f : t->flights)
    if (f.lo == lo && f.hi == hi) {
      f.group = t->commits, f.pc = pc;
      return;
    }
  t->flights.push_back({lo, hi, t->commits, pc});
}
void wgmma_pin(const void *registers, size_t bytes, Site s) {
  check_flights(registers, bytes, site_pc(s), "use");
}
void wgmma(const WgmmaShape &shape, void *d, u64 desc_a, const u32 *a, u64 desc_b, bool accumulate,
           const Room &room, Site s) {
  require_hopper("wgmma", s);
  Thread *t = current;
  Warpgroup &w = group_of(t);
  const u32 pc = site_pc(s);
  if (t->block->threads.size() < size_t(t->warp / 4 * 128 + 128)) {
    report("collective", "wgmma needs a warpgroup of four whole warps: " + where(pc), pc);
    abandon();
  }
  if (settings.checks && t->fences == 0)
    report("wgmma-fence", "the first wgmma has no wgmma.fence before it: " + where(pc), pc);
  if (!w.slot) {
    Realm &realm = *t->block->realm;
    w.slot = realm.new_slot(kQuad);
    for (int i = 0; i < 3; ++i)
      realm.new_slot(kQuad);
  }
  if (!w.gathering) {
    w.gathering = std::make_unique<WgmmaOp>();
    w.site = s, w.arrived = 0;
    auto &op = *w.gathering;
    op.shape = shape, op.from_registers = a != nullptr, op.accumulate = accumulate;
    op.desc_a = desc_a, op.desc_b = desc_b, op.group = t->commits, op.pc = pc;
  } else if (w.site.line != s.line || std::strcmp(w.site.file, s.file) ||
             w.gathering->group != t->commits) {
    report("collective",
           format("unequal rendezvous in warpgroup %d: wgmma at ", t->warp / 4) + where(pc) +
               " meets wgmma at " + where(w.gathering->pc),
           pc, w.gathering->pc);
    abandon();
  } else if (w.gathering->desc_a != desc_a || w.gathering->desc_b != desc_b ||
             w.gathering->accumulate != accumulate) {
    report("collective",
           format("lanes of warpgroup %d give wgmma different descriptors: ", t->warp / 4) +
               where(pc),
           pc);
  }
  const size_t sum_bytes = size_t(shape.n) / 2 * (shape.c == Element::f16 ? 2 : 4);
  check_rooms(room, sum_bytes, a ? 16 : 0, 0, s);
  take_off(t, d, sum_bytes, pc, "accumulators");
  if (accumulate)
    check_written(d, sum_bytes, pc);
  mark_written(d, sum_bytes);
  if (a)
    check_written(a, 16, pc);
  if (a)
    take_off(t, a, 16, pc, "A registers");
  const int lane = t->linear % 128;
  w.gathering->d[lane] = d, w.gathering->a[lane] = a, w.threads[lane] = t;
  w.gathering->metadata[lane] = shape.metadata;
  if (++w.arrived < 128) {
    park(pc, "wgmma in warpgroup %d (%d of 128 threads there)", t->warp / 4, w.arrived);
    return;
  }
  auto op = std::move(w.gathering);
  count(Counter::products, pc);
  count(Counter::multiply_adds, pc, u64(64) * u64(shape.n) * u64(shape.k) / (shape.sparse ? 2 : 1));
  for (int k = 0; k < 4 && shape.sparse; ++k)
    check_kept(kept_of(*op, k), "sparse wgmma", 16 * k, pc);
  if (settings.checks) // a warp's instruction knows what any of its lanes knows; the product, what
                       // all four warps know
    for (int k = 0; k < 4; ++k) {
      Clocks warp = w.threads[k * 32]->c;
      for (int l = 1; l < 32; ++l)
        warp.join(w.threads[k * 32 + l]->c);
      if (k == 0)
        op->start = warp;
      else
        op->start.g.meet(warp.g), op->start.v.meet(warp.v);
    }
  for (int l = 0; l < 128; ++l) {
    w.threads[l]->tick();
    if (w.threads[l] != t)
      wake(w.threads[l]);
  }
  if (settings.mode == kEarly ||
      (settings.mode == kRandom && w.queue.empty() && random_number() % 2))
    run_wgmma(t->block, w, *op);
  else
    w.queue.push_back(std::move(op));
}
} // namespace emu
