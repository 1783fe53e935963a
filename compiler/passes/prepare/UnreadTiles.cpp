// unread-tiles: what is written to tiles that nobody reads is left out.
//
//   alloc %dk_s: shared f16[128, 64]
//   copy %dk -> %dk_s                         =>      copy %dk -> %dK[%b * 128 : +128, 0 : +64]
//   copy %dk -> %dK[%b * 128 : +128, 0 : +64]
//
// Programs keep such tiles from another way of storing, or from another part of a loop: TileLang's
// gradients of attention do. The copy costs a trip through shared memory and its barriers; the tile
// takes room from the rings of what is loaded.
//
// A tile that a call or the user's own text may look at is read; so is one that another buffer
// shares its memory with by a view of it. Copies that somebody counts or waits for stay, and so do
// barriers of the program. --schedule=as-written keeps all tiles.
#include "passes/Pass.h"
#include "passes/Rewrite.h"

namespace tlc::passes {

void unreadTiles(ir::Function &function, PassContext &) {
  if (!function.options.hintsAreBinding)
    removeUnreadTiles(function);
}

} // namespace tlc::passes
