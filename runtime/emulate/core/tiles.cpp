// Tiles of shared memory: which of them a pointer was made for.
//
// All tiles of a block lie in one arena, so the byte that an address names does not say through
// which tile's pointer it was reached. The memory of all arenas is therefore mapped several times,
// side by side: a tile's pointer points into a window of its own, and so does what is made of it,
// whether by arithmetic, by a conversion or as a shared address. Window 0 is that of pointers to
// the arena itself, which have the arena's bounds only. What is remembered of memory is kept by its
// place in window 0: home().
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "engine.h"

namespace emu {
namespace {
struct Tile {
  const char *name;
  u32 lo, hi; // bytes of an arena
  bool is(const Tile &o) const { return lo == o.lo && hi == o.hi && !std::strcmp(name, o.name); }
};
std::vector<Tile> tiles; // of this launch; window k shows the k-th, from 1 on

void map_window(u32 number) {
  static const int file = [] {
    const int made = memfd_create("tlc shared memory", MFD_CLOEXEC);
    return made >= 0 && !ftruncate(made, off_t(kWindowBytes)) ? made : -1;
  }();
  void *const at = reinterpret_cast<void *>(kSharedBase + number * kWindowBytes);
  if (file < 0 || mmap(at, kWindowBytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0) != at) {
    std::fprintf(stderr, "emu: cannot map shared memory at %p\n", at);
    std::exit(3);
  }
}
/// Null: the arena itself. A wild address may be of a window that shows none, where nothing is
/// right.
const Tile *tile_of(Address at) {
  static const Tile none{"no tile", 0, 0};
  const u32 window = window_of(at);
  return window == 0 ? nullptr : window <= tiles.size() ? &tiles[window - 1] : &none;
}
} // namespace

void ensure_windows(u32 count) {
  static u32 mapped = 0;
  for (; mapped < count; ++mapped)
    map_window(mapped);
}
void forget_tiles() { tiles.clear(); }

void *shared_tile(void *place, size_t bytes, const char *name, Site s) {
  const Address at = home(Address(place));
  const Block &b = *current->block;
  const Address from = b.base() + b.shared_lo, to = from + b.shared_bytes;
  if (at < from || at + bytes > to) {
    const u32 pc = site_pc(s);
    report("out-of-bounds",
           format("%s, of %zu bytes, begins at %s of a block with %u bytes of shared memory: ",
                  name, bytes, describe(at).c_str(), b.shared_bytes) +
               where(pc),
           pc);
    abandon();
  }
  const u32 lo = u32(at - b.base());
  const Tile wanted{name, lo, lo + u32(bytes)};
  u32 number = 0;
  while (number < tiles.size() && !tiles[number].is(wanted))
    ++number;
  if (number == tiles.size()) {
    if (number + 1 == kWindows) // text that declares so many is not tlc's
      return reinterpret_cast<void *>(at);
    tiles.push_back(wanted);
    ensure_windows(number + 2);
  }
  return reinterpret_cast<void *>(at + (number + 1) * kWindowBytes);
}
u64 descriptor_mark(u32 shared) { return u64(shared_window(shared)) << kDescriptorMark; }

bool in_tile(Address at, size_t bytes) {
  const Tile *tile = tile_of(at);
  const u64 offset = at % kArena;
  return !tile || (offset >= tile->lo && offset + bytes <= tile->hi);
}
std::string describe_tile(Address at) {
  const Tile *tile = tile_of(at);
  if (!tile)
    return "";
  return format("%s + %d bytes (size %u)", tile->name, int(at % kArena) - int(tile->lo),
                tile->hi - tile->lo);
}
} // namespace emu
