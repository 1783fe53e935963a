// Tiles of the arena, the shared memory of a block.
#pragma once

#ifndef TLC_EMULATE // there emulate/device/tiles.h stands for it

//@ TLC_SHARED_TILE
// A tile of `count` elements that begins at `place` in the arena. (The emulator holds every access by
// way of this pointer against the tile's bounds.)
#define TLC_SHARED_TILE(type, name, count, place) type *const name = reinterpret_cast<type *>(place)

//@ end
#endif
