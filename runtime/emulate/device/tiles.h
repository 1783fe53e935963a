// The arena and its tiles, cuda/base.cuh and gpu/shared.h. Pointers into a tile carry its number:
// core/tiles.cpp.
#define TLC_DYNAMIC_SHARED(type, name, alignment)                                                  \
  type *const name = static_cast<type *>(::emu::shared_arena(alignment))
#define TLC_SHARED_TILE(type, name, count, place)                                                  \
  type *const name =                                                                               \
      static_cast<type *>(::emu::shared_tile(place, (count) * sizeof(type), #name, {}))
