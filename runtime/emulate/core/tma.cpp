// Tensor-map copies in both directions, and plain bulk copies.
#include <algorithm>
#include <array>
#include <type_traits>

#include "engine.h"
#include "tensor_map.h"

namespace emu {
static const TensorMap &open_map(const void *p, u32 pc) {
  auto &m = *static_cast<const TensorMap *>(p);
  if (Address(p) % 64 || m.magic != kTensorMapMagic) {
    report("tensor-map", "not a tensor map, or not aligned to 64 bytes: " + where(pc), pc);
    abandon();
  }
  return m;
}
static TensorMap open_map(const void *p, const Box &box, u32 pc) {
  const TensorMap &m = open_map(p, pc);
  if (m.rank != box.rank) {
    report("tensor-map",
           format("a map of %d dimensions used with %d coordinates: ", m.rank, box.rank) +
               where(pc),
           pc);
    abandon();
  }
  if (m.packed ? box.at[0] % 32 : int64_t(box.at[0]) * m.element_bytes % 16) {
    report("tensor-map",
           format("a box from column %d on, which does not begin at a multiple of 16 bytes: ",
                  box.at[0]) +
               where(pc),
           pc);
    abandon();
  }
  if (m.im2col != (box.offsets != nullptr)) {
    report("tensor-map",
           format("a map of %s used for a copy of %s: ", m.im2col ? "pixels" : "boxes",
                  box.offsets ? "pixels" : "boxes") +
               where(pc),
           pc);
    abandon();
  }
  return m;
}
void tma_prefetch(const void *map, Site s) { open_map(map, site_pc(s)); }

constexpr size_t kLineBytes = 256 * 32;
/// Where a copy begins; kept until it is done.
struct Origin {
  std::array<int, 5> at{}, offset{};
  Origin(const TensorMap &m, const Box &box) {
    std::copy(box.at, box.at + box.rank, at.begin());
    at[0] >>= m.packed;
    if (box.offsets)
      std::copy(box.offsets, box.offsets + box.rank - 2, offset.begin());
  }
};
/// One innermost line of a box: so many of its bytes, from `skip` on, lie in the tensor.
struct Line {
  u64 offset, address, skip, bytes;
};

/// How many elements of a box lie together, and how many there are along a dimension.
static u32 together(const TensorMap &m) { return !m.im2col && m.step[0] > 1 ? 1 : m.box[0]; }
/// Of interleaved channels a box has one slice, whatever it says (so an H200).
static u32 count_along(const TensorMap &m, int d) {
  const bool slices = m.element_bytes >= 16 && d == m.rank - 2;
  return slices ? 1 : (m.box[d] + m.step[d] - 1u) / m.step[d];
}

/// Line `number` of a box: `together` elements from coordinates `c` on.
static Line line_at(const TensorMap &m, u64 number, const int64_t *c) {
  bool in = true;
  u64 address = m.base;
  for (int d = 1; d < m.rank; ++d) {
    in = in && c[d] >= 0 && c[d] < int64_t(m.dims[d]);
    address += u64(c[d]) * m.strides[d - 1];
  }
  const u32 width = together(m);
  const int64_t from = std::max<int64_t>(0, -c[0]),
                to = std::min<int64_t>(width, int64_t(m.dims[0]) - c[0]);
  return {number * width * m.element_bytes, address + u64((c[0] + from) * m.element_bytes),
          u64(from) * m.element_bytes,
          in ? u64(std::max<int64_t>(0, to - from)) * m.element_bytes : 0};
}
/// A box of pixels: base pixels follow each other along w, then h and d within their corners, then
/// n; what is copied of each lies `offset` further on.
template <class F> static void for_pixels(const TensorMap &m, const Origin &o, F use) {
  int64_t base[5], c[5];
  for (int d = 0; d < m.rank; ++d)
    base[d] = o.at[size_t(d)];
  for (u64 pixel = 0; pixel < m.box[1]; ++pixel) {
    for (int d = 1; d < m.rank; ++d)
      c[d] = base[d] + (d < m.rank - 1 ? o.offset[size_t(d - 1)] : 0);
    c[0] = base[0];
    use(line_at(m, pixel, c));
    for (int d = 1; d < m.rank; ++d) {
      base[d] += m.step[d];
      if (d == m.rank - 1 || base[d] <= int64_t(m.dims[d]) - 1 + m.upper[d - 1])
        break;
      base[d] = m.lower[d - 1];
    }
  }
}
template <class F> static void for_lines(const TensorMap &m, const Origin &o, F use) {
  if (m.im2col)
    return for_pixels(m, o, use);
  int64_t c[5];
  u32 at[5] = {};
  for (int d = 0; d < m.rank; ++d)
    c[d] = o.at[size_t(d)];
  for (u64 n = 0;; ++n) {
    use(line_at(m, n, c));
    int d = together(m) == 1 ? 0 : 1;
    for (; d < m.rank && ++at[d] == count_along(m, d); ++d)
      at[d] = 0, c[d] = o.at[size_t(d)];
    if (d >= m.rank)
      return;
    c[d] += m.step[d];
  }
}
static u64 box_bytes(const TensorMap &m) {
  if (m.im2col)
    return u64(m.element_bytes) * m.box[0] * m.box[1];
  u64 n = m.element_bytes;
  for (int d = 0; d < m.rank; ++d)
    n *= count_along(m, d);
  return n;
}
static void check_tile(const TensorMap &m, u32 shared, const char *what, u32 pc) {
  const u32 repeat = m.swizzle == 3 ? 1024 : m.swizzle == 2 ? 512 : m.swizzle == 1 ? 256 : 128;
  const auto tile = [&] { return describe(shared_to_generic(shared)); };
  if (shared % 128)
    report("misaligned",
           format("%s: shared tile at %s, not aligned to 128 bytes: ", what, tile().c_str()) +
               where(pc),
           pc);
  else if (shared % repeat)
    report("swizzle",
           format("%s: shared tile at %s, not aligned to its swizzle's repeat of %u bytes: ", what,
                  tile().c_str(), repeat) +
               where(pc),
           pc);
}

static void load_line(const TensorMap &m, const Line &line, Address to, const Actor &a, u32 pc) {
  const u64 width = u64(together(m)) * m.element_bytes;
  u8 buffer[kLineBytes] = {};
  if (m.nan_fill)
    for (u64 i = 0; i + 1 < width; i += 2)
      buffer[i] = 0xff, buffer[i + 1] = 0x7f;
  if (line.bytes) {
    access(a, line.address, line.bytes, false, pc);
    if (device_address(line.address))
      std::memcpy(buffer + line.skip, reinterpret_cast<void *>(line.address), line.bytes);
  }
  for (u64 i = 0; i < width; i += 16) {
    const Address unit = swizzled(to + line.offset + i, m.swizzle);
    access(a, unit, 16, true, pc);
    if (!device_address(unit))
      continue;
    std::memcpy(reinterpret_cast<void *>(unit), buffer + i, 16);
    mark_swizzle(unit, 16, m.swizzle);
  }
}
/// A block that receives a box, and its barrier.
struct Target {
  u32 shared;
  MBarrier *barrier;
};
static std::vector<Target> targets_of(u32 dst, u32 bar, int blocks, u32 pc) {
  Thread *t = current;
  std::vector<Target> targets;
  for (u32 r = 0; r < t->block->cluster->size(); ++r) {
    if (blocks < 0 ? r != u32(t->block->rank) : !(blocks >> r & 1))
      continue;
    const u32 d = blocks < 0 ? dst : map_shared(dst, r), b = blocks < 0 ? bar : map_shared(bar, r);
    Block *owner;
    MBarrier *mb = find_barrier(b, "TMA load", pc, &owner);
    use_barrier(mb, t, true, pc);
    if (owner->exited)
      report("exit",
             format("TMA load into block (%u,%u,%u), which has ended: ", owner->index.x,
                    owner->index.y, owner->index.z) +
                 where(pc),
             pc);
    targets.push_back({d, mb});
  }
  if (blocks >= 0 && blocks >> t->block->cluster->size())
    report("out-of-bounds",
           format("multicast mask %x names blocks outside the cluster: ", blocks) + where(pc), pc);
  return targets;
}
void tma_load(u32 dst, const void *map, u32 bar, const Box &box, Site s) {
  require_architecture(90, "TMA", s);
  Thread *t = current;
  const u32 pc = site_pc(s);
  const TensorMap m = open_map(map, box, pc);
  check_tile(m, dst, "TMA load", pc);
  const Origin origin(m, box);
  auto start = std::make_shared<Clocks>(t->c);
  t->tick();
  for (const Target &target : targets_of(dst, bar, box.blocks, pc)) {
    const Address to = shared_to_generic(target.shared);
    MBarrier *barrier = target.barrier;
    post([=] {
      const Actor a =
          agent(epoch(barrier->block->realm->id, barrier->slot, u64(barrier->phase + 1)), *start,
                "a TMA load");
      for_lines(m, origin, [&](const Line &line) { load_line(m, line, to, a, pc); });
      complete_bytes(barrier, int64_t(box_bytes(m)));
    });
  }
}

/// One element: what was there, and what comes.
template <class T> static T reduced(Reduction how, T a, T b) {
  switch (how) {
  case Reduction::add:
    return T(a + b);
  case Reduction::min:
    return std::min(a, b);
  case Reduction::max:
    return std::max(a, b);
  case Reduction::inc:
    return a >= b ? T(0) : T(a + 1);
  case Reduction::dec:
    return a == T(0) || a > b ? b : T(a - 1);
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>)
    return how == Reduction::bit_and ? T(a & b) : how == Reduction::bit_or ? T(a | b) : T(a ^ b);
  return b;
}
template <class T> static void reduce_as(Reduction how, void *to, const void *more, u64 bytes) {
  for (u64 i = 0; i < bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, static_cast<u8 *>(to) + i, sizeof(T));
    std::memcpy(&b, static_cast<const u8 *>(more) + i, sizeof(T));
    a = reduced(how, a, b);
    std::memcpy(static_cast<u8 *>(to) + i, &a, sizeof(T));
  }
}
static void reduce_halves(Reduction how, void *to, const void *more, u64 bytes, bool bf16) {
  const float *value = table(bf16);
  for (u64 i = 0; i < bytes; i += 2) {
    u16 a, b;
    std::memcpy(&a, static_cast<u8 *>(to) + i, 2);
    std::memcpy(&b, static_cast<const u8 *>(more) + i, 2);
    const float result = reduced(how, value[a], value[b]);
    a = bf16 ? float_to_bf16(result) : float_to_half(result);
    std::memcpy(static_cast<u8 *>(to) + i, &a, 2);
  }
}
/// Whether the hardware has this reduction for a CUtensorMapDataType. An H200 refuses all others as
/// illegal instructions.
static bool can_reduce(Reduction how, int type) {
  const bool whole = type >= 2 && type <= 5, half = type == 6 || type == 9;
  switch (how) {
  case Reduction::add:
    return (whole && type != 5) || half || type == 7 || type == 8;
  case Reduction::min:
  case Reduction::max:
    return whole || half;
  case Reduction::inc:
  case Reduction::dec:
    return type == 2;
  default:
    return whole && type != 5;
  }
}
static void reduce_elements(Reduction how, int type, void *to, const void *more, u64 bytes) {
  switch (type) {
  case 2:
    return reduce_as<u32>(how, to, more, bytes);
  case 3:
    return reduce_as<int32_t>(how, to, more, bytes);
  case 4:
    return reduce_as<u64>(how, to, more, bytes);
  case 5:
    return reduce_as<int64_t>(how, to, more, bytes);
  case 7:
    return reduce_as<float>(how, to, more, bytes);
  case 8:
    return reduce_as<double>(how, to, more, bytes);
  default:
    return reduce_halves(how, to, more, bytes, type == 9);
  }
}

