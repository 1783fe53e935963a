// alternate-tiles: two warpgroups take tiles in turns instead of halves of each.
//
//   launch main grid(G) threads(256) {         launch main grid(select(%turns, 0, G)) … as before
//     for %k in … pipelined { … gemm }         launch main_turns grid(select(%turns, G, 0))
//     … what finishes a tile …           =>        threads(128) alternates {
//   }                                            … as before
//                                              }
//
// Warpgroups that share tiles finish them at the same time, and while they do nothing is
// multiplied. What can wait is stored beside the next tile (defer-stores), but values can only wait
// as halves, and only once they are computed. If each warpgroup has tiles of its own, one
// multiplies while the other finishes its tile. A warpgroup alone keeps the tensor cores busy, but
// it has all sums of a tile, so this is for tiles of up to 128 x 128, which load more for each
// product than those of 128 x 256 that two warpgroups share. H200, of what those take: 0.88 to 0.92
// behind a GELU of products 512 deep, 0.86 to 0.95 with results of 32 bits and products 256 to 1024
// deep; 0.95 to 0.97 of products 2048 deep, and 1.0 beyond (tools/bench/gpu/LOG.md).
//
// So the launcher chooses, where tiles are many, their products take some times as long as what
// finishes them, and their rows begin with lines of the cache (TileTurns.h). A schedule may have it
// done to all tiles of a launch, `persistent yes alternate`.
//
// The launch has one warpgroup from here on. specialize-warps makes two teams of it that begin with
// the first and the second tile, and lets one of them begin a tile's products when the other has
// begun its last ones (rings of tiles have one order for both).
//
// Why here: behind what changes how deep rounds are; before launches are made for many tiles, for
// few, and before tiles are shared out to warps.
#include "passes/LaunchConstants.h"
#include "passes/Pass.h"
#include "passes/Rewrite.h"
#include "passes/prepare/TileTurns.h"

namespace tlc::passes {

using namespace ir;

namespace {

void takeTurns(Launch &launch, const Target &target) {
  launch.threads = {target.limits.groupThreads(), 1, 1};
  launch.alternates = true;
}

} // namespace

void alternateTiles(Function &function, PassContext &context) {
  addLaunches(function, [&](Launch &launch) {
    std::vector<std::unique_ptr<Launch>> more;
    const LaunchPlan *given = context.schedule.find(launch.name);
    const std::string name = launch.name + "_turns";
    const bool always = given && given->alternates;
    if (launch.alternates || (context.schedule.given && !always && !context.schedule.find(name)))
      return more;
    const TileRounds rounds = roundsForTurns(function, launch, context);
    if (rounds && always)
      takeTurns(launch, context.target);
    if (!rounds || always)
      return more;
    const Expr gains = gainsByTurns(function, launch, rounds);
    if (!gains)
      return more;
    const Expr turns = launchConstant(function, "turns", gains);
    Substitution renamed;
    std::unique_ptr<Launch> made = freshCopy(function, launch, renamed);
    made->name = name;
    takeTurns(*made, context.target);
    startOnlyIf(launch, logicalNot(turns));
    startOnlyIf(*made, turns);
    more.push_back(std::move(made));
    return more;
  });
}

} // namespace tlc::passes
