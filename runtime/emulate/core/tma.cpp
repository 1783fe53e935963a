// Tensor-map copies in both directions, and plain bulk copies.
#include <algorithm>

#include "engine.h"
#include "tensor_map.h"

namespace emu {
static const TensorMap &open_map(const void *p, int rank, u32 pc) {
  auto &m = *static_cast<const TensorMap *>(p);
  if (Address(p) % 64 || m.magic != kTensorMapMagic) {
    report("tensor-map", "not a tensor map, or not aligned to 64 bytes: " + where(pc), pc);
    abandon();
  }
  if (m.rank != rank) {
    report("tensor-map",
           format("a map of %d dimensions used with %d coordinates: ", m.rank, rank) + where(pc),
           pc);
    abandon();
  }
  return m;
}

// Calls row(shared offset, coordinates in bounds, global address, first element in bounds, count)
// for each innermost line of the box.
template <class F> static void for_lines(const TensorMap &m, const int *at, F line) {
  int64_t i[5] = {};
  const int inner = m.box[0];
  for (u64 n = 0;; ++n) {
    bool in = true;
    u64 address = m.base;
    for (int d = 1; d < m.rank; ++d) {
      const int64_t c = at[d] + i[d];
      in = in && c >= 0 && c < int64_t(m.dims[d]);
      address += u64(c) * m.strides[d - 1];
    }
    const int64_t first = std::max<int64_t>(0, -int64_t(at[0])),
                  last = std::min<int64_t>(inner, int64_t(m.dims[0]) - at[0]);
    const int64_t count = in ? std::max<int64_t>(0, last - first) : 0;
    line(n * u64(inner) * m.element_bytes, address + u64((at[0] + first) * m.element_bytes),
         u64(first) * m.element_bytes, u64(count) * m.element_bytes);
    int d = 1;
    for (; d < m.rank && ++i[d] == m.box[d]; ++d)
      i[d] = 0;
    if (d >= m.rank)
      return;
  }
}
static u64 box_bytes(const TensorMap &m) {
  u64 n = m.element_bytes;
  for (int d = 0; d < m.rank; ++d)
    n *= m.box[d];
  return n;
}
static void check_tile(const TensorMap &m, u32 shared, const char *what, u32 pc) {
  const u32 repeat = m.swizzle == 3 ? 1024 : m.swizzle == 2 ? 512 : m.swizzle == 1 ? 256 : 128;
  if (shared % 128)
    report("misaligned",
           format("%s: shared tile at %u, not aligned to 128 bytes: ", what,
                  (shared & 0xffffff) - kReserved) +
               where(pc),
           pc);
  else if (shared % repeat)
    report("swizzle",
           format("%s: shared tile at %u, not aligned to its swizzle's repeat of %u bytes: ", what,
                  (shared & 0xffffff) - kReserved, repeat) +
               where(pc),
           pc);
}

void tma_load(u32 dst, const void *map, u32 bar, int rank, const int *at, int mask, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  const TensorMap m = open_map(map, rank, pc);
  check_tile(m, dst, "TMA load", pc);
  std::array<int, 5> origin{};
  std::copy(at, at + rank, origin.begin());
  auto start = std::make_shared<Clocks>(t->c);
  t->tick();
  const u32 own = u32(t->block->rank);
  std::vector<std::pair<u32, MBarrier *>> targets;
  for (u32 r = 0; r < t->block->cluster->size(); ++r) {
    if (mask < 0 ? r != own : !(mask >> r & 1))
      continue;
    const u32 d = mask < 0 ? dst : map_shared(dst, r), b = mask < 0 ? bar : map_shared(bar, r);
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
  if (mask >= 0 && mask >> t->block->cluster->size())
    report("out-of-bounds",
           format("multicast mask %x names blocks outside the cluster: ", mask) + where(pc), pc);
  for (auto &[d, mb] : targets) {
    const Address to = shared_to_generic(d);
    MBarrier *bar_now = mb;
    post([=, origin = origin] {
      const Actor a{epoch(running->id, bar_now->slot, u64(bar_now->phase + 1)), &start->g,
                    &start->v, true, "a TMA load"};
      for_lines(m, origin.data(), [&](u64 offset, u64 from, u64 skip, u64 bytes) {
        const u64 line = u64(m.box[0]) * m.element_bytes;
        if (bytes)
          access(a, from, bytes, false, pc);
        u8 buffer[4096];
        std::memset(buffer, 0, line);
        if (m.nan_fill)
          for (u64 i = 0; i + 1 < line; i += 2)
            buffer[i] = 0xff, buffer[i + 1] = 0x7f;
        if (bytes && device_address(from))
          std::memcpy(buffer + skip, reinterpret_cast<void *>(from), bytes);
        for (u64 i = 0; i < line; i += 16) {
          const Address unit = swizzled(to + offset + i, m.swizzle);
          access(a, unit, 16, true, pc);
          std::memcpy(reinterpret_cast<void *>(unit), buffer + i, 16);
          mark_swizzle(unit, 16, m.swizzle);
        }
      });
      complete_bytes(bar_now, int64_t(box_bytes(m)));
    });
  }
}

void tma_store(const void *map, u32 src, int rank, const int *at, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  const TensorMap m = open_map(map, rank, pc);
  check_tile(m, src, "TMA store", pc);
  std::array<int, 5> origin{};
  std::copy(at, at + rank, origin.begin());
  open_bulk(t);
  auto start = std::make_shared<Clocks>(t->c);
  const Address from = shared_to_generic(src);
  const Epoch reads = epoch(running->id, t->bulk.slot, t->bulk.commits + 1),
              writes = epoch(running->id, t->bulk.write_slot, t->bulk.commits + 1);
  queue_bulk(
      [=] {
        const Actor r{reads, &start->g, &start->v, true, "a TMA store"},
            w{writes, &start->g, &start->v, true, "a TMA store"};
        for_lines(m, origin.data(), [&](u64 offset, u64 to, u64 skip, u64 bytes) {
          if (!bytes)
            return;
          u8 buffer[4096];
          for (u64 i = skip & ~u64(15); i < skip + bytes; i += 16) {
            const Address unit = swizzled(from + offset + i, m.swizzle);
            const u64 lo = std::max(i, skip), hi = std::min(i + 16, skip + bytes);
            access(r, unit + (lo - i), hi - lo, false, pc);
            std::memcpy(buffer + i, reinterpret_cast<void *>(unit), 16);
          }
          access(w, to, bytes, true, pc);
          if (device_address(to))
            std::memcpy(reinterpret_cast<void *>(to), buffer + skip, bytes);
        });
      },
      pc);
}

void bulk_load(u32 dst, const void *src, u32 bytes, u32 bar, Site s) {
  Thread *t = current;
  const u32 pc = site_pc(s);
  if (dst % 16 || Address(src) % 16 || bytes % 16)
    report("misaligned", format("bulk copy of %u bytes needs multiples of 16: ", bytes) + where(pc),
           pc);
  MBarrier *mb = find_barrier(bar, "bulk load", pc);
  use_barrier(mb, t, true, pc);
  auto start = std::make_shared<Clocks>(t->c);
  t->tick();
  const Address to = shared_to_generic(dst), from = Address(src);
  post([=] {
    const Actor a{epoch(running->id, mb->slot, u64(mb->phase + 1)), &start->g, &start->v, true,
                  "a bulk load"};
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
  if (src % 16 || Address(dst) % 16 || bytes % 16)
    report("misaligned", format("bulk copy of %u bytes needs multiples of 16: ", bytes) + where(pc),
           pc);
  open_bulk(t);
  auto start = std::make_shared<Clocks>(t->c);
  const Address from = shared_to_generic(src), to = Address(dst);
  const Epoch reads = epoch(running->id, t->bulk.slot, t->bulk.commits + 1),
              writes = epoch(running->id, t->bulk.write_slot, t->bulk.commits + 1);
  queue_bulk(
      [=] {
        access({reads, &start->g, &start->v, true, "a bulk store"}, from, bytes, false, pc);
        access({writes, &start->g, &start->v, true, "a bulk store"}, to, bytes, true, pc);
        if (device_address(to))
          std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
      },
      pc);
}
} // namespace emu