void tma_store(const void *map, u32 src, const Box &box, Reduction how, Site s) {
  require_architecture(90, "TMA", s);
  Thread *t = current;
  const u32 pc = site_pc(s);
  const TensorMap m = open_map(map, box, pc);
  const bool reduces = how != Reduction::none;
  const char *what = reduces ? "a TMA reduction" : "a TMA store";
  check_tile(m, src, reduces ? "TMA reduction" : "TMA store", pc);
  if (reduces && !can_reduce(how, m.type)) {
    report("tensor-map", "elements of this type cannot be reduced so: " + where(pc), pc);
    abandon();
  }
  for (int d = 0; d < box.rank; ++d)
    if (box.at[d] < 0) // an H200 takes it for an illegal instruction; past the end is all right
      report("tensor-map",
             format("%s from %d on in dimension %d, before the tensor: ", what, box.at[d], d) +
                 where(pc),
             pc);
  const Origin origin(m, box);
  open_bulk(t);
  auto start = std::make_shared<Clocks>(t->c);
  const Address from = shared_to_generic(src);
  const Epoch reads = epoch(t->block->realm->id, t->bulk.slot, t->bulk.commits + 1),
              writes = epoch(t->block->realm->id, t->bulk.write_slot, t->bulk.commits + 1);
  queue_bulk(
      [=] {
        const Actor r = agent(reads, *start, what), w = agent(writes, *start, what);
        for_lines(m, origin, [&](const Line &line) {
          if (!line.bytes)
            return;
          const u64 end = line.skip + line.bytes;
          u8 buffer[kLineBytes];
          for (u64 i = line.skip & ~u64(15); i < end; i += 16) {
            const Address unit = swizzled(from + line.offset + i, m.swizzle);
            const u64 lo = std::max(i, line.skip), hi = std::min(i + 16, end);
            access(r, unit + (lo - i), hi - lo, false, pc);
            if (device_address(unit))
              std::memcpy(buffer + i, reinterpret_cast<void *>(unit), 16);
          }
          reduces ? access_reduction(w, line.address, line.bytes, pc)
                  : access(w, line.address, line.bytes, true, pc);
          if (!device_address(line.address))
            return;
          void *to = reinterpret_cast<void *>(line.address);
          if (reduces)
            reduce_elements(how, m.type, to, buffer + line.skip, line.bytes);
          else
            std::memcpy(to, buffer + line.skip, line.bytes);
        });
      },
      pc);
}

static void check_bulk(u32 shared, const void *global, u32 bytes, Site s) {
  require_architecture(90, "bulk copy", s);
  const u32 pc = site_pc(s);
  if (!global_address(Address(global))) {
    report("out-of-bounds",
           format("bulk copy from or to %s, which is no global memory: ",
                  describe(Address(global)).c_str()) +
               where(pc),
           pc);
    abandon();
  }
  if (shared % 16 || Address(global) % 16 || bytes % 16)
    report("misaligned", format("bulk copy of %u bytes needs multiples of 16: ", bytes) + where(pc),
           pc);
}
void bulk_load(u32 dst, const void *src, u32 bytes, u32 bar, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  check_bulk(dst, src, bytes, s);
  MBarrier *mb = find_barrier(bar, "bulk load", pc);
  use_barrier(mb, t, true, pc);
  auto start = std::make_shared<Clocks>(t->c);
  t->tick();
  const Address to = shared_to_generic(dst), from = Address(src);
  post([=] {
    const Actor a =
        agent(epoch(mb->block->realm->id, mb->slot, u64(mb->phase + 1)), *start, "a bulk load");
    access(a, from, bytes, false, pc);
    access(a, to, bytes, true, pc);
    if (device_address(from))
      std::memcpy(reinterpret_cast<void *>(to), src, bytes);
    complete_bytes(mb, bytes);
  });
}
void bulk_store(void *dst, u32 src, u32 bytes, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  check_bulk(src, dst, bytes, s);
  open_bulk(t);
  auto start = std::make_shared<Clocks>(t->c);
  const Address from = shared_to_generic(src), to = Address(dst);
  const Epoch reads = epoch(t->block->realm->id, t->bulk.slot, t->bulk.commits + 1),
              writes = epoch(t->block->realm->id, t->bulk.write_slot, t->bulk.commits + 1);
  queue_bulk(
      [=] {
        access(agent(reads, *start, "a bulk store"), from, bytes, false, pc);
        access(agent(writes, *start, "a bulk store"), to, bytes, true, pc);
        if (device_address(to))
          std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
      },
      pc);
}
} // namespace emu
